use super::*;
use crate::storage::{self, memory};

const BLOCK: u64 = 16384;

fn device(capacity_bytes: u64, latency_ns: u64) -> Box<storage::Spec> {
    let (read_bytes_per_s, write_bytes_per_s) = (2e9, 1e9);
    Box::new(storage::Spec::Memory(memory::Spec { capacity_bytes, latency_ns, read_bytes_per_s, write_bytes_per_s }))
}

fn spec() -> Spec<storage::Spec> {
    Spec {
        fast: device(64 << 20, 50_000),
        slow: device(1 << 30, 5_000_000),
        fast_bytes: 0,
        block_bytes: BLOCK as u32,
        preset: None,
        settings: std::collections::BTreeMap::new(),
        warm: false,
    }
}

fn open(spec: &Spec<storage::Spec>) -> Cached {
    Cached::new(spec, Opening { seed: 7, used_bytes: 1 << 30 }).unwrap()
}

/// Runs one command alone. Returns how it ended, and how long it took.
fn run_one(cache: &mut Cached, operation: Operation, offset: u64, bytes: u64) -> (Result<(), Failure>, u64) {
    let begin_ns = cache.now_ns;
    cache.submit(begin_ns, 1, Command { operation, offset, bytes });
    let mut ended = Vec::new();
    while ended.is_empty() {
        let at_ns = cache.next_ns().expect("something is under way");
        cache.advance(at_ns, &mut ended);
    }
    (ended[0].result, ended[0].at_ns - begin_ns)
}

#[test]
fn impossible_figures_are_refused() {
    let open =
        |spec: Spec<storage::Spec>| Cached::new(&spec, Opening { seed: 7, used_bytes: 0 }).map(|_| ()).unwrap_err();
    assert!(open(Spec { block_bytes: 5000, ..spec() }).contains("blocks are"));
    assert!(open(Spec { fast_bytes: 1 << 40, ..spec() }).contains("does not fit"));
    assert!(open(Spec { fast_bytes: 1 << 16, ..spec() }).contains("leaves room for"));
    assert!(open(Spec { preset: Some("bcache".into()), ..spec() }).contains("no preset"));
    assert!(open(Spec { settings: [("mode".into(), "up".into())].into(), ..spec() }).contains("write-back"));
}

#[test]
fn requests_outside_the_device_fail() {
    let mut cache = open(&spec());
    assert_eq!(run_one(&mut cache, Operation::Read, 1 << 30, BLOCK).0, Err(Failure::Full));
    assert_eq!(run_one(&mut cache, Operation::Read, 0, BLOCK).0, Ok(()));
}

/// Runs random requests of whole blocks, `depth` at once. Returns how many ended, and how long they took.
fn drive(cache: &mut Cached, depth: u64, requests: u64, reads_pct: u64, blocks: u64) -> (u64, u64) {
    use flatwater_core::seed::splitmix;
    let command = |number: u64| {
        let at = splitmix(number);
        let operation = if splitmix(at) % 100 < reads_pct { Operation::Read } else { Operation::Write };
        Command { operation, offset: at % blocks * BLOCK, bytes: BLOCK }
    };
    for tag in 0..depth {
        cache.submit(cache.now_ns, tag, command(tag));
    }
    let (mut sent, mut done, mut ended) = (depth, 0, Vec::new());
    let begin_ns = cache.now_ns;
    while done < requests {
        let Some(at_ns) = cache.next_ns() else {
            panic!("nothing happens any more after {done} requests: {:?}", cache.engine.statistics(cache.now_ns))
        };
        assert!(at_ns < begin_ns + 3_600_000_000_000, "an hour for {done} requests");
        cache.advance(at_ns, &mut ended);
        for end in ended.drain(..) {
            assert_eq!(end.result, Ok(()));
            done += 1;
            cache.submit(end.at_ns, end.tag, command(sent));
            sent += 1;
        }
    }
    (done, cache.now_ns - begin_ns)
}

#[test]
fn requests_keep_ending() {
    let mut cache = open(&spec());
    drive(&mut cache, 8, 20_000, 60, 2000);
}

#[test]
fn a_warm_up_fills_it_and_takes_no_time() {
    use flatwater_core::seed::splitmix;
    let mut cache =
        open(&Spec { warm: true, fast: device(16 << 30, 50_000), slow: device(64 << 30, 5_000_000), ..spec() });
    let mut number = 0;
    while cache.needs_warm_up() {
        number += 1;
        let at = splitmix(number);
        let operation = if at % 10 < 6 { Operation::Read } else { Operation::Write };
        cache.warm_up(Command { operation, offset: splitmix(at) % 2_000_000 * BLOCK, bytes: BLOCK });
        assert!(!cache.engine.busy(), "{number}: {:?}", cache.engine.statistics(cache.warm_up_ns));
    }
    assert_eq!(cache.now_ns, 0);
    let statistics = cache.engine.statistics(cache.warm_up_ns);
    let held = statistics.clean_blocks + statistics.dirty_blocks;
    assert!(held > statistics.slots * 9 / 10, "{number}: {statistics:?}");
    drive(&mut cache, 8, 20_000, 60, 2_000_000);
}
