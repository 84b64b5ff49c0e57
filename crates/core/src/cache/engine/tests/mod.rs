//! The engine against a model of what a disk may return, with IOs ending in any order.

mod back;
mod bench;
mod faults;

use bench::Bench;
use proptest::prelude::*;
use rand::Rng as _;

use crate::cache::{Admission, Change, Command, Failure, Kind, Mode, Settings};
use crate::seed::Rng;

const BLOCK: u32 = 4096;

fn some_settings(rng: &mut Rng) -> Settings {
    let mut settings = Settings {
        mode: [Mode::WriteBack, Mode::WriteBack, Mode::WriteThrough, Mode::WriteAround, Mode::WriteOnly]
            [rng.random_range(0..5)],
        policy: ["lru", "fifo", "s3-fifo", "flashcache", "flashcache-lru"][rng.random_range(0..5)].into(),
        admission: [Admission::All, Admission::SecondHit][rng.random_range(0..2)],
        sequential_bytes: [0, 32 << 10, 1 << 20][rng.random_range(0..3)],
        dirty_high_pct: [10.0, 50.0, 100.0][rng.random_range(0..3)],
        flush_period_s: [0.0, 0.5][rng.random_range(0..2)],
        fallow_delay_s: [0.0, 0.2][rng.random_range(0..2)],
        idle_flush_s: [0.0, 0.01][rng.random_range(0..2)],
        write_back_depth: rng.random_range(1..8),
        verify: rng.random(),
        ordered: rng.random_ratio(1, 3),
        commit_interval_s: [0.0, 0.01, 1.0][rng.random_range(0..3)],
        ..Settings::default()
    };
    settings.dirty_low_pct = settings.dirty_high_pct * [1.0, 0.8][rng.random_range(0..2)];
    if rng.random() {
        settings.deny_processes = vec![2];
    }
    if rng.random_ratio(1, 3) {
        settings.acknowledge = crate::cache::Acknowledge::Journaled;
    }
    settings
}

fn some_change(rng: &mut Rng) -> Change {
    let settings = some_settings(rng);
    let names =
        ["mode", "policy", "admission", "verify", "flush_period_s", "acknowledge", "write_back_depth", "ordered"];
    let name = names[rng.random_range(0..names.len())];
    Change { name: name.into(), value: settings.value(name).unwrap() }
}

fn some_request(bench: &mut Bench) {
    let end = bench.engine.bytes();
    let rng = &mut bench.rng;
    let kind = match rng.random_range(0..100) {
        0..40 => Kind::Read,
        40..85 => Kind::Write,
        85..90 => Kind::Zero,
        90..94 => Kind::Trim,
        _ => Kind::Flush,
    };
    let block = u64::from(BLOCK);
    let (offset, bytes) = match rng.random_range(0..10) {
        0..5 => (rng.random_range(0..end / block) * block, block),
        5..8 => (rng.random_range(0..end / 512) * 512, rng.random_range(1..16) * 512),
        8 => (rng.random_range(0..end / block) * block, rng.random_range(1..100) * block),
        _ => (rng.random_range(0..end / 512) * 512, rng.random_range(1..400) * 512),
    };
    let bytes = if kind == Kind::Flush { 0 } else { bytes.min(end - offset) };
    let durable = rng.random_ratio(1, 10);
    let process = rng.random_range(0..3);
    bench.ask(kind, if kind == Kind::Flush { 0 } else { offset }, bytes as u32, durable, process);
}

fn some_command(bench: &mut Bench) {
    let end = bench.engine.bytes();
    let rng = &mut bench.rng;
    let range = (rng.random_range(0..end), rng.random_range(0..200_000));
    let mut change = some_change(rng);
    if !bench.keeps_order && change.name == "ordered" {
        change.value = "off".into();
    }
    let rng = &mut bench.rng;
    let command = match rng.random_range(0..9) {
        0..3 => Command::Set(vec![change]),
        3 => Command::WriteBack(None),
        4 => Command::WriteBack(Some(range)),
        5 => Command::Preload(range),
        6 => Command::Pin { range: (range.0, range.1 / 4), pinned: rng.random() },
        7 => Command::Resize((1 << 20) + rng.random_range(0..64) * u64::from(BLOCK)),
        _ => Command::StopWriteBack,
    };
    bench.command(command);
}

