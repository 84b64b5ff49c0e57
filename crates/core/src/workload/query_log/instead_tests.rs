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

/// MariaDB's COM_STMT_BULK_EXECUTE.
#[test]
fn a_statement_without_its_values_is_counted() {
    let sql = "insert into t(v) values(?)";
    let (found, unread) = read(&general(&[(1, "Prepare", sql), (1, "Execute", sql), (1, "Query", "SELECT '?'")]));
    assert_eq!((found, unread.count), (told(&[(1, "SELECT '?'")]), 1));
    let (found, unread) = read(&slow(&[(1, sql), (1, "SELECT '?'")]));
    assert_eq!((found, unread.count), (told(&[(1, "SELECT '?'")]), 1));
}
