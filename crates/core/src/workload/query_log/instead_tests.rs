//! What of a log is no statement to send: ends of connections, and what is about the recorded server.

use super::*;

/// Statements and ends with their connections, and what was left out.
fn read(log: &str) -> (Vec<(u64, String)>, Unread) {
    let mut reader = Reader::new(log.as_bytes());
    let mut found = Vec::new();
    while let Some(entry) = reader.next_entry().expect("a log") {
        let anew = if entry.anew { "anew: " } else { "" };
        let sql = if entry.ends { "(end)".into() } else { String::from_utf8_lossy(&entry.sql) };
        found.push((entry.session, format!("{anew}{sql}")));
    }
    (found, reader.tally().unread)
}

fn told(entries: &[(u64, &str)]) -> Vec<(u64, String)> {
    entries.iter().map(|(session, text)| (*session, (*text).to_owned())).collect()
}

fn general(entries: &[(u64, &str, &str)]) -> String {
    let line = |(session, command, argument): &(u64, &str, &str)| {
        format!("2026-11-30T01:02:50.000000Z\t{session:5} {command}\t{argument}\n")
    };
    entries.iter().map(line).collect()
}

/// As MySQL 5.6 and later write it.
fn slow(entries: &[(u64, &str)]) -> String {
    let entry = |(session, sql): &(u64, &str)| {
        format!(
            "# Time: 2026-11-30T01:02:37.763833Z\n# User@Host: a[a] @ localhost []  Id: {session:5}\n\
             # Query_time: 0.000092  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\nSET timestamp=1796000557;\n\
             {sql};\n"
        )
    };
    entries.iter().map(entry).collect()
}

#[test]
fn a_connection_ends_where_the_log_tells_it() {
    let (found, unread) = read(&general(&[
        (1, "Connect", "a@localhost on shop using Socket"),
        (1, "Query", "LOCK TABLES t WRITE"),
        (1, "Quit", ""),
        (2, "Query", "BEGIN"),
        (3, "Query", "kill 2"),
        (3, "Query", "SELECT 1"),
    ]));
    assert_eq!(
        found,
        told(&[(1, "anew: LOCK TABLES t WRITE"), (1, "(end)"), (2, "BEGIN"), (2, "(end)"), (3, "SELECT 1")])
    );
    assert_eq!(unread.count, 0);
    let (found, unread) = read(&slow(&[(1, "BEGIN"), (1, "# administrator command: Quit"), (2, "SELECT 1")]));
    assert_eq!((found, unread.count), (told(&[(1, "BEGIN"), (1, "(end)"), (2, "SELECT 1")]), 0));
}

/// The connector of a pool resets its connection: what was not committed is rolled back.
#[test]
fn a_slow_log_tells_that_a_connection_was_reset() {
    for command in ["Reset Connection", "Change user"] {
        let reset = format!("# administrator command: {command}");
        let (found, _) = read(&slow(&[(1, "BEGIN"), (2, "SELECT 2"), (1, &reset), (2, "SELECT 3"), (1, "SELECT 1")]));
        let wanted = told(&[(1, "BEGIN"), (2, "SELECT 2"), (2, "SELECT 3"), (1, "anew: SELECT 1")]);
        assert_eq!(found, wanted, "{command}");
    }
    // Where each user is one session, nobody knows whose connection it was.
    let log = slow(&[(1, "BEGIN"), (1, "# administrator command: Quit"), (1, "SELECT 1")]).replace("  Id:     1", "");
    assert_eq!(read(&log).0, told(&[(0, "BEGIN"), (0, "SELECT 1")]));
}

#[test]
fn a_slow_log_has_lines_that_no_client_sent() {
    let suppressed = "throttle:         18 'index not used' warning(s) suppressed.";
    let log =
        slow(&[(1, "SELECT 1"), (1, suppressed), (1, "PREPARE s FROM ..."), (1, "EXECUTE nosuch"), (1, "KILL 2")]);
    let (found, unread) = read(&log);
    assert_eq!(found, told(&[(1, "SELECT 1")]));
    assert_eq!((unread.count, unread.first.map(|(line, _)| line)), (3, Some(6)));
}

