//! What every policy answers: which unit is collected next.

use super::super::units::Units;

/// A policy's view of the closed units. `now` counts the host's pages.
pub(in super::super) trait Choose {
    /// A unit was filled.
    fn closed(&mut self, unit: u32, valid: u32, now: u64);

    /// A page of a closed unit died; `valid` are left.
    fn changed(&mut self, unit: u32, valid: u32, now: u64);

    /// A closed unit is about to be collected, chosen here or not.
    fn taken(&mut self, unit: u32, valid: u32);

    /// A page of a unit may die soon.
    fn prefetch(&self, _unit: u32) {}

    /// Sooner; `prefetch` was said.
    fn prefetch_neighbours(&self, _unit: u32) {}

    /// The next victim. There is at least one closed unit.
    fn choose(&mut self, units: &Units, now: u64) -> u32;
}
