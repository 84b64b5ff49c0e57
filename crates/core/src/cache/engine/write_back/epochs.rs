//! Write-back in the order of flushes: what was written between two flushes is an epoch, and all of one is durable on the
//! slow device before anything of the next goes there. So without the fast device the slow one is old, but is what the
//! user had at some flush, and perhaps a part of what came after it, as with any disk. A version that was written over in
//! a later epoch stays in its slot until its own epoch went back.
//!
//! A fast device that fails while it is in use ends the order: a version that cannot be read never goes back, and
//! everything else goes as fast as it can.

use std::collections::VecDeque;

use super::run::{BATCH, Run};
use crate::cache::Slot;
use crate::cache::engine::contents::Contents;
use crate::cache::engine::durability::SlowSeq;
use crate::cache::slots::{DESTAGING, LOST, NEWER, WRITING};

/// Tells an epoch from a time in a slot's `since` and in the journal's stamps.
const EPOCH: u32 = 1 << 31;

/// What was written between two flushes.
struct Epoch {
    /// With `EPOCH` set.
    number: u32,
    /// Slots of its versions; some were replaced meanwhile.
    slots: Vec<Slot>,
    /// Versions that are still to go back.
    left: u32,
    /// The last write to the slow device when it was closed: writes past the cache belong to it too.
    slow: SlowSeq,
    began_ns: u64,
}

impl Epoch {
    fn new(number: u32, slow: SlowSeq, began_ns: u64) -> Self {
        Self { number, slots: Vec::new(), left: 0, slow, began_ns }
    }

    /// Whether a slot holds a version of it that can be written back.
    fn holds(&self, slot: Slot, contents: &Contents) -> bool {
        let slots = contents.slots();
        slots.dirty(slot) && slots.since(slot) == self.number && !slots.has(slot, LOST)
    }
}

/// The epochs that did not go back, the last one open; none: no order is kept.
#[derive(Default)]
pub(super) struct Epochs {
    epochs: VecDeque<Epoch>,
    /// Versions of the first epoch to be written back next, by address, the next one last.
    batch: Vec<Slot>,
}

/// What of the oldest epoch goes back next.
pub(super) enum NextVersions {
    /// These versions.
    Run(Run),
    /// Not those that were looked at; others may.
    Others,
    /// None.
    Nothing,
}

impl Epochs {
    /// Whether the order is kept.
    #[inline]
    pub(super) fn are_kept(&self) -> bool {
        !self.epochs.is_empty()
    }

    /// Whether earlier epochs than the open one did not go back yet.
    pub(super) fn are_behind(&self) -> bool {
        self.epochs.len() > 1
    }

