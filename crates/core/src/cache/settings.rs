//! What a user can say of a cache, and the presets of two products.

use serde::{Deserialize, Serialize};

/// Where writes and reads go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Writes end on the fast device and are written back later.
    #[default]
    WriteBack,
    /// Writes end when both devices have them.
    WriteThrough,
    /// Writes go to the slow device only; what they overwrite leaves the cache. Reads fill it.
    WriteAround,
    /// As write-back, but reads do not fill the cache.
    WriteOnly,
}

/// Which read misses fill the cache once it is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Admission {
    /// All.
    All,
    /// Those of blocks that were missed before, as far as a table of ghosts remembers.
    #[default]
    SecondHit,
}

/// When a write to the fast device may be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// When its data are written, as a disk with a volatile cache does: durable on a flush.
    #[default]
    Written,
    /// When the journal's record of it is durable too (FlashCache's synchronous metadata).
    Journaled,
}

/// The settings; all of them can be changed while the cache serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where writes and reads go.
    pub mode: Mode,
    /// What leaves: `lru`, `fifo`, `s3-fifo`, or `flashcache`'s sets.
    pub policy: String,
    /// Which misses come in.
    pub admission: Admission,
    /// A stream of so many consecutive bytes bypasses the cache, but never past a hit; 0: none does.
    pub sequential_bytes: u64,
    /// Only these processes' requests fill the cache; empty: all.
    pub allow_processes: Vec<u32>,
    /// These processes' requests do not.
    pub deny_processes: Vec<u32>,
    /// When a write is answered.
    pub acknowledge: Acknowledge,
    /// Share of the slots that may be dirty before write-back goes all out ...
    pub dirty_high_pct: f64,
    /// ... down to this one.
    pub dirty_low_pct: f64,
    /// A dirty block is written back at the latest so long after it became dirty, at a constant rate; 0: no limit.
    pub flush_period_s: f64,
    /// A dirty block that was not touched so long is written back (FlashCache's fallow delay); 0: never.
    pub fallow_delay_s: f64,
    /// Write-backs at once of what is fallow.
    pub fallow_speed: u32,
    /// With no request for so long, everything dirty is written back; 0: never.
    pub idle_flush_s: f64,
    /// Write-backs at once, of all reasons.
    pub write_back_depth: u32,
    /// Write-backs at once within one set (flashcache policy only); 0: no limit.
    pub write_back_depth_per_set: u32,
    /// Write-back in the order of flushes: without the fast device the slow one is old, but consistent.
    pub ordered: bool,
    /// Reads of the fast device are checked against the block's checksum.
    pub verify: bool,
    /// Writes are made durable at least so often without being asked; 0: never.
    pub commit_interval_s: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            policy: "s3-fifo".into(),
            admission: Admission::default(),
            sequential_bytes: 1 << 20,
            allow_processes: Vec::new(),
            deny_processes: Vec::new(),
            acknowledge: Acknowledge::default(),
            dirty_high_pct: 50.0,
            dirty_low_pct: 40.0,
            flush_period_s: 0.0,
            fallow_delay_s: 0.0,
            fallow_speed: 2,
            idle_flush_s: 0.0,
            write_back_depth: 32,
            write_back_depth_per_set: 0,
            ordered: false,
            verify: true,
            commit_interval_s: 1.0,
        }
    }
}

/// A setting's name and its new value, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The name, as in `Settings`.
    pub name: String,
    /// The value: `on`, `12.5`, `64KiB`, `write-back`, `12,13`.
    pub value: String,
}
