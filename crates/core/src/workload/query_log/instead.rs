//! Statements that a replay does not send: the log tells otherwise what they led to, or they are about the recorded server.

use crate::workload::sql::effect::words_of;
use crate::workload::sql::token::{Escapes, Token, Tokens};

pub(super) const KILLS: &str = "a KILL names a connection of the recorded server";
const STOPS: &str = "it stops the server";
const SUPPRESSED: &str = "the server left out statements (log_throttle_queries_not_using_indexes)";
/// Of the EXECUTE of a prepared statement, servers log what it runs. An EXECUTE itself is in the log when it was refused.
pub(super) const REFUSED: &str = "an EXECUTE that ran nothing";
/// MariaDB logs an execution with many rows of values (COM_STMT_BULK_EXECUTE) without them.
pub(super) const NO_VALUES: &str = "its values are not in the log";

/// What is done in the place of a statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Instead {
    /// Nothing: an entry of its own has what it led to.
    Nothing,
    /// A recorded connection ends.
    End(u64),
    /// It is counted, with these words.
    Count(&'static str),
}

/// What is done in the place of a statement with this first word; None of one that is sent.
pub(super) fn instead_of(verb: &str, sql: &[u8]) -> Option<Instead> {
    match verb {
        "PREPARE" | "DEALLOCATE" => Some(Instead::Nothing),
        "DROP" => words_of(sql).nth(1).is_some_and(|word| word == "PREPARE").then_some(Instead::Nothing),
        "EXECUTE" => Some(Instead::Count(REFUSED)),
        "KILL" => Some(killed(sql).map_or(Instead::Count(KILLS), Instead::End)),
        "SHUTDOWN" | "RESTART" => Some(Instead::Count(STOPS)),
        // A server writes it into the slow log, and a colon is behind no verb.
        "THROTTLE" if sql.starts_with(b"throttle:") => Some(Instead::Count(SUPPRESSED)),
        _ => None,
    }
}

/// Whether a statement has the place of a value, and not the value.
pub(super) fn lacks_values(sql: &[u8], escapes: Option<Escapes>) -> bool {
    let mut tokens = Tokens::with(sql, escapes.unwrap_or(Escapes::Strings));
    sql.contains(&b'?') && tokens.any(|(token, _)| token == Token::Placeholder)
}

/// The connection that a KILL ends; None of one that ends a statement only, or the connections of a user.
fn killed(sql: &[u8]) -> Option<u64> {
    let mut rest = words_of(sql).skip(1).skip_while(|word| matches!(word.as_str(), "HARD" | "SOFT" | "CONNECTION"));
    rest.next()?.parse().ok().filter(|_| rest.next().is_none())
}

/// Whether a statement begins or ends a transaction of several statements, or makes the next ones such a transaction.
pub fn is_of_transaction(sql: &[u8]) -> bool {
    let mut words = words_of(sql);
    match words.next().unwrap_or_default().as_str() {
        "BEGIN" | "COMMIT" | "ROLLBACK" | "XA" => true,
        "START" => words.next().is_some_and(|word| word == "TRANSACTION"),
        "SET" => sets_autocommit(sql) == Some(false),
        _ => false,
    }
}

/// Whether a statement turns autocommit on; None of one that does not set it.
fn sets_autocommit(sql: &[u8]) -> Option<bool> {
    // Its name may be in quotes.
    let plain: Vec<u8> = sql.iter().map(|byte| if *byte == b'`' { b' ' } else { *byte }).collect();
    let mut behind = words_of(&plain).skip_while(|word| !word.ends_with("AUTOCOMMIT"));
    behind.next()?;
    // A value in quotes is no word: it may be 'OFF'.
    Some(behind.next().is_some_and(|value| matches!(value.as_str(), "1" | "ON" | "TRUE")))
}

/// Whether a statement begins a transaction of several statements, and what follows is of it.
pub fn begins_transaction(sql: &[u8]) -> bool {
    let mut words = words_of(sql);
    match (words.next().unwrap_or_default().as_str(), words.next().unwrap_or_default().as_str()) {
        // MariaDB's BEGIN NOT ATOMIC is a program.
        ("BEGIN", behind) => behind != "NOT",
        ("START", "TRANSACTION") | ("XA", "START" | "BEGIN") => true,
        _ => false,
    }
}

/// `WORK AND NO CHAIN NO RELEASE`.
const OPTIONS_MAX: usize = 8;

