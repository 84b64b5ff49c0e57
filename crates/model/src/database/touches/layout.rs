//! Where tables lie: regions of pages one after another, and the room into which tables grow.

use super::measured::Optimizer;
use super::region::Region;
use super::touch::{Entry, Touch};
use crate::database::ids::{PAGE_BYTES, PageNo};

/// What rows of a freshly loaded page may take: InnoDB leaves a sixteenth free for updates (page_cur, the manual's
/// "innodb_fill_factor"), and takes 128 B for its own header, trailer and directory.
pub const LOADED_BYTES: u32 = (PAGE_BYTES * 15 / 16) as u32 - 128;
/// What entries that came in any order take of their pages: splits leave them 69 % full in the long run (Yao, "On
/// Random 2-3 Trees", 1978: ln 2).
pub const SPLIT_BYTES: u32 = (PAGE_BYTES as f64 * 0.69) as u32;

/// Gives out regions.
#[derive(Debug, Default)]
pub struct Layout {
    used: u64,
    names: Vec<(String, PageNo)>,
}

impl Layout {
    /// What is given out from now on belongs to a table, with its indexes.
    pub fn of(&mut self, table: &str) -> &mut Self {
        if self.names.last().is_none_or(|(last, _)| last != table) {
            self.names.push((table.to_owned(), page_at(self.used)));
        }
        self
    }

    /// Name and first page of each table.
    pub fn tables(self) -> Vec<(String, PageNo)> {
        self.names
    }

    /// A region of so many rows, `rows_a_page` to a page.
    pub fn rows(&mut self, rows: u64, rows_a_page: u32) -> Region {
        self.pages(rows.div_ceil(u64::from(rows_a_page)).max(1))
    }

    /// A region of so many pages.
    pub fn pages(&mut self, pages: u64) -> Region {
        let first = self.used;
        self.used += pages;
        Region { first: page_at(first), pages: pages.min(u64::from(u32::MAX)) as u32 }
    }

    /// Pages in all.
    ///
    /// # Errors
    /// More than page numbers of 32 bits can name.
    pub fn total(&self) -> Result<u32, String> {
        u32::try_from(self.used)
            .ok()
            .filter(|pages| *pages < u32::MAX)
            .ok_or_else(|| format!("{} pages are more than the model can name (64 TiB)", self.used))
    }
}

/// The page behind so many, as far as a page number goes: `Layout::total` says when there are more.
fn page_at(pages: u64) -> PageNo {
    PageNo::new(pages.min(u64::from(u32::MAX)) as u32)
}

/// Pages that are made one after another; when the room is used up, the first ones are taken again.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    region: Region,
    made: u32,
}

impl Room {
    /// A room of these pages.
    pub const fn new(region: Region) -> Self {
        Self { region, made: 0 }
    }

    /// A new page.
    pub fn take(&mut self) -> PageNo {
        let page = self.region.first + self.made % self.region.pages;
        self.made = self.made.wrapping_add(1);
        page
    }
}

/// A secondary index as its building left it: pages are full (InnoDB leaves room in those of rows only), so that the first
/// entry that comes in any order splits its page; the upper half is on a new page from then on. That pages split again,
/// when as many entries have come as were loaded, is left out.
#[derive(Debug)]
pub struct Splitting {
    region: Region,
    /// Upper halves of pages that have split.
    upper: Region,
    rows: u32,
    /// Whether a page has split, a bit each: they are asked for in any order, and so fit into the processor's caches.
    split: Vec<u64>,
}

/// Pages of a range that the optimizer looks at to guess how many rows there are (N_PAGES_READ_LIMIT, btr0cur.cc).
pub const DIVE_PAGES: usize = 10;

impl Splitting {
    /// An index of so many entries, `rows` to a page.
    pub fn new(layout: &mut Layout, entries: u64, rows: u32) -> Self {
        let region = layout.rows(entries, rows);
        let upper = layout.pages(u64::from(region.pages));
        Self { region, upper, rows, split: vec![0; region.pages.div_ceil(u64::BITS) as usize] }
    }

    /// Where the entries are that were loaded.
    pub const fn region(&self) -> Region {
        self.region
    }

