//! Writes into the cache: each version of a block goes to a slot of its own, and only when it is there the block moves.

use super::super::cached_writes::CachedWrite;
use super::super::counts::Event;
use super::super::jobs::Job;
use super::super::keys::WriteId;
use super::super::locks::Owner;
use super::super::requests::Part;
use super::super::write_back::units;
use super::super::{Engine, Turn};
use crate::cache::journal::{Record, What};
use crate::cache::slots::{DESTAGING, LOST, PINNED, State};
use crate::cache::{Block, BufferId, Failure, IoKind, Kind, Lsn, Memory, Mode, Place, Side, Slot};

/// Where a part of a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// To a slot; the block is in `old` so far.
    Cache { old: Slot },
    /// To the slow device.
    Bypass,
    /// Nowhere: the rest of the block is lost.
    Fail,
    /// It waits: for a free slot, for room in the journal, for a write-back.
    Starve,
}

impl Engine {
    /// Begins a part of a write and takes as many blocks after it as go the same way past the cache. Returns the bytes.
    pub(in super::super) fn write<M: Memory>(&mut self, part: Part, rest: u32, turn: &mut Turn<M>) -> u32 {
        if self.locks.held(part.block) {
            self.wait(part, turn);
            return part.bytes;
        }
        match self.route(&part) {
            Route::Cache { old } => self.write_cached(part, old, turn),
            Route::Starve => self.starve(part),
            Route::Fail => self.part_ended(part.request, Err(Failure::Medium), turn),
            Route::Bypass => {
                let mut blocks = 1;
                let mut end = part.bytes;
                while end < rest && blocks < self.addresses.run_blocks() {
                    let block = part.block + blocks;
                    let bytes = (rest - end).min(self.addresses.block_bytes());
                    let next = Part { block, from: 0, bytes, at: part.at + end, ..part };
                    if self.locks.held(block) || self.route(&next) != Route::Bypass {
                        break;
                    }
                    blocks += 1;
                    end = self.addresses.run_bytes(part.from, blocks, rest);
                    self.counts.add(Event::Write);
                }
                self.bypass_write(Part { bytes: end, ..part }, blocks, turn);
                return end;
            }
        }
        part.bytes
    }

    /// A part of a write whose block is its own now. Returns whether it keeps the lock.
    pub(in super::super) fn write_now<M: Memory>(&mut self, part: Part, turn: &mut Turn<M>) -> bool {
        match self.route(&part) {
            Route::Cache { old } => self.write_cached(part, old, turn),
            Route::Bypass => self.bypass_write(part, 1, turn),
            Route::Starve => self.starve(part),
            Route::Fail => {
                self.part_ended(part.request, Err(Failure::Medium), turn);
                return false;
            }
        }
        true
    }

    fn starve(&mut self, part: Part) {
        self.locks.hold(part.block, Owner::Nobody);
        self.counts.add(Event::Starved);
        self.durability.want_room();
        self.requests.starve(part);
    }

    /// Starved writes go on as far as there is something for them.
    pub(in super::super) fn feed<M: Memory>(&mut self, turn: &mut Turn<M>) {
        self.keep_reserve();
        for _ in 0..self.requests.starved() {
            let Some(part) = self.requests.next_starved() else { return };
            if self.route(&part) == Route::Starve {
                if self.degraded() {
                    // Each waits for its own block.
                    self.requests.starve(part);
                    continue;
                }
                return self.requests.starves_on(part);
            }
            if !self.write_now(part, turn) {
                self.unlock(part.block, turn);
            }
        }
    }

    /// Whether a write waits that only write-back can help: not one that the journal's next sync gives a slot.
    pub(in super::super) fn starving(&self) -> bool {
        let slots_come = self.contents.limbo() > 0 || !self.contents.is_scarce();
        self.requests.starved() > 0 && (self.ordered() || !slots_come)
    }

    /// Where a part of a write goes, as things stand.
    fn route(&mut self, part: &Part) -> Route {
        let slot = self.contents.find(part.block);
        let state = if slot == Slot::NONE { State::Free } else { self.contents.slots().state(slot) };
        let whole = part.bytes == self.addresses.block_bytes();
        if slot == Slot::NONE && !whole && self.contents.is_gone(part.block) {
            return Route::Fail;
        }
        if self.degraded() {
            return self.route_degraded(part, slot);
        }
        if !self.durability.room_to_record() {
            return Route::Starve;
        }
        let back = matches!(self.settings.mode, Mode::WriteBack | Mode::WriteOnly);
        let free = self.contents.free() > 0;
        match state {
            State::Dirty if free => Route::Cache { old: slot },
            State::Dirty => Route::Starve,
            _ if !back || self.requests.kind(part) == Kind::Trim && !self.ordered() => Route::Bypass,
            State::Clean if free => Route::Cache { old: slot },
            _ if !self.may_cache(part.block) => self.bypass_in_order(),
            _ if state != State::Clean && self.requests.passes(part.request) && !self.ordered() => Route::Bypass,
            // What made room for it may have been its own clean version.
            _ if self.slot_for_new(part.block) => Route::Cache { old: self.contents.still(part.block, slot) },
            State::Clean if self.contents.slots().has(slot, PINNED) && self.slots_will_come() => Route::Starve,
            // Slots come free with the next commit, one for each that waits already and one for this. Where there are
            // slots, it is the set that has no room, and no commit helps.
            _ if self.contents.is_scarce() && self.contents.limbo() as usize > self.requests.starved() => Route::Starve,
            _ => {
                self.counts.add(Event::NoRoom);
                self.bypass_in_order()
            }
        }
    }

