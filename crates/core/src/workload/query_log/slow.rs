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
    timestamp_us: Option<i64>,
    /// Fields that only MariaDB has, and newer MariaDB.
    qc_hit: bool,
    bytes_sent: bool,
    sql: Vec<u8>,
    in_head: bool,
    begun: bool,
}

impl Slow {
    /// Takes a line, with its end; gives the entry that it ends.
    pub(super) fn line(&mut self, line: &[u8]) -> Option<Entry> {
        let is_head = is_head(line);
        let done = if is_head && self.begun { self.finish() } else { None };
        // MariaDB frames the plan (log_slow_verbosity = explain) with lines of `#` alone.
        if is_head || (self.in_head && (line.starts_with(b"# ") || line.trim_ascii_end() == b"#")) {
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
        let told_us = match (self.logged, self.timestamp_us.take()) {
            (Some((logged_us, true)), _) => Some(logged_us),
            (logged, timestamp_us) => timestamp_us.or(logged.map(|(logged_us, _)| logged_us)),
        };
        let of_begin = std::mem::take(&mut self.qc_hit) & std::mem::take(&mut self.bytes_sent);
        let whole = self.begun && !sql.is_empty();
        let schema = match self.schema.take() {
            Some(told) => (!told.is_empty()).then_some(told),
            None => self.used.clone(),
        };
        let (session, query_us) = (self.session, std::mem::take(&mut self.query_us));
        self.begun = false;
        let told_us = told_us.filter(|_| whole)?;
        let at_us = if of_begin { told_us } else { told_us.saturating_sub(query_us) };
        Some(Entry { at_us, session, schema, anew: false, sql })
    }

    fn head(&mut self, line: &[u8]) {
        let rest = line.strip_prefix(b"# ").unwrap_or_default();
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
                b"QC_hit" => self.qc_hit = true,
                b"Bytes_sent" => self.bytes_sent = true,
                b"Query_time" => self.query_us = read_seconds(value).unwrap_or(0),
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
            // A statement of a client may look the same: it is the second of them.
            if self.timestamp_us.is_none() {
                self.timestamp_us = read_set(text);
                if self.timestamp_us.is_some() {
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

/// The time of a `SET last_insert_id=1,insert_id=2,timestamp=1700745300`: servers write the first two where the statement
/// used or made such a number (`MYSQL_QUERY_LOG::write` in MySQL's sql/log.cc). None of another text.
fn read_set(text: &[u8]) -> Option<i64> {
    let mut rest = text.strip_prefix(b"SET ")?;
    for name in [&b"last_insert_id="[..], b"insert_id="] {
        if let Some(value) = rest.strip_prefix(name) {
            let end = value.iter().position(|byte| *byte == b',')?;
            value[..end].iter().all(u8::is_ascii_digit).then_some(())?;
            rest = &value[end + 1..];
        }
    }
    read_seconds(rest.strip_prefix(b"timestamp=")?)
}

/// What a line tells of the schema, whose name may have spaces: up to the field that MariaDB or Percona Server writes next.
fn schema(line: &[u8]) -> &[u8] {
    let begin = |text: &[u8], wanted: &[u8]| text.windows(wanted.len()).position(|bytes| bytes == wanted);
    let told = begin(line, b"Schema:").map_or(&[][..], |at| &line[at + b"Schema:".len()..]);
    let end = [&b"  QC_hit: "[..], b"  Last_errno: "].iter().filter_map(|next| begin(told, next)).min();
    told[..end.unwrap_or(told.len())].trim_ascii()
}

/// The `Name: value` of a line: names end with a colon, values at white space.
fn fields(line: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        if let Some(name) = word.strip_suffix(b":") {
            let next = words.get(place + 1).copied().unwrap_or_default();
            // A field without a value is followed by the next name.
            let value = if next.ends_with(b":") { &[][..] } else { next };
            found.push((name, if name == b"Schema" { schema(line) } else { value }));
        }
    }
    found.into_iter()
}
