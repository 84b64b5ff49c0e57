//! Blocks that come in, move, become clean, and leave.

use super::Contents;
use crate::cache::policy::Policy;
use crate::cache::slots::{
    ALONE, BAD, DESTAGING, FRESH, LEAVING, LOST, NEWER, PINNED, QUEUED, SUPERSEDED, State, WANTED, WRITING,
};
use crate::cache::{Block, Lsn, Slot};

impl Contents {
    /// A block was used, and is about to be read from its slot.
    #[inline]
    pub(in super::super) fn hit(&mut self, block: Block, slot: Slot) {
        self.policy.hit(slot, block);
        self.slots.touch(slot);
        self.slots.read_begins(slot);
    }

    /// A block that was not cached is in `slot`, clean. `pin`: it stays if its range is pinned.
    pub(in super::super) fn fill(&mut self, block: Block, slot: Slot, pin: bool) {
        self.slots.hold(slot, block, self.slots.crc(slot), State::Clean);
        self.index.insert(block, slot, &self.slots);
        self.policy.insert(slot, block);
        if pin && self.pins.contain(block) {
            self.slots.mark(slot, PINNED);
            self.policy.hold(slot);
        }
        self.clean += 1;
    }

    /// Both devices have a block's new version, which is in `slot`. Returns the slot of the version before.
    pub(in super::super) fn install_clean(&mut self, block: Block, slot: Slot) -> Slot {
        let old = self.find(block);
        self.slots.hold(slot, block, self.slots.crc(slot), State::Clean);
        if old == Slot::NONE {
            self.index.insert(block, slot, &self.slots);
            self.policy.insert(slot, block);
            self.clean += 1;
        } else {
            self.move_block(block, old, slot);
        }
        old
    }

    /// A block's new version, the only copy, is in `slot`, and the one before is in `old`. Returns whether that was clean or
    /// none.
    pub(in super::super) fn install_dirty(&mut self, block: Block, slot: Slot, old: Slot, since: u32) -> bool {
        let was_dirty = old != Slot::NONE && self.slots.dirty(old);
        self.slots.hold(slot, block, self.slots.crc(slot), State::Dirty);
        self.slots.set_since(slot, since);
        if old == Slot::NONE {
            self.index.insert(block, slot, &self.slots);
            self.policy.insert(slot, block);
            self.policy.hold(slot);
            if self.pins.contain(block) {
                self.slots.mark(slot, PINNED);
            }
            self.written_anew(block);
        } else {
            self.move_block(block, old, slot);
            self.slots.unmark(slot, ALONE);
            if self.slots.has(old, DESTAGING) {
                self.slots.mark(slot, NEWER);
            }
            self.lost -= u32::from(self.slots.has(old, LOST));
            if !was_dirty {
                self.clean -= 1;
                self.policy.hold(slot);
            }
        }
        self.dirty += u32::from(!was_dirty);
        !was_dirty
    }

    fn move_block(&mut self, block: Block, old: Slot, slot: Slot) {
        self.index.replace(block, old, slot);
        self.policy.moved(old, slot, block);
        self.policy.hit(slot, block);
        self.slots.mark(slot, self.slots.kept(old));
    }

    /// The version in `slot` is dirty since record `lsn`, which is not durable yet.
    pub(in super::super) fn is_fresh(&mut self, slot: Slot, lsn: Lsn) {
        self.slots.mark(slot, FRESH);
        self.fresh.push_back((lsn, slot));
    }

    /// The slow device holds what a slot holds, durably. Returns whether it was lost: it could be read for this once, so it
    /// is found again.
    pub(in super::super) fn becomes_clean(&mut self, slot: Slot) -> bool {
        self.dirty -= 1;
        self.clean += 1;
        self.slots.set_state(slot, State::Clean);
        let lost = self.slots.has(slot, LOST);
        if lost {
            self.slots.unmark(slot, LOST);
            self.lost -= 1;
        }
        if !self.slots.has(slot, PINNED) {
            self.policy.release(slot, self.slots.block(slot));
        }
        lost
    }

    /// A dirty version cannot be read.
    pub(in super::super) fn lose(&mut self, slot: Slot) {
        self.slots.mark(slot, LOST);
        self.lost += 1;
    }

    /// The version in `slot` was written over, and must go back all the same.
    pub(in super::super) fn supersede(&mut self, slot: Slot) {
        self.superseded += 1;
        self.slots.unmark(slot, PINNED | DESTAGING | NEWER | WANTED | QUEUED);
        self.slots.mark(slot, SUPERSEDED);
    }

    /// A superseded version is not needed any more; it is to be sent to limbo.
    pub(in super::super) fn let_go(&mut self, slot: Slot) {
        debug_assert!(self.slots.has(slot, SUPERSEDED));
        self.superseded -= 1;
    }

    /// Lets a clean block leave so that `block` can come in, or anything (NONE). Returns its slot, which is to be sent to
    /// limbo. None: everything is held.
    pub(in super::super) fn evict(&mut self, block: Block) -> Option<Slot> {
        let slot = self.policy.victim(block, &self.slots)?;
        debug_assert_eq!(self.slots.state(slot), State::Clean);
        self.clean -= 1;
        self.index.remove(self.slots.block(slot), slot);
        self.policy.next().inspect(|next| self.index.prefetch(self.slots.block(*next)));
        Some(slot)
    }

    /// A block leaves because what it holds does not count any more; its slot is to be sent to limbo.
    pub(in super::super) fn remove(&mut self, block: Block, slot: Slot) {
        if self.slots.dirty(slot) {
            self.dirty -= 1;
            self.lost -= u32::from(self.slots.has(slot, LOST));
        } else {
            self.clean -= 1;
        }
        self.slots.unmark(slot, PINNED);
        self.policy.remove(slot, block);
        self.index.remove(block, slot);
    }

    /// A slot's block is elsewhere, or nowhere, since record `lsn`.
    pub(in super::super) fn send_to_limbo(&mut self, slot: Slot, lsn: Lsn) {
        self.slots.set_state(slot, State::Limbo);
        self.slots.unmark(slot, PINNED | DESTAGING | NEWER | WANTED | QUEUED | SUPERSEDED | WRITING);
        self.space.put_in_limbo(slot, lsn);
    }

    /// The journal is durable up to some record: slots leave limbo.
    pub(in super::super) fn leave_limbo(&mut self, durable: Lsn) {
        while let Some((lsn, slot)) = self.fresh.front().copied()
            && lsn <= durable
        {
            self.fresh.pop_front();
            self.slots.unmark(slot, FRESH);
        }
        while let Some(slot) = self.space.take_from_limbo(durable) {
            if self.slots.readers(slot) == 0 {
                self.free_slot(slot);
            } else {
                self.slots.mark(slot, LEAVING);
            }
        }
    }

    pub(super) fn free_slot(&mut self, slot: Slot) {
        self.due = true;
        self.slots.set_state(slot, State::Free);
        self.slots.unmark(slot, LEAVING);
        self.space.give(slot, !self.slots.has(slot, BAD));
    }
}
