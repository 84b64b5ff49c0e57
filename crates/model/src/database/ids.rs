//! The numbers of pages, frames, threads and places in the log, each of a type of its own.

use std::ops::{Add, AddAssign, Sub};

use flatwater_core::{id, slab_key};

/// Bytes of a page (innodb_page_size).
pub const PAGE_BYTES: u64 = 16 << 10;
/// Pages of an area. The pages of an area are in the same instance of the pool (BUF_READ_AHEAD_AREA), and they are an extent
/// (1 MiB).
pub const AREA_PAGES: u32 = 64;

id!(
    /// A page of the tables: its place among all pages.
    pub PageNo(u32)
);

id!(
    /// An area: an aligned run of `AREA_PAGES` pages.
    pub AreaNo(u32)
);

id!(
    /// A frame of the pool that holds a page, or waits for it. Only the pool makes one.
    pub FrameId(u32) or NONE
);

id!(
    /// A thread of the server: that of a connection, or the one that merges the change buffer.
    pub ThreadNo(u32) or NONE
);

id!(
    /// A row that can be locked: its place among all rows of the workload that can be. Where there are more than numbers
    /// (2^32 rows of sysbench's tables), two rows that far apart share a number, and so a lock.
    pub RowNo(u32)
);

slab_key!(
    /// A writer of pages. It writes one chunk of pages at a time.
    pub WriterId
);
slab_key!(
    /// A batch of pages that are to be written.
    pub BatchId
);
slab_key!(
    /// A batch in one instance of the pool after another.
    pub PassId
);

impl PageNo {
    /// The area in which it is.
    #[inline]
    pub const fn area(self) -> AreaNo {
        AreaNo(self.0 / AREA_PAGES)
    }

    /// Its place in its area, from 0 on.
    #[inline]
    pub const fn in_area(self) -> u32 {
        self.0 % AREA_PAGES
    }

    /// The pages from this one to `last`.
    #[inline]
    pub fn through(self, last: Self) -> impl Iterator<Item = Self> {
        (self.0..=last.0).map(Self)
    }
}

/// The page that many pages later.
impl Add<u32> for PageNo {
    type Output = Self;

    #[inline]
    fn add(self, pages: u32) -> Self {
        Self(self.0 + pages)
    }
}

/// How many pages lie between two.
impl Sub for PageNo {
    type Output = u32;

    #[inline]
    fn sub(self, before: Self) -> u32 {
        self.0 - before.0
    }
}

impl AreaNo {
    /// The next area.
    #[inline]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Its page at a place, from 0 on.
    #[inline]
    pub const fn page(self, at: u32) -> PageNo {
        PageNo(self.0 * AREA_PAGES + at)
    }

    /// Its pages, if the tables have `pages` pages.
    pub fn pages(self, pages: u32) -> impl Iterator<Item = PageNo> {
        let first = self.0 * AREA_PAGES;
        (first..first.saturating_add(AREA_PAGES).min(pages)).map(PageNo)
    }
}

/// A place in the redo log: bytes since the server was made (log sequence number).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lsn(u64);

impl Lsn {
    /// The place before every change.
    pub const ZERO: Self = Self(0);
    /// The place behind every change.
    pub const MAX: Self = Self(u64::MAX);

    /// The place behind that many bytes.
    #[inline]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Bytes before it.
    #[inline]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl Add<u64> for Lsn {
    type Output = Self;

    #[inline]
    fn add(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

impl AddAssign<u64> for Lsn {
    #[inline]
    fn add_assign(&mut self, bytes: u64) {
        self.0 += bytes;
    }
}

/// The place that many bytes earlier.
impl Sub<u64> for Lsn {
    type Output = Self;

    #[inline]
    fn sub(self, bytes: u64) -> Self {
        Self(self.0 - bytes)
    }
}

/// The bytes between two places.
impl Sub for Lsn {
    type Output = u64;

    #[inline]
    fn sub(self, before: Self) -> u64 {
        self.0 - before.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_in_the_area_that_has_it() {
        let page = PageNo::new(3 * AREA_PAGES + 7);
        assert_eq!((page.area(), page.in_area()), (AreaNo(3), 7));
        assert_eq!(page.area().page(7), page);
        assert_eq!(page.area().next().page(0), PageNo(4 * AREA_PAGES));
        let pages: Vec<PageNo> = AreaNo(1).pages(AREA_PAGES + 2).collect();
        assert_eq!(pages, [PageNo(64), PageNo(65)], "there are no more");
        assert!(PageNo(64).through(PageNo(64) + 1).eq(pages), "and so from the first to the last");
    }

    #[test]
    fn lsns_are_places_and_their_differences_are_bytes() {
        let lsn = Lsn::new(100);
        assert_eq!((lsn + 20 - lsn, lsn - 40, lsn.max(Lsn::ZERO)), (20, Lsn::new(60), lsn));
    }
}
