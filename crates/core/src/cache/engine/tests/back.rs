//! When dirty blocks go back, and in which order; and when they do not.

use super::bench::Bench;
use super::{BLOCK, quiet, with_dirty};
use crate::cache::{Command, Failure, Io, IoKind, Kind, Mode, Settings, Side};
use proptest::prelude::*;
use rand::Rng as _;

const SECOND_NS: u64 = 1_000_000_000;

/// Runs the bench for a time, each IO taking `io_ns` and one after another on each side; `each` is called at each
/// moment.
fn pass(bench: &mut Bench, for_ns: u64, io_ns: [u64; 2], mut each: impl FnMut(&mut Bench)) {
    let until_ns = bench.now_ns + for_ns;
    let (mut due, mut free_ns): (Vec<u64>, _) = (Vec::new(), [0; 2]);
    while bench.now_ns < until_ns {
        for io in &bench.pending[due.len()..] {
            let side = usize::from(io.side == Side::Slow);
            free_ns[side] = bench.now_ns.max(free_ns[side]) + io_ns[side];
            due.push(free_ns[side]);
        }
        let tick = bench.engine.next_ns().unwrap_or(u64::MAX).max(bench.now_ns + 1).min(until_ns);
        match (0..due.len()).min_by_key(|at| due[*at]) {
            Some(at) if due[at] <= tick => {
                bench.now_ns = bench.now_ns.max(due.swap_remove(at));
                bench.end(at);
            }
            _ => bench.tick(tick),
        }
        each(bench);
    }
}

/// Offsets of the write-backs so far.
fn written_back(bench: &Bench) -> Vec<u64> {
    let back = |io: &&Io| io.side == Side::Slow && io.kind == IoKind::Write;
    bench.done.iter().filter(back).map(|io| io.offset).collect()
}

/// Random writes for some periods, at rates that come and go and to places that are hot for a while.
fn never_too_old(seed: u64) {
    let mut rng = crate::seed::stream(seed, "flush period", 0);
    let period_s = [0.5, 2.0, 7.0, 30.0][rng.random_range(0..4)];
    let period_ns = (period_s * 1e9) as u64;
    let blocks = rng.random_range(500..20_000);
    let policy = ["lru", "s3-fifo", "flashcache"][rng.random_range(0..3)].into();
    let settings = Settings { flush_period_s: period_s, policy, ..quiet() };
    // With a threshold too, and without.
    let marks = [(100.0, 100.0), (30.0, 20.0)][rng.random_range(0..2)];
    let settings = Settings { dirty_high_pct: marks.0, dirty_low_pct: marks.1, ..settings };
    let mut bench = Bench::new(settings, blocks, 300, BLOCK, seed);
    // Ages are counted in steps of 134 ms, and are rounded down twice.
    let most_s = period_s + 0.27;
    let (mut seen_ns, mut oldest_s) = (0, 0.0_f64);
    for _ in 0..24 {
        let (first, many) = (rng.random_range(0..blocks), rng.random_range(1..blocks));
        let writes = rng.random_range(0..60);
        for _ in 0..writes {
            let block = (first + rng.random_range(0..many)) % blocks;
            if bench.requests() < 100 {
                bench.ask(Kind::Write, block * u64::from(BLOCK), BLOCK, false, 1);
            }
            let for_ns = rng.random_range(0..period_ns / 40 + 2);
            // Some hundred IOs a second on the slow device, more than enough for what is written.
            let slow_ns = 1_000_000.min(period_ns / 1000);
            pass(&mut bench, for_ns, [10_000, slow_ns], |bench| {
                if bench.now_ns >= seen_ns + period_ns / 50 {
                    seen_ns = bench.now_ns;
                    oldest_s = oldest_s.max(bench.count().dirty_age_oldest_s);
                }
            });
            assert!(
                oldest_s <= most_s,
                "seed {seed}, period {period_s} s: {oldest_s} s old, {}",
                bench.engine.describe()
            );
        }
    }
    // All of it goes, without another write.
    pass(&mut bench, period_ns + SECOND_NS / 10, [10_000, 100_000], |_| {});
    assert_eq!(bench.count().dirty_blocks, 0, "seed {seed}: {}", bench.engine.describe());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn no_dirty_block_is_ever_older_than_the_flush_period(seed in any::<u64>()) {
        never_too_old(seed);
    }
}

