//! Sessions that only read: a second guard of data that are not flatwater's.

use super::connection::{Connection, SqlError};

/// ER_PARSE_ERROR: servers before MySQL 5.6 and MariaDB 10.0 do not know READ ONLY.
const UNKNOWN: u16 = 1064;

/// From now on, the server refuses what this session would write, where it knows that.
///
/// # Errors
/// What the server answers.
pub(super) fn make_read_only(connection: &mut Connection) -> Result<(), SqlError> {
    match connection.query("SET SESSION TRANSACTION READ ONLY") {
        Err(error) if error.is(UNKNOWN) => Ok(()),
        other => other.map(drop),
    }
}
