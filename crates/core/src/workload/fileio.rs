//! The fileio workload: sysbench's modes and fio's mixes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use rand::Rng as _;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::seed::{Rng, stream};
use crate::storage::{Kind, Request};
use crate::trace::replay::{self, Cursor, Player};
use crate::workload::address::{Addresses, Distribution};

mod schedule;

pub use schedule::{Rate, Schedule, Turn};

/// When completed writes are made durable, besides `fsync_every`.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum FsyncPolicy {
    /// Never.
    #[default]
    None,
    /// Once, after the last request.
    End,
    /// Every write is followed by an fsync of its file.
    EveryWrite,
}

/// The workload, resolved: every field is checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fileio {
    /// Sequential (one position that all threads share, as sysbench does) or random addresses.
    pub sequential: bool,
    /// Share of reads, %.
    pub read_pct: f64,
    /// Block sizes in bytes with their shares in %.
    pub block_sizes: Vec<(u32, f64)>,
    /// Number of files.
    pub files: u32,
    /// Bytes of each file that are used.
    pub file_bytes: u64,
    /// An fsync of every file after this many requests of a thread; 0 for never.
    pub fsync_every: u64,
    /// Other fsyncs.
    pub fsync: FsyncPolicy,
    /// Spread of random addresses.
    pub distribution: Distribution,
    /// Bytes after which the workload ends by itself; 0 for never.
    pub limit_bytes: u64,
    /// The experiment's seed.
    pub seed: u64,
    /// A trace whose requests are sent instead. Of the fields above, only the files and the largest of `block_sizes`
    /// then apply.
    #[serde(default)]
    pub replay: Option<replay::Spec>,
}

impl Fileio {
    /// The largest block.
    pub fn block_bytes_max(&self) -> u32 {
        self.block_sizes.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0)
    }

    /// The requests that make everything durable after the last request has ended, if the workload wants that.
    pub fn final_fsyncs(&self) -> impl Iterator<Item = Request> + use<> {
        let files = if self.fsync == FsyncPolicy::End { self.files } else { 0 };
        (0..files).map(Request::fsync)
    }
}

/// Position and budget that all lanes share.
#[derive(Debug, Default)]
pub struct Shared {
    position: AtomicU64,
    issued_bytes: AtomicU64,
    player: OnceLock<Arc<Mutex<Player>>>,
}

impl Shared {
    /// A lane's place in a replay, which the first of them opens.
    fn cursor(&self, spec: &replay::Spec, files: u32, file_bytes: u64) -> Result<Cursor, String> {
        if let Some(player) = self.player.get() {
            return Ok(Cursor::new(player.clone()));
        }
        let player = Player::new(spec.clone(), files, file_bytes).map_err(|problem| problem.to_string())?;
        Ok(Cursor::new(self.player.get_or_init(|| Arc::new(Mutex::new(player))).clone()))
    }
}

/// The requests of one lane (thread).
#[derive(Debug)]
pub struct Generator {
    workload: Fileio,
    shared: Arc<Shared>,
    sizes: Vec<Size>,
    addresses: Rng,
    mix: Rng,
    requests: u64,
    fsyncs: VecDeque<u32>,
    /// Bytes of the workload's budget that this lane has taken for a request that it passed over.
    kept_bytes: u64,
    replay: Option<Cursor>,
}

#[derive(Debug)]
struct Size {
    bytes: u32,
    /// Cumulated share, 0..=1.
    up_to: f64,
    blocks_per_file: u64,
    addresses: Addresses,
}

