//! The workload on real files: what is counted, what is found out, what a fault looks like from above.

use super::*;
use crate::clock::monotonic_now_ns;
use crate::crew::Next;
use crate::part::Part;
use crate::permit::Identity;
use crate::permit::Permit;
use crate::prepare;
use crate::storage::fault::Fault;
use crate::storage::fault::FaultKind;
use crate::storage::{FsyncCall, SyncMode};
use flatwater_core::interval::Interval;
use flatwater_core::workload::address::Distribution;
use flatwater_core::workload::fileio::{self as workload, FsyncPolicy};
use std::path::PathBuf;
use std::time::Duration;

const FILE_BYTES: u64 = 4 << 20;
const BLOCK_BYTES: u32 = 16 << 10;

/// A permit for files as they are.
fn permit(paths: &[PathBuf]) -> Permit {
    Permit::new(paths.iter().map(|path| Identity::of(&std::fs::File::open(path).unwrap()).unwrap()).collect())
}

/// A prepared file and a workload on it, both on a real file system.
struct Bench {
    _folder: tempfile::TempDir,
    spec: Spec,
}

impl Bench {
    fn new(engine: Engine) -> Self {
        // Beside the build, and not in /tmp, which may be a tmpfs without O_DIRECT.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("data");
        std::fs::File::create(&path).unwrap();
        let prepare = prepare::Prepare::start(prepare::Spec {
            paths: vec![path.clone()],
            permit: permit(std::slice::from_ref(&path)),
            file_bytes: FILE_BYTES,
            done_bytes: 0,
            threads: 2,
            direct: false,
            device: false,
            compressible_pct: 0.0,
            stamp_bytes: BLOCK_BYTES,
            set_id: 7,
            seed: 1,
        })
        .unwrap();
        assert!(prepare.join(Duration::from_secs(60)));
        assert_eq!(prepare.failure(), None);
        assert_eq!(prepare.done_bytes(), FILE_BYTES);
        let spec = Spec {
            workload: workload::Fileio {
                sequential: false,
                read_pct: 50.0,
                block_sizes: vec![(BLOCK_BYTES, 100.0)],
                files: 1,
                file_bytes: FILE_BYTES,
                fsync_every: 0,
                fsync: FsyncPolicy::None,
                distribution: Distribution::Uniform,
                limit_bytes: 20 << 20,
                seed: 1,
                replay: None,
            },
            permit: Some(permit(std::slice::from_ref(&path))),
            paths: vec![path],
            threads: 2,
            part: None,
            queue_depth: 8,
            engine,
            direct: false,
            sync: SyncMode::None,
            fsync_call: FsyncCall::Fsync,
            rate_per_s: 0.0,
            poisson: false,
            compressible_pct: 0.0,
            verify: Some(Verify { set_id: 7, generation_base: 1 << 16 }),
            drop_cache: false,
            fault: None,
            continue_on_error: false,
            record: true,
            interval_ms: 50,
        };
        Self { _folder: folder, spec }
    }

    /// Runs to the end; the totals of all intervals and the failure.
    fn run(&self) -> (Vec<Interval>, Option<String>) {
        let run = super::Fileio::start(self.spec.clone(), None).unwrap();
        let mut intervals = Vec::new();
        loop {
            match run.run().next_interval(Duration::from_secs(20)) {
                Next::Interval(interval) => intervals.push(*interval),
                Next::Waiting => panic!("the run hangs"),
                Next::Over => return (intervals, run.run().failure()),
            }
        }
    }
}

fn operations(intervals: &[Interval]) -> u64 {
    intervals.iter().flat_map(|interval| &interval.kinds).map(|kind| kind.operations).sum()
}

fn fault(kind: FaultKind) -> Fault {
    Fault { kind, after_ops: 100, duration_s: 0.3 }
}

