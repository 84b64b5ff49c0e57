//! Writes into the cache: each version of a block goes to a slot of its own, and only when it is there the block moves.

use super::counts::Event;
use super::locks::Owner;
use super::requests::Part;
use super::{Engine, Job, Turn};
use crate::cache::journal::{Record, What};
use crate::cache::policy::Policy;
use crate::cache::slots::{ALONE, DESTAGING, FRESH, LOST, NEWER, PINNED, State};
use crate::cache::{Block, BufferId, Failure, IoKind, Kind, Lsn, Memory, Mode, Place, Side, Slot};

/// Slots that are tried for one write before the fast device counts as failed.
const TRIES_MAX: u8 = 3;

crate::slab_key!(
    /// A write into the cache under way.
    pub(super) WriteId
);

/// A block's new version on its way. The block is locked.
pub(super) struct Write {
    pub(super) block: Block,
    /// Where it goes.
    pub(super) slot: Slot,
    /// Where the block was when the write began.
    old: Slot,
    /// The whole block, unless it is the request's own memory.
    pub(super) buffer: Option<BufferId>,
    /// The write that began it, and those that it took along.
    pub(super) part: Part,
    pub(super) more: Vec<Part>,
    tries: u8,
    /// The reader that `WriteRead` reads from: a slot, or Slot::NONE for the slow device.
    source: Slot,
}

/// Where a part of a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// To a slot; the block is in `old` so far.
    Cache { old: Slot },
    /// To the slow device.
    Past,
    /// Nowhere: the rest of the block is lost.
    Fail,
    /// It waits: for a free slot, for room in the journal, for a write-back.
    Starve,
}

impl Engine {
    /// Begins a part of a write and takes as many blocks after it as go the same way past the cache. Returns the bytes.
    pub(super) fn write<M: Memory>(&mut self, part: Part, rest: u32, turn: &mut Turn<M>) -> u32 {
        if self.locks.held(part.block) {
            self.wait(part, turn);
            return part.bytes;
        }
        match self.route(&part, turn) {
            Route::Cache { old } => self.write_cached(part, old, turn),
            Route::Starve => self.starve(part),
            Route::Fail => self.part_ended(part.asked, Err(Failure::Medium), turn),
            Route::Past => {
                let mut blocks = 1;
                let mut end = part.bytes;
                while end < rest && blocks < self.run_blocks() {
                    let block = part.block + blocks;
                    let bytes = (rest - end).min(self.block_bytes);
                    let next = Part { block, from: 0, bytes, at: part.at + end, ..part };
                    if self.locks.held(block) || self.route(&next, turn) != Route::Past {
                        break;
                    }
                    blocks += 1;
                    end = self.run_bytes(part.from, blocks, rest);
                    self.counts.add(Event::Write);
                }
                self.write_past(Part { bytes: end, ..part }, blocks, turn);
                return end;
            }
        }
        part.bytes
    }

    /// A part of a write whose block is its own now. Returns whether it keeps the lock.
    pub(super) fn write_now<M: Memory>(&mut self, part: Part, turn: &mut Turn<M>) -> bool {
        match self.route(&part, turn) {
            Route::Cache { old } => self.write_cached(part, old, turn),
            Route::Past => self.write_past(part, 1, turn),
            Route::Starve => self.starve(part),
            Route::Fail => {
                self.part_ended(part.asked, Err(Failure::Medium), turn);
                return false;
            }
        }
        true
    }

    fn starve(&mut self, part: Part) {
        self.locks.hold(part.block, Owner::Nobody);
        self.counts.add(Event::Starved);
        // Room in the journal and slots in limbo both come with its next sync.
        self.durability.want_room();
        self.starved.push_back(part);
    }

    /// Where a part of a write goes, as things stand.
    pub(super) fn route<M: Memory>(&mut self, part: &Part, turn: &mut Turn<M>) -> Route {
        let slot = self.find(part.block);
        let state = if slot == Slot::NONE { State::Free } else { self.slots.state(slot) };
        if slot == Slot::NONE && part.bytes != self.block_bytes && self.gone(part.block) {
            return Route::Fail;
        }
        if self.degraded() {
            return self.route_degraded(part, slot);
        }
        if !self.durability.room_to_record() {
            return Route::Starve;
        }
        let back = matches!(self.settings.mode, Mode::WriteBack | Mode::WriteOnly);
        match state {
            State::Dirty if self.space.free() > 0 => Route::Cache { old: slot },
            State::Dirty => Route::Starve,
            _ if !back || self.kind(part) == Kind::Trim && !self.ordered() => Route::Past,
            State::Clean if self.space.free() > 0 => Route::Cache { old: slot },
            _ if !self.may_cache(part.block) => self.past_in_order(),
            _ if state != State::Clean && self.asked[part.asked].passes && !self.ordered() => Route::Past,
            // What made room for it may have been its own clean version.
            _ if self.slot_for_new(part.block, turn) => Route::Cache { old: self.still(part.block, slot) },
            State::Clean if self.slots.has(slot, PINNED) && self.slots_will_come() => Route::Starve,
            // Slots come free with the next commit, one for each that waits already and one for this. Where there are slots,
            // it is the set that has no room, and no commit helps.
            _ if self.space.scarce() && self.space.limbo() > self.starved.len() => Route::Starve,
            _ => {
                self.counts.add(Event::NoRoom);
                self.past_in_order()
            }
        }
    }

