//! Read-ahead, and other reads for which nobody waits.
//!
//! Linear: the last page of an extent is used for the first time, and enough of the others were before it, in their order
//! (buf_read_ahead_linear): the next extent is read. Only upwards. Random: a page is read, and enough of its extent was
//! used lately (buf_read_ahead_random): the rest of the extent is read. Both keep off while half of the pool waits for reads.

use super::pool::{AREA_PAGES, PAGE_BYTES};
use super::settings::Settings;
use super::threads::SEARCHED;
use super::{Innodb, Tag};
use crate::storage::Operation;

/// Pages of an extent that were used lately, for the rest of it (BUF_READ_AHEAD_RANDOM_THRESHOLD).
const RANDOM_PAGES: usize = 5 + AREA_PAGES as usize / 8;
/// Read-ahead keeps off while more than the pool's size by this are on their way in (BUF_READ_AHEAD_PEND_LIMIT).
const PENDING_SHARE: u64 = 2;

/// First uses in an extent's order: how many, and the page behind the last one.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    next: u8,
    count: u8,
}

/// What is known of extents.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// innodb_read_ahead_threshold; 0: none.
    threshold: u32,
    pub(super) random: bool,
    orders: Vec<Order>,
    /// Reads under way.
    pub(super) pending: u64,
}

impl ReadAhead {
    /// Of a server with so many pages.
    pub(super) fn new(settings: &Settings, pages: u32) -> Self {
        Self {
            threshold: settings.innodb_read_ahead_threshold,
            random: settings.innodb_random_read_ahead,
            orders: vec![Order::default(); pages.div_ceil(AREA_PAGES) as usize],
            pending: 0,
        }
    }

    /// A page is used for the first time since it was read. True: its extent was used in its order to the end.
    fn note_use(&mut self, page: u32) -> bool {
        let (own, at) = (&mut self.orders[(page / AREA_PAGES) as usize], (page % AREA_PAGES) as u8);
        own.count = if at < own.next { 1 } else { own.count + 1 };
        own.next = at + 1;
        self.threshold > 0 && u32::from(own.next) == AREA_PAGES && u32::from(own.count) >= self.threshold
    }
}

impl Innodb {
    /// A page is used for the first time since it was read.
    pub(super) fn read_ahead_linear(&mut self, page: u32) {
        if self.read_ahead.note_use(page) {
            let first = page / AREA_PAGES * AREA_PAGES + AREA_PAGES;
            self.read_extent(first);
        }
    }

    /// A page has to be read.
    pub(super) fn read_ahead_random(&mut self, page: u32) {
        if !self.read_ahead.random {
            return;
        }
        let first = page / AREA_PAGES * AREA_PAGES;
        let last = first.saturating_add(AREA_PAGES).min(self.touches.pages());
        let young = |page: &u32| self.pool.find(*page).is_some_and(|frame| self.pool.is_used_and_young(frame));
        if (first..last).filter(young).take(RANDOM_PAGES).count() == RANDOM_PAGES {
            self.read_extent(first);
        }
    }

    /// Reads those pages of an extent that are not in memory.
    fn read_extent(&mut self, first: u32) {
        if self.read_ahead.pending > self.pool.size() / PENDING_SHARE {
            return;
        }
        let before = self.counts.unwaited_reads;
        for page in first..first.saturating_add(AREA_PAGES).min(self.touches.pages()) {
            if !self.read_unwaited(page) {
                break;
            }
        }
        self.counts.read_ahead += self.counts.unwaited_reads - before;
    }

    /// Reads a page for which nobody waits, unless it is in memory or on its way. False: there is no frame for it at once, and
    /// it is not read.
    pub(super) fn read_unwaited(&mut self, page: u32) -> bool {
        if self.pool.find(page).is_some() {
            return true;
        }
        let instance = self.pool.instance_of(page);
        if self.pool.free_of(instance) == 0 && !self.pool.evict_one(instance, SEARCHED) {
            return false;
        }
        let Some(frame) = self.pool.admit(page, true) else { return false };
        self.counts.unwaited_reads += 1;
        self.read_ahead.pending += 1;
        self.book(self.spec.cpu.read_ns);
        let (device, offset) = self.placement.of_page(page);
        self.submit(device, Tag::Read { frame }, Operation::Read, offset, PAGE_BYTES);
        true
    }
}

#[cfg(test)]
#[path = "tests/read_ahead.rs"]
mod tests;
