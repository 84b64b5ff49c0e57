//! The flush list of each instance: its dirty pages in the order of their oldest change, and what changes and writes do
//! to them.

use super::super::ids::{AreaNo, FrameId, Lsn};
use super::Pool;
use super::frames::{BUSY, DIRTY, HERE, WRITING};
use super::instance::Instance;
use crate::large::near;

impl Pool {
    /// Whether a page has changes that are not in its file.
    #[cfg(test)]
    pub(super) fn is_dirty(&self, frame: FrameId) -> bool {
        self.has(frame, DIRTY)
    }

    /// LSN of a page's last change.
    pub(in super::super) fn newest_lsn(&self, frame: FrameId) -> Lsn {
        self.contents[frame.index()].newest_lsn
    }

    /// LSN of a dirty page's first change since it was written.
    pub(in super::super) fn oldest_lsn_of(&self, frame: FrameId) -> Lsn {
        self.contents[frame.index()].oldest_lsn
    }

    /// LSN of the oldest change that is in no file; None when nothing is dirty.
    #[inline]
    pub(in super::super) fn oldest_lsn(&self) -> Option<Lsn> {
        (self.oldest_lsn != Lsn::MAX).then_some(self.oldest_lsn)
    }

    /// LSN of the oldest change of an instance's pages, those that are being written included; `Lsn::MAX` when none is dirty.
    pub(in super::super) fn oldest_lsn_in(&self, instance: usize) -> Lsn {
        self.oldest_lsns[instance]
    }

    /// Sum of `now_lsn - oldest` over all dirty pages.
    pub(in super::super) fn ages_sum(&self, now_lsn: Lsn) -> u128 {
        u128::from(now_lsn.bytes()) * u128::from(self.dirty()) - self.oldest_sum
    }

    /// The dirty page of an instance with the oldest change that is not being written.
    pub(in super::super) fn oldest_dirty(&mut self, instance: usize) -> Option<FrameId> {
        let mut frame = self.instances[instance].idle();
        while frame != FrameId::NONE && !self.can_flush(frame) {
            frame = self.contents[frame.index()].flush.newer;
        }
        self.instances[instance].set_idle(frame);
        if let Some(oldest) = self.contents.get(frame.index())
            && oldest.flush.newer != FrameId::NONE
        {
            // Mostly this one is asked for next.
            self.prefetch_write(oldest.flush.newer);
        }
        frame.some()
    }

    /// The pages of an area that are dirty and not being written, a bit each.
    #[inline]
    pub(in super::super) fn dirty_of_area(&self, area: AreaNo) -> u64 {
        self.dirty_pages[area.index()]
    }

    #[inline]
    fn flip_dirty(&mut self, frame: FrameId) {
        let page = self.page(frame);
        self.dirty_pages[page.area().index()] ^= 1 << page.in_area();
    }

    /// The instance that has the oldest change.
    pub(in super::super) const fn oldest_instance(&self) -> usize {
        self.oldest_instance
    }

    /// Dirty pages whose oldest change is at or before an LSN, counted up to `most` in each instance.
    pub(in super::super) fn dirty_until(&self, lsn: Lsn, most: u64) -> u64 {
        let count = |instance: &Instance| {
            let (mut frame, mut count) = (instance.oldest_dirty(), 0);
            while frame != FrameId::NONE && count < most && self.contents[frame.index()].oldest_lsn <= lsn {
                count += 1;
                frame = self.contents[frame.index()].flush.newer;
            }
            count
        };
        self.instances.iter().map(count).sum()
    }

    /// Whether a page is dirty and not being written.
    #[inline]
    pub(super) fn can_flush(&self, frame: FrameId) -> bool {
        self.frames[frame.index()].flags & BUSY == DIRTY
    }

    /// A page was changed, from one LSN to another.
    #[inline]
    pub(in super::super) fn change(&mut self, frame: FrameId, from_lsn: Lsn, to_lsn: Lsn) {
        self.contents[frame.index()].newest_lsn = to_lsn;
        if !self.has(frame, DIRTY) {
            self.make_dirty(frame, from_lsn);
        }
    }

    #[inline(never)]
    fn make_dirty(&mut self, frame: FrameId, from_lsn: Lsn) {
        let (page, content) = (&mut self.frames[frame.index()], &mut self.contents[frame.index()]);
        debug_assert!(page.flags & HERE != 0, "only pages in memory are changed");
        page.flags |= DIRTY;
        content.oldest_lsn = from_lsn;
        let number = page.instance as usize;
        self.flip_dirty(frame);
        self.oldest_sum += u128::from(from_lsn.bytes());
        self.dirty += 1;
        self.instances[number].push_dirty(frame, &mut self.contents);
        let oldest_lsn = &mut self.oldest_lsns[number];
        *oldest_lsn = (*oldest_lsn).min(from_lsn);
        if (from_lsn, number) < (self.oldest_lsn, self.oldest_instance) {
            (self.oldest_lsn, self.oldest_instance) = (from_lsn, number);
        }
    }

    /// The write of a dirty page begins.
    pub(in super::super) fn begin_write(&mut self, frame: FrameId) {
        debug_assert!(self.can_flush(frame), "a page is written once at a time, and only if it is dirty");
        self.frames[frame.index()].flags |= WRITING;
        self.flip_dirty(frame);
    }

    /// A page is in its file.
    pub(in super::super) fn end_write(&mut self, frame: FrameId) {
        let page = &mut self.frames[frame.index()];
        page.flags &= !(WRITING | DIRTY);
        let number = page.instance as usize;
        self.oldest_sum -= u128::from(self.contents[frame.index()].oldest_lsn.bytes());
        self.dirty -= 1;
        self.instances[number].remove_dirty(frame, &mut self.contents);
        let tail = self.instances[number].oldest_dirty();
        let oldest_lsn = if tail == FrameId::NONE { Lsn::MAX } else { self.contents[tail.index()].oldest_lsn };
        let before = std::mem::replace(&mut self.oldest_lsns[number], oldest_lsn);
        if before != oldest_lsn && tail != FrameId::NONE {
            // Pages are mostly written from this end: the next one is anywhere in memory.
            let next = self.contents[tail.index()].flush.newer.index();
            if let (Some(frame), Some(content)) = (self.frames.get(next), self.contents.get(next)) {
                near(frame);
                near(content);
            }
        }
        if before == self.oldest_lsn && before != oldest_lsn {
            self.find_oldest();
        }
    }

    /// Finds the oldest change of all instances anew.
    fn find_oldest(&mut self) {
        (self.oldest_lsn, self.oldest_instance) = (Lsn::MAX, 0);
        for (instance, lsn) in self.oldest_lsns.iter().enumerate() {
            if *lsn < self.oldest_lsn {
                (self.oldest_lsn, self.oldest_instance) = (*lsn, instance);
            }
        }
    }
}