#[test]
fn every_request_is_counted_once_and_verified() {
    for engine in [Engine::Psync, Engine::IoUring] {
        let (intervals, failure) = Bench::new(engine).run();
        assert_eq!(failure, None);
        assert_eq!(operations(&intervals), (20 << 20) / u64::from(BLOCK_BYTES));
        let latencies: u64 = intervals.iter().flat_map(|i| &i.kinds).map(|kind| kind.latency.count()).sum();
        assert_eq!(latencies, operations(&intervals));
        let last = intervals.last().unwrap();
        assert_eq!(last.in_flight, 0, "everything was drained");
    }
}

#[test]
fn every_write_is_followed_by_its_fsync() {
    let mut bench = Bench::new(Engine::IoUring);
    bench.spec.workload.fsync = FsyncPolicy::EveryWrite;
    bench.spec.workload.limit_bytes = 1 << 20;
    let (intervals, failure) = bench.run();
    assert_eq!(failure, None);
    let count = |kind: Kind| intervals.iter().map(|interval| interval.kinds[kind as usize].operations).sum::<u64>();
    assert!(count(Kind::Write) > 0);
    // What was outstanding when the bytes were used up is not synced: at most one write a slot.
    let missing = count(Kind::Write) - count(Kind::Fsync);
    assert!(missing <= u64::from(bench.spec.threads * bench.spec.queue_depth), "{missing} writes without fsync");
}

#[test]
fn one_fsync_of_each_file_at_the_end() {
    let mut bench = Bench::new(Engine::Psync);
    bench.spec.workload.fsync = FsyncPolicy::End;
    let (intervals, failure) = bench.run();
    assert_eq!(failure, None);
    assert_eq!(intervals.iter().map(|interval| interval.kinds[Kind::Fsync as usize].operations).sum::<u64>(), 1);
}

#[test]
fn faults_are_named_with_their_place() {
    for engine in [Engine::Psync, Engine::IoUring] {
        for (kind, sign) in [
            (FaultKind::Error, "Input/output error"),
            (FaultKind::Full, "No space left on device"),
            (FaultKind::CorruptRead, "damaged"),
        ] {
            let mut bench = Bench::new(engine);
            bench.spec.fault = Some(fault(kind));
            // Enough requests that each block is read again.
            bench.spec.workload.limit_bytes = 400 << 20;
            let (intervals, failure) = bench.run();
            let failure = failure.unwrap_or_else(|| panic!("{kind:?} was not found out by {engine:?}"));
            assert!(failure.contains(sign) && failure.contains("offset") && failure.contains("data"), "{failure}");
            assert!(operations(&intervals) >= 50, "what was before the fault is kept");
        }
    }
}

#[test]
fn reading_back_finds_lost_and_misplaced_writes() {
    for (kind, signs) in [
        (FaultKind::LostWrite, ["stale", "stale"]),
        // Whichever is read first: the block that was hit, or the one that was missed.
        (FaultKind::MisplacedWrite, ["misplaced", "stale"]),
    ] {
        for engine in [Engine::Psync, Engine::IoUring] {
            let mut bench = Bench::new(engine);
            // Each block is written once, so that no later write hides the fault.
            bench.spec.workload.sequential = true;
            bench.spec.workload.read_pct = 0.0;
            bench.spec.workload.limit_bytes = FILE_BYTES;
            bench.spec.threads = 1;
            bench.spec.fault = Some(fault(kind));
            let writing = super::Fileio::start(bench.spec.clone(), None).unwrap();
            assert!(writing.run().join(Duration::from_secs(60)));
            assert_eq!(writing.run().failure(), None, "nothing is read yet");
            bench.spec.workload.read_pct = 100.0;
            bench.spec.fault = None;
            let reading = super::Fileio::start(bench.spec.clone(), Some(&writing)).unwrap();
            assert!(reading.run().join(Duration::from_secs(60)));
            let failure = reading.run().failure().unwrap_or_else(|| panic!("{kind:?} was not found out by {engine:?}"));
            assert!(signs.iter().any(|sign| failure.contains(sign)), "{failure}");
        }
    }
}

