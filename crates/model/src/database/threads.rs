//! The server's threads, one a connection: each runs its transactions touch by touch and waits where InnoDB's would.
//!
//! What a thread does without waiting happens at the beginning of its burst of CPU time, which then passes at once.
//! Row locks are not modelled: nobody waits for another one's rows.

use super::ahead::Ahead;
use super::batches::{Kind, Owner};
use super::holds::Burst;
use super::pool::{NONE, Pool};
use super::redo::Redo;
use super::touches::{Touch, What};
use super::{Innodb, PAGE_BYTES, Tag};
use crate::storage::Operation;

/// How much of the end of the LRU list is looked at for pages that can be evicted, before more are written
/// (BUF_LRU_FREE_SEARCH_LEN of MySQL 5.5, with read-ahead areas of 64 pages).
pub(super) const SEARCHED: u32 = 133;
/// How far a thread that wants a frame searches for a page that it can evict: so many pages, and a tenth of the pool more
/// each time it comes back (buf_LRU_free_from_common_LRU_list).
const SEARCH_FIRST: u32 = 100;
const SEARCH_MORE: u32 = 10;
/// Pages at the end of the LRU list that should be free or clean; and how many more are written when they are not
/// (BUF_FLUSH_FREE_BLOCK_MARGIN and BUF_FLUSH_EXTRA_MARGIN).
pub(super) const MARGIN: u32 = 69;
const MARGIN_EXTRA: u32 = 117;
/// A reader looks at the margin this often: the search is as long as the margin, and a page makes it one shorter.
const MARGIN_EVERY: u32 = 16;

/// One of them.
#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) touches: Vec<Touch>,
    pub(super) ahead: Ahead,
    pub(super) at: usize,
    kind: usize,
    started_ns: u64,
    running: bool,
    /// What it did since it last used a core: CPU time, how long it holds the mutexes that all threads share, and how
    /// long its client has it.
    pub(super) cpu_ns: u64,
    pub(super) mutex_ns: u64,
    pub(super) away_ns: u64,
    pub(super) burst: Burst,
    /// End of its own changes in the log.
    pub(super) lsn: u64,
    /// The next one that waits for the same page.
    pub(super) next_waiter: u32,
    reads: u32,
    /// How often it has looked for the frame that it wants.
    searches: u32,
    /// The instance in which it has to see to free pages.
    check_margin: Option<usize>,
    /// It has seen to room in the log already.
    pub(super) preflushed: bool,
    /// It writes pages because the log is at its synchronous age.
    in_sync: bool,
}

impl Thread {
    /// Changes a page: in the log, and in its frame.
    #[inline]
    pub(super) fn change(&mut self, pool: &mut Pool, redo: &mut Redo, frame: u32, touch: Touch) {
        let (from, to) = redo.append(u64::from(touch.redo));
        pool.change(frame, from, to);
        self.lsn = to;
        self.burst.changes += 1;
        self.preflushed = false;
    }

    /// Does these before what it waits for.
    pub(super) fn insert_before(&mut self, touches: &[Touch]) {
        self.touches.splice(self.at..self.at, touches.iter().copied());
    }

    /// Does these after all that it has to do.
    pub(super) fn append(&mut self, touches: &[Touch]) {
        self.touches.drain(..std::mem::take(&mut self.at));
        self.touches.extend(touches);
    }
}

impl Innodb {
    /// Lets a thread go on until it waits.
    pub(super) fn run_thread(&mut self, number: u32) {
        let index = number as usize;
        loop {
            if let Some(instance) = self.threads[index].check_margin.take()
                && self.reach_for_margin(number, instance)
            {
                return;
            }
            self.run_hits(number);
            let thread = &mut self.threads[index];
            let Some(touch) = thread.touches.get(thread.at).copied() else {
                if !self.end_transaction(number) {
                    return;
                }
                continue;
            };
            if !self.use_page(number, touch) {
                return;
            }
            self.threads[index].at += 1;
        }
    }

