//! What the cache holds, and where: slots, the index of blocks, the policy that chooses what leaves, and free space.
//!
//! Every change of a slot's state goes through here, so that slots, index, policy and counts always agree. The caller
//! makes the journal's records and hands in their numbers.

use std::collections::{BTreeSet, VecDeque};

mod moves;
mod pins;
mod room;
mod space;
#[cfg(test)]
mod tests;

use pins::Pins;
use space::Space;

use crate::cache::index::Index;
use crate::cache::journal::Holding;
use crate::cache::journal::recovery::Recovered;
use crate::cache::policy::{Policies, Policy};
use crate::cache::slots::{LEAVING, SUPERSEDED, Slots, State};
use crate::cache::{Block, Lsn, Slot};

/// What the cache holds.
pub(super) struct Contents {
    slots: Slots,
    index: Index,
    policy: Policies,
    space: Space,
    pins: Pins,
    /// Slots by state; of the dirty ones those that are lost; and those that hold a superseded version.
    clean: u32,
    dirty: u32,
    lost: u32,
    superseded: u32,
    /// Blocks that are not cached and whose only copy was lost before the cache was started.
    gone: BTreeSet<Block>,
    /// Records and slots of dirty versions that are not known to be durable.
    fresh: VecDeque<(Lsn, Slot)>,
    /// Something changed after which others may go on.
    due: bool,
}

/// Versions that recovery found to be written back, with their stamps.
pub(super) struct ToWriteBack {
    /// Dirty blocks, the oldest first.
    pub(super) by_age: Vec<Block>,
    /// Versions that can be read, in no order.
    pub(super) versions: Vec<(u32, Slot)>,
}

impl Contents {
    /// What recovery found. `since` is the stamp of what is dirty: times of an earlier life mean nothing.
    ///
    /// # Errors
    /// There is no such policy.
    pub(super) fn new(recovered: &Recovered, policy: &str, since: u32) -> Result<(Self, ToWriteBack), String> {
        let slots = recovered.geometry.slots;
        let mut contents = Self {
            slots: Slots::new(slots),
            index: Index::new(slots),
            policy: Policies::new(policy, slots)?,
            space: Space::new(0, |_| false),
            pins: Pins::default(),
            clean: 0,
            dirty: 0,
            lost: 0,
            superseded: 0,
            gone: recovered.lost.iter().copied().collect(),
            fresh: VecDeque::new(),
            due: false,
        };
        let (mut by_age, mut versions) = (Vec::new(), Vec::new());
        for held in &recovered.held {
            let (slot, entry) = (held.slot, held.entry);
            let state = match entry.holding {
                Holding::Nothing => continue,
                Holding::Clean => State::Clean,
                Holding::Dirty | Holding::Superseded => State::Dirty,
            };
            contents.slots.hold(slot, entry.block, entry.crc, state);
            if entry.holding == Holding::Superseded {
                contents.slots.mark(slot, SUPERSEDED);
                contents.superseded += 1;
                versions.push((entry.stamp, slot));
                continue;
            }
            contents.index.insert(entry.block, slot, &contents.slots);
            contents.policy.insert(slot, entry.block);
            if state == State::Clean {
                contents.clean += 1;
                continue;
            }
            by_age.push((entry.stamp, entry.block));
            contents.slots.set_since(slot, since);
            contents.policy.hold(slot);
            contents.dirty += 1;
            if contents.gone.remove(&entry.block) {
                contents.lose(slot);
            } else {
                versions.push((entry.stamp, slot));
            }
        }
        by_age.sort_unstable();
        contents.space = Space::new(slots, |slot| contents.slots.state(slot) != State::Free);
        let by_age = by_age.into_iter().map(|(_, block)| block).collect();
        Ok((contents, ToWriteBack { by_age, versions }))
    }

    /// Whether something changed after which others may go on.
    #[inline]
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// The slots, to be read.
    #[inline]
    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Clean blocks.
    pub(super) fn clean(&self) -> u32 {
        self.clean
    }

    /// Dirty blocks, lost ones too.
    #[inline]
    pub(super) fn dirty(&self) -> u32 {
        self.dirty
    }

    /// Dirty blocks that cannot be read any more.
    #[inline]
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    /// Whether some dirty block can be read.
    #[inline]
    pub(super) fn can_write_back(&self) -> bool {
        self.dirty > self.lost
    }

