//! The general query log.
//!
//! Its lines are a time (before MySQL 5.7 and in MariaDB only when the second has changed), the connection's id, a command
//! and its argument, as MySQL's manual tells ("The General Query Log"). Further lines belong to the argument.

use std::collections::{HashMap, HashSet};

use super::doubt::{BACK_US, Form, Line, Step};
use super::entry::{Entry, extend};
use super::scan::Scan;
use super::time::{digits, read_time};
use super::unread::Unread;
use crate::workload::sql::token::is_open;

/// A time, a connection's number, with their white space: so long a line's beginning may be.
const BEGINNING_BYTES_MAX: usize = 48;

/// Commands of the protocol as servers name them (`Command::Info` in MySQL's sources): a line begins an entry only with one
/// of them, because the lines of a statement may look alike.
const COMMANDS: [&[u8]; 36] = [
    b"Sleep",
    b"Quit",
    b"Init DB",
    b"Query",
    b"Field List",
    b"Create DB",
    b"Drop DB",
    b"Refresh",
    b"Shutdown",
    b"Statistics",
    b"Processlist",
    b"Connect",
    b"Kill",
    b"Debug",
    b"Ping",
    b"Time",
    b"Delayed insert",
    b"Change user",
    b"Binlog Dump",
    b"Table Dump",
    b"Connect Out",
    b"Register Slave",
    b"Register Replica",
    b"Prepare",
    b"Execute",
    b"Long Data",
    b"Close stmt",
    b"Reset stmt",
    b"Set option",
    b"Fetch",
    b"Daemon",
    b"Binlog Dump GTID",
    b"Reset Connection",
    b"Bulk_execute",
    b"clone",
    b"Error",
];

/// What is known of the log so far.
#[derive(Clone, Default)]
pub(super) struct General {
    now_us: i64,
    schemas: HashMap<u64, String>,
    /// Connections that were made or reset, without a statement since.
    anew: HashSet<u64>,
    /// The statement that is being read, and its line.
    open: Option<Entry>,
    scan: Scan,
    /// It is prepared only.
    is_prepared: bool,
    open_at: u64,
    /// Connections of which something was read.
    known: HashSet<u64>,
    /// The last line.
    last_at: u64,
    /// The end of the statement was lost.
    cut: bool,
    unread: Unread,
}

/// What an entry's first line says.
struct Head<'a> {
    at_us: Option<i64>,
    session: u64,
    /// Its number stands as servers write it, and a tab behind the command.
    is_padded: bool,
    command: &'a [u8],
    argument: &'a [u8],
}

impl General {
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
                    // Behind a command there are no further lines.
                    if self.open.is_none() && !line.trim_ascii().is_empty() {
                        self.unread.add(number, "it is neither a statement nor an entry");
                    }
                    self.more(line);
                    None
                }
            };
        };
        let done = self.finish();
        self.open_at = number;
        self.now_us = head.at_us.unwrap_or(self.now_us);
        self.known.insert(head.session);
        let argument = head.argument.trim_ascii_end();
        self.scan = Scan::default();
        self.is_prepared = matches!(head.command, b"Prepare" | b"Bulk_execute");
        match head.command {
            // A text that is prepared only can have lines that look like entries, too.
            b"Prepare" | b"Bulk_execute" => {
                self.scan.read(head.argument);
                let (at_us, session) = (self.now_us, head.session);
                let sql = head.argument.to_vec();
                self.open = Some(Entry { at_us, session, schema: None, anew: false, sql });
            }
            b"Query" | b"Execute" => {
                self.scan.read(head.argument);
                let schema = self.schemas.get(&head.session).cloned();
                let mut sql = Vec::new();
                extend(&mut sql, head.argument);
                let anew = self.anew.remove(&head.session);
                self.open = Some(Entry { at_us: self.now_us, session: head.session, schema, anew, sql });
            }
            b"Init DB" => {
                self.schemas.insert(head.session, String::from_utf8_lossy(argument).into_owned());
            }
            // Both have a schema, or none. What the session had before is gone.
            b"Connect" | b"Change user" => {
                self.anew.insert(head.session);
                self.schemas.remove(&head.session);
                if let Some(schema) = schema_of(argument) {
                    self.schemas.insert(head.session, schema);
                }
            }
            b"Reset Connection" => {
                self.anew.insert(head.session);
            }
            b"Quit" => {
                self.anew.remove(&head.session);
                self.schemas.remove(&head.session);
            }
            _ => {}
        }
        done
    }

    /// Takes a further line of a statement, or a further piece of a line that is longer than what is read at once.
    fn more(&mut self, piece: &[u8]) {
        if let Some(entry) = &mut self.open {
            extend(&mut entry.sql, piece);
            self.scan.read(piece);
        }
    }

    /// The file ends here; `inside` of a line: a server ends each with a line end.
    fn end(&mut self, inside: bool) -> Option<Entry> {
        self.cut |= inside;
        if inside && self.open.is_none() {
            self.unread.add(self.last_at, "it has no end");
        }
        self.finish()
    }

    fn is_inside_quotes(&self) -> bool {
        self.open.is_some() && self.scan.is_open()
    }

    /// The entry that was read last. `None` of one that cannot be read, which is counted, or that is empty.
    fn finish(&mut self) -> Option<Entry> {
        let cut = std::mem::take(&mut self.cut);
        let mut entry = self.open.take()?;
        // No session can have sent what is open whichever escapes it has.
        let cut = cut || (self.scan.is_open() && is_open(&entry.sql));
        if cut || entry.at_us == 0 {
            self.unread.add(self.open_at, if cut { "it has no end" } else { "it has no time" });
            return None;
        }
        while entry.sql.last().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b';') {
            entry.sql.pop();
        }
        if let Some(schema) = used(&entry.sql).filter(|_| !self.is_prepared) {
            self.schemas.insert(entry.session, schema);
        }
        (!entry.sql.is_empty() && !self.is_prepared).then_some(entry)
    }
}

