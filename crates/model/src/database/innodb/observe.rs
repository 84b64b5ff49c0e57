//! What is recorded of each interval, under the names that the series of a real server have.

use flatwater_core::interval::Interval;

use super::super::ids::PAGE_BYTES;
use super::Innodb;
use crate::fileio::DeviceInterval;

impl Innodb {
    /// Ends an interval.
    pub(in super::super) fn end_interval(&mut self) -> (Interval, DeviceInterval) {
        let (now_ns, oldest_ns) = (self.host.now_ns(), self.threads.started_ns().min());
        let mut counters = vec![("queries".into(), self.threads.counts().statements)];
        counters.push(("deadlocks".into(), self.locks.counts().deadlocks));
        counters.push(("rollbacks".into(), self.touches.take_rollbacks()));
        let in_flight = self.threads.started_ns().count() as u64;
        let series = self.series();
        let kinds = self.threads.begin_interval();
        let interval = Interval {
            start_ns: self.collected_ns,
            end_ns: now_ns,
            reported: self.touches.kinds(),
            kinds: kinds.into_boxed_slice(),
            counters,
            in_flight,
            oldest_ns: oldest_ns.map_or(0, |first_ns| now_ns - first_ns),
            cpu: None,
        };
        let incidents = self.limits.end_interval(self.age());
        self.host.begin_interval();
        self.locks.begin_interval();
        self.log.begin_interval();
        self.read_ahead.begin_interval();
        self.write_back.begin_interval();
        self.binlog.iter_mut().for_each(|binlog| binlog.begin_interval());
        self.change_buffer.iter_mut().for_each(|buffer| buffer.begin_interval());
        self.collected_ns = now_ns;
        (interval, DeviceInterval { series, incidents })
    }

    fn series(&mut self) -> Vec<(String, f64)> {
        let seconds = (self.host.now_ns() - self.collected_ns).max(1) as f64 / 1e9;
        let rate = |count: u64| count as f64 / seconds;
        let places = self.threads.take_places(self.collected_ns, self.host.now_ns());
        let (uses, waited) = (self.threads.counts().uses, self.read_ahead.counts().waited);
        let mut series = self.series_of_pages(&rate);
        series.extend(self.series_of_logs(&rate));
        series.extend(places);
        series.extend([
            ("doublewrite_pages_per_s", rate(self.write_back.counts().doublewrite_pages)),
            ("doublewrite_writes_per_s", rate(self.write_back.counts().doublewrite_writes)),
            ("data_read_bytes_per_s", rate(self.host.traffic().read_bytes)),
            ("data_written_bytes_per_s", rate(self.host.traffic().written_bytes)),
            ("data_fsyncs_per_s", rate(self.host.traffic().syncs)),
            ("server_cpu_user_pct", 100.0 * self.host.traffic().cpu_ns as f64 / 1e9 / seconds),
        ]);
        if let Some(binlog) = &self.binlog {
            series.push(("binlog_bytes_per_s", rate(binlog.counts().bytes)));
            series.push(("binlog_fsyncs_per_s", rate(binlog.counts().syncs)));
        }
        if let Some(buffer) = &self.change_buffer {
            series.push(("ibuf_size_pages", buffer.size() as f64));
            series.push(("ibuf_buffered_per_s", rate(buffer.counts().buffered)));
            series.push(("ibuf_merges_per_s", rate(buffer.counts().merged)));
        }
        if let Some(purge) = &self.purge {
            series.push(("history_length", purge.history_length() as f64));
        }
        if uses > 0 {
            series.push(("hit_ratio", 1.0 - (waited as f64 / uses as f64).min(1.0)));
        }
        debug_assert!(waited * PAGE_BYTES <= self.host.traffic().read_bytes);
        series.into_iter().map(|(name, value)| (format!("database.{name}"), value)).collect()
    }

    /// The ages of the log, the pool, and the pages that were read and written.
    fn series_of_pages(&self, rate: &dyn Fn(u64) -> f64) -> Vec<(&'static str, f64)> {
        let (pool, reads, threads) = (&self.pool, self.read_ahead.counts(), self.threads.counts());
        let written = self.write_back.counts();
        let flushed = written.adaptive + written.sync + written.lru;
        vec![
            ("checkpoint_age_bytes", self.log.checkpoint_age() as f64),
            ("checkpoint_age_max_bytes", self.limits.ages().checkpoint_max as f64),
            ("modified_age_bytes", self.age() as f64),
            ("dirty_pct", pool.dirty_pct()),
            ("dirty_pages", pool.dirty() as f64),
            ("pages_data", pool.data() as f64),
            ("pages_free", pool.free() as f64),
            ("pages_misc", pool.hash_frames() as f64),
            ("pages_read_per_s", rate(reads.waited + reads.unwaited)),
            ("pages_read_ahead_per_s", rate(reads.ahead)),
            ("pages_written_per_s", rate(flushed)),
            ("pages_flushed_per_s", rate(flushed)),
            ("pages_flushed_adaptive_per_s", rate(written.adaptive)),
            ("pages_flushed_sync_per_s", rate(written.sync)),
            ("pages_flushed_lru_per_s", rate(written.lru)),
            ("free_page_waits_per_s", rate(threads.frame_waits)),
            ("row_lock_waits_per_s", rate(self.locks.counts().waits)),
            // 100: one connection waits all the time.
            ("row_lock_time_pct", 100.0 * rate(self.locks.counts().waited_ns) / 1e9),
            ("read_requests_per_s", rate(threads.uses)),
        ]
    }

    fn series_of_logs(&self, rate: &dyn Fn(u64) -> f64) -> [(&'static str, f64); 8] {
        let log = self.log.counts();
        let appended = log.first_lsn.map_or(0, |first| self.log.lsn() - first);
        [
            ("log_bytes_per_s", rate(appended)),
            ("log_device_bytes_per_s", rate(log.device_bytes)),
            ("os_log_written_per_s", rate(log.written_bytes)),
            ("log_writes_per_s", rate(log.writes)),
            ("log_fsyncs_per_s", rate(log.syncs)),
            ("log_page_reads_per_s", rate(log.page_reads)),
            ("log_holds_per_s", rate(log.holds)),
            ("log_waits_per_s", rate(log.waits)),
        ]
    }
}
