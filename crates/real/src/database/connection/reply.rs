//! What the packets of a reply say.

use super::error::SqlError;
use crate::database::wire::{ERROR, Reader};

/// What the server said to one statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Rows changed, or rows returned.
    pub rows: u64,
    /// The last AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// The server's warnings.
    pub warnings: u16,
    /// Whether a transaction is open; None where rows were returned, whose end is not asked for it.
    pub in_transaction: Option<bool>,
    /// Another result of the same statement follows.
    pub(super) more: bool,
}

/// SERVER_STATUS_IN_TRANS.
const IN_TRANSACTION: u64 = 1;
/// SERVER_MORE_RESULTS_EXISTS.
const MORE_RESULTS: u64 = 1 << 3;

/// A server's words are told in one line: MySQL's are never longer (MYSQL_ERRMSG_SIZE in its sources).
const MESSAGE_BYTES_MAX: usize = 512;

pub(super) fn short() -> SqlError {
    SqlError::Protocol("a packet ends too early".into())
}

pub(super) fn read_ok(payload: &[u8]) -> Result<Reply, SqlError> {
    let mut reader = Reader(payload);
    let mut read = || {
        reader.byte()?;
        let (rows, last_insert_id) = (reader.length()?, reader.length()?);
        let status = reader.number(2)?;
        let (in_transaction, more) = (Some(status & IN_TRANSACTION != 0), status & MORE_RESULTS != 0);
        Some(Reply { rows, last_insert_id, warnings: reader.number(2)? as u16, in_transaction, more })
    };
    read().ok_or_else(short)
}

/// Whether another result follows the packet that ends the rows of this one, of servers that end them with EOF.
pub(super) fn read_eof(payload: &[u8]) -> Result<bool, SqlError> {
    let mut reader = Reader(payload);
    let mut read = || {
        reader.take(3)?; // its kind, warnings
        Some(reader.number(2)? & MORE_RESULTS != 0)
    };
    read().ok_or_else(short)
}

pub(super) fn read_error(payload: &[u8]) -> SqlError {
    let mut reader = Reader(payload);
    let mut read = || {
        if reader.byte()? != ERROR {
            return None;
        }
        let code = reader.number(2)? as u16;
        let text = match reader.0 {
            [b'#', _, _, _, _, _, text @ ..] => text,
            text => text,
        };
        let text = &text[..text.len().min(MESSAGE_BYTES_MAX)];
        Some(SqlError::Server { code, message: String::from_utf8_lossy(text).into_owned() })
    };
    read().unwrap_or_else(|| SqlError::Protocol("an answer that is neither good nor an error".into()))
}

/// The type of a column from its description; appends its name where names are kept.
pub(super) fn read_column(payload: &[u8], names: Option<&mut Vec<String>>) -> Result<u8, SqlError> {
    let mut reader = Reader(payload);
    let mut read = || {
        for _ in 0..4 {
            reader.bytes()?; // catalog, schema, table, original table
        }
        let name = reader.bytes()?;
        reader.bytes()?; // original name
        reader.length()?;
        reader.take(6)?; // character set, length
        Some((name, reader.byte()?))
    };
    let (name, kind) = read().ok_or_else(short)?;
    if let Some(names) = names {
        names.push(String::from_utf8_lossy(name).into_owned());
    }
    Ok(kind)
}
