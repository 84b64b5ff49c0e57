//! Reads: hits, misses that fill the cache, misses that go past it.

use super::super::counts::Event;
use super::super::jobs::Job;
use super::super::keys::{FillId, RequestId};
use super::super::locks::Owner;
use super::super::requests::Part;
use super::super::{Engine, Turn};
use crate::cache::journal::{Record, What};
use crate::cache::slots::LOST;
use crate::cache::{Block, BufferId, Failure, IoKind, Memory, Mode, Place, Side, Slot};

impl Engine {
    /// Begins a part of a read and takes as many blocks after it as go the same way. Returns the bytes taken.
    #[inline]
    pub(in super::super) fn read<M: Memory>(&mut self, part: Part, rest: u32, turn: &mut Turn<M>) -> u32 {
        let slot = self.contents.find(part.block);
        if slot != Slot::NONE && !self.is_bypassed(part.block) {
            self.hit(part, slot, turn);
            return part.bytes;
        }
        if self.locks.held(part.block) {
            self.wait(part, turn);
            return part.bytes;
        }
        if self.contents.is_gone(part.block) {
            self.part_ended(part.request, Err(Failure::Medium), turn);
            return part.bytes;
        }
        let fills = self.fills(part.request, part.block);
        let mut blocks = 1;
        let mut end = part.bytes;
        while end < rest && blocks < self.addresses.run_blocks() {
            let next = part.block + blocks;
            if self.contents.find(next) != Slot::NONE
                || self.locks.held(next)
                || self.contents.is_gone(next)
                || self.fills(part.request, next) != fills
            {
                break;
            }
            blocks += 1;
            end = self.addresses.run_bytes(part.from, blocks, rest);
            self.counts.add(Event::Read);
        }
        let part = Part { bytes: end, ..part };
        if fills {
            self.fill(part.block, blocks, Some(part), turn);
        } else {
            self.bypass_read(part, turn);
        }
        end
    }

    /// Whether a write past the cache is under way to a block that is cached: somebody may have read what is new from
    /// the slow device, so what is old must not be read any more.
    #[inline]
    fn is_bypassed(&self, block: Block) -> bool {
        self.bypasses.len() > 0 && matches!(self.locks.owner(block), Some(Owner::Bypass(_)))
    }

    /// A part of a read whose block was locked and now is its own. Returns whether it keeps the lock.
    pub(in super::super) fn read_now<M: Memory>(&mut self, part: Part, turn: &mut Turn<M>) -> bool {
        let slot = self.contents.find(part.block);
        if slot != Slot::NONE {
            self.hit(part, slot, turn);
            false
        } else if self.contents.is_gone(part.block) {
            self.part_ended(part.request, Err(Failure::Medium), turn);
            false
        } else if self.fills(part.request, part.block) {
            self.fill(part.block, 1, Some(part), turn);
            true
        } else {
            self.bypass_read(part, turn);
            false
        }
    }

    /// Whether a miss fills the cache.
    fn fills(&mut self, request: RequestId, block: Block) -> bool {
        if self.requests.passes(request) || self.settings.mode == Mode::WriteOnly || !self.may_cache(block) {
            return false;
        }
        self.admission.admits(&self.settings, block, self.contents.is_filling())
    }

    /// Reads a part from its slot.
    #[inline]
    fn hit<M: Memory>(&mut self, part: Part, slot: Slot, turn: &mut Turn<M>) {
        if self.contents.slots().has(slot, LOST) {
            return self.part_ended(part.request, Err(Failure::Medium), turn);
        }
        self.counts.add(Event::ReadHit);
        self.contents.hit(part.block, slot);
        let (offset, block_bytes) = self.addresses.slot(slot);
        if part.bytes == block_bytes || !self.settings.verify {
            let place = self.requests.place(&part);
            let job = Job::Hit { part, slot, buffer: None };
            self.io(job, Side::Fast, IoKind::Read, (offset + u64::from(part.from), part.bytes), place, turn);
        } else {
            let buffer = turn.memory.take(block_bytes);
            let place = Place::Buffer { buffer, at: 0 };
            let job = Job::Hit { part, slot, buffer: Some(buffer) };
            self.io(job, Side::Fast, IoKind::Read, (offset, block_bytes), place, turn);
        }
    }

    /// A read of a slot for a part ended.
    pub(in super::super) fn hit_ended<M: Memory>(
        &mut self,
        part: Part,
        slot: Slot,
        buffer: Option<BufferId>,
        ok: bool,
        turn: &mut Turn<M>,
    ) {
        let mut good = ok;
        let block_bytes = self.addresses.block_bytes();
        let whole = buffer.is_some() || part.bytes == block_bytes;
        if good && whole && self.settings.verify {
            let place = buffer.map_or_else(|| self.requests.place(&part), |buffer| Place::Buffer { buffer, at: 0 });
            good = turn.memory.checksum(place, block_bytes) == self.contents.slots().crc(slot);
        }
        if let Some(buffer) = buffer {
            if good {
                let from = Place::Buffer { buffer, at: part.from };
                turn.memory.copy(from, self.requests.place(&part), part.bytes);
            }
            turn.memory.give(buffer);
        }
        self.contents.read_ended(slot);
        if good {
            self.part_ended(part.request, Ok(()), turn);
        } else {
            self.bad_hit(part, slot, ok, turn);
        }
    }

