//! The trait of all policies: each chooses the unit that is collected next.

use super::super::ids::UnitNo;
use super::super::units::Units;

/// A policy. It sees the closed units; `now` counts the pages that the host wrote.
pub(in super::super) trait Choose {
    /// A unit was filled.
    fn closed(&mut self, unit: UnitNo, valid: u32, now: u64);

    /// A page of a closed unit was invalidated. `valid` pages are left.
    fn changed(&mut self, unit: UnitNo, valid: u32, now: u64);

    /// A closed unit is about to be collected. The policy may have chosen it or not.
    fn taken(&mut self, unit: UnitNo, valid: u32);

    /// Prefetches what `changed` needs for a unit.
    fn prefetch(&self, _unit: UnitNo) {}

    /// The second step, some time after `prefetch`.
    fn prefetch_neighbours(&self, _unit: UnitNo) {}

    /// Chooses the next victim. There must be a closed unit.
    fn choose(&mut self, units: &Units, now: u64) -> UnitNo;
}
