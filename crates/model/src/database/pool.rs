//! The buffer pool: which pages are in memory in the order of their use, and which of them are dirty in the order of
//! their oldest change. It knows no time and does no IO.
//!
//! It has one instance or several (innodb_buffer_pool_instances). A page belongs to one of them, with all pages of its
//! area; each has its own free list, LRU list and flush list.

use super::frames::{BUSY, Content, DIRTY, Flush, Frame, HERE, Lru, OLD, READING, UNUSED, WRITING};
use super::lists::{Links, List};
use crate::large::{self, near};

/// No page, no frame, no thread.
pub const NONE: u32 = u32::MAX;
/// Bytes of a page (innodb_page_size).
pub const PAGE_BYTES: u64 = 16 << 10;

/// The old sublist's share of the LRU list, in eighths: innodb_old_blocks_pct = 37.
const OLD_EIGHTHS: u64 = 3;
/// How far the border between young and old may be off before it is moved (BUF_LRU_OLD_TOLERANCE).
const OLD_TOLERANCE: u64 = 20;

/// Most instances that servers take (MAX_BUFFER_POOLS).
pub const MAX_INSTANCES: u32 = 64;
/// Neighbours that are in one instance (BUF_READ_AHEAD_AREA; 1 MiB).
pub const AREA_PAGES: u32 = 64;

/// One of the pool's instances.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// Frames that hold nothing.
    free: u64,
    lru: List,
    /// Where the old sublist begins.
    old_head: u32,
    old: u64,
    flush: List,
    /// Who is older than this page in the flush list is being written; `NONE`: everybody in it is.
    idle: u32,
    /// Pages that it has evicted.
    evicted: u32,
    /// A page that was moved to the front since so many evictions is young enough to stay where it is.
    young_quarter: u32,
}

/// The pool.
#[derive(Debug)]
pub struct Pool {
    /// Pages that are dirty and that nobody writes, a bit each: a word an area.
    dirty_pages: Vec<u64>,
    /// By page, its frame: those of pages that are not in memory are not in use. So a page is found without a look at a
    /// table, and neighbours, which are often used together, share a line of the processor's cache.
    pub(super) frames: Vec<Frame>,
    /// By page, what is in its frame.
    pub(super) contents: Vec<Content>,
    /// When each frame's page was first used since it came in, ms; 0: not yet. Empty without innodb_old_blocks_time.
    firsts_ms: Vec<u32>,
    pub(super) instances: Vec<Instance>,
    /// The oldest change in each instance; `u64::MAX` where nothing is dirty.
    oldest_lsns: Vec<u64>,
    /// The least of them, and the first instance that has it.
    oldest_lsn: u64,
    oldest_instance: usize,
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
    /// An empty pool of so many frames in `instances` of equal size, for pages 0..pages.
    pub fn new(pages: u32, frames: u32, instances: u32) -> Self {
        let instances = instances.clamp(1, MAX_INSTANCES.min(frames));
        let each = frames / instances;
        let own = Instance {
            free: u64::from(each),
            lru: List::EMPTY,
            old_head: NONE,
            old: 0,
            flush: List::EMPTY,
            idle: NONE,
            evicted: 0,
            young_quarter: (u64::from(each) * (8 - OLD_EIGHTHS) / 32) as u32,
        };
        let frame = Frame { lru: Links::NONE, moved: 0, flags: 0, instance: 0 };
        let content = Content { oldest_lsn: 0, newest_lsn: 0, flush: Links::NONE, waiter: NONE };
        Self {
            old_blocks_ms: 0,
            dirty_pages: vec![0; pages.div_ceil(AREA_PAGES) as usize],
            contents: large::filled(content, pages as usize),
            frames: large::filled(frame, pages as usize),
            firsts_ms: Vec::new(),
            instances: vec![own; instances as usize],
            oldest_lsns: vec![u64::MAX; instances as usize],
            oldest_lsn: u64::MAX,
            oldest_instance: 0,
            size: u64::from(each * instances),
            free: u64::from(each * instances),
            dirty: 0,
            oldest_sum: 0,
        }
    }

    /// How many instances it has.
    pub fn instances(&self) -> usize {
        self.instances.len()
    }

