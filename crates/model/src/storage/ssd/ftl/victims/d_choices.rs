//! The unit with the fewest valid pages of a few drawn at random. With one draw it is the policy `random`.

use flatwater_core::seed::{Rng, stream};

use super::super::draws::below;
use super::super::ids::UnitNo;
use super::super::units::{State, Units};
use super::choose::Choose;

/// Draws from all units until it has drawn enough closed ones. Nearly all units are closed when one must be collected.
pub(in super::super) struct DChoices {
    choices: u32,
    random: Rng,
}

impl DChoices {
    pub(super) fn new(choices: u32, seed: u64) -> Self {
        Self { choices, random: stream(seed, "ftl victims", 0) }
    }

    fn draw(&mut self, units: &Units) -> UnitNo {
        loop {
            let unit = UnitNo::new(below(&mut self.random, units.len()));
            if units.state(unit) == State::Closed {
                return unit;
            }
        }
    }
}

impl Choose for DChoices {
    fn closed(&mut self, _unit: UnitNo, _valid: u32, _now: u64) {}

    #[inline]
    fn changed(&mut self, _unit: UnitNo, _valid: u32, _now: u64) {}

    fn taken(&mut self, _unit: UnitNo, _valid: u32) {}

    fn choose(&mut self, units: &Units, _now: u64) -> UnitNo {
        let mut best = self.draw(units);
        for _ in 1..self.choices {
            let other = self.draw(units);
            if units.valid(other) < units.valid(best) {
                best = other;
            }
        }
        best
    }
}
