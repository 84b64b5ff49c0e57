//! The adaptive hash index: an entry for each row of the pages whose rows are searched for again and again, in frames of
//! the pool (btr0sea.cc; `Innodb_buffer_pool_pages_misc` counts them).
//!
//! Only what is always searched for in the same way has entries: where the searches of an index ask for another prefix of
//! its key each time, the server makes no hash of it. See docs/models/innodb.md for what a MySQL 5.7.22 had.

use super::super::ids::PageNo;
use super::super::touches::LookedUp;

/// Entries on a frame: 24 bytes each (ha_node_t: next, fold, row), beside the heads of the page and of the heap's block.
pub(super) const ENTRIES_A_FRAME: u64 = (16_384 - 112) / 24;
/// A page is hashed when more than this part of its rows were searched for since it came in (BTR_SEARCH_PAGE_BUILD_LIMIT).
pub(super) const BUILD_PART: u32 = 16;

/// The index, and how many frames it has.
#[derive(Debug, Default)]
pub(super) struct AdaptiveHash {
    /// In the order of their pages.
    looked_up: Vec<LookedUp>,
    entries: u64,
    frames: u64,
}

impl AdaptiveHash {
    /// An empty index of what is searched for.
    pub(super) fn new(mut looked_up: Vec<LookedUp>) -> Self {
        looked_up.sort_unstable_by_key(|rows| rows.region.first);
        Self { looked_up, entries: 0, frames: 0 }
    }

    /// Frames that it has.
    pub(super) const fn frames(&self) -> u64 {
        self.frames
    }

    /// How many searches after it came in make a page a hashed one; 0: none does.
    pub(super) fn searches_of(&self, page: PageNo) -> u16 {
        self.looked_up(page).map_or(0, |rows| u16::try_from(rows.rows_a_page / BUILD_PART + 1).unwrap_or(u16::MAX))
    }

    /// A page is hashed from now on.
    pub(super) fn add(&mut self, page: PageNo) {
        self.entries += self.entries_of(page);
    }

    /// A hashed page leaves.
    pub(super) fn remove(&mut self, page: PageNo) {
        self.entries -= self.entries_of(page);
    }

    /// Whether it has too few frames for its entries.
    pub(super) const fn wants_frame(&self) -> bool {
        self.frames < self.entries.div_ceil(ENTRIES_A_FRAME)
    }

    /// Whether it has more frames than its entries need.
    pub(super) const fn has_spare_frame(&self) -> bool {
        self.frames > self.entries.div_ceil(ENTRIES_A_FRAME)
    }

    /// It has another frame.
    pub(super) const fn take_frame(&mut self) {
        self.frames += 1;
    }

    /// It gives its last frame back.
    pub(super) const fn give_frame(&mut self) {
        self.frames -= 1;
    }

    /// What is searched for on a page; None: nothing that has entries.
    fn looked_up(&self, page: PageNo) -> Option<LookedUp> {
        let before = self.looked_up.partition_point(|rows| rows.region.first <= page);
        let last = self.looked_up[..before].last()?;
        (page - last.region.first < last.region.pages).then_some(*last)
    }

    /// The entries of a page: one for each key, but not more than a frame holds. Before a page is hashed, the index gets one
    /// frame, and the keys for which there is no room then have no entry (btr_search_check_free_space_in_heap,
    /// ha_insert_for_fold).
    fn entries_of(&self, page: PageNo) -> u64 {
        self.looked_up(page).map_or(0, |rows| u64::from(rows.keys_a_page).min(ENTRIES_A_FRAME))
    }
}