    /// Spends the CPU time that a thread owes before it waits. False when there is none.
    pub(super) fn burn(&mut self, number: u32) -> bool {
        let thread = &mut self.threads[number as usize];
        let work_ns = std::mem::take(&mut thread.cpu_ns);
        let mutex_ns = std::mem::take(&mut thread.mutex_ns);
        let away_ns = std::mem::take(&mut thread.away_ns);
        if work_ns == 0 {
            return false;
        }
        let core_ns = self.book(work_ns);
        // The mutexes that all threads share, one thread after another.
        self.mutex_free_ns = self.mutex_free_ns.max(self.now_ns) + mutex_ns;
        let end_ns = core_ns.max(self.mutex_free_ns) + away_ns;
        self.begin_burst(number, end_ns);
        true
    }

    /// A page that a statement uses, where `run_hits` has left it. False: the thread waits, and tries again.
    fn use_page(&mut self, number: u32, asked: Touch) -> bool {
        let touch = self.through_change_buffer(asked);
        let changes = matches!(touch.what, What::Change | What::Create);
        if changes && !(self.may_append(number) && self.may_change(number)) {
            return false;
        }
        let frame = match self.pool.find(touch.page) {
            Some(frame) if self.pool.is_reading(frame) || changes && self.pool.is_writing(frame) => {
                if !self.burn(number) {
                    self.wait_for(number, frame);
                }
                return false;
            }
            Some(frame) => frame,
            None => {
                if self.burn(number) {
                    return false;
                }
                let reading = touch.what != What::Create;
                let Some(frame) = self.take_frame(number, touch.page, reading) else { return false };
                if reading {
                    self.read(number, frame, touch.page);
                    return false;
                }
                frame
            }
        };
        self.counts.requests += 1;
        if self.pool.take_first_use(frame) {
            self.read_ahead_linear(touch.page);
        }
        if touch.what != What::Glance {
            self.pool.touch(frame, (self.now_ns / 1_000_000) as u32);
        }
        if changes {
            self.threads[number as usize].change(&mut self.pool, &mut self.redo, frame, touch);
            self.check_log |=
                self.age() > self.ages.modified_async || self.redo.checkpoint_age() > self.ages.checkpoint_async;
        }
        if touch.page != asked.page {
            let next = self.end_buffering(asked, false);
            let thread = &mut self.threads[number as usize];
            thread.touches.splice(thread.at + 1..thread.at + 1, next);
        }
        self.threads[number as usize].cpu_ns += self.spec.cpu.touch_ns;
        true
    }

    fn wait_for(&mut self, number: u32, frame: u32) {
        self.threads[number as usize].next_waiter = self.pool.swap_waiter(frame, number);
    }

    fn read(&mut self, number: u32, frame: u32, page: u32) {
        self.counts.reads += 1;
        self.read_ahead.pending += 1;
        self.wait_for(number, frame);
        let thread = &mut self.threads[number as usize];
        thread.cpu_ns += self.spec.cpu.read_ns;
        thread.mutex_ns += self.spec.cpu.read_mutex_ns;
        thread.reads += 1;
        thread.check_margin = thread.reads.is_multiple_of(MARGIN_EVERY).then(|| self.pool.instance_of(page));
        let (device, offset) = self.placement.of_page(page);
        self.submit(device, Tag::Read { frame }, Operation::Read, offset, PAGE_BYTES);
        self.read_ahead_random(page);
    }

    /// A frame for a page: a free one, else that of a clean page near the end of the LRU list. None: pages must be
    /// written first, by this thread if nobody does it yet.
    fn take_frame(&mut self, number: u32, page: u32, reading: bool) -> Option<u32> {
        let instance = self.pool.instance_of(page);
        if self.spec.generation.has_cleaner() {
            if self.pool.free_of(instance) == 0 && !self.reach_for_frame(number, instance) {
                return None;
            }
            return self.pool.admit(page, reading);
        }
        let searches = &mut self.threads[number as usize].searches;
        let size = self.pool.size() / self.flushing.len() as u64;
        let pages = SEARCH_FIRST + *searches * (size as u32 / SEARCH_MORE);
        if self.pool.free_of(instance) == 0 && !self.pool.evict_one(instance, pages) {
            *searches = (*searches + 1).min(SEARCH_MORE);
            self.counts.free_waits += 1;
            self.flushing[instance].free_waiters.push(number);
            if self.flushing[instance].lru.is_none() {
                self.start_batch(instance, Kind::Lru, u64::from(MARGIN + MARGIN_EXTRA), Owner::Nobody);
            }
            return None;
        }
        *searches = 0;
        self.pool.admit(page, reading)
    }

