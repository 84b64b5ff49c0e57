//! The pages that threads use: what happens where a page is not in memory and idle, and how it comes there.

use super::super::ids::{AreaNo, FrameId, PageNo, ThreadNo};
use super::super::threads::Place;
use super::super::touches::{Touch, What};
use super::Innodb;
use super::frames::SEARCHED;

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
            let Some(frame) = self.take_frame(thread, touch.page, reading) else {
                self.wait(thread, Place::FreePage);
                return None;
            };
            if reading {
                self.read(thread, frame, touch.page);
            }
            return (!reading).then_some(frame);
        };
        if self.pool.is_reading(frame) || touch.changes() && self.pool.is_writing(frame) {
            if !self.burn(thread) {
                self.pool.wait(frame, thread);
                let place = if self.pool.is_reading(frame) { Place::Read } else { Place::PageLatch };
                self.wait(thread, place);
            }
            return None;
        }
        Some(frame)
    }

    fn read(&mut self, thread: ThreadNo, frame: FrameId, page: PageNo) {
        self.read_ahead.begin_waited();
        self.pool.wait(frame, thread);
        self.wait(thread, Place::Read);
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
        if self.pool.free_of(instance) == 0 && !self.evict_clean(instance, SEARCHED) {
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
