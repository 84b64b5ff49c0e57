//! Each form of log with each damage of each of its lines: the entries beside it are read as if there were none, and what
//! is left out is counted with its line.

use super::*;

/// A form of log: its head, and an entry with a number; entries begin a second apart.
struct Form {
    name: &'static str,
    head: &'static str,
    entry: fn(u32) -> String,
}

const OPENED: &str = "/usr/sbin/mysqld, Version: 8.0.36 (MySQL). started with:\nTcp port: 3306  Unix socket: /m.sock\n\
                      Time                 Id Command    Argument\n";
/// What each statement has besides its number: lines that look like some of a log, and any bytes.
const SQL: &str = "'it;\n# Time: of day', \":\"\n-- c;\nFROM t /* # Query_time: 1 */";

fn slow(number: u32, time: &str, user: &str, rest: &str) -> String {
    format!(
        "{time}# User@Host: a[a] @ localhost []{user}\n{rest}SET timestamp={};\nSELECT {number}, {SQL};\n",
        1_000_000_020 + number
    )
}

const FORMS: [Form; 10] = [
    Form {
        name: "MySQL 5.1",
        head: OPENED,
        entry: |n| {
            slow(
                n,
                &format!("# Time: 010909  1:47:{n:02}\n"),
                "",
                "# Query_time: 1  Lock_time: 0  Rows_sent: 1  Rows_examined: 0\nuse shop;\n",
            )
        },
    },
    Form {
        name: "MySQL 5.5, in one second",
        head: OPENED,
        entry: |n| slow(n, "", "", "# Query_time: 0.000100  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 0\n"),
    },
    Form {
        name: "MySQL 5.6",
        head: OPENED,
        entry: |n| {
            slow(
                n,
                &format!("# Time: 010909  1:47:{n:02}\n"),
                "  Id:     7",
                "# Query_time: 0.000100  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 0\n",
            )
        },
    },
    Form {
        name: "MySQL 5.7 and 8.0",
        head: OPENED,
        entry: |n| {
            slow(
                n,
                &format!("# Time: 2001-09-09T01:47:{n:02}.000001Z\n"),
                "  Id:     7",
                "# Query_time: 0.000100  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 0\nuse shop;\n",
            )
        },
    },
    Form {
        name: "MariaDB 10.2",
        head: "",
        entry: |n| {
            slow(
                n,
                "",
                "",
                "# Thread_id: 7  Schema: shop  QC_hit: No\n# Query_time: 0.000100  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 0\n# Rows_affected: 0\n",
            )
        },
    },
    Form {
        name: "MariaDB 11.8",
        head: OPENED,
        entry: |n| {
            slow(
                n,
                &format!("# Time: 010909  1:47:{n:02}\n"),
                "",
                "# Thread_id: 7  Schema: shop  QC_hit: No\n# Query_time: 0.000100  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 0\n# Rows_affected: 0  Bytes_sent: 65\n# Full_scan: Yes\n#\n# explain: id\tkey\n#\n",
            )
        },
    },
    Form {
        name: "Percona Server 5.1",
        head: OPENED,
        entry: |n| {
            slow(
                n,
                &format!("# Time: 010909  1:47:{n:02}.0000750000\n"),
                "",
                "# Thread_id: 7  Schema: shop  Last_errno: 0  Killed: 0\n# Query_time: 0.5  Lock_time: 0.0  Rows_sent: 1\n# InnoDB_trx_id: 1F\n#   InnoDB_IO_r_ops: 0\n",
            )
        },
    },
    Form {
        name: "general, MySQL 5.6 and MariaDB",
        head: OPENED,
        entry: |n| format!("010909  1:47:{n:02}\t    7 Query\tSELECT {n}, {SQL}\n\t\t    7 Statistics\t\n"),
    },
    Form {
        name: "general, MySQL 8.0",
        head: OPENED,
        entry: |n| format!("2001-09-09T01:47:{n:02}.000001Z\t    7 Query\tSELECT {n}, {SQL}\n"),
    },
    Form {
        name: "digests",
        head: "{\"flatwater_digests\":1,\"samples\":true}\n{\"statement\":1,\"schema\":\"shop\"}\n{\"sample\":1,\"sql\":\"SELECT 1\"}\n",
        entry: |n| format!("{{\"start_s\":{n},\"end_s\":{},\"counts\":[[1,1,1.0]]}}\n", n + 1),
    },
];

