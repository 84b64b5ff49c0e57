//! The slow query log.
//!
//! MySQL's manual ("The Slow Query Log") and Percona's ("Slow Query Log") tell its lines. An entry is comments that begin with
//! `#`, then `use SCHEMA;`, `SET timestamp=SECONDS;` and the statement. The time in `# Time:` is when the statement was
//! logged, at its end; MariaDB and servers before MySQL 5.7 write it only when it has changed, to the second.
//!
//! Their `SET timestamp` is the time of the end, too ("now we always write current timestamp", `MYSQL_QUERY_LOG::write` in
//! the sql/log.cc of MySQL 5.1). Since MySQL 8.0.14 it is that of the begin, as the manual says; `# Time:` has microseconds
//! there. Newer MariaDB writes the begin into both: a `SELECT SLEEP(3.2)` showed the end with MariaDB 10.2.11, MySQL 5.5.9
//! and 5.6.24 and Percona Server 5.1.65, and the begin with MariaDB 10.11.19, 11.4.5 and 11.8.9, which tell `Bytes_sent`.
//!
//! An entry of which a line cannot be read is left out whole: its statement would be sent at another time, on another
//! session or with a part of another one. Its neighbours end and begin where a server ends and begins them: a server
//! writes `;` and a line end behind each statement.

use super::doubt::{BACK_US, Form, Line, Step};
use super::entry::Entry;
use super::instead::{Instead, KILLS, NO_VALUES, instead_of, lacks_values, sets_for_all};
use super::slow_head::{command_of, fields, is_field, is_head, read_logged, read_set, step_of, time_of};
use super::slow_state::{Fields, Kind, Last, Sessions};
use super::text::{Text, has_several, holds_statements, is_whole};
use super::time::{digits, read_seconds};
use super::unread::{Notes, Unread};
use crate::workload::sql::effect;
use crate::workload::sql::token::Escapes;
use crate::workload::sql::wide::as_sent;

/// What the lines of the present entry said.
#[derive(Clone, Default)]
pub(super) struct Slow {
    /// The last `# Time:`, and whether it has parts of a second.
    logged: Option<(i64, bool)>,
    session: u64,
    /// What the head says of the schema; empty for none.
    schema: Option<String>,
    /// Servers that do not say it there write `use` when it is another one than that of the entry before, whoever's.
    used: Option<String>,
    query_us: i64,
    timestamp_us: Option<i64>,
    /// An entry of the log had a SET timestamp: each has one.
    is_stamped: bool,
    sessions: Sessions,
    notes: Notes,
    fields: Fields,
    kind: Kind,
    last: Last,
    text: Text,
    in_head: bool,
    /// A `# User@Host:` was read.
    begun: bool,
    /// The line of the entry's head, 0 before the first entry.
    begun_at: u64,
    /// What of the entry cannot be read, and on which line.
    broken: Option<(u64, &'static str)>,
    unread: Unread,
}

impl Slow {
    /// A comment behind what may be the end of a statement. It is the statement's, unless a line of a head follows it.
    fn hold(&mut self, line: &[u8], number: u64) -> Option<Entry> {
        if !is_field(line) {
            self.text.hold(line, number);
            return None;
        }
        // The line with which the head began cannot be read.
        let begun_at = if self.text.held.is_empty() { number } else { self.text.held_at };
        self.text.held.clear();
        let done = self.finish();
        self.enter(begun_at);
        if begun_at < number {
            self.broken = Some((begun_at, "the head of an entry"));
        }
        self.head(line, number);
        done
    }

    /// The time that the head tells.
    fn told_us(&self) -> Option<i64> {
        match (self.logged, self.timestamp_us) {
            (Some((logged_us, true)), _) => Some(logged_us),
            (logged, timestamp_us) => timestamp_us.or(logged.map(|(logged_us, _)| logged_us)),
        }
    }

    fn enter(&mut self, number: u64) {
        if !self.in_head {
            self.begun_at = number;
        }
        self.in_head = true;
    }

