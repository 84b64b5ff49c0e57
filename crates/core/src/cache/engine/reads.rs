//! Reads: hits, misses that fill the cache, misses that go past it.

use super::counts::Event;
use super::locks::Owner;
use super::requests::Part;
use super::{AskedId, Engine, Job, Turn};
use crate::cache::journal::{Record, What};
use crate::cache::policy::Policy;
use crate::cache::slots::{LOST, PINNED, State};
use crate::cache::{Admission, Block, BufferId, Failure, IoKind, Memory, Mode, Place, Side, Slot};

crate::slab_key!(
    /// A fill under way.
    pub(super) FillId
);

/// Blocks that are read from the slow device into the cache. Each is locked until it is in its slot.
pub(super) struct Fill {
    pub(super) block: Block,
    pub(super) blocks: u32,
    pub(super) buffer: BufferId,
    /// The data are in the buffer.
    pub(super) read: bool,
    /// Who waits for them, if it was no command.
    pub(super) part: Option<Part>,
    /// Writes to slots under way.
    pub(super) left: u32,
    /// A command asked for it.
    pub(super) loading: bool,
}

impl Engine {
    /// Begins a part of a read and takes as many blocks after it as go the same way. Returns the bytes taken.
    #[inline]
    pub(super) fn read<M: Memory>(&mut self, part: Part, rest: u32, turn: &mut Turn<M>) -> u32 {
        let slot = self.find(part.block);
        if slot != Slot::NONE && !self.written_past(part.block) {
            self.hit(part, slot, turn);
            return part.bytes;
        }
        if self.locks.held(part.block) {
            self.wait(part, turn);
            return part.bytes;
        }
        if self.gone(part.block) {
            self.part_ended(part.asked, Err(Failure::Medium), turn);
            return part.bytes;
        }
        let fills = self.fills(part.asked, part.block);
        let mut blocks = 1;
        let mut end = part.bytes;
        while end < rest && blocks < self.run_blocks() {
            let next = part.block + blocks;
            if self.find(next) != Slot::NONE
                || self.locks.held(next)
                || self.gone(next)
                || self.fills(part.asked, next) != fills
            {
                break;
            }
            blocks += 1;
            end = self.run_bytes(part.from, blocks, rest);
            self.counts.add(Event::Read);
        }
        let part = Part { bytes: end, ..part };
        if fills {
            self.fill(part.block, blocks, Some(part), turn);
        } else {
            self.read_past(part, turn);
        }
        end
    }

    /// Whether a write past the cache is under way to a block that is cached: somebody may have read what is new from the
    /// slow device, so what is old must not be read any more.
    #[inline]
    fn written_past(&self, block: Block) -> bool {
        !self.pasts.is_empty() && matches!(self.locks.owner(block), Some(Owner::Past(_)))
    }

    /// A part of a read whose block was locked and now is its own. Returns whether it keeps the lock.
    pub(super) fn read_now<M: Memory>(&mut self, part: Part, turn: &mut Turn<M>) -> bool {
        let slot = self.find(part.block);
        if slot != Slot::NONE {
            self.hit(part, slot, turn);
            false
        } else if self.gone(part.block) {
            self.part_ended(part.asked, Err(Failure::Medium), turn);
            false
        } else if self.fills(part.asked, part.block) {
            self.fill(part.block, 1, Some(part), turn);
            true
        } else {
            self.read_past(part, turn);
            false
        }
    }

    /// A part whose block has an owner waits, if it cannot be helped out of the owner's buffer.
    pub(super) fn wait<M: Memory>(&mut self, part: Part, turn: &mut Turn<M>) {
        if let Some(Owner::Fill(number)) = self.locks.owner(part.block)
            && self.locks.first(part.block).is_none()
            && self.kind(&part) == crate::cache::Kind::Read
            && self.fills[number].read
        {
            let fill = &self.fills[number];
            let at = (part.block.0 - fill.block.0) * self.block_bytes + part.from;
            let from = Place::Buffer { buffer: fill.buffer, at };
            turn.memory.copy(from, self.place(&part), part.bytes);
            self.counts.add(Event::ReadHit);
            return self.part_ended(part.asked, Ok(()), turn);
        }
        self.counts.add(Event::PendingEnqueue);
        self.locks.wait(part.block, part);
    }