fn read(log: &[u8]) -> (Vec<Entry>, Unread) {
    let mut reader = match Forms::gather(log) {
        Ok(forms) if digests::is_head(log) => Reader::of_digests(log, forms),
        _ => Reader::new(log),
    };
    let mut found = Vec::new();
    while let Ok(Some(entry)) = reader.next_statement() {
        // A damage may take lines away.
        found.push(Entry { line: 0, ..entry });
    }
    (found, reader.tally().unread)
}

/// Entries as a failed test shows them.
fn shown(found: &[Entry]) -> Vec<(i64, u64, &str, String)> {
    let text = |one: &Entry| String::from_utf8_lossy(&one.sql[..one.sql.len().min(200)]).into_owned();
    found.iter().map(|one| (one.at_us, one.session, one.schema.as_deref().unwrap_or("-"), text(one))).collect()
}

/// The damages of a line.
fn damages(line: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let half = line.len() / 2;
    let digits: Vec<u8> = line.iter().map(|byte| if byte.is_ascii_digit() { b'x' } else { *byte }).collect();
    let from_end = |bytes: &[u8]| [bytes, b"\n"].concat();
    vec![
        ("a letter for each digit", digits),
        ("its first byte lost", line[1..].to_vec()),
        ("its first byte another", [b"@", &line[1..]].concat()),
        ("its second byte another", [&line[..1], b"@", line.get(2..).unwrap_or(b"\n")].concat()),
        ("its second half lost", from_end(&line[..half])),
        ("its first half lost", line[half..].to_vec()),
        ("zero bytes before it", [&[0; 4096], line].concat()),
        ("zero bytes for it", from_end(&[0; 100])),
        ("bytes of no text for it", from_end(b"\xff\xfe\x80\x01")),
        ("bytes of no text before it", [b"\xff\xfe\x80\n", line].concat()),
        ("its line end doubled", [line, b"\n"].concat()),
        ("the file was copied from Windows", [line.trim_ascii_end(), b"\r\n"].concat()),
    ]
}

#[test]
fn entries_beside_a_damage_are_read_as_if_there_were_none() {
    let mut failed = Vec::new();
    for Form { name, head, entry } in FORMS {
        let parts: Vec<String> = [1, 2, 3].map(entry).to_vec();
        let (sound, none) = read(&[head, &parts[0], &parts[1], &parts[2]].concat().into_bytes());
        assert_eq!((sound.len(), none), (3, Unread::default()), "{name}");
        let before = head.lines().count() + parts[0].lines().count();
        for (place, line) in parts[1].split_inclusive('\n').enumerate() {
            for (damage, damaged) in damages(line.as_bytes()) {
                let mut log = [head, &parts[0]].concat().into_bytes();
                for (other, kept) in parts[1].split_inclusive('\n').enumerate() {
                    log.extend_from_slice(if other == place { &damaged } else { kept.as_bytes() });
                }
                log.extend_from_slice(parts[2].as_bytes());
                let (found, unread) = read(&log);
                let told = format!("{name}: {line:?} with {damage}: {unread:?}, {:#?}", shown(&found));
                // What is left of the entry in the middle is that entry, or it is told; what its statement says is its own.
                let statement = parts[1].lines().position(|line| line.contains("SELECT")).unwrap_or(0);
                let is_general = name.starts_with("general");
                let of_statement =
                    place > statement || (place == statement && (is_general || line.starts_with("SELECT")));
                // A general log has no ends of statements: what has no form of an entry belongs to the one before it.
                if is_general && place == statement && (damage.contains("no text") || damage.contains("first half")) {
                    continue;
                }
                // A comment that was cut may end with one of the next entry: it may be that statement's text.
                let is_comment = line.starts_with("FROM t /*") && damage == "its second half lost";
                if is_comment && found == sound[..1] && unread.count == 2 {
                    continue;
                }
                if found.first() != sound.first() || found.last() != sound.last() {
                    failed.push(told);
                    continue;
                }
                let of = |entry: &Entry| (entry.sql.trim_ascii().to_vec(), entry.session);
                let is_told = match &found[1..found.len() - 1] {
                    [] => unread.count > 0,
                    [middle] => of_statement || of(middle) == of(&sound[1]),
                    _ => false,
                };
                let lines = before as u64 + 1..=(before + 2 + parts[1].lines().count()) as u64;
                if !is_told || !unread.first.is_none_or(|(line, _)| lines.contains(&line)) {
                    failed.push(told);
                }
                assert_eq!(unread.count > 0, unread.first.is_some());
            }
        }
    }
    assert!(failed.is_empty(), "{} of them: {}", failed.len(), failed.join("\n"));
}

