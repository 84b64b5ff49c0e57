//! The binary log: one file after another, written through the kernel's cache and synced after every `sync_binlog` commits.
//!
//! - Up to MySQL 5.5 one transaction at a time is in it, from its preparation to its commit in InnoDB
//!   (`prepare_commit_mutex`): no two share a sync.
//! - Since MySQL 5.6, and in MariaDB since 5.3, the first one that comes leads all that wait when it begins: one write and
//!   sync for the group, and `sync_binlog` counts groups.
//!
//! A transaction is as many bytes in it as its redo: both hold the changed rows (binlog_format = ROW). Nothing is read
//! before it is written, because files grow. Where nobody syncs them, the kernel writes them after 30 s.

use super::log::Step;
use super::page_cache::PageCache;
use super::settings::Settings;
use super::{Innodb, Tag};
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

/// The one of a server that has one.
#[derive(Debug)]
pub(super) struct Binlog {
    cache: PageCache,
    device: usize,
    start: u64,
    bytes: u64,
    /// Where the next transaction goes.
    at: u64,
    /// sync_binlog.
    every: u64,
    since_sync: u64,
    written_ns: u64,
    stage: Stage,
    outstanding: u32,
    /// Threads that want into it, and the bytes of their transactions.
    queue: Vec<(u32, u64)>,
    group: Vec<u32>,
    requests: Vec<(u64, u64)>,
}

impl Binlog {
    /// An empty one at `start` of a device; files are purged so that they take no more than one does. None: log_bin is off.
    pub(super) fn new(settings: &Settings, (device, start): (usize, u64)) -> Option<Self> {
        settings.log_bin.then(|| Self {
            cache: PageCache::new(false),
            device,
            start,
            bytes: settings.max_binlog_size,
            at: 0,
            every: settings.sync_binlog,
            since_sync: 0,
            written_ns: 0,
            stage: Stage::Idle,
            outstanding: 0,
            queue: Vec::new(),
            group: Vec::new(),
            requests: Vec::new(),
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
}

impl Innodb {
    /// A prepared transaction of a thread goes to the binary log. True: it is there, as safe as is wanted. False: the
    /// thread waits.
    pub(super) fn log_binary(&mut self, number: u32, bytes: u64) -> bool {
        let Some(binlog) = &mut self.binlog else { return true };
        binlog.queue.push((number, bytes));
        self.run_binlog();
        false
    }

    /// The next transaction, or all that wait.
    fn run_binlog(&mut self) {
        let grouped = self.spec.generation.groups_binlog();
        let Some(binlog) = &mut self.binlog else { return };
        if binlog.stage != Stage::Idle || binlog.queue.is_empty() {
            return;
        }
        let taken = if grouped { binlog.queue.len() } else { 1 };
        for (thread, bytes) in binlog.queue.drain(..taken).collect::<Vec<_>>() {
            binlog.write(bytes);
            binlog.group.push(thread);
            self.counts.binlog_bytes += bytes;
        }
        binlog.since_sync += 1;
        let syncs = binlog.every > 0 && binlog.since_sync >= binlog.every;
        let expired = !syncs && self.now_ns - binlog.written_ns >= EXPIRES_NS;
        let mut requests = std::mem::take(&mut binlog.requests);
        if syncs || expired {
            binlog.cache.take_dirty(&mut requests);
            binlog.written_ns = self.now_ns;
        }
        let device = binlog.device;
        if syncs {
            binlog.since_sync = 0;
            (binlog.stage, binlog.outstanding) = (Stage::Storing, requests.len() as u32);
        }
        let step = if syncs { Step::Binlog } else { Step::Writeback };
        for (first, bytes) in requests.drain(..) {
            self.submit(device, Tag::Log { step }, Operation::Write, first, bytes);
        }
        if let Some(binlog) = &mut self.binlog {
            binlog.requests = requests;
        }
        if !syncs {
            self.end_binlog_group();
        }
    }

    /// A write or the sync has ended.
    pub(super) fn end_binlog_step(&mut self) {
        let Some(binlog) = &mut self.binlog else { return };
        if binlog.stage != Stage::Storing {
            self.end_binlog_group();
            return;
        }
        binlog.outstanding -= 1;
        if binlog.outstanding == 0 {
            binlog.stage = Stage::Flushing;
            let device = binlog.device;
            self.counts.binlog_syncs += 1;
            self.submit(device, Tag::Log { step: Step::Binlog }, Operation::Flush, 0, 0);
        }
    }

    fn end_binlog_group(&mut self) {
        let grouped = self.spec.generation.groups_binlog();
        let Some(binlog) = &mut self.binlog else { return };
        binlog.stage = if grouped { Stage::Idle } else { Stage::Committing };
        self.ready.extend(binlog.group.drain(..));
        if grouped {
            self.run_binlog();
        }
    }

    /// A thread has committed in InnoDB: where only one may be on its way there, the next one's turn comes.
    pub(super) fn let_next_into_binlog(&mut self) {
        if let Some(binlog) = &mut self.binlog
            && binlog.stage == Stage::Committing
        {
            binlog.stage = Stage::Idle;
            self.run_binlog();
        }
    }
}
