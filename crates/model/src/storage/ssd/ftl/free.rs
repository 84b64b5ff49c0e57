//! Erased units, handed out least worn first: dynamic wear levelling.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Free units by class, a class a host frontier: unit modulo frontiers. So open frontiers keep to different dies, as long
/// as there is a choice.
#[derive(Debug)]
pub(super) struct Free {
    /// Erase count and unit of each.
    classes: Vec<BinaryHeap<Reverse<(u32, u32)>>>,
    units: u32,
}

impl Free {
    pub(super) fn new(classes: u32) -> Self {
        Self { classes: (0..classes).map(|_| BinaryHeap::new()).collect(), units: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.units
    }

    pub(super) fn put(&mut self, unit: u32, erases: u32) {
        let class = unit as usize % self.classes.len();
        self.classes[class].push(Reverse((erases, unit)));
        self.units += 1;
    }

    /// The least worn unit of a class, or of the class with the most units if that one has none.
    pub(super) fn take_of(&mut self, class: usize) -> Option<u32> {
        if self.classes[class].is_empty() {
            return self.take();
        }
        self.units -= 1;
        self.classes[class].pop().map(|Reverse((_, unit))| unit)
    }

    /// The least worn unit of the class with the most units.
    pub(super) fn take(&mut self) -> Option<u32> {
        // Of equally large classes the first.
        let largest = self.classes.iter_mut().rev().max_by_key(|class| class.len())?;
        let Reverse((_, unit)) = largest.pop()?;
        self.units -= 1;
        Some(unit)
    }
}
