//! What each unit is and how many of its pages are valid.

use super::geometry::Geometry;

/// What a unit is at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Erased.
    Free,
    /// Being written, by the host or by the collector.
    Open,
    /// Full: may be collected.
    Closed,
    /// Being collected.
    Victim,
    /// Bad from the beginning, or worn out.
    Bad,
}

/// A unit's state and its valid pages, together because each overwrite asks for both.
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

    /// Units that may be collected.
    pub(super) fn closed(&self) -> u32 {
        self.closed
    }

    #[inline]
    pub(super) fn valid(&self, unit: u32) -> u32 {
        self.units[unit as usize].valid
    }

    #[inline]
    pub(super) fn state(&self, unit: u32) -> State {
        self.units[unit as usize].state
    }

    /// A unit will be asked for soon.
    #[inline]
    pub(super) fn prefetch(&self, unit: u32) {
        crate::large::near(&self.units[unit as usize]);
    }

    pub(super) fn set(&mut self, unit: u32, state: State) {
        let entry = &mut self.units[unit as usize];
        self.closed -= u32::from(entry.state == State::Closed);
        self.closed += u32::from(state == State::Closed);
        entry.state = state;
    }

    /// One more page of `unit` is valid.
    #[inline]
    pub(super) fn gain(&mut self, unit: u32) {
        self.units[unit as usize].valid += 1;
    }

    /// One page less of `unit` is valid; tells what it is now.
    #[inline]
    pub(super) fn lose(&mut self, unit: u32) -> Unit {
        let entry = &mut self.units[unit as usize];
        entry.valid -= 1;
        *entry
    }

    pub(super) fn set_valid(&mut self, unit: u32, valid: u32) {
        self.units[unit as usize].valid = valid;
    }
}