    fn head(&mut self, line: &[u8], number: u64) {
        if let Some(command) = command_of(line) {
            self.kind.command = Some(command);
            return;
        }
        let rest = line.strip_prefix(b"# ").unwrap_or_default();
        self.kind.is_warned |= line.trim_ascii_end() == b"# Warnings";
        if self.kind.is_warned {
            return;
        }
        if rest.starts_with(b"Time:") {
            self.logged = read_logged(line);
            if self.logged.is_none() {
                self.broken.get_or_insert((number, "the time of # Time"));
            }
            return;
        }
        if let Some(user) = rest.strip_prefix(b"User@Host: ") {
            self.begun = true;
            self.sessions.is_numbered = false;
            let Some(session) = self.sessions.of_user(user) else {
                self.broken.get_or_insert((number, "the user"));
                return;
            };
            self.session = session;
        }
        self.kind.is_of_program |= rest.starts_with(b"Stored_routine:") || rest.starts_with(b"Stored routine:");
        for (name, value) in fields(rest) {
            self.fields.note(name);
            let read = match name {
                b"Id" | b"Thread_id" => {
                    self.sessions.is_numbered = true;
                    digits(value).map(|id| self.session = id.unsigned_abs()).is_some()
                }
                b"Query_time" => read_seconds(value).map(|us| self.query_us = us).is_some(),
                b"Schema" => {
                    self.schema = Some(String::from_utf8_lossy(value).into_owned());
                    true
                }
                b"Log_slow_rate_limit" => {
                    let logged_one_of = digits(value).map_or(0, i64::unsigned_abs);
                    self.notes.logged_one_of = self.notes.logged_one_of.max(logged_one_of);
                    true
                }
                _ => true,
            };
            if !read {
                let what = if name == b"Query_time" { "the seconds of Query_time" } else { "the connection's number" };
                self.broken.get_or_insert((number, what));
            }
        }
    }

    /// Whether a line is of a warning: up to the SET timestamp, whose time does not go back.
    fn is_of_warning(&self, text: &[u8]) -> bool {
        let stamped_us = || read_set(text).map(|us| us + self.query_us);
        self.kind.is_warned
            && self.timestamp_us.is_none()
            && stamped_us().is_none_or(|us| us < self.last.ended_us - 2 * BACK_US)
    }

    /// A whole statement; `None` of one that is not sent.
    fn statement(&mut self, entry: Entry) -> Option<Entry> {
        let verb = effect::verb(&entry.sql);
        let escapes = self.escapes(entry.session);
        let left_out = match instead_of(&verb, &entry.sql) {
            Some(Instead::Nothing) => return None,
            // What a KILL ended may stand behind it: its statements are logged at their end.
            Some(Instead::End(_)) => Some(KILLS),
            Some(Instead::Count(what)) => Some(what),
            None => lacks_values(&entry.sql, escapes).then_some(NO_VALUES),
        };
        if let Some(what) = left_out {
            self.unread.add(entry.line, what);
            return None;
        }
        self.sessions.anew.remove(&entry.session);
        self.notes.nameless |= !self.sessions.is_numbered;
        self.notes.calls |= self.fields.last_errno && verb == "CALL";
        if verb == "SET" {
            self.sessions.literals.note(entry.session, &entry.sql);
            if sets_for_all(&entry.sql) {
                self.notes.sets_for_all_at.get_or_insert(entry.line);
            }
        }
        Some(entry)
    }

    /// What the entry of a statement lacks, and where it begins.
    fn lacks(&self, sql: &[u8]) -> Option<(u64, &'static str)> {
        // Servers write a SET timestamp: without one, something else stood there, and is before the statement now.
        let has_more = || self.is_stamped || (has_several(sql, Escapes::Strings) && !holds_statements(sql));
        let what = if !self.begun {
            "there is no # User@Host"
        } else if self.timestamp_us.is_none() && has_more() {
            "the head of an entry"
        } else if !self.sessions.is_numbered && self.sessions.has_numbers {
            // One log has the numbers of all of its connections.
            "the connection's number"
        } else {
            return None;
        };
        (!sql.is_empty()).then_some((self.begun_at, what))
    }