#[test]
fn counted_errors_do_not_end_the_run() {
    let mut bench = Bench::new(Engine::Psync);
    bench.spec.fault = Some(fault(FaultKind::Error));
    bench.spec.continue_on_error = true;
    let (intervals, failure) = bench.run();
    let errors: u64 = intervals.iter().flat_map(|interval| &interval.kinds).map(|kind| kind.errors).sum();
    assert_eq!(errors, (20 << 20) / u64::from(BLOCK_BYTES) - 100);
    assert!(failure.is_some());
}

#[test]
fn a_stall_is_dead_seconds_with_growing_age() {
    for engine in [Engine::Psync, Engine::IoUring] {
        let mut bench = Bench::new(engine);
        bench.spec.fault = Some(fault(FaultKind::Stall));
        let (intervals, failure) = bench.run();
        assert_eq!(failure, None);
        let dead: Vec<_> =
            intervals.iter().filter(|i| i.in_flight > 0 && i.kinds.iter().all(|k| k.operations == 0)).collect();
        // On a busy machine intervals are longer than asked for, and there are fewer of them.
        let dead_s = dead.iter().map(|i| (i.end_ns - i.start_ns) as f64 / 1e9).sum::<f64>();
        assert!(dead_s > 0.15, "0.3 s of nothing, and {dead_s} s of them told");
        assert!(dead.windows(2).all(|pair| pair[1].oldest_ns > pair[0].oldest_ns));
    }
}

#[test]
fn an_open_loop_counts_from_the_intended_start() {
    // A closed loop would report one slow request a thread; here each arrival of the stall waited.
    let mut bench = Bench::new(Engine::Psync);
    bench.spec.fault = Some(fault(FaultKind::Stall));
    bench.spec.rate_per_s = 1000.0;
    bench.spec.workload.limit_bytes = 600 * u64::from(BLOCK_BYTES);
    let (intervals, failure) = bench.run();
    assert_eq!(failure, None);
    let slow: u64 = intervals
        .iter()
        .flat_map(|interval| &interval.kinds)
        .flat_map(|kind| kind.latency.buckets())
        .filter(|(latency_ns, _)| *latency_ns > 100_000_000)
        .map(|(_, count)| count)
        .sum();
    assert!(slow > 100, "only {slow} requests saw the stall");
    let length_s = intervals.last().unwrap().end_ns as f64 / 1e9;
    assert!(length_s > 0.55, "600 arrivals at 1000/s ended after {length_s} s");
}

#[test]
fn requests_in_flight_agree_with_littles_law() {
    // Latency was once counted from after the first requests of a batch had been submitted: of what completes at once,
    // a thousandth of it. In a closed loop IOPS x mean latency is the depth, less the time in which requests are made.
    for depth in [7, 8, 32] {
        let mut bench = Bench::new(Engine::IoUring);
        bench.spec.verify = None;
        bench.spec.workload.read_pct = 100.0;
        bench.spec.workload.block_sizes = vec![(256 << 10, 100.0)];
        bench.spec.workload.limit_bytes = 4 << 30;
        (bench.spec.threads, bench.spec.queue_depth) = (1, depth);
        let (intervals, failure) = bench.run();
        assert_eq!(failure, None);
        let total_ns: f64 = intervals
            .iter()
            .flat_map(|interval| interval.kinds[0].latency.buckets())
            .map(|(latency_ns, count)| latency_ns as f64 * count as f64)
            .sum();
        let in_flight = total_ns / intervals.last().unwrap().end_ns as f64;
        let depth = f64::from(depth);
        assert!(in_flight > 0.5 * depth && in_flight < 1.1 * depth, "{in_flight} in flight at depth {depth}");
    }
}