/// Random requests and commands under random settings; every read is held against the model.
fn anything(seed: u64) {
    let mut rng = crate::seed::stream(seed, "settings", 0);
    let slots = rng.random_range(16..200);
    let blocks = rng.random_range(20..600);
    let depth = rng.random_range(1..40);
    let mut bench = Bench::new(some_settings(&mut rng), blocks, slots, BLOCK, seed);
    for _ in 0..600 {
        let mut steps = 0;
        while bench.requests() >= depth || bench.rng.random_ratio(1, 2) && !bench.pending.is_empty() {
            bench.step();
            steps += 1;
            assert!(steps < 100_000, "nothing is answered any more: {} {:?}", bench.engine.describe(), bench.pending);
        }
        if bench.rng.random_ratio(1, 40) {
            some_command(&mut bench);
        }
        some_request(&mut bench);
    }
    bench.settle();
    // All that was written can be read, and with everything written back the slow device alone has it.
    let tag = bench.command(Command::Stop { drain: true });
    assert_eq!(bench.answer(tag), Ok(()));
    bench.settle();
    assert_eq!(bench.room.buffers(), 0, "buffers were not given back");
    let count = bench.count();
    assert_eq!(count.dirty_blocks, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn reads_return_what_was_written(seed in any::<u64>()) {
        anything(seed);
    }
}

/// `SEEDS=from..to cargo test ... many -- --ignored --nocapture`
#[test]
#[ignore = "for looking for failures by hand"]
fn many() {
    let range = std::env::var("SEEDS").unwrap_or("0..1000".into());
    let (from, to) = range.split_once("..").expect("from..to");
    for seed in from.parse().unwrap()..to.parse().unwrap() {
        println!("seed {seed}");
        if std::env::var_os("FAILING").is_some() {
            faults::failing(seed);
        } else {
            anything(seed);
        }
    }
}

/// Fills the cache with blocks and makes some of them dirty.
fn with_dirty(settings: Settings, dirty: u64) -> Bench {
    let mut bench = Bench::new(settings, 400, 200, BLOCK, 1);
    for block in 0..dirty {
        bench.one(Kind::Write, block * 2 * u64::from(BLOCK), BLOCK).unwrap();
    }
    bench
}

fn quiet() -> Settings {
    Settings {
        dirty_high_pct: 100.0,
        dirty_low_pct: 100.0,
        sequential_bytes: 0,
        commit_interval_s: 0.0,
        ..Settings::default()
    }
}

#[test]
fn a_write_back_reports_its_progress_and_ends() {
    let mut bench = with_dirty(quiet(), 50);
    assert_eq!(bench.count().dirty_blocks, 50);
    let tag = bench.command(Command::WriteBack(None));
    let mut before = 0;
    while !bench.answers.contains_key(&tag) {
        let count = bench.count();
        assert!(count.flush_blocks == 50 && count.flush_blocks_done >= before);
        before = count.flush_blocks_done;
        bench.step();
    }
    assert!(before > 10, "progress was told only at the end");
    assert_eq!((bench.answers[&tag], bench.count().dirty_blocks), (Ok(()), 0));
    // A range only, and nothing at all.
    bench.one(Kind::Write, 0, BLOCK).unwrap();
    bench.one(Kind::Write, 100 * u64::from(BLOCK), BLOCK).unwrap();
    let tag = bench.command(Command::WriteBack(Some((0, u64::from(BLOCK)))));
    assert_eq!(bench.answer(tag), Ok(()));
    assert_eq!(bench.count().dirty_blocks, 1);
    let tag = bench.command(Command::WriteBack(Some((0, u64::from(BLOCK)))));
    assert_eq!(bench.answer(tag), Ok(()));
}

#[test]
fn a_write_back_can_be_stopped() {
    let mut bench = with_dirty(quiet(), 50);
    let first = bench.command(Command::WriteBack(None));
    let second = bench.command(Command::WriteBack(None));
    let stop = bench.command(Command::StopWriteBack);
    assert_eq!(bench.answer(stop), Ok(()));
    assert_eq!((bench.answers[&first], bench.answers[&second]), (Err(Failure::Busy), Err(Failure::Busy)));
    bench.settle();
    let tag = bench.command(Command::WriteBack(None));
    assert_eq!(bench.answer(tag), Ok(()));
    assert_eq!(bench.count().dirty_blocks, 0);
}

#[test]
fn what_is_pinned_stays_and_what_is_preloaded_is_there() {
    let mut bench = Bench::new(Settings { admission: Admission::All, ..quiet() }, 1000, 100, BLOCK, 2);
    let pinned = (0, 20 * u64::from(BLOCK));
    let tag = bench.command(Command::Pin { range: pinned, pinned: true });
    assert_eq!(bench.answer(tag), Ok(()));
    bench.settle();
    assert_eq!(bench.count().pinned_blocks, 20);
    for block in 100..900 {
        bench.one(Kind::Read, block * u64::from(BLOCK), BLOCK).unwrap();
    }
    let before = bench.count().read_hits;
    bench.one(Kind::Read, 0, 20 * BLOCK).unwrap();
    assert_eq!(bench.count().read_hits, before + 20);
    // Written over, written back: still there.
    bench.one(Kind::Write, 0, 20 * BLOCK).unwrap();
    let tag = bench.command(Command::WriteBack(None));
    assert_eq!(bench.answer(tag), Ok(()));
    assert_eq!(bench.count().pinned_blocks, 20);
    let tag = bench.command(Command::Pin { range: (0, pinned.1 / 2), pinned: false });
    assert_eq!(bench.answer(tag), Ok(()));
    assert_eq!(bench.count().pinned_blocks, 10);
    let tag = bench.command(Command::Pin { range: (0, 1 << 40), pinned: true });
    let answer = bench.answer(tag);
    assert!(matches!(answer, Err(Failure::Pins { most_blocks }) if most_blocks < 300), "{answer:?}");

    let tag = bench.command(Command::Preload((950 * u64::from(BLOCK), 10 * u64::from(BLOCK))));
    assert_eq!(bench.answer(tag), Ok(()));
    bench.settle();
    let before = bench.count().read_hits;
    bench.one(Kind::Read, 950 * u64::from(BLOCK), 10 * BLOCK).unwrap();
    assert_eq!(bench.count().read_hits, before + 10);
}

#[test]
fn a_cache_shrinks_and_grows_while_it_serves() {
    let mut bench = with_dirty(quiet(), 150);
    let all = bench.count().slots;
    let bytes = |slots| (1 << 20) + slots * u64::from(BLOCK);
    let tag = bench.command(Command::Resize(bytes(0)));
    assert_eq!(bench.answer(tag), Ok(()), "{:?}", bench.told);
    let few = bench.count();
    assert!(few.slots < all - 100 && few.dirty_blocks + few.clean_blocks <= few.slots, "{few:?}");
    for block in 0..150 {
        bench.one(Kind::Read, block * 2 * u64::from(BLOCK), BLOCK).unwrap();
    }
    let tag = bench.command(Command::Resize(bytes(150)));
    assert_eq!(bench.answer(tag), Ok(()));
    assert!(bench.count().slots > few.slots + 100);
    for bad in [0, 1 << 40] {
        let tag = bench.command(Command::Resize(bad));
        let answer = bench.answer(tag);
        assert!(matches!(answer, Err(Failure::Size { least_bytes, .. }) if least_bytes > 1 << 18), "{answer:?}");
    }
    bench.settle();
}

#[test]
fn streams_bypass_the_cache_but_not_its_hits() {
    let settings = Settings { admission: Admission::All, sequential_bytes: 8 * u64::from(BLOCK), ..quiet() };
    let mut bench = Bench::new(settings, 400, 300, BLOCK, 3);
    bench.one(Kind::Read, 50 * u64::from(BLOCK), BLOCK).unwrap();
    bench.settle();
    for block in 20..100 {
        bench.one(Kind::Read, block * u64::from(BLOCK), BLOCK).unwrap();
    }
    bench.settle();
    let count = bench.count();
    assert_eq!((count.read_hits, count.clean_blocks), (1, 8));
    assert_eq!(count.sequential_reads, 73);
    // Neither does the process that may not.
    bench.command(Command::Set(vec![Change { name: "deny_processes".into(), value: "9".into() }]));
    let tag = bench.ask(Kind::Read, 200 * u64::from(BLOCK), BLOCK, false, 9);
    assert_eq!(bench.answer(tag), Ok(()));
    bench.settle();
    assert_eq!(bench.count().clean_blocks, 8);
}

#[test]
fn a_flush_is_one_sync_for_all_who_wait() {
    let mut bench = with_dirty(quiet(), 20);
    let before = bench.count().fast_syncs;
    let tags: Vec<u64> = (0..10).map(|_| bench.ask(Kind::Flush, 0, 0, false, 1)).collect();
    for tag in tags {
        assert_eq!(bench.answer(tag), Ok(()));
    }
    assert!(bench.count().fast_syncs <= before + 2);
    // With nothing new there is nothing to wait for.
    let tag = bench.ask(Kind::Flush, 0, 0, false, 1);
    assert!(bench.answers.contains_key(&tag));
}

#[test]
fn dirty_blocks_do_not_grow_older_than_the_flush_period() {
    let mut bench = with_dirty(Settings { flush_period_s: 2.0, ..quiet() }, 100);
    let begin = bench.now_ns;
    while bench.count().dirty_blocks > 0 {
        assert!(bench.now_ns < begin + 4_000_000_000, "{}", bench.engine.describe());
        bench.step();
    }
    assert!(bench.now_ns > begin + 500_000_000, "it went back all at once");
}

#[test]
fn what_nobody_touches_is_written_back_and_what_is_touched_is_not() {
    let mut bench = with_dirty(Settings { fallow_delay_s: 1.0, ..quiet() }, 40);
    let begin = bench.now_ns;
    while bench.now_ns < begin + 3_000_000_000 {
        bench.one(Kind::Read, 0, BLOCK).unwrap();
        bench.step();
        bench.now_ns += 1_000_000;
    }
    assert_eq!(bench.count().dirty_blocks, 1);
    assert_eq!(bench.count().fallow_cleanings, 39);
}

#[test]
fn without_requests_everything_goes_back() {
    let mut bench = with_dirty(Settings { idle_flush_s: 1.0, ..quiet() }, 40);
    assert_eq!(bench.count().dirty_blocks, 40);
    let begin = bench.now_ns;
    while bench.count().dirty_blocks > 0 {
        assert!(bench.now_ns < begin + 5_000_000_000, "{}", bench.engine.describe());
        bench.step();
    }
    assert!(bench.now_ns >= begin + 1_000_000_000);
}

#[test]
fn what_is_outside_is_refused_and_nothing_is_nothing() {
    let mut bench = Bench::new(quiet(), 40, 20, BLOCK, 1);
    let end = bench.engine.bytes();
    for (kind, offset, bytes) in [(Kind::Read, end, 512), (Kind::Write, end + (1 << 40), 512), (Kind::Read, 100, 512)] {
        let tag = bench.ask(kind, offset, bytes, false, 1);
        assert_eq!(bench.answer(tag), Err(Failure::Outside));
    }
    assert_eq!(bench.one(Kind::Read, 0, 0), Ok(()));
    assert_eq!(bench.one(Kind::Write, end - 512, 512), Ok(()));
    assert_eq!(bench.one(Kind::Read, 0, end as u32), Ok(()));
    let tag = bench.command(Command::Stop { drain: false });
    assert_eq!(bench.answer(tag), Ok(()));
    assert_eq!(bench.one(Kind::Read, 0, 512), Err(Failure::Stopping));
}