    /// The instance of a page.
    #[inline]
    pub fn instance_of(&self, page: u32) -> usize {
        if self.instances.len() == 1 { 0 } else { (page / AREA_PAGES % self.instances.len() as u32) as usize }
    }

    /// Frames in all.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Frames that hold nothing.
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Frames of an instance that hold nothing.
    pub fn free_of(&self, instance: usize) -> u64 {
        self.instances[instance].free
    }

    /// Frames that hold a page, or wait for it.
    pub fn data(&self) -> u64 {
        self.size() - self.free
    }

    /// Frames of an instance that hold a page, or wait for it.
    pub fn data_of(&self, instance: usize) -> u64 {
        self.instances[instance].lru.len
    }

    /// Dirty pages.
    pub fn dirty(&self) -> u64 {
        self.dirty
    }

    /// The lab's dirty %: 100 x dirty / (1 + data + free).
    pub fn dirty_pct(&self) -> f64 {
        100.0 * self.dirty() as f64 / (1 + self.size()) as f64
    }

    /// The frame of a page; None when it is not in memory.
    #[inline]
    pub fn find(&self, page: u32) -> Option<u32> {
        self.has(page, HERE).then_some(page)
    }

    /// The frame of a page that can be used, or changed, without anything else: it is neither on its way in nor, for a
    /// change, on its way out, and this is not its first use. None otherwise.
    #[inline]
    pub fn find_idle(&self, page: u32, changes: bool) -> Option<u32> {
        let asked = if changes { HERE | READING | UNUSED | WRITING } else { HERE | READING | UNUSED };
        (self.frames[page as usize].flags & asked == HERE).then_some(page)
    }

    /// The page of a frame, whose number it has.
    #[inline]
    pub const fn page(&self, frame: u32) -> u32 {
        frame
    }

    /// Whether a page is on its way in.
    #[inline]
    pub fn is_reading(&self, frame: u32) -> bool {
        self.has(frame, READING)
    }

    /// Whether a page is on its way out: nobody may change it meanwhile.
    #[inline]
    pub fn is_writing(&self, frame: u32) -> bool {
        self.has(frame, WRITING)
    }

    /// Whether a page is in the list's old part.
    #[inline]
    pub fn is_old(&self, frame: u32) -> bool {
        self.has(frame, OLD)
    }

    /// Whether a page has changes that are not in its file.
    #[cfg(test)]
    fn is_dirty(&self, frame: u32) -> bool {
        self.has(frame, DIRTY)
    }

    /// Whether a page is used for the first time since it was read; the next time it is not.
    #[inline]
    pub fn take_first_use(&mut self, frame: u32) -> bool {
        let first = self.has(frame, UNUSED);
        if first {
            self.frames[frame as usize].flags &= !UNUSED;
        }
        first
    }

    /// Whether a page was used and is in the youngest quarter of the young ones.
    pub fn is_used_and_young(&self, frame: u32) -> bool {
        let page = &self.frames[frame as usize];
        let own = &self.instances[page.instance as usize];
        page.flags & UNUSED == 0 && own.evicted.wrapping_sub(page.moved) <= own.young_quarter
    }

    /// LSN of a page's last change.
    pub fn newest_lsn(&self, frame: u32) -> u64 {
        self.contents[frame as usize].newest_lsn
    }

    /// LSN of a dirty page's first change since it was written.
    pub fn oldest_lsn_of(&self, frame: u32) -> u64 {
        self.contents[frame as usize].oldest_lsn
    }

    /// LSN of the oldest change that is in no file; None when nothing is dirty.
    #[inline]
    pub fn oldest_lsn(&self) -> Option<u64> {
        (self.oldest_lsn != u64::MAX).then_some(self.oldest_lsn)
    }

    /// Sum of `now_lsn - oldest` over all dirty pages.
    pub fn ages_sum(&self, now_lsn: u64) -> u128 {
        u128::from(now_lsn) * u128::from(self.dirty()) - self.oldest_sum
    }

    /// First of the threads that wait for this frame, to be replaced by the caller's.
    #[inline]
    pub fn swap_waiter(&mut self, frame: u32, thread: u32) -> u32 {
        std::mem::replace(&mut self.contents[frame as usize].waiter, thread)
    }

