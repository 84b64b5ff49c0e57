//! The adaptive hash index: an entry for each row of the pages whose rows are searched for again and again, in memory that
//! is taken from the pool (btr0sea.cc; `Innodb_buffer_pool_pages_misc` counts its frames).
//!
//! Only the rows that are found one by one, by the whole key of a table that gets no new rows, have entries: searches of
//! all other indexes ask for another prefix of the key each time, so that the server makes no hash of it. Seen with MySQL
//! 5.7.22: TPC-C in a pool that holds everything takes 1,125 frames, and items, stock and customers of five warehouses
//! are 750,000 rows, or 1,107 frames.

use super::super::ids::{FrameId, PageNo};
use super::super::touches::LookedUp;
use super::Pool;
use super::frames::{BUSY, HASHED};

/// Entries on a frame: 24 bytes each (ha_node_t: next, fold, row), beside the heads of the page and of the heap's block.
const ENTRIES_A_FRAME: u64 = (16_384 - 112) / 24;
/// A page is hashed when more than this part of its rows were searched for since it came in (BTR_SEARCH_PAGE_BUILD_LIMIT).
const BUILD_PART: u32 = 16;
/// Pages at the end of the LRU list of which one is evicted for a frame (BUF_LRU_SEARCH_SCAN_THRESHOLD).
const SEARCHED: u32 = 100;

/// The index, and the frames that it has.
#[derive(Debug, Default)]
pub(super) struct AdaptiveHash {
    /// By their first page, in its order.
    looked_up: Vec<LookedUp>,
    entries: u64,
    frames: u64,
}

impl AdaptiveHash {
    /// Frames that it has taken from the pool.
    pub(super) const fn frames(&self) -> u64 {
        self.frames
    }

    /// What is searched for on a page; None: nothing that has entries.
    fn looked_up(&self, page: PageNo) -> Option<LookedUp> {
        let before = self.looked_up.partition_point(|rows| rows.region.first <= page);
        let last = self.looked_up[..before].last()?;
        (page - last.region.first < last.region.pages).then_some(*last)
    }

    fn entries_of(&self, page: PageNo) -> u64 {
        self.looked_up(page).map_or(0, |rows| u64::from(rows.keys_a_page))
    }

    /// How many searches after it came in make a page a hashed one; 0: none does.
    pub(super) fn searches_of(&self, page: PageNo) -> u16 {
        self.looked_up(page).map_or(0, |rows| u16::try_from(rows.rows_a_page / BUILD_PART + 1).unwrap_or(u16::MAX))
    }

    const fn wanted(&self) -> u64 {
        self.entries.div_ceil(ENTRIES_A_FRAME)
    }
}

impl Pool {
    /// The pool has an adaptive hash index of these rows from now on.
    pub(in super::super) fn hash_rows(&mut self, mut looked_up: Vec<LookedUp>) {
        looked_up.sort_unstable_by_key(|rows| rows.region.first);
        self.hash.looked_up = looked_up;
    }

    /// Frames that the adaptive hash index has.
    pub(in super::super) const fn hash_frames(&self) -> u64 {
        self.hash.frames()
    }

    /// A page was searched often enough: its rows get entries, in further frames when there is no room. When no frame is
    /// free, the one of a clean page is taken, and when there is none either, the index waits for the next page.
    #[cold]
    pub(super) fn hash_page(&mut self, frame: FrameId) {
        self.frames[frame.index()].flags |= HASHED;
        self.hash.entries += self.hash.entries_of(self.page(frame));
        while self.hash.frames < self.hash.wanted() {
            let instance = self.instance_of_hash(self.hash.frames);
            if self.free_of(instance) == 0 && !self.evict_for_hash(instance, frame) {
                return;
            }
            self.instances[instance].take_free();
            self.free -= 1;
            self.hash.frames += 1;
        }
    }

    /// A hashed page leaves the pool: the entries of its rows do, too.
    #[cold]
    pub(super) fn unhash_page(&mut self, frame: FrameId) {
        self.hash.entries -= self.hash.entries_of(self.page(frame));
        while self.hash.frames > self.hash.wanted() {
            self.hash.frames -= 1;
            let instance = self.instance_of_hash(self.hash.frames);
            self.instances[instance].give_free();
            self.free += 1;
        }
    }

    /// Frames come from all instances in turn (buf_block_alloc).
    fn instance_of_hash(&self, number: u64) -> usize {
        (number % self.instances.len() as u64) as usize
    }

    /// Evicts a clean page, but not the one that is being used.
    fn evict_for_hash(&mut self, instance: usize, used: FrameId) -> bool {
        let clean = self.at_end(instance, SEARCHED).filter(|(_, page)| page.flags & BUSY == 0);
        let found = clean.map(|(frame, _)| frame).find(|frame| *frame != used);
        if let Some(frame) = found {
            self.evict(frame);
        }
        found.is_some()
    }
}

#[cfg(test)]
#[path = "adaptive_hash_tests.rs"]
mod tests;
