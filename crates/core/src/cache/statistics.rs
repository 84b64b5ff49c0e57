//! What the cache counts.

use serde::Serialize;

/// Counts since the cache began to serve, and gauges of now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// Requests to read, in blocks.
    pub reads: u64,
    /// Requests to write, in blocks.
    pub writes: u64,
    /// Reads answered by the fast device.
    pub read_hits: u64,
    /// Writes to a block that was cached.
    pub write_hits: u64,
    /// Writes to a block that was dirty.
    pub dirty_write_hits: u64,
    /// Slots that hold the only copy, now.
    pub dirty_blocks: u64,
    /// Slots that hold what the slow device holds too, now.
    pub clean_blocks: u64,
    /// Slots in use, now or never.
    pub slots: u64,
}
