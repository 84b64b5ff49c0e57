//! Room for what comes in: blocks leave so that a reserve of slots is always free, or soon will be.

use super::super::counts::Event;
use super::super::{Engine, Turn};
use crate::cache::journal::{Record, What};
use crate::cache::slots::{LOST, State};
use crate::cache::{Block, Memory, Slot};

impl Engine {
    /// A free slot; NONE: there is none.
    pub(in super::super) fn take_slot(&mut self) -> Slot {
        let slot = self.contents.take_slot();
        self.keep_reserve();
        slot
    }

    /// A slot for a block that comes in clean, if there are more than writes may need; NONE: it stays outside.
    pub(in super::super) fn slot_for_fill(&mut self, block: Block) -> Slot {
        if !self.durability.room_to_record()
            || self.contents.is_low()
            || !self.contents.set_has_room(block)
                && self.contents.find(block) == Slot::NONE
                && !self.make_room_in_set(block)
        {
            self.keep_reserve();
            return Slot::NONE;
        }
        self.take_slot()
    }

    /// Whether there is a slot for the write of a block that is not cached.
    pub(in super::super) fn slot_for_new(&mut self, block: Block) -> bool {
        if self.contents.is_scarce() {
            self.keep_reserve();
            return false;
        }
        self.make_room_in_set(block)
    }

    /// Makes room in the block's set, if the policy has sets; false: everything in it is held.
    fn make_room_in_set(&mut self, block: Block) -> bool {
        while !self.contents.set_has_room(block) {
            let Some(slot) = self.contents.evict(block) else { return false };
            self.evicted(slot);
        }
        true
    }

    /// Lets blocks go until enough slots are free or soon will be.
    pub(in super::super) fn keep_reserve(&mut self) {
        while self.contents.is_short() && self.durability.room_to_record() {
            let Some(slot) = self.contents.evict(Block::NONE) else { break };
            self.evicted(slot);
        }
        if self.contents.is_low() {
            self.want_limbo();
        }
    }

    /// Has the journal made durable as far as slots in limbo wait for it.
    pub(in super::super) fn want_limbo(&mut self) {
        self.durability.want(self.contents.last_limbo());
    }

    /// A clean block that the policy let go leaves.
    fn evicted(&mut self, slot: Slot) {
        self.counts.add(Event::Replacement);
        self.free(slot);
    }

    /// A slot holds nothing any more.
    pub(in super::super) fn free(&mut self, slot: Slot) {
        let lsn = self.record(Record { slot, what: What::Freed });
        self.contents.send_to_limbo(slot, lsn);
    }

    /// A block leaves the cache because what it holds does not count any more.
    pub(in super::super) fn drop_block<M: Memory>(&mut self, block: Block, turn: &mut Turn<M>) {
        let slot = self.contents.find(block);
        if slot == Slot::NONE {
            return;
        }
        let slots = self.contents.slots();
        let (dirty, since) = (slots.state(slot) == State::Dirty, slots.since(slot));
        if dirty {
            self.wanted_no_more(slot, false, turn);
            let lost = self.contents.slots().has(slot, LOST);
            self.write_back.forget_refusal(block);
            self.write_back.became_clean(block, &self.contents);
            if !lost && self.write_back.keeps_order() {
                self.epoch_version_ended(since);
            }
        }
        self.contents.remove(block, slot);
        self.free(slot);
    }

    /// The journal is durable up to some record: slots leave limbo.
    pub(in super::super) fn leave_limbo(&mut self) {
        self.contents.leave_limbo(self.durability.durable());
    }

    /// A slot was taken and is not used after all; not `good`: its medium failed.
    pub(in super::super) fn slot_unused<M: Memory>(&mut self, slot: Slot, good: bool, turn: &mut Turn<M>) {
        if slot == Slot::NONE {
            return;
        }
        if !good {
            self.counts.add(Event::FastWriteError);
            self.notify(turn, format!("the fast device failed to write slot {slot}: it is not used again"));
        }
        self.contents.give_slot(slot, good);
    }

    /// Whether something is under way, or can be, after which a slot is free.
    pub(in super::super) fn slots_will_come(&self) -> bool {
        self.contents.limbo() > 0 || self.writes.len() > 0 || self.contents.can_write_back()
    }
}
