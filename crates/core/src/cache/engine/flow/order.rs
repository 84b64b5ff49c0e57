//! The order of flushes: when it is kept, and what follows when versions of an epoch go back.

use super::super::Engine;
use super::super::write_back::units;
use crate::cache::slots::{SUPERSEDED, State, WRITING};
use crate::cache::{Mode, Slot};

impl Engine {
    /// Whether write-back keeps the order of flushes.
    #[inline]
    pub(in super::super) fn ordered(&self) -> bool {
        self.settings.ordered && !self.degraded() && matches!(self.settings.mode, Mode::WriteBack | Mode::WriteOnly)
    }

    /// At the start: goes on with the order of an earlier life, or ends it. `held` are the stamps and slots of what is dirty
    /// or superseded.
    pub(in super::super) fn start_order(&mut self, held: Vec<(u32, Slot)>, now_ns: u64) {
        if self.ordered() {
            let blocks = self.addresses.whole_blocks();
            self.write_back.take_up_order(held, &mut self.contents, &self.settings, blocks, now_ns);
            self.close_epoch(now_ns);
        } else if self.contents.superseded() > 0 {
            self.end_order(now_ns);
        } else if self.settings.flush_period_s > 0.0 || self.contents.sets().is_some() {
            self.sort_dirty(now_ns);
        }
    }

    /// Goes over to keeping the order: all that is dirty is one epoch.
    pub(in super::super) fn begin_order(&mut self, now_ns: u64) {
        let blocks = self.addresses.whole_blocks();
        self.write_back.begin_order(&mut self.contents, &self.settings, blocks, now_ns);
        self.close_epoch(now_ns);
    }

    /// Keeps no order any more: what is superseded is let go.
    pub(in super::super) fn end_order(&mut self, now_ns: u64) {
        self.write_back.end_order();
        for slot in self.contents.slots().all() {
            if self.contents.slots().state(slot) != State::Dirty {
                continue;
            }
            if self.contents.slots().has(slot, SUPERSEDED) {
                self.let_go(slot);
            } else {
                self.contents.set_since(slot, units(now_ns));
                self.contents.unmark(slot, WRITING);
            }
        }
        self.sort_dirty(now_ns);
    }

    /// Finds out anew what is dirty, and in which order it goes back.
    pub(in super::super) fn sort_dirty(&mut self, now_ns: u64) {
        let blocks = self.addresses.whole_blocks();
        self.write_back.sort(&mut self.contents, &self.settings, blocks, now_ns);
    }

    /// A superseded version is not needed any more.
    pub(in super::super) fn let_go(&mut self, slot: Slot) {
        self.contents.let_go(slot);
        self.free(slot);
    }

    /// A flush was asked for: what comes now belongs to the next epoch.
    pub(in super::super) fn close_epoch(&mut self, now_ns: u64) {
        let (ended, synced) = (self.durability.slow_ended(), self.durability.slow_synced());
        if let Some(wanted) = self.write_back.close_epoch(ended, synced, now_ns) {
            self.durability.want_slow(wanted);
        }
    }

    /// Closes the open epoch. Returns its number, and how many versions go back up to it.
    pub(in super::super) fn close_all_epochs(&mut self, now_ns: u64) -> (u32, u32) {
        let all = self.write_back.close_all_epochs(self.durability.slow_ended(), now_ns);
        self.end_epochs();
        all
    }

    /// A version of an epoch went back, or never will.
    pub(in super::super) fn epoch_version_ended(&mut self, epoch: u32) {
        if self.write_back.epoch_version_ended(epoch) {
            self.on_demand.version_done(epoch);
            self.end_epochs();
        }
    }

    fn end_epochs(&mut self) {
        if let Some(wanted) = self.write_back.end_epochs(self.durability.slow_synced()) {
            self.durability.want_slow(wanted);
        }
    }
}