#[test]
fn by_time_all_goes_back_in_the_order_of_addresses_and_evenly() {
    let settings = Settings { flush_period_s: 10.0, ..quiet() };
    let mut bench = Bench::new(settings, 20_000, 300, BLOCK, 3);
    let mut rng = crate::seed::stream(3, "places", 0);
    for _ in 0..200 {
        let block = rng.random_range(0..20_000);
        bench.ask(Kind::Write, block * u64::from(BLOCK), BLOCK, false, 1);
    }
    pass(&mut bench, 20_000_000, [10_000, 1_000_000], |_| {});
    let dirty = bench.count().dirty_blocks;
    let mut halves = Vec::new();
    for _ in 0..2 {
        pass(&mut bench, 5 * SECOND_NS, [10_000, 1_000_000], |_| {});
        halves.push(dirty - bench.count().dirty_blocks);
    }
    assert!(halves[0].abs_diff(dirty / 2) < dirty / 10, "{halves:?} of {dirty}");
    assert_eq!(halves[1], dirty);
    let back = written_back(&bench);
    assert!(back.is_sorted(), "{back:?}");
}

#[test]
fn with_sets_each_has_its_own_threshold_and_is_cleaned_down_in_order() {
    let settings = Settings {
        policy: "flashcache".into(),
        dirty_high_pct: 20.0,
        dirty_low_pct: 10.0,
        write_back_depth: 4,
        write_back_depth_per_set: 2,
        ..quiet()
    };
    // Two sets: of the first 512 blocks, and of the next.
    let mut bench = Bench::new(settings, 4096, 1024, BLOCK, 1);
    let mark = |percent: u64, bench: &Bench| bench.count().slots / 2 * percent / 100;
    let (high, low) = (mark(20, &bench), mark(10, &bench));
    let mut most = 0;
    let mut write = |bench: &mut Bench, block: u64| {
        bench.ask(Kind::Write, block * u64::from(BLOCK), BLOCK, false, 1);
        pass(bench, SECOND_NS, [10_000, 1_000_000], |bench| {
            let slow = |io: &&Io| io.side == Side::Slow && io.kind == IoKind::Write;
            most = most.max(bench.pending.iter().filter(slow).count());
        });
    };
    for block in 0..high {
        write(&mut bench, (block * 37 % 256) * 2);
    }
    write(&mut bench, 513);
    assert_eq!(bench.count().dirty_blocks, high + 1, "of no set more than a fifth");
    assert!(written_back(&bench).is_empty());
    write(&mut bench, 511);
    // Neighbours are cleaned with a block though the mark is reached.
    let left = bench.count().dirty_blocks;
    assert!((low - 8..=low + 1).contains(&left), "{left}, not {low} of the first set and one of the other");
    let back = written_back(&bench);
    assert!(back.is_sorted() && *back.last().unwrap() < 512 * u64::from(BLOCK), "{back:?}");
    assert_eq!(most, 2, "of a set, two at once");
}

#[test]
fn a_write_whose_set_has_no_room_bypasses_the_cache() {
    let settings = Settings { policy: "flashcache".into(), ..quiet() };
    let mut bench = Bench::new(settings, 4096, 1024, BLOCK, 1);
    let offset = |block: u64| block * u64::from(BLOCK);
    let reserve = u64::from(bench.engine.contents.reserve());
    let free = |bench: &Bench| u64::from(bench.engine.contents.free());
    // The first set is full of dirty blocks; the second one's were, until few slots were free, and go back.
    let ways = bench.count().slots.div_ceil(2) as usize;
    let mut write = |block: u64| {
        bench.one(Kind::Write, offset(block), BLOCK).unwrap();
        free(&bench)
    };
    (0..512).chain(1024..1536).take(ways).for_each(|block| {
        write(block);
    });
    (512..1024).chain(1536..2048).find(|block| write(*block) <= reserve * 3 / 4).unwrap();
    bench.command(Command::WriteBack(Some((offset(512), offset(512)))));
    bench.settle();
    // Slots are in limbo when the write comes: for a slot it would wait, but it is its set that has none.
    let again = bench.ask(Kind::Write, offset(7), BLOCK, false, 1);
    while !bench.answers.contains_key(&again) {
        bench.end(0);
    }
    assert!(bench.engine.contents.limbo() > 0 && (reserve / 2..=reserve).contains(&free(&bench)));
    let tag = bench.ask(Kind::Write, offset(1535), BLOCK, false, 1);
    pass(&mut bench, 60 * SECOND_NS, [10_000, 1_000_000], |_| {});
    assert_eq!(bench.answers.get(&tag), Some(&Ok(())), "{}", bench.engine.describe());
    assert!(bench.count().no_room > 0);
}

