//! The B-tree of the change buffer: what waits for each page, in the order of pages, and the leaves that hold it.
//!
//! Pages are numbers here, as they are keys of the tree and bounds of its leaves.

use flatwater_core::seed::splitmix;

use super::super::ids::PAGE_BYTES;
use super::super::touches::Entry;
use super::page_set::PageSet;
use super::records::{self, BYTES, RECORDS, REDO, REDO_ROW, VOLUME, VOLUME_MAX, Waiting, record_bytes};
use crate::large::{self, near};

/// What a leaf holds.
pub(super) const LEAF_BYTES: u32 = PAGE_BYTES as u32 - 200;
/// A leaf with less goes to its neighbour, if both fit on one page (BTR_CUR_PAGE_COMPRESS_LIMIT).
pub(super) const LEAF_BYTES_MIN: u32 = LEAF_BYTES / 2;
/// Pages that are merged together: of eight neighbours, those for which three quarters of the most wait (IBUF_MERGE_AREA,
/// IBUF_MERGE_THRESHOLD).
const MERGE_AREA: u32 = 8;
const MERGE_VOLUME: u16 = (VOLUME_MAX / 4 * 3) as u16;

/// What a page's merge does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Merge {
    /// Redo of the page itself.
    pub(super) redo: u16,
    /// The change buffer's page from which the records go, and the redo of that.
    pub(super) leaf: u32,
    pub(super) leaf_redo: u16,
}

/// The tree.
#[derive(Debug)]
pub(super) struct Tree {
    /// The first of its own pages, which lie behind those that it is about.
    first: u32,
    /// What waits for each page, and the pages for which something does.
    waiting: Vec<Waiting>,
    pages: PageSet,
    /// The first page for which changes may be in each leaf, and by that page the leaf's number.
    leaves: PageSet,
    numbers: Vec<u32>,
    /// Bytes of each leaf by its number.
    bytes: Vec<u32>,
    /// That first page of each leaf by its number; None: the leaf is free.
    firsts: Vec<Option<u32>>,
    free: Vec<u32>,
    seed: u64,
    draws: u64,
}

impl Tree {
    /// An empty tree for the pages below `first`.
    pub(super) fn new(first: u32, seed: u64) -> Self {
        let mut leaves = PageSet::new(first);
        leaves.insert(0);
        Self {
            first,
            waiting: large::zeros(vec![Waiting::default(); first as usize]),
            pages: PageSet::new(first),
            leaves,
            numbers: large::zeros(vec![0; first as usize]),
            bytes: vec![0],
            firsts: vec![Some(0)],
            free: Vec::new(),
            seed,
            draws: 0,
        }
    }

    /// Leaves that it has.
    pub(super) fn size(&self) -> u64 {
        self.leaves.len()
    }

    /// What waits for a page.
    pub(super) fn waiting_for(&self, page: u32) -> Waiting {
        if self.pages.contains(page) { self.waiting[page as usize] } else { Waiting::default() }
    }

    /// The first page of the leaf in which changes to a page wait.
    #[inline]
    fn leaf_of(&self, page: u32) -> u32 {
        self.leaves.last_to(page).unwrap_or(0)
    }

    /// Bytes of a leaf by its first page.
    #[inline]
    fn bytes_of(&mut self, leaf: u32) -> &mut u32 {
        &mut self.bytes[self.numbers[leaf as usize] as usize]
    }

    /// Where changes to a page wait.
    pub(super) fn place_of(&self, page: u32) -> u32 {
        self.first + self.numbers[self.leaf_of(page) as usize]
    }

    /// Prefetches what waits for a page, and where more of it would.
    #[inline]
    pub(super) fn prefetch(&self, page: u32) {
        near(&self.waiting[page as usize]);
        near(&self.numbers[self.leaf_of(page) as usize]);
    }

    /// A change to an entry, which would make so much redo on its page, waits from now on. Returns the page that was made
    /// for it, and the bytes that went there, when a leaf had to be split.
    pub(super) fn add(&mut self, page: u32, entry: Entry, redo: u16) -> Option<(u32, u32)> {
        records::add(&mut self.waiting[page as usize], entry, redo);
        self.pages.insert(page);
        let leaf = self.leaf_of(page);
        let used = self.bytes_of(leaf);
        *used += record_bytes(entry);
        (*used > LEAF_BYTES).then(|| self.split(leaf))
    }