    fn bypass_in_order(&self) -> Route {
        if self.ordered() && self.write_back.is_behind() { Route::Starve } else { Route::Bypass }
    }

    /// Where a part of a write goes when the fast device is gone.
    fn route_degraded(&mut self, part: &Part, slot: Slot) -> Route {
        if self.pairing.failing() {
            return Route::Starve;
        }
        if slot == Slot::NONE || !self.contents.slots().dirty(slot) {
            return Route::Bypass;
        }
        if self.contents.slots().has(slot, DESTAGING) {
            // It must not overtake what is on its way to the same place.
            return Route::Starve;
        }
        if self.contents.slots().has(slot, LOST) {
            return if part.bytes == self.addresses.block_bytes() { Route::Bypass } else { Route::Fail };
        }
        // First what is there goes back: then the write may go past it.
        self.write_back.hurry(part.block);
        Route::Starve
    }

    /// A part goes into the cache, whose block nobody holds or which is its own, and for which there is a slot.
    fn write_cached<M: Memory>(&mut self, part: Part, old: Slot, turn: &mut Turn<M>) {
        let block = part.block;
        let slot = self.take_slot();
        debug_assert_ne!(slot, Slot::NONE);
        // The policy's state is prefetched while the data are written.
        self.contents.prefetch_slot(slot);
        if old == Slot::NONE {
            self.contents.prefetch_newcomer(block);
        } else {
            self.contents.prefetch_slot(old);
            self.counts.add(Event::WriteHit);
            if self.contents.slots().dirty(old) {
                self.counts.add(Event::DirtyWriteHit);
            }
        }
        self.durability.promise(1);
        let write = self.writes.begin(part, slot, old);
        self.locks.hold(block, Owner::Write(write));
        let block_bytes = self.addresses.block_bytes();
        let whole = part.bytes == block_bytes;
        if whole && self.requests.kind(&part) == Kind::Write {
            return self.write_data(write, turn);
        }
        let buffer = turn.memory.take(block_bytes);
        self.writes.put_together_in(write, buffer);
        if whole {
            turn.memory.zero(Place::Buffer { buffer, at: 0 }, block_bytes);
            return self.write_data(write, turn);
        }
        self.read_old(write, buffer, old, turn);
    }

    /// Reads what a part-block write does not write.
    fn read_old<M: Memory>(&mut self, write: WriteId, buffer: BufferId, old: Slot, turn: &mut Turn<M>) {
        let place = Place::Buffer { buffer, at: 0 };
        self.writes.reads_from(write, old);
        let job = Job::WriteRead { write };
        if old == Slot::NONE {
            let block = self.writes.get(write).block;
            let range = (self.addresses.offset(block), self.addresses.block_bytes());
            return self.io(job, Side::Slow, IoKind::Read, range, place, turn);
        }
        if self.contents.slots().has(old, LOST) {
            return self.write_failed(write, turn);
        }
        self.contents.read_begins(old);
        self.io(job, Side::Fast, IoKind::Read, self.addresses.slot(old), place, turn);
    }

    /// The old version has come.
    pub(in super::super) fn old_read<M: Memory>(&mut self, write: WriteId, ok: bool, turn: &mut Turn<M>) {
        let &CachedWrite { block, buffer: Some(buffer), part, .. } = self.writes.get(write) else { return };
        let source = self.writes.get(write).source();
        if source == Slot::NONE {
            if !ok {
                self.counts.add(Event::SlowReadError);
                return self.write_failed(write, turn);
            }
        } else {
            let place = Place::Buffer { buffer, at: 0 };
            let slots = self.contents.slots();
            let verify = self.settings.verify || slots.dirty(source);
            let good =
                ok && (!verify || turn.memory.checksum(place, self.addresses.block_bytes()) == slots.crc(source));
            self.contents.read_ended(source);
            if !good {
                self.slot_is_bad(source, ok, turn);
                if self.contents.slots().dirty(source) {
                    return self.write_failed(write, turn);
                }
                self.drop_block(block, turn);
                return self.read_old(write, buffer, Slot::NONE, turn);
            }
        }
        self.merge(&part, buffer, turn);
        while let Some(part) = self.locks.first(block)
            && matches!(self.requests.kind(&part), Kind::Write | Kind::Zero)
        {
            self.locks.pop(block);
            self.counts.add(Event::MergedWrite);
            self.merge(&part, buffer, turn);
            self.writes.merge(write, part);
        }
        self.write_data(write, turn);
    }

