use super::*;
use crate::workload::query_log::STATEMENT_BYTES_MAX;
use proptest::prelude::*;

/// MariaDB 10.11: the time only when it has changed, to the second.
const MARIADB_SLOW: &[u8] = b"/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian 12). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
# Time: 231123 13:15:00
# User@Host: app[app] @ localhost []
# Thread_id: 12  Schema: shop  QC_hit: No
# Query_time: 1.500000  Lock_time: 0.000011  Rows_sent: 1  Rows_examined: 0
# Rows_affected: 0  Bytes_sent: 65
use shop;
SET timestamp=1700745298;
SELECT a
# Time: no comment of the log's, but of the statement's
FROM t;
# User@Host: app[app] @ localhost []
# Thread_id: 13  Schema: shop  QC_hit: No
# Query_time: 0.000100  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
# Rows_affected: 0  Bytes_sent: 0
SET timestamp=1700745300;
# administrator command: Quit;
# User@Host: app[app] @ localhost []
# Thread_id: 14  Schema:   QC_hit: No
# Query_time: 0.000100  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
SET timestamp=1700745301;
INSERT INTO t VALUES ('\xff\x00;'";

fn read(log: &[u8]) -> Vec<Entry> {
    let mut reader = Reader::new(log);
    let mut found = Vec::new();
    while let Some(entry) = reader.next_entry().expect("a log") {
        found.push(entry);
    }
    found
}

fn texts(log: &[u8]) -> Vec<(i64, u64, String, String)> {
    read(log)
        .into_iter()
        .map(|one| {
            let sql = String::from_utf8_lossy(&one.sql).into_owned();
            (one.at_us, one.session, one.schema.unwrap_or_default(), sql)
        })
        .collect()
}

#[test]
fn a_slow_log_of_mariadb() {
    let found = read(MARIADB_SLOW);
    let told: Vec<_> = found.iter().map(|one| (one.at_us, one.session, one.schema.as_deref())).collect();
    assert_eq!(told, [(1_700_745_298_000_000, 12, Some("shop")), (1_700_745_301_000_000, 14, None)]);
    assert!(found[0].sql.starts_with(b"SELECT a\n# Time: no") && found[0].sql.ends_with(b"FROM t"));
    assert_eq!(found[1].sql, b"INSERT INTO t VALUES ('\xff\x00;'", "cut at the end of the file");
}

#[test]
fn a_slow_log_of_mysql_8_has_microseconds() {
    let log = b"# Time: 2023-11-23T13:15:00.500000Z\n# User@Host: app[app] @  [10.0.0.1]  Id:    42\n\
        # Query_time: 0.250000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\nuse shop;\n\
        SET timestamp=1700745300;\nselect 1;\n# Time: 2023-11-23T13:15:01.000000Z\n\
        # User@Host: app[app] @  [10.0.0.1]  Id:    42\n# Query_time: 0.000000  Lock_time: 0.0\n\
        SET timestamp=1700745301;\nSET timestamp=5;\n";
    assert_eq!(
        texts(log),
        [
            (1_700_745_300_250_000, 42, "shop".into(), "select 1".into()),
            (1_700_745_301_000_000, 42, "shop".into(), "SET timestamp=5".into()),
        ]
    );
}

#[test]
fn a_slow_log_of_percona_server() {
    let log = b"# Time: 110101  9:05:07\n# User@Host: a[a] @ localhost []\n\
        # Thread_id: 7  Schema: shop  Last_errno: 0  Killed: 0\n\
        # Query_time: 0.5  Lock_time: 0.0  Rows_sent: 1\n# InnoDB_trx_id: 1F\n#   InnoDB_IO_r_ops: 0\n\
        SET timestamp=1293872707.250000;\nUPDATE t SET a = 1;\n";
    assert_eq!(texts(log), [(1_293_872_707_250_000, 7, "shop".into(), "UPDATE t SET a = 1".into())]);
}

#[test]
fn a_general_log_of_mariadb() {
    let log = b"/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian 12). started with:\n\
        Tcp port: 0  Unix socket: /s\nTime\t\t    Id Command\tArgument\n\
        231123 13:15:00\t     3 Connect\tapp@localhost on shop using Socket\n\
        \t\t     3 Query\tSELECT 1,\n  2\n\t\t     4 Connect\tapp@localhost on  using Socket\n\
        \t\t     4 Query\tUSE `other`\n231123 13:15:02\t     4 Query\tDELETE FROM t\n\t\t     3 Prepare\tSELECT ?\n\
        \t\t     3 Execute\tSELECT 7\n\t\t     3 Close stmt\t\n\t\t     3 Quit\t\n";
    assert_eq!(
        texts(log),
        [
            (1_700_745_300_000_000, 3, "shop".into(), "SELECT 1,\n  2".into()),
            (1_700_745_300_000_000, 4, String::new(), "USE `other`".into()),
            (1_700_745_302_000_000, 4, "other".into(), "DELETE FROM t".into()),
            (1_700_745_302_000_000, 3, "shop".into(), "SELECT 7".into()),
        ]
    );
}

#[test]
fn a_general_log_of_mysql_8_with_a_header_in_its_middle() {
    let log = b"2023-11-23T13:15:00.000001Z\t   12 Query\tSELECT 1\n\
        /usr/sbin/mysqld, Version: 8.0.15 (MySQL Community Server - GPL). started with:\n\
        Tcp port: 3306  Unix socket: /s\nTime                 Id Command    Argument\n\
        2023-11-23T13:16:00.000000Z\t   12 Query\tselect 2\n12 Query is no entry\n";
    assert_eq!(
        texts(log),
        [
            (1_700_745_300_000_001, 12, String::new(), "SELECT 1".into()),
            (1_700_745_360_000_000, 12, String::new(), "select 2\n12 Query is no entry".into()),
        ]
    );
}

#[test]
fn what_is_no_log_is_told_and_nothing_is_empty() {
    assert!(Reader::new(&b"hello\n"[..]).next_entry().is_err());
    assert!(Reader::new(&b"\n".repeat(5000)[..]).next_entry().is_err());
    assert_eq!(Reader::new(&b""[..]).next_entry(), Ok(None));
}

#[test]
fn a_statement_without_an_end_takes_little_memory() {
    let line = vec![b'x'; 1 << 20];
    let general = [&b"231123 13:15:00\t     3 Query\tSELECT '"[..], &[&line[..], b"\n"].concat().repeat(40)].concat();
    let slow = [&b"# User@Host: a[a] @ localhost []\nSET timestamp=5;\nSELECT '"[..], &line.repeat(40)].concat();
    for log in [general, slow] {
        let found = read(&log);
        assert_eq!(found.len(), 1);
        let bytes = found[0].sql.len();
        assert!(bytes > STATEMENT_BYTES_MAX && bytes < 2 * STATEMENT_BYTES_MAX + 2, "{bytes}");
    }
}

#[test]
fn what_is_no_log_is_told_before_much_is_read() {
    /// Bytes without an end.
    struct Endless(u64);
    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            buffer.fill(0);
            self.0 += buffer.len() as u64;
            assert!(self.0 <= 2 * LINE_BYTES_MAX, "it reads on and on");
            Ok(buffer.len())
        }
    }
    assert!(Reader::new(std::io::BufReader::new(Endless(0))).next_entry().is_err());
}

proptest! {
    #[test]
    fn any_damage_is_survived(cut in 0..MARIADB_SLOW.len(), byte: u8) {
        let mut log = MARIADB_SLOW.to_vec();
        log[cut] = byte;
        let mut reader = Reader::new(&log[..]);
        while let Ok(Some(_)) = reader.next_entry() {}
        let mut reader = Reader::new(&MARIADB_SLOW[cut..]);
        while let Ok(Some(_)) = reader.next_entry() {}
    }
}
