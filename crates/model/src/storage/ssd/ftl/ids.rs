//! The numbers of pages and units, each of a type of its own.

use std::ops::{Add, Sub};

use flatwater_core::id;

id!(
    /// A logical page: a page of the mapping that the host addresses.
    pub Lpn(u32) or NONE
);

id!(
    /// A physical page: a page of the mapping in flash.
    pub Ppn(u32) or NONE
);

id!(
    /// A unit: erase blocks that are filled, collected and erased together.
    pub UnitNo(u32)
);

impl Lpn {
    /// The pages from this one to `last`.
    #[inline]
    pub fn through(self, last: Self) -> impl Iterator<Item = Self> {
        (self.0..=last.0).map(Self)
    }
}

/// The page that many pages later.
impl Add<u32> for Lpn {
    type Output = Self;

    #[inline]
    fn add(self, pages: u32) -> Self {
        Self(self.0 + pages)
    }
}

/// The pages between two.
impl Sub for Lpn {
    type Output = u32;

    #[inline]
    fn sub(self, before: Self) -> u32 {
        self.0 - before.0
    }
}

impl Ppn {
    /// The pages from this one to the one before `end`.
    #[inline]
    pub(super) fn until(self, end: Self) -> impl Iterator<Item = Self> {
        (self.0..end.0).map(Self)
    }
}

/// The page that many pages later.
impl Add<u32> for Ppn {
    type Output = Self;

    #[inline]
    fn add(self, pages: u32) -> Self {
        Self(self.0 + pages)
    }
}

/// The pages between two.
impl Sub for Ppn {
    type Output = u32;

    #[inline]
    fn sub(self, before: Self) -> u32 {
        self.0 - before.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_from_one_to_another() {
        let (first, last) = (Lpn::new(3), Lpn::new(5));
        assert_eq!(first.through(last).collect::<Vec<_>>(), [first, first + 1, last]);
        assert_eq!((last - first, Ppn::new(7) - Ppn::new(4)), (2, 3));
        assert_eq!(Ppn::new(4).until(Ppn::new(6)).collect::<Vec<_>>(), [Ppn::new(4), Ppn::new(5)]);
    }
}
