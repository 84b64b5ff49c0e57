//! Whether a statement may change data: by its words, so that nothing is sent to a server to find out.
//!
//! Only what certainly reads counts as reading. A stored function that writes cannot be seen in a statement's text: the
//! session's READ ONLY is the second guard against it.

use super::token::{Token, Tokens};

/// The words of a statement that are looked at: where a statement does not say by then what it does, it counts as one
/// that writes.
const WORDS_MAX: usize = 100_000;
/// Words after SET that reach beyond the session, or take its READ ONLY away.
const SET_WORDS: [&str; 10] = [
    "GLOBAL",
    "PERSIST",
    "PERSIST_ONLY",
    "PASSWORD",
    "ROLE",
    "DEFAULT_ROLE",
    "TRANSACTION",
    "STATEMENT",
    "TX_READ_ONLY",
    "TRANSACTION_READ_ONLY",
];

/// The words of a statement, in capitals.
fn words(text: &[u8]) -> impl Iterator<Item = String> + '_ {
    Tokens::new(text)
        .filter(|(token, _)| *token == Token::Word)
        .take(WORDS_MAX)
        .map(|(_, place)| String::from_utf8_lossy(&text[place]).trim_start_matches('@').to_ascii_uppercase())
}

/// The first word of a statement in capitals; empty if it has none.
pub fn verb(text: &[u8]) -> String {
    words(text).next().unwrap_or_default()
}

/// Whether a statement certainly changes no data, as far as its text tells, and locks no row as a change would (FOR
/// UPDATE): others would wait for it, and MariaDB refuses it in a transaction that only reads (error 1792).
pub fn reads(text: &[u8]) -> bool {
    let mut rest = words(text);
    let Some(first) = rest.next() else { return true };
    match first.as_str() {
        "SELECT" | "VALUES" | "TABLE" | "WITH" => reads_only(rest),
        "SHOW" | "DESCRIBE" | "DESC" | "HELP" | "USE" | "DO" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => true,
        // MariaDB's BEGIN NOT ATOMIC is a program.
        "BEGIN" => rest.next().is_none_or(|word| word == "WORK"),
        // START SLAVE, START GROUP_REPLICATION.
        "START" => rest.next().is_some_and(|word| word == "TRANSACTION"),
        "EXPLAIN" => reads_only(rest),
        // MariaDB's ANALYZE runs the statement; ANALYZE TABLE writes statistics.
        "ANALYZE" => {
            let mut rest = rest.skip_while(|word| word == "FORMAT" || word == "JSON" || word == "TRADITIONAL");
            rest.next().is_some_and(|word| word == "SELECT" || word == "WITH") && reads_only(rest)
        }
        "SET" => !rest.any(|word| SET_WORDS.contains(&word.as_str())),
        _ => false,
    }
}

/// Whether none of the words after the first makes the statement write: a file, or a common table expression or an
/// EXPLAIN ANALYZE before an UPDATE.
fn reads_only(words: impl Iterator<Item = String>) -> bool {
    let mut before = String::new();
    for word in words {
        let writes = match word.as_str() {
            "OUTFILE" | "DUMPFILE" => before == "INTO",
            "UPDATE" | "DELETE" => true,
            // INSERT(...) and REPLACE(...) are functions too.
            "INTO" => before == "INSERT" || before == "REPLACE",
            _ => false,
        };
        if writes {
            return false;
        }
        before = word;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_is_known() {
        for text in [
            "SELECT 1",
            " (SELECT 1) UNION (SELECT 2)",
            "/* update t */ select a from t for share",
            "SELECT REPLACE(a, 'b', 'c'), INSERT(a, 1, 2, 'x') FROM t",
            "SELECT ';DELETE FROM t'",
            "WITH a AS (SELECT 1) SELECT * FROM a LOCK IN SHARE MODE",
            "SELECT a INTO @b FROM t",
            "show variables",
            "SET NAMES utf8mb4",
            "SET autocommit=1, @a = 5",
            "BEGIN",
            "START TRANSACTION READ ONLY",
            "EXPLAIN SELECT 1",
            "ANALYZE FORMAT=JSON SELECT 1",
            "",
        ] {
            assert!(reads(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn everything_else_writes() {
        for text in [
            "INSERT INTO t VALUES (1)",
            "/*!50000 DELETE */ FROM t",
            "SELECT a FROM t WHERE b = 1 FOR UPDATE",
            "WITH a AS (SELECT 1) DELETE FROM t",
            "WITH a AS (SELECT 1) UPDATE t SET b = 1",
            "SELECT * INTO OUTFILE '/tmp/x' FROM t",
            "SELECT * FROM t INTO DUMPFILE '/tmp/x'",
            "EXPLAIN ANALYZE DELETE FROM t",
            "ANALYZE UPDATE t SET a = 1",
            "ANALYZE TABLE t",
            "SET GLOBAL max_connections = 1",
            "SET @@global.max_connections = 1",
            "SET SESSION TRANSACTION READ WRITE",
            "SET STATEMENT max_statement_time = 1 FOR DELETE FROM t",
            "BEGIN NOT ATOMIC DELETE FROM t; END",
            "START SLAVE",
            "CALL p()",
            "PREPARE s FROM 'DELETE FROM t'",
            "LOCK TABLES t WRITE",
            "KILL 5",
            "\u{feff}nonsense",
        ] {
            assert!(!reads(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn verbs_are_found_behind_comments() {
        assert_eq!(verb(b"/* a */ (select 1)"), "SELECT");
        assert_eq!(verb(b"-- nothing"), "");
    }
}
