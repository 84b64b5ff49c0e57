//! Pages of one table or index.

use crate::database::ids::PageNo;

/// Pages of one table or index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first.
    pub first: PageNo,
    /// How many.
    pub pages: u32,
}

impl Region {
    /// The page of a row, `rows` to a page.
    #[inline]
    pub fn page(&self, row: u64, rows: u32) -> PageNo {
        self.first + ((row / u64::from(rows)) as u32).min(self.pages - 1)
    }

    /// The page that this share (0..1 as 0..2^64) of all entries is before.
    #[inline]
    pub fn at_share(&self, share: u64) -> PageNo {
        self.first + ((u128::from(share) * u128::from(self.pages)) >> 64) as u32
    }
}

/// Rows or entries of an index that are searched for in one way only, as many on each page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookedUp {
    /// Where they are.
    pub region: Region,
    /// How many stand on a page.
    pub rows_a_page: u32,
    /// How many of them differ in what is searched for.
    pub keys_a_page: u32,
}

impl LookedUp {
    /// Rows that are searched for by their whole key.
    pub const fn rows(region: Region, rows_a_page: u32) -> Self {
        Self { region, rows_a_page, keys_a_page: rows_a_page }
    }
}
