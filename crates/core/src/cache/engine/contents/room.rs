//! Room in the cache: free slots, the reserve that is kept ahead, what is pinned, another size and another policy.

use super::Contents;
use crate::cache::policy::{Policies, Policy};
use crate::cache::slots::{BAD, PINNED, SUPERSEDED, State};
use crate::cache::{Block, Lsn, Slot};

impl Contents {
    /// Slots that can be written now.
    #[inline]
    pub(in super::super) fn free(&self) -> u32 {
        self.space.free()
    }

    /// Slots in limbo.
    #[inline]
    pub(in super::super) fn limbo(&self) -> u32 {
        self.space.limbo()
    }

    /// The record that frees the slot that came into limbo last.
    pub(in super::super) fn last_limbo(&self) -> Lsn {
        self.space.last_limbo()
    }

    /// Slots in use, from the first one on.
    #[inline]
    pub(in super::super) fn limit(&self) -> u32 {
        self.space.limit()
    }

    /// Slots behind the limit that hold something still.
    pub(in super::super) fn outside(&self) -> u32 {
        self.space.outside()
    }

    /// A free slot; NONE: there is none.
    pub(in super::super) fn take_slot(&mut self) -> Slot {
        self.space.take()
    }

    /// A slot was taken and is not used after all. Not `good`: its medium failed, so it is never used again.
    pub(in super::super) fn give_slot(&mut self, slot: Slot, good: bool) {
        if !good {
            self.slots.mark(slot, BAD);
        }
        self.free_slot(slot);
    }

    /// Free slots that are kept ahead.
    #[cfg(test)]
    pub(in super::super) fn reserve(&self) -> u32 {
        self.space.reserve()
    }

    /// Whether so many slots were never used that nothing in the cache needs protection.
    pub(in super::super) fn is_filling(&self) -> bool {
        self.space.unused() > self.space.reserve()
    }

    /// Whether what is free is kept for writes of blocks that are cached.
    pub(in super::super) fn is_scarce(&self) -> bool {
        self.free() <= self.space.reserve() / 4
    }

    /// Whether what is free is kept for writes: nothing comes in clean, and slots in limbo are wanted.
    pub(in super::super) fn is_low(&self) -> bool {
        self.free() <= self.space.reserve() / 2
    }

    /// Whether more blocks must leave: fewer slots are free, or will be, than are kept ahead.
    pub(in super::super) fn is_short(&self) -> bool {
        self.free() + self.limbo() <= self.space.reserve()
    }

    /// Blocks that may be read at once for a command.
    pub(in super::super) fn load_blocks_max(&self) -> u32 {
        (self.space.reserve() / 4).max(1)
    }

    /// Whether so many slots more than writes may need are free.
    pub(in super::super) fn has_for_load(&self, slots: u32) -> bool {
        self.free() > self.space.reserve() / 2 + slots
    }

    /// Whether the set of a block has room for it, if the policy has sets.
    pub(in super::super) fn set_has_room(&self, block: Block) -> bool {
        self.policy.room(block)
    }

    /// The set of a block, if the policy has sets.
    pub(in super::super) fn set_of(&self, block: Block) -> Option<u32> {
        match &self.policy {
            Policies::Flashcache(policy) => Some(policy.set_of(block)),
            _ => None,
        }
    }

    /// How many sets the policy has, if it has sets.
    pub(in super::super) fn sets(&self) -> Option<u32> {
        match &self.policy {
            Policies::Flashcache(policy) => Some(policy.sets()),
            _ => None,
        }
    }

    /// Another policy: everything comes in anew, in the order of slots.
    ///
    /// # Errors
    /// There is no such policy.
    pub(in super::super) fn set_policy(&mut self, name: &str) -> Result<(), String> {
        let mut policy = Policies::new(name, self.slots.len())?;
        for slot in self.slots.all() {
            let held = matches!(self.slots.state(slot), State::Clean | State::Dirty);
            if held && !self.slots.has(slot, SUPERSEDED) {
                policy.insert(slot, self.slots.block(slot));
                if self.slots.dirty(slot) || self.slots.has(slot, PINNED) {
                    policy.hold(slot);
                }
            }
        }
        self.policy = policy;
        Ok(())
    }

    /// Another number of slots. The caller empties those behind it.
    pub(in super::super) fn set_limit(&mut self, slots: u32) {
        let table = &self.slots;
        self.space.set_limit(slots, |slot| table.has(slot, BAD) && table.state(slot) == State::Free);
    }

    /// The slots behind the limit.
    pub(in super::super) fn behind_limit(&self) -> impl Iterator<Item = Slot> + use<> {
        (self.limit()..self.slots.len()).map(Slot)
    }

    /// Blocks that can be pinned in all: a cache that is all pinned could take nothing else.
    pub(in super::super) fn pins_max(&self) -> u32 {
        self.limit() * 9 / 10
    }

    /// Pins a range of blocks. Returns how many blocks would be pinned in all, if those are too many.
    pub(in super::super) fn pin(&mut self, from: Block, to: Block) -> Option<u64> {
        let all = self.pins.blocks() + u64::from(to - from);
        if all > u64::from(self.limit()) * 9 / 10 {
            return Some(all);
        }
        self.pins.add(from, to);
        for block in from.run(to - from) {
            let slot = self.find(block);
            if slot != Slot::NONE && !self.slots.has(slot, PINNED) {
                self.slots.mark(slot, PINNED);
                if !self.slots.dirty(slot) {
                    self.policy.hold(slot);
                }
            }
        }
        None
    }

    /// A range of blocks may be evicted again.
    pub(in super::super) fn unpin(&mut self, from: Block, to: Block) {
        self.pins.remove(from, to);
        for slot in self.slots.all() {
            let block = self.slots.block(slot);
            if self.slots.has(slot, PINNED) && !self.pins.contain(block) {
                self.slots.unmark(slot, PINNED);
                if !self.slots.dirty(slot) {
                    self.policy.release(slot, block);
                }
            }
        }
    }
}
