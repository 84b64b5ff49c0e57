//! What a run tells of each interval, under the names that the series of a real server have.

use flatwater_core::interval::{Interval, KindInterval};

use super::batches::Kind;
use super::{Innodb, PAGE_BYTES};
use crate::fileio::DeviceInterval;
use crate::storage::{Incident, Operation};

/// Totals since the beginning, which the master thread looks at too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) flushed: u64,
    pub(super) flushed_lru: u64,
    /// From the flush list, for a policy.
    pub(super) flushed_background: u64,
    pub(super) ios: u64,
}

/// What is counted in an interval.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) totals: Totals,
    pub(super) queries: u64,
    /// Uses of pages, and pages that had to be read for them.
    pub(super) requests: u64,
    pub(super) reads: u64,
    /// Pages that were read although nobody waited for them; of these, by read-ahead.
    pub(super) unwaited_reads: u64,
    pub(super) read_ahead: u64,
    pub(super) free_waits: u64,
    pub(super) log_writes: u64,
    pub(super) log_syncs: u64,
    /// Pages of the kernel's cache that were read for the log's writes.
    pub(super) log_page_reads: u64,
    /// Changes that waited for a writer that held the log, and for room in its buffer.
    pub(super) log_holds: u64,
    pub(super) log_waits: u64,
    /// Bytes that were written to the log's files.
    pub(super) log_written_bytes: u64,
    pub(super) binlog_bytes: u64,
    pub(super) binlog_syncs: u64,
    pub(super) log_device_bytes: u64,
    pub(super) doublewrite_pages: u64,
    pub(super) doublewrite_writes: u64,
    pub(super) cpu_ns: u64,
    flushed: [u64; 3],
    written_bytes: u64,
    read_bytes: u64,
    syncs: u64,
    last_lsn: u64,
}

impl Counts {
    pub(super) fn count_io(&mut self, operation: Operation, bytes: u64) {
        self.totals.ios += 1;
        match operation {
            Operation::Read => self.read_bytes += bytes,
            Operation::Write => self.written_bytes += bytes,
            Operation::Flush => self.syncs += 1,
            Operation::Trim => {}
        }
    }

    pub(super) fn count_flushed(&mut self, kind: Kind) {
        self.totals.flushed += 1;
        self.totals.flushed_lru += u64::from(matches!(kind, Kind::Lru | Kind::Single));
        self.totals.flushed_background += u64::from(matches!(kind, Kind::List { sync: false, .. }));
        self.flushed[match kind {
            Kind::List { sync: false, .. } => 0,
            Kind::List { sync: true, .. } => 1,
            Kind::Lru | Kind::Single => 2,
        }] += 1;
    }
}

impl Innodb {
    /// A thread found the log at its limit: once in a while that is told.
    pub(super) fn note_sync(&mut self) {
        if !self.in_sync {
            self.in_sync = true;
            let age_mib = self.age() >> 20;
            let text = format!("writers wait for room in the log: the oldest change is {age_mib} MiB behind");
            self.incidents.push(Incident { at_ns: self.now_ns, text });
        }
    }

    /// Ends an interval.
    pub(super) fn collect(&mut self) -> (Interval, DeviceInterval) {
        let none = self.touches.told().iter().map(|_| KindInterval::default()).collect();
        let interval = Interval {
            start_ns: self.collected_ns,
            end_ns: self.now_ns,
            told: self.touches.told(),
            kinds: std::mem::replace(&mut self.kinds, none),
            counters: vec![("queries".into(), self.counts.queries)],
            in_flight: self.started_ns().count() as u64,
            oldest_ns: self.started_ns().min().map_or(0, |first_ns| self.now_ns - first_ns),
            cpu: None,
        };
        let told = DeviceInterval { series: self.series(), incidents: std::mem::take(&mut self.incidents) };
        // Up to 5.6 those who wait write pages themselves: only the age tells whether they still do.
        self.in_sync &= !self.sync_waiters.is_empty() || self.age() > self.spec.generation.stop_age(&self.ages);
        if let Some(own) = &mut self.change_buffer {
            (own.buffered, own.merged) = (0, 0);
        }
        let totals = self.counts.totals;
        self.counts = Counts { totals, last_lsn: self.redo.lsn, ..Counts::default() };
        self.collected_ns = self.now_ns;
        (interval, told)
    }

    fn series(&self) -> Vec<(String, f64)> {
        let seconds = (self.now_ns - self.collected_ns).max(1) as f64 / 1e9;
        let counts = &self.counts;
        let rate = |count: u64| count as f64 / seconds;
        let flushed: u64 = counts.flushed.iter().sum();
        let log_bytes = if counts.last_lsn == 0 { 0 } else { self.redo.lsn - counts.last_lsn };
        let mut told = vec![
            ("checkpoint_age_bytes", self.redo.checkpoint_age() as f64),
            ("checkpoint_age_max_bytes", self.ages.checkpoint_max as f64),
            ("modified_age_bytes", self.age() as f64),
            ("dirty_pct", self.pool.dirty_pct()),
            ("dirty_pages", self.pool.dirty() as f64),
            ("pages_data", self.pool.data() as f64),
            ("pages_free", self.pool.free() as f64),
            ("pages_read_per_s", rate(counts.reads + counts.unwaited_reads)),
            ("pages_read_ahead_per_s", rate(counts.read_ahead)),
            ("pages_written_per_s", rate(flushed)),
            ("pages_flushed_per_s", rate(flushed)),
            ("pages_flushed_adaptive_per_s", rate(counts.flushed[0])),
            ("pages_flushed_sync_per_s", rate(counts.flushed[1])),
            ("pages_flushed_lru_per_s", rate(counts.flushed[2])),
            ("free_page_waits_per_s", rate(counts.free_waits)),
            ("read_requests_per_s", rate(counts.requests)),
            ("log_bytes_per_s", rate(log_bytes)),
            ("log_device_bytes_per_s", rate(counts.log_device_bytes)),
            ("os_log_written_per_s", rate(counts.log_written_bytes)),
            ("log_writes_per_s", rate(counts.log_writes)),
            ("log_fsyncs_per_s", rate(counts.log_syncs)),
            ("log_page_reads_per_s", rate(counts.log_page_reads)),
            ("log_holds_per_s", rate(counts.log_holds)),
            ("log_waits_per_s", rate(counts.log_waits)),
            ("doublewrite_pages_per_s", rate(counts.doublewrite_pages)),
            ("doublewrite_writes_per_s", rate(counts.doublewrite_writes)),
            ("data_read_bytes_per_s", rate(counts.read_bytes)),
            ("data_written_bytes_per_s", rate(counts.written_bytes)),
            ("data_fsyncs_per_s", rate(counts.syncs)),
            ("server_cpu_user_pct", 100.0 * counts.cpu_ns as f64 / 1e9 / seconds),
        ];
        if self.binlog.is_some() {
            told.push(("binlog_bytes_per_s", rate(counts.binlog_bytes)));
            told.push(("binlog_fsyncs_per_s", rate(counts.binlog_syncs)));
        }
        if let Some(own) = &self.change_buffer {
            told.push(("ibuf_size_pages", own.size() as f64));
            told.push(("ibuf_buffered_per_s", rate(own.buffered)));
            told.push(("ibuf_merges_per_s", rate(own.merged)));
        }
        if counts.requests > 0 {
            told.push(("hit_ratio", 1.0 - (counts.reads as f64 / counts.requests as f64).min(1.0)));
        }
        debug_assert!(counts.reads * PAGE_BYTES <= counts.read_bytes);
        told.into_iter().map(|(name, value)| (format!("database.{name}"), value)).collect()
    }
}