    /// Memory, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.batch.capacity() * size_of::<Slot>()
    }

    /// When the oldest epoch began.
    pub(super) fn oldest_ns(&self) -> Option<u64> {
        self.epochs.front().map(|first| first.began_ns)
    }

    /// When an epoch began.
    pub(super) fn began_ns(&self, number: u32) -> Option<u64> {
        self.epochs.iter().find(|epoch| epoch.number == number).map(|epoch| epoch.began_ns)
    }

    /// Begins to keep the order: all that is dirty is one epoch.
    pub(super) fn begin(&mut self, contents: &mut Contents, now_ns: u64) {
        let mut first = Epoch::new(EPOCH, SlowSeq::default(), now_ns);
        for slot in contents.slots().all() {
            if contents.slots().dirty(slot) && !contents.slots().has(slot, LOST) {
                contents.set_since(slot, first.number);
                first.slots.push(slot);
                first.left += 1;
            }
        }
        self.epochs = [first].into();
    }

    /// Takes up the order of an earlier life: `held` are the stamps and slots of what is dirty or superseded.
    pub(super) fn take_up(&mut self, mut held: Vec<(u32, Slot)>, contents: &mut Contents, now_ns: u64) {
        for (stamp, slot) in &mut held {
            // Times are older than epochs, and in no order.
            *stamp = if *stamp & EPOCH == 0 { EPOCH } else { *stamp };
            contents.set_since(*slot, *stamp);
        }
        held.sort_unstable();
        self.epochs.clear();
        for run in held.chunk_by(|a, b| a.0 == b.0) {
            let mut epoch = Epoch::new(run[0].0, SlowSeq::default(), now_ns);
            epoch.slots = run.iter().map(|(_, slot)| *slot).collect();
            epoch.left = run.len() as u32;
            self.epochs.push_back(epoch);
        }
        if self.epochs.is_empty() {
            self.epochs.push_back(Epoch::new(EPOCH, SlowSeq::default(), now_ns));
        }
    }

    /// Keeps no order any more.
    pub(super) fn end(&mut self) {
        self.epochs.clear();
    }

    /// Forgets what was to be written back next.
    pub(super) fn forget_batch(&mut self) {
        self.batch.clear();
    }

    /// A flush was asked for: what comes now belongs to the next epoch, if the open one has anything. Returns whether a new
    /// one was opened.
    pub(super) fn close(&mut self, slow: SlowSeq, now_ns: u64) -> bool {
        let Some(last) = self.epochs.back() else { return false };
        // Its list may be empty while its versions are on their way back.
        let closes = last.left > 0 || !last.slots.is_empty() || last.slow != slow;
        if closes {
            self.open_next(slow, now_ns);
        }
        closes
    }

    fn open_next(&mut self, slow: SlowSeq, now_ns: u64) {
        let Some(last) = self.epochs.back_mut() else { return };
        last.slow = slow;
        let number = EPOCH | (last.number + 1);
        self.epochs.push_back(Epoch::new(number, slow, now_ns));
    }

    /// Closes the open epoch. Returns its number, and how many versions go back up to it.
    pub(super) fn close_all(&mut self, slow: SlowSeq, now_ns: u64) -> (u32, u32) {
        let number = self.epochs.back().map_or(0, |last| last.number);
        let left = self.epochs.iter().map(|epoch| epoch.left).sum();
        self.open_next(slow, now_ns);
        (number, left)
    }

    /// A dirty version comes into `slot`, and the one before is in `old`. Returns its stamp, and whether the one before must
    /// stay.
    pub(super) fn join(&mut self, slot: Slot, old: Slot, contents: &Contents) -> (u32, bool) {
        let last = self.epochs.back_mut().expect("one is always open");
        last.slots.push(slot);
        let slots = contents.slots();
        let was = (old != Slot::NONE && slots.dirty(old) && !slots.has(old, LOST)).then(|| slots.since(old));
        if was != Some(last.number) {
            last.left += 1;
        }
        (last.number, was.is_some_and(|was| was != last.number))
    }

    /// A version of an epoch went back, or never will. Returns whether the epoch is known.
    pub(super) fn version_ended(&mut self, number: u32) -> bool {
        let Some(first) = self.epochs.front() else { return false };
        let at = number.wrapping_sub(first.number) as usize;
        let Some(epoch) = self.epochs.get(at) else { return false };
        // Numbers follow each other but after a start.
        let at =
            if epoch.number == number { Some(at) } else { self.epochs.iter().position(|epoch| epoch.number == number) };
        let Some(epoch) = at.and_then(|at| self.epochs.get_mut(at)) else { return false };
        epoch.left -= 1;
        true
    }

    /// The write-back of a version failed: it waits for another one.
    pub(super) fn version_waits(&mut self, number: u32, slot: Slot) {
        if let Some(epoch) = self.epochs.iter_mut().find(|epoch| epoch.number == number) {
            epoch.slots.push(slot);
        }
    }

    /// Epochs that went back are over. Returns up to where the slow device must be synced before the next one is.
    pub(super) fn pop(&mut self, synced: SlowSeq) -> Option<SlowSeq> {
        while self.epochs.len() > 1
            && let Some(first) = self.epochs.front()
            && first.left == 0
        {
            if first.slow > synced {
                return Some(first.slow);
            }
            self.epochs.pop_front();
        }
        None
    }

    /// The next versions of the oldest epoch, at most so many. They are marked as being written back.
    pub(super) fn next(&mut self, contents: &mut Contents, blocks_max: u32) -> NextVersions {
        let Some(first) = self.epochs.front_mut() else { return NextVersions::Nothing };
        if self.batch.is_empty() {
            // The latest first: what was replaced is at the front, and goes when its turn comes.
            let from = first.slots.len().saturating_sub(BATCH);
            let mut slots = first.slots.split_off(from);
            slots.retain(|slot| first.holds(*slot, contents) && !contents.slots().has(*slot, WRITING));
            slots.sort_unstable_by_key(|slot| std::cmp::Reverse(contents.slots().block(*slot)));
            slots.dedup();
            self.batch = slots;
        }
        let mut later = Vec::new();
        let mut run: Vec<Slot> = Vec::new();
        while let Some(slot) = self.batch.last().copied() {
            let slots = contents.slots();
            let goes_on = run
                .last()
                .is_none_or(|last| slots.block(*last) + 1 == slots.block(slot) && (run.len() as u32) < blocks_max);
            if !goes_on {
                break;
            }
            self.batch.pop();
            let right = first.holds(slot, contents) && !slots.has(slot, WRITING);
            let now = if right { contents.find(slots.block(slot)) } else { Slot::NONE };
            // An older version of this epoch may be on the way.
            let waits = now != Slot::NONE && slots.has(now, DESTAGING);
            if right && !waits {
                run.push(slot);
                continue;
            }
            if waits {
                later.push(slot);
            }
            if !run.is_empty() {
                break;
            }
        }
        first.slots.splice(0..0, later);
        if run.is_empty() {
            return if self.batch.is_empty() { NextVersions::Nothing } else { NextVersions::Others };
        }
        for slot in &run {
            contents.mark(*slot, WRITING);
            let now = contents.find(contents.slots().block(*slot));
            if now != *slot && now != Slot::NONE {
                contents.mark(now, DESTAGING | NEWER);
            }
        }
        NextVersions::Run(Run { block: contents.slots().block(run[0]), slots: run })
    }
}

impl std::fmt::Display for Epochs {
    /// Where they stand, for tests that fail.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let epochs = self.epochs.iter();
        let all: Vec<_> = epochs.map(|epoch| (epoch.number, epoch.left, epoch.slow, &epoch.slots)).collect();
        write!(f, "epochs {all:x?} batch {:?}", self.batch)
    }
}

#[cfg(test)]
impl Epochs {
    /// Every version of an epoch is counted, and stands where it will be found.
    pub(super) fn check(&self, contents: &Contents) {
        for epoch in &self.epochs {
            let all: Vec<Slot> = contents.slots().all().filter(|slot| epoch.holds(*slot, contents)).collect();
            assert_eq!(all.len() as u32, epoch.left, "epoch {:x}", epoch.number);
            for slot in all {
                let writing = contents.slots().has(slot, WRITING);
                let there = epoch.slots.contains(&slot) || writing || self.batch.contains(&slot);
                assert!(there, "slot {slot} of epoch {:x}: {:x}", epoch.number, contents.slots().bits(slot));
            }
        }
    }
}
