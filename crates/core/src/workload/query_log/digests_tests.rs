use super::*;
use crate::workload::query_log::Reader;
use proptest::prelude::*;

const RECORD: &str = r#"{"flatwater_digests":1,"samples":true}
{"statement":1,"schema":"shop","digest":"aa","text":"SELECT ?"}
{"statement":2,"schema":"","digest":"bb","text":"UPDATE `t` SET `a` = ?"}
{"statement":3,"schema":"shop","digest":"cc","text":"COMMIT","left_out":"session"}
{"start_s":0.0,"end_s":1.0,"counts":[[1,4,400.0],[2,2,600.0],[3,2,10.0]]}
{"sample":1,"sql":"SELECT 1"}
{"sample":1,"sql":"SELECT 2"}
{"sample":2,"sql":"UPDATE t SET a = '?'"}
{"start_s":5.0,"end_s":6.0,"counts":[[1,1,100.0]]}
"#;

fn read(record: &[u8]) -> Vec<Entry> {
    let forms = Forms::gather(record).expect("no system says anything");
    let mut reader = Reader::of_digests(record, forms);
    let mut found = Vec::new();
    while let Some(entry) = reader.next_entry().expect("a record") {
        found.push(entry);
    }
    found
}

fn sendable(record: &str) -> Sendable {
    Forms::gather(record.as_bytes()).expect("no system says anything").sendable()
}

/// The record with a sample of a statement of its own in place of that of the second.
fn with_sample(line: &str) -> Sendable {
    sendable(&RECORD.replace(r#"{"sample":2,"sql":"UPDATE t SET a = '?'"}"#, line))
}

#[test]
fn each_interval_has_its_counts_within_it() {
    let found = read(RECORD.as_bytes());
    let of = |session: u64| found.iter().filter(move |one| one.session == session).collect::<Vec<_>>();
    assert_eq!((of(1).len(), of(2).len(), of(3).len()), (5, 2, 0));
    assert!(found.is_sorted_by_key(|one| one.at_us));
    let gaps: Vec<i64> = of(1).windows(2).map(|pair| pair[1].at_us - pair[0].at_us).collect();
    assert_eq!(gaps[..3], [250_000; 3]);
    assert!((5_000_000..6_000_000).contains(&of(1)[4].at_us));
    assert!(of(2).iter().all(|one| (0..1_000_000).contains(&one.at_us) && one.schema.is_none()));
    // A sample is found although it stands behind the interval, and samples take turns.
    let texts: Vec<&[u8]> = of(1).iter().map(|one| &one.sql[..]).collect();
    assert_eq!(texts, [&b"SELECT 1"[..], b"SELECT 2", b"SELECT 1", b"SELECT 2", b"SELECT 1"]);
    assert_eq!(of(1)[0].schema.as_deref(), Some("shop"));
}

#[test]
fn its_length_and_its_schemas_are_told() {
    let forms = Forms::gather(RECORD.as_bytes()).expect("no system says anything");
    assert_eq!((forms.length_us(), forms.schemas().collect::<Vec<_>>()), (6_000_000, vec!["shop"]));
}

#[test]
fn what_is_left_out_is_told() {
    let told = sendable(RECORD);
    assert_eq!(told.all, Amount { count: 9, time_us: 1110.0 });
    assert_eq!(told.sent, Amount { count: 7, time_us: 1100.0 });
    assert_eq!(told.writes, Amount { count: 2, time_us: 600.0 });
    assert_eq!(told.left_out, [(Why::Session, Amount { count: 2, time_us: 10.0 })]);
    for (line, why) in [
        ("", Why::NoSample),
        (r#"{"sample":2}"#, Why::Cut),
        (r#"{"sample":2,"sql":"UPDATE t SET a = 'x..."}"#, Why::Cut),
        (r#"{"sample":2,"sql":"UPDATE t SET a = ?"}"#, Why::Parameters),
        (r#"{"sample":2,"sql":"  -- nothing"}"#, Why::NoSample),
        (r#"{"statement":2,"left_out":"no-room"}"#, Why::NoRoom),
        (r#"{"statement":2,"left_out":"own"}"#, Why::Own),
    ] {
        let told = with_sample(line);
        assert!(told.left_out.contains(&(why, Amount { count: 2, time_us: 600.0 })), "{line}: {told:?}");
        assert_eq!(told.writes.count, 0);
    }
}

#[test]
fn numbers_begin_again_with_each_head() {
    let again = "{\"flatwater_digests\":1,\"samples\":true}\n{\"statement\":1,\"schema\":\"b\"}\n\
                 {\"sample\":1,\"sql\":\"SELECT 9\"}\n{\"start_s\":9,\"end_s\":10,\"counts\":[[1,1,1.0]]}\n";
    let found = read(format!("{RECORD}{again}").as_bytes());
    let last = found.last().expect("a statement");
    assert_eq!((&last.sql[..], last.schema.as_deref()), (&b"SELECT 9"[..], Some("b")));
}

#[test]
fn a_torn_end_and_lines_of_something_else_are_passed_over() {
    let torn = &RECORD[..RECORD.len() - 20];
    assert_eq!(read(torn.as_bytes()).len(), 6);
    let odd = format!("{RECORD}[]\nnull\n{{\"counts\":[[1,2]]}}\n\u{0}\n{{\"start_s\":1e999}}\n");
    assert_eq!(read(odd.as_bytes()).len(), 7);
}

#[test]
fn counts_of_any_size_take_no_memory() {
    let huge = RECORD.replace("[1,4,400.0]", "[1,18446744073709551615,1e300]");
    let forms = Forms::gather(huge.as_bytes()).expect("a record");
    let mut reader = Reader::of_digests(huge.as_bytes(), forms);
    for _ in 0..1000 {
        assert!(reader.next_entry().expect("a record").is_some());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0usize..500) {
        let mut record = RECORD.as_bytes()[..cut.min(RECORD.len())].to_vec();
        record.extend(bytes);
        read(&record);
    }
}
