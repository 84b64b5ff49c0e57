//! Open units, to which pages are written.

use std::ops::{Index, IndexMut};

use super::ids::{Ppn, UnitNo};

/// Where the next page of an open unit goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frontier {
    pub(super) unit: UnitNo,
    pub(super) next_ppn: Ppn,
    pub(super) end_ppn: Ppn,
}

impl Frontier {
    /// A frontier that has no unit yet: it is full.
    pub(super) const NONE: Self = Self { unit: UnitNo::new(0), next_ppn: Ppn::new(0), end_ppn: Ppn::new(0) };

    /// Whether its unit has no page left.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.next_ppn == self.end_ppn
    }

    /// Takes the next page.
    #[inline]
    pub(super) fn take(&mut self) -> Ppn {
        let taken = self.next_ppn;
        self.next_ppn = taken + 1;
        taken
    }
}

/// Open units that take the host's pages in turn.
#[derive(Clone, Debug)]
pub(super) struct HostFrontiers {
    open: Vec<Frontier>,
    turn: usize,
}

impl HostFrontiers {
    /// That many frontiers. None of them has a unit yet.
    pub(super) fn new(frontiers: usize) -> Self {
        Self { open: vec![Frontier::NONE; frontiers], turn: 0 }
    }

    /// Returns the frontier whose turn it is, and gives the turn to the next one.
    #[inline]
    pub(super) fn next_turn(&mut self) -> usize {
        let turn = self.turn;
        self.turn = if turn + 1 == self.open.len() { 0 } else { turn + 1 };
        turn
    }

    /// All frontiers.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Frontier> {
        self.open.iter()
    }
}

impl Index<usize> for HostFrontiers {
    type Output = Frontier;

    #[inline]
    fn index(&self, turn: usize) -> &Frontier {
        &self.open[turn]
    }
}

impl IndexMut<usize> for HostFrontiers {
    #[inline]
    fn index_mut(&mut self, turn: usize) -> &mut Frontier {
        &mut self.open[turn]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_taken_in_their_order_until_the_unit_is_full() {
        let mut open = Frontier { unit: UnitNo::new(3), next_ppn: Ppn::new(6), end_ppn: Ppn::new(8) };
        let taken = (open.take(), open.is_full(), open.take(), open.is_full());
        assert_eq!(taken, (Ppn::new(6), false, Ppn::new(7), true));
        assert!(Frontier::NONE.is_full());
    }

    #[test]
    fn frontiers_take_turns() {
        let mut host = HostFrontiers::new(3);
        assert_eq!([(); 4].map(|()| host.next_turn()), [0, 1, 2, 0]);
    }
}
