//! What a server's refusals mean to a load, by their numbers in MySQL and MariaDB.

use crate::database::connection::SqlError;
use crate::database::refused;

/// LOAD DATA LOCAL is not allowed: ER_NOT_ALLOWED_COMMAND, ER_CLIENT_LOCAL_FILES_DISABLED (MySQL 8), its MariaDB
/// counterpart, and the client libraries' own number.
const LOCAL_FILES: [u16; 4] = [1148, 3948, 4166, 2068];
/// Table exists; duplicate key name; procedure exists; duplicate constraint name.
const EXISTS: [u16; 4] = [1050, 1061, 1304, 1826];
/// "Can't create table": also what MariaDB says to a foreign key whose name is there (errno 121).
const CANNOT_CREATE: u16 = 1005;
/// Disk full, in the server's and the storage engine's words (1878: of the files that an index is sorted in).
const FULL: [u16; 4] = [1021, 1114, 1026, 1878];
/// Access denied to a schema, to an account, to a privilege.
const DENIED: [u16; 4] = [1044, 1045, 1142, 1227];

/// Whether the server does not allow LOAD DATA LOCAL.
pub(super) fn refuses_local_files(error: &SqlError) -> bool {
    matches!(error, SqlError::Server { code, .. } if LOCAL_FILES.contains(code))
}

/// Whether what was to be made is there: an earlier load was killed between making and marking it.
pub(super) fn exists(error: &SqlError) -> bool {
    match error {
        SqlError::Server { code, message } => {
            EXISTS.contains(code) || *code == CANNOT_CREATE && message.contains("errno: 121")
        }
        _ => false,
    }
}

/// Whether other transactions are in the way: another attempt may succeed.
pub(super) fn in_the_way(error: &SqlError) -> bool {
    matches!(error, SqlError::Server { code: refused::DEADLOCK | refused::LOCK_WAIT_TIMEOUT, .. })
}

/// What to do about a failure, where there is something: a hint in words, with a space before it, or nothing.
pub(super) fn hint(error: &SqlError) -> &'static str {
    match error {
        SqlError::Server { code, .. } if FULL.contains(code) => {
            " (hint: make room on the server's disk and load again: it goes on where it stopped)"
        }
        SqlError::Server { code, .. } if DENIED.contains(code) => " (hint: grant the account the schema)",
        SqlError::Server { code: refused::TOO_MANY_CONNECTIONS | refused::TOO_MANY_USER_CONNECTIONS, .. } => {
            " (hint: fewer threads, or a larger max_connections of the server)"
        }
        SqlError::Lost(_) => " (hint: when the server is there again, load again: it goes on where it stopped)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_already_is_no_error() {
        let server = |code, message: &str| SqlError::Server { code, message: message.into() };
        assert!(exists(&server(1061, "Duplicate key name 'idx_orders'")));
        assert!(exists(&server(1005, "Can't create table `a`.`b` (errno: 121 \"Duplicate key on write or update\")")));
        assert!(!exists(&server(1005, "Can't create table `a`.`b` (errno: 150 \"Foreign key constraint is wrong\")")));
        assert!(!exists(&SqlError::Abandoned));
        assert!(in_the_way(&server(1213, "Deadlock")) && !in_the_way(&server(1062, "Duplicate entry")));
    }
}
