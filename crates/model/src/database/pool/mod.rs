//! The buffer pool: which pages are in memory in the order of their use, and which of them are dirty in the order of
//! their oldest change. It knows no time and does no IO.
//!
//! It has one instance or several (innodb_buffer_pool_instances). A page belongs to one of them, with all pages of its
//! area; each has its own free list, LRU list (`lru.rs`) and flush list (`flush_list.rs`).

use std::iter::successors;

use super::ids::{AREA_PAGES, FrameId, Lsn, PageNo, ThreadNo};
use crate::large;

mod adaptive_hash;
mod flush_list;
mod frames;
mod hashing;
mod instance;
mod lists;
mod lru;
mod prefetch;

use adaptive_hash::AdaptiveHash;
use frames::{Content, Frame, HERE, OLD, READING, UNUSED, WRITING};
use instance::Instance;
use lists::Links;
pub(super) use lru::Replaceable;

/// Most instances that servers take (MAX_BUFFER_POOLS).
pub(super) const MAX_INSTANCES: u32 = 64;

/// The pool.
#[derive(Debug)]
pub(super) struct Pool {
    /// Pages that are dirty and not being written, a bit each: a word for each area.
    dirty_pages: Vec<u64>,
    /// The frame of each page, by the page's number: those of pages that are not in memory are not in use. So a page is
    /// found without a look at a table, and neighbours, which are often used together, share a line of the processor's
    /// cache.
    frames: Vec<Frame>,
    /// What is in the frame of each page.
    contents: Vec<Content>,
    /// When each frame's page was first used since it came in, ms; 0: not yet. Empty without innodb_old_blocks_time.
    firsts_ms: Vec<u32>,
    instances: Vec<Instance>,
    hash: AdaptiveHash,
    /// The oldest change in each instance; `Lsn::MAX` where nothing is dirty.
    oldest_lsns: Vec<Lsn>,
    /// The least of them, and the first instance that has it.
    oldest_lsn: Lsn,
    oldest_instance: usize,
    /// By thread, the one that began before it to wait for the same page.
    waits_behind: Vec<ThreadNo>,
    /// Frames in all.
    size: u64,
    free: u64,
    dirty: u64,
    /// Sum of the oldest LSNs of all dirty pages: what XtraDB's `estimate` adds up.
    oldest_sum: u128,
    /// innodb_old_blocks_time.
    old_blocks_ms: u32,
}

impl Pool {
    /// An empty pool of so many frames in `instances` of equal size, for the pages 0..pages.
    pub(super) fn new(pages: u32, frames: u32, instances: u32) -> Self {
        let instances = instances.clamp(1, MAX_INSTANCES.min(frames));
        let each = frames / instances;
        let frame = Frame { lru: Links::NONE, moved: 0, flags: 0, instance: 0, searches_to_hash: 0 };
        let content =
            Content { oldest_lsn: Lsn::ZERO, newest_lsn: Lsn::ZERO, flush: Links::NONE, waiter: ThreadNo::NONE };
        Self {
            old_blocks_ms: 0,
            dirty_pages: vec![0; pages.div_ceil(AREA_PAGES) as usize],
            contents: large::filled(content, pages as usize),
            frames: large::filled(frame, pages as usize),
            firsts_ms: Vec::new(),
            instances: vec![Instance::new(each); instances as usize],
            hash: AdaptiveHash::default(),
            oldest_lsns: vec![Lsn::MAX; instances as usize],
            oldest_lsn: Lsn::MAX,
            oldest_instance: 0,
            waits_behind: Vec::new(),
            size: u64::from(each * instances),
            free: u64::from(each * instances),
            dirty: 0,
            oldest_sum: 0,
        }
    }

    /// How many instances it has.
    pub(super) fn instances(&self) -> usize {
        self.instances.len()
    }

    /// The instance of a page.
    #[inline]
    pub(super) fn instance_of(&self, page: PageNo) -> usize {
        if self.instances.len() == 1 { 0 } else { (page.area().number() % self.instances.len() as u32) as usize }
    }