    /// Whether a miss fills the cache.
    fn fills(&mut self, asked: AskedId, block: Block) -> bool {
        if self.asked[asked].passes || self.settings.mode == Mode::WriteOnly || !self.may_cache(block) {
            return false;
        }
        // With slots that were never used there is nobody to protect.
        if self.settings.admission == Admission::All || self.space.unused() > self.space.reserve {
            return true;
        }
        if self.ghost.take(block) {
            return true;
        }
        self.ghost.put(block);
        false
    }

    /// Reads a part from its slot.
    #[inline]
    fn hit<M: Memory>(&mut self, part: Part, slot: Slot, turn: &mut Turn<M>) {
        if self.slots.has(slot, LOST) {
            return self.part_ended(part.asked, Err(Failure::Medium), turn);
        }
        self.counts.add(Event::ReadHit);
        self.policy.hit(slot, part.block);
        self.slots.touch(slot);
        self.slots.read_begins(slot);
        let whole = part.bytes == self.block_bytes;
        let offset = self.geometry.slot_offset(slot);
        if whole || !self.settings.verify {
            let place = self.place(&part);
            let job = Job::Hit { part, slot, buffer: None };
            self.io(job, Side::Fast, IoKind::Read, (offset + u64::from(part.from), part.bytes), place, turn);
        } else {
            let buffer = turn.memory.take(self.block_bytes);
            let place = Place::Buffer { buffer, at: 0 };
            let job = Job::Hit { part, slot, buffer: Some(buffer) };
            self.io(job, Side::Fast, IoKind::Read, (offset, self.block_bytes), place, turn);
        }
    }

    /// A read of a slot for a part ended.
    pub(super) fn hit_ended<M: Memory>(
        &mut self,
        part: Part,
        slot: Slot,
        buffer: Option<BufferId>,
        ok: bool,
        turn: &mut Turn<M>,
    ) {
        let mut good = ok;
        let whole = buffer.is_some() || part.bytes == self.block_bytes;
        if good && whole && self.settings.verify {
            let place = buffer.map_or_else(|| self.place(&part), |buffer| Place::Buffer { buffer, at: 0 });
            good = turn.memory.checksum(place, self.block_bytes) == self.slots.crc(slot);
        }
        if let Some(buffer) = buffer {
            if good {
                let from = Place::Buffer { buffer, at: part.from };
                turn.memory.copy(from, self.place(&part), part.bytes);
            }
            turn.memory.give(buffer);
        }
        self.read_ended(slot);
        if good {
            self.part_ended(part.asked, Ok(()), turn);
        } else {
            self.bad_hit(part, slot, ok, turn);
        }
    }

    /// A slot did not give what was put in it.
    fn bad_hit<M: Memory>(&mut self, part: Part, slot: Slot, read: bool, turn: &mut Turn<M>) {
        let now = self.find(part.block);
        if now != slot {
            // A newer version came meanwhile, or the block left.
            if now != Slot::NONE {
                return self.hit(part, now, turn);
            }
            return self.read_past_in_turn(part, turn);
        }
        self.slot_is_bad(slot, read, turn);
        if self.slots.dirty(slot) {
            return self.part_ended(part.asked, Err(Failure::Medium), turn);
        }
        if !self.locks.held(part.block) {
            self.drop_block(part.block, turn);
        }
        self.read_past(part, turn);
    }

    /// Reads from the slow device in the order of the block's mutators.
    fn read_past_in_turn<M: Memory>(&mut self, part: Part, turn: &mut Turn<M>) {
        if self.locks.held(part.block) {
            return self.wait(part, turn);
        }
        self.read_past(part, turn);
    }

