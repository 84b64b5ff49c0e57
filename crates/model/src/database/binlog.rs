//! The binary log: one file after another, written through the kernel's cache and synced after every `sync_binlog` commits.
//!
//! - Up to MySQL 5.5 one transaction at a time is in it, from its preparation to its commit in InnoDB
//!   (`prepare_commit_mutex`): no two share a sync.
//! - Since MySQL 5.6, and in MariaDB since 5.3, the first transaction that comes leads all that wait when it begins: one
//!   write and sync for the group, and `sync_binlog` counts groups.
//!
//! A transaction is as many bytes in it as its redo: both hold the changed rows (binlog_format = ROW). Nothing is read
//! before it is written, because files grow. Where nobody syncs them, the kernel writes them after 30 s.

use super::events::{LogStep, Tag};
use super::host::Host;
use super::ids::ThreadNo;
use super::log::page_cache::PageCache;
use super::settings::Settings;
use crate::storage::Operation;

/// Age at which the kernel writes what is in its cache (vm.dirty_expire_centisecs = 3000).
const EXPIRES_NS: u64 = 30_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    Storing,
    Flushing,
    /// Synced, and its transactions commit in InnoDB.
    Committing,
}

/// The binary log of a server that has one.
#[derive(Debug)]
pub(super) struct Binlog {
    cache: PageCache,
    device: usize,
    start: u64,
    bytes: u64,
    /// Where the next transaction goes.
    at: u64,
    /// Commits share its syncs.
    grouped: bool,
    /// sync_binlog.
    every: u64,
    since_sync: u64,
    written_ns: u64,
    stage: Stage,
    outstanding: u32,
    /// Threads that want into it, and the bytes of their transactions.
    queue: Vec<(ThreadNo, u64)>,
    group: Vec<ThreadNo>,
    requests: Vec<(u64, u64)>,
    counts: Counts,
}

/// What the binary log did in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) bytes: u64,
    pub(super) syncs: u64,
}

impl Binlog {
    /// An empty one at `start` of a device; files are purged so that they take no more than one does. None: log_bin is off.
    pub(super) fn new(settings: &Settings, grouped: bool, (device, start): (usize, u64)) -> Option<Self> {
        settings.log_bin.then(|| Self {
            cache: PageCache::new(false),
            device,
            start,
            bytes: settings.max_binlog_size,
            at: 0,
            grouped,
            every: settings.sync_binlog,
            since_sync: 0,
            written_ns: 0,
            stage: Stage::Idle,
            outstanding: 0,
            queue: Vec::new(),
            group: Vec::new(),
            requests: Vec::new(),
            counts: Counts::default(),
        })
    }

    fn write(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        if self.at + bytes > self.bytes {
            self.at = 0;
        }
        self.cache.write(self.start + self.at, bytes, &mut Vec::new());
        self.at += bytes;
    }

    /// A prepared transaction of a thread goes to the binary log. The thread goes on when it is there, as safe as is
    /// wanted.
    pub(super) fn commit(&mut self, thread: ThreadNo, bytes: u64, host: &mut Host) {
        self.queue.push((thread, bytes));
        self.run(host);
    }

    /// Writes the next transaction, or all that wait.
    fn run(&mut self, host: &mut Host) {
        if self.stage != Stage::Idle || self.queue.is_empty() {
            return;
        }
        let taken = if self.grouped { self.queue.len() } else { 1 };
        for (thread, bytes) in self.queue.drain(..taken).collect::<Vec<_>>() {
            self.write(bytes);
            self.group.push(thread);
            self.counts.bytes += bytes;
        }
        self.since_sync += 1;
        let syncs = self.every > 0 && self.since_sync >= self.every;
        let expired = !syncs && host.now_ns() - self.written_ns >= EXPIRES_NS;
        if syncs || expired {
            self.cache.take_dirty(&mut self.requests);
            self.written_ns = host.now_ns();
        }
        if syncs {
            self.since_sync = 0;
            (self.stage, self.outstanding) = (Stage::Storing, self.requests.len() as u32);
        }
        let step = if syncs { LogStep::Binlog } else { LogStep::Writeback };
        for (first, bytes) in self.requests.drain(..) {
            host.submit(self.device, Tag::Log { step }, Operation::Write, first, bytes);
        }
        if !syncs {
            self.end_group(host);
        }
    }