    /// Frames in all.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Frames that hold nothing.
    pub(super) fn free(&self) -> u64 {
        self.free
    }

    /// Frames of an instance that hold nothing.
    pub(super) fn free_of(&self, instance: usize) -> u64 {
        self.instances[instance].free()
    }

    /// Frames that hold a page, or wait for it.
    pub(super) fn data(&self) -> u64 {
        self.size() - self.free - self.hash_frames()
    }

    /// Frames of an instance that hold a page, or wait for it.
    pub(super) fn data_of(&self, instance: usize) -> u64 {
        self.instances[instance].data()
    }

    /// Dirty pages.
    pub(super) fn dirty(&self) -> u64 {
        self.dirty
    }

    /// The lab's dirty %: 100 x dirty / (1 + data + free).
    pub(super) fn dirty_pct(&self) -> f64 {
        100.0 * self.dirty() as f64 / (1 + self.data() + self.free()) as f64
    }

    /// The frame of a page; None when it is not in memory.
    #[inline]
    pub(super) fn find(&self, page: PageNo) -> Option<FrameId> {
        let frame = FrameId::new(page.number());
        self.has(frame, HERE).then_some(frame)
    }

    /// The frame of a page that can be used, or changed, at once: it is neither being read nor, for a change, being
    /// written, and this is not its first use. None otherwise.
    #[inline]
    pub(super) fn find_idle(&self, page: PageNo, changes: bool) -> Option<FrameId> {
        let mask = if changes { HERE | READING | UNUSED | WRITING } else { HERE | READING | UNUSED };
        (self.frames[page.index()].flags & mask == HERE).then_some(FrameId::new(page.number()))
    }

    /// The page of a frame.
    #[inline]
    pub(super) const fn page(&self, frame: FrameId) -> PageNo {
        PageNo::new(frame.number())
    }

    /// Whether a page is being read.
    #[inline]
    pub(super) fn is_reading(&self, frame: FrameId) -> bool {
        self.has(frame, READING)
    }

    /// Whether a page is being written: nobody may change it meanwhile.
    #[inline]
    pub(super) fn is_writing(&self, frame: FrameId) -> bool {
        self.has(frame, WRITING)
    }

    /// Whether a page is in the old part of the LRU list.
    #[inline]
    pub(super) fn is_old(&self, frame: FrameId) -> bool {
        self.has(frame, OLD)
    }

    /// Whether a page is used for the first time since it was read; the next time it is not.
    #[inline]
    pub(super) fn take_first_use(&mut self, frame: FrameId) -> bool {
        let first = self.has(frame, UNUSED);
        if first {
            self.frames[frame.index()].flags &= !UNUSED;
        }
        first
    }

    /// A page has been read.
    pub(super) fn end_read(&mut self, frame: FrameId) {
        self.frames[frame.index()].flags &= !READING;
    }

    /// A thread waits for the read or the write of a page.
    pub(super) fn wait(&mut self, frame: FrameId, thread: ThreadNo) {
        if self.waits_behind.len() <= thread.index() {
            self.waits_behind.resize(thread.index() + 1, ThreadNo::NONE);
        }
        self.waits_behind[thread.index()] = std::mem::replace(&mut self.contents[frame.index()].waiter, thread);
    }

    /// The threads that wait for a page, the last one first; they wait no longer.
    pub(super) fn take_waiters(&mut self, frame: FrameId) -> impl Iterator<Item = ThreadNo> + '_ {
        let last = std::mem::replace(&mut self.contents[frame.index()].waiter, ThreadNo::NONE);
        let there = |thread: ThreadNo| (thread != ThreadNo::NONE).then_some(thread);
        successors(there(last), move |thread| there(self.waits_behind[thread.index()]))
    }

    #[inline]
    fn has(&self, frame: FrameId, flag: u8) -> bool {
        self.frames[frame.index()].flags & flag != 0
    }
}

#[cfg(test)]
mod tests;
