//! The pages that threads use: what happens where a page is not in memory and idle, and how it comes there.

use super::super::ids::{AreaNo, FrameId, PageNo, ThreadNo};
use super::super::touches::{Touch, What};
use super::super::write_back::{Kind, Owner};
use super::Innodb;

/// How much of the end of the LRU list is looked at for pages that can be evicted, before more are written
/// (BUF_LRU_FREE_SEARCH_LEN of MySQL 5.5, with read-ahead areas of 64 pages).
pub(super) const SEARCHED: u32 = 133;
/// How much a thread of a server with a page cleaner looks at (BUF_LRU_SEARCH_SCAN_THRESHOLD).
const SEARCHED_BESIDE_CLEANER: u32 = 100;
/// How far a thread that wants a frame searches for a page that it can evict: so many pages, and a tenth of the pool more
/// each time it comes back (buf_LRU_free_from_common_LRU_list).
const SEARCH_FIRST: u32 = 100;
const SEARCH_MORE: u32 = 10;
/// Pages at the end of the LRU list that should be free or clean; and how many more are written when they are not
/// (BUF_FLUSH_FREE_BLOCK_MARGIN and BUF_FLUSH_EXTRA_MARGIN).
const MARGIN: u32 = 69;
const MARGIN_EXTRA: u32 = 117;

impl Innodb {
    /// A page that a thread uses, where `run_hits` has left it. False: the thread waits, and tries again.
    pub(super) fn use_page(&mut self, thread: ThreadNo, wanted: Touch) -> bool {
        let touch = self.through_change_buffer(wanted);
        let changes = touch.changes();
        if changes && !(self.may_append(thread) && self.may_change(thread)) {
            return false;
        }
        let Some(frame) = self.frame_for(thread, touch) else { return false };
        self.threads.note_use();
        let first_use = self.pool.take_first_use(frame);
        if touch.what != What::Glance {
            self.pool.touch(frame, self.host.now_ms());
        }
        if changes {
            self.threads.get(thread).change(&mut self.pool, &mut self.log, frame, touch);
            let near = self.limits.are_near(self.age(), self.log.checkpoint_age());
            self.limits.note_change(near);
        }
        // The reads need frames, and may take any: this page is used before.
        if first_use {
            self.read_ahead_linear(touch.page);
        }
        if touch.page != wanted.page {
            let next = self.add_to_change_buffer(wanted, false);
            self.threads.get(thread).insert_behind(next);
        }
        self.threads.get(thread).charge_touch(&self.spec.cpu);
        true
    }

    /// The frame of a page, for a use of it. None: the thread waits.
    fn frame_for(&mut self, thread: ThreadNo, touch: Touch) -> Option<FrameId> {
        let Some(frame) = self.pool.find(touch.page) else {
            if self.burn(thread) {
                return None;
            }
            let reading = touch.what != What::Create;
            let frame = self.take_frame(thread, touch.page, reading)?;
            if reading {
                self.read(thread, frame, touch.page);
            }
            return (!reading).then_some(frame);
        };
        if self.pool.is_reading(frame) || touch.changes() && self.pool.is_writing(frame) {
            if !self.burn(thread) {
                self.pool.wait(frame, thread);
            }
            return None;
        }
        Some(frame)
    }

    fn read(&mut self, thread: ThreadNo, frame: FrameId, page: PageNo) {
        self.read_ahead.begin_waited();
        self.pool.wait(frame, thread);
        self.threads.get(thread).charge_read(&self.spec.cpu, self.pool.instance_of(page));
        self.host.read_page(page, frame);
        self.read_ahead_random(page);
    }

    /// A page is used for the first time since it was read.
    pub(super) fn read_ahead_linear(&mut self, page: PageNo) {
        if let Some(area) = self.read_ahead.note_use(page) {
            self.read_extent(area);
        }
    }

    /// A page has to be read.
    pub(super) fn read_ahead_random(&mut self, page: PageNo) {
        let (pool, all) = (&self.pool, self.touches.pages());
        let young = |page: &PageNo| pool.find(*page).is_some_and(|frame| pool.is_used_and_young(frame));
        if self.read_ahead.is_random(page.area().pages(all).filter(young)) {
            self.read_extent(page.area());
        }
    }

    /// A page has been read: the first thread that waits for it merges what waits for it in the change buffer, or the
    /// merger, when no thread waits.
    pub(super) fn end_read(&mut self, frame: FrameId) {
        self.pool.end_read(frame);
        self.read_ahead.end();
        let first = self.host.wake_last_first(self.pool.take_waiters(frame));
        let Some(buffer) = &mut self.change_buffer else { return };
        let Some(touches) = buffer.merge(self.pool.page(frame)) else { return };
        if let Some(thread) = first {
            self.threads.get(thread).insert_before(&touches);
            return;
        }
        self.threads.get(buffer.merger()).append(&touches);
        if buffer.wake_merger() {
            self.host.wake(buffer.merger());
        }
    }

    /// A frame for a page: a free one, else that of a clean page near the end of the LRU list. None: pages must be
    /// written first, by this thread if nobody does it yet.
    fn take_frame(&mut self, thread: ThreadNo, page: PageNo, reading: bool) -> Option<FrameId> {
        let instance = self.pool.instance_of(page);
        let found = self.pool.free_of(instance) > 0
            || if self.spec.generation.has_cleaner() {
                self.find_frame_beside_cleaner(thread, instance)
            } else {
                self.find_frame(thread, instance)
            };
        if !found {
            return None;
        }
        if !self.spec.generation.has_cleaner() {
            self.threads.get(thread).end_search();
        }
        self.pool.admit(page, reading)
    }

