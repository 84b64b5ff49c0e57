//! What a log tells.

use crate::workload::sql::token::{Token, Tokens};

/// Longer statements do not fit into a packet of the protocol: of them no more is kept than shows it.
pub const STATEMENT_BYTES_MAX: usize = (1 << 24) - 1024;

/// Adds a line to a statement, as long as it fits into a packet: a damaged log may have gigabytes without a next entry.
pub(super) fn extend(sql: &mut Vec<u8>, line: &[u8]) {
    if sql.len() <= STATEMENT_BYTES_MAX {
        sql.extend_from_slice(&line[..line.len().min(STATEMENT_BYTES_MAX + 1)]);
    }
}

/// A statement of a log, or the end of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// When it began, microseconds since 1970 in the log's own clock.
    pub at_us: i64,
    /// When the log wrote it, in its own clock; None of digests.
    pub logged_us: Option<i64>,
    /// The time that the log tells of it, where it tells whole seconds only.
    pub second_us: Option<i64>,
    /// The recorded connection; of digests, the number of the statement's form.
    pub session: u64,
    /// Its default schema, where the log tells it.
    pub schema: Option<String>,
    /// It is the first one after its connection was made or reset, where the log tells it.
    pub anew: bool,
    /// Its connection has sent a USE since: the schema is the one that this led to, which no log tells.
    pub moved: bool,
    /// The recorded connection ends here: there is no statement.
    pub ends: bool,
    /// The line on which it begins; 0 of digests.
    pub line: u64,
    /// The statement, any bytes.
    pub sql: Vec<u8>,
}

/// The schema that a USE opens; None of another statement.
pub fn schema_of_use(sql: &[u8]) -> Option<String> {
    let mut pieces = Tokens::new(sql).filter(|(token, _)| !matches!(token, Token::Nothing | Token::Semicolon));
    let word = &sql[pieces.next()?.1];
    word.eq_ignore_ascii_case(b"USE").then_some(())?;
    let first = pieces.next()?.1;
    // A name may have signs that the tokens part.
    let end = pieces.last().map_or(first.end, |(_, place)| place.end);
    let name = String::from_utf8_lossy(&sql[first.start..end]).into_owned();
    let quoted = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
    Some(quoted.map_or_else(|| name.clone(), |name| name.replace("``", "`")))
}

/// Which log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The slow query log (`# Query_time: ...`).
    Slow,
    /// The general query log (time, id, command, argument).
    General,
    /// Digests that `flatwater observe` recorded.
    Digests,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_read_as_a_server_reads_it() {
        for sql in ["use b", "USE b;", "/* app */ USE\tb /* ' */ ;", "-- x\nUse `b`", "USE`b`# c", "use\n\nb"] {
            assert_eq!(schema_of_use(sql.as_bytes()).as_deref(), Some("b"), "{sql}");
        }
        assert_eq!(schema_of_use(b"USE `a``b c`").as_deref(), Some("a`b c"));
        for sql in ["", "use", "SELECT b", "'use' b", "/* use b */ SELECT 1"] {
            assert_eq!(schema_of_use(sql.as_bytes()), None, "{sql}");
        }
    }
}
