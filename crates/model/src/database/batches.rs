//! Writing pages: batches, from the flush list or for free pages, through the doublewrite buffer or straight.
//!
//! A batch goes in chunks of what the doublewrite buffer holds. The buffer is held by one batch from its first page to
//! the sync of the data files, as MySQL 5.5 holds it: other batches wait.

use super::doublewrite::BUFFER_PAGES;
use super::log::Waiter;
use super::{Event, Innodb, PAGE_BYTES, Tag};
use crate::storage::Operation;

/// Pages of an area whose dirty ones are written together (BUF_READ_AHEAD_AREA; 1 MiB).
const AREA_PAGES: u32 = 64;
/// Pages of a chunk without doublewrite: the slots of one IO thread.
const DIRECT_PAGES: usize = 256;
/// How much of the LRU list's end a batch searches for dirty pages.
const LRU_DEPTH: u32 = 2048;
/// A thread for which nothing could be written tries again after this.
const PAUSE_NS: u64 = 1_000_000;

/// Which pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Those whose first change is the oldest, before an LSN.
    List {
        /// The LSN.
        limit_lsn: u64,
        /// The log is near its limit.
        sync: bool,
    },
    /// Those at the end of the LRU list.
    Lru,
    /// One page at the end of the LRU list, which its thread writes by itself, past the batches.
    Single,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Waits for the doublewrite buffer, then for the log.
    Begun,
    Wal,
    /// Its pages go to the doublewrite buffer, which is then synced.
    Doublewrite,
    DoublewriteSync,
    /// They go to their places, which are then synced.
    Pages,
    Sync,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Batch {
    kind: Kind,
    /// Pages that it may still write.
    left: u64,
    stage: Stage,
    /// The pages of the chunk.
    chunk: Vec<u32>,
    /// Pages of an area that are to be looked at still.
    area: std::ops::Range<u32>,
    outstanding: u32,
    written: u64,
    /// The thread that started it and waits for its end.
    owner: Option<u32>,
}

impl Innodb {
    /// Starts a batch; there must be none of its kind (but of single pages). The thread `owner` waits for it.
    pub(super) fn start_batch(&mut self, kind: Kind, pages: u64, owner: Option<u32>) {
        let batch = Batch {
            kind,
            left: pages,
            stage: Stage::Begun,
            chunk: Vec::new(),
            area: 0..0,
            outstanding: 0,
            written: 0,
            owner,
        };
        let number = self.batches.insert(batch);
        match kind {
            Kind::List { .. } => self.list_batch = Some(number),
            Kind::Lru => self.lru_batch = Some(number),
            Kind::Single => {}
        }
        self.begin_chunk(number);
    }

    /// The next chunk, when the doublewrite buffer is free.
    fn begin_chunk(&mut self, number: u32) {
        let batch = self.batches.get(number);
        batch.stage = Stage::Begun;
        // Single pages have slots of their own.
        if !self.doublewrite.is_on() || batch.kind == Kind::Single || self.doublewrite.acquire(number) {
            self.fill(number);
        }
    }

    /// Chooses the pages of a chunk; ends the batch when there are none.
    fn fill(&mut self, number: u32) {
        let room = if self.doublewrite.is_on() { BUFFER_PAGES } else { DIRECT_PAGES };
        let pages = u64::from(self.pool_pages());
        let batch = self.batches.get(number);
        let mut newest_lsn = 0;
        batch.chunk.clear();
        while batch.chunk.len() < room && batch.left > 0 {
            let frame = match batch.area.next() {
                Some(page) => match self.pool.find(page) {
                    // What is written for its frame's sake is evicted soon: young neighbours stay as they are
                    // (buf_flush_try_neighbors).
                    Some(frame)
                        if self.pool.can_flush(frame) && (batch.kind != Kind::Lru || self.pool.is_old(frame)) =>
                    {
                        frame
                    }
                    _ => continue,
                },
                None => {
                    let first = match batch.kind {
                        Kind::Lru => self.pool.dirty_at_end(LRU_DEPTH),
                        Kind::Single => self.pool.dirty_at_end(u32::MAX),
                        Kind::List { limit_lsn, .. } => {
                            self.pool.oldest_dirty().filter(|frame| self.pool.oldest_lsn_of(*frame) < limit_lsn)
                        }
                    };
                    let Some(first) = first else { break };
                    let page = self.pool.page(first);
                    let from = page / AREA_PAGES * AREA_PAGES;
                    let to = (u64::from(from) + u64::from(AREA_PAGES)).min(pages) as u32;
                    match self.spec.settings.innodb_flush_neighbors {
                        _ if batch.kind == Kind::Single => first,
                        // A young page would not go along with itself.
                        _ if batch.kind == Kind::Lru && !self.pool.is_old(first) => first,
                        0 => first,
                        1 => {
                            // Those on both sides without a gap (innodb_flush_neighbors since 5.6).
                            let dirty = |page| self.pool.find(page).is_some_and(|frame| self.pool.can_flush(frame));
                            let first = (from..page).rev().take_while(|page| dirty(*page)).last().unwrap_or(page);
                            let last = (page..to).take_while(|page| dirty(*page)).last().unwrap_or(page);
                            batch.area = first..last + 1;
                            continue;
                        }
                        _ => {
                            batch.area = from..to;
                            continue;
                        }
                    }
                }
            };
            self.pool.begin_write(frame);
            newest_lsn = newest_lsn.max(self.pool.newest_lsn(frame));
            batch.chunk.push(frame);
            batch.left -= 1;
        }
        let empty = batch.chunk.is_empty();
        if empty {
            self.end_chunk(number);
            self.end_batch(number);
        } else if newest_lsn > self.redo.durable {
            batch.stage = Stage::Wal;
            self.want_log(newest_lsn, Waiter::Batch(number));
        } else {
            self.write_chunk(number);
        }
    }

