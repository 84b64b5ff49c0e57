//! The redo log: a write to its files and a sync of them, each for all threads that came before it began (group commit).
//!
//! Log files are written through the kernel's page cache, where a write takes no time unless part of a page must be read
//! first (`page_cache.rs`), and reach the device with the sync; or past it (ALL_O_DIRECT, MariaDB), each block as it is.
//!
//! Up to MySQL 5.6 one thread at a time writes and syncs (`log_write_up_to` with n_pending_writes), and while it is inside
//! of the write it holds the log's mutex: a thread that wants to append a change waits. Later servers append to a second
//! buffer meanwhile, and write while another thread syncs.
//!
//! What a step of the log means for the rest of the server is returned as `Effect`s.

use super::events::{Event, LogStep, Tag};
use super::generation::Generation;
use super::host::Host;
use super::ids::{Lsn, ThreadNo, WriterId};
use super::settings::{FlushMethod, Settings};
use crate::storage::Operation;

mod ages;
mod checkpoint;
mod limits;
pub(super) mod page_cache;
mod redo;

pub use ages::Ages;
pub(super) use limits::{Limits, Remedy};
use page_cache::{KERNEL_PAGE_BYTES, PageCache};
use redo::{Format, Redo};

/// Who waits until the log is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    /// A thread that commits.
    Thread(ThreadNo),
    /// A writer: no page goes to its file before its changes are in the log.
    Writer(WriterId),
    /// Nobody: once a second it is done anyway.
    Nobody,
}

/// What a step of the log means for the rest of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// A writer holds the log from now on: nobody can append.
    Hold,
    /// The writer holds the log no longer.
    Release,
    /// A thread goes on.
    Wake(ThreadNo),
    /// The log is durable up to a writer's pages.
    Durable(WriterId),
}

/// Whether a change may be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// At once.
    Free,
    /// At once, and the buffer should be written: half of it is used (LOG_BUF_FLUSH_RATIO).
    HalfFull,
    /// When the buffer is written: all of it is used.
    Full,
    /// When the writer that holds the log is done.
    Held,
}

/// What the log did in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) writes: u64,
    pub(super) syncs: u64,
    /// Pages of the kernel's cache that were read for the log's writes.
    pub(super) page_reads: u64,
    /// Changes that waited for a writer that held the log, and for room in its buffer.
    pub(super) holds: u64,
    pub(super) waits: u64,
    /// Bytes that were written to the log's files, and to its device.
    pub(super) written_bytes: u64,
    pub(super) device_bytes: u64,
    /// The newest change when the interval began; None in the first one.
    pub(super) first_lsn: Option<Lsn>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sync {
    #[default]
    Idle,
    /// The kernel's pages go to the device.
    Storing,
    Flushing,
}

/// The log, and what of it is under way.
#[derive(Debug)]
pub(super) struct Log {
    redo: Redo,
    device: usize,
    /// None: files are written past the kernel's cache.
    cache: Option<PageCache>,
    /// Nobody syncs the files: what is written past the cache is taken for durable (ALL_O_DIRECT of Percona Server).
    unsynced: bool,
    /// A writer holds the log, and a thread that syncs keeps others from writing.
    exclusive: bool,
    /// Bytes of the buffer of what is not written yet (innodb_log_buffer_size).
    buffer_bytes: u64,
    writing: bool,
    write_outstanding: u32,
    sync: Sync,
    sync_outstanding: u32,
    /// How far it will be durable then.
    sync_lsn: Lsn,
    /// Where recovery would begin when the checkpoint under way counts.
    next_checkpoint: Option<Lsn>,
    /// It counts when it is durable; before, when it is sent.
    awaits_checkpoint: bool,
    for_write: Vec<(Lsn, ThreadNo)>,
    for_sync: Vec<(Lsn, Waiter)>,
    /// Threads that want to append while the log is held.
    held: Vec<ThreadNo>,
    /// Kept to reuse their memory.
    extents: Vec<(u64, u64)>,
    reads: Vec<u64>,
    counts: Counts,
}

/// The smallest buffer that servers take: 256 KiB.
const BUFFER_BYTES_MIN: u64 = 256 << 10;