    fn past_in_order(&self) -> Route {
        if self.out_of_order() { Route::Starve } else { Route::Past }
    }

    /// A part goes into the cache, whose block nobody holds or which is its own, and for which there is a slot.
    fn write_cached<M: Memory>(&mut self, part: Part, old: Slot, turn: &mut Turn<M>) {
        let block = part.block;
        let slot = self.take_slot(turn);
        debug_assert_ne!(slot, Slot::NONE);
        // Until the data are there, what the policy will be told comes from memory.
        self.policy.ahead(slot);
        if old == Slot::NONE {
            self.policy.comes(block);
        } else {
            self.policy.ahead(old);
            self.counts.add(Event::WriteHit);
            if self.slots.dirty(old) {
                self.counts.add(Event::DirtyWriteHit);
            }
        }
        self.durability.promise(1);
        let write = Write { block, slot, old, buffer: None, part, more: Vec::new(), tries: 0, source: Slot::NONE };
        let number = self.writes.insert(write);
        self.locks.hold(block, Owner::Write(number));
        let whole = part.bytes == self.block_bytes;
        if whole && self.kind(&part) == Kind::Write {
            return self.write_data(number, turn);
        }
        let buffer = turn.memory.take(self.block_bytes);
        self.writes[number].buffer = Some(buffer);
        if whole {
            turn.memory.zero(Place::Buffer { buffer, at: 0 }, self.block_bytes);
            return self.write_data(number, turn);
        }
        self.read_old(number, old, turn);
    }

    /// Reads what a part-block write does not write.
    fn read_old<M: Memory>(&mut self, number: WriteId, old: Slot, turn: &mut Turn<M>) {
        let Write { block, buffer: Some(buffer), .. } = self.writes[number] else { return };
        let place = Place::Buffer { buffer, at: 0 };
        self.writes[number].source = old;
        if old == Slot::NONE {
            let range = (self.offset(block), self.block_bytes);
            return self.io(Job::WriteRead { write: number }, Side::Slow, IoKind::Read, range, place, turn);
        }
        if self.slots.has(old, LOST) {
            return self.write_failed(number, true, turn);
        }
        self.slots.read_begins(old);
        let range = (self.geometry.slot_offset(old), self.block_bytes);
        self.io(Job::WriteRead { write: number }, Side::Fast, IoKind::Read, range, place, turn);
    }

    /// The old version has come.
    pub(super) fn old_read<M: Memory>(&mut self, number: WriteId, ok: bool, turn: &mut Turn<M>) {
        let Write { block, buffer: Some(buffer), source, .. } = self.writes[number] else { return };
        if source == Slot::NONE {
            if !ok {
                self.counts.add(Event::SlowReadError);
                return self.write_failed(number, true, turn);
            }
        } else {
            let place = Place::Buffer { buffer, at: 0 };
            let verify = self.settings.verify || self.slots.dirty(source);
            let good = ok && (!verify || turn.memory.checksum(place, self.block_bytes) == self.slots.crc(source));
            self.read_ended(source);
            if !good {
                self.slot_is_bad(source, ok, turn);
                if self.slots.dirty(source) {
                    return self.write_failed(number, true, turn);
                }
                self.drop_block(block, turn);
                return self.read_old(number, Slot::NONE, turn);
            }
        }
        let part = self.writes[number].part;
        self.merge(&part, buffer, turn);
        while let Some(part) = self.locks.first(block)
            && matches!(self.kind(&part), Kind::Write | Kind::Zero)
        {
            self.locks.pop(block);
            self.counts.add(Event::MergedWrite);
            self.merge(&part, buffer, turn);
            self.writes[number].more.push(part);
        }
        self.write_data(number, turn);
    }

    fn merge<M: Memory>(&mut self, part: &Part, buffer: BufferId, turn: &mut Turn<M>) {
        let to = Place::Buffer { buffer, at: part.from };
        match self.kind(part) {
            Kind::Write => turn.memory.copy(self.place(part), to, part.bytes),
            _ => turn.memory.zero(to, part.bytes),
        }
    }

