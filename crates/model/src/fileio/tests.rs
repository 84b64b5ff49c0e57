use serde_json::{Value, json};

use super::*;

const LATENCY_NS: u64 = 100_000;

/// Random reads or writes on a device that answers everything after 100 us; `changes` replace fields by JSON pointer.
fn spec(changes: &[(&str, Value)]) -> Spec {
    let mut spec = json!({
        "workload": {"sequential": false, "read_pct": 100.0, "block_sizes": [[4096, 100.0]], "files": 1,
            "file_bytes": 1 << 20, "fsync_every": 0, "fsync": "none", "distribution": {"kind": "uniform"},
            "limit_bytes": 0, "seed": 1},
        "device": {"kind": "memory", "capacity_bytes": 1 << 24, "latency_ns": LATENCY_NS, "read_bytes_per_s": 1e15,
            "write_bytes_per_s": 1e15},
        "threads": 1, "queue_depth": 1, "sync": false, "exclusive_writes": false, "rate_per_s": 0.0, "poisson": false,
        "continue_on_error": false, "interval_ms": 100,
    });
    for (place, value) in changes {
        *spec.pointer_mut(place).unwrap_or_else(|| panic!("{place} is not there")) = value.clone();
    }
    serde_json::from_value(spec).unwrap()
}

fn start(changes: &[(&str, Value)]) -> Fileio {
    Fileio::start(spec(changes), None).unwrap()
}

fn operations(interval: &Interval, kind: Kind) -> u64 {
    interval.kinds[kind as usize].operations
}

/// All that is left of a run.
fn to_the_end(run: &mut Fileio) -> Vec<Interval> {
    std::iter::from_fn(|| run.next_interval()).map(|(interval, _)| interval).collect()
}

fn total(intervals: &[Interval], kind: Kind) -> u64 {
    intervals.iter().map(|interval| operations(interval, kind)).sum()
}

/// A device that ends everything at once, except what it is told to fail.
struct Failing {
    commands: u64,
    every: u64,
    answers: VecDeque<Ended>,
}

impl Device for Failing {
    fn capacity_bytes(&self) -> u64 {
        1 << 24
    }

    fn submit(&mut self, now_ns: u64, tag: u64, _command: Command) {
        self.commands += 1;
        let result = if self.commands.is_multiple_of(self.every) { Err(Failure::Medium) } else { Ok(()) };
        self.answers.push_back(Ended { tag, at_ns: now_ns + 1000, result });
    }

    fn next_ns(&self) -> Option<u64> {
        self.answers.front().map(|answer| answer.at_ns)
    }

    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        let Some(first_ns) = self.next_ns().filter(|at_ns| *at_ns <= until_ns) else { return };
        while self.next_ns() == Some(first_ns) {
            ended.extend(self.answers.pop_front());
        }
    }

    fn observe(&mut self, _now_ns: u64, _series: &mut Vec<(String, f64)>) {}
}

fn start_failing(every: u64, changes: &[(&str, Value)]) -> Fileio {
    let mut before = start(&[("/workload/limit_bytes", json!(1))]);
    to_the_end(&mut before);
    before.device = Box::new(Failing { commands: 0, every, answers: VecDeque::new() });
    Fileio::start(spec(changes), Some(before)).unwrap()
}

#[test]
fn a_closed_loop_keeps_every_place_of_every_lane_busy() {
    for (threads, depth) in [(1, 1), (4, 1), (1, 4), (3, 5)] {
        let mut run = start(&[("/threads", json!(threads)), ("/queue_depth", json!(depth))]);
        let (interval, told) = run.next_interval().unwrap();
        let expected = 1000 * threads * depth;
        assert!(operations(&interval, Kind::Read).abs_diff(expected) <= threads * depth, "{threads} {depth}");
        assert_eq!((interval.start_ns, interval.end_ns), (0, 100_000_000));
        assert_eq!(interval.in_flight, threads * depth);
        let latency = &interval.kinds[Kind::Read as usize].latency;
        assert!(latency.max_ns().abs_diff(LATENCY_NS) <= LATENCY_NS / 1000, "{}", latency.max_ns());
        assert!(told.series.contains(&("queue_depth".to_owned(), (threads * depth) as f64)), "{:?}", told.series);
    }
}

#[test]
fn an_open_loop_sends_at_its_rate_whatever_the_device_does() {
    for poisson in [false, true] {
        let changes = [("/rate_per_s", json!(2000.0)), ("/poisson", json!(poisson)), ("/threads", json!(4))];
        let mut run = start(&changes);
        let count = (0..50).map(|_| operations(&run.next_interval().unwrap().0, Kind::Read)).sum::<u64>();
        assert!(count.abs_diff(10_000) < if poisson { 400 } else { 10 }, "{poisson}: {count}");
    }
}

#[test]
fn an_open_loop_counts_from_when_a_request_was_due() {
    // One at a time, 10,000 a second at most, 20,000 asked: what is due falls behind, half of it waits.
    let mut run = start(&[("/rate_per_s", json!(20_000.0))]);
    let (interval, _) = run.next_interval().unwrap();
    let waits = interval.kinds[Kind::Read as usize].latency.max_ns();
    assert!(waits.abs_diff(50_000_000) < 1_000_000, "{waits}");
    assert!(interval.in_flight.abs_diff(1000) < 10, "{}", interval.in_flight);
    assert!(interval.oldest_ns.abs_diff(50_000_000) < 1_000_000, "{}", interval.oldest_ns);
}

