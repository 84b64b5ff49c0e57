//! Write-back in the order of flushes: what was written between two flushes is an epoch, and all of one is durable on the
//! slow device before anything of the next goes there. So without the fast device the slow one is old, but is what the
//! user had at some flush, and perhaps a part of what came after it, as with any disk. A version that was written over in
//! a later epoch stays in its slot until its own epoch went back.
//!
//! A fast device that fails while it is in use ends the order: a version that can not be read never goes back, and
//! everything else goes as fast as it can.

use super::durability::SlowSeq;
use super::requests::Part;
use super::{Engine, Turn};
use crate::cache::journal::{Record, What};
use crate::cache::slots::{DESTAGING, LOST, NEWER, PINNED, QUEUED, SUPERSEDED, State, WANTED, WRITING};
use crate::cache::{Block, Kind, Memory, Mode, Slot};

/// Tells an epoch from a time in a slot's `since` and in the journal's stamps.
const EPOCH: u32 = 1 << 31;

/// What was written between two flushes.
pub(super) struct Epoch {
    /// With `EPOCH` set.
    pub(super) number: u32,
    /// Slots of its versions; some were replaced meanwhile.
    pub(super) slots: Vec<Slot>,
    /// Versions that are still to go back.
    pub(super) left: u32,
    /// The last write to the slow device when it was closed: writes past the cache belong to it too.
    pub(super) slow: SlowSeq,
    pub(super) began_ns: u64,
}

impl Engine {
    /// Whether write-back keeps the order of flushes.
    #[inline]
    pub(super) fn ordered(&self) -> bool {
        self.settings.ordered && !self.degraded() && matches!(self.settings.mode, Mode::WriteBack | Mode::WriteOnly)
    }

    /// Goes over to keeping the order: all that is dirty is one epoch.
    pub(super) fn begin_order(&mut self, now_ns: u64) {
        let mut first = Epoch { number: EPOCH, slots: Vec::new(), left: 0, slow: SlowSeq::default(), began_ns: now_ns };
        for slot in self.slots.all() {
            if self.slots.dirty(slot) && !self.slots.has(slot, LOST) {
                self.slots.set_since(slot, first.number);
                first.slots.push(slot);
                first.left += 1;
            }
        }
        self.fallow.clear();
        self.epochs = [first].into();
        self.index_dirty(now_ns);
        self.close_epoch(now_ns);
    }

    /// Takes up the order of an earlier life: `held` are the stamps and slots of what is dirty or superseded.
    pub(super) fn take_up_order(&mut self, mut held: Vec<(u32, Slot)>, now_ns: u64) {
        for (stamp, slot) in &mut held {
            // Times are older than epochs, and in no order.
            *stamp = if *stamp & EPOCH == 0 { EPOCH } else { *stamp };
            self.slots.set_since(*slot, *stamp);
        }
        held.sort_unstable();
        self.epochs.clear();
        for run in held.chunk_by(|a, b| a.0 == b.0) {
            let slots: Vec<Slot> = run.iter().map(|(_, slot)| *slot).collect();
            self.epochs.push_back(Epoch {
                number: run[0].0,
                left: slots.len() as u32,
                slots,
                slow: SlowSeq::default(),
                began_ns: now_ns,
            });
        }
        if self.epochs.is_empty() {
            self.epochs.push_back(Epoch {
                number: EPOCH,
                slots: Vec::new(),
                left: 0,
                slow: SlowSeq::default(),
                began_ns: now_ns,
            });
        }
        self.index_dirty(now_ns);
        self.close_epoch(now_ns);
    }

    /// Keeps no order any more: what is superseded is let go.
    pub(super) fn end_order(&mut self, now_ns: u64) {
        self.epochs.clear();
        for slot in self.slots.all() {
            if self.slots.state(slot) != State::Dirty {
                continue;
            }
            if self.slots.has(slot, SUPERSEDED) {
                self.let_go(slot);
            } else {
                self.slots.set_since(slot, self.units(now_ns));
                self.slots.unmark(slot, WRITING);
            }
        }
        self.index_dirty(now_ns);
    }

