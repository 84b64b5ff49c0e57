//! Writing the log: a write to its files and a sync of them, each for everybody who came before it began (group commit).
//!
//! Log files are written through the kernel's page cache, where a write takes no time unless part of a page must be read
//! first (`page_cache.rs`), and reach the device with the sync; or past it (ALL_O_DIRECT, MariaDB), each block as it is.
//!
//! Up to MySQL 5.6 one thread at a time writes and syncs (`log_write_up_to` with n_pending_writes), and while it is inside
//! of the write it holds the log's mutex: whoever wants to append a change waits. Later servers append to a second buffer
//! meanwhile, and write while another thread syncs.

use super::page_cache::{KERNEL_PAGE_BYTES, PageCache};
use super::redo::Redo;
use super::settings::{FlushMethod, Generation};
use super::{Event, Innodb, Spec, Tag};
use crate::storage::Operation;

/// Who waits for the log.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waiter {
    /// A thread that commits, or wants room in the buffer.
    Thread(u32),
    /// A writer: no page goes to its file before its changes are in the log.
    Writer(u32),
    /// Nobody: once a second it is done anyway.
    Nobody,
}

/// What a device's answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Part of a write: a page that had to be read for it, or the write itself.
    Write,
    /// Part of a sync.
    Sync,
    /// Part of a binary log's sync.
    Binlog,
    /// What the kernel wrote by itself.
    Writeback,
}

