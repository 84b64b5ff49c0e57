//! Write-back of what nobody has touched for a while.

use std::collections::VecDeque;

use super::run::BATCH;
use crate::cache::engine::contents::Contents;
use crate::cache::slots::State;
use crate::cache::{Block, Slot};

/// The fallow hand goes over all slots twice in a delay: what it passes three times, nobody touched for that long.
#[derive(Default)]
pub(super) struct Fallow {
    hand: Slot,
    /// The part of a slot that the hand has still to go.
    rest: f64,
    found: VecDeque<Block>,
}

impl Fallow {
    /// The hand goes on for so many seconds.
    pub(super) fn move_hand(&mut self, step_s: f64, delay_s: f64, contents: &mut Contents) {
        let slots = contents.slots().len();
        let steps = f64::from(slots) * step_s * 2.0 / delay_s + self.rest;
        let whole = steps.min(f64::from(slots)) as u32;
        self.rest = if steps > f64::from(slots) { 0.0 } else { steps - f64::from(whole) };
        for _ in 0..whole {
            let slot = self.hand;
            self.hand = Slot(if slot.0 + 1 >= slots { 0 } else { slot.0 + 1 });
            let is_dirty = contents.slots().state(slot) == State::Dirty;
            if is_dirty && contents.pass(slot) == 3 && self.found.len() < BATCH {
                self.found.push_back(contents.slots().block(slot));
            }
        }
    }

    /// The next block that it found.
    pub(super) fn next(&mut self) -> Option<Block> {
        self.found.pop_front()
    }

    /// Forgets what it found.
    pub(super) fn forget(&mut self) {
        self.found.clear();
    }
}
