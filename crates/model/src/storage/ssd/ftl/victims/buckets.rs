//! Units in lists by a small number. Each list is in the order in which its units joined.

use super::super::ids::UnitNo;
use crate::large::near;

/// The entries before and after one in its list.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// Doubly linked lists in one array. To join, to leave and to find the first of a list take constant time.
///
/// The entries of the units come first, then one entry for each list. A list is a ring through its own entry, so that the
/// ends of a list need no special case.
#[derive(Debug)]
pub(super) struct Buckets {
    links: Vec<Link>,
    units: u32,
}

impl Buckets {
    /// Empty lists.
    pub(super) fn new(units: u32, buckets: u32) -> Self {
        let ring = |entry| Link { before: entry, after: entry };
        Self { links: (0..units + buckets).map(ring).collect(), units }
    }

    /// Puts a unit that is in no list at the end of one.
    #[inline]
    pub(super) fn join(&mut self, unit: UnitNo, bucket: u32) {
        let ring = self.units + bucket;
        let last = self.links[ring as usize].before;
        self.links[unit.index()] = Link { before: last, after: ring };
        self.links[last as usize].after = unit.number();
        self.links[ring as usize].before = unit.number();
    }

    /// Prefetches the entry of a unit that will leave its list soon.
    #[inline]
    pub(super) fn prefetch(&self, unit: UnitNo) {
        near(&self.links[unit.index()]);
    }

    /// The second step, some time after `prefetch`: prefetches the neighbours of the unit.
    #[inline]
    pub(super) fn prefetch_neighbours(&self, unit: UnitNo) {
        let Link { before, after } = self.links[unit.index()];
        near(&self.links[before as usize]);
        near(&self.links[after as usize]);
    }

    /// Takes a unit out of its list.
    #[inline]
    pub(super) fn leave(&mut self, unit: UnitNo) {
        let Link { before, after } = self.links[unit.index()];
        self.links[before as usize].after = after;
        self.links[after as usize].before = before;
    }

    /// The unit that has been in a list for longest.
    #[inline]
    pub(super) fn first(&self, bucket: u32) -> Option<UnitNo> {
        let first = self.links[(self.units + bucket) as usize].after;
        (first < self.units).then_some(UnitNo::new(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_list_is_the_one_that_joined_first() {
        let [a, b, c] = [0, 1, 2].map(UnitNo::new);
        let mut buckets = Buckets::new(3, 2);
        for unit in [b, a, c] {
            buckets.join(unit, 1);
        }
        assert_eq!((buckets.first(0), buckets.first(1)), (None, Some(b)));
        buckets.leave(b);
        buckets.join(b, 0);
        buckets.leave(c);
        assert_eq!((buckets.first(0), buckets.first(1)), (Some(b), Some(a)));
    }
}