    /// The upper half of a leaf goes to a new one.
    fn split(&mut self, leaf: u32) -> (u32, u32) {
        let bytes = *self.bytes_of(leaf);
        let (mut below, mut middle) = (0, leaf);
        for page in self.pages.iter_from(leaf) {
            middle = page;
            // What waits for one page is less than half a leaf: there is one before the middle.
            if below + u32::from(self.waiting[page as usize][BYTES]) > bytes / 2 && below > 0 {
                break;
            }
            below += u32::from(self.waiting[page as usize][BYTES]);
        }
        let new = self.free.pop().unwrap_or(self.firsts.len() as u32);
        if new as usize == self.firsts.len() {
            self.firsts.push(None);
            self.bytes.push(0);
        }
        self.firsts[new as usize] = Some(middle);
        self.leaves.insert(middle);
        self.numbers[middle as usize] = new;
        *self.bytes_of(leaf) = below;
        *self.bytes_of(middle) = bytes - below;
        (self.first + new, bytes - below)
    }

    /// Takes out what waits for a page that is in memory; None when nothing does.
    pub(super) fn take(&mut self, page: u32) -> Option<Merge> {
        // Its own pages come in too.
        if page >= self.first || !self.pages.contains(page) {
            return None;
        }
        let waiting = std::mem::take(&mut self.waiting[page as usize]);
        self.pages.remove(page);
        let leaf = self.leaf_of(page);
        let number = self.numbers[leaf as usize];
        let left = self.bytes_of(leaf);
        *left -= u32::from(waiting[BYTES]);
        if *left < LEAF_BYTES_MIN {
            self.join(leaf);
        }
        let leaf_redo = waiting[RECORDS].saturating_mul(REDO_ROW);
        Some(Merge { redo: waiting[REDO], leaf: self.first + number, leaf_redo })
    }

    /// A leaf that is half empty takes the next one in, or goes to the one before it.
    fn join(&mut self, leaf: u32) {
        let next = self.leaves.first_from(leaf + 1).map(|next| (leaf, next));
        let before = leaf.checked_sub(1).and_then(|to| self.leaves.last_to(to)).map(|before| (before, leaf));
        for (lower, upper) in [next, before].into_iter().flatten() {
            let gone = *self.bytes_of(upper);
            if *self.bytes_of(lower) + gone <= LEAF_BYTES / 8 * 7 {
                *self.bytes_of(lower) += gone;
                self.leaves.remove(upper);
                let number = self.numbers[upper as usize];
                self.firsts[number as usize] = None;
                self.free.push(number);
                return;
            }
        }
    }

    /// Pages to be merged together, from a place by chance (btr_pcur_open_at_rnd_pos, ibuf_get_merge_page_nos).
    pub(super) fn pick(&mut self) -> Vec<u32> {
        let mut draw = |below: u64| {
            self.draws += 1;
            splitmix(self.seed ^ self.draws) % below.max(1)
        };
        let mut at = draw(self.firsts.len() as u64) as usize;
        while self.firsts[at].is_none() {
            at = (at + 1) % self.firsts.len();
        }
        let leaf = self.firsts[at].unwrap_or(0);
        // The last page that may wait in it.
        let last = self.leaves.first_from(leaf + 1).unwrap_or(self.first) - 1;
        let low = self.pages.first_from(leaf).filter(|low| *low <= last);
        let (Some(low), Some(high)) = (low, self.pages.last_to(last)) else { return Vec::new() };
        let chosen = low + draw(u64::from(high - low) + 1) as u32;
        let Some(chosen) = self.pages.first_from(chosen) else { return Vec::new() };
        let area = chosen / MERGE_AREA * MERGE_AREA;
        let near = self.pages.iter_from(area).take_while(|page| page - area < MERGE_AREA);
        near.filter(|page| *page == chosen || self.waiting[*page as usize][VOLUME] > MERGE_VOLUME).collect()
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
pub(super) mod tests;