    #[inline]
    fn has_split(&self, at: u32) -> bool {
        self.split[(at / u64::BITS) as usize] >> (at % u64::BITS) & 1 == 1
    }

    /// The page of the `row`th of the entries that were loaded.
    pub fn page(&self, row: u64) -> PageNo {
        let at = self.region.page(row, self.rows) - self.region.first;
        let is_upper = self.has_split(at) && row % u64::from(self.rows) >= u64::from(self.rows / 2);
        if is_upper { self.upper.first + at } else { self.region.first + at }
    }

    /// A new entry of so many bytes beside the `row`th: its page is changed, after a split if it is the first. Half of the
    /// entries go to the new page, and that is logged. A full page takes no change from the change buffer.
    pub fn insert(&mut self, row: u64, bytes: u8, redo: u16, out: &mut Vec<Touch>) {
        let at = self.region.page(row, self.rows) - self.region.first;
        if self.has_split(at) {
            out.push(Touch::change_entry(self.page(row), redo, Entry::inserted(bytes)));
            return;
        }
        self.split[(at / u64::BITS) as usize] |= 1 << (at % u64::BITS);
        let moved = (self.rows / 2).saturating_mul(u32::from(bytes)).min(u32::from(u16::MAX)) as u16;
        out.extend([Touch::create(self.upper.first + at, moved), Touch::change(self.page(row), redo)]);
    }

    /// The optimizer guesses how many rows there are between two.
    pub fn dive(&self, first: u64, last: u64, optimizer: Optimizer, out: &mut Vec<Touch>) {
        let from = self.region.page(first, self.rows);
        let to = self.region.page(last, self.rows);
        let end = out.len() + DIVE_PAGES;
        for page in from.through(to) {
            let at = page - self.region.first;
            out.push(optimizer.look(page));
            if out.len() < end && self.has_split(at) {
                out.push(optimizer.look(self.upper.first + at));
            }
            if out.len() == end {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn page(number: u32) -> PageNo {
        PageNo::new(number)
    }

    const fn region(first: u32, pages: u32) -> Region {
        Region { first: page(first), pages }
    }

    #[test]
    fn regions_follow_each_other() {
        let mut layout = Layout::default();
        let (first, second) = (layout.rows(1000, 48), layout.pages(4));
        assert_eq!((first, second), (region(0, 21), region(21, 4)));
        assert_eq!([0, 47, 48, 9999].map(|row| first.page(row, 48)), [0, 0, 1, 20].map(page));
        assert_eq!([0, u64::MAX, 1 << 63].map(|share| second.at_share(share)), [21, 24, 23].map(page));
        assert_eq!(layout.total(), Ok(25));
        layout.pages(1 << 33);
        assert!(layout.total().is_err());
    }

    #[test]
    fn full_pages_split_at_the_first_entry_that_comes() {
        let mut layout = Layout::default();
        let mut index = Splitting::new(&mut layout, 90, 30);
        // Three pages of 30 entries, and their upper halves behind them.
        assert_eq!([0, 29, 30, 89].map(|row| index.page(row)), [0, 0, 1, 2].map(page));
        let mut out = Vec::new();
        index.insert(29, 20, 40, &mut out);
        assert_eq!(out, [Touch::create(page(3), 300), Touch::change(page(3), 40)]);
        out.clear();
        index.insert(14, 20, 40, &mut out);
        assert_eq!(out, [Touch::change_entry(page(0), 40, Entry::inserted(20))]);
        assert_eq!([0, 14, 15, 29, 30, 89].map(|row| index.page(row)), [0, 0, 3, 3, 1, 2].map(page));
        out.clear();
        index.dive(0, 59, Optimizer::Mariadb, &mut out);
        assert_eq!(out, [0, 3, 1].map(|number| Touch::glance(page(number))));
        assert_eq!(layout.total(), Ok(6));
    }

    #[test]
    fn a_room_goes_round() {
        let mut room = Room::new(region(5, 2));
        assert_eq!([room.take(), room.take(), room.take()], [5, 6, 5].map(page));
    }
}