/// Servers write what triggers and functions do into the general log.
#[test]
fn what_another_statement_runs_is_not_sent_again() {
    let of_function = "INSERT INTO audit(a) VALUES ( NAME_CONST('x',5))";
    let (found, unread) = read(&general(&[
        (4, "Query", "SELECT 4"),
        (7, "Connect", "a@localhost on shop using Socket"),
        (7, "Query", "SELECT f(5)"),
        (7, "Query", of_function),
        (7, "Query", "INSERT INTO t VALUES (1) AS new ON DUPLICATE KEY UPDATE a = new.a"),
        (4, "Query", "SELECT 5"),
    ]));
    let sent = [
        (4, "SELECT 4"),
        (7, "anew: SELECT f(5)"),
        (7, "INSERT INTO t VALUES (1) AS new ON DUPLICATE KEY UPDATE a = new.a"),
        (4, "SELECT 5"),
    ];
    assert_eq!((found, unread.count), (told(&sent), 1));
}

/// Entries before the first time of a log that was begun within a second.
#[test]
fn a_log_may_begin_without_a_time() {
    let log = "\t\t    7 Connect\ta@localhost on w using Socket\n\t\t    7 Query\tBEGIN\n\
               261130 01:00:01\t    7 Query\tINSERT INTO t VALUES (1)\n\t\t    7 Query\tROLLBACK\n";
    let sent = [(7, "anew: BEGIN"), (7, "INSERT INTO t VALUES (1)"), (7, "ROLLBACK")];
    assert_eq!(read(log), (told(&sent), Unread::default()));
}

/// A pasted entry moves no clock, whichever escapes its session has.
#[test]
fn what_is_in_doubt_has_its_sessions_escapes() {
    let pasted = "2026-11-30T02:00:20.000000Z\t    9 Query\tDELETE FROM t\n')\n";
    let log = format!(
        "261130  1:00:00\t    7 Connect\ta@localhost on w using Socket\n\
         \t\t    7 Query\tSET sql_mode='NO_BACKSLASH_ESCAPES'\n\
         \t\t    7 Query\tINSERT INTO t(a) VALUES ('\\'), ('\n{pasted}\t\t    7 Query\tSELECT 1\n"
    );
    let mut reader = Reader::new(log.as_bytes());
    let (mut count, mut times_us) = (0, Vec::new());
    while let Some(entry) = reader.next_entry().expect("a log") {
        (count, times_us) = (count + 1, [times_us, vec![entry.at_us]].concat());
    }
    assert_eq!((count, reader.tally().unread.count), (3, 0));
    assert!(times_us[2] - times_us[0] < 1_000_000, "{times_us:?}");
}

/// The second half of a character may be a backslash. What is sent are the client's own bytes.
#[test]
fn a_client_may_have_characters_with_halves_that_look_like_signs() {
    let bytes = |sql: &str| sql.replace('~', "\u{1}");
    let statements = ["SET NAMES gbk", "INSERT INTO t VALUES ('~', 'a;b')", "INSERT INTO t VALUES ('c')"];
    let of_session = |sql| (7, bytes(sql));
    let raw = |log: String| {
        let parts: Vec<&[u8]> = log.as_bytes().split(|byte| *byte == 1).collect();
        parts.join(&b"\xbf\x5c"[..])
    };
    let entries: Vec<(u64, String)> = statements.iter().map(|sql| of_session(sql)).collect();
    let of_slow: Vec<(u64, &str)> = entries.iter().map(|(session, sql)| (*session, sql.as_str())).collect();
    let of_general: Vec<(u64, &str, &str)> = of_slow.iter().map(|(session, sql)| (*session, "Query", *sql)).collect();
    for log in [raw(slow(&of_slow)), raw(general(&of_general))] {
        let mut reader = Reader::new(&log[..]);
        let mut found = Vec::new();
        while let Some(entry) = reader.next_entry().expect("a log") {
            found.push(entry.sql);
        }
        let wanted: Vec<Vec<u8>> = statements.iter().map(|sql| raw(bytes(sql))).collect();
        assert_eq!((found, reader.tally().unread.count), (wanted, 0));
    }
}

/// MariaDB's COM_STMT_BULK_EXECUTE.
#[test]
fn a_statement_without_its_values_is_counted() {
    let sql = "insert into t(v) values(?)";
    let (found, unread) = read(&general(&[(1, "Prepare", sql), (1, "Execute", sql), (1, "Query", "SELECT '?'")]));
    assert_eq!((found, unread.count), (told(&[(1, "SELECT '?'")]), 1));
    let (found, unread) = read(&slow(&[(1, sql), (1, "SELECT '?'")]));
    assert_eq!((found, unread.count), (told(&[(1, "SELECT '?'")]), 1));
}
