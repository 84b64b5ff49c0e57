//! What the cache counts.

use serde::Serialize;

use super::Kind;
use crate::histogram::Histogram;

/// Counts since the cache began to serve, and gauges of now. Reads and writes are counted in blocks, IOs as such.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(default)]
pub struct Statistics {
    /// Requests to read, in blocks.
    pub reads: u64,
    /// Requests to write, to zero or to trim, in blocks.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Reads answered by the fast device.
    pub read_hits: u64,
    /// Writes to a block that was cached.
    pub write_hits: u64,
    /// Writes to a block that was dirty.
    pub dirty_write_hits: u64,
    /// Blocks that left so that others could come in.
    pub replacements: u64,
    /// Blocks that were removed because a write bypassed the cache.
    pub write_invalidates: u64,
    /// Parts of requests that waited for another one of their block.
    pub pending_enqueues: u64,
    /// Writes that waited for a free slot or for the journal.
    pub starved: u64,
    /// Writes that went along with another one of their block.
    pub merged_writes: u64,
    /// Blocks read into the cache.
    pub fills: u64,
    /// Blocks written back.
    pub cleanings: u64,
    /// Write-backs begun because a block was fallow.
    pub fallow_cleanings: u64,
    /// Writes that found no slot and bypassed the cache.
    pub no_room: u64,
    /// Reads from the slow device that did not fill.
    pub uncached_reads: u64,
    /// Writes to the slow device that bypassed the cache.
    pub uncached_writes: u64,
    /// Reads that continue a stream and pass by.
    pub sequential_reads: u64,
    /// Writes that continue a stream and pass by.
    pub sequential_writes: u64,
    /// IOs by device.
    pub fast_reads: u64,
    /// Data only; the journal's are `metadata_writes`.
    pub fast_writes: u64,
    /// Syncs of the fast device.
    pub fast_syncs: u64,
    /// Reads of the slow device.
    pub slow_reads: u64,
    /// Writes to the slow device.
    pub slow_writes: u64,
    /// Syncs of the slow device.
    pub slow_syncs: u64,
    /// Writes of journal, checkpoint and superblock.
    pub metadata_writes: u64,
    /// Records that a block is dirty.
    pub metadata_dirties: u64,
    /// Records that a block is clean.
    pub metadata_cleans: u64,
    /// Failed IOs by device.
    pub fast_read_errors: u64,
    /// Failed writes and syncs of the fast device.
    pub fast_write_errors: u64,
    /// Failed reads of the slow device.
    pub slow_read_errors: u64,
    /// Failed writes and syncs of the slow device.
    pub slow_write_errors: u64,
    /// Blocks of the fast device whose checksum was wrong.
    pub checksum_errors: u64,

    /// Slots that hold the only copy, now.
    pub dirty_blocks: u64,
    /// Slots that hold a version that was written over but goes back first (`ordered`).
    pub superseded_blocks: u64,
    /// Clean blocks now.
    pub clean_blocks: u64,
    /// Dirty blocks that cannot be read any more.
    pub lost_blocks: u64,
    /// Blocks that are never evicted.
    pub pinned_blocks: u64,
    /// Slots that can be written at once, now.
    pub free_slots: u64,
    /// Slots that wait until the journal has said durably that they are free.
    pub limbo_slots: u64,
    /// Slots in use, now or never.
    pub slots: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// The fast device failed and is not written any more.
    pub degraded: bool,
    /// For how long the oldest dirty block has been dirty, s.
    pub dirty_age_oldest_s: f64,
    /// The dirty blocks' mean, s.
    pub dirty_age_mean_s: f64,
    /// Bytes written back.
    pub write_back_bytes: u64,
    /// Bytes/s written back, over the last seconds.
    pub write_back_rate_bytes: f64,
    /// The rate that the controller allows, bytes/s; 0: none, or as fast as it goes.
    pub write_back_target_bytes: f64,
    /// All bytes written to the fast device, metadata included, for one byte that a user wrote into the cache.
    pub write_amplification: f64,
    /// Bytes written to the fast device.
    pub fast_bytes_written: u64,
    /// Of those the journal's, checkpoints' and superblocks'.
    pub metadata_bytes_written: u64,
    /// Bytes that users wrote into the cache.
    pub user_bytes_cached: u64,
    /// Of the write-back that was asked for: blocks in all, and done.
    pub flush_blocks: u64,
    /// Done.
    pub flush_blocks_done: u64,
    /// Write-backs that users requested and that have not ended.
    pub flushes_asked: u64,
    /// Requests under way.
    pub requests_under_way: u64,
    /// Memory of the engine a slot, bytes.
    pub memory_bytes_per_slot: f64,
    /// Reads, writes, flushes: requests and their latencies at quantiles, ns.
    pub latencies: Vec<Latency>,
    /// Which share of the reads and writes would miss in an LRU cache of so many blocks: size, share.
    pub miss_ratios: Vec<(u64, f64)>,
}

/// How long requests of a kind took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// `read`, `write` (zeros and trims too), `flush`.
    pub kind: &'static str,
    /// How many.
    pub count: u64,
    /// The median, ns.
    pub p50_ns: u64,
    /// 95 % took no longer.
    pub p95_ns: u64,
    /// 99 % took no longer.
    pub p99_ns: u64,
    /// 99.9 % took no longer.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// Histograms of latencies, by kind.
#[derive(Default)]
pub(super) struct Latencies([Histogram; 3]);

const KINDS: [&str; 3] = ["read", "write", "flush"];

impl Latencies {
    #[inline]
    pub(super) fn record(&mut self, kind: Kind, ns: u64) {
        let at = match kind {
            Kind::Read => 0,
            Kind::Write | Kind::Zero | Kind::Trim => 1,
            Kind::Flush => 2,
        };
        self.0[at].record_ns(ns);
    }

    pub(super) fn histogram(&self, at: usize) -> &Histogram {
        &self.0[at]
    }

    pub(super) fn all(&self) -> Vec<Latency> {
        let told = self.0.iter().zip(KINDS);
        told.map(|(histogram, kind)| Latency {
            kind,
            count: histogram.count(),
            p50_ns: histogram.quantile_ns(0.5),
            p95_ns: histogram.quantile_ns(0.95),
            p99_ns: histogram.quantile_ns(0.99),
            p999_ns: histogram.quantile_ns(0.999),
            max_ns: histogram.max_ns(),
        })
        .collect()
    }
}
