//! Units in lists by a small number, each list in the order of joining.

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// Doubly linked lists through one array: joining, leaving and the first of a list are O(1).
///
/// A list is a ring through its own entry, which stands behind those of the units, so that no end needs a question.
#[derive(Debug)]
pub(super) struct Buckets {
    links: Vec<Link>,
    units: u32,
}

impl Buckets {
    pub(super) fn new(units: u32, buckets: u32) -> Self {
        let ring = |place| Link { before: place, after: place };
        Self { links: (0..units + buckets).map(ring).collect(), units }
    }

    /// Puts a unit that is in no list at the end of one.
    #[inline]
    pub(super) fn join(&mut self, unit: u32, bucket: u32) {
        let ring = self.units + bucket;
        let last = self.links[ring as usize].before;
        self.links[unit as usize] = Link { before: last, after: ring };
        self.links[last as usize].after = unit;
        self.links[ring as usize].before = unit;
    }

    /// A unit will leave its list soon.
    #[inline]
    pub(super) fn prefetch(&self, unit: u32) {
        crate::large::near(&self.links[unit as usize]);
    }

    /// It will leave soon, and was asked for: so are its neighbours, which are anywhere.
    #[inline]
    pub(super) fn prefetch_neighbours(&self, unit: u32) {
        let Link { before, after } = self.links[unit as usize];
        crate::large::near(&self.links[before as usize]);
        crate::large::near(&self.links[after as usize]);
    }

    /// Takes a unit out of its list.
    #[inline]
    pub(super) fn leave(&mut self, unit: u32) {
        let Link { before, after } = self.links[unit as usize];
        self.links[before as usize].after = after;
        self.links[after as usize].before = before;
    }

    /// The unit that has been longest in a list.
    #[inline]
    pub(super) fn first(&self, bucket: u32) -> Option<u32> {
        let first = self.links[(self.units + bucket) as usize].after;
        (first < self.units).then_some(first)
    }
}