    /// A slot did not give what was put in it.
    fn bad_hit<M: Memory>(&mut self, part: Part, slot: Slot, read: bool, turn: &mut Turn<M>) {
        let now = self.contents.find(part.block);
        if now != slot {
            // A newer version came meanwhile, or the block left.
            if now != Slot::NONE {
                return self.hit(part, now, turn);
            }
            return self.bypass_read_in_turn(part, turn);
        }
        self.slot_is_bad(slot, read, turn);
        if self.contents.slots().dirty(slot) {
            return self.part_ended(part.request, Err(Failure::Medium), turn);
        }
        if !self.locks.held(part.block) {
            self.drop_block(part.block, turn);
        }
        self.bypass_read(part, turn);
    }

    /// Reads from the slow device in the order of the block's mutators.
    fn bypass_read_in_turn<M: Memory>(&mut self, part: Part, turn: &mut Turn<M>) {
        if self.locks.held(part.block) {
            return self.wait(part, turn);
        }
        self.bypass_read(part, turn);
    }

    /// Reads a part, of one block or of several, from the slow device into the request's memory.
    fn bypass_read<M: Memory>(&mut self, part: Part, turn: &mut Turn<M>) {
        self.counts.add(Event::UncachedRead);
        let offset = self.addresses.offset(part.block) + u64::from(part.from);
        let place = self.requests.place(&part);
        self.io(Job::BypassRead { part }, Side::Slow, IoKind::Read, (offset, part.bytes), place, turn);
    }

    /// A read past the cache ended.
    pub(in super::super) fn bypass_read_ended<M: Memory>(&mut self, part: Part, ok: bool, turn: &mut Turn<M>) {
        if !ok {
            self.counts.add(Event::SlowReadError);
        }
        self.part_ended(part.request, if ok { Ok(()) } else { Err(Failure::Medium) }, turn);
    }

    /// Reads blocks, which the caller found unlocked, from the slow device into the cache: for a part of a request, or
    /// (None) for a command.
    pub(in super::super) fn fill<M: Memory>(
        &mut self,
        block: Block,
        blocks: u32,
        part: Option<Part>,
        turn: &mut Turn<M>,
    ) {
        let bytes = blocks * self.addresses.block_bytes();
        let buffer = turn.memory.take(bytes);
        let fill = self.fills.begin(block, blocks, buffer, part);
        for block in block.run(blocks) {
            self.locks.hold(block, Owner::Fill(fill));
        }
        self.durability.promise(blocks);
        let (place, range) = (Place::Buffer { buffer, at: 0 }, (self.addresses.offset(block), bytes));
        self.io(Job::FillRead { fill }, Side::Slow, IoKind::Read, range, place, turn);
    }

    /// What a fill reads has come: its part is answered, its blocks go to slots.
    pub(in super::super) fn fill_read<M: Memory>(&mut self, fill: FillId, ok: bool, turn: &mut Turn<M>) {
        let read = self.fills.read(fill, ok);
        let (buffer, block_bytes) = (read.buffer, self.addresses.block_bytes());
        if !ok {
            self.counts.add(Event::SlowReadError);
        }
        if let Some(part) = read.part {
            if ok {
                let at = (part.block - read.block) * block_bytes + part.from;
                turn.memory.copy(Place::Buffer { buffer, at }, self.requests.place(&part), part.bytes);
            }
            self.part_ended(part.request, if ok { Ok(()) } else { Err(Failure::Medium) }, turn);
        }
        for (nth, block) in (0..).zip(read.block.run(read.blocks)) {
            let slot = if ok && !self.degraded() { self.slot_for_fill(block) } else { Slot::NONE };
            if slot == Slot::NONE {
                self.durability.keep_promise(1);
                self.unlock(block, turn);
                continue;
            }
            let place = Place::Buffer { buffer, at: nth * block_bytes };
            let crc = turn.memory.checksum(place, block_bytes);
            self.contents.set_crc(slot, crc);
            self.contents.prefetch_slot(slot);
            self.contents.prefetch_newcomer(block);
            self.fills.write_begins(fill);
            self.counts.add(Event::Fill);
            let job = Job::FillWrite { fill, block, slot };
            self.background(job, Side::Fast, IoKind::Write, self.addresses.slot(slot), place, turn);
        }
        self.fill_io_ended(fill, turn);
    }

    /// A block that was filled is in its slot.
    pub(in super::super) fn fill_written<M: Memory>(
        &mut self,
        fill: FillId,
        block: Block,
        slot: Slot,
        ok: bool,
        turn: &mut Turn<M>,
    ) {
        self.durability.keep_promise(1);
        if ok && !self.degraded() {
            self.contents.fill(block, slot, self.fills.is_loading(fill));
            let crc = self.contents.slots().crc(slot);
            self.record(Record { slot, what: What::Holds { block, crc, dirty: false, keeps: false, stamp: 0 } });
        } else {
            self.slot_unused(slot, ok, turn);
        }
        self.unlock(block, turn);
        self.fill_io_ended(fill, turn);
    }

    fn fill_io_ended<M: Memory>(&mut self, fill: FillId, turn: &mut Turn<M>) {
        if let Some(ended) = self.fills.io_ended(fill) {
            turn.memory.give(ended.buffer);
            if ended.loading {
                self.loaded(ended.read, turn);
            }
        }
    }
}