    /// No frame is free. True: one is now. False: the thread waits for a batch.
    fn find_frame(&mut self, thread: ThreadNo, instance: usize) -> bool {
        let size = self.pool.size() / self.pool.instances() as u64;
        let pages = SEARCH_FIRST + self.threads.get(thread).searches() * (size as u32 / SEARCH_MORE);
        if self.pool.evict_one(instance, pages) {
            return true;
        }
        self.threads.get(thread).search_further(SEARCH_MORE);
        self.threads.note_frame_wait();
        let Self { write_back, pool, host, .. } = self;
        write_back.wait_for_free(thread, instance);
        if !write_back.is_freeing(instance) {
            let pages = u64::from(MARGIN + MARGIN_EXTRA);
            write_back.start_batch(instance, Kind::Lru, pages, Owner::Nobody, pool, host);
        }
        false
    }

    /// No frame is free, in a server with a page cleaner. True: one is now. False: the thread waits for the cleaner, or writes
    /// one page by itself.
    fn find_frame_beside_cleaner(&mut self, thread: ThreadNo, instance: usize) -> bool {
        if self.pool.evict_one(instance, SEARCHED_BESIDE_CLEANER) {
            return true;
        }
        self.threads.note_frame_wait();
        if self.spec.generation.is_mariadb() {
            self.write_back.wait_for_free(thread, instance);
            self.wake_cleaner();
            return false;
        }
        // The cleaner is woken since 5.7; the thread writes one page by itself all the same, with a doublewrite of its own
        // (buf_flush_single_page_from_LRU).
        if self.spec.generation.cleaner_serves_log() {
            self.wake_cleaner();
        }
        let Self { write_back, pool, host, .. } = self;
        write_back.start_batch(instance, Kind::Single, 1, Owner::Thread(thread), pool, host);
        false
    }

    /// After a read: sees to it that the next ones in its instance find a page to evict (buf_flush_free_margin). True: the
    /// thread waits.
    pub(super) fn make_margin(&mut self, thread: ThreadNo, instance: usize) -> bool {
        if self.spec.generation.has_cleaner() || self.pool.free_of(instance) >= u64::from(MARGIN) {
            return false;
        }
        let free = self.pool.free_of(instance) as u32;
        let evictable = self.pool.replaceable(instance, SEARCHED, MARGIN - free) + free;
        if evictable >= MARGIN {
            return false;
        }
        let waits = self.spec.generation.readers_wait_for_margin();
        let Self { write_back, pool, host, .. } = self;
        if write_back.is_freeing(instance) {
            if waits {
                write_back.wait_for_free(thread, instance);
            }
            return waits;
        }
        let owner = if waits { Owner::Thread(thread) } else { Owner::Nobody };
        let pages = u64::from(MARGIN + MARGIN_EXTRA - evictable);
        write_back.start_batch(instance, Kind::Lru, pages, owner, pool, host);
        waits
    }

    /// Reads those pages of an extent that are not in memory.
    fn read_extent(&mut self, area: AreaNo) {
        if self.read_ahead.keeps_off(self.pool.size()) {
            return;
        }
        let before = self.read_ahead.counts().unwaited;
        for page in area.pages(self.touches.pages()) {
            if !self.read_unwaited(page) {
                break;
            }
        }
        self.read_ahead.note_ahead(self.read_ahead.counts().unwaited - before);
    }

    /// Reads a page for which nobody waits, unless it is in memory or being read. False: there is no frame for it at once,
    /// and it is not read.
    pub(super) fn read_unwaited(&mut self, page: PageNo) -> bool {
        if self.pool.find(page).is_some() {
            return true;
        }
        let instance = self.pool.instance_of(page);
        if self.pool.free_of(instance) == 0 && !self.pool.evict_one(instance, SEARCHED) {
            return false;
        }
        let Some(frame) = self.pool.admit(page, true) else { return false };
        self.read_ahead.begin_unwaited();
        self.host.book(self.spec.cpu.read_ns);
        self.host.read_page(page, frame);
        true
    }

    /// What is done in place of a change that goes to the change buffer; any other touch as it is.
    #[inline]
    pub(super) fn through_change_buffer(&self, touch: Touch) -> Touch {
        match &self.change_buffer {
            Some(buffer) if touch.is_bufferable() && self.pool.find(touch.page).is_none() => {
                buffer.divert(touch).unwrap_or(touch)
            }
            _ => touch,
        }
    }

    /// A thread has put a change into the change buffer. Returns what it does next: a leaf that was split, and pages that
    /// it merges because there are too many. In the warm-up no device answers: what is read there is read at once.
    pub(super) fn add_to_change_buffer(&mut self, touch: Touch, in_warm_up: bool) -> Vec<Touch> {
        let Some(buffer) = &mut self.change_buffer else { return Vec::new() };
        let added = buffer.add(touch);
        let mut next: Vec<Touch> = added.split.into_iter().collect();
        for page in added.merge {
            if added.waits || in_warm_up {
                next.push(Touch::read(page));
            } else {
                self.read_unwaited(page);
            }
        }
        next
    }

    /// A second of the master thread: pages are read for what waits for them in the change buffer.
    pub(super) fn merge_in_background(&mut self, ten: bool) {
        let ios = self.host.traffic().ios;
        let Some(buffer) = &mut self.change_buffer else { return };
        let mut left = buffer.background_pages(ten, ios);
        while left > 0 {
            let pages = self.change_buffer.as_mut().map_or_else(Vec::new, |buffer| buffer.pick());
            if pages.is_empty() {
                return;
            }
            for page in pages {
                if !self.read_unwaited(page) {
                    return;
                }
                left = left.saturating_sub(1);
            }
        }
    }
}