/// Whether nothing is left of an open transaction behind a statement, also if its answer never came.
pub fn ends_transaction(sql: &[u8]) -> bool {
    let mut rest = words_of(sql);
    let verb = rest.next().unwrap_or_default();
    let mut next = || rest.next().unwrap_or_default();
    match verb.as_str() {
        "COMMIT" | "ROLLBACK" => {
            let options: Vec<String> = rest.take(OPTIONS_MAX).collect();
            let chains = options.iter().position(|word| word == "CHAIN");
            // ROLLBACK TO a savepoint; AND CHAIN begins the next one.
            let goes_on = chains.is_some_and(|place| place == 0 || options[place - 1] != "NO");
            !goes_on && !options.iter().take(2).any(|word| word == "TO")
        }
        "XA" => matches!(next().as_str(), "COMMIT" | "ROLLBACK"),
        // They commit (MySQL's manual, "Statements That Cause an Implicit Commit").
        "CREATE" | "DROP" => next() != "TEMPORARY",
        "ALTER" | "TRUNCATE" | "RENAME" | "GRANT" | "REVOKE" | "LOCK" | "OPTIMIZE" | "REPAIR" | "CHECK" | "FLUSH"
        | "RESET" | "CACHE" | "INSTALL" | "UNINSTALL" => true,
        // MariaDB's ANALYZE of a statement runs it.
        "ANALYZE" => matches!(next().as_str(), "TABLE" | "LOCAL" | "NO_WRITE_TO_BINLOG"),
        "LOAD" => next() == "INDEX",
        "SET" => sets_autocommit(sql) == Some(true),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::sql::effect;

    #[test]
    fn behind_an_end_nothing_is_left() {
        for sql in ["COMMIT", "rollback work", "COMMIT AND NO CHAIN", "CREATE TABLE t (a INT)", "XA COMMIT 'a'"] {
            assert!(ends_transaction(sql.as_bytes()), "{sql}");
        }
        for sql in
            ["SET @@session.autocommit = 1", "SET sql_mode = '', `autocommit` = ON", "ANALYZE TABLE t", "FLUSH LOGS"]
        {
            assert!(ends_transaction(sql.as_bytes()), "{sql}");
        }
        for sql in ["BEGIN", "begin work", "start transaction read only", "XA START 'a'"] {
            assert!(begins_transaction(sql.as_bytes()), "{sql}");
        }
        for sql in ["BEGIN NOT ATOMIC", "START SLAVE", "XA END 'a'", "COMMIT", ""] {
            assert!(!begins_transaction(sql.as_bytes()), "{sql}");
        }
        let others = ["ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a", "COMMIT AND CHAIN", "DROP TEMPORARY TABLE t"];
        for sql in others.into_iter().chain(["INSERT INTO t VALUES (1)", "BEGIN", "SET autocommit = 0", ""]) {
            assert!(!ends_transaction(sql.as_bytes()), "{sql}");
        }
    }

    #[test]
    fn what_is_about_the_recorded_server_is_not_sent() {
        let of = |sql: &str| instead_of(&effect::verb(sql.as_bytes()), sql.as_bytes());
        for sql in ["KILL 10", "kill connection 10", "/* app */ KILL HARD CONNECTION 10;"] {
            assert_eq!(of(sql), Some(Instead::End(10)), "{sql}");
        }
        for sql in ["KILL QUERY 10", "KILL USER a", "KILL QUERY ID 10", "KILL @a", "KILL 10 + 1", "KILL"] {
            assert_eq!(of(sql), Some(Instead::Count(KILLS)), "{sql}");
        }
        for sql in ["SHUTDOWN", "shutdown wait for all slaves", "RESTART"] {
            assert_eq!(of(sql), Some(Instead::Count(STOPS)), "{sql}");
        }
        for sql in ["PREPARE s FROM ...", "deallocate prepare s", "DROP PREPARE s"] {
            assert_eq!(of(sql), Some(Instead::Nothing), "{sql}");
        }
        for sql in ["DROP TABLE prepare_s", "SELECT 1", "", "throttle"] {
            assert_eq!(of(sql), None, "{sql}");
        }
    }

    #[test]
    fn a_place_of_a_value_is_no_value() {
        for sql in ["INSERT INTO t VALUES (?)", "SELECT '?', ?"] {
            assert!(lacks_values(sql.as_bytes(), None), "{sql}");
        }
        for sql in ["SELECT '?'", "SELECT 1 /* ? */", "SELECT `a?` -- ?"] {
            assert!(!lacks_values(sql.as_bytes(), None), "{sql}");
        }
        assert!(!lacks_values(br"SELECT 'C:\', '?'", Some(Escapes::Nowhere)));
    }

    #[test]
    fn transactions_of_several_statements_are_known() {
        for sql in [
            "BEGIN",
            "begin work",
            "START TRANSACTION",
            "COMMIT",
            "rollback to s",
            "XA START 'x'",
            "SET autocommit=0",
            "SET @@session.autocommit = OFF",
            "SET a = 1, AUTOCOMMIT = 0",
            "SET autocommit = 'OFF'",
            "SET @@session.`autocommit` = 0",
        ] {
            assert!(is_of_transaction(sql.as_bytes()), "{sql}");
        }
        for sql in [
            "SET autocommit=1",
            "SET `autocommit` = 1",
            "SET AUTOCOMMIT = ON",
            "SELECT 'BEGIN'",
            "START SLAVE",
            "INSERT INTO t VALUES (1)",
        ] {
            assert!(!is_of_transaction(sql.as_bytes()), "{sql}");
        }
    }
}
