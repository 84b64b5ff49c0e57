//! Frames for pages that come into memory: free ones, those of clean pages, and what a thread does when it finds neither.

use super::super::background::Background;
use super::super::events::Event;
use super::super::ids::{FrameId, PageNo, ThreadNo};
use super::super::pool::Replaceable;
use super::super::write_back::{Kind, Owner};
use super::Innodb;

/// How much of the end of the LRU list is looked at for pages that can be evicted, before more are written
/// (BUF_LRU_FREE_SEARCH_LEN of MySQL 5.5, with read-ahead areas of 64 pages).
pub(super) const SEARCHED: u32 = 133;
/// How far a thread of a server without a page cleaner searches for a page that it can evict: so many pages, and a tenth of
/// the pool for each time that it does (buf_LRU_free_from_common_LRU_list; the first search is number 1).
const SEARCH_LEAST: u32 = 100;
const SEARCH_MORE: u32 = 10;
/// After so many searches it sleeps before each further one, ns (buf_LRU_get_free_block: n_iterations > 10).
const SEARCHES_OLD: u32 = 10;
const SLEEP_OLD_NS: u64 = 500_000_000;
/// Pages at the end of the LRU list that should be free or clean; and how many more are written when they are not
/// (BUF_FLUSH_FREE_BLOCK_MARGIN and BUF_FLUSH_EXTRA_MARGIN).
const MARGIN: u32 = 69;
const MARGIN_EXTRA: u32 = 117;
/// How much a thread looks at of a server with a page cleaner, but MySQL 5.6 (BUF_LRU_SEARCH_SCAN_THRESHOLD).
const SEARCHED_BESIDE_CLEANER: u32 = 100;
/// How often a thread of MySQL searches in vain before it sleeps before each further search (buf_LRU_get_free_block).
const SEARCHES_AWAKE: u32 = 2;

/// How long it sleeps then, ns; and in MySQL 5.6.
const SLEEP_NS: u64 = 10_000_000;
const SLEEP_56_NS: u64 = 100_000_000;

impl Innodb {
    /// A frame for a page: a free one, else that of a clean page near the end of the LRU list. None: pages must be
    /// written first, by this thread if nobody does it yet.
    pub(super) fn take_frame(&mut self, thread: ThreadNo, page: PageNo, reading: bool) -> Option<FrameId> {
        let instance = self.pool.instance_of(page);
        let generation = self.spec.generation;
        let found = self.pool.free_of(instance) > 0
            || if generation.is_mariadb() {
                self.find_frame_of_mariadb(thread, instance)
            } else if generation.has_cleaner() {
                self.find_frame_beside_cleaner(thread, instance)
            } else {
                self.find_frame(thread, instance)
            };
        if !found {
            return None;
        }
        self.threads.get(thread).end_search();
        let frame = if reading { self.pool.admit(page, true) } else { self.pool.admit_new(page, self.host.now_ms()) };
        if let Background::Cleaner(cleaner) = &self.background
            && cleaner.is_wanted(self.pool.free())
        {
            self.wake_cleaner();
        }
        frame
    }

    /// No frame is free, in a server without a page cleaner (buf_LRU_get_free_block). True: one is now. False: the thread
    /// writes pages itself, or it waits for those of another thread's batch, or it sleeps.
    fn find_frame(&mut self, thread: ThreadNo, instance: usize) -> bool {
        let size = self.pool.size() / self.pool.instances() as u64;
        let number = self.threads.get(thread).searches() + 1;
        let tenths = number.min(SEARCH_MORE);
        if self.pool.evict_one(instance, SEARCH_LEAST + tenths * (size as u32 / SEARCH_MORE)) {
            return true;
        }
        self.threads.get(thread).search_further(u32::MAX);
        // It sleeps after it has written or waited, and not in place of that.
        if number > SEARCHES_OLD && number.is_multiple_of(2) {
            self.host.schedule(self.host.now_ns() + SLEEP_OLD_NS, Event::Ready(thread));
            return false;
        }
        self.threads.note_frame_wait();
        let Self { write_back, pool, host, .. } = self;
        if write_back.is_freeing(instance) {
            write_back.wait_for_free(thread, instance);
        } else {
            let pages = u64::from(MARGIN + MARGIN_EXTRA);
            write_back.start_batch(instance, Kind::Lru, pages, Owner::Reader(thread), pool, host);
        }
        false
    }