impl Form for General {
    fn line(&mut self, line: &[u8], number: u64) -> Option<Entry> {
        Self::line(self, line, number)
    }

    fn text(&mut self, line: &[u8], _: u64) {
        Self::more(self, line);
    }

    fn more(&mut self, piece: &[u8]) {
        Self::more(self, piece);
    }

    fn cut(&mut self) {
        self.cut = true;
    }

    fn finish(&mut self) -> Option<Entry> {
        Self::finish(self)
    }

    fn end(&mut self, inside: bool) -> Option<Entry> {
        Self::end(self, inside)
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
        head.is_some_and(|head| self.knows(&head) && head.at_us.map_or(!passed, |us| us >= self.now_us - BACK_US))
    }

    fn unread(&self) -> Unread {
        self.unread
    }

    fn leave_out(&mut self, line: u64, what: &'static str) {
        self.unread.add(line, what);
    }
}

impl General {
    fn knows(&self, head: &Head) -> bool {
        self.known.contains(&head.session) || head.command == b"Connect"
    }
}

/// Whether a line looks like the first one of an entry.
pub(super) fn is_head(line: &[u8]) -> bool {
    read_head(line).is_some()
}

/// `user@host on schema using Socket`, or `user@host as account on schema` (a change of the user).
fn schema_of(argument: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(argument);
    let behind = text.split_once(" on ")?.1;
    let schema = behind.split(" using ").next()?.trim();
    (!schema.is_empty()).then(|| schema.to_owned())
}

/// The schema of a `USE`.
fn used(sql: &[u8]) -> Option<String> {
    let (verb, schema) = sql.split_at_checked(4)?;
    verb.eq_ignore_ascii_case(b"use ").then(|| String::from_utf8_lossy(schema).trim().trim_matches('`').to_owned())
}

/// What of a line cannot be read that has the form of an entry's first one; None of a line of a statement.
fn why_no_head(line: &[u8]) -> Option<&'static str> {
    if line.first() == Some(&0) {
        return Some("zero bytes");
    }
    let is_time = |time: &[u8]| read_time(time).is_some_and(|(_, _, length)| length == time.len());
    let begins_with_id = |rest: &[u8]| rest.first().is_some_and(u8::is_ascii_digit);
    let tab = line.iter().take(BEGINNING_BYTES_MAX).position(|byte| matches!(byte, b'\t' | b'\r' | b'\n'))?;
    let (time, rest) = (&line[..tab], line[tab..].trim_ascii_start());
    // `7 Query` and a tab, or the end of the line.
    let named = COMMANDS.iter().find_map(|command| {
        let at = rest.iter().take(BEGINNING_BYTES_MAX).position(|byte| *byte == b' ')?;
        let behind = rest[at + 1..].strip_prefix(*command)?;
        matches!(behind.first(), None | Some(b'\t' | b'\r' | b'\n')).then_some(&rest[..at])
    });
    match named {
        _ if time.is_empty() && !line.starts_with(b"\t\t") => None,
        Some(id) if digits(id).is_none() => Some("the connection's number"),
        Some(_) => Some("the time of an entry"),
        // No line of a statement begins with a time, a tab and a number.
        None if is_time(time) && (rest.is_empty() || begins_with_id(rest)) => Some("the command of an entry"),
        None => None,
    }
}

fn read_head(line: &[u8]) -> Option<Head<'_>> {
    let (at_us, rest) = match read_time(line) {
        Some((at_us, _, length)) => (Some(at_us), &line[length..]),
        None if line.starts_with(b"\t\t") => (None, line),
        None => return None,
    };
    let padded = rest.trim_ascii_start();
    let blanks = rest.iter().rev().skip(padded.len()).take_while(|byte| **byte == b' ').count();
    let rest = padded;
    let place = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    let session = digits(&rest[..place])?.unsigned_abs();
    let rest = rest[place..].strip_prefix(b" ")?;
    let end = rest.iter().position(|byte| matches!(byte, b'\t' | b'\n')).unwrap_or(rest.len());
    let command = rest[..end].trim_ascii();
    let argument = rest.get(end + 1..).unwrap_or_default();
    let is_padded = blanks + place >= 5 && rest.get(end) == Some(&b'\t');
    COMMANDS.contains(&command).then_some(Head { at_us, session, is_padded, command, argument })
}
