//! Statements that a replay does not send: the log tells otherwise what they led to, or they are about the recorded server.

use crate::workload::sql::effect::words_of;
use crate::workload::sql::token::{Escapes, Token, Tokens};

pub(super) const KILLS: &str = "a KILL names a connection of the recorded server";
const STOPS: &str = "it stops the server";
const SUPPRESSED: &str = "the server left out statements (log_throttle_queries_not_using_indexes)";
/// Of the EXECUTE of a prepared statement, servers log what it runs. An EXECUTE itself is in the log when it was refused.
pub(super) const REFUSED: &str = "an EXECUTE that ran nothing";
/// A general log has what triggers and functions do beside what runs them.
pub(super) const OF_PROGRAM: &str = "it is of a trigger or a function, which runs it again";
const NAME_CONST: &[u8] = b"NAME_CONST";
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

/// Whether a statement is surely of a trigger or a function: servers write the values of its variables so, and no client
/// does. What has a trigger's row (`NEW.a`) looks like a client's with such a table; the server refuses it.
pub(super) fn is_of_program(sql: &[u8]) -> bool {
    let mut brackets = (0..sql.len()).filter(|at| sql[*at] == b'(');
    brackets.any(|at| sql[..at].ends_with(NAME_CONST) && sql.get(at + 1) == Some(&b'\''))
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

/// The tokens of a statement, without blanks and comments.
fn pieces(sql: &[u8]) -> impl Iterator<Item = &[u8]> {
    Tokens::new(sql).filter(|(token, _)| *token != Token::Nothing).map(|(_, place)| &sql[place])
}

fn is_for_all(scope: &[u8]) -> bool {
    ["GLOBAL", "PERSIST", "PERSIST_ONLY"].iter().any(|word| scope.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether a SET reaches beyond its session: what it sets stays.
pub(super) fn sets_for_all(sql: &[u8]) -> bool {
    let (mut is_begin, mut depth) = (true, 0_i32);
    for piece in pieces(sql).skip(1) {
        let piece = piece.to_ascii_uppercase();
        let scope = piece.strip_prefix(b"@@").unwrap_or(&piece).split(|byte| *byte == b'.').next().unwrap_or_default();
        if is_begin && is_for_all(scope) {
            return true;
        }
        match piece.as_slice() {
            b"(" => depth += 1,
            b")" => depth -= 1,
            _ => {}
        }
        is_begin = depth == 0 && piece == b",";
    }
    false
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

/// Whether a SET turns its session's autocommit on; None of one that does not set it. A value that is not told (`@old`)
/// restores what was, and that is on by default.
pub fn sets_autocommit(sql: &[u8]) -> Option<bool> {
    Some(!matches!(&*value_of(sql, b"AUTOCOMMIT")?, b"0" | b"OFF" | b"FALSE"))
}

/// Whether a SET gives its session a clock of its own (`SET timestamp`), and not the server's again; None of one that does
/// neither.
pub(super) fn sets_clock(sql: &[u8]) -> Option<bool> {
    Some(!matches!(&*value_of(sql, b"TIMESTAMP")?, b"0" | b"DEFAULT"))
}

/// The first word of the value that a SET gives a variable of its session, in capitals and without quotes.
fn value_of(sql: &[u8], variable: &[u8]) -> Option<Vec<u8>> {
    let mut pieces = pieces(sql).peekable();
    pieces.next_if(|verb| verb.eq_ignore_ascii_case(b"SET"))?;
    let (mut found, mut scope): (_, &[u8]) = (None, b"");
    while let Some(name) = pieces.next() {
        // `@@global.x` is three pieces.
        if name == b"." {
            continue;
        }
        let scope = std::mem::replace(&mut scope, name);
        if !is_variable(name, variable) || is_for_all(scope.strip_prefix(b"@@").unwrap_or(scope)) {
            continue;
        }
        let mut is_set = false;
        while pieces.next_if(|piece| matches!(*piece, b"=" | b":" | b":=")).is_some() {
            is_set = true;
        }
        if is_set && let Some(value) = pieces.next() {
            found = Some(bare(value.trim_ascii()).to_ascii_uppercase());
        }
    }
    found
}

fn sets_password(sql: &[u8]) -> bool {
    pieces(sql).nth(1).is_some_and(|piece| piece.eq_ignore_ascii_case(b"PASSWORD"))
}

/// Whether this is the variable of the session, as `@@session.autocommit` or in backticks; `@autocommit` is a user's.
fn is_variable(piece: &[u8], variable: &[u8]) -> bool {
    let name = if piece.first() == Some(&b'`') { bare(piece) } else { piece };
    let is_users = name.first() == Some(&b'@') && name.get(1) != Some(&b'@');
    !is_users && name.rsplit(|byte| *byte == b'@').next().is_some_and(|last| last.eq_ignore_ascii_case(variable))
}

/// A piece without its quotes.
fn bare(piece: &[u8]) -> &[u8] {
    match piece {
        [b'`' | b'\'' | b'"', inside @ .., _] => inside,
        _ => piece,
    }
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
        "CREATE" | "DROP" => rest.find(|word| word != "OR" && word != "REPLACE").is_none_or(|word| word != "TEMPORARY"),
        "ALTER" | "TRUNCATE" | "RENAME" | "GRANT" | "REVOKE" | "LOCK" | "OPTIMIZE" | "REPAIR" | "CHECK" | "FLUSH"
        | "RESET" | "CACHE" | "INSTALL" | "UNINSTALL" | "CHANGE" => true,
        "START" | "STOP" => matches!(next().as_str(), "SLAVE" | "REPLICA" | "ALL"),
        // MariaDB's ANALYZE of a statement runs it.
        "ANALYZE" => matches!(next().as_str(), "TABLE" | "LOCAL" | "NO_WRITE_TO_BINLOG"),
        "LOAD" => next() == "INDEX",
        "SET" => sets_autocommit(sql) == Some(true) || sets_password(sql),
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
        for sql in [
            "SET autocommit = 'ON'",
            "SET @@session.autocommit = @old",
            "SET a = 0, autocommit := 1",
            "SET PASSWORD = 'a'",
            "STOP REPLICA",
            "CHANGE MASTER TO MASTER_HOST = 'a'",
            "CREATE OR REPLACE TABLE t",
        ] {
            assert!(ends_transaction(sql.as_bytes()), "{sql}");
        }
        for sql in ["BEGIN", "begin work", "start transaction read only", "XA START 'a'"] {
            assert!(begins_transaction(sql.as_bytes()), "{sql}");
        }
        for sql in ["BEGIN NOT ATOMIC", "START SLAVE", "XA END 'a'", "COMMIT", ""] {
            assert!(!begins_transaction(sql.as_bytes()), "{sql}");
        }
        let others = ["ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a", "COMMIT AND CHAIN", "DROP TEMPORARY TABLE t"];
        let sets = [
            "SET @autocommit = 1",
            "SET @x = 'autocommit', @y = 1",
            "SET @old = @@autocommit",
            "SET @old = @@autocommit, @@autocommit = 0",
            "SET autocommit = 'off'",
            "SET GLOBAL autocommit = 1",
            "SET @@global.autocommit = 1",
            "SET @password = 'a'",
            "START GROUP_REPLICATION",
            "CREATE OR REPLACE TEMPORARY TABLE t (a INT)",
        ];
        let others = others.into_iter().chain(sets);
        for sql in others.chain(["INSERT INTO t VALUES (1)", "BEGIN", "SET autocommit = 0", ""]) {
            assert!(!ends_transaction(sql.as_bytes()), "{sql}");
        }
    }

    #[test]
    fn a_session_may_have_a_clock_of_its_own() {
        for (sql, own) in [
            ("SET timestamp=UNIX_TIMESTAMP()+40", Some(true)),
            ("SET TIMESTAMP=1764536441, @@session.pseudo_thread_id=9", Some(true)),
            ("SET @@session.timestamp = 5", Some(true)),
            ("set timestamp = DEFAULT", Some(false)),
            ("SET timestamp=0", Some(false)),
            ("SET @timestamp = 5", None),
            ("SELECT timestamp = 5", None),
        ] {
            assert_eq!(sets_clock(sql.as_bytes()), own, "{sql}");
        }
    }

    #[test]
    fn what_is_set_for_all_stays() {
        for sql in [
            "SET GLOBAL read_only = 1",
            "set @a = 1, @@global.x = 2",
            "SET @@PERSIST.x = 1",
            "SET PERSIST_ONLY x = 1",
            "SET @a = (1, 2), GLOBAL x = 1",
        ] {
            assert!(sets_for_all(sql.as_bytes()), "{sql}");
        }
        let others = [
            "SET a = 1",
            "SET @@session.a = 'GLOBAL'",
            "SET a = @@x",
            "SET sql_mode = @@global.sql_mode, @old = @@GLOBAL.x",
            "SET @global = 1",
        ];
        for sql in others {
            assert!(!sets_for_all(sql.as_bytes()), "{sql}");
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
