//! One instance of a pool: its free frames, its LRU list and its flush list.

use super::super::ids::FrameId;
use super::frames::{Content, Flush, Frame, Lru, OLD};
use super::lists::List;
use crate::large::near;

/// The old sublist's share of the LRU list, in eighths: innodb_old_blocks_pct = 37.
pub(super) const OLD_EIGHTHS: u64 = 3;
/// How far the border between young and old may be off before it is moved (BUF_LRU_OLD_TOLERANCE).
pub(super) const OLD_TOLERANCE: u64 = 20;

/// A search of an LRU list that remembers where it stopped (LRUItr and LRUHp of MySQL 5.7's buf0buf.h): the first two are
/// those of threads that need a frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Search {
    /// For a clean page (lru_scan_itr).
    Clean,
    /// For a page that is clean or can be written (single_scan_itr).
    Any,
    /// The way of a batch that frees frames, which begins at the end of the list each time (lru_hp).
    Batch,
}

/// One of the pool's instances.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// Frames that hold nothing.
    free: u64,
    lru: List,
    /// Where the old sublist begins.
    old_head: FrameId,
    old: u64,
    /// Where each search that goes on does so; `NONE`: at the end.
    searched: [FrameId; 3],
    /// Its dirty pages, in the order of their oldest change.
    flush: List,
    /// All pages that are older than this one in the flush list are being written; `NONE`: all pages in it are.
    idle: FrameId,
    /// Pages that it has evicted.
    evicted: u32,
    /// A page that was moved to the front since so many evictions is young enough to stay where it is.
    young_quarter: u32,
}

impl Instance {
    /// An empty instance of so many frames.
    pub(super) fn new(frames: u32) -> Self {
        Self {
            free: u64::from(frames),
            lru: List::EMPTY,
            old_head: FrameId::NONE,
            old: 0,
            searched: [FrameId::NONE; 3],
            flush: List::EMPTY,
            idle: FrameId::NONE,
            evicted: 0,
            young_quarter: (u64::from(frames) * (8 - OLD_EIGHTHS) / 32) as u32,
        }
    }

    /// Frames that hold nothing.
    pub(super) const fn free(&self) -> u64 {
        self.free
    }

    /// Frames that hold a page, or wait for it.
    pub(super) const fn data(&self) -> u64 {
        self.lru.len()
    }

    /// Pages in the old part of the list.
    #[cfg(test)]
    pub(super) const fn old(&self) -> u64 {
        self.old
    }

    /// The page that was used last, or `NONE`.
    #[cfg(test)]
    pub(super) const fn youngest(&self) -> FrameId {
        self.lru.head()
    }

    /// Whether a page has left the youngest quarter, so that its next use moves it to the front.
    #[inline]
    pub(super) fn is_to_move(&self, frame: &Frame) -> bool {
        self.evicted.wrapping_sub(frame.moved) > self.young_quarter
    }

    /// The page that was not used for the longest time, or `NONE`.
    pub(super) const fn least_recent(&self) -> FrameId {
        self.lru.tail()
    }

    /// The page with which a search goes on, or `NONE`: at the end of the list as long as it stopped among the old pages,
    /// else where it stopped (LRUItr::start). So one search after another looks at the same dirty pages.
    pub(super) fn search_from(&self, search: Search, frames: &[Frame]) -> FrameId {
        let at = self.searched[search as usize];
        let is_young = frames.get(at.index()).is_some_and(|page| page.flags & OLD == 0);
        if is_young { at } else { self.lru.tail() }
    }

    /// The page with which the way of a batch goes on, or `NONE`.
    pub(super) const fn batch_from(&self) -> FrameId {
        self.searched[Search::Batch as usize]
    }

    /// A search stops before this page; `NONE`: at the young end of the list.
    pub(super) const fn end_search(&mut self, search: Search, before: FrameId) {
        self.searched[search as usize] = before;
    }

    /// The dirty page with the oldest change, or `NONE`.
    #[inline]
    pub(super) const fn oldest_dirty(&self) -> FrameId {
        self.flush.tail()
    }

    /// The page from which the search for the oldest one that is not being written begins, or `NONE`.
    pub(super) const fn idle(&self) -> FrameId {
        self.idle
    }