    fn body(&mut self, line: &[u8], number: u64) {
        let text = line.trim_ascii_end();
        let text = text.strip_suffix(b";").unwrap_or(text);
        if self.is_of_warning(text) && !text.starts_with(b"use ") {
            return;
        }
        if self.text.sql.is_empty() {
            // Behind the SET timestamp it is what a client sent.
            if self.in_head
                && self.timestamp_us.is_none()
                && let Some(schema) = text.strip_prefix(b"use ")
            {
                self.used = Some(String::from_utf8_lossy(schema).trim_matches('`').to_owned());
                self.schema.clone_from(&self.used);
                return;
            }
            // A statement of a client may look the same: it is the second of them.
            if self.timestamp_us.is_none() {
                self.timestamp_us = read_set(text);
                if self.timestamp_us.is_some() {
                    self.is_stamped = true;
                    return;
                }
                if text.starts_with(b"SET timestamp=") {
                    self.broken.get_or_insert((number, "the time of SET timestamp"));
                }
            }
        } else if self.timestamp_us.is_none() && line.len() > text.len() && read_set(text).is_some() {
            // Servers write it first of all: what stands before it is what is left of a head.
            self.broken.get_or_insert((self.begun_at, "the head of an entry"));
        }
        if self.in_head && self.text.sql.is_empty() {
            self.text.begin(&self.sessions.literals, self.session);
        }
        self.in_head = false;
        self.text.push(line, number);
    }
}

impl Form for Slow {
    /// Takes a line, with its end; gives the entry that it ends.
    fn line(&mut self, line: &[u8], number: u64) -> Option<Entry> {
        if is_head(line) {
            // A comment that no statement ended with is what is left of this head.
            let lost = if self.text.held.is_empty() { None } else { Some(self.text.held_at) };
            self.text.held.clear();
            let done = if self.begun || !self.in_head { self.finish() } else { None };
            self.enter(lost.unwrap_or(number));
            self.broken = self.broken.or(lost.map(|line| (line, "the head of an entry")));
            self.head(line, number);
            return done;
        }
        // MariaDB frames the plan (log_slow_verbosity = explain) with lines of `#` alone. Behind the SET timestamp, a
        // comment is the statement's.
        let is_comment = line.starts_with(b"# ") || line.trim_ascii_end() == b"#";
        if self.in_head && is_comment && (self.timestamp_us.is_none() || command_of(line).is_some()) {
            self.head(line, number);
            return None;
        }
        if is_field(line) {
            self.text.drop_rest();
        }
        if line.starts_with(b"#") && self.text.is_closed() {
            return self.hold(line, number);
        }
        if line.first() == Some(&0) && self.text.is_closed() {
            self.unread.add(number, "zero bytes");
            return None;
        }
        self.text.unhold();
        self.body(line, number);
        None
    }

    fn text(&mut self, line: &[u8], number: u64) {
        self.text.unhold();
        self.body(line, number);
    }

    /// Takes a further piece of a line that is longer than what is read at once.
    fn more(&mut self, piece: &[u8]) {
        if !self.in_head && self.text.held.is_empty() {
            self.text.more(piece);
        }
    }

    fn cut(&mut self) {
        self.text.cut = true;
    }

