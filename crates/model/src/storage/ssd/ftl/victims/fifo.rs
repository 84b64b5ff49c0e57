//! The unit that was filled first.

use super::super::ids::UnitNo;
use super::super::units::Units;
use super::buckets::Buckets;
use super::choose::Choose;

/// Closed units in the order of closing.
pub(in super::super) struct Fifo {
    queue: Buckets,
}

impl Fifo {
    pub(super) fn new(units: u32) -> Self {
        Self { queue: Buckets::new(units, 1) }
    }
}

impl Choose for Fifo {
    fn closed(&mut self, unit: UnitNo, _valid: u32, _now: u64) {
        self.queue.join(unit, 0);
    }

    #[inline]
    fn changed(&mut self, _unit: UnitNo, _valid: u32, _now: u64) {}

    fn taken(&mut self, unit: UnitNo, _valid: u32) {
        self.queue.leave(unit);
    }

    fn choose(&mut self, _units: &Units, _now: u64) -> UnitNo {
        self.queue.first(0).expect("there is a closed unit")
    }
}
