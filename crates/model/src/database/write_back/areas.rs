//! Pages of one area: which of them go along with a page that is written.

use std::ops::Range;

use super::super::ids::{AREA_PAGES, PageNo};
use super::super::pool::Pool;

/// Pages of one area, a bit each.
pub(super) const fn bits(pages: &Range<PageNo>) -> u64 {
    if pages.start.number() == pages.end.number() {
        return 0;
    }
    let (first, last) = (pages.start.in_area(), (pages.end.number() - 1) % AREA_PAGES);
    u64::MAX << first & u64::MAX >> (AREA_PAGES - 1 - last)
}

/// No page.
pub(super) const NO_PAGES: Range<PageNo> = PageNo::new(0)..PageNo::new(0);

/// The neighbours that are written with a page: of its area all (innodb_flush_neighbors = 2, and before 5.6), or the dirty
/// ones on both sides without a gap (1).
pub(super) fn neighbours(pool: &Pool, page: PageNo, without_gap: bool) -> Range<PageNo> {
    let (from, at) = (page.area().page(0).number(), page.in_area());
    let (first, end) = if without_gap {
        let dirty = pool.dirty_of_area(page.area());
        let below = PageNo::new(from)..page;
        let first = (!dirty & bits(&below)).checked_ilog2().map_or(0, |gap| gap + 1);
        (first, (!dirty & !bits(&below)).trailing_zeros())
    } else {
        (0, AREA_PAGES)
    };
    debug_assert!(first <= at);
    PageNo::new(from + first)..PageNo::new(from.saturating_add(end))
}