#[test]
fn a_period_that_is_set_while_it_serves_counts_from_then() {
    let mut bench = with_dirty(quiet(), 50);
    pass(&mut bench, 20 * SECOND_NS, [10_000, 1_000_000], |_| {});
    assert_eq!(bench.count().dirty_blocks, 50);
    let set =
        |value: &str| Command::Set(vec![crate::cache::Change { name: "flush_period_s".into(), value: value.into() }]);
    bench.command(set("4"));
    pass(&mut bench, 2 * SECOND_NS, [10_000, 1_000_000], |_| {});
    bench.command(set("off"));
    pass(&mut bench, SECOND_NS, [10_000, 1_000_000], |_| {});
    let left = bench.count().dirty_blocks;
    assert!((20..35).contains(&left), "{left}");
    pass(&mut bench, 20 * SECOND_NS, [10_000, 1_000_000], |_| {});
    assert_eq!(bench.count().dirty_blocks, left);
    bench.command(Command::WriteBack(None));
    bench.settle();
    assert_eq!(bench.count().dirty_blocks, 0);
}

#[test]
fn a_stop_that_drains_ends_when_the_slow_device_fails_and_says_what_stays() {
    let mut bench = with_dirty(quiet(), 30);
    bench.fails = |io| io.side == Side::Slow && io.kind == IoKind::Write && io.offset >= 20 * u64::from(BLOCK);
    let begin_ns = bench.now_ns;
    let tag = bench.command(Command::Stop { drain: true });
    assert_eq!(bench.answer(tag), Err(Failure::Medium));
    assert!(bench.now_ns > begin_ns + SECOND_NS, "it was tried again");
    assert!(bench.told.iter().any(|text| text.contains("20 blocks stay dirty")), "{:?}", bench.told);
    assert_eq!(bench.count().dirty_blocks, 20);
    // The user may stop without it.
    let tag = bench.command(Command::Stop { drain: false });
    assert_eq!(bench.answer(tag), Ok(()));
    bench.settle();
}

#[test]
fn a_slow_device_that_is_full_ends_a_write_back_whatever_else_it_takes() {
    // New blocks become dirty and go back all the time; what is asked for never does.
    for stop in [false, true] {
        let mut bench = with_dirty(Settings { dirty_high_pct: 1.0, dirty_low_pct: 0.0, ..quiet() }, 0);
        bench.fails = |io| io.side == Side::Slow && io.kind == IoKind::Write && io.offset >= 300 * u64::from(BLOCK);
        for block in 300..305 {
            bench.one(Kind::Write, block * u64::from(BLOCK), BLOCK).unwrap();
        }
        let begin_ns = bench.now_ns;
        let tag = bench.command(if stop { Command::Stop { drain: true } } else { Command::WriteBack(None) });
        let mut block = 0;
        while !bench.answers.contains_key(&tag) {
            assert!(bench.now_ns < begin_ns + 60 * SECOND_NS, "it never gives up");
            if !stop {
                bench.ask(Kind::Write, block % 100 * u64::from(BLOCK), BLOCK, false, 1);
                block += 1;
            }
            bench.step();
        }
        assert_eq!(bench.answers[&tag], Err(Failure::Medium));
        assert!(bench.count().dirty_blocks >= 5);
        bench.fails = |_| false;
        let tag = bench.command(if stop { Command::Stop { drain: true } } else { Command::WriteBack(None) });
        assert_eq!(bench.answer(tag), Ok(()), "once there is room, the next one goes");
    }
}

#[test]
fn a_stop_that_drains_waits_for_a_slow_device_that_fails_for_a_while() {
    let mut bench = with_dirty(quiet(), 30);
    bench.fails = |io| io.side == Side::Slow && io.kind == IoKind::Write;
    let tag = bench.command(Command::Stop { drain: true });
    let begin_ns = bench.now_ns;
    while bench.now_ns < begin_ns + SECOND_NS {
        bench.step();
    }
    assert!(!bench.answers.contains_key(&tag));
    bench.fails = |_| false;
    assert_eq!(bench.answer(tag), Ok(()));
    assert_eq!(bench.count().dirty_blocks, 0);
}

