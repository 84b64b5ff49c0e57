//! The state of each unit, and how many of its pages are valid.

use super::geometry::Geometry;
use super::ids::UnitNo;

/// The state of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Erased.
    Free,
    /// Being filled by the host or by the collector.
    Open,
    /// Full, and not chosen for collection.
    Closed,
    /// Being collected.
    Victim,
    /// Bad from the beginning, or worn out.
    Bad,
}

/// The state of a unit and its valid pages. They are together because each overwrite reads both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) valid: u32,
    pub(super) state: State,
}

/// All units.
#[derive(Debug)]
pub(super) struct Units {
    units: Vec<Unit>,
    closed: u32,
}

impl Units {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self { units: vec![Unit { valid: 0, state: State::Free }; geometry.units as usize], closed: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.units.len() as u32
    }

    /// The numbers of all units.
    pub(super) fn numbers(&self) -> impl Iterator<Item = UnitNo> + use<> {
        UnitNo::first(self.len())
    }

    /// Units that may be collected.
    pub(super) fn closed(&self) -> u32 {
        self.closed
    }

    #[inline]
    pub(super) fn valid(&self, unit: UnitNo) -> u32 {
        self.units[unit.index()].valid
    }

    #[inline]
    pub(super) fn state(&self, unit: UnitNo) -> State {
        self.units[unit.index()].state
    }

    /// Prefetches the state of a unit.
    #[inline]
    pub(super) fn prefetch(&self, unit: UnitNo) {
        crate::large::near(&self.units[unit.index()]);
    }

    pub(super) fn set(&mut self, unit: UnitNo, state: State) {
        let entry = &mut self.units[unit.index()];
        self.closed -= u32::from(entry.state == State::Closed);
        self.closed += u32::from(state == State::Closed);
        entry.state = state;
    }

    /// One more page of a unit is valid.
    #[inline]
    pub(super) fn gain(&mut self, unit: UnitNo) {
        self.units[unit.index()].valid += 1;
    }

    /// One page less of a unit is valid. Returns the unit as it is now.
    #[inline]
    pub(super) fn lose(&mut self, unit: UnitNo) -> Unit {
        let entry = &mut self.units[unit.index()];
        entry.valid -= 1;
        *entry
    }

    pub(super) fn set_valid(&mut self, unit: UnitNo, valid: u32) {
        self.units[unit.index()].valid = valid;
    }
}