    /// A superseded version is not needed any more.
    fn let_go(&mut self, slot: Slot) {
        self.superseded -= 1;
        let lsn = self.record(Record { slot, what: What::Freed });
        self.send_to_limbo(slot, lsn);
    }

    /// A flush was asked for: what comes now belongs to the next epoch.
    pub(super) fn close_epoch(&mut self, now_ns: u64) {
        let Some(last) = self.epochs.back() else { return };
        // Its list may be empty while its versions are on their way back.
        if last.left > 0 || !last.slots.is_empty() || last.slow != self.durability.slow_ended() {
            self.next_epoch(now_ns);
        }
    }

    fn next_epoch(&mut self, now_ns: u64) {
        let slow = self.durability.slow_ended();
        let Some(last) = self.epochs.back_mut() else { return };
        last.slow = slow;
        let number = EPOCH | (last.number + 1);
        self.epochs.push_back(Epoch { number, slots: Vec::new(), left: 0, slow, began_ns: now_ns });
        self.pop_epochs();
    }

    /// A dirty version comes into `slot`. Returns its stamp, and whether the old one must stay.
    pub(super) fn join_epoch(&mut self, slot: Slot, old: Slot) -> (u32, bool) {
        let last = self.epochs.back_mut().expect("one is always open");
        last.slots.push(slot);
        let was =
            (old != Slot::NONE && self.slots.dirty(old) && !self.slots.has(old, LOST)).then(|| self.slots.since(old));
        if was != Some(last.number) {
            last.left += 1;
        }
        (last.number, was.is_some_and(|was| was != last.number))
    }

    /// The version in `slot` was written over, and must go back all the same.
    pub(super) fn supersede(&mut self, slot: Slot) {
        self.superseded += 1;
        self.slots.unmark(slot, PINNED | DESTAGING | NEWER | WANTED | QUEUED);
        self.slots.mark(slot, SUPERSEDED);
    }

    /// A version of an epoch went back, or never will.
    pub(super) fn epoch_less(&mut self, number: u32) {
        let Some(first) = self.epochs.front() else { return };
        let Some(epoch) = self.epochs.get_mut(number.wrapping_sub(first.number) as usize) else { return };
        // Numbers follow each other but after a start.
        let epoch = if epoch.number == number {
            epoch
        } else {
            let Some(epoch) = self.epochs.iter_mut().find(|epoch| epoch.number == number) else { return };
            epoch
        };
        epoch.left -= 1;
        if let Some(flushing) = &mut self.flushing
            && number <= flushing.epoch
        {
            flushing.left -= 1;
            self.due = true;
        }
        self.pop_epochs();
    }

    /// Epochs that went back are over.
    pub(super) fn pop_epochs(&mut self) {
        while self.epochs.len() > 1
            && let Some(first) = self.epochs.front()
            && first.left == 0
        {
            if first.slow > self.durability.slow_synced() {
                return self.durability.want_slow(first.slow);
            }
            self.epochs.pop_front();
        }
    }

    /// Versions up to the epoch that is open now, which is closed; and its number: what a user's write-back waits for.
    pub(super) fn all_epochs(&mut self, now_ns: u64) -> (u32, u32) {
        let number = self.epochs.back().map_or(0, |last| last.number);
        let left = self.epochs.iter().map(|epoch| epoch.left).sum();
        self.next_epoch(now_ns);
        (number, left)
    }

    /// Whether a write that cannot be cached must wait, because earlier epochs did not go back yet.
    pub(super) fn out_of_order(&self) -> bool {
        self.ordered() && self.epochs.len() > 1
    }

    /// Whether a part asks for nothing: a trim, which may leave all as it was, and going past the cache would be out of
    /// order.
    pub(super) fn nothing_to_do(&self, part: &Part) -> bool {
        self.ordered() && self.kind(part) == Kind::Trim
    }

