//! Error numbers of MySQL and MariaDB that a client of a workload is expected to act on, and what to say of them.

use super::connection::SqlError;

/// ER_LOCK_DEADLOCK: the transaction was rolled back.
pub(super) const DEADLOCK: u16 = 1213;
/// ER_SP_DOES_NOT_EXIST, of a savepoint.
pub(super) const NO_SAVEPOINT: u16 = 1305;
/// Errors with which a server rolls the whole transaction back: besides a deadlock, ER_LOCK_TABLE_FULL and MariaDB's
/// ER_CHECKREAD (`row_mysql_handle_errors` in its sources).
pub(super) const ROLLED_BACK: [u16; 3] = [DEADLOCK, 1206, 1020];
/// ER_LOCK_WAIT_TIMEOUT.
pub(super) const LOCK_WAIT_TIMEOUT: u16 = 1205;
/// ER_CHECKREAD: the row changed since the snapshot was taken (MariaDB's innodb_snapshot_isolation).
pub(super) const ROW_CHANGED: u16 = 1020;
/// ER_SERVER_SHUTDOWN: the session ends.
pub(super) const SHUTDOWN: u16 = 1053;
/// ER_CON_COUNT_ERROR.
pub(super) const TOO_MANY_CONNECTIONS: u16 = 1040;
/// ER_TOO_MANY_USER_CONNECTIONS.
pub(super) const TOO_MANY_USER_CONNECTIONS: u16 = 1203;

/// ER_DBACCESS_DENIED_ERROR.
const SCHEMA_DENIED: u16 = 1044;
/// ER_USER_LIMIT_REACHED.
const USED_UP: u16 = 1226;

/// The error with what to do about it, where that is known.
pub(super) fn with_hint(error: &SqlError) -> String {
    let hint = match error {
        SqlError::Server { code: TOO_MANY_CONNECTIONS | TOO_MANY_USER_CONNECTIONS, .. } => {
            " (hint: fewer workload.connections, or a larger max_connections of the server)"
        }
        SqlError::Server { code: SCHEMA_DENIED, .. } => {
            " (hint: GRANT the account a right to that schema, or name another one: database.schema_name)"
        }
        SqlError::Server { code: USED_UP, .. } => {
            " (hint: the account has used up what it may in an hour: ALTER USER ... WITH MAX_QUERIES_PER_HOUR 0, or wait)"
        }
        _ => "",
    };
    format!("{error}{hint}")
}