    fn merge<M: Memory>(&mut self, part: &Part, buffer: BufferId, turn: &mut Turn<M>) {
        let to = Place::Buffer { buffer, at: part.from };
        match self.requests.kind(part) {
            Kind::Write => turn.memory.copy(self.requests.place(part), to, part.bytes),
            _ => turn.memory.zero(to, part.bytes),
        }
    }

    /// The whole block is there: it goes to its slot.
    fn write_data<M: Memory>(&mut self, write: WriteId, turn: &mut Turn<M>) {
        let &CachedWrite { slot, buffer, part, .. } = self.writes.get(write);
        let place = buffer.map_or_else(|| self.requests.place(&part), |buffer| Place::Buffer { buffer, at: 0 });
        let crc = turn.memory.checksum(place, self.addresses.block_bytes());
        self.contents.set_crc(slot, crc);
        let job = Job::WriteData { write };
        self.io(job, Side::Fast, IoKind::Write, self.addresses.slot(slot), place, turn);
    }

    /// The data are in the slot: the block moves there.
    pub(in super::super) fn data_written<M: Memory>(&mut self, write: WriteId, ok: bool, turn: &mut Turn<M>) {
        if !ok || self.degraded() {
            return self.data_not_written(write, ok, turn);
        }
        let write = self.writes.end(write);
        let lsn = self.install_dirty(write.block, write.slot, write.old, turn.now_ns);
        if let Some(buffer) = write.buffer {
            turn.memory.give(buffer);
        }
        self.durability.keep_promise(1);
        for part in write.parts() {
            self.requests.waits_for(part.request, lsn);
            self.counts.cached(part.bytes);
            self.part_ended(part.request, Ok(()), turn);
        }
        self.unlock(write.block, turn);
    }

    /// A slot did not take its data: another one is tried; in the end the fast device counts as failed.
    fn data_not_written<M: Memory>(&mut self, id: WriteId, ok: bool, turn: &mut Turn<M>) {
        let slot = self.writes.get(id).slot;
        self.slot_unused(slot, ok, turn);
        if !self.degraded() {
            if self.writes.slot_failed(id) && self.contents.free() > 0 {
                let slot = self.take_slot();
                self.writes.try_slot(id, slot);
                return self.write_data(id, turn);
            }
            self.degrade("writes to it fail", turn);
        }
        // Its parts begin anew, one after another, and go past the fast device.
        let write = self.writes.end(id);
        if let Some(buffer) = write.buffer {
            turn.memory.give(buffer);
        }
        self.durability.keep_promise(1);
        self.locks.hold(write.block, Owner::Nobody);
        for part in write.merged() {
            self.locks.wait(write.block, *part);
        }
        if !self.write_now(write.part, turn) {
            self.unlock(write.block, turn);
        }
    }

    /// The old version cannot be had: the write fails.
    fn write_failed<M: Memory>(&mut self, write: WriteId, turn: &mut Turn<M>) {
        let write = self.writes.end(write);
        if let Some(buffer) = write.buffer {
            turn.memory.give(buffer);
        }
        self.slot_unused(write.slot, true, turn);
        self.durability.keep_promise(1);
        for part in write.parts() {
            self.part_ended(part.request, Err(Failure::Medium), turn);
        }
        self.unlock(write.block, turn);
    }

    /// A block's new version, the only copy, is in `slot`: the mapping moves and the journal gets a record.
    fn install_dirty(&mut self, block: Block, slot: Slot, old: Slot, now_ns: u64) -> Lsn {
        let old = self.contents.still(block, old);
        let (since, keeps) = if self.ordered() {
            self.write_back.join_epoch(slot, old, &self.contents)
        } else if old != Slot::NONE && self.contents.slots().dirty(old) {
            (self.contents.slots().since(old), false)
        } else {
            (units(now_ns), false)
        };
        if self.contents.install_dirty(block, slot, old, since) {
            self.write_back.became_dirty(block, slot, &mut self.contents, &self.settings);
        }
        let crc = self.contents.slots().crc(slot);
        let lsn = self.record(Record { slot, what: What::Holds { block, crc, dirty: true, keeps, stamp: since } });
        self.durability.users_wait_for(lsn);
        self.contents.is_fresh(slot, lsn);
        if keeps {
            self.contents.supersede(old);
        } else if old != Slot::NONE {
            self.contents.send_to_limbo(old, lsn);
        }
        lsn
    }
}