impl Generator {
    /// The generator of one lane.
    ///
    /// # Errors
    /// The workload cannot be generated.
    pub fn new(workload: Fileio, shared: Arc<Shared>, lane: u64) -> Result<Self, String> {
        let total: f64 = workload.block_sizes.iter().map(|(_, share)| share).sum();
        let mut sizes = Vec::with_capacity(workload.block_sizes.len());
        let mut up_to = 0.0;
        for &(bytes, share) in &workload.block_sizes {
            let blocks_per_file = workload.file_bytes / u64::from(bytes.max(1));
            let blocks = blocks_per_file * u64::from(workload.files);
            if bytes == 0 || blocks == 0 {
                return Err(format!("a block of {bytes} B does not fit a file of {} B", workload.file_bytes));
            }
            up_to += share / total;
            let addresses = Addresses::new(workload.distribution, blocks)?;
            sizes.push(Size { bytes, up_to, blocks_per_file, addresses });
        }
        if sizes.is_empty() {
            return Err("no block size".into());
        }
        let addresses = stream(workload.seed, "addresses", lane);
        let mix = stream(workload.seed, "mix", lane);
        let replay = match &workload.replay {
            Some(spec) => Some(shared.cursor(spec, workload.files, workload.file_bytes)?),
            None => None,
        };
        let fsyncs = VecDeque::new();
        Ok(Self { workload, shared, sizes, addresses, mix, requests: 0, fsyncs, kept_bytes: 0, replay })
    }

    /// The workload that it makes requests of.
    pub fn workload(&self) -> &Fileio {
        &self.workload
    }

    /// The lane's place in the trace that is replayed, if one is.
    pub fn replay(&self) -> Option<&Cursor> {
        self.replay.as_ref()
    }

    /// The next request; None when the workload's bytes are used up.
    #[inline]
    pub fn next_request(&mut self) -> Option<Request> {
        if let Some(file) = self.fsyncs.pop_front() {
            return Some(Request::fsync(file));
        }
        if let Some(cursor) = &self.replay {
            return self.replayed(cursor.take()?);
        }
        let size = match self.sizes.as_slice() {
            [only] => only,
            several => {
                let share = self.mix.random::<f64>();
                several.iter().find(|size| share < size.up_to).unwrap_or(&several[several.len() - 1])
            }
        };
        let bytes = u64::from(size.bytes);
        if self.kept_bytes >= bytes {
            self.kept_bytes -= bytes;
        } else if self.workload.limit_bytes > 0
            && self.shared.issued_bytes.fetch_add(bytes, Relaxed) >= self.workload.limit_bytes
        {
            return None;
        }
        let (file, offset) = if self.workload.sequential {
            self.advance(bytes)
        } else {
            let block = size.addresses.next(&mut self.addresses);
            ((block / size.blocks_per_file) as u32, block % size.blocks_per_file * bytes)
        };
        let kind = match self.workload.read_pct {
            pct if pct >= 100.0 => Kind::Read,
            pct if pct <= 0.0 => Kind::Write,
            pct if self.mix.random::<f64>() * 100.0 < pct => Kind::Read,
            _ => Kind::Write,
        };
        self.requests += 1;
        if self.workload.fsync_every > 0 && self.requests.is_multiple_of(self.workload.fsync_every) {
            self.fsyncs.extend(0..self.workload.files);
        }
        Some(Request { kind, file, bytes: bytes as u32, offset })
    }

    /// A request of the trace. A flush makes every file durable.
    fn replayed(&mut self, request: Request) -> Option<Request> {
        if request.kind == Kind::Fsync {
            self.fsyncs.extend(1..self.workload.files);
        }
        Some(request)
    }

    /// Keeps the bytes of a request that cannot be sent now for another request of this lane. If they returned to the
    /// shared budget, they could come too late: other lanes might have ended meanwhile because the budget was used up.
    pub fn pass_over(&mut self, request: Request) {
        self.kept_bytes += u64::from(request.bytes);
    }