    /// A device has done a write, or the flush.
    pub(super) fn end_step(&mut self, host: &mut Host) {
        if self.stage != Stage::Storing {
            self.end_group(host);
            return;
        }
        self.outstanding -= 1;
        if self.outstanding == 0 {
            self.stage = Stage::Flushing;
            self.counts.syncs += 1;
            host.sync_grown(self.device, Tag::Log { step: LogStep::Binlog });
        }
    }

    fn end_group(&mut self, host: &mut Host) {
        self.stage = if self.grouped { Stage::Idle } else { Stage::Committing };
        self.group.drain(..).for_each(|thread| host.wake(thread));
        if self.grouped {
            self.run(host);
        }
    }

    /// A thread has committed in InnoDB: where only one may be on its way there, the next one's turn comes.
    pub(super) fn end_commit(&mut self, host: &mut Host) {
        if self.stage == Stage::Committing {
            self.stage = Stage::Idle;
            self.run(host);
        }
    }

    /// What the binary log did in this interval.
    pub(super) const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A new interval begins.
    pub(super) fn begin_interval(&mut self) {
        self.counts = Counts::default();
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::tests::{Requests, events_until, host, ready};
    use super::super::settings::tests::settings;
    use super::*;

    /// A binary log that is synced after every `sync_binlog` commits or groups of them.
    fn binlog(sync_binlog: u64, grouped: bool) -> (Binlog, Host, Requests) {
        let settings = Settings { log_bin: true, sync_binlog, ..settings() };
        let (host, requests) = host();
        (Binlog::new(&settings, grouped, (0, 1 << 20)).unwrap(), host, requests)
    }

    fn commit(binlog: &mut Binlog, thread: u32, host: &mut Host) {
        binlog.commit(ThreadNo::new(thread), 1000, host);
    }

    #[test]
    fn before_5_6_each_commit_has_a_sync_and_the_next_waits_for_the_commit_in_innodb() {
        let (mut own, mut host, requests) = binlog(1, false);
        commit(&mut own, 1, &mut host);
        commit(&mut own, 2, &mut host);
        assert_eq!(requests.commands(), [(Operation::Write, 1 << 20, 4096)]);
        own.end_step(&mut host);
        // The file has grown, so that its sync commits the file system's journal.
        assert_eq!((requests.commands(), ready(&mut host)), (vec![(Operation::Write, 3 << 30, 8192)], vec![]));
        own.end_step(&mut host);
        assert_eq!((requests.commands(), ready(&mut host)), (vec![], vec![1]));
        own.end_commit(&mut host);
        assert_eq!(requests.commands().len(), 1, "the next one's turn");
        assert_eq!(*own.counts(), Counts { bytes: 2000, syncs: 1 });
    }

    #[test]
    fn since_5_6_all_that_wait_share_a_sync() {
        let (mut own, mut host, requests) = binlog(1, true);
        (0..4).for_each(|thread| commit(&mut own, thread, &mut host));
        for group in [vec![0], vec![1, 2, 3]] {
            own.end_step(&mut host);
            own.end_step(&mut host);
            assert_eq!(ready(&mut host), group);
        }
        // Two writes of the log, and one of the journal, whose commit goes on.
        assert_eq!((requests.commands().len(), own.counts().syncs), (3, 2));
        own.begin_interval();
        assert_eq!(*own.counts(), Counts::default());
    }

    #[test]
    fn what_nobody_syncs_the_kernel_writes_after_half_a_minute() {
        let (mut own, mut host, requests) = binlog(0, true);
        commit(&mut own, 1, &mut host);
        assert_eq!((ready(&mut host), requests.commands()), (vec![1], vec![]));
        events_until(&mut host, EXPIRES_NS);
        commit(&mut own, 1, &mut host);
        let written = requests.take();
        assert_eq!((ready(&mut host), written.len()), (vec![1], 1), "no thread waits for that");
        assert_eq!(written[0].0, Tag::Log { step: LogStep::Writeback });
        assert_eq!(own.counts().syncs, 0);
    }

    #[test]
    fn sync_binlog_counts_commits() {
        let (mut own, mut host, _) = binlog(3, false);
        for number in 1..=3 {
            commit(&mut own, number, &mut host);
            own.end_commit(&mut host);
        }
        assert_eq!(ready(&mut host), [1, 2], "the third waits for the sync");
    }
}
