//! Where slots come from. A slot whose block left is in limbo until the journal says so durably and its last reader is
//! gone; a reserve of free ones is kept ahead, so that a full cache still takes writes.

use std::collections::VecDeque;

use super::counts::Event;
use super::{Engine, Turn};
use crate::cache::journal::{Record, What};
use crate::cache::policy::Policy;
use crate::cache::slots::{BAD, DESTAGING, FRESH, LEAVING, NEWER, PINNED, QUEUED, SUPERSEDED, State, WANTED, WRITING};
use crate::cache::{Block, Lsn, Memory, Slot};

/// Slots that hold nothing.
pub(super) struct Space {
    free: Vec<Slot>,
    /// Slots from here on were never used.
    next: u32,
    /// Slots in use from none on: the limit that `Resize` sets.
    pub(super) limit: u32,
    limbo: VecDeque<(Lsn, Slot)>,
    /// Free slots that are kept ahead.
    pub(super) reserve: u32,
    /// Slots behind the limit that hold something still.
    pub(super) outside: u32,
}

/// The reserve of a cache of so many slots: a 64th, as one commit of the journal frees it again; at most 64 MiB of 16 KiB
/// blocks.
fn reserve(slots: u32) -> u32 {
    (slots / 64).clamp(slots.div_ceil(8).min(8), 4096)
}

impl Space {
    /// `used` says which slots hold something.
    pub(super) fn new(limit: u32, used: impl Fn(Slot) -> bool) -> Self {
        let next = Slot::first(limit).rev().find(|slot| used(*slot)).map_or(0, |last| last.0 + 1);
        let free = Slot::first(next).rev().filter(|slot| !used(*slot)).collect();
        Self { free, next, limit, limbo: VecDeque::new(), reserve: reserve(limit), outside: 0 }
    }

    /// Slots that can be written now.
    #[inline]
    pub(super) fn free(&self) -> u32 {
        self.free.len() as u32 + self.unused()
    }

    /// Slots that were never used.
    #[inline]
    pub(super) fn unused(&self) -> u32 {
        self.limit.saturating_sub(self.next)
    }

    /// Whether what is free is kept for writes of blocks that are cached.
    pub(super) fn scarce(&self) -> bool {
        self.free() <= self.reserve / 4
    }

    /// Slots in limbo.
    #[inline]
    pub(super) fn limbo(&self) -> usize {
        self.limbo.len()
    }

    /// The record that frees the slot that came last.
    pub(super) fn last_limbo(&self) -> Lsn {
        self.limbo.back().map_or(Lsn(0), |(lsn, _)| *lsn)
    }

    /// Memory, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.free.capacity() * size_of::<Slot>() + self.limbo.capacity() * size_of::<(Lsn, Slot)>()
    }

    fn take(&mut self) -> Slot {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        if self.next < self.limit {
            self.next += 1;
            return Slot(self.next - 1);
        }
        Slot::NONE
    }

    /// Gives a slot back; one behind the limit is gone, as is a bad one.
    fn give(&mut self, slot: Slot, good: bool) {
        if slot.0 >= self.limit {
            self.outside -= 1;
        } else if good {
            self.free.push(slot);
        }
    }

    /// Another number of slots. Slots behind it that hold something must be emptied by the caller.
    pub(super) fn set_limit(&mut self, limit: u32) {
        let old = self.limit;
        self.limit = limit;
        self.reserve = reserve(limit);
        if limit < old {
            let before = self.free.len();
            self.free.retain(|slot| slot.0 < limit);
            let free = before - self.free.len();
            self.outside += self.next.saturating_sub(limit) - free as u32;
            self.next = self.next.min(limit);
        }
    }
}

impl Engine {
    /// A free slot; Slot::NONE: there is none.
    pub(super) fn take_slot<M: Memory>(&mut self, turn: &mut Turn<M>) -> Slot {
        let slot = self.space.take();
        self.keep_reserve(turn);
        slot
    }

    /// A slot for a block that comes in clean, if there are more than writes may need; Slot::NONE: it stays outside.
    pub(super) fn slot_for_fill<M: Memory>(&mut self, block: Block, turn: &mut Turn<M>) -> Slot {
        if !self.durability.room_to_record()
            || self.space.free() <= self.space.reserve / 2
            || !self.policy.room(block) && self.find(block) == Slot::NONE && !self.set_room(block, turn)
        {
            self.keep_reserve(turn);
            return Slot::NONE;
        }
        self.take_slot(turn)
    }

    /// Whether there is a slot for the write of a block that is not cached.
    pub(super) fn slot_for_new<M: Memory>(&mut self, block: Block, turn: &mut Turn<M>) -> bool {
        if self.space.scarce() {
            self.keep_reserve(turn);
            return false;
        }
        self.set_room(block, turn)
    }