/// White space, and entries that are no statements.
fn is_nothing(rest: &str) -> bool {
    rest.trim().is_empty() || general_head::is_head(rest.trim_start_matches('\n').as_bytes())
}

#[test]
fn a_log_that_is_cut_anywhere_loses_one_entry_at_each_end() {
    for Form { name, head, entry } in FORMS.into_iter().filter(|form| form.name != "digests") {
        let parts: Vec<String> = [1, 2, 3].map(entry).to_vec();
        let whole = [head, &parts[0], &parts[1], &parts[2]].concat();
        let (sound, _) = read(whole.as_bytes());
        for cut in head.len() + 1..head.len() + parts[0].len() {
            let (found, unread) = read(&whole.as_bytes()[cut..]);
            assert!(found.ends_with(&sound[1..]), "{name} from {cut}: {:#?}", shown(&found));
            let rest = &whole[cut..head.len() + parts[0].len()];
            assert!(
                unread.count > 0 || found.len() == 3 || is_nothing(rest),
                "{name} from {cut}: {rest:?} {:#?}",
                shown(&found)
            );
        }
        let last = whole.len() - parts[2].len();
        for cut in last + 1..whole.len() - 1 {
            let (found, unread) = read(&whole.as_bytes()[..cut]);
            // A line end behind a comment's `;`, or behind any line of a general log, may be that of the statement.
            let kept = &whole[..cut];
            // What is left of a line of a general log may belong to the statement before it, which is left out then.
            let unfinished = name.starts_with("general") && !kept.ends_with('\n');
            let is_whole =
                found == sound || kept.ends_with("-- c;\n") || (name.starts_with("general") && kept.ends_with('\n'));
            assert!(
                is_whole || (unread.count > 0 && (found == sound[..2] || (unfinished && found == sound[..1]))),
                "{name} to {cut}: {kept:?} {unread:?} {:#?}",
                shown(&found)
            );
        }
    }
}

#[test]
fn times_that_go_back_and_line_ends_of_windows_are_no_damage() {
    for Form { name, head, entry } in FORMS {
        let log = [head, &entry(5), &entry(1), &entry(9)].concat();
        let (found, unread) = read(log.as_bytes());
        assert_eq!((found.len(), unread), (3, Unread::default()), "{name}");
        assert!(found[1].at_us < found[0].at_us);
        let (windows, unread) = read(log.replace('\n', "\r\n").as_bytes());
        assert_eq!((windows.len(), unread), (3, Unread::default()), "{name}");
        let of = |entry: &Entry| (entry.at_us, entry.session, entry.schema.clone());
        assert!(windows.iter().map(of).eq(found.iter().map(of)), "{name}");
    }
}