    /// Moves the shared position over `bytes`; a block never crosses the end of a file.
    fn advance(&self, bytes: u64) -> (u32, u64) {
        let file_bytes = self.workload.file_bytes;
        let total = file_bytes * u64::from(self.workload.files);
        let mut now = self.shared.position.load(Relaxed);
        loop {
            let start =
                if now % file_bytes + bytes > file_bytes { (now / file_bytes + 1) * file_bytes % total } else { now };
            match self.shared.position.compare_exchange_weak(now, (start + bytes) % total, Relaxed, Relaxed) {
                Ok(_) => return ((start / file_bytes) as u32, start % file_bytes),
                Err(other) => now = other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn workload() -> Fileio {
        Fileio {
            sequential: false,
            read_pct: 60.0,
            block_sizes: vec![(16_384, 100.0)],
            files: 4,
            file_bytes: 1 << 20,
            fsync_every: 0,
            fsync: FsyncPolicy::None,
            distribution: Distribution::Uniform,
            limit_bytes: 0,
            seed: 1,
            replay: None,
        }
    }

    fn generator(workload: Fileio) -> Generator {
        Generator::new(workload, Arc::default(), 0).unwrap()
    }

    #[test]
    fn the_same_seed_asks_for_the_same() {
        let take = |seed| {
            let mut generator = generator(Fileio { seed, ..workload() });
            (0..100).map(|_| generator.next_request().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
    }

    #[test]
    fn the_mix_is_as_asked() {
        let mut generator = generator(workload());
        let reads = (0..100_000).filter(|_| generator.next_request().unwrap().kind == Kind::Read).count();
        assert!((59_000..61_000).contains(&reads), "{reads}");
    }

    #[test]
    fn sequential_lanes_share_one_position_and_wrap() {
        let shared = Arc::new(Shared::default());
        let workload = Fileio { sequential: true, files: 2, file_bytes: 40_000, read_pct: 0.0, ..workload() };
        let mut lanes: Vec<_> =
            (0..2).map(|lane| Generator::new(workload.clone(), shared.clone(), lane).unwrap()).collect();
        let places: Vec<_> = (0..6).map(|n| lanes[n % 2].next_request().unwrap()).map(|r| (r.file, r.offset)).collect();
        assert_eq!(places, [(0, 0), (0, 16_384), (1, 0), (1, 16_384), (0, 0), (0, 16_384)]);
    }

    #[test]
    fn fsyncs_follow_every_nth_request() {
        let mut generator = generator(Fileio { fsync_every: 3, files: 2, ..workload() });
        let kinds: Vec<_> = (0..10).map(|_| generator.next_request().unwrap().kind == Kind::Fsync).collect();
        assert_eq!(kinds, [false, false, false, true, true, false, false, false, true, true]);
    }

    #[test]
    fn ends_when_its_bytes_are_used_up() {
        let mut generator = generator(Fileio { limit_bytes: 5 * 16_384, ..workload() });
        assert_eq!(std::iter::from_fn(|| generator.next_request()).count(), 5);
    }

    #[test]
    fn what_is_passed_over_is_asked_for_again_and_takes_nothing_from_others() {
        let shared = Arc::new(Shared::default());
        let workload = Fileio { limit_bytes: 2 * 16_384, ..workload() };
        let mut lanes: Vec<_> =
            (0..2).map(|lane| Generator::new(workload.clone(), shared.clone(), lane).unwrap()).collect();
        let held = lanes[0].next_request().unwrap();
        lanes[0].pass_over(held);
        assert!(lanes[1].next_request().is_some());
        assert!(lanes[1].next_request().is_none(), "the other request is the first lane's");
        assert!(lanes[0].next_request().is_some());
        assert!(lanes[0].next_request().is_none());
    }

    proptest! {
        #[test]
        fn stays_inside_its_files(
            seed: u64, sequential: bool, files in 1u32..5, file_bytes in 65_536u64..10_000_000, read_pct in 0.0f64..=100.0,
        ) {
            let sizes = vec![(512, 20.0), (4096, 50.0), (65_536, 30.0)];
            let mut generator = generator(Fileio {
                sequential, files, file_bytes, read_pct, block_sizes: sizes, seed, ..workload()
            });
            for _ in 0..200 {
                let request = generator.next_request().unwrap();
                prop_assert!(request.file < files);
                prop_assert!(request.offset + u64::from(request.bytes) <= file_bytes);
                if !sequential { prop_assert_eq!(request.offset % u64::from(request.bytes), 0); }
            }
        }
    }
}
