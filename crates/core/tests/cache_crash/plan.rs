//! Random sizes and settings.

use flatwater_core::cache::Settings;
use flatwater_core::cache::journal::recovery::Sizes;
use flatwater_core::cache::settings::{Acknowledge, Admission, Mode};
use flatwater_core::seed::Rng;
use rand::Rng as _;

/// What a world is made of.
pub struct Plan {
    pub settings: Settings,
    pub block_bytes: u32,
    pub slow_bytes: u64,
    pub fast_bytes: u64,
    pub sizes: Sizes,
    pub depth: usize,
    /// Blocks that requests go to: few make them meet.
    pub blocks: u32,
    /// Torn blocks cannot come from the slow device: every write lands in the cache.
    pub whole: bool,
}

impl Plan {
    pub fn any(rng: &mut Rng) -> Self {
        let block_bytes = [4096, 4096, 4096, 8192, 16384][rng.random_range(0..5)];
        let slots = rng.random_range(16..60_u64);
        let blocks = rng.random_range(8..100_u32);
        let policies = ["s3-fifo", "lru", "fifo", "flashcache"];
        let high = [10.0, 20.0, 50.0, 90.0][rng.random_range(0..4)];
        let mode =
            [Mode::WriteBack, Mode::WriteBack, Mode::WriteBack, Mode::WriteThrough, Mode::WriteAround, Mode::WriteOnly]
                [rng.random_range(0..6)];
        let settings = Settings {
            mode,
            policy: policies[rng.random_range(0..4)].into(),
            admission: if rng.random() { Admission::All } else { Admission::SecondHit },
            sequential_bytes: if rng.random_range(0..3) == 0 { 4 * u64::from(block_bytes) } else { 0 },
            acknowledge: if rng.random_range(0..3) == 0 { Acknowledge::Journaled } else { Acknowledge::Written },
            dirty_high_pct: high,
            dirty_low_pct: high / 2.0,
            flush_period_s: [0.0, 0.0, 0.01][rng.random_range(0..3)],
            fallow_delay_s: [0.0, 0.01][rng.random_range(0..2)],
            idle_flush_s: [0.0, 0.01][rng.random_range(0..2)],
            write_back_depth: rng.random_range(1..9),
            ordered: rng.random_range(0..4) == 0,
            verify: rng.random_range(0..3) > 0,
            commit_interval_s: [0.0, 0.005][rng.random_range(0..2)],
            ..Settings::default()
        };
        // The last block may be short.
        let short = if rng.random_range(0..4) == 0 { 1536 } else { 0 };
        Self {
            // A write that goes past the cache, by its mode or because it finds no room, can be torn.
            whole: matches!(mode, Mode::WriteBack | Mode::WriteOnly)
                && settings.sequential_bytes == 0
                && u64::from(blocks) + 24 < slots,
            settings,
            block_bytes,
            slow_bytes: u64::from(blocks) * u64::from(block_bytes) - short,
            fast_bytes: (128 << 10) + (64 + 4) * 4096 + 16384 + slots * u64::from(block_bytes),
            sizes: Sizes { journal_bytes: 1, region_bytes: 4 * u64::from(block_bytes) },
            depth: rng.random_range(1..9),
            blocks,
        }
    }
}
