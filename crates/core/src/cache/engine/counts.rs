//! What is counted while the cache works.

use crate::cache::curve::{self, Curve};
use crate::cache::statistics::Latencies;
use crate::cache::{Block, IoKind, Kind, Side, Statistics};
use crate::histogram::Histogram;

/// Something that is counted: each is the field of `Statistics` of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Read,
    Write,
    Flush,
    ReadHit,
    WriteHit,
    DirtyWriteHit,
    Replacement,
    WriteInvalidate,
    PendingEnqueue,
    Starved,
    MergedWrite,
    Fill,
    Cleaning,
    FallowCleaning,
    NoRoom,
    UncachedRead,
    UncachedWrite,
    SequentialRead,
    SequentialWrite,
    FastRead,
    FastWrite,
    FastSync,
    SlowRead,
    SlowWrite,
    SlowSync,
    MetadataWrite,
    MetadataDirty,
    MetadataClean,
    FastReadError,
    FastWriteError,
    SlowReadError,
    SlowWriteError,
    ChecksumError,
}

const EVENTS: usize = Event::ChecksumError as usize + 1;

/// Counts since the cache began to serve.
pub(super) struct Counts {
    events: [u64; EVENTS],
    latencies: Latencies,
    user_bytes_cached: u64,
    fast_bytes_written: u64,
    write_back_bytes: u64,
    /// Misses of caches of other sizes.
    curve: Curve,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            events: [0; EVENTS],
            latencies: Latencies::default(),
            user_bytes_cached: 0,
            fast_bytes_written: 0,
            write_back_bytes: 0,
            curve: Curve::new(curve::SAMPLE),
        }
    }
}

impl Counts {
    /// Something happened.
    #[inline]
    pub(super) fn add(&mut self, event: Event) {
        self.events[event as usize] += 1;
    }

    /// A request touches a block.
    #[inline]
    pub(super) fn touch(&mut self, block: Block) {
        self.curve.touch(u64::from(block.0));
    }

    /// An IO is issued; `metadata`: it is the journal's.
    #[inline]
    pub(super) fn io(&mut self, side: Side, kind: IoKind, bytes: u32, metadata: bool) {
        if side == Side::Fast && kind == IoKind::Write {
            self.fast_bytes_written += u64::from(bytes);
        }
        self.add(match (side, kind) {
            (Side::Fast, IoKind::Write) if metadata => Event::MetadataWrite,
            (Side::Fast, IoKind::Read) => Event::FastRead,
            (Side::Fast, IoKind::Sync) => Event::FastSync,
            (Side::Fast, _) => Event::FastWrite,
            (Side::Slow, IoKind::Read) => Event::SlowRead,
            (Side::Slow, IoKind::Sync) => Event::SlowSync,
            (Side::Slow, _) => Event::SlowWrite,
            (Side::Pair, _) => return,
        });
    }

    /// A user wrote so many bytes into the cache.
    #[inline]
    pub(super) fn cached(&mut self, bytes: u32) {
        self.user_bytes_cached += u64::from(bytes);
    }

    /// So many bytes are written back.
    #[inline]
    pub(super) fn written_back(&mut self, bytes: u32) {
        self.write_back_bytes += u64::from(bytes);
    }

    /// Bytes written back so far.
    pub(super) fn write_back_bytes(&self) -> u64 {
        self.write_back_bytes
    }

    /// A request took so long.
    #[inline]
    pub(super) fn latency(&mut self, kind: Kind, ns: u64) {
        self.latencies.record(kind, ns);
    }

    /// The latencies of reads, of writes (zeros and trims too) and of flushes.
    pub(super) fn latencies(&self) -> [&Histogram; 3] {
        [0, 1, 2].map(|at| self.latencies.histogram(at))
    }

    /// All counts; the gauges are 0.
    pub(super) fn statistics(&self) -> Statistics {
        let of = |event: Event| self.events[event as usize];
        let user = self.user_bytes_cached;
        Statistics {
            reads: of(Event::Read),
            writes: of(Event::Write),
            flushes: of(Event::Flush),
            read_hits: of(Event::ReadHit),
            write_hits: of(Event::WriteHit),
            dirty_write_hits: of(Event::DirtyWriteHit),
            replacements: of(Event::Replacement),
            write_invalidates: of(Event::WriteInvalidate),
            pending_enqueues: of(Event::PendingEnqueue),
            starved: of(Event::Starved),
            merged_writes: of(Event::MergedWrite),
            fills: of(Event::Fill),
            cleanings: of(Event::Cleaning),
            fallow_cleanings: of(Event::FallowCleaning),
            no_room: of(Event::NoRoom),
            uncached_reads: of(Event::UncachedRead),
            uncached_writes: of(Event::UncachedWrite),
            sequential_reads: of(Event::SequentialRead),
            sequential_writes: of(Event::SequentialWrite),
            fast_reads: of(Event::FastRead),
            fast_writes: of(Event::FastWrite),
            fast_syncs: of(Event::FastSync),
            slow_reads: of(Event::SlowRead),
            slow_writes: of(Event::SlowWrite),
            slow_syncs: of(Event::SlowSync),
            metadata_writes: of(Event::MetadataWrite),
            metadata_dirties: of(Event::MetadataDirty),
            metadata_cleans: of(Event::MetadataClean),
            fast_read_errors: of(Event::FastReadError),
            fast_write_errors: of(Event::FastWriteError),
            slow_read_errors: of(Event::SlowReadError),
            slow_write_errors: of(Event::SlowWriteError),
            checksum_errors: of(Event::ChecksumError),
            write_back_bytes: self.write_back_bytes,
            write_amplification: if user == 0 { 0.0 } else { self.fast_bytes_written as f64 / user as f64 },
            fast_bytes_written: self.fast_bytes_written,
            user_bytes_cached: user,
            latencies: self.latencies.all(),
            miss_ratios: self.curve.points(),
            ..Statistics::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ios_are_counted_by_device_and_kind() {
        let mut counts = Counts::default();
        counts.io(Side::Fast, IoKind::Write, 4096, true);
        counts.io(Side::Fast, IoKind::Write, 8192, false);
        counts.io(Side::Slow, IoKind::Discard, 512, false);
        counts.io(Side::Slow, IoKind::Sync, 0, false);
        counts.io(Side::Pair, IoKind::Write, 4096, false);
        counts.cached(4096);
        let told = counts.statistics();
        assert_eq!((told.metadata_writes, told.fast_writes, told.slow_writes, told.slow_syncs), (1, 1, 1, 1));
        assert_eq!((told.fast_bytes_written, told.write_amplification), (12288, 3.0));
    }

    #[test]
    fn each_event_has_a_field_of_its_own() {
        let of = |at: usize| {
            let mut counts = Counts::default();
            counts.events[at] = 1;
            counts.statistics()
        };
        for at in 0..EVENTS {
            assert_ne!(of(at), Counts::default().statistics(), "event {at} is counted nowhere");
            assert!((0..at).all(|other| of(other) != of(at)), "event {at} shares its field");
        }
    }
}