    /// Takes a free frame for a page that is read (`reading`) or made anew. It goes to the middle of the list, and to
    /// its front with its first use. None when no frame of its instance is free.
    pub fn admit(&mut self, page: u32, reading: bool) -> Option<u32> {
        let instance = self.instance_of(page);
        let own = &mut self.instances[instance];
        own.free = own.free.checked_sub(1)?;
        self.free -= 1;
        let frame = page;
        if let Some(first_ms) = self.firsts_ms.get_mut(frame as usize) {
            *first_ms = 0;
        }
        let new = &mut self.frames[frame as usize];
        new.flags = HERE | OLD | if reading { READING | UNUSED } else { 0 };
        new.instance = instance as u8;
        new.moved = own.evicted.wrapping_sub(u32::MAX / 2);
        own.lru.insert_before(own.old_head, frame, &mut Lru(&mut self.frames));
        own.old_head = frame;
        own.old += 1;
        own.move_border(&mut self.frames);
        Some(frame)
    }

    /// A page has come in.
    pub fn end_read(&mut self, frame: u32) {
        self.frames[frame as usize].flags &= !READING;
    }

    /// A page was used: it goes to the front, unless it is in the youngest quarter of the young pages already
    /// (buf_page_peek_if_too_old). With innodb_old_blocks_time an old page goes there only with a use that comes so long
    /// after its first one.
    #[inline]
    pub fn touch(&mut self, frame: u32, now_ms: u32) {
        let page = &self.frames[frame as usize];
        let own = &mut self.instances[page.instance as usize];
        if own.is_to_move(page) {
            if self.old_blocks_ms > 0 && page.flags & OLD != 0 {
                let first_ms = &mut self.firsts_ms[frame as usize];
                if *first_ms == 0 {
                    *first_ms = now_ms.max(1);
                    return;
                }
                if now_ms.saturating_sub(*first_ms) < self.old_blocks_ms {
                    return;
                }
            }
            own.make_young(frame, &mut self.frames);
        }
    }

    /// Whether a page was used since it came in, where innodb_old_blocks_time asks for it.
    pub fn is_used(&self, frame: u32) -> bool {
        self.firsts_ms.get(frame as usize).is_some_and(|first_ms| *first_ms > 0)
    }

    /// innodb_old_blocks_time.
    pub fn set_old_blocks_ms(&mut self, old_blocks_ms: u32) {
        self.old_blocks_ms = old_blocks_ms;
        self.firsts_ms = if old_blocks_ms > 0 { vec![0; self.frames.len()] } else { Vec::new() };
    }

    /// A page that was written for its frame's sake goes to the end of the list, to be evicted next.
    pub fn make_oldest(&mut self, frame: u32) {
        let own = &mut self.instances[self.frames[frame as usize].instance as usize];
        own.unlink(frame, &mut self.frames);
        own.lru.push_back(frame, &mut Lru(&mut self.frames));
        self.frames[frame as usize].flags |= OLD;
        if own.old_head == NONE {
            own.old_head = frame;
        }
        own.old += 1;
        own.move_border(&mut self.frames);
    }

    /// Frees a clean page's frame.
    fn evict(&mut self, frame: u32) {
        let own = &mut self.instances[self.frames[frame as usize].instance as usize];
        own.unlink(frame, &mut self.frames);
        self.frames[frame as usize].flags = 0;
        own.free += 1;
        own.evicted = own.evicted.wrapping_add(1);
        self.free += 1;
    }

    /// The last `scan` frames of an instance's LRU list, the least recently used first.
    fn at_end(&self, instance: usize, scan: u32) -> impl Iterator<Item = (u32, &Frame)> {
        let mut next = self.instances[instance].lru.tail;
        (0..scan).map_while(move |_| {
            let frame = next;
            let own = self.frames.get(frame as usize)?;
            next = own.lru.newer;
            Some((frame, own))
        })
    }

    /// Evicts the clean page that is least recently used among the last `scan` of an instance's list. False when there is
    /// none.
    pub fn evict_one(&mut self, instance: usize, scan: u32) -> bool {
        let found = self.at_end(instance, scan).find(|(_, own)| own.flags & BUSY == 0).map(|(frame, _)| frame);
        if let Some(frame) = found {
            self.evict(frame);
        }
        found.is_some()
    }

