//! Sums a trace up in one pass: requests and bytes by kind, lengths, duration, and the hit ratios of caches.

use std::collections::BTreeMap;

use super::{Kind, Problem, Source};
use crate::cache::curve::Curve;

/// The most lengths that are counted separately. Requests of other lengths are counted together.
const SIZES_MAX: usize = 4096;

/// A trace in figures.
#[derive(Default)]
pub struct Summary {
    /// Requests by kind: read, write, zero, trim, flush.
    pub requests: [u64; 5],
    /// Bytes by kind.
    pub bytes: [u64; 5],
    /// Time of the last request.
    pub duration_ns: u64,
    /// The end of the range of all requests.
    pub span_bytes: u64,
    /// The longest read, write or zero.
    pub longest_bytes: u32,
    /// The bits of all offsets and lengths of reads, writes and zeros.
    bits: u64,
    /// Requests by length, those with data.
    pub sizes: BTreeMap<u32, u64>,
    /// Requests of other lengths, once there were too many to count separately.
    pub other_sizes: u64,
    /// Requests that begin where the one before ended.
    pub sequential: u64,
    /// Requests whose offset or length is no multiple of 512.
    pub unaligned: u64,
    /// Requests that are earlier than the one before.
    pub backwards: u64,
    /// Different processes, as far as the trace has them.
    pub processes: std::collections::BTreeSet<u32>,
    /// Reuse of blocks, by reads, writes and zeros.
    pub curve: Curve,
    /// Oddities that the reader skipped.
    pub note: Option<String>,
}

/// The index of a kind in the summary's arrays.
pub fn index(kind: Kind) -> usize {
    match kind {
        Kind::Read => 0,
        Kind::Write => 1,
        Kind::Zero => 2,
        Kind::Trim => 3,
        Kind::Flush => 4,
    }
}

impl Summary {
    /// Reads a trace to its end. `block_bytes` is the unit of the footprint and the curve; each object counts as one
    /// unit.
    ///
    /// # Errors
    /// The trace is invalid.
    pub fn of(source: &mut Source, block_bytes: u32) -> Result<Self, Problem> {
        let mut summary = Self::default();
        let objects = source.format().tells_objects();
        let block_bytes = u64::from(block_bytes.max(1));
        let (mut end, mut last_ns) = (u64::MAX, 0);
        loop {
            let batch = source.next_batch()?;
            if batch.is_empty() {
                break;
            }
            for entry in batch {
                let kind = index(entry.kind);
                let bytes = u64::from(entry.bytes);
                summary.requests[kind] += 1;
                summary.bytes[kind] += bytes;
                summary.duration_ns = summary.duration_ns.max(entry.at_ns);
                summary.backwards += u64::from(entry.at_ns < last_ns);
                last_ns = entry.at_ns;
                if entry.process != 0 && summary.processes.len() < SIZES_MAX {
                    summary.processes.insert(entry.process);
                }
                if entry.kind == Kind::Flush {
                    continue;
                }
                summary.sequential += u64::from(entry.offset == end);
                summary.unaligned += u64::from((entry.offset | bytes) % 512 != 0);
                end = entry.offset.saturating_add(bytes);
                summary.span_bytes = summary.span_bytes.max(end);
                if entry.kind == Kind::Trim {
                    continue;
                }
                summary.longest_bytes = summary.longest_bytes.max(entry.bytes);
                summary.bits |= entry.offset | bytes;
                summary.count_size(entry.bytes);
                if objects {
                    summary.curve.touch(entry.offset);
                } else {
                    for block in blocks(entry.offset, bytes, block_bytes) {
                        summary.curve.touch(block);
                    }
                }
            }
        }
        summary.note = source.note();
        Ok(summary)
    }

    /// The largest power of two, up to 1 MiB, that all offsets and lengths are multiples of.
    pub fn align_bytes(&self) -> u64 {
        1 << self.bits.trailing_zeros().min(20)
    }

    fn count_size(&mut self, bytes: u32) {
        if self.sizes.len() < SIZES_MAX || self.sizes.contains_key(&bytes) {
            *self.sizes.entry(bytes).or_default() += 1;
        } else {
            self.other_sizes += 1;
        }
    }
}

/// The blocks that a range touches.
#[inline]
pub(crate) fn blocks(offset: u64, bytes: u64, block_bytes: u64) -> std::ops::Range<u64> {
    let first = offset / block_bytes;
    first..if bytes == 0 { first } else { (offset.saturating_add(bytes) - 1) / block_bytes + 1 }
}
