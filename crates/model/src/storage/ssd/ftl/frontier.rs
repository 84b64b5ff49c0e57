//! Open units: those that pages are written to.

use std::ops::{Index, IndexMut};

/// Where the next page of an open unit goes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frontier {
    pub(super) unit: u32,
    pub(super) next_ppn: u32,
    pub(super) end_ppn: u32,
}

impl Frontier {
    /// Whether its unit has no page left.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.next_ppn == self.end_ppn
    }

    /// Takes the next page.
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        self.next_ppn += 1;
        self.next_ppn - 1
    }
}

/// Open units that take the host's pages in turn.
#[derive(Clone, Debug)]
pub(super) struct HostFrontiers {
    open: Vec<Frontier>,
    turn: usize,
}

impl HostFrontiers {
    /// So many, none of them with a unit yet.
    pub(super) fn new(frontiers: usize) -> Self {
        Self { open: vec![Frontier::default(); frontiers], turn: 0 }
    }

    /// Whose turn it is; the next one's comes after it.
    #[inline]
    pub(super) fn next_turn(&mut self) -> usize {
        let turn = self.turn;
        self.turn = if turn + 1 == self.open.len() { 0 } else { turn + 1 };
        turn
    }

    /// All of them.
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
        let mut open = Frontier { unit: 3, next_ppn: 6, end_ppn: 8 };
        assert_eq!((open.take(), open.is_full(), open.take(), open.is_full()), (6, false, 7, true));
        assert!(Frontier::default().is_full());
    }

    #[test]
    fn frontiers_take_turns() {
        let mut host = HostFrontiers::new(3);
        assert_eq!([(); 4].map(|()| host.next_turn()), [0, 1, 2, 0]);
    }
}
