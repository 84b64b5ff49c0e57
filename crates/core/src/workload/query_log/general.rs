//! The general query log.
//!
//! Its lines are a time (before MySQL 5.7 and in MariaDB only when the second has changed), the connection's id, a command
//! and its argument, as MySQL's manual tells ("The General Query Log"). Further lines belong to the argument.

use std::collections::{HashMap, HashSet};

use super::entry::{Entry, extend};
use super::time::{digits, read_time};

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
#[derive(Default)]
pub(super) struct General {
    now_us: i64,
    schemas: HashMap<u64, String>,
    /// Connections that were made or reset, without a statement since.
    anew: HashSet<u64>,
    /// The statement that is being read.
    open: Option<Entry>,
}

/// What an entry's first line says.
struct Head<'a> {
    at_us: Option<i64>,
    session: u64,
    command: &'a [u8],
    argument: &'a [u8],
}

impl General {
    /// Whether a line begins an entry.
    pub(super) fn is_head(line: &[u8]) -> bool {
        read_head(line).is_some()
    }

    /// Takes a line, with its end; gives the entry that it ends.
    pub(super) fn line(&mut self, line: &[u8]) -> Option<Entry> {
        let Some(head) = read_head(line) else {
            if let Some(entry) = &mut self.open {
                extend(&mut entry.sql, line);
            }
            return None;
        };
        let done = self.finish();
        self.now_us = head.at_us.unwrap_or(self.now_us);
        let argument = head.argument.trim_ascii_end();
        match head.command {
            b"Query" | b"Execute" => {
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

    /// The entry that was read last.
    pub(super) fn finish(&mut self) -> Option<Entry> {
        let mut entry = self.open.take()?;
        while entry.sql.last().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b';') {
            entry.sql.pop();
        }
        if let Some(schema) = used(&entry.sql) {
            self.schemas.insert(entry.session, schema);
        }
        (!entry.sql.is_empty() && entry.at_us != 0).then_some(entry)
    }
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

fn read_head(line: &[u8]) -> Option<Head<'_>> {
    let (at_us, rest) = match read_time(line) {
        Some((at_us, _, length)) => (Some(at_us), &line[length..]),
        None if line.starts_with(b"\t\t") => (None, line),
        None => return None,
    };
    let rest = rest.trim_ascii_start();
    let place = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    let session = digits(&rest[..place])?.unsigned_abs();
    let rest = rest[place..].strip_prefix(b" ")?;
    let end = rest.iter().position(|byte| matches!(byte, b'\t' | b'\n')).unwrap_or(rest.len());
    let command = rest[..end].trim_ascii();
    let argument = rest.get(end + 1..).unwrap_or_default();
    COMMANDS.contains(&command).then_some(Head { at_us, session, command, argument })
}