    /// The whole block is there: it goes to its slot.
    fn write_data<M: Memory>(&mut self, number: WriteId, turn: &mut Turn<M>) {
        let Write { slot, buffer, part, .. } = self.writes[number];
        let place = buffer.map_or_else(|| self.place(&part), |buffer| Place::Buffer { buffer, at: 0 });
        let crc = turn.memory.checksum(place, self.block_bytes);
        self.slots.set_crc(slot, crc);
        let range = (self.geometry.slot_offset(slot), self.block_bytes);
        self.io(Job::WriteData { write: number }, Side::Fast, IoKind::Write, range, place, turn);
    }

    /// The data are in the slot: the block moves there.
    pub(super) fn data_written<M: Memory>(&mut self, number: WriteId, ok: bool, turn: &mut Turn<M>) {
        if !ok || self.degraded() {
            return self.data_not_written(number, ok, turn);
        }
        let write = self.writes.remove(number);
        let Write { block, slot, part, .. } = write;
        let lsn = self.install_dirty(block, slot, write.old, turn);
        if let Some(buffer) = write.buffer {
            turn.memory.give(buffer);
        }
        self.durability.keep_promise(1);
        for part in std::iter::once(part).chain(write.more) {
            self.asked[part.asked].lsn = lsn;
            self.counts.cached(part.bytes);
            self.part_ended(part.asked, Ok(()), turn);
        }
        self.unlock(block, turn);
    }

    /// A slot did not take its data: another one is tried; in the end the fast device counts as failed.
    fn data_not_written<M: Memory>(&mut self, number: WriteId, ok: bool, turn: &mut Turn<M>) {
        let slot = self.writes[number].slot;
        self.slot_unused(slot, ok, turn);
        self.writes[number].slot = Slot::NONE;
        if !self.degraded() {
            self.writes[number].tries += 1;
            if self.writes[number].tries < TRIES_MAX && self.space.free() > 0 {
                self.writes[number].slot = self.take_slot(turn);
                return self.write_data(number, turn);
            }
            self.degrade("writes to it fail", turn);
        }
        // Its parts begin anew, one after another, and go past the fast device.
        let write = self.writes.remove(number);
        if let Some(buffer) = write.buffer {
            turn.memory.give(buffer);
        }
        self.durability.keep_promise(1);
        self.locks.hold(write.block, Owner::Nobody);
        for part in write.more {
            self.locks.wait(write.block, part);
        }
        if !self.write_now(write.part, turn) {
            self.unlock(write.block, turn);
        }
    }

    /// The old version cannot be had: the write fails.
    fn write_failed<M: Memory>(&mut self, number: WriteId, slot_good: bool, turn: &mut Turn<M>) {
        let write = self.writes.remove(number);
        if let Some(buffer) = write.buffer {
            turn.memory.give(buffer);
        }
        self.slot_unused(write.slot, slot_good, turn);
        self.durability.keep_promise(1);
        for part in std::iter::once(write.part).chain(write.more) {
            self.part_ended(part.asked, Err(Failure::Medium), turn);
        }
        self.unlock(write.block, turn);
    }

    /// A block's new version, the only copy, is in `slot`: the mapping moves and the journal is told.
    fn install_dirty<M: Memory>(&mut self, block: Block, slot: Slot, old: Slot, turn: &mut Turn<M>) -> Lsn {
        let crc = self.slots.crc(slot);
        let old = self.still(block, old);
        let was_dirty = old != Slot::NONE && self.slots.dirty(old);
        let (since, keeps) = if self.ordered() {
            self.join_epoch(slot, old)
        } else {
            (if was_dirty { self.slots.since(old) } else { self.units(turn.now_ns) }, false)
        };
        self.slots.hold(slot, block, crc, State::Dirty);
        self.slots.set_since(slot, since);
        if old == Slot::NONE {
            self.index.insert(block, slot, self.slots.blocks());
            self.policy.insert(slot, block);
            self.policy.hold(slot);
            if self.pinned(block) {
                self.slots.mark(slot, PINNED);
            }
            self.found(block);
        } else {
            self.index.replace(block, old, slot);
            self.policy.moved(old, slot, block);
            self.policy.hit(slot, block);
            let kept = self.slots.kept(old);
            self.slots.mark(slot, kept);
            self.slots.unmark(slot, ALONE);
            if self.slots.has(old, DESTAGING) {
                self.slots.mark(slot, NEWER);
            }
            if self.slots.has(old, LOST) {
                self.lost -= 1;
            }
            if !was_dirty {
                self.clean -= 1;
                self.policy.hold(slot);
            }
        }
        if !was_dirty {
            self.became_dirty(block, slot);
        }
        let stamp = since;
        let lsn = self.record(Record { slot, what: What::Holds { block, crc, dirty: true, keeps, stamp } });
        self.durability.users_wait_for(lsn);
        self.slots.mark(slot, FRESH);
        self.fresh.push_back((lsn, slot));
        if keeps {
            self.supersede(old);
        } else if old != Slot::NONE {
            self.send_to_limbo(old, lsn);
        }
        lsn
    }
}
