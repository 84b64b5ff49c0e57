//! The general query log.
//!
//! Its lines are a time (before MySQL 5.7 and in MariaDB only when the second has changed), the connection's id, a command
//! and its argument, as MySQL's manual tells ("The General Query Log"). Further lines belong to the argument.

use std::collections::{HashMap, HashSet};

use super::doubt::{BACK_US, Form, Line, Step};
use super::entry::{Entry, extend};
use super::general_head::{Head, is_head, read_head, schema_of, why_no_head};
use super::instead::{Instead, NO_VALUES, OF_PROGRAM, REFUSED, instead_of, is_of_program, lacks_values, sets_for_all};
use super::literals::Literals;
use super::scan::Scan;
use super::text::{has_several, holds_statements};
use super::unread::{Notes, Unread};
use crate::workload::sql::effect;
use crate::workload::sql::token::{Escapes, is_open};
use crate::workload::sql::wide::{as_sent, readable};

/// What is known of the log so far.
#[derive(Clone, Default)]
pub(super) struct General {
    now_us: i64,
    /// It has parts of a second.
    is_exact: bool,
    schemas: HashMap<u64, String>,
    literals: Literals,
    /// Connections that sent a USE since.
    moved: HashSet<u64>,
    /// Those that sent an EXECUTE last, with its line: what it runs has an entry of its own.
    executes: HashMap<u64, u64>,
    /// Those that sent a CALL last.
    calls: HashSet<u64>,
    notes: Notes,
    /// Connections that were made or reset, without a statement since.
    anew: HashSet<u64>,
    /// The statement that is being read, and its line.
    open: Option<Entry>,
    scan: Scan,
    /// Its bytes, where it is not read as it stands.
    raw: Vec<u8>,
    /// It is prepared only.
    is_prepared: bool,
    /// It has values in the places of those of a prepared statement.
    is_execution: bool,
    open_at: u64,
    /// Connections of which something was read.
    known: HashSet<u64>,
    /// The last line.
    last_at: u64,
    /// The end of the statement was lost.
    cut: bool,
    unread: Unread,
}

impl General {
    /// Begins an entry.
    fn begin(&mut self, head: &Head, number: u64) {
        self.open_at = number;
        if let Some(at_us) = head.at_us {
            (self.now_us, self.is_exact) = (at_us, head.is_exact);
        }
        self.known.insert(head.session);
        let argument = head.argument.trim_ascii_end();
        self.scan = Scan::with(self.literals.escapes(head.session));
        self.note_programs(head.session, head.command);
        self.is_prepared = matches!(head.command, b"Prepare" | b"Bulk_execute");
        self.is_execution = head.command == b"Execute";
        match head.command {
            // A text that is prepared only can have lines that look like entries, too.
            b"Prepare" | b"Bulk_execute" => {
                self.open = Some(self.entry(head.session, number));
                self.more(head.argument);
            }
            b"Query" | b"Execute" => {
                let schema = self.schemas.get(&head.session).cloned();
                let anew = self.anew.remove(&head.session);
                let moved = self.moved.contains(&head.session);
                self.open = Some(Entry { schema, anew, moved, ..self.entry(head.session, number) });
                self.more(head.argument);
            }
            b"Init DB" => {
                self.moved.remove(&head.session);
                self.schemas.insert(head.session, String::from_utf8_lossy(argument).into_owned());
            }
            // Both have a schema, or none. What the session had before is gone.
            b"Connect" | b"Change user" => {
                self.anew.insert(head.session);
                self.literals.forget(head.session);
                self.schemas.remove(&head.session);
                self.moved.remove(&head.session);
                if let Some(schema) = schema_of(argument) {
                    self.schemas.insert(head.session, schema);
                }
            }
            b"Reset Connection" => {
                self.anew.insert(head.session);
                self.literals.forget(head.session);
            }
            b"Quit" => {
                self.anew.remove(&head.session);
                self.schemas.remove(&head.session);
                self.moved.remove(&head.session);
                self.open = Some(Entry { ends: true, ..self.entry(head.session, number) });
            }
            _ => {}
        }
    }

    /// What is written now.
    fn entry(&self, session: u64, line: u64) -> Entry {
        let (at_us, logged_us) = (self.now_us, Some(self.now_us));
        let second_us = logged_us.filter(|_| !self.is_exact);
        Entry { at_us, logged_us, second_us, session, line, ..Entry::default() }
    }

    fn is_inside_quotes(&self) -> bool {
        self.open.is_some() && self.scan.is_open()
    }

    /// The statement that further lines belong to: behind another command there are none.
    fn statement(&mut self) -> Option<&mut Entry> {
        self.open.as_mut().filter(|entry| !entry.ends)
    }
}

impl Form for General {
    /// Takes a line, with its end; gives the entry that it ends.
    fn line(&mut self, line: &[u8], number: u64) -> Option<Entry> {
        self.last_at = number;
        let Some(head) = read_head(line) else {
            return match why_no_head(line) {
                Some(what) if !self.is_inside_quotes() => {
                    let done = self.finish();
                    self.unread.add(number, what);
                    done
                }
                _ => {
                    if self.statement().is_none() && !line.trim_ascii().is_empty() {
                        self.unread.add(number, "it is neither a statement nor an entry");
                    }
                    self.more(line);
                    None
                }
            };
        };
        let done = self.finish();
        self.begin(&head, number);
        done
    }

    fn text(&mut self, line: &[u8], _: u64) {
        self.more(line);
    }