    /// Reads a part, of one block or of several, from the slow device into the request's memory.
    pub(super) fn read_past<M: Memory>(&mut self, part: Part, turn: &mut Turn<M>) {
        self.counts.add(Event::UncachedRead);
        let offset = self.offset(part.block) + u64::from(part.from);
        let place = self.place(&part);
        self.io(Job::Straight { part }, Side::Slow, IoKind::Read, (offset, part.bytes), place, turn);
    }

    /// Reads blocks, which the caller found unlocked, from the slow device into the cache.
    pub(super) fn fill<M: Memory>(&mut self, block: Block, blocks: u32, part: Option<Part>, turn: &mut Turn<M>) {
        let bytes = blocks * self.block_bytes;
        let buffer = turn.memory.take(bytes);
        let loading = part.is_none();
        let number = self.fills.insert(Fill { block, blocks, buffer, read: false, part, left: 0, loading });
        for block in block.run(blocks) {
            self.locks.hold(block, Owner::Fill(number));
        }
        self.durability.promise(blocks);
        let place = Place::Buffer { buffer, at: 0 };
        self.io(Job::FillRead { fill: number }, Side::Slow, IoKind::Read, (self.offset(block), bytes), place, turn);
    }

    /// What a fill reads has come: its parts are answered, its blocks go to slots.
    pub(super) fn fill_read<M: Memory>(&mut self, number: FillId, ok: bool, turn: &mut Turn<M>) {
        let fill = &mut self.fills[number];
        let (block, blocks, buffer) = (fill.block, fill.blocks, fill.buffer);
        let part = fill.part.take();
        fill.read = ok;
        if !ok {
            self.counts.add(Event::SlowReadError);
        }
        if let Some(part) = part {
            if ok {
                let at = (part.block.0 - block.0) * self.block_bytes + part.from;
                turn.memory.copy(Place::Buffer { buffer, at }, self.place(&part), part.bytes);
            }
            self.part_ended(part.asked, if ok { Ok(()) } else { Err(Failure::Medium) }, turn);
        }
        self.fills[number].left = 1;
        for nth in 0..blocks {
            let block = block + nth;
            let slot = if ok && !self.degraded() { self.slot_for_fill(block, turn) } else { Slot::NONE };
            if slot == Slot::NONE {
                self.durability.keep_promise(1);
                self.unlock(block, turn);
                continue;
            }
            let place = Place::Buffer { buffer, at: nth * self.block_bytes };
            let crc = turn.memory.checksum(place, self.block_bytes);
            self.slots.set_crc(slot, crc);
            self.policy.ahead(slot);
            self.policy.comes(block);
            self.fills[number].left += 1;
            self.counts.add(Event::Fill);
            let job = Job::FillWrite { fill: number, block, slot };
            let range = (self.geometry.slot_offset(slot), self.block_bytes);
            self.background(job, Side::Fast, IoKind::Write, range, place, turn);
        }
        self.fill_left(number, turn);
    }

    /// A block that was filled is in its slot.
    pub(super) fn fill_written<M: Memory>(
        &mut self,
        fill: FillId,
        block: Block,
        slot: Slot,
        ok: bool,
        turn: &mut Turn<M>,
    ) {
        self.durability.keep_promise(1);
        if ok && !self.degraded() {
            let crc = self.slots.crc(slot);
            self.slots.hold(slot, block, crc, State::Clean);
            self.index.insert(block, slot, self.slots.blocks());
            self.policy.insert(slot, block);
            if self.fills[fill].loading && self.pinned(block) {
                self.slots.mark(slot, PINNED);
                self.policy.hold(slot);
            }
            self.clean += 1;
            self.record(Record { slot, what: What::Holds { block, crc, dirty: false, keeps: false, stamp: 0 } });
        } else {
            self.slot_unused(slot, ok, turn);
        }
        self.unlock(block, turn);
        self.fill_left(fill, turn);
    }

    fn fill_left<M: Memory>(&mut self, number: FillId, turn: &mut Turn<M>) {
        self.fills[number].left -= 1;
        if self.fills[number].left == 0 {
            let fill = self.fills.remove(number);
            turn.memory.give(fill.buffer);
            if fill.loading {
                self.loaded(fill.read, turn);
            }
        }
    }
}