    /// Makes room in the block's set, if the policy has sets; false: everything in it is held.
    fn set_room<M: Memory>(&mut self, block: Block, turn: &mut Turn<M>) -> bool {
        while !self.policy.room(block) {
            let Some(slot) = self.policy.victim(block, self.slots.blocks()) else { return false };
            self.evict(slot, turn);
        }
        true
    }

    /// Lets blocks go until enough slots are free or soon will be.
    pub(super) fn keep_reserve<M: Memory>(&mut self, turn: &mut Turn<M>) {
        while self.space.free() + self.space.limbo.len() as u32 <= self.space.reserve
            && self.durability.room_to_record()
        {
            let Some(slot) = self.policy.victim(Block::NONE, self.slots.blocks()) else { break };
            self.evict(slot, turn);
        }
        if self.space.free() <= self.space.reserve / 2 {
            self.want_limbo();
        }
    }

    /// Has the journal made durable as far as slots in limbo wait for it.
    pub(super) fn want_limbo(&mut self) {
        self.durability.want(self.space.last_limbo());
    }

    /// A clean block that the policy let go leaves.
    fn evict<M: Memory>(&mut self, slot: Slot, _turn: &mut Turn<M>) {
        debug_assert_eq!(self.slots.state(slot), State::Clean);
        self.counts.add(Event::Replacement);
        self.clean -= 1;
        let block = self.slots.block(slot);
        self.index.remove(block, slot);
        self.policy.next().inspect(|next| self.index.prefetch(self.slots.block(*next)));
        let lsn = self.record(Record { slot, what: What::Freed });
        self.send_to_limbo(slot, lsn);
    }

    /// A block leaves the cache because what it holds does not count any more.
    pub(super) fn drop_block<M: Memory>(&mut self, block: Block, turn: &mut Turn<M>) {
        let slot = self.find(block);
        if slot == Slot::NONE {
            return;
        }
        if self.slots.dirty(slot) {
            self.no_more_wanted(slot, false, turn);
            self.no_more_dirty(slot);
        } else {
            self.clean -= 1;
        }
        if self.slots.has(slot, PINNED) {
            self.slots.unmark(slot, PINNED);
        }
        self.policy.remove(slot, block);
        self.index.remove(block, slot);
        let lsn = self.record(Record { slot, what: What::Freed });
        self.send_to_limbo(slot, lsn);
    }

    /// A slot's block is elsewhere, or nowhere, since record `lsn`.
    pub(super) fn send_to_limbo(&mut self, slot: Slot, lsn: Lsn) {
        self.slots.set_state(slot, State::Limbo);
        self.slots.unmark(slot, PINNED | DESTAGING | NEWER | WANTED | QUEUED | SUPERSEDED | WRITING);
        self.space.limbo.push_back((lsn, slot));
    }

    /// The journal is durable up to some record: slots leave limbo.
    pub(super) fn leave_limbo(&mut self) {
        let durable = self.durability.durable();
        while let Some((lsn, slot)) = self.fresh.front().copied()
            && lsn <= durable
        {
            self.fresh.pop_front();
            self.slots.unmark(slot, FRESH);
        }
        while let Some((lsn, slot)) = self.space.limbo.front().copied()
            && lsn <= durable
        {
            self.space.limbo.pop_front();
            if self.slots.readers(slot) == 0 {
                self.free(slot);
            } else {
                self.slots.mark(slot, LEAVING);
            }
        }
    }

    fn free(&mut self, slot: Slot) {
        self.due = true;
        self.slots.set_state(slot, State::Free);
        self.slots.unmark(slot, LEAVING);
        self.space.give(slot, !self.slots.has(slot, BAD));
    }

    /// A reader of a slot is done.
    #[inline]
    pub(super) fn read_ended(&mut self, slot: Slot) {
        if self.slots.read_ends(slot) == 0 && self.slots.has(slot, LEAVING) {
            self.free(slot);
        }
    }

    /// A slot was taken and is not used after all; not `good`: its medium failed.
    pub(super) fn slot_unused<M: Memory>(&mut self, slot: Slot, good: bool, turn: &mut Turn<M>) {
        if slot == Slot::NONE {
            return;
        }
        if !good {
            self.counts.add(Event::FastWriteError);
            self.slots.mark(slot, BAD);
            self.tell(turn, format!("the fast device failed to write slot {slot}: it is not used again"));
        }
        self.free(slot);
    }

    /// Whether something is under way, or can be, after which a slot is free.
    pub(super) fn slots_will_come(&self) -> bool {
        self.space.limbo() > 0 || !self.writes.is_empty() || self.dirty > self.lost
    }
}