#[test]
fn more_requests_than_verified_blocks_do_not_hang() {
    let mut bench = Bench::new(Engine::IoUring);
    bench.spec.workload.file_bytes = 4 * u64::from(BLOCK_BYTES);
    bench.spec.queue_depth = 32;
    let (intervals, failure) = bench.run();
    assert_eq!(failure, None);
    assert_eq!(operations(&intervals), (20 << 20) / u64::from(BLOCK_BYTES));
}

#[test]
fn a_target_that_is_missing_is_named() {
    let mut bench = Bench::new(Engine::Psync);
    bench.spec.paths = vec!["/nonexistent/data".into()];
    let Err(error) = super::Fileio::start(bench.spec, None) else { panic!("opened nothing") };
    assert!(error.to_string().contains("/nonexistent/data"), "{error}");
}

#[test]
fn preparing_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let paths: Vec<_> = (0..3).map(|number| folder.path().join(format!("data.{number}"))).collect();
    for path in &paths {
        std::fs::File::create(path).unwrap();
    }
    let spec = prepare::Spec {
        paths: paths.clone(),
        permit: permit(&paths),
        file_bytes: (2 << 20) + 4096,
        done_bytes: (3 << 20) + 5000,
        threads: 4,
        direct: false,
        device: false,
        compressible_pct: 0.0,
        stamp_bytes: 0,
        set_id: 1,
        seed: 1,
    };
    let total = spec.file_bytes * 3;
    let prepare = prepare::Prepare::start(spec).unwrap();
    assert!(prepare.join(Duration::from_secs(60)));
    assert_eq!((prepare.failure(), prepare.done_bytes()), (None, total));
    let zeros = |path: &PathBuf| std::fs::read(path).unwrap().iter().all(|byte| *byte == 0);
    assert!(zeros(&paths[0]), "the first file was done");
    assert!(!zeros(&paths[1]) && !zeros(&paths[2]));
    assert!(
        std::fs::read(&paths[1]).unwrap()[..4096].iter().all(|byte| *byte == 0),
        "as was this one's first chunk? no"
    );
}

#[test]
fn a_part_waits_until_it_is_told_when_to_begin() {
    let bench = Bench::new(Engine::Psync);
    let spec = Spec { part: Some(Part { first: 2, of: 4 }), verify: None, ..bench.spec.clone() };
    let fileio = Fileio::start(spec, None).unwrap();
    let run = fileio.run();
    while !run.is_ready() {
        std::thread::yield_now();
    }
    assert!(matches!(run.next_interval(Duration::ZERO), Next::Waiting));
    assert_eq!(run.begun_ns(), None);
    let at_ns = monotonic_now_ns() + 30_000_000;
    run.begin_at(at_ns);
    run.begin_at(at_ns + 1_000_000_000_000);
    let mut intervals = Vec::new();
    while let Next::Interval(interval) = run.next_interval(Duration::from_secs(60)) {
        intervals.push(interval);
    }
    assert!(run.begun_ns().unwrap() >= at_ns, "not before the instant");
    assert_eq!(intervals[0].start_ns, 0);
    assert_eq!(run.failure(), None);
    assert_eq!(intervals.iter().map(|own| own.kinds[0].bytes + own.kinds[1].bytes).sum::<u64>(), 20 << 20);
}

#[test]
fn a_part_that_is_stopped_before_it_begins_does_nothing() {
    let bench = Bench::new(Engine::Psync);
    let spec = Spec { part: Some(Part { first: 0, of: 4 }), verify: None, ..bench.spec.clone() };
    let fileio = Fileio::start(spec, None).unwrap();
    fileio.run().begin_at(monotonic_now_ns() + 3_600_000_000_000);
    fileio.run().stop();
    assert!(fileio.run().join(Duration::from_secs(60)));
    let Next::Interval(last) = fileio.run().next_interval(Duration::from_secs(60)) else { panic!("no interval") };
    assert_eq!(last.kinds.iter().map(|kind| kind.operations).sum::<u64>(), 0);
}
