//! Parameters of prepared statements.

use crate::database::wire::column;

/// A parameter of a prepared statement.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A whole number (sent as BIGINT).
    Int(i64),
    /// A floating-point number (sent as DOUBLE).
    Double(f64),
    /// Text or bytes; decimals and dates too ("12.50", "2026-11-21 10:00:00").
    Bytes(&'a [u8]),
}

impl Value<'_> {
    pub(super) fn column_type(self) -> Option<u8> {
        match self {
            Self::Null => None,
            Self::Int(_) => Some(column::LONGLONG),
            Self::Double(_) => Some(column::DOUBLE),
            Self::Bytes(_) => Some(column::STRING),
        }
    }
}