/// How somebody may have put a text into a statement.
type Paste = fn(&str) -> String;
const PASTED: [(&str, Paste); 5] = [
    ("doubled", |text| format!("'{}'", text.replace('\'', "''").replace('\\', "\\\\"))),
    ("escaped", |text| format!("'it\\'s\n{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))),
    ("in other quotes", |text| format!("\"{}\"", text.replace('"', "\"\""))),
    ("in a comment", |text| format!("1 /*\n{}\n*/", text.replace("*/", "* /"))),
    ("as a name", |text| format!("1 AS `{}`", text.replace('`', "``"))),
];

#[test]
fn a_log_that_was_pasted_into_a_statement_is_text() {
    let mut failed = Vec::new();
    for Form { name, head, entry } in FORMS.into_iter().filter(|form| form.name != "digests") {
        let tail = |text: &str| text.lines().skip(2).map(|line| format!("{line}\n")).collect::<String>();
        for (pasting, paste) in PASTED {
            // Of before, of the same second, of later; more than one; a piece; what stands at the beginning of a log.
            for (what, pasted, is_told) in [
                ("one", format!("see\n{}", entry(10)), false),
                ("two", format!("see\n{}{}end;\n", entry(10), entry(11)), false),
                ("a piece", format!("see\n{}", tail(&entry(10))), true),
                ("the same second", format!("see\n{}", entry(20)), true),
                ("later ones", format!("see\n{}{}{}\nend", entry(30), entry(31), entry(32)), true),
                ("a header", format!("see\n{OPENED}end"), false),
                ("zero bytes", format!("see\n\0\0\0\0{}", entry(10)), false),
            ] {
                let middle = entry(20).replace(SQL, &format!("{SQL}, {}", paste(&pasted)));
                let log = [head, &entry(18), &middle, &entry(21), &entry(22)].concat();
                let (found, unread) = read(log.as_bytes());
                let statement = format!("SELECT 20, {SQL}, {}", paste(&pasted));
                let is_whole = |one: &Entry| one.sql == statement.as_bytes();
                let others: Vec<&Entry> = found.iter().filter(|one| !is_whole(one)).collect();
                let (sound, _) = read([head, &entry(18), &entry(21), &entry(22)].concat().as_bytes());
                let is_sent = others.len() + 1 == found.len() && unread.count == 0;
                let is_left_out = others.len() == found.len() && unread.count > 0;
                // A statement that was cut may have the entry behind it as its text.
                if !(is_sent || (is_told && is_left_out)) || others != sound.iter().collect::<Vec<_>>() {
                    failed.push(format!("{name}, {pasting}, {what}: {unread:?}, {:#?}", shown(&found)));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} of them: {}", failed.len(), failed.join("\n"));
}

#[test]
fn a_statement_that_was_cut_in_its_string_takes_none_with_it() {
    for Form { name, head, entry } in FORMS.into_iter().filter(|form| form.name != "digests") {
        let cut = entry(20).split_once("'it").expect("a string").0.to_owned() + "'it is\n";
        for behind in [1, 2, 40, 2500] {
            let rest = entry(21).replace(SQL, "'it''s'").repeat(behind);
            let (sound, _) = read([head, &entry(18), &rest].concat().as_bytes());
            let (found, unread) = read([head, &entry(18), &cut, &rest].concat().as_bytes());
            assert!(found == sound && unread.count == 1, "{name} {behind}: {unread:?} {}", found.len());
        }
    }
}

#[test]
fn a_line_of_any_length_is_one_statement() {
    let long = "x".repeat(2 * LINE_BYTES_MAX as usize);
    for Form { name, head, entry } in FORMS.into_iter().filter(|form| form.name != "digests") {
        let (sound, _) = read([head, &entry(1), &entry(2), &entry(3)].concat().as_bytes());
        let log = [head, &entry(1), &entry(2).replace("FROM", &long), &entry(3)].concat();
        let (found, unread) = read(log.as_bytes());
        assert_eq!((found.len(), unread), (3, Unread::default()), "{name}");
        assert!(found[0] == sound[0] && found[2] == sound[2], "{name}");
    }
}

#[test]
fn nothing_and_any_bytes_are_no_log() {
    assert_eq!(Reader::new(&b""[..]).next_entry(), Ok(None));
    let bytes: Vec<u8> = (0..=255).collect::<Vec<u8>>().repeat(50);
    assert_eq!(Reader::new(&bytes[..]).next_entry(), Err(unknown()));
}
