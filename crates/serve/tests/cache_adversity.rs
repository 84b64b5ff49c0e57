//! Failing devices under the real reactor: whatever fails, what can go on does, and nobody is told a lie.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use flatwater_core::cache::journal::recovery::{self, Layout, Sizes};
use flatwater_core::cache::{Command, Failure, Kind, Side, Statistics};
use flatwater_real::cache::Devices;
use flatwater_real::cache::adversity::Adversity;
use flatwater_serve::cache::{Server, Spec};
use serde_json::json;

const BYTES: u64 = 16 << 20;
const BLOCK: u64 = 16 << 10;
/// How long anything may take before it counts as never.
const NEVER: Duration = Duration::from_secs(30);
const EIO: i32 = libc::EIO;

/// A cache on three files.
struct Cache {
    folder: tempfile::TempDir,
    server: Option<Server>,
}

impl Cache {
    fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, bytes) in [("slow", BYTES), ("fast", 2 * BYTES), ("pair", 4096)] {
            fs::write(at(name), vec![0; bytes as usize]).unwrap();
        }
        let mut devices = Devices::open(&at("fast"), &at("slow"), &at("pair")).unwrap();
        let layout =
            Layout { uuid: *b"a cache for test", fast_bytes: 2 * BYTES, slow_bytes: BYTES, block_bytes: BLOCK as u32 };
        let Devices { fast, slow, pair } = &mut devices;
        recovery::format(recovery::Devices { fast, slow, pair }, &layout, Sizes::default(), true).unwrap();
        drop(devices);
        let mut cache = Self { folder, server: None };
        cache.start(false).unwrap();
        cache
    }

    fn start(&mut self, give_up: bool) -> Result<(), String> {
        let settings = json!({"sequential_bytes": 0, "admission": "all", "idle_flush_s": 0});
        let at = |name: &str| self.folder.path().join(name);
        let spec = json!({"fast": at("fast"), "slow": at("slow"), "pair": at("pair"), "settings": settings, "give_up": give_up});
        let spec: Spec = serde_json::from_value(spec).unwrap();
        let begun = Instant::now();
        self.server = loop {
            match Server::start(spec.clone()) {
                Ok(server) => break Some(server),
                // The kernel takes the last ring down in its own time, and the locks of the files with it.
                Err(error) if error.contains("another process uses it") && begun.elapsed() < NEVER => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(error) => return Err(error),
            }
        };
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn befall(&self, side: Side, read_errno: i32, write_errno: i32) {
        self.server().handle().set_adversity(side, Adversity { read_errno, write_errno, ..Adversity::default() });
    }

    fn write(&self, block: u64, byte: u8) -> Result<(), Failure> {
        self.server().handle().write(block * BLOCK, vec![byte; BLOCK as usize], false)
    }

    fn read(&self, block: u64) -> Result<u8, Failure> {
        let data = self.server().handle().read(block * BLOCK, BLOCK as u32)?;
        assert!(data.iter().all(|byte| *byte == data[0]), "block {block} is torn");
        Ok(data[0])
    }

    fn flush(&self) -> Result<(), Failure> {
        self.server().handle().change(Kind::Flush, 0, 0, false)
    }

    fn statistics(&self) -> Statistics {
        self.server().handle().statistics().unwrap()
    }

    fn told(&self) -> String {
        self.server().handle().incidents().into_iter().map(|one| one.text + "\n").collect()
    }

    fn until(&self, what: &str, done: impl Fn(&Statistics) -> bool) {
        let begun = Instant::now();
        while !done(&self.statistics()) {
            assert!(begun.elapsed() < NEVER, "never {what}: {:?}\n{}", self.statistics(), self.told());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn on_slow(&self, block: u64) -> u8 {
        let mut data = [0; BLOCK as usize];
        fs::File::open(self.path("slow")).unwrap().read_exact_at(&mut data, block * BLOCK).unwrap();
        assert!(data.iter().all(|byte| *byte == data[0]), "block {block} is torn");
        data[0]
    }
}

#[test]
fn a_fast_device_that_takes_no_writes_any_more_is_done_without() {
    let mut cache = Cache::make();
    (0..50).for_each(|block| cache.write(block, 1).unwrap());
    cache.flush().unwrap();
    assert_eq!(cache.statistics().dirty_blocks, 50);
    cache.befall(Side::Fast, 0, EIO);
    for block in 25..75 {
        cache.write(block, 2).unwrap();
    }
    cache.flush().unwrap();
    let expected = |block| if block < 25 { 1 } else { 2 };
    (0..75).for_each(|block| assert_eq!(cache.read(block), Ok(expected(block)), "block {block}"));
    cache.until("written back", |statistics| statistics.dirty_blocks == 0);
    let statistics = cache.statistics();
    assert!(statistics.degraded && statistics.lost_blocks == 0, "{statistics:?}");
    (0..75).for_each(|block| assert_eq!(cache.on_slow(block), expected(block), "block {block} of the slow device"));
    assert!(cache.told().contains("fast device"), "{}", cache.told());
    let _ = cache.server.take().unwrap().stop(false);
    // It works again, and holds what is older than the slow device's: that is not believed, and nothing is given up.
    cache.start(false).unwrap();
    (0..75).for_each(|block| assert_eq!(cache.read(block), Ok(expected(block)), "block {block} after a start"));
}

#[test]
fn dirty_blocks_of_a_fast_device_that_is_gone_are_named_and_never_made_up() {
    let mut cache = Cache::make();
    (0..10).for_each(|block| cache.write(block, 1).unwrap());
    cache.flush().unwrap();
    cache.befall(Side::Fast, EIO, EIO);
    for block in 5..20 {
        cache.write(block, 2).unwrap();
    }
    cache.until("degraded", |statistics| statistics.degraded);
    (5..20).for_each(|block| assert_eq!(cache.read(block), Ok(2), "block {block}"));
    (0..5).for_each(|block| assert_eq!(cache.read(block), Err(Failure::Medium), "block {block}"));
    cache.until("found lost", |statistics| statistics.lost_blocks == 5);
    let told = cache.told();
    (0..5).for_each(|block| assert!(told.contains(&(block * BLOCK).to_string()), "block {block}: {told}"));
    // Written anew they are as good as others.
    (0..5).for_each(|block| cache.write(block, 3).unwrap());
    (0..5).for_each(|block| assert_eq!(cache.read(block), Ok(3), "block {block}"));
    cache.until("all well again", |statistics| statistics.lost_blocks == 0);
    cache.flush().unwrap();
    let _ = cache.server.take().unwrap().stop(false);
    cache.start(true).unwrap();
    (0..5).for_each(|block| assert_eq!(cache.read(block), Ok(3), "block {block} after a start"));
    (5..20).for_each(|block| assert_eq!(cache.read(block), Ok(2), "block {block} after a start"));
}

#[test]
fn what_is_only_on_a_failed_fast_device_is_given_up_when_asked_for() {
    let mut cache = Cache::make();
    (0..10).for_each(|block| cache.write(block, 1).unwrap());
    cache.flush().unwrap();
    cache.befall(Side::Fast, EIO, EIO);
    cache.write(20, 2).unwrap();
    cache.until("found lost", |statistics| statistics.lost_blocks == 10);
    let _ = cache.server.take().unwrap().stop(false);
    assert!(cache.start(false).unwrap_err().contains("the cache device failed"));
    cache.start(true).unwrap();
    assert_eq!(cache.read(20), Ok(2));
}

#[test]
fn a_fast_device_that_cannot_be_read_costs_clean_data_nothing() {
    let cache = Cache::make();
    (0..20).for_each(|block| cache.write(block, 7).unwrap());
    cache.server().command(Command::WriteBack(None), NEVER).unwrap();
    assert_eq!(cache.statistics().dirty_blocks, 0);
    cache.befall(Side::Fast, EIO, 0);
    (0..20).for_each(|block| assert_eq!(cache.read(block), Ok(7), "block {block}"));
    assert!(cache.statistics().fast_read_errors > 0);
}

#[test]
fn nothing_dirty_is_dropped_while_the_slow_device_fails() {
    let mut cache = Cache::make();
    cache.befall(Side::Slow, 0, EIO);
    (0..40).for_each(|block| cache.write(block, 9).unwrap());
    cache.flush().unwrap();
    let asked = cache.server().command(Command::WriteBack(None), Duration::from_secs(2));
    assert!(asked.is_err(), "it cannot have been written back");
    assert_eq!(cache.statistics().dirty_blocks, 40);
    (0..40).for_each(|block| assert_eq!(cache.read(block), Ok(9), "block {block}"));
    assert!(cache.told().contains("slow device"), "{}", cache.told());
    // A stop loses nothing.
    cache.server().command(Command::StopWriteBack, NEVER).unwrap();
    cache.server.take().unwrap().stop(false).unwrap();
    cache.start(false).unwrap();
    assert_eq!(cache.statistics().dirty_blocks, 40);
    cache.server().command(Command::WriteBack(None), NEVER).unwrap();
    (0..40).for_each(|block| assert_eq!(cache.on_slow(block), 9, "block {block}"));
}

#[test]
fn a_slow_device_that_comes_back_gets_all_of_it() {
    let cache = Cache::make();
    cache.befall(Side::Slow, EIO, EIO);
    (0..40).for_each(|block| cache.write(block, 9).unwrap());
    assert_eq!(cache.read(500), Err(Failure::Medium), "only the slow device has it");
    let pending = cache.server().handle().command(Command::WriteBack(None));
    std::thread::sleep(Duration::from_millis(300));
    cache.befall(Side::Slow, 0, 0);
    // Whether it waited or failed: the next one does it.
    let _ = pending.wait(NEVER).expect("it ends");
    cache.server().command(Command::WriteBack(None), NEVER).unwrap();
    (0..40).for_each(|block| assert_eq!(cache.on_slow(block), 9, "block {block}"));
    assert_eq!(cache.read(500), Ok(0));
}