    /// Takes a further line of a statement, or a further piece of a line that is longer than what is read at once.
    fn more(&mut self, piece: &[u8]) {
        let Some(session) = self.statement().map(|entry| entry.session) else { return };
        let wide = self.literals.wide(session);
        let text = readable(piece, wide);
        self.scan.read(&text);
        if wide.is_some() {
            extend(&mut self.raw, piece);
        }
        if let Some(entry) = self.statement() {
            extend(&mut entry.sql, &text);
        }
    }

    fn cut(&mut self) {
        self.cut = true;
    }

    /// The entry that was read last. `None` of one that cannot be read, which is counted, or that is empty.
    fn finish(&mut self) -> Option<Entry> {
        let (cut, raw) = (std::mem::take(&mut self.cut), std::mem::take(&mut self.raw));
        let mut entry = self.open.take()?;
        if entry.ends {
            return (!cut).then_some(entry);
        }
        // No session can have sent what is open whichever escapes it has.
        let cut = cut || (self.scan.is_open() && is_open(&entry.sql));
        if cut {
            self.unread.add(self.open_at, "it has no end");
            return None;
        }
        while entry.sql.last().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b';') {
            entry.sql.pop();
        }
        let verb = if self.is_prepared { String::new() } else { effect::verb(&entry.sql) };
        match verb.as_str() {
            "CALL" => {
                self.calls.insert(entry.session);
            }
            "SET" => {
                if sets_for_all(&entry.sql) {
                    self.notes.sets_for_all_at.get_or_insert(self.open_at);
                }
                self.literals.note(entry.session, &entry.sql);
            }
            "USE" => {
                self.moved.insert(entry.session);
            }
            // What it runs has an entry of its own, unless it was refused.
            "EXECUTE" => {
                self.executes.insert(entry.session, self.open_at);
                return None;
            }
            _ => {}
        }
        if is_of_program(&entry.sql) {
            self.unread.add(self.open_at, OF_PROGRAM);
            return None;
        }
        match instead_of(&verb, &entry.sql) {
            Some(Instead::Nothing) => return None,
            Some(Instead::End(session)) => {
                return Some(Entry { session, ends: true, sql: Vec::new(), schema: None, ..entry });
            }
            Some(Instead::Count(what)) => {
                self.unread.add(self.open_at, what);
                return None;
            }
            None => {}
        }
        let escapes = self.escapes(entry.session);
        if self.is_execution && lacks_values(&entry.sql, escapes) {
            self.unread.add(self.open_at, NO_VALUES);
            return None;
        }
        // The server refused it as a whole, or ran all of them, which this log does not tell.
        if !self.is_prepared
            && has_several(&entry.sql, escapes.unwrap_or(Escapes::Strings))
            && !holds_statements(&entry.sql)
        {
            self.unread.add(self.open_at, "it has several statements");
            return None;
        }
        as_sent(&mut entry.sql, raw);
        (!entry.sql.is_empty() && !self.is_prepared).then_some(entry)
    }

    /// The file ends here; `inside` of a line: a server ends each with a line end.
    fn end(&mut self, inside: bool) -> Option<Entry> {
        self.cut |= inside;
        if inside && self.statement().is_none() {
            self.unread.add(self.last_at, "it has no end");
        }
        let last = self.finish();
        for line in std::mem::take(&mut self.executes).into_values() {
            self.unread.add(line, REFUSED);
        }
        last
    }

    fn begins(line: &[u8]) -> bool {
        is_head(line)
    }

    /// Without a time, the line of a statement with two tabs before it may look like an entry.
    fn is_place(&self, line: &[u8]) -> bool {
        let is_unfinished = self.open.is_some() && self.scan.is_unfinished();
        !is_unfinished
            && read_head(line).is_some_and(|head| head.at_us.is_some() || head.is_padded || self.knows(&head))
    }

    fn is_closed(&self) -> bool {
        !self.is_inside_quotes()
    }

    fn head_of(_: &[Line]) -> Step {
        Step::Whole
    }

    fn may_follow(&self, head: &[Line], passed: bool) -> bool {
        let head = head.first().and_then(|(line, _)| read_head(line));
        // With a time of its own, a connection may be one that the log has not told of yet.
        head.is_some_and(|head| match head.at_us {
            Some(us) => us >= self.now_us - BACK_US,
            None => !passed && self.knows(&head),
        })
    }

    fn escapes(&self, session: u64) -> Option<Escapes> {
        self.literals.escapes(session)
    }

    fn keep_clock(&mut self, of: &Self) {
        (self.now_us, self.is_exact) = (of.now_us, of.is_exact);
    }

    fn unread(&self) -> Unread {
        self.unread
    }

    fn notes(&self) -> Notes {
        self.notes
    }

    fn leave_out(&mut self, line: u64, what: &'static str) {
        self.unread.add(line, what);
    }
}

impl General {
    /// An entry of a connection begins: what one before it has led to.
    fn note_programs(&mut self, session: u64, command: &[u8]) {
        match command {
            b"Execute" => {
                self.executes.remove(&session);
                self.notes.calls |= self.calls.contains(&session);
            }
            b"Query" | b"Quit" | b"Connect" | b"Change user" => {
                self.calls.remove(&session);
                if let Some(line) = self.executes.remove(&session) {
                    self.unread.add(line, REFUSED);
                }
            }
            _ => {}
        }
    }

    fn knows(&self, head: &Head) -> bool {
        self.known.contains(&head.session) || head.command == b"Connect"
    }
}
