//! Whether a statement may change data: by its words, so that nothing is sent to a server to find out.
//!
//! Only what certainly reads counts as reading. A stored function that writes cannot be seen in a statement's text: the
//! session's READ ONLY is the second guard against it, so nothing that takes it away counts as reading.
//!
//! How a text is read depends on the session (`sql_mode`) and on the server (it runs the inside of `/*!80000 ... */` if it
//! is as new). Nobody knows both here, so a statement must read in each way in which it can be understood.

use std::ops::Range;

use super::token::{Escapes, Token, Tokens};
use super::wide::Wide;

/// A statement with more conditional comments counts as one that writes: with each, it is read in twice as many ways.
const CONDITIONAL_MAX: usize = 3;
/// Words after SET that reach beyond the session (MariaDB's sequences, rows that are locked, a resource group of another
/// thread, a transaction that replicas take for one that was run), or take its READ ONLY away.
const SET_WORDS: [&str; 16] = [
    "GTID_NEXT",
    "RESOURCE",
    "UPDATE",
    "NEXT",
    "NEXTVAL",
    "SETVAL",
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
/// Functions that hold up other sessions, or change more than their own: a READ ONLY refuses none of them (MySQL's manual,
/// "Locking Functions", "The Locking Service", and the loadable functions of its plugins).
const REACHING_FUNCTIONS: [&str; 3] = ["GET_LOCK", "SERVICE_GET_READ_LOCKS", "SERVICE_GET_WRITE_LOCKS"];
/// How the names of plugins' functions begin.
const REACHING_FAMILIES: [&str; 6] = [
    "ASYNCHRONOUS_CONNECTION_FAILOVER_",
    "AUDIT_LOG_",
    "GROUP_REPLICATION_",
    "KEYRING_",
    "MYSQL_FIREWALL_",
    "VERSION_TOKENS_",
];
/// Words behind which SET names the character set of the statements that follow.
const CHARSET_WORDS: [&str; 3] = ["NAMES", "CHARSET", "SET"];
/// Those that most clients have.
const SAFE_CHARSETS: [&str; 7] = ["UTF8", "UTF8MB3", "UTF8MB4", "LATIN1", "ASCII", "BINARY", "DEFAULT"];

/// One way to understand a text.
#[derive(Clone, Copy)]
struct Reading {
    escapes: Escapes,
    /// A bit for each conditional comment, the first one lowest: whether the server runs it.
    runs: u32,
}

/// A piece of a statement that has a meaning.
type Piece<'a> = (Token, &'a [u8]);

/// The first word of a statement in capitals; empty if it has none.
pub fn verb(text: &[u8]) -> String {
    words_of(text).next().unwrap_or_default()
}

/// The words of a statement in capitals, those of conditional comments, too; `@` before a word is left out.
pub fn words_of(text: &[u8]) -> impl Iterator<Item = String> {
    words(pieces(text, Reading { escapes: Escapes::Strings, runs: u32::MAX }))
}

/// Whether a statement certainly changes no data, as far as its text tells, and locks no row as a change would (FOR
/// UPDATE): others would wait for it, and MariaDB refuses it in a transaction that only reads (error 1792).
pub fn reads(text: &[u8]) -> bool {
    let escapes = if text.contains(&b'\\') { &Escapes::ALL[..] } else { &[Escapes::Strings] };
    escapes.iter().all(|&escapes| {
        let Some(comments) = conditional_comments(text, escapes) else { return false };
        (0..1 << comments).all(|runs| reads_so(pieces(text, Reading { escapes, runs })))
    })
}

/// How many conditional comments a text has; None if it cannot be told by its words what it does.
fn conditional_comments(text: &[u8], escapes: Escapes) -> Option<usize> {
    let mut found = 0;
    for (token, place) in Tokens::with(text, escapes) {
        // MySQL 9 reads `$a$ ... $a$` as a string.
        if token == Token::Word && text[place.start] == b'$' {
            return None;
        }
        if is_condition(text, token, &place) {
            found += 1;
            let end = text[place.end..].windows(2).position(|bytes| bytes == b"*/")?;
            let inside = &text[place.end..place.end + end];
            // Whether it is run must not decide where a string or a comment ends.
            let has_quote = inside.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'`' | b'#'));
            if has_quote || inside.windows(2).any(|bytes| bytes == b"--" || bytes == b"/*") || found > CONDITIONAL_MAX {
                return None;
            }
        }
    }
    Some(found)
}

