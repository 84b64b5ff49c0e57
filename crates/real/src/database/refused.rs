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
/// With these the server closes the session: ER_SERVER_SHUTDOWN; ER_CONNECTION_KILLED of MariaDB; ER_SESSION_WAS_KILLED; and
/// ER_CLIENT_INTERACTION_TIMEOUT, with which MySQL since 8.0.24 says that it was idle for longer than wait_timeout.
const ENDS_SESSION: [u16; 4] = [SHUTDOWN, 1927, 3169, 4031];
/// ER_NET_PACKET_TOO_LARGE: with it, too, and the statement is refused again on another one.
pub(super) const PACKET_TOO_LARGE: u16 = 1153;
/// ER_CON_COUNT_ERROR.
pub(super) const TOO_MANY_CONNECTIONS: u16 = 1040;
/// ER_TOO_MANY_USER_CONNECTIONS.
pub(super) const TOO_MANY_USER_CONNECTIONS: u16 = 1203;

/// ER_DBACCESS_DENIED_ERROR.
pub(super) const SCHEMA_DENIED: u16 = 1044;
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

/// Whether the session is over: its connection is lost, or the server closes it with these words.
pub(super) fn ends_session(error: &SqlError) -> bool {
    match error {
        SqlError::Server { code, .. } => ENDS_SESSION.contains(code) || *code == PACKET_TOO_LARGE,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_words_of_a_server_are_its_last() {
        for code in [1053, 1153, 1927, 3169, 4031] {
            assert!(ends_session(&SqlError::Server { code, message: String::new() }), "{code}");
        }
        assert!(!ends_session(&SqlError::Server { code: 1213, message: String::new() }));
        assert!(ends_session(&SqlError::Lost(std::io::ErrorKind::BrokenPipe.into())));
    }
}
