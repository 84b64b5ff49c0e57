//! The unit with the fewest valid pages.

use super::super::ids::UnitNo;
use super::super::units::Units;
use super::buckets::Buckets;
use super::choose::Choose;

/// Closed units by how many of their pages are valid.
pub(in super::super) struct Greedy {
    buckets: Buckets,
    /// No unit has fewer valid pages.
    lowest: u32,
}

impl Greedy {
    pub(super) fn new(units: u32, pages: u32) -> Self {
        Self { buckets: Buckets::new(units, pages + 1), lowest: pages }
    }
}

impl Choose for Greedy {
    fn closed(&mut self, unit: UnitNo, valid: u32, _now: u64) {
        self.buckets.join(unit, valid);
        self.lowest = self.lowest.min(valid);
    }

    #[inline]
    fn changed(&mut self, unit: UnitNo, valid: u32, _now: u64) {
        self.buckets.leave(unit);
        self.buckets.join(unit, valid);
        self.lowest = self.lowest.min(valid);
    }

    #[inline]
    fn prefetch(&self, unit: UnitNo) {
        self.buckets.prefetch(unit);
    }

    #[inline]
    fn prefetch_neighbours(&self, unit: UnitNo) {
        self.buckets.prefetch_neighbours(unit);
    }

    fn taken(&mut self, unit: UnitNo, _valid: u32) {
        self.buckets.leave(unit);
    }

    fn choose(&mut self, _units: &Units, _now: u64) -> UnitNo {
        loop {
            if let Some(unit) = self.buckets.first(self.lowest) {
                return unit;
            }
            self.lowest += 1;
        }
    }
}
