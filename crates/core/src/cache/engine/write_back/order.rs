//! In which order dirty blocks go back: what becomes dirty and clean, and the order of flushes.

use super::WriteBack;
use super::sweep::Sweep;
use super::units::UNIT_SHIFT;
use crate::cache::engine::contents::Contents;
use crate::cache::engine::durability::SlowSeq;
use crate::cache::slots::{SUPERSEDED, State, WRITING};
use crate::cache::{Block, Settings, Slot};

impl WriteBack {
    /// Whether the order of flushes is kept.
    #[inline]
    pub(in super::super) fn keeps_order(&self) -> bool {
        self.epochs.are_kept()
    }

    /// With the order of flushes: whether earlier epochs than the open one did not go back yet.
    pub(in super::super) fn is_behind(&self) -> bool {
        self.epochs.are_behind()
    }

    /// Since when a dirty slot's epoch was open.
    pub(in super::super) fn epoch_began_ns(&self, since: u32) -> Option<u64> {
        self.epochs.began_ns(since)
    }

    /// Goes over to keeping the order of flushes: all that is dirty is one epoch.
    pub(in super::super) fn begin_order(
        &mut self,
        contents: &mut Contents,
        settings: &Settings,
        blocks: u32,
        now_ns: u64,
    ) {
        self.epochs.begin(contents, now_ns);
        self.fallow.forget();
        self.sort(contents, settings, blocks, now_ns);
    }

    /// Takes up the order of flushes of an earlier life: `held` are the stamps and slots of what is dirty or superseded.
    pub(in super::super) fn take_up_order(
        &mut self,
        held: Vec<(u32, Slot)>,
        contents: &mut Contents,
        settings: &Settings,
        blocks: u32,
        now_ns: u64,
    ) {
        self.epochs.take_up(held, contents, now_ns);
        self.sort(contents, settings, blocks, now_ns);
    }

    /// Keeps the order of flushes no more. The caller sorts anew (`sort`).
    pub(in super::super) fn end_order(&mut self) {
        self.epochs.end();
    }

    /// Finds out anew what is dirty, and keeps track of it by address if it is time or sets that say what goes back; else by
    /// age. `blocks` can be cached.
    pub(in super::super) fn sort(&mut self, contents: &mut Contents, settings: &Settings, blocks: u32, now_ns: u64) {
        let ordered = self.keeps_order();
        self.sets.count(contents, settings, ordered);
        let by_address = !ordered && (settings.flush_period_s > 0.0 || self.sets.have_marks());
        self.sweep = if by_address { Sweep::new(blocks, now_ns) } else { Sweep::default() };
        self.epochs.forget_batch();
        let mut by_age = Vec::new();
        for slot in contents.slots().all() {
            let slots = contents.slots();
            if slots.state(slot) != State::Dirty || slots.has(slot, SUPERSEDED) || ordered {
                continue;
            }
            if by_address {
                self.sweep.became_dirty(slots.block(slot), now_ns);
            } else {
                by_age.push((slots.since(slot), slots.block(slot)));
            }
        }
        by_age.sort_by_key(|(since, _)| *since);
        self.by_age.restart(by_age.into_iter().map(|(_, block)| block), contents);
    }

    /// Whether each set of the policy has a dirty threshold of its own.
    pub(in super::super) fn sets_have_marks(&self) -> bool {
        self.sets.have_marks()
    }

    /// A block became dirty.
    pub(in super::super) fn became_dirty(
        &mut self,
        block: Block,
        slot: Slot,
        contents: &mut Contents,
        settings: &Settings,
    ) {
        if self.sweep.on() {
            self.sweep.became_dirty(block, u64::from(contents.slots().since(slot)) << UNIT_SHIFT);
        }
        self.sets.became_dirty(block, contents, settings);
        self.stays_dirty(block, slot, contents);
    }

    /// A block stays dirty: it must stand in the queue, if there is one.
    pub(in super::super) fn stays_dirty(&mut self, block: Block, slot: Slot, contents: &mut Contents) {
        if !self.keeps_order() && !self.sweep.on() {
            self.by_age.push(block, slot, contents);
        }
    }

    /// A block is not dirty any more.
    pub(in super::super) fn became_clean(&mut self, block: Block, contents: &Contents) {
        if self.sweep.on() {
            self.sweep.became_clean(block);
        }
        self.sets.became_clean(block, contents);
    }

    /// A flush was asked for: what comes now belongs to the next epoch. Returns up to where the slow device must be synced.
    pub(in super::super) fn close_epoch(&mut self, slow: SlowSeq, synced: SlowSeq, now_ns: u64) -> Option<SlowSeq> {
        if self.epochs.close(slow, now_ns) { self.epochs.pop(synced) } else { None }
    }

    /// Closes the open epoch. Returns its number, and how many versions go back up to it.
    pub(in super::super) fn close_all_epochs(&mut self, slow: SlowSeq, now_ns: u64) -> (u32, u32) {
        self.epochs.close_all(slow, now_ns)
    }

    /// A dirty version comes into `slot`, and the one before is in `old`. Returns its stamp, and whether the one before must
    /// stay.
    pub(in super::super) fn join_epoch(&mut self, slot: Slot, old: Slot, contents: &Contents) -> (u32, bool) {
        self.epochs.join(slot, old, contents)
    }

    /// A version of an epoch went back, or never will. Returns whether the epoch is known.
    pub(in super::super) fn epoch_version_ended(&mut self, epoch: u32) -> bool {
        self.epochs.version_ended(epoch)
    }

    /// Epochs that went back are over. Returns up to where the slow device must be synced before the next one is.
    pub(in super::super) fn end_epochs(&mut self, synced: SlowSeq) -> Option<SlowSeq> {
        self.epochs.pop(synced)
    }

    /// The write-back of a version ended; not `done`: it failed, and the version waits for another one. Returns whether it
    /// is a superseded one that is not needed any more. The slot may hold something else by now, even something that is
    /// being written back, but then of another block: of one block only one version is at a time.
    pub(in super::super) fn version_ended(
        &mut self,
        slot: Slot,
        block: Block,
        done: bool,
        contents: &mut Contents,
    ) -> bool {
        let is_it = slot != Slot::NONE && contents.slots().has(slot, WRITING) && contents.slots().block(slot) == block;
        if !is_it {
            return false;
        }
        contents.unmark(slot, WRITING);
        if !done {
            self.epochs.version_waits(contents.slots().since(slot), slot);
        }
        done && contents.slots().has(slot, SUPERSEDED)
    }
}