    fn pool_pages(&self) -> u32 {
        self.touches.pages()
    }

    /// The log is durable up to a chunk's pages.
    pub(super) fn write_chunk(&mut self, number: u32) {
        let pages = self.batches.get(number).chunk.len();
        self.book(self.spec.cpu.write_ns * pages as u64);
        if !self.doublewrite.is_on() {
            self.write_pages(number);
            return;
        }
        let mut writes = 0;
        for (offset, bytes) in self.doublewrite.writes(pages) {
            self.submit(0, Tag::Batch { batch: number }, Operation::Write, offset, bytes);
            writes += 1;
        }
        self.counts.doublewrite_pages += pages as u64;
        self.counts.doublewrite_writes += 1;
        let batch = self.batches.get(number);
        (batch.stage, batch.outstanding) = (Stage::Doublewrite, writes);
    }

    fn write_pages(&mut self, number: u32) {
        let chunk = std::mem::take(&mut self.batches.get(number).chunk);
        for frame in &chunk {
            let offset = self.page_offset(self.pool.page(*frame));
            self.submit(0, Tag::Page { batch: number, frame: *frame }, Operation::Write, offset, PAGE_BYTES);
        }
        let batch = self.batches.get(number);
        (batch.stage, batch.outstanding) = (Stage::Pages, chunk.len() as u32);
        batch.chunk = chunk;
    }

    /// A page is in its place.
    pub(super) fn end_page(&mut self, number: u32, frame: u32) {
        self.pool.end_write(frame);
        let batch = self.batches.get(number);
        batch.written += 1;
        batch.outstanding -= 1;
        let (kind, over) = (batch.kind, batch.outstanding == 0);
        self.counts.count_flushed(kind);
        if matches!(kind, Kind::Lru | Kind::Single) {
            self.pool.make_oldest(frame);
            if self.spec.generation.has_cleaner() {
                self.pool.evict_one(1);
            }
        }
        self.wake_waiters_of(frame);
        if !over {
            return;
        }
        if self.doublewrite.is_on() || self.batches.get(number).left == 0 {
            self.sync(number, Stage::Sync);
        } else {
            self.end_chunk(number);
            self.begin_chunk(number);
        }
    }

    fn sync(&mut self, number: u32, stage: Stage) {
        self.batches.get(number).stage = stage;
        self.submit(0, Tag::Batch { batch: number }, Operation::Flush, 0, 0);
    }

    /// A write to the doublewrite buffer, or a sync, ended.
    pub(super) fn end_batch_step(&mut self, number: u32) {
        let batch = self.batches.get(number);
        match batch.stage {
            Stage::Doublewrite => {
                batch.outstanding -= 1;
                if batch.outstanding == 0 {
                    self.sync(number, Stage::DoublewriteSync);
                }
            }
            Stage::DoublewriteSync => self.write_pages(number),
            Stage::Sync => {
                let over = batch.left == 0;
                self.end_chunk(number);
                if over {
                    self.end_batch(number);
                } else {
                    self.begin_chunk(number);
                }
            }
            Stage::Begun | Stage::Wal | Stage::Pages => unreachable!("nothing of the batch is under way"),
        }
    }

    /// Lets the doublewrite buffer go to the next batch; threads that want free pages look whether there are any.
    fn end_chunk(&mut self, number: u32) {
        if self.batches.get(number).kind == Kind::Lru && self.batches.get(number).written > 0 {
            self.ready.extend(self.free_waiters.drain(..));
        }
        if self.doublewrite.is_on()
            && self.batches.get(number).kind != Kind::Single
            && let Some(next) = self.doublewrite.release(number)
        {
            self.fill(next);
        }
    }

    fn end_batch(&mut self, number: u32) {
        let batch = self.batches.remove(number);
        let mut waiting = match batch.kind {
            Kind::List { .. } => {
                self.list_batch = None;
                std::mem::take(&mut self.sync_waiters)
            }
            Kind::Lru => {
                self.lru_batch = None;
                std::mem::take(&mut self.free_waiters)
            }
            Kind::Single => Vec::new(),
        };
        waiting.extend(batch.owner);
        for thread in waiting {
            if batch.written > 0 {
                self.ready.push_back(thread);
            } else {
                self.events.push(self.now_ns + PAUSE_NS, Event::Ready(thread));
            }
        }
        self.master_batch_ended(number);
        self.cleaner_batch_ended(number);
    }
}