    /// Versions that were written over and go back all the same.
    #[inline]
    pub(super) fn superseded(&self) -> u32 {
        self.superseded
    }

    /// Blocks that cannot be read any more: dirty ones, and those that were lost before the start.
    pub(super) fn lost_in_all(&self) -> u64 {
        u64::from(self.lost) + self.gone.len() as u64
    }

    /// Memory that grows with the slots, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.slots.len() as usize * Slots::bytes_per_slot()
            + self.index.bytes()
            + self.policy.bytes()
            + self.space.bytes()
    }

    /// The slot of a block; NONE: it is not cached.
    #[inline]
    pub(super) fn find(&self, block: Block) -> Slot {
        self.index.find(block, &self.slots).unwrap_or(Slot::NONE)
    }

    /// The slot of a block that was in `slot` (NONE: that was not cached) when its mutator began, which is still at
    /// work: it may have left meanwhile, but nobody else can have brought it in.
    #[inline]
    pub(super) fn still(&self, block: Block, slot: Slot) -> Slot {
        let held = slot != Slot::NONE
            && self.slots.block(slot) == block
            && !self.slots.has(slot, SUPERSEDED)
            && matches!(self.slots.state(slot), State::Clean | State::Dirty);
        let slot = if held { slot } else { Slot::NONE };
        debug_assert_eq!(slot, self.find(block));
        slot
    }

    /// A search for a block comes soon: what it looks at is brought nearer.
    #[inline]
    pub(super) fn prefetch(&self, block: Block) {
        self.index.prefetch(block);
    }

    /// A search for a block and its neighbours comes soon.
    #[inline]
    pub(super) fn prefetch_neighbours(&self, block: Block) {
        for block in block.0.saturating_sub(1)..=block.0.saturating_add(1) {
            self.index.prefetch(Block(block));
        }
    }

    /// A slot will be written, moved or taken out soon.
    #[inline]
    pub(super) fn prefetch_slot(&self, slot: Slot) {
        self.policy.prefetch_slot(slot);
    }

    /// A block that is not cached comes in soon.
    #[inline]
    pub(super) fn prefetch_newcomer(&self, block: Block) {
        self.policy.prefetch_block(block);
    }

    /// Whether the only copy of a block that is not cached was lost before the cache was started.
    #[inline]
    pub(super) fn is_gone(&self, block: Block) -> bool {
        !self.gone.is_empty() && self.gone.contains(&block)
    }

    /// A block that may have been lost was written anew.
    pub(super) fn written_anew(&mut self, block: Block) {
        if !self.gone.is_empty() {
            self.gone.remove(&block);
        }
    }

    /// Sets bits of a slot.
    #[inline]
    pub(super) fn mark(&mut self, slot: Slot, bits: u16) {
        self.slots.mark(slot, bits);
    }

    /// Clears bits of a slot.
    #[inline]
    pub(super) fn unmark(&mut self, slot: Slot, bits: u16) {
        self.slots.unmark(slot, bits);
    }

    /// Clears bits of all slots.
    pub(super) fn unmark_all(&mut self, bits: u16) {
        self.slots.all().for_each(|slot| self.slots.unmark(slot, bits));
    }

    /// The checksum of what is being written to a slot.
    #[inline]
    pub(super) fn set_crc(&mut self, slot: Slot, crc: u32) {
        self.slots.set_crc(slot, crc);
    }

    /// Since when a slot's block is dirty, or which epoch it belongs to.
    pub(super) fn set_since(&mut self, slot: Slot, since: u32) {
        self.slots.set_since(slot, since);
    }

    /// The fallow hand goes by a slot: how often it did since the block was used, at most 3.
    pub(super) fn pass(&mut self, slot: Slot) -> u16 {
        self.slots.pass(slot)
    }

    /// A reader of a slot begins.
    #[inline]
    pub(super) fn read_begins(&mut self, slot: Slot) {
        self.slots.read_begins(slot);
    }

    /// A reader of a slot is done.
    #[inline]
    pub(super) fn read_ended(&mut self, slot: Slot) {
        if self.slots.read_ends(slot) == 0 && self.slots.has(slot, LEAVING) {
            self.free_slot(slot);
        }
    }
}