    /// Evicts clean pages among the last `scan` of an instance's list until `wanted` are free; how many dirty ones it came
    /// by.
    pub fn evict_to(&mut self, instance: usize, wanted: u64, scan: u32) -> u64 {
        let (mut frame, mut dirty) = (self.instances[instance].lru.tail, 0);
        for _ in 0..scan {
            if frame == NONE || self.free_of(instance) >= wanted {
                break;
            }
            let own = self.frames[frame as usize];
            if own.flags & BUSY == 0 {
                self.evict(frame);
            }
            dirty += u64::from(own.flags & BUSY == DIRTY);
            frame = own.lru.newer;
        }
        dirty
    }

    /// How many of the last `scan` pages of an instance's list could be evicted at once; counted up to `most`.
    pub fn replaceable(&self, instance: usize, scan: u32, most: u32) -> u32 {
        self.at_end(instance, scan).filter(|(_, own)| own.flags & BUSY == 0).take(most as usize).count() as u32
    }

    /// The least recently used page among the last `scan` of an instance that is dirty and not being written.
    pub fn dirty_at_end(&self, instance: usize, scan: u32) -> Option<u32> {
        self.at_end(instance, scan).find(|(_, own)| own.flags & BUSY == DIRTY).map(|(frame, _)| frame)
    }

    /// The dirty page of an instance with the oldest change that is not being written.
    pub fn oldest_dirty(&mut self, instance: usize) -> Option<u32> {
        let mut frame = self.instances[instance].idle;
        while frame != NONE && !self.can_flush(frame) {
            frame = self.contents[frame as usize].flush.newer;
        }
        self.instances[instance].idle = frame;
        if let Some(own) = self.contents.get(frame as usize)
            && own.flush.newer != NONE
        {
            // Mostly the next to be asked for.
            self.bring_write(own.flush.newer);
        }
        (frame != NONE).then_some(frame)
    }

    /// The pages of an area that are dirty and that nobody writes, a bit each.
    #[inline]
    pub fn dirty_of_area(&self, area: u32) -> u64 {
        self.dirty_pages[area as usize]
    }

    /// Brings nearer where `flip_dirty` has something to do.
    #[inline]
    pub(super) fn bring_dirty(&self, page: u32) {
        near(&self.dirty_pages[(page / AREA_PAGES) as usize]);
    }

    #[inline]
    fn flip_dirty(&mut self, page: u32) {
        self.dirty_pages[(page / AREA_PAGES) as usize] ^= 1 << (page % AREA_PAGES);
    }

    /// The instance that has the oldest change.
    pub const fn oldest_instance(&self) -> usize {
        self.oldest_instance
    }

    /// Dirty pages whose oldest change is at or before an LSN, counted up to `most` in each instance.
    pub fn dirty_until(&self, lsn: u64, most: u64) -> u64 {
        let count = |own: &Instance| {
            let (mut frame, mut count) = (own.flush.tail, 0);
            while frame != NONE && count < most && self.contents[frame as usize].oldest_lsn <= lsn {
                count += 1;
                frame = self.contents[frame as usize].flush.newer;
            }
            count
        };
        self.instances.iter().map(count).sum()
    }

    /// Whether a page is dirty and nobody writes it yet.
    #[inline]
    pub fn can_flush(&self, frame: u32) -> bool {
        self.frames[frame as usize].flags & BUSY == DIRTY
    }

    /// A page was changed, from one LSN to another.
    #[inline]
    pub fn change(&mut self, frame: u32, from_lsn: u64, to_lsn: u64) {
        self.contents[frame as usize].newest_lsn = to_lsn;
        if !self.has(frame, DIRTY) {
            self.make_dirty(frame, from_lsn);
        }
    }