    /// The entry that was read last. `None` of one that cannot be read, which is counted, or that is no statement.
    fn finish(&mut self) -> Option<Entry> {
        let mut broken = self.broken.take();
        if !self.text.held.is_empty() {
            // What is left of the next head: the statement before it is whole.
            self.text.held.clear();
            self.unread.add(self.text.held_at, "the head of an entry");
        }
        let cut_inside = self.text.is_cut();
        let Text { mut sql, raw, ended, last_end, cut, .. } = std::mem::take(&mut self.text);
        let cut = cut || cut_inside;
        let command = self.kind.command.take();
        broken = broken.or(self.lacks(&sql));
        if self.begun_at > 0 && (cut || !ended) && command.is_none() && broken.is_none() {
            match last_end.filter(|(length, _)| !cut && is_whole(&sql, *length)) {
                Some((length, next)) => {
                    sql.truncate(length);
                    self.unread.add(next, "it is neither a statement nor a head");
                }
                None => broken = Some((self.begun_at, "it has no end")),
            }
        }
        self.sessions.has_numbers |= self.sessions.is_numbered;
        while sql.last().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b';') {
            sql.pop();
        }
        let is_exact = matches!(self.logged, Some((_, true)));
        let has_own_clock = !is_exact && broken.is_none() && self.sessions.has_own_clock(self.session, &sql);
        let told_us = Some(self.last.told_us).filter(|us| has_own_clock && *us > 0).or(self.told_us());
        self.last.ended_us = self.timestamp_us.take().map_or(self.last.ended_us, |us| us + self.query_us);
        self.kind.is_warned = false;
        self.last.told_us = told_us.unwrap_or(self.last.told_us);
        if told_us.is_none() && !sql.is_empty() {
            broken = broken.or(Some((self.begun_at, "it has no time")));
        }
        let of_begin = std::mem::take(&mut self.fields.qc_hit) & std::mem::take(&mut self.fields.bytes_sent);
        let whole = self.begun && !sql.is_empty() && broken.is_none();
        let is_command = self.begun && sql.is_empty() && broken.is_none() && command.is_some();
        if let Some((line, what)) = broken {
            self.unread.add(line, what);
        }
        let schema = match self.schema.take() {
            Some(told) => (!told.is_empty()).then_some(told),
            None => self.used.clone(),
        };
        self.kind.is_of_program &= whole;
        let (session, query_us) = (self.session, std::mem::take(&mut self.query_us));
        let line = self.begun_at;
        (self.begun, self.begun_at, self.in_head) = (false, 0, false);
        let is_of_program = std::mem::take(&mut self.kind.is_of_program);
        let told_us = told_us.filter(|_| (whole && !is_of_program) || is_command)?;
        let begun_us = if of_begin { told_us } else { told_us.saturating_sub(query_us) };
        let logged_us = Some(begun_us.saturating_add(query_us));
        let second_us = Some(told_us).filter(|_| !is_exact);
        let written = Entry { at_us: begun_us, logged_us, second_us, session, line, ..Entry::default() };
        if let Some(command) = command.filter(|_| is_command) {
            let ends = self.sessions.obey(command, session);
            return ends.then_some(Entry { ends, ..written });
        }
        let anew = self.sessions.anew.contains(&session);
        let mut entry = self.statement(Entry { schema, anew, sql, ..written })?;
        as_sent(&mut entry.sql, raw);
        Some(entry)
    }

    /// The file ends here; `inside` of a line: a server ends each statement with one.
    fn end(&mut self, inside: bool) -> Option<Entry> {
        self.text.end(inside);
        self.finish()
    }

    fn begins(line: &[u8]) -> bool {
        is_head(line)
    }

    /// A server ends each statement, and writes the SET timestamp last of all that stands before it.
    fn is_place(&self, _: &[u8]) -> bool {
        let is_in_head = self.text.sql.is_empty() && self.timestamp_us.is_none() && !self.kind.is_warned;
        is_in_head || self.kind.command.is_some() || !self.text.held.is_empty() || self.text.is_closed()
    }

    fn is_closed(&self) -> bool {
        self.text.sql.is_empty() || !self.text.held.is_empty() || self.text.is_closed()
    }

    fn head_of(lines: &[Line]) -> Step {
        step_of(lines)
    }

    fn may_follow(&self, head: &[Line], _: bool) -> bool {
        time_of(head).is_some_and(|us| us >= self.told_us().unwrap_or(self.last.told_us) - BACK_US)
    }

    fn escapes(&self, session: u64) -> Option<Escapes> {
        self.sessions.literals.escapes(session)
    }

    fn keep_clock(&mut self, of: &Self) {
        (self.logged, self.last) = (of.logged, of.last.clone());
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