impl Log {
    /// An empty log at this place of a device. The kernel keeps so many bytes of its pages; None: all.
    pub(super) fn new(
        generation: Generation,
        settings: &Settings,
        (device, start): (usize, u64),
        page_cache_bytes: Option<u64>,
    ) -> Self {
        let (files, file_bytes) = (settings.innodb_log_files_in_group, settings.innodb_log_file_size);
        let redo = Redo::new(start, files, file_bytes, Format::of_server(generation, settings));
        let unsynced = settings.innodb_flush_method == FlushMethod::AllDirect;
        let direct = unsynced || generation.is_mariadb() && !settings.innodb_log_file_buffering;
        let forgets = page_cache_bytes.is_some_and(|kept| kept < redo.bytes());
        Self {
            redo,
            device,
            cache: (!direct).then(|| PageCache::new(forgets)),
            unsynced,
            exclusive: !generation.appends_while_it_writes(),
            buffer_bytes: settings.innodb_log_buffer_size.max(BUFFER_BYTES_MIN),
            writing: false,
            write_outstanding: 0,
            sync: Sync::Idle,
            sync_outstanding: 0,
            sync_lsn: Lsn::ZERO,
            next_checkpoint: None,
            awaits_checkpoint: generation.room_rule().looks_at_checkpoint(),
            for_write: Vec::new(),
            for_sync: Vec::new(),
            held: Vec::new(),
            extents: Vec::new(),
            reads: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// The newest change.
    #[inline]
    pub(super) const fn lsn(&self) -> Lsn {
        self.redo.lsn()
    }

    /// How far it is on the device for good.
    pub(super) const fn durable(&self) -> Lsn {
        self.redo.durable()
    }

    /// How far it is in the kernel's cache, or on the device.
    pub(super) const fn written(&self) -> Lsn {
        self.redo.written()
    }

    /// Where recovery would begin.
    pub(super) const fn checkpoint(&self) -> Lsn {
        self.redo.checkpoint()
    }

    /// Distance between the newest change and the last checkpoint.
    pub(super) fn checkpoint_age(&self) -> u64 {
        self.redo.checkpoint_age()
    }

    /// Distance between the newest change and the oldest that is in no data file.
    pub(super) fn age(&self, oldest_lsn: Option<Lsn>) -> u64 {
        oldest_lsn.map_or(0, |oldest| self.redo.lsn() - oldest)
    }

    /// Appends a change of so many bytes; the LSNs before and after it.
    #[inline]
    pub(super) fn append(&mut self, bytes: u64) -> (Lsn, Lsn) {
        self.redo.append(bytes)
    }

    /// Whether a change may be appended now.
    pub(super) fn room(&self) -> Room {
        let unwritten = self.redo.lsn() - self.redo.written();
        if self.exclusive && self.writing {
            Room::Held
        } else if unwritten <= self.buffer_bytes / 2 {
            Room::Free
        } else if unwritten <= self.buffer_bytes {
            Room::HalfFull
        } else {
            Room::Full
        }
    }

    /// As long as the newest change is no further than this, `room` is `Free`.
    pub(super) fn free_until(&self) -> Lsn {
        if self.exclusive && self.writing { Lsn::ZERO } else { self.redo.written() + self.buffer_bytes / 2 }
    }

    /// A thread waits until it may append: the log is `Held`.
    pub(super) fn wait_for_holder(&mut self, thread: ThreadNo) {
        self.counts.holds += 1;
        self.held.push(thread);
    }

    /// A thread waits until the buffer, which is `Full`, is written.
    pub(super) fn wait_for_buffer(&mut self, thread: ThreadNo) {
        self.counts.waits += 1;
        self.for_write.push((self.redo.lsn(), thread));
    }

    /// A thread waits until the log is written up to an LSN.
    pub(super) fn wait_for_write(&mut self, lsn: Lsn, thread: ThreadNo) {
        self.for_write.push((lsn, thread));
    }

    /// Somebody waits until the log is durable up to an LSN.
    pub(super) fn wait_for_sync(&mut self, lsn: Lsn, waiter: Waiter) {
        self.for_sync.push((lsn, waiter));
    }

    /// Whether a write may begin.
    pub(super) fn may_write(&self) -> bool {
        !(self.writing || self.exclusive && self.sync != Sync::Idle)
    }

    /// Starts the next write or sync that is waited for; None when there is none, or it cannot begin yet.
    pub(super) fn start_next(&mut self, host: &mut Host) -> Option<Vec<Effect>> {
        let syncs = self.sync == Sync::Idle && !self.for_sync.is_empty();
        if !self.may_write() || !syncs && self.for_write.is_empty() {
            None
        } else if self.redo.has_unsent() {
            Some(self.begin_write(host))
        } else if syncs {
            Some(self.begin_sync(host))
        } else {
            None
        }
    }

    /// Begins to write all that was appended. Only when `may_write`.
    pub(super) fn begin_write(&mut self, host: &mut Host) -> Vec<Effect> {
        let mut extents = std::mem::take(&mut self.extents);
        self.redo.take_unsent(&mut extents);
        self.counts.writes += 1;
        self.writing = true;
        for (first, bytes) in extents.drain(..) {
            self.counts.written_bytes += bytes;
            let Some(cache) = &mut self.cache else {
                self.write_outstanding += 1;
                self.counts.device_bytes += bytes;
                host.submit(self.device, Tag::Log { step: LogStep::Write }, Operation::Write, first, bytes);
                continue;
            };
            cache.write(first, bytes, &mut self.reads);
            self.write_outstanding += self.reads.len() as u32;
            self.counts.page_reads += self.reads.len() as u64;
            for page in self.reads.drain(..) {
                let tag = Tag::Log { step: LogStep::Write };
                host.submit(self.device, tag, Operation::Read, page, KERNEL_PAGE_BYTES);
            }
        }
        self.extents = extents;
        if self.cache.is_some()
            && let Some(free_ns) = host.journal_busy_until_ns()
        {
            self.write_outstanding += 1;
            host.schedule(free_ns, Event::Journal);
        }
        if self.write_outstanding == 0 {
            self.end_write()
        } else if self.exclusive {
            vec![Effect::Hold]
        } else {
            Vec::new()
        }
    }

    fn end_write(&mut self) -> Vec<Effect> {
        self.writing = false;
        self.redo.end_write();
        if self.unsynced {
            self.redo.make_durable(self.redo.written());
        }
        let mut effects = vec![Effect::Release];
        effects.extend(self.held.drain(..).map(Effect::Wake));
        let written = self.redo.written();
        let served = self.for_write.extract_if(.., |(lsn, _)| *lsn <= written);
        effects.extend(served.map(|(_, thread)| Effect::Wake(thread)));
        effects
    }

    fn begin_sync(&mut self, host: &mut Host) -> Vec<Effect> {
        self.sync_lsn = self.redo.written();
        if self.unsynced {
            return self.end_sync();
        }
        if let Some(cache) = &mut self.cache {
            cache.take_dirty(&mut self.extents);
        }
        self.sync = Sync::Storing;
        self.sync_outstanding = self.extents.len() as u32;
        for (first, bytes) in self.extents.drain(..) {
            self.counts.device_bytes += bytes;
            host.submit(self.device, Tag::Log { step: LogStep::Sync }, Operation::Write, first, bytes);
        }
        if self.sync_outstanding == 0 {
            self.flush(host);
        }
        Vec::new()
    }

    fn flush(&mut self, host: &mut Host) {
        self.sync = Sync::Flushing;
        self.counts.syncs += 1;
        host.sync(self.device, Tag::Log { step: LogStep::Sync });
    }

    fn end_sync(&mut self) -> Vec<Effect> {
        self.sync = Sync::Idle;
        self.redo.make_durable(self.sync_lsn);
        let durable = self.sync_lsn;
        let served = self.for_sync.extract_if(.., |(lsn, _)| *lsn <= durable);
        served
            .filter_map(|(_, waiter)| match waiter {
                Waiter::Thread(thread) => Some(Effect::Wake(thread)),
                Waiter::Writer(writer) => Some(Effect::Durable(writer)),
                Waiter::Nobody => None,
            })
            .collect()
    }

    /// Part of a write is done: by a device, or by the file system's journal.
    pub(super) fn end_write_step(&mut self) -> Vec<Effect> {
        self.write_outstanding -= 1;
        if self.write_outstanding == 0 { self.end_write() } else { Vec::new() }
    }

    /// A device has done part of a sync.
    pub(super) fn end_sync_step(&mut self, host: &mut Host) -> Vec<Effect> {
        if self.sync != Sync::Storing {
            return self.end_sync();
        }
        self.sync_outstanding -= 1;
        if self.sync_outstanding == 0 {
            self.flush(host);
        }
        Vec::new()
    }

    /// Takes all that was appended and not written, as extents of its device: in the warm-up nothing is under way.
    pub(super) fn take_unsent(&mut self) -> (usize, Vec<(u64, u64)>) {
        let mut extents = Vec::new();
        self.redo.take_unsent(&mut extents);
        (self.device, extents)
    }

    /// The warm-up is over: all changes are on the device, and the oldest that is in no data file is given.
    pub(super) fn settle(&mut self, oldest_lsn: Option<Lsn>) {
        self.redo.settle(oldest_lsn);
    }

    /// What the log did in this interval.
    pub(super) const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A new interval begins.
    pub(super) fn begin_interval(&mut self) {
        self.counts = Counts { first_lsn: Some(self.redo.lsn()), ..Counts::default() };
    }
}

#[cfg(test)]
mod tests;