    /// No frame is free, in a MariaDB with a page cleaner. True: one is now. False: the thread waits for the cleaner.
    fn find_frame_of_mariadb(&mut self, thread: ThreadNo, instance: usize) -> bool {
        if self.pool.evict_one(instance, SEARCHED_BESIDE_CLEANER) {
            return true;
        }
        self.threads.note_frame_wait();
        self.write_back.wait_for_free(thread, instance);
        self.wake_cleaner();
        false
    }

    /// No frame is free, in a MySQL with a page cleaner. True: one is now. False: the thread writes one page by itself, with
    /// a doublewrite of its own (buf_flush_single_page_from_LRU), or it sleeps.
    fn find_frame_beside_cleaner(&mut self, thread: ThreadNo, instance: usize) -> bool {
        let (first, sleep_ns) = if self.spec.generation.searches_go_on() {
            (SEARCHED_BESIDE_CLEANER, SLEEP_NS)
        } else if self.write_back.doubles() && self.write_back.is_choosing(instance) {
            self.write_back.wait_for_free(thread, instance);
            return false;
        } else {
            (u32::try_from(self.spec.settings.innodb_lru_scan_depth).unwrap_or(u32::MAX), SLEEP_56_NS)
        };
        let searches = self.threads.get(thread).searches();
        if searches > 0 || self.write_back.may_be_clean(instance) {
            if self.evict_clean(instance, if searches > 0 { u32::MAX } else { first }) {
                return true;
            }
            if searches == 0 {
                // Others do not search before a batch has chosen its pages.
                self.write_back.note_none_clean(instance);
            }
        }
        // In 5.6 it can only wait for the cleaner.
        if self.spec.generation.cleaner_serves_log() {
            self.wake_cleaner();
        }
        self.threads.get(thread).search_further(u32::MAX);
        // It sleeps and writes in turn.
        let sleeps = searches >= SEARCHES_AWAKE && searches.is_multiple_of(2);
        let frame = if sleeps { None } else { self.page_to_write(instance) };
        let kind = match frame {
            Some(Replaceable::Evicted) => return true,
            Some(Replaceable::Dirty(frame)) => Kind::Single(frame),
            None => {
                self.host.schedule(self.host.now_ns() + sleep_ns, Event::Ready(thread));
                return false;
            }
        };
        self.threads.note_frame_wait();
        let Self { write_back, pool, host, .. } = self;
        write_back.start_batch(instance, kind, 1, Owner::Reader(thread), pool, host);
        false
    }

    /// Evicts a clean page among `scan` at the end of an instance's LRU list; from where the last search stopped, in servers
    /// whose searches go on. False when there is none.
    pub(super) fn evict_clean(&mut self, instance: usize, scan: u32) -> bool {
        if self.spec.generation.searches_go_on() {
            self.pool.evict_next(instance, scan)
        } else {
            self.pool.evict_one(instance, scan)
        }
    }

    /// The page that a thread writes by itself for its frame: the least recently used one; or from where the last search
    /// stopped, if searches go on, where a clean page does as well.
    fn page_to_write(&mut self, instance: usize) -> Option<Replaceable> {
        if self.spec.generation.searches_go_on() {
            self.pool.next_replaceable(instance)
        } else {
            self.pool.dirty_at_end(instance, u32::MAX).map(Replaceable::Dirty)
        }
    }

    /// After a read: sees to it that the next ones in its instance find a page to evict (buf_read_page,
    /// buf_flush_free_margin). A thread that finds too few writes them itself, or waits for who does. True: it waits.
    pub(super) fn make_margin(&mut self, thread: ThreadNo, instance: usize) -> bool {
        if self.spec.generation.has_cleaner() || self.pool.free_of(instance) >= u64::from(MARGIN) {
            return false;
        }
        let free = self.pool.free_of(instance) as u32;
        let evictable = self.pool.replaceable(instance, SEARCHED, MARGIN - free) + free;
        if evictable >= MARGIN {
            return false;
        }
        let Self { write_back, pool, host, .. } = self;
        if write_back.is_freeing(instance) {
            write_back.wait_for_free(thread, instance);
            return true;
        }
        let pages = u64::from(MARGIN + MARGIN_EXTRA - evictable);
        write_back.start_batch(instance, Kind::Lru, pages, Owner::Reader(thread), pool, host);
        true
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
