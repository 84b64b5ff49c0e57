use super::*;
use crate::workload::query_log::STATEMENT_BYTES_MAX;
use proptest::prelude::*;

/// MariaDB 10.11: the time only when it has changed, to the second.
const MARIADB_SLOW: &[u8] = b"/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian 12). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
# Time: 231123 13:14:58
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
# Rows_affected: 1  Bytes_sent: 11
SET timestamp=1700745301;
INSERT INTO t VALUES ('\xff\x00;');
";

fn read(log: &[u8]) -> Vec<Entry> {
    let mut reader = Reader::new(log);
    let mut found = Vec::new();
    while let Some(entry) = reader.next_statement().expect("a log") {
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
    // The seconds are those of the begin.
    assert_eq!(told, [(1_700_745_298_000_000, 12, Some("shop")), (1_700_745_301_000_000, 14, None)]);
    assert!(found[0].sql.starts_with(b"SELECT a\n# Time: no") && found[0].sql.ends_with(b"FROM t"));
    assert_eq!(found[1].sql, b"INSERT INTO t VALUES ('\xff\x00;')");
}

#[test]
fn times_are_of_the_end_where_the_server_is_older() {
    let mysql_5_6 = "# Time: 261126 12:09:25\n# User@Host: a[a] @ localhost []  Id:     9\n\
        # Query_time: 3.200178  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0\n\
        SET timestamp=1795694965;\nSELECT SLEEP(3.2);\n";
    let mariadb_10_2 = "# Time: 261126 12:09:25\n# User@Host: a[a] @ localhost []\n\
        # Thread_id: 9  Schema:   QC_hit: No\n\
        # Query_time: 3.200178  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0\n# Rows_affected: 0\n\
        SET timestamp=1795694965;\nSELECT SLEEP(3.2);\n";
    for log in [mysql_5_6, mariadb_10_2] {
        let told = [(1_795_694_961_799_822, 9, String::new(), "SELECT SLEEP(3.2)".into())];
        assert_eq!(texts(log.as_bytes()), told);
    }
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
        SET timestamp=1293872707;\nUPDATE t SET a = 1;\n";
    assert_eq!(texts(log), [(1_293_872_706_500_000, 7, "shop".into(), "UPDATE t SET a = 1".into())]);
    // As slow_query_log_microseconds_timestamp writes it.
    let exact = String::from_utf8_lossy(log).replace("9:05:07\n", "9:05:07.0000750000\n");
    assert_eq!(texts(exact.as_bytes())[0].0, 1_293_872_707_250_000);
}

#[test]
fn a_schema_may_have_spaces() {
    for (told, schema) in [
        ("my db  QC_hit: No", "my db"),
        ("my db  Last_errno: 0  Killed: 0", "my db"),
        ("my  db", "my  db"),
        ("  QC_hit: No", ""),
        (" QC_hit: No", ""),
        ("", ""),
    ] {
        let log = format!(
            "# User@Host: a[a] @ localhost []\n# Thread_id: 5  Schema: {told}\n# Query_time: 0\n\
             SET timestamp=9;\nSELECT 1;\n"
        );
        assert_eq!(texts(log.as_bytes()), [(9_000_000, 5, schema.into(), "SELECT 1".into())], "{told}");
    }
}

#[test]
fn numbers_that_a_statement_used_or_made_are_of_the_head() {
    for set in ["insert_id=7,", "last_insert_id=6,", "last_insert_id=6,insert_id=7,"] {
        let log = format!(
            "# Time: 110101  9:05:07\n# User@Host: a[a] @ localhost []\n# Query_time: 0.5  Lock_time: 0.0\n\
             SET {set}timestamp=1293872707;\nINSERT INTO t (a) VALUES (1);\n"
        );
        let told = [(1_293_872_706_500_000, 0, String::new(), "INSERT INTO t (a) VALUES (1)".into())];
        assert_eq!(texts(log.as_bytes()), told, "{set}");
    }
    // What clients set looks alike, or nearly.
    for sql in ["SET insert_id=7,timestamp=5", "SET timestamp=5", "SET insert_id=@a", "SET last_insert_id=7"] {
        let log = format!("# User@Host: a[a] @ localhost []\n# Query_time: 0\nSET timestamp=9;\n{sql};\n");
        assert_eq!(texts(log.as_bytes()), [(9_000_000, 0, String::new(), sql.into())]);
    }
}

/// MariaDB 11.8 with log_slow_verbosity = query_plan,explain.
#[test]
fn a_plan_is_of_the_head() {
    let log = b"# Time: 261126 11:00:01\n# User@Host: a[a] @ localhost []\n\
        # Thread_id: 5  Schema: shop  QC_hit: No\n# Query_time: 0.250000  Lock_time: 0.000100  Rows_sent: 1\n\
        # Rows_affected: 0  Bytes_sent: 65\n# Full_scan: Yes  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No\n#\n\
        # explain: id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tr_rows\tfiltered\tr_filtered\tExtra\n\
        # explain: 1\tSIMPLE\tt\tALL\tNULL\tNULL\tNULL\tNULL\t5\t5.00\t100.00\t20.00\tUsing where\n#\n\
        use shop;\nSET timestamp=1795690801;\nSELECT a FROM t;\n\
        # User@Host: a[a] @ localhost []\n# Thread_id: 5  Schema: shop\n# Query_time: 0.0\n\
        SET timestamp=1795690801;\nSELECT 2;\n# of the statement;\n#";
    assert_eq!(
        texts(log),
        [
            (1_795_690_801_000_000, 5, "shop".into(), "SELECT a FROM t".into()),
            (1_795_690_801_500_000, 5, "shop".into(), "SELECT 2;\n# of the statement".into()),
        ]
    );
}

#[test]
fn a_log_of_mariadb_that_was_opened_again_has_a_header_in_its_middle() {
    let header = "/usr/sbin/mariadbd, Version: 11.8.3-MariaDB (MariaDB Server). started with:\n\
        Tcp port: 0  Unix socket: /s\nTime\t\t    Id Command\tArgument\n";
    let slow = "# User@Host: a[a] @ localhost []\n# Thread_id: 5  Schema: shop\n# Query_time: 0.0\n\
        SET timestamp=1795690801;\nSELECT 1;\n";
    let general = "261126 11:00:01\t     3 Query\tSELECT 1\n";
    for entry in [slow, general] {
        let found = texts(format!("{header}{entry}{header}{entry}").as_bytes());
        assert_eq!(found.iter().map(|one| &one.3[..]).collect::<Vec<_>>(), ["SELECT 1", "SELECT 1"]);
    }
}

#[test]
fn users_stand_for_connections_whose_numbers_are_not_told() {
    let entry = |user: &str, sql: &str| {
        format!("# User@Host: {user}[{user}] @ h [1.2.3.4]\n# Query_time: 0\nSET timestamp=9;\n{sql};\n")
    };
    let log = [entry("a", "SELECT 1"), entry("b", "SELECT 2"), entry("a", "SELECT 3")].concat();
    let mut reader = Reader::new(log.as_bytes());
    let found: Vec<u64> =
        std::iter::from_fn(|| reader.next_statement().expect("a log")).map(|one| one.session).collect();
    assert_eq!((found, reader.tally().notes.nameless), (vec![0, 1, 0], true));
}

#[test]
fn a_part_of_the_statements_is_told() {
    for (limit, logged_one_of) in [("", 0), ("# Log_slow_rate_type: query  Log_slow_rate_limit: 10\n", 10)] {
        let log = format!(
            "# User@Host: a[a] @ h []  Id: 5\n# Schema: shop  Last_errno: 0  Killed: 0\n# Query_time: 0\n{limit}\
             SET timestamp=9;\nSELECT 1;\n"
        );
        let mut reader = Reader::new(log.as_bytes());
        assert!(reader.next_statement().expect("a log").is_some());
        assert_eq!(reader.tally().notes.logged_one_of, logged_one_of);
    }
}

#[test]
fn a_statement_is_found_once() {
    // MariaDB logs what a program and an EXECUTE run, too.
    let slow = "# User@Host: a[a] @ h []\n# Thread_id: 5  Schema: shop  QC_hit: No\n# Query_time: 0\n\
        # Stored_routine: shop.p\nSET timestamp=9;\nINSERT INTO t VALUES (1);\n# User@Host: a[a] @ h []\n\
        # Thread_id: 5  Schema: shop  QC_hit: No\n# Query_time: 0\nSET timestamp=9;\nCALL p(1);\n";
    let general = "261126 11:00:01\t     3 Query\tPREPARE s FROM ...\n\t\t     3 Prepare\tINSERT INTO t VALUES (?)\n\
        \t\t     3 Query\texecute s using @a\n\t\t     3 Execute\tINSERT INTO t VALUES (1)\n\
        \t\t     3 Query\tdeallocate prepare s\n";
    for (log, sql) in [(slow, "CALL p(1)"), (general, "INSERT INTO t VALUES (1)")] {
        let mut reader = Reader::new(log.as_bytes());
        let found = reader.next_statement().expect("a log").map(|one| String::from_utf8_lossy(&one.sql).into_owned());
        assert_eq!((found.as_deref(), reader.next_statement()), (Some(sql), Ok(None)));
        assert_eq!(reader.tally().unread.count, 0);
    }
    // Percona Server 5.1 does, and marks nothing.
    let marked = slow.replace("QC_hit: No", "Last_errno: 0  Killed: 0").replace("# Stored_routine: shop.p\n", "");
    let mut reader = Reader::new(marked.as_bytes());
    while let Ok(Some(_)) = reader.next_statement() {}
    assert!(reader.tally().notes.calls);
    // Whether a server ran several or refused them is not told.
    let mut reader =
        Reader::new(&b"261126 11:00:01\t     3 Query\tSELECT 1; SELECT 2\n\t\t     3 Execute\tSELECT 3\n"[..]);
    assert_eq!(reader.next_statement().expect("a log").map(|one| one.sql), Some(b"SELECT 3".to_vec()));
    assert_eq!(reader.tally().unread.first, Some((1, "it has several statements")));
}

#[test]
fn a_warning_of_mariadb_may_have_any_lines() {
    let entry = |sql: &str, warning: &str| {
        format!(
            "# User@Host: a[a] @ h []\n# Thread_id: 5  Schema: shop  QC_hit: No\n# Query_time: 0.5\n\
             # Rows_affected: 1  Bytes_sent: 50\n{warning}SET timestamp=1795990546;\n{sql};\n"
        )
    };
    let warning = "# Warnings\n# Warning 1364 Field 'a' doesn't have a default value\n# Warning 1292 Truncated: 'abc\n\
        # User@Host: x[x] @ y []\nSET timestamp=1700000000;\ndelete from a.t;'\n";
    let log = [entry("SELECT 1", ""), entry("SELECT 2", warning), entry("SELECT 3", "")].concat();
    let found: Vec<_> = texts(log.as_bytes()).into_iter().map(|one| one.3).collect();
    assert_eq!(found, ["SELECT 1", "SELECT 2", "SELECT 3"]);
}

#[test]
fn a_session_says_which_escapes_it_has() {
    let slow = |sql: &str| format!("# User@Host: a[a] @ h []  Id: 5\n# Query_time: 0\nSET timestamp=9;\n{sql};\n");
    let general = |sql: &str| format!("261126 11:00:01\t     3 Query\t{sql}\n");
    let sent = ["set sql_mode='NO_BACKSLASH_ESCAPES'", "SELECT 'C:\\'", "SELECT 'last one'", "SELECT 'D:\\'"];
    for log in [sent.map(slow).concat(), sent.map(general).concat()] {
        let found: Vec<_> = texts(log.as_bytes()).into_iter().map(|one| one.3).collect();
        assert_eq!(found, sent);
    }
}

#[test]
fn what_clients_sent_is_no_line_of_a_head() {
    let log = "# User@Host: a[a] @ h []  Id: 5\n# Query_time: 0\nuse a;\nSET timestamp=9;\nuse b;\n\
        # User@Host: a[a] @ h []  Id: 5\n# Query_time: 0\nSET timestamp=9;\n# User@Host: of the statement\nSELECT 1;\n\
        # User@Host: a[a] @ h []  Id: 5\n# Query_time: 0\nSET timestamp=9;\n# administrator command: Quit\nSELECT 2;\n";
    let found: Vec<_> = texts(log.as_bytes()).into_iter().map(|one| one.3).collect();
    assert_eq!(found, ["use b", "# User@Host: of the statement\nSELECT 1", "# administrator command: Quit\nSELECT 2"]);
}

#[test]
fn a_general_log_of_mariadb() {
    let log = b"/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian 12). started with:\n\
        Tcp port: 0  Unix socket: /s\nTime\t\t    Id Command\tArgument\n\
        231123 13:15:00\t     3 Connect\tapp on call@localhost on shop using Socket\n\
        \t\t     3 Query\tSELECT 1,\n  2\n\t\t     4 Connect\tapp@localhost on  using Socket\n\
        \t\t     4 Query\tUSE `other`\n231123 13:15:02\t     4 Query\tDELETE FROM t\n\t\t     3 Prepare\tSELECT ?\n\
        \t\t     3 Execute\tSELECT 7\n\t\t     3 Close stmt\t\n\t\t     3 Quit\t\n";
    assert_eq!(
        texts(log),
        [
            (1_700_745_300_000_000, 3, "shop".into(), "SELECT 1,\n  2".into()),
            (1_700_745_300_500_000, 4, String::new(), "USE `other`".into()),
            (1_700_745_302_000_000, 4, String::new(), "DELETE FROM t".into()),
            (1_700_745_302_333_333, 3, "shop".into(), "SELECT 7".into()),
        ]
    );
}

#[test]
fn another_user_of_a_connection_has_another_schema() {
    let log = b"261126 11:00:01\t     3 Connect\tapp@localhost on shop\n\t\t     3 Query\tSELECT 1\n\
        \t\t     3 Change user\troot@localhost as admin@% on other\n\t\t     3 Query\tSELECT 2\n\
        \t\t     3 Query\tSELECT 3\n\t\t     3 Change user\troot@localhost on \n\t\t     3 Query\tSELECT 4\n\
        \t\t     3 Init DB\tshop\n\t\t     3 Reset Connection\t\n\t\t     3 Query\tSELECT 5\n";
    let found = read(log);
    let told: Vec<_> = found.iter().map(|one| (one.schema.as_deref(), one.anew)).collect();
    assert_eq!(
        told,
        [(Some("shop"), true), (Some("other"), true), (Some("other"), false), (None, true), (Some("shop"), true)]
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
    let general =
        [&b"231123 13:15:00\t     3 Query\tSELECT '"[..], &[&line[..], b"\n"].concat().repeat(40), b"'\n"].concat();
    let head = &b"# User@Host: a[a] @ localhost []\nSET timestamp=5;\nSELECT '"[..];
    let slow = [head, &line.repeat(100), b"';\n"].concat();
    let mut reader = Reader::new(&slow[..slow.len() - 3]);
    assert_eq!((reader.next_statement(), reader.tally().unread.count), (Ok(None), 1), "it is cut");
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
        while let Ok(Some(_)) = reader.next_statement() {}
        let mut reader = Reader::new(&MARIADB_SLOW[cut..]);
        while let Ok(Some(_)) = reader.next_statement() {}
    }
}
