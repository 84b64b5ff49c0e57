//! Writes that go to the slow device at once: write-through, write-around, streams, trims, and whatever finds no room.

use super::super::bypasses::Bypass;
use super::super::counts::Event;
use super::super::durability::{SlowSeq, Waiter};
use super::super::jobs::Job;
use super::super::keys::BypassId;
use super::super::locks::Owner;
use super::super::requests::Part;
use super::super::{Engine, Turn};
use crate::cache::journal::{Record, What};
use crate::cache::{Block, Failure, IoKind, Kind, Lsn, Memory, Mode, Place, Side, Slot};

impl Engine {
    /// Begins a write of a run of blocks, which nobody holds or which are its own, to the slow device.
    pub(in super::super) fn bypass_write<M: Memory>(&mut self, part: Part, blocks: u32, turn: &mut Turn<M>) {
        let bypass = self.bypasses.begin(part, blocks);
        for block in part.block.run(blocks) {
            self.locks.hold(block, Owner::Bypass(bypass));
        }
        self.counts.add(Event::UncachedWrite);
        self.durability.promise(blocks);
        if self.degraded() {
            // The pairing record says already that nothing on the fast device is to be believed.
            return self.bypass_may_go(bypass, turn);
        }
        let mut needed = Lsn(0);
        for region in self.addresses.regions_of(part.block, blocks) {
            let set = self.bypasses.enter(region).unwrap_or_else(|| {
                let lsn = self.record(Record { slot: Slot(0), what: What::Intent { region, set: true } });
                self.bypasses.intent_is_set(region, lsn);
                lsn
            });
            needed = needed.max(set);
        }
        if needed <= self.durability.durable() {
            self.bypass_may_go(bypass, turn);
        } else {
            self.durability.wait_recorded(needed, Waiter::Bypass(bypass));
        }
    }

    /// The intent is durable: the IOs go out.
    pub(in super::super) fn bypass_may_go<M: Memory>(&mut self, bypass: BypassId, turn: &mut Turn<M>) {
        let &Bypass { part, blocks, .. } = self.bypasses.get(bypass);
        let kind = self.requests.kind(&part);
        let offset = self.addresses.offset(part.block) + u64::from(part.from);
        self.write_back.bypass_begins(turn.now_ns);
        let mut zeros = None;
        let (io, place) = match kind {
            Kind::Trim => (IoKind::Discard, Place::Nowhere),
            Kind::Zero => {
                let buffer = turn.memory.take(part.bytes.next_multiple_of(self.addresses.block_bytes()));
                turn.memory.zero(Place::Buffer { buffer, at: 0 }, part.bytes);
                zeros = Some(buffer);
                (IoKind::Write, Place::Buffer { buffer, at: 0 })
            }
            _ => (IoKind::Write, self.requests.place(&part)),
        };
        self.bypasses.write_begins(bypass, zeros);
        self.io(Job::BypassWrite { bypass }, Side::Slow, io, (offset, part.bytes), place, turn);
        if self.settings.mode != Mode::WriteThrough || kind == Kind::Trim || self.degraded() {
            return;
        }
        for (nth, block) in (0..).zip(part.block.run(blocks)) {
            self.copy_block(bypass, nth, block, place, turn);
        }
    }

    /// Puts a copy of a block that is written past the cache into a slot too, if all of it is written.
    fn copy_block<M: Memory>(&mut self, bypass: BypassId, nth: u32, block: Block, place: Place, turn: &mut Turn<M>) {
        let part = self.bypasses.get(bypass).part;
        let block_bytes = self.addresses.block_bytes();
        let at = if nth == 0 { 0 } else { nth * block_bytes - part.from };
        let whole = (nth > 0 || part.from == 0) && at + block_bytes <= part.bytes;
        let comes =
            self.contents.find(block) != Slot::NONE || !self.requests.passes(part.request) && self.may_cache(block);
        let slot = if whole && comes { self.slot_for_fill(block) } else { Slot::NONE };
        if slot == Slot::NONE {
            return;
        }
        let place = match place {
            Place::Buffer { buffer, .. } => Place::Buffer { buffer, at },
            _ => self.requests.place(&Part { at: part.at + at, ..part }),
        };
        let crc = turn.memory.checksum(place, block_bytes);
        self.contents.set_crc(slot, crc);
        self.bypasses.copy_begins(bypass, block, slot);
        let job = Job::BypassCopy { bypass, block, slot };
        self.io(job, Side::Fast, IoKind::Write, self.addresses.slot(slot), place, turn);
    }