/// Whether a piece is the begin of a comment that some servers run.
fn is_condition(text: &[u8], token: Token, place: &Range<usize>) -> bool {
    token == Token::Nothing && (text[place.clone()].starts_with(b"/*!") || text[place.clone()].starts_with(b"/*M!"))
}

/// What a text has for a server that reads it so.
fn pieces(text: &[u8], reading: Reading) -> impl Iterator<Item = Piece<'_>> + Clone {
    let mut comments = 0;
    let mut is_run = true;
    Tokens::with(text, reading.escapes).filter_map(move |(token, place)| {
        if is_condition(text, token, &place) {
            is_run = reading.runs >> comments & 1 == 1;
            comments = (comments + 1).min(u32::BITS - 1);
        } else if token == Token::Nothing && text[place.clone()] == *b"*/" {
            is_run = true;
        }
        (is_run && token != Token::Nothing).then(|| (token, &text[place]))
    })
}

/// The words among pieces, in capitals.
fn words<'a>(pieces: impl Iterator<Item = Piece<'a>>) -> impl Iterator<Item = String> {
    pieces.filter(|(token, _)| *token == Token::Word).map(|(_, text)| capitals(text))
}

fn capitals(word: &[u8]) -> String {
    String::from_utf8_lossy(word).trim_start_matches('@').to_ascii_uppercase()
}

/// Whether a function is called that reaches beyond the session. Its name may stand in backticks.
fn calls_beyond<'a>(pieces: impl Iterator<Item = Piece<'a>>) -> bool {
    let mut before: &[u8] = b"";
    for (_, text) in pieces {
        if text == b"(" {
            let name = capitals(before.strip_prefix(b"`").and_then(|rest| rest.strip_suffix(b"`")).unwrap_or(before));
            let is_of_family = REACHING_FAMILIES.iter().any(|family| name.starts_with(family));
            if is_of_family || REACHING_FUNCTIONS.contains(&name.as_str()) {
                return true;
            }
        }
        before = text;
    }
    false
}

fn reads_so<'a>(pieces: impl Iterator<Item = Piece<'a>> + Clone) -> bool {
    let mut rest = words(pieces.clone());
    let Some(first) = rest.next() else { return true };
    if calls_beyond(pieces.clone()) {
        return false;
    }
    match first.as_str() {
        // DESCRIBE ANALYZE is EXPLAIN ANALYZE.
        "SELECT" | "VALUES" | "TABLE" | "WITH" | "EXPLAIN" | "DESCRIBE" | "DESC" | "DO" => reads_only(rest),
        "SHOW" | "HELP" | "USE" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => true,
        // MariaDB's BEGIN NOT ATOMIC is a program.
        "BEGIN" => rest.next().is_none_or(|word| word == "WORK"),
        // START SLAVE, START GROUP_REPLICATION; READ WRITE takes the session's READ ONLY away.
        "START" => {
            rest.next().is_some_and(|word| word == "TRANSACTION")
                && rest.all(|word| matches!(word.as_str(), "WITH" | "CONSISTENT" | "SNAPSHOT" | "READ" | "ONLY"))
        }
        // MariaDB's ANALYZE runs the statement; ANALYZE TABLE writes statistics.
        "ANALYZE" => {
            let mut rest = rest.skip_while(|word| word == "FORMAT" || word == "JSON" || word == "TRADITIONAL");
            rest.next().is_some_and(|word| word == "SELECT" || word == "WITH") && reads_only(rest)
        }
        "SET" => keeps_guard(pieces),
        _ => false,
    }
}