#[test]
fn when_all_went_back_the_pairing_record_says_so() {
    let mut bench = with_dirty(quiet(), 30);
    bench.fails = |io| io.side == Side::Fast && io.kind != IoKind::Read;
    for block in 0..60 {
        bench.one(Kind::Write, block * u64::from(BLOCK), BLOCK).unwrap();
    }
    bench.settle();
    assert_eq!(bench.count().dirty_blocks, 0);
    // The count of dirty blocks, as `superblock.rs` puts it.
    let said: Vec<u8> = bench.pairs.iter().map(|page| page[56]).collect();
    assert_eq!(said, [30, 0]);
    let (writes, syncs) = (IoKind::Write, IoKind::Sync);
    let pair: Vec<_> = bench.done.iter().filter(|io| io.side == Side::Pair).map(|io| io.kind).collect();
    assert_eq!(pair, [writes, syncs, writes, syncs]);
}

#[test]
fn what_is_lost_stays_in_the_pairing_record_until_it_is_written_anew() {
    let mut bench = with_dirty(quiet(), 30);
    bench.fails = |io| io.side == Side::Fast && (io.kind != IoKind::Read || io.offset % (8 * u64::from(BLOCK)) == 0);
    bench.one(Kind::Write, 301 * u64::from(BLOCK), BLOCK).unwrap();
    bench.settle();
    let lost = bench.count().lost_blocks;
    assert!(lost > 0 && bench.count().dirty_blocks == lost);
    assert_eq!(u64::from(bench.pairs.last().unwrap()[56]), lost);
    for block in 0..30 {
        bench.one(Kind::Write, block * 2 * u64::from(BLOCK), BLOCK).unwrap();
    }
    bench.settle();
    assert_eq!((bench.count().lost_blocks, bench.pairs.last().unwrap()[56]), (0, 0));
}

/// Latencies of random writes, so many at once, on a slow device that does one IO after another in 5 ms.
fn write_latencies(settings: Settings, slots: u64, depth: usize, requests: usize) -> Vec<u64> {
    let blocks = 4000;
    let mut bench = Bench::new(settings, blocks, slots, BLOCK, 5);
    let (mut slow_free_ns, mut began) = (0, std::collections::BTreeMap::new());
    let (mut due, mut latencies) = (Vec::new(), Vec::new());
    while latencies.len() < requests {
        while bench.requests() < depth {
            let offset = bench.rng.random_range(0..blocks) * u64::from(BLOCK);
            let now = bench.now_ns;
            began.insert(bench.ask(Kind::Write, offset, BLOCK, false, 1), now);
        }
        for io in &bench.pending[due.len()..] {
            due.push(match io.side {
                Side::Slow if io.kind != IoKind::Sync => {
                    slow_free_ns = bench.now_ns.max(slow_free_ns) + 5_000_000 + u64::from(io.bytes) * 7;
                    slow_free_ns
                }
                _ => bench.now_ns + 100_000,
            });
        }
        let tick = bench.engine.next_ns().unwrap_or(u64::MAX).max(bench.now_ns + 1);
        match (0..due.len()).min_by_key(|at| due[*at]) {
            Some(at) if due[at] <= tick => {
                bench.now_ns = bench.now_ns.max(due.swap_remove(at));
                bench.end(at);
            }
            _ => bench.tick(tick),
        }
        for (tag, _) in std::mem::take(&mut bench.answers) {
            latencies.push(bench.now_ns - began[&tag]);
        }
    }
    latencies.drain(..requests / 4);
    latencies.sort_unstable();
    latencies
}

#[test]
fn full_of_dirty_blocks_writes_take_at_most_three_times_as_long_as_on_the_slow_device() {
    for (high, low, depth, period) in
        [(100.0, 100.0, 1, 0.0), (100.0, 80.0, 4, 0.0), (20.0, 10.0, 1, 0.5), (80.0, 80.0, 16, 0.0)]
    {
        let settings = Settings { dirty_high_pct: high, dirty_low_pct: low, flush_period_s: period, ..quiet() };
        let around = Settings { mode: Mode::WriteAround, commit_interval_s: 1.0, ..settings.clone() };
        let alone = write_latencies(around, 200, depth, 4000);
        let cached = write_latencies(settings, 200, depth, 4000);
        let at = |latencies: &[u64]| latencies[latencies.len() * 999 / 1000];
        assert!(
            at(&cached) <= 3 * at(&alone) && *cached.last().unwrap() < 1_000_000_000,
            "{high} {low} {depth}: {} ns, alone {} ns, most {:?}",
            at(&cached),
            at(&alone),
            cached.last()
        );
    }
}