    /// After a read: sees to it that the next ones in its instance find a page to evict (buf_flush_free_margin). True: the
    /// thread waits.
    fn reach_for_margin(&mut self, number: u32, instance: usize) -> bool {
        if self.spec.generation.has_cleaner() || self.pool.free_of(instance) >= u64::from(MARGIN) {
            return false;
        }
        let free = self.pool.free_of(instance) as u32;
        let found = self.pool.replaceable(instance, SEARCHED, MARGIN - free) + free;
        if found >= MARGIN {
            return false;
        }
        let waits = self.spec.generation.readers_wait_for_margin();
        if self.flushing[instance].lru.is_some() {
            if waits {
                self.flushing[instance].free_waiters.push(number);
            }
            return waits;
        }
        let owner = if waits { Owner::Thread(number) } else { Owner::Nobody };
        self.start_batch(instance, Kind::Lru, u64::from(MARGIN + MARGIN_EXTRA - found), owner);
        waits
    }

    /// Whether the log has room for a change (log_free_check, log_checkpoint_margin). False: the thread waits, or writes
    /// pages itself.
    fn may_change(&mut self, number: u32) -> bool {
        if !self.check_log {
            return true;
        }
        if self.redo.checkpoint_age() > self.ages.checkpoint_async {
            self.make_checkpoint();
        }
        let age = self.age();
        let limit = if self.spec.generation.has_cleaner() { self.ages.modified_sync } else { self.ages.modified_async };
        if age <= limit {
            self.check_log = false;
            return true;
        }
        if self.threads[number as usize].preflushed {
            return true;
        }
        if self.burn(number) {
            return false;
        }
        let oldest = self.redo.lsn - age;
        let sync = age > self.ages.modified_sync;
        if sync && self.spec.generation.cleaner_serves_log() {
            return self.may_change_with_cleaner(number, age);
        }
        let limit_lsn = if sync {
            self.note_sync();
            oldest + 2 * (age - self.ages.modified_sync)
        } else {
            // The next change that finds the log near its limits sends another thread.
            self.check_log = false;
            oldest + (age - self.ages.modified_async)
        };
        self.threads[number as usize].in_sync = sync;
        self.start_pass(Kind::List { limit_lsn, sync: true }, u64::MAX, 1, Owner::Thread(number));
        false
    }

    /// What a thread wrote itself, or let others write, is written: its pass over the flush lists, or its batch for free
    /// pages. A thread in need of room in the log waits for everybody's batches, and looks again if it could not write in
    /// all instances.
    pub(super) fn after_flushing(&mut self, number: u32, written: u64, skipped: bool) {
        let thread = &mut self.threads[number as usize];
        if !std::mem::take(&mut thread.in_sync) {
            thread.preflushed = true;
            self.ready.push_back(number);
            return;
        }
        thread.preflushed = !skipped && written > 0;
        self.wait_for_lists(number, 0);
    }

    /// Commits, records and begins the next transaction. False: the thread waits, or has ended.
    fn end_transaction(&mut self, number: u32) -> bool {
        if self.burn(number) || self.rest_merger(number) {
            return false;
        }
        let thread = &self.threads[number as usize];
        if thread.running {
            let (lsn, bytes) = (thread.lsn, thread.touches.iter().map(|touch| u64::from(touch.redo)).sum());
            if !self.commit(number, lsn, bytes) {
                return false;
            }
            let thread = &self.threads[number as usize];
            let own = &mut self.kinds[thread.kind];
            own.operations += 1;
            own.latency.record_ns(self.now_ns - thread.started_ns);
        }
        let thread = &mut self.threads[number as usize];
        thread.touches.clear();
        thread.at = 0;
        thread.lsn = 0;
        if self.stopping {
            thread.running = false;
            self.active -= 1;
            return false;
        }
        thread.kind = self.touches.next(number, &mut thread.touches);
        thread.ahead.begin(&thread.touches, &mut self.recent, &self.pool, self.change_buffer.as_ref());
        thread.running = true;
        thread.started_ns = self.now_ns;
        thread.next_waiter = NONE;
        true
    }

    /// When each transaction under way began.
    pub(super) fn started_ns(&self) -> impl Iterator<Item = u64> {
        self.threads.iter().filter(|thread| thread.running).map(|thread| thread.started_ns)
    }
}
