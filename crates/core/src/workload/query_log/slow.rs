//! The slow query log.
//!
//! MySQL's manual ("The Slow Query Log") and Percona's ("Slow Query Log") tell its lines. An entry is comments that begin with
//! `#`, then `use SCHEMA;`, `SET timestamp=SECONDS;` and the statement. The time in `# Time:` is when the statement was
//! logged, at its end; MariaDB and servers before MySQL 5.7 write it only when it has changed.

use super::entry::{Entry, extend};
use super::time::{digits, read_seconds, read_time};

/// What the lines of the present entry said.
#[derive(Default)]
pub(super) struct Slow {
    /// The last `# Time:`, and whether it has parts of a second.
    logged: Option<(i64, bool)>,
    session: u64,
    /// What the head says of the schema; empty for none.
    schema: Option<String>,
    /// Servers that do not say it there write `use` when it is another one than that of the entry before, whoever's.
    used: Option<String>,
    query_us: i64,
    timestamp: Option<(i64, bool)>,
    sql: Vec<u8>,
    in_head: bool,
    begun: bool,
}

impl Slow {
    /// Takes a line, with its end; gives the entry that it ends.
    pub(super) fn line(&mut self, line: &[u8]) -> Option<Entry> {
        let is_head = is_head(line);
        let done = if is_head && self.begun { self.finish() } else { None };
        if is_head || (self.in_head && line.starts_with(b"# ")) {
            self.in_head = true;
            self.head(line);
        } else if self.begun {
            self.body(line);
        }
        done
    }

    /// The entry that was read last.
    pub(super) fn finish(&mut self) -> Option<Entry> {
        let mut sql = std::mem::take(&mut self.sql);
        while sql.last().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b';') {
            sql.pop();
        }
        let (logged, timestamp) = (self.logged, self.timestamp.take());
        let at_us = match (logged, timestamp) {
            (_, Some((at_us, true))) => at_us,
            (Some((end_us, true)), _) => end_us - self.query_us,
            (_, Some((at_us, false))) | (Some((at_us, false)), None) => at_us,
            (None, None) => 0,
        };
        let whole = self.begun && !sql.is_empty() && at_us != 0;
        let schema = match self.schema.take() {
            Some(told) => (!told.is_empty()).then_some(told),
            None => self.used.clone(),
        };
        let session = self.session;
        self.begun = false;
        self.query_us = 0;
        whole.then_some(Entry { at_us, session, schema, sql })
    }

    fn head(&mut self, line: &[u8]) {
        let rest = &line[2..];
        if let Some(time) = rest.strip_prefix(b"Time: ") {
            if let Some((at_us, exact, _)) = read_time(time.trim_ascii_start()) {
                self.logged = Some((at_us, exact));
            }
        } else if rest.starts_with(b"User@Host: ") {
            self.begun = true;
        }
        for (name, value) in fields(rest) {
            match name {
                b"Id" | b"Thread_id" => self.session = digits(value).map_or(self.session, i64::unsigned_abs),
                b"Schema" => self.schema = Some(String::from_utf8_lossy(value).into_owned()),
                b"Query_time" => self.query_us = read_seconds(value).map_or(0, |seconds| seconds.0),
                _ => {}
            }
        }
    }

    fn body(&mut self, line: &[u8]) {
        if self.sql.is_empty() {
            let text = line.trim_ascii_end();
            let text = text.strip_suffix(b";").unwrap_or(text);
            if self.in_head
                && let Some(schema) = text.strip_prefix(b"use ")
            {
                self.used = Some(String::from_utf8_lossy(schema).trim_matches('`').to_owned());
                self.schema.clone_from(&self.used);
                return;
            }
            if let Some(seconds) = text.strip_prefix(b"SET timestamp=") {
                // A statement of a client looks the same: it is the second of them.
                if self.timestamp.is_none() {
                    self.timestamp = read_seconds(seconds);
                    return;
                }
            }
        }
        self.in_head = false;
        extend(&mut self.sql, line);
    }
}

/// Whether a line begins an entry. A comment in a statement may look alike, but has no time.
pub(super) fn is_head(line: &[u8]) -> bool {
    let time = line.strip_prefix(b"# Time: ");
    time.is_some_and(|time| read_time(time.trim_ascii_start()).is_some()) || line.starts_with(b"# User@Host: ")
}

/// The `Name: value` of a line: names end with a colon, values at white space.
fn fields(line: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        if let Some(name) = word.strip_suffix(b":") {
            let next = words.get(place + 1).copied().unwrap_or_default();
            // A field without a value is followed by the next name.
            found.push((name, if next.ends_with(b":") { &[][..] } else { next }));
        }
    }
    found.into_iter()
}