    #[inline(never)]
    fn make_dirty(&mut self, frame: u32, from_lsn: u64) {
        let (own, content) = (&mut self.frames[frame as usize], &mut self.contents[frame as usize]);
        own.flags |= DIRTY;
        content.oldest_lsn = from_lsn;
        let instance = own.instance as usize;
        self.flip_dirty(frame);
        self.oldest_sum += u128::from(from_lsn);
        self.dirty += 1;
        let own = &mut self.instances[instance];
        own.flush.push_front(frame, &mut Flush(&mut self.contents));
        if own.idle == NONE {
            own.idle = frame;
        }
        let oldest_lsn = &mut self.oldest_lsns[instance];
        *oldest_lsn = (*oldest_lsn).min(from_lsn);
        if (from_lsn, instance) < (self.oldest_lsn, self.oldest_instance) {
            (self.oldest_lsn, self.oldest_instance) = (from_lsn, instance);
        }
    }

    /// A dirty page is being written.
    pub fn begin_write(&mut self, frame: u32) {
        self.frames[frame as usize].flags |= WRITING;
        self.flip_dirty(frame);
    }

    /// A page is in its file.
    pub fn end_write(&mut self, frame: u32) {
        let own = &mut self.frames[frame as usize];
        own.flags &= !(WRITING | DIRTY);
        let instance = own.instance as usize;
        self.oldest_sum -= u128::from(self.contents[frame as usize].oldest_lsn);
        self.dirty -= 1;
        let own = &mut self.instances[instance];
        if own.idle == frame {
            own.idle = self.contents[frame as usize].flush.newer;
        }
        own.flush.remove(frame, &mut Flush(&mut self.contents));
        let tail = own.flush.tail;
        let oldest_lsn = if tail == NONE { u64::MAX } else { self.contents[tail as usize].oldest_lsn };
        let before = std::mem::replace(&mut self.oldest_lsns[instance], oldest_lsn);
        if before != oldest_lsn && tail != NONE {
            // Pages are mostly written from this end: the one that comes next is anywhere in memory.
            let next = self.contents[tail as usize].flush.newer as usize;
            if let (Some(frame), Some(content)) = (self.frames.get(next), self.contents.get(next)) {
                near(frame);
                near(content);
            }
        }
        if before == self.oldest_lsn && before != oldest_lsn {
            (self.oldest_lsn, self.oldest_instance) = (u64::MAX, 0);
            for (instance, lsn) in self.oldest_lsns.iter().enumerate() {
                if *lsn < self.oldest_lsn {
                    (self.oldest_lsn, self.oldest_instance) = (*lsn, instance);
                }
            }
        }
    }

    #[inline]
    fn has(&self, frame: u32, flag: u8) -> bool {
        self.frames[frame as usize].flags & flag != 0
    }
}

impl Instance {
    /// Whether a page is not among the youngest any more.
    #[inline]
    pub(super) fn is_to_move(&self, frame: &Frame) -> bool {
        self.evicted.wrapping_sub(frame.moved) > self.young_quarter
    }

    fn make_young(&mut self, frame: u32, frames: &mut [Frame]) {
        self.unlink(frame, frames);
        self.lru.push_front(frame, &mut Lru(frames));
        let own = &mut frames[frame as usize];
        own.flags &= !OLD;
        own.moved = self.evicted;
        self.move_border(frames);
    }

    fn unlink(&mut self, frame: u32, frames: &mut [Frame]) {
        let own = frames[frame as usize];
        if self.old_head == frame {
            self.old_head = own.lru.older;
        }
        self.old -= u64::from(own.flags & OLD != 0);
        self.lru.remove(frame, &mut Lru(frames));
    }

    /// Keeps the old sublist near three eighths of the list (buf_LRU_old_adjust_len).
    fn move_border(&mut self, frames: &mut [Frame]) {
        let target = self.lru.len * OLD_EIGHTHS / 8;
        while self.old > target + OLD_TOLERANCE {
            let first = &mut frames[self.old_head as usize];
            first.flags &= !OLD;
            self.old_head = first.lru.older;
            self.old -= 1;
        }
        let head = self.old_head;
        while self.old + OLD_TOLERANCE < target {
            self.old_head =
                if self.old_head == NONE { self.lru.tail } else { frames[self.old_head as usize].lru.newer };
            frames[self.old_head as usize].flags |= OLD;
            self.old += 1;
        }
        if self.old_head != head
            && let Some(next) = frames.get(frames[self.old_head as usize].lru.newer as usize)
        {
            // The one that comes next is anywhere in memory.
            near(next);
        }
    }
}

#[cfg(test)]
#[path = "tests/pool.rs"]
mod tests;