    /// All pages that are older than this one in the flush list are being written.
    pub(super) const fn set_idle(&mut self, frame: FrameId) {
        self.idle = frame;
    }

    /// Takes a free frame for a page with these flags, which enters where the old sublist begins. False when none is free.
    pub(super) fn admit(&mut self, frame: FrameId, flags: u8, frames: &mut [Frame]) -> bool {
        let Some(free) = self.free.checked_sub(1) else { return false };
        self.free = free;
        let new = &mut frames[frame.index()];
        new.flags = flags;
        // Far from young: its first use moves it.
        new.moved = self.evicted.wrapping_sub(u32::MAX / 2);
        self.lru.insert_before(self.old_head, frame, &mut Lru(frames));
        self.old_head = frame;
        self.old += 1;
        self.move_border(frames);
        true
    }

    /// Takes a free frame for something else than a page.
    pub(super) const fn take_free(&mut self) {
        self.free -= 1;
    }

    /// Gives back such a frame.
    pub(super) const fn give_free(&mut self) {
        self.free += 1;
    }

    /// Frees a page's frame.
    pub(super) fn evict(&mut self, frame: FrameId, frames: &mut [Frame]) {
        self.unlink(frame, frames);
        frames[frame.index()].flags = 0;
        self.move_border(frames);
        self.free += 1;
        self.evicted = self.evicted.wrapping_add(1);
    }

    /// Moves a page to the old end of the LRU list.
    pub(super) fn make_oldest(&mut self, frame: FrameId, frames: &mut [Frame]) {
        self.unlink(frame, frames);
        self.lru.push_back(frame, &mut Lru(frames));
        frames[frame.index()].flags |= OLD;
        if self.old_head == FrameId::NONE {
            self.old_head = frame;
        }
        self.old += 1;
        self.move_border(frames);
    }

    /// A page is dirty from now on.
    #[inline]
    pub(super) fn push_dirty(&mut self, frame: FrameId, contents: &mut [Content]) {
        self.flush.push_front(frame, &mut Flush(contents));
        if self.idle == FrameId::NONE {
            self.idle = frame;
        }
    }

    /// A page is clean from now on.
    pub(super) fn remove_dirty(&mut self, frame: FrameId, contents: &mut [Content]) {
        if self.idle == frame {
            self.idle = contents[frame.index()].flush.newer;
        }
        self.flush.remove(frame, &mut Flush(contents));
    }

    /// Moves a page to the young end of the LRU list.
    pub(super) fn make_young(&mut self, frame: FrameId, frames: &mut [Frame]) {
        self.unlink(frame, frames);
        self.lru.push_front(frame, &mut Lru(frames));
        let moved = &mut frames[frame.index()];
        moved.flags &= !OLD;
        moved.moved = self.evicted;
        self.move_border(frames);
    }

    fn unlink(&mut self, frame: FrameId, frames: &mut [Frame]) {
        let page = frames[frame.index()];
        if self.old_head == frame {
            self.old_head = page.lru.older;
        }
        self.old -= u64::from(page.flags & OLD != 0);
        for at in &mut self.searched {
            if *at == frame {
                *at = page.lru.newer;
            }
        }
        self.lru.remove(frame, &mut Lru(frames));
    }

    /// Keeps the old sublist near three eighths of the list (buf_LRU_old_adjust_len).
    fn move_border(&mut self, frames: &mut [Frame]) {
        let target = self.lru.len() * OLD_EIGHTHS / 8;
        while self.old > target + OLD_TOLERANCE {
            let first = &mut frames[self.old_head.index()];
            first.flags &= !OLD;
            self.old_head = first.lru.older;
            self.old -= 1;
        }
        let head = self.old_head;
        while self.old + OLD_TOLERANCE < target {
            self.old_head =
                if self.old_head == FrameId::NONE { self.lru.tail() } else { frames[self.old_head.index()].lru.newer };
            frames[self.old_head.index()].flags |= OLD;
            self.old += 1;
        }
        if self.old_head != head
            && let Some(next) = frames.get(frames[self.old_head.index()].lru.newer.index())
        {
            // The next page of the border is anywhere in memory.
            near(next);
        }
    }
}