#[test]
fn a_synchronous_write_ends_with_its_flush() {
    let mut run = start(&[("/sync", json!(true)), ("/workload/read_pct", json!(0.0))]);
    let (interval, _) = run.next_interval().unwrap();
    assert!(operations(&interval, Kind::Write).abs_diff(500) <= 1);
    assert_eq!(operations(&interval, Kind::Fsync), 0, "it is part of the write");
}

#[test]
fn every_write_may_be_followed_by_an_fsync() {
    let mut run = start(&[("/workload/fsync", json!("every-write")), ("/workload/read_pct", json!(0.0))]);
    let (interval, _) = run.next_interval().unwrap();
    assert!(operations(&interval, Kind::Write).abs_diff(500) <= 1);
    assert!(operations(&interval, Kind::Fsync).abs_diff(500) <= 1);
}

#[test]
fn fsyncs_after_every_nth_request_are_no_arrivals() {
    let changes = [("/workload/fsync_every", json!(4)), ("/workload/files", json!(2)), ("/rate_per_s", json!(1000.0))];
    let mut run = start(&changes);
    let (interval, _) = run.next_interval().unwrap();
    assert_eq!(operations(&interval, Kind::Read), 100);
    // The last two go with the next arrival.
    assert_eq!(operations(&interval, Kind::Fsync), 48);
}

#[test]
fn a_workload_ends_when_its_bytes_are_used_up_and_all_files_are_durable() {
    let changes = [
        ("/workload/limit_bytes", json!(4096 * 1500)),
        ("/workload/files", json!(3)),
        ("/workload/fsync", json!("end")),
        ("/threads", json!(2)),
    ];
    let mut run = start(&changes);
    let intervals = to_the_end(&mut run);
    assert_eq!((total(&intervals, Kind::Read), total(&intervals, Kind::Fsync)), (1500, 3));
    let last = intervals.last().unwrap();
    assert_eq!(last.in_flight, 0);
    // 750 each, and three fsyncs one after another.
    assert_eq!(last.end_ns, 753 * LATENCY_NS);
    assert_eq!(run.failure(), None);
    assert!(run.next_interval().is_none());
}

#[test]
fn stopped_it_waits_for_what_is_outstanding() {
    let mut run = start(&[("/threads", json!(4)), ("/workload/fsync", json!("end"))]);
    run.next_interval();
    run.stop();
    let intervals = to_the_end(&mut run);
    // Four were outstanding; the file is made durable after them.
    assert_eq!((total(&intervals, Kind::Read), total(&intervals, Kind::Fsync)), (4, 1));
}

#[test]
fn stopped_between_arrivals_it_is_over_at_once() {
    let mut run = start(&[("/rate_per_s", json!(0.1))]);
    run.next_interval();
    run.stop();
    assert!(run.next_interval().is_none());
}

#[test]
fn one_write_a_file_at_a_time() {
    let writes = |files: u64, read_pct: f64| {
        let changes = [
            ("/exclusive_writes", json!(true)),
            ("/threads", json!(8)),
            ("/workload/files", json!(files)),
            ("/workload/read_pct", json!(read_pct)),
        ];
        let (interval, _) = start(&changes).next_interval().unwrap();
        (operations(&interval, Kind::Write), operations(&interval, Kind::Read))
    };
    assert!(writes(1, 0.0).0.abs_diff(1000) <= 1);
    let several = writes(8, 0.0).0;
    assert!(several > 3000 && several < 8000, "{several}");
    assert_eq!(writes(1, 100.0).1.div_ceil(100), 80, "reads do not wait");
}

#[test]
fn the_first_failure_ends_a_run_and_is_told() {
    let mut run = start_failing(1000, &[("/threads", json!(2))]);
    let intervals = to_the_end(&mut run);
    assert_eq!(intervals.iter().map(|own| own.kinds[Kind::Read as usize].errors).sum::<u64>(), 1);
    assert!((999..=1001).contains(&total(&intervals, Kind::Read)));
    let told = run.failure().unwrap();
    assert!(told.starts_with("read of 4096 B at offset "), "{told}");
    assert!(told.contains("file 0 of the device failed: Input/output error"), "{told}");
}

#[test]
fn failures_may_be_counted_instead() {
    let mut run = start_failing(10, &[("/continue_on_error", json!(true))]);
    let (interval, _) = run.next_interval().unwrap();
    let own = &interval.kinds[Kind::Read as usize];
    assert!(own.errors > 9000 && own.operations.abs_diff(9 * own.errors) < 10, "{} {}", own.errors, own.operations);
    assert!(run.failure().is_some());
}

#[test]
fn a_run_after_another_goes_on_with_its_device_and_begins_at_0() {
    let mut before = start(&[]);
    before.next_interval();
    before.stop();
    to_the_end(&mut before);
    let mut run = Fileio::start(spec(&[]), Some(before)).unwrap();
    let (interval, _) = run.next_interval().unwrap();
    assert_eq!((interval.start_ns, interval.end_ns), (0, 100_000_000));
    assert!(operations(&interval, Kind::Read).abs_diff(1000) <= 1);
}

#[test]
fn files_that_do_not_fit_are_refused() {
    for (file_bytes, word) in [(1u64 << 25, "do not fit"), (u64::MAX, "2^64")] {
        let changes = [("/workload/file_bytes", json!(file_bytes)), ("/workload/files", json!(2))];
        let error = Fileio::start(spec(&changes), None).err().unwrap();
        assert!(error.contains(word), "{error}");
    }
}
