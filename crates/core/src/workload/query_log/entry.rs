//! What a log tells.

/// Longer statements do not fit into a packet of the protocol: of them no more is kept than shows it.
pub const STATEMENT_BYTES_MAX: usize = (1 << 24) - 1024;

/// Adds a line to a statement, as long as it fits into a packet: a damaged log may have gigabytes without a next entry.
pub(super) fn extend(sql: &mut Vec<u8>, line: &[u8]) {
    if sql.len() <= STATEMENT_BYTES_MAX {
        sql.extend_from_slice(&line[..line.len().min(STATEMENT_BYTES_MAX + 1)]);
    }
}

/// A statement of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it began, microseconds since 1970 in the log's own clock.
    pub at_us: i64,
    /// The recorded connection; of digests, the number of the statement's form.
    pub session: u64,
    /// Its default schema, where the log tells it.
    pub schema: Option<String>,
    /// It is the first one after its connection was made or reset, where the log tells it.
    pub anew: bool,
    /// The statement, any bytes.
    pub sql: Vec<u8>,
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