    /// Begins the write-back of the next versions of the oldest epoch; false: none can be begun now.
    pub(super) fn destage_version<M: Memory>(&mut self, turn: &mut Turn<M>) -> bool {
        self.pop_epochs();
        let Some(first) = self.epochs.front_mut() else { return false };
        let number = first.number;
        if self.pace.batch_is_empty() {
            // The latest first: what was replaced is at the front, and goes when its turn comes.
            let from = first.slots.len().saturating_sub(super::destage::BATCH);
            let mut slots = first.slots.split_off(from);
            slots.retain(|slot| {
                self.slots.dirty(*slot) && self.slots.since(*slot) == number && !self.slots.has(*slot, WRITING | LOST)
            });
            slots.sort_unstable_by_key(|slot| std::cmp::Reverse(self.slots.block(*slot)));
            slots.dedup();
            self.pace.set_batch(slots);
        }
        let mut later = Vec::new();
        let mut run: Vec<Slot> = Vec::new();
        while let Some(slot) = self.pace.last_of_batch() {
            let goes_on = run.last().is_none_or(|last| {
                self.slots.block(*last) + 1 == self.slots.block(slot) && (run.len() as u32) < self.run_blocks()
            });
            if !goes_on {
                break;
            }
            self.pace.pop_batch();
            let right =
                self.slots.dirty(slot) && self.slots.since(slot) == number && !self.slots.has(slot, WRITING | LOST);
            if !right {
                if run.is_empty() { continue } else { break }
            }
            let now = self.find(self.slots.block(slot));
            if now != Slot::NONE && self.slots.has(now, DESTAGING) {
                // An older version of this epoch is on the way.
                later.push(slot);
                if run.is_empty() { continue } else { break }
            }
            run.push(slot);
        }
        if let Some(first) = self.epochs.front_mut() {
            first.slots.splice(0..0, later);
        }
        if run.is_empty() {
            return !self.pace.batch_is_empty();
        }
        for slot in &run {
            self.slots.mark(*slot, WRITING);
            let now = self.find(self.slots.block(*slot));
            if now != *slot && now != Slot::NONE {
                self.slots.mark(now, DESTAGING | NEWER);
            }
        }
        let block = self.slots.block(run[0]);
        self.destage_run(block, run, turn);
        true
    }

    /// A version of a block went back (`done`), or failed to, or was lost. The slot may hold something else by now, even
    /// something that is being written back, but then of another block: of one block only one version is at a time.
    pub(super) fn version_ended(&mut self, slot: Slot, block: Block, done: bool) {
        if slot == Slot::NONE || !self.slots.has(slot, WRITING) || self.slots.block(slot) != block {
            return;
        }
        self.slots.unmark(slot, WRITING);
        let number = self.slots.since(slot);
        if !done {
            if let Some(epoch) = self.epochs.iter_mut().find(|epoch| epoch.number == number) {
                epoch.slots.push(slot);
            }
        } else if self.slots.has(slot, SUPERSEDED) {
            self.let_go(slot);
            self.epoch_less(number);
        }
    }
}

#[cfg(test)]
impl Engine {
    /// Every version of an epoch is counted, and stands where it will be found.
    pub(super) fn check_epochs(&self) {
        for epoch in &self.epochs {
            let right = |slot: &Slot| {
                self.slots.dirty(*slot) && self.slots.since(*slot) == epoch.number && !self.slots.has(*slot, LOST)
            };
            let all: Vec<Slot> = self.slots.all().filter(right).collect();
            assert_eq!(all.len() as u32, epoch.left, "epoch {:x}", epoch.number);
            for slot in all {
                let there = epoch.slots.contains(&slot) || self.slots.has(slot, WRITING) || self.pace.in_batch(slot);
                assert!(there, "slot {slot} of epoch {:x}, {:x}: {}", epoch.number, self.slots.bits(slot), self.told());
            }
        }
    }
}
