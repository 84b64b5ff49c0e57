//! Erased units. The least worn unit is used first, which is dynamic wear levelling.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::ids::UnitNo;

/// Free units by class. Each host frontier has a class: the number of the unit modulo the frontiers. Thus open frontiers
/// keep to different dies as long as there is a choice.
#[derive(Debug)]
pub(super) struct Free {
    /// Erase count and number of each unit.
    classes: Vec<BinaryHeap<Reverse<(u32, UnitNo)>>>,
    units: u32,
}

impl Free {
    pub(super) fn new(classes: u32) -> Self {
        Self { classes: (0..classes).map(|_| BinaryHeap::new()).collect(), units: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.units
    }

    pub(super) fn put(&mut self, unit: UnitNo, erases: u32) {
        let class = unit.index() % self.classes.len();
        self.classes[class].push(Reverse((erases, unit)));
        self.units += 1;
    }

    /// Takes the least worn unit of a class, or of the class with the most units if the class is empty.
    pub(super) fn take_of(&mut self, class: usize) -> Option<UnitNo> {
        if self.classes[class].is_empty() {
            return self.take();
        }
        self.units -= 1;
        self.classes[class].pop().map(|Reverse((_, unit))| unit)
    }

    /// Takes the least worn unit of the class with the most units.
    pub(super) fn take(&mut self) -> Option<UnitNo> {
        // Of equally large classes the first one is taken.
        let largest = self.classes.iter_mut().rev().max_by_key(|class| class.len())?;
        let Reverse((_, unit)) = largest.pop()?;
        self.units -= 1;
        Some(unit)
    }
}