    /// The write to the slow device ended.
    pub(in super::super) fn bypass_written<M: Memory>(&mut self, bypass: BypassId, ok: bool, turn: &mut Turn<M>) {
        self.write_back.bypass_ended(turn.now_ns);
        self.durability.slow_write_ended(true);
        if !ok {
            self.counts.add(Event::SlowWriteError);
            self.bypasses.write_failed(bypass);
        }
        self.bypass_io_ended(bypass, turn);
    }

    /// A copy in the cache ended.
    pub(in super::super) fn bypass_copied<M: Memory>(
        &mut self,
        bypass: BypassId,
        block: Block,
        slot: Slot,
        ok: bool,
        turn: &mut Turn<M>,
    ) {
        if !ok || self.degraded() {
            self.bypasses.copy_failed(bypass, block);
            self.slot_unused(slot, ok, turn);
        }
        self.bypass_io_ended(bypass, turn);
    }

    fn bypass_io_ended<M: Memory>(&mut self, bypass: BypassId, turn: &mut Turn<M>) {
        let Some(bypass) = self.bypasses.io_ended(bypass) else { return };
        let (part, blocks) = (bypass.part, bypass.blocks);
        let mut copies = bypass.copies.iter().copied().peekable();
        for block in part.block.run(blocks) {
            let copy = copies.next_if(|(copied, _)| *copied == block).map_or(Slot::NONE, |(_, slot)| slot);
            self.block_is_below(block, copy, bypass.ok, turn);
        }
        if !self.degraded() {
            let ended = self.durability.slow_ended();
            for region in self.addresses.regions_of(part.block, blocks) {
                self.bypasses.leave(region, ended, turn.now_ns);
            }
        }
        // Whatever was recorded of these blocks before (that they are clean, that they left) must be durable when this
        // write is: else an older dirty version would come back.
        let lsn = self.durability.recorded();
        self.durability.users_wait_for(lsn);
        if !self.degraded() {
            self.requests.waits_for(part.request, lsn);
        }
        self.durability.keep_promise(blocks);
        if let Some(zeros) = bypass.zeros {
            turn.memory.give(zeros);
        }
        self.part_ended(part.request, if bypass.ok { Ok(()) } else { Err(Failure::Medium) }, turn);
        for block in part.block.run(blocks) {
            self.unlock(block, turn);
        }
    }

    /// A block was written to the slow device (`ok`), and its copy is in a slot, or it has none.
    fn block_is_below<M: Memory>(&mut self, block: Block, copy: Slot, ok: bool, turn: &mut Turn<M>) {
        if ok {
            // Part of a lost block does not come here.
            self.contents.written_anew(block);
        }
        if ok && copy != Slot::NONE && !self.degraded() {
            self.counts.cached(self.addresses.block_bytes());
            return self.install_clean(block, copy);
        }
        if copy != Slot::NONE {
            self.slot_unused(copy, true, turn);
        }
        // With the fast device gone, a dirty block that is written over in part is no better than before.
        if self.contents.find(block) != Slot::NONE {
            self.counts.add(Event::WriteInvalidate);
            self.drop_block(block, turn);
        }
    }

    /// Both devices have a block's new version.
    fn install_clean(&mut self, block: Block, slot: Slot) {
        let old = self.contents.install_clean(block, slot);
        let crc = self.contents.slots().crc(slot);
        let what = What::Holds { block, crc, dirty: false, keeps: false, stamp: 0 };
        let lsn = self.record(Record { slot, what });
        if old != Slot::NONE {
            self.counts.add(Event::WriteHit);
            self.contents.send_to_limbo(old, lsn);
        }
    }

    /// A sync of the slow device failed: what was written to regions since `sure` waits for another one.
    pub(in super::super) fn unsure_regions(&mut self, sure: SlowSeq) {
        self.bypasses.sync_failed(sure, self.durability.slow_ended());
    }

    /// Takes intents back that are not needed any more.
    pub(in super::super) fn clear_intents(&mut self, now_ns: u64) {
        let (mut at, synced) = (0, self.durability.slow_synced());
        while self.durability.room_to_record()
            && let Some(region) = self.bypasses.take_back(&mut at, synced, now_ns)
        {
            self.record(Record { slot: Slot(0), what: What::Intent { region, set: false } });
        }
    }
}
