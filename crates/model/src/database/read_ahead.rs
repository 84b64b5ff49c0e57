//! Read-ahead: which extents are read before they are asked for.
//!
//! Linear: the last page of an extent is used for the first time, and enough of the others were before it, in their order
//! (buf_read_ahead_linear): the next extent is read. Only upwards. Random: a page is read, and enough of its extent was
//! used lately (buf_read_ahead_random): the rest of the extent is read. Both keep off while half of the pool waits for reads.

use super::ids::{AREA_PAGES, AreaNo, PageNo};
use super::settings::Settings;

/// Pages of an extent that were used lately, for the rest of it (BUF_READ_AHEAD_RANDOM_THRESHOLD).
const RANDOM_PAGES: usize = 5 + AREA_PAGES as usize / 8;
/// Read-ahead keeps off while more than the pool's size by this are being read (BUF_READ_AHEAD_PEND_LIMIT).
const PENDING_SHARE: u64 = 2;

/// First uses in an extent's order: how many, and the page behind the last one.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    next: u8,
    count: u8,
}

/// Pages that were read in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// A thread waited for them.
    pub(super) waited: u64,
    /// Nobody waited for them; of these, by read-ahead.
    pub(super) unwaited: u64,
    pub(super) ahead: u64,
}

/// What is known of extents and of reads that are under way.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// innodb_read_ahead_threshold; 0: none.
    threshold: u32,
    random: bool,
    orders: Vec<Order>,
    /// Reads under way.
    pending: u64,
    counts: Counts,
}

impl ReadAhead {
    /// The read-ahead of a server with so many pages.
    pub(super) fn new(settings: &Settings, pages: u32) -> Self {
        Self {
            threshold: settings.innodb_read_ahead_threshold,
            random: settings.innodb_random_read_ahead,
            orders: vec![Order::default(); pages.div_ceil(AREA_PAGES) as usize],
            pending: 0,
            counts: Counts::default(),
        }
    }

    /// A page is used for the first time since it was read. Returns the extent that is to be read: the next one, when this
    /// one was used in its order to the end.
    pub(super) fn note_use(&mut self, page: PageNo) -> Option<AreaNo> {
        let (order, at) = (&mut self.orders[page.area().index()], page.in_area() as u8);
        order.count = if at < order.next { 1 } else { order.count + 1 };
        order.next = at + 1;
        let ended = u32::from(order.next) == AREA_PAGES && u32::from(order.count) >= self.threshold;
        (self.threshold > 0 && ended).then(|| page.area().next())
    }

    /// Whether an extent is to be read of which a page has to be, when enough of its pages were used lately.
    pub(super) fn is_random(&self, mut used_lately: impl Iterator<Item = PageNo>) -> bool {
        self.random && used_lately.nth(RANDOM_PAGES - 1).is_some()
    }

    /// Whether it keeps off, with a pool of so many frames.
    pub(super) const fn keeps_off(&self, frames: u64) -> bool {
        self.pending > frames / PENDING_SHARE
    }

    /// The read of a page begins, for which a thread waits.
    pub(super) const fn begin_waited(&mut self) {
        self.counts.waited += 1;
        self.pending += 1;
    }

    /// The read of a page begins, for which nobody waits.
    pub(super) const fn begin_unwaited(&mut self) {
        self.counts.unwaited += 1;
        self.pending += 1;
    }

    /// So many of the last reads were read-ahead.
    pub(super) const fn note_ahead(&mut self, pages: u64) {
        self.counts.ahead += pages;
    }

    /// The read of a page ends.
    pub(super) const fn end(&mut self) {
        self.pending -= 1;
    }

    /// Reads under way.
    #[cfg(test)]
    pub(super) const fn pending(&self) -> u64 {
        self.pending
    }

    /// Pages that were read in this interval.
    pub(super) const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A new interval begins.
    pub(super) fn begin_interval(&mut self) {
        self.counts = Counts::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_ahead(threshold: u32) -> ReadAhead {
        ReadAhead { threshold, random: true, orders: vec![Order::default(); 4], pending: 0, counts: Counts::default() }
    }

    #[test]
    fn an_extent_that_is_used_in_its_order_brings_the_next_one() {
        let uses = |threshold: u32, places: &mut dyn Iterator<Item = u32>| {
            let mut own = read_ahead(threshold);
            places.filter_map(|at| own.note_use(AreaNo::new(1).page(at))).collect::<Vec<_>>()
        };
        assert_eq!(uses(56, &mut (0..64)), [AreaNo::new(2)]);
        assert_eq!(uses(56, &mut (8..64)), [AreaNo::new(2)]);
        for none in [uses(56, &mut (9..64)), uses(0, &mut (0..64)), uses(56, &mut (0..64).rev())] {
            assert_eq!(none, []);
        }
    }

    #[test]
    fn thirteen_pages_bring_the_rest_of_their_extent() {
        let mut own = read_ahead(0);
        let used = |count: u32| (0..count).map(PageNo::new);
        assert!(!own.is_random(used(12)) && own.is_random(used(13)));
        own.random = false;
        assert!(!own.is_random(used(64)));
    }

    #[test]
    fn it_keeps_off_while_half_of_the_pool_waits_for_reads() {
        let mut own = read_ahead(56);
        (0..51).for_each(|_| own.begin_unwaited());
        assert!(own.keeps_off(100));
        own.end();
        assert!(!own.keeps_off(100));
        own.begin_waited();
        assert_eq!((own.counts().unwaited, own.counts().waited), (51, 1));
    }
}