impl Step {
    /// The one of a number.
    pub(super) const fn of(number: u32) -> Self {
        match number {
            0 => Self::Write,
            1 => Self::Sync,
            2 => Self::Binlog,
            _ => Self::Writeback,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sync {
    #[default]
    Idle,
    /// The kernel's pages go to the device.
    Storing,
    Flushing,
}

/// What is under way.
#[derive(Debug)]
pub(super) struct Log {
    /// None: files are written past the kernel's cache.
    cache: Option<PageCache>,
    /// Nobody syncs the files: what is written past the cache is taken for durable (ALL_O_DIRECT of Percona Server).
    unsynced: bool,
    /// A writer holds the log, and one that syncs keeps others from writing.
    exclusive: bool,
    /// Bytes of the buffer of what is not written yet (innodb_log_buffer_size).
    buffer_bytes: u64,
    writing: bool,
    write_outstanding: u32,
    sync: Sync,
    sync_outstanding: u32,
    /// How far it will be durable then.
    sync_lsn: u64,
    for_write: Vec<(u64, Waiter)>,
    for_sync: Vec<(u64, Waiter)>,
    /// Threads that want to append.
    held: Vec<u32>,
    /// Kept to reuse their memory.
    extents: Vec<(u64, u64)>,
    reads: Vec<u64>,
}

impl Log {
    /// An idle one, of the files of `redo`.
    pub(super) fn new(spec: &Spec, redo: &Redo) -> Self {
        let settings = &spec.settings;
        let mariadb = spec.generation == Generation::Mariadb1011;
        let unsynced = settings.innodb_flush_method == FlushMethod::AllDirect;
        let direct = unsynced || mariadb && !settings.innodb_log_file_buffering;
        let forgets = spec.page_cache_bytes.is_some_and(|kept| kept < redo.bytes());
        Self {
            cache: (!direct).then(|| PageCache::new(forgets)),
            unsynced,
            exclusive: !spec.generation.appends_while_it_writes(),
            buffer_bytes: settings.innodb_log_buffer_size.max(BUFFER_BYTES_MIN),
            writing: false,
            write_outstanding: 0,
            sync: Sync::Idle,
            sync_outstanding: 0,
            sync_lsn: 0,
            for_write: Vec::new(),
            for_sync: Vec::new(),
            held: Vec::new(),
            extents: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// As long as the newest change is no further than this, `may_append` says yes and has nothing to do.
    pub(super) fn appends_to(&self, redo: &Redo) -> u64 {
        if self.exclusive && self.writing { 0 } else { redo.written + self.buffer_bytes / 2 }
    }
}

/// The smallest buffer that servers take: 256 KiB.
const BUFFER_BYTES_MIN: u64 = 256 << 10;

impl Innodb {
    /// Somebody needs the log durable up to an LSN.
    pub(super) fn want_log(&mut self, lsn: u64, waiter: Waiter) {
        self.log.for_sync.push((lsn, waiter));
        self.run_log();
    }

    /// A thread needs it in its files up to an LSN, durable or not. True: it is.
    pub(super) fn write_log_for(&mut self, lsn: u64, number: u32) -> bool {
        if self.redo.written >= lsn {
            return true;
        }
        if self.may_write_log() {
            self.begin_log_write();
            if self.redo.written >= lsn {
                return true;
            }
        }
        self.log.for_write.push((lsn, Waiter::Thread(number)));
        false
    }

    /// Whether a thread may append a change now. False: it waits, for a writer that holds the log or for room in the buffer.
    pub(super) fn may_append(&mut self, number: u32) -> bool {
        if self.log.exclusive && self.log.writing {
            if !self.burn(number) {
                self.counts.log_holds += 1;
                self.log.held.push(number);
            }
            return false;
        }
        let unwritten = self.redo.lsn - self.redo.written;
        if unwritten <= self.log.buffer_bytes / 2 {
            return true;
        }
        // The buffer is written when half of it is used (LOG_BUF_FLUSH_RATIO); waited for, when all is.
        if unwritten > self.log.buffer_bytes {
            if !self.burn(number) {
                self.counts.log_waits += 1;
                self.log.for_write.push((self.redo.lsn, Waiter::Thread(number)));
                self.run_log();
            }
            return false;
        }
        if self.may_write_log() {
            self.begin_log_write();
        }
        true
    }

    fn may_write_log(&self) -> bool {
        !(self.log.writing || self.log.exclusive && self.log.sync != Sync::Idle)
    }

    /// Starts what can be started of what is waited for.
    fn run_log(&mut self) {
        loop {
            let syncs = self.log.sync == Sync::Idle && !self.log.for_sync.is_empty();
            if !self.may_write_log() || !syncs && self.log.for_write.is_empty() {
                return;
            }
            if self.redo.sent < self.redo.lsn {
                self.begin_log_write();
            } else if syncs {
                self.begin_log_sync();
            } else {
                return;
            }
        }
    }

    fn begin_log_write(&mut self) {
        let mut extents = std::mem::take(&mut self.log.extents);
        self.redo.take_unsent(&mut extents);
        self.counts.log_writes += 1;
        self.log.writing = true;
        let device = self.placement.log.0;
        for (first, bytes) in extents.drain(..) {
            self.counts.log_written_bytes += bytes;
            let Some(cache) = &mut self.log.cache else {
                self.log.write_outstanding += 1;
                self.counts.log_device_bytes += bytes;
                self.submit(device, Tag::Log { step: Step::Write }, Operation::Write, first, bytes);
                continue;
            };
            let mut reads = std::mem::take(&mut self.log.reads);
            cache.write(first, bytes, &mut reads);
            self.log.write_outstanding += reads.len() as u32;
            self.counts.log_page_reads += reads.len() as u64;
            for page in reads.drain(..) {
                self.submit(device, Tag::Log { step: Step::Write }, Operation::Read, page, KERNEL_PAGE_BYTES);
            }
            self.log.reads = reads;
        }
        self.log.extents = extents;
        if self.journal_free_ns > self.now_ns && self.log.cache.is_some() {
            // The write sets the file's time, and the inode belongs to the commit that is under way.
            self.log.write_outstanding += 1;
            self.events.push(self.journal_free_ns, Event::Journal);
        }
        if self.log.write_outstanding == 0 {
            self.end_log_write();
        } else if self.log.exclusive {
            self.hold_log();
        }
    }

    fn end_log_write(&mut self) {
        self.log.writing = false;
        self.let_go_of_log();
        self.redo.written = self.redo.sent;
        if self.log.unsynced {
            self.redo.durable = self.redo.written;
        }
        self.ready.extend(self.log.held.drain(..));
        let mut waiting = std::mem::take(&mut self.log.for_write);
        self.serve_log(&mut waiting, self.redo.written);
        self.log.for_write = waiting;
    }

    fn begin_log_sync(&mut self) {
        self.log.sync_lsn = self.redo.written;
        if self.log.unsynced {
            self.end_log_sync();
            return;
        }
        let mut requests = std::mem::take(&mut self.log.extents);
        if let Some(cache) = &mut self.log.cache {
            cache.take_dirty(&mut requests);
        }
        self.log.sync = Sync::Storing;
        self.log.sync_outstanding = requests.len() as u32;
        for (first, bytes) in requests.drain(..) {
            self.counts.log_device_bytes += bytes;
            self.submit(self.placement.log.0, Tag::Log { step: Step::Sync }, Operation::Write, first, bytes);
        }
        self.log.extents = requests;
        if self.log.sync_outstanding == 0 {
            self.flush_log();
        }
    }

    fn flush_log(&mut self) {
        self.log.sync = Sync::Flushing;
        self.counts.log_syncs += 1;
        self.submit(self.placement.log.0, Tag::Log { step: Step::Sync }, Operation::Flush, 0, 0);
    }

    fn end_log_sync(&mut self) {
        self.log.sync = Sync::Idle;
        self.redo.durable = self.log.sync_lsn;
        let mut waiting = std::mem::take(&mut self.log.for_sync);
        self.serve_log(&mut waiting, self.redo.durable);
        waiting.append(&mut self.log.for_sync);
        self.log.for_sync = waiting;
    }

    /// Lets those go on who wait for an LSN up to this one.
    fn serve_log(&mut self, waiting: &mut Vec<(u64, Waiter)>, lsn: u64) {
        let mut served = Vec::new();
        waiting.retain(|(own, waiter)| {
            if *own <= lsn {
                served.push(*waiter);
            }
            *own > lsn
        });
        for waiter in served {
            match waiter {
                Waiter::Thread(thread) => self.ready.push_back(thread),
                Waiter::Writer(writer) => self.write_chunk(writer),
                Waiter::Nobody => {}
            }
        }
    }

    /// A device has done a step.
    pub(super) fn end_log_step(&mut self, step: Step) {
        match step {
            Step::Write => {
                self.log.write_outstanding -= 1;
                if self.log.write_outstanding == 0 {
                    self.end_log_write();
                }
            }
            Step::Sync if self.log.sync == Sync::Storing => {
                self.log.sync_outstanding -= 1;
                if self.log.sync_outstanding == 0 {
                    self.flush_log();
                }
            }
            Step::Sync => self.end_log_sync(),
            Step::Binlog => self.end_binlog_step(),
            Step::Writeback => {}
        }
        self.run_log();
    }
}