/// Whether none of the words after the first makes the statement write: a file, or a common table expression or an
/// EXPLAIN ANALYZE before an UPDATE.
fn reads_only(words: impl Iterator<Item = String>) -> bool {
    let mut before = String::new();
    for word in words {
        let writes = match word.as_str() {
            // The last two are of MariaDB's sequences, as NEXT VALUE FOR is.
            "OUTFILE" | "DUMPFILE" | "UPDATE" | "DELETE" | "NEXTVAL" | "SETVAL" => true,
            "VALUE" => before == "NEXT",
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

/// Whether a SET changes its session only, does not take READ ONLY away, and does not change how statements are read.
fn keeps_guard<'a>(pieces: impl Iterator<Item = Piece<'a>>) -> bool {
    let mut before = String::new();
    let mut quoted_name = false;
    for (token, text) in pieces {
        let is_assignment = token == Token::Sign && (text == b"=" || text == b":");
        // The name of a variable may stand in quotes: in `"` under ANSI_QUOTES.
        if text.first() == Some(&b'`') || (quoted_name && is_assignment) {
            return false;
        }
        quoted_name = token == Token::Quoted && text.first() == Some(&b'"');
        if is_assignment {
            continue;
        }
        let word = capitals(text);
        if token == Token::Word && SET_WORDS.contains(&word.as_str()) {
            return false;
        }
        let name = word.trim_matches(['\'', '"']);
        if CHARSET_WORDS.contains(&before.as_str()) && Wide::named(name).is_some() {
            return false;
        }
        // Its value may be an expression.
        if before == "CHARACTER_SET_CLIENT" && !SAFE_CHARSETS.contains(&name) {
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
            "SELECT IS_FREE_LOCK('app'), get_lock, RELEASE_LOCK('app') FROM t",
            "show variables",
            "SET NAMES utf8mb4",
            "SET autocommit=1, @a = 5",
            "SET sql_mode = 'NO_BACKSLASH_ESCAPES', @a := \"x\"",
            "SET character_set_client = latin1, NAMES 'utf8' COLLATE utf8_bin",
            "/*!40101 SET NAMES utf8mb4 */",
            "SELECT /*!40001 SQL_NO_CACHE */ * FROM t WHERE a = 'it\\'s'",
            "BEGIN",
            "START TRANSACTION READ ONLY",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
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
            "DESC ANALYZE DELETE a FROM a, b",
            "START TRANSACTION READ WRITE",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE",
            "SET `tx_read_only` = 0",
            "SET @@session.`transaction_read_only` = 0",
            "SET \"tx_read_only\" = 0",
            "SET @a = 5, SESSION \"transaction_read_only\" := 0",
            "SET NAMES gbk",
            "SET CHARACTER SET 'sjis'",
            "SET character_set_client = @saved",
            "SET @@character_set_client = x'67626b'",
            "SET character_set_client = concat('g', 'bk')",
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
            "SELECT NEXT VALUE FOR s",
            "SELECT nextval(s)",
            "DO SETVAL(s, 100)",
            "SET @a = NEXT VALUE FOR s",
            "SET @@SESSION.GTID_NEXT = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:5'",
            "SET RESOURCE GROUP slow FOR 48",
            "SET @a = (SELECT a FROM t FOR UPDATE)",
            "SELECT GET_LOCK('app', 10)",
            "DO `get_lock` ('app', 10)",
            "SET @a = get_lock('app', 10)",
            "SELECT group_replication_set_as_primary('a')",
            "\u{feff}nonsense",
        ] {
            assert!(!reads(text.as_bytes()), "{text}");
        }
    }

    /// A server may read each of these as a statement that writes, whatever the others read.
    #[test]
    fn what_writes_for_some_servers_or_sessions_writes() {
        for text in [
            // As a comment, its quote opens nothing.
            "SELECT 1 /*!99999 ' */ INTO OUTFILE '/tmp/x'",
            "SELECT 1 /*M! ' */ INTO OUTFILE '/tmp/x'",
            "SELECT 1 INTO /*!99999 @a, */ OUTFILE '/tmp/x'",
            "/*!99999 SELECT */ CALL p()",
            "/*!99999 SELECT */ /*!40000 CALL p() */",
            "SELECT 1 /*!99999 -- */ FOR UPDATE\n",
            // Without escapes, the first string ends at its second quote.
            "SELECT '\\' FROM t INTO OUTFILE '/tmp/x' -- '",
            "SELECT \"\\\" FROM t INTO OUTFILE '/tmp/x' -- \"",
            // With escapes, it does not.
            "SELECT '\\'' , ' FOR UPDATE -- '",
            // Under ANSI_QUOTES only those of one kind have escapes.
            "SELECT '\\'', \"\\\" FOR UPDATE -- \"",
            "SELECT 1 --\u{7f}'\n FOR UPDATE -- '",
            "SELECT $$ ' $$ FOR UPDATE -- '",
        ] {
            assert!(!reads(text.as_bytes()), "{text}");
        }
        let long = format!("SELECT 1 IN (1{}) FOR UPDATE", ",1".repeat(150_000));
        assert!(!reads(long.as_bytes()));
    }

    #[test]
    fn verbs_are_found_behind_comments() {
        assert_eq!(verb(b"/* a */ (select 1)"), "SELECT");
        assert_eq!(verb(b"-- nothing"), "");
    }
}
