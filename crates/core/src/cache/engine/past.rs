//! Writes that go to the slow device at once: write-through, write-around, streams, trims, and whatever finds no room.
//!
//! None is issued before the journal says durably that its region may be written (`intent`): after a crash nothing clean
//! of such a region is believed, so a clean block is never older than what the slow device holds.

use super::counts::Event;
use super::durability::SlowSeq;
use super::locks::Owner;
use super::requests::Part;
use super::{Engine, Job, Turn, Waiter};
use crate::cache::journal::{Record, What};
use crate::cache::policy::Policy;
use crate::cache::slots::State;
use crate::cache::{Block, BufferId, Failure, IoKind, Kind, Lsn, Memory, Mode, Place, Side, Slot};

/// A region whose intent is set is at rest when nothing wrote to it for so long: then the intent is taken back.
const REST_NS: u64 = 5_000_000_000;

/// What is known of a region of the slow device.
#[derive(Clone, Copy, Default)]
pub(super) struct Region {
    /// The record that set its intent; 0: it is not set.
    set: Lsn,
    /// Writes to it under way.
    writers: u32,
    /// The last one that ended, and when.
    ended: SlowSeq,
    ended_ns: u64,
}

crate::slab_key!(
    /// A write past the cache under way.
    pub(super) PastId
);

/// Blocks on their way to the slow device. They are locked.
pub(super) struct Past {
    part: Part,
    blocks: u32,
    /// Zeros, if those are what is written.
    buffer: Option<BufferId>,
    /// Slots that get a copy (write-through): block, slot.
    copies: Vec<(Block, Slot)>,
    /// IOs under way.
    left: u32,
    ok: bool,
}

impl Engine {
    /// Begins a write of a run of blocks, which nobody holds or which are its own, to the slow device.
    pub(super) fn write_past<M: Memory>(&mut self, part: Part, blocks: u32, turn: &mut Turn<M>) {
        let past = Past { part, blocks, buffer: None, copies: Vec::new(), left: 0, ok: true };
        let number = self.pasts.insert(past);
        for block in part.block.run(blocks) {
            self.locks.hold(block, Owner::Past(number));
        }
        self.counts.add(Event::UncachedWrite);
        self.durability.promise(blocks);
        if self.degraded() {
            // The pairing record says already that nothing on the fast device is to be believed.
            return self.past_may_go(number, turn);
        }
        let mut needed = Lsn(0);
        for region in self.geometry.region_of(part.block)..=self.geometry.region_of(Block(part.block.0 + blocks - 1)) {
            if self.regions[region as usize].set == Lsn(0) {
                let set = self.record(Record { slot: Slot(0), what: What::Intent { region, set: true } });
                self.regions[region as usize].set = set;
                self.intents.push(region);
            }
            self.regions[region as usize].writers += 1;
            needed = needed.max(self.regions[region as usize].set);
        }
        if needed <= self.durability.durable() {
            self.past_may_go(number, turn);
        } else {
            self.durability.wait_recorded(needed, Waiter::Past(number));
        }
    }

    /// The intent is durable: the IOs go out.
    pub(super) fn past_may_go<M: Memory>(&mut self, number: PastId, turn: &mut Turn<M>) {
        let (part, blocks) = (self.pasts[number].part, self.pasts[number].blocks);
        let kind = self.kind(&part);
        let offset = self.offset(part.block) + u64::from(part.from);
        self.pasts[number].left = 1;
        self.slow_foreground += 1;
        self.slow_foreground_ns = turn.now_ns;
        let (io, place) = match kind {
            Kind::Trim => (IoKind::Discard, Place::Nowhere),
            Kind::Zero => {
                let buffer = turn.memory.take(part.bytes.next_multiple_of(self.block_bytes));
                turn.memory.zero(Place::Buffer { buffer, at: 0 }, part.bytes);
                self.pasts[number].buffer = Some(buffer);
                (IoKind::Write, Place::Buffer { buffer, at: 0 })
            }
            _ => (IoKind::Write, self.place(&part)),
        };
        self.io(Job::PastWrite { past: number }, Side::Slow, io, (offset, part.bytes), place, turn);
        if self.settings.mode != Mode::WriteThrough || kind == Kind::Trim || self.degraded() {
            return;
        }
        for nth in 0..blocks {
            let at = if nth == 0 { 0 } else { nth * self.block_bytes - part.from };
            let whole = (nth > 0 || part.from == 0) && at + self.block_bytes <= part.bytes;
            let block = part.block + nth;
            let comes = self.find(block) != Slot::NONE || !self.asked[part.asked].passes && self.may_cache(block);
            let slot = if whole && comes { self.slot_for_fill(block, turn) } else { Slot::NONE };
            if slot == Slot::NONE {
                continue;
            }
            let place = match place {
                Place::Buffer { buffer, .. } => Place::Buffer { buffer, at },
                _ => Place::Request { tag: self.asked[part.asked].request.tag, at: part.at + at },
            };
            let crc = turn.memory.checksum(place, self.block_bytes);
            self.slots.set_crc(slot, crc);
            self.pasts[number].copies.push((block, slot));
            self.pasts[number].left += 1;
            let range = (self.geometry.slot_offset(slot), self.block_bytes);
            self.io(Job::PastCopy { past: number, block, slot }, Side::Fast, IoKind::Write, range, place, turn);
        }
    }

    /// The write to the slow device ended.
    pub(super) fn past_written<M: Memory>(&mut self, number: PastId, ok: bool, turn: &mut Turn<M>) {
        self.slow_foreground -= 1;
        self.slow_foreground_ns = turn.now_ns;
        self.durability.slow_write_ended(true);
        if !ok {
            self.counts.add(Event::SlowWriteError);
            self.pasts[number].ok = false;
        }
        self.past_left(number, turn);
    }

    /// A copy in the cache ended.
    pub(super) fn past_copied<M: Memory>(
        &mut self,
        past: PastId,
        block: Block,
        slot: Slot,
        ok: bool,
        turn: &mut Turn<M>,
    ) {
        if !ok || self.degraded() {
            self.pasts[past].copies.retain(|(copied, _)| *copied != block);
            self.slot_unused(slot, ok, turn);
        }
        self.past_left(past, turn);
    }

    fn past_left<M: Memory>(&mut self, number: PastId, turn: &mut Turn<M>) {
        self.pasts[number].left -= 1;
        if self.pasts[number].left != 0 {
            return;
        }
        let past = self.pasts.remove(number);
        let part = past.part;
        let mut copies = past.copies.iter().copied().peekable();
        for block in part.block.run(past.blocks) {
            let slot = copies.next_if(|(copied, _)| *copied == block).map_or(Slot::NONE, |(_, slot)| slot);
            if past.ok && slot != Slot::NONE && !self.degraded() {
                self.counts.cached(self.block_bytes);
                self.install_clean(block, slot);
                self.found(block);
                continue;
            }
            if past.ok {
                // Part of a lost block does not come here.
                self.found(block);
            }
            if slot != Slot::NONE {
                self.slot_unused(slot, true, turn);
            }
            let old = self.find(block);
            // With the fast device gone, a dirty block that is written over in part is no better than before.
            if old != Slot::NONE {
                self.counts.add(Event::WriteInvalidate);
                self.drop_block(block, turn);
            }
        }
        if !self.degraded() {
            let ended = self.durability.slow_ended();
            for region in
                self.geometry.region_of(part.block)..=self.geometry.region_of(Block(part.block.0 + past.blocks - 1))
            {
                let region = &mut self.regions[region as usize];
                region.writers = region.writers.saturating_sub(1);
                (region.ended, region.ended_ns) = (ended, turn.now_ns);
            }
        }
        // Whatever was recorded of these blocks before (that they are clean, that they left) must be durable when this
        // write is: else an older dirty version would come back.
        let lsn = self.durability.recorded();
        self.durability.users_wait_for(lsn);
        if !self.degraded() {
            self.asked[part.asked].lsn = lsn;
        }
        self.durability.keep_promise(past.blocks);
        if let Some(buffer) = past.buffer {
            turn.memory.give(buffer);
        }
        self.part_ended(part.asked, if past.ok { Ok(()) } else { Err(Failure::Medium) }, turn);
        for block in part.block.run(past.blocks) {
            self.unlock(block, turn);
        }
    }

    /// Both devices have a block's new version.
    fn install_clean(&mut self, block: Block, slot: Slot) {
        let crc = self.slots.crc(slot);
        let old = self.find(block);
        self.slots.hold(slot, block, crc, State::Clean);
        if old == Slot::NONE {
            self.index.insert(block, slot, self.slots.blocks());
            self.policy.insert(slot, block);
            self.clean += 1;
        } else {
            self.counts.add(Event::WriteHit);
            self.index.replace(block, old, slot);
            self.policy.moved(old, slot, block);
            self.policy.hit(slot, block);
            let kept = self.slots.kept(old);
            self.slots.mark(slot, kept);
        }
        let what = What::Holds { block, crc, dirty: false, keeps: false, stamp: 0 };
        let lsn = self.record(Record { slot, what });
        if old != Slot::NONE {
            self.send_to_limbo(old, lsn);
        }
    }

    /// A sync failed: what was written to regions since `synced` waits for another one.
    pub(super) fn unsure_regions(&mut self, synced: SlowSeq) {
        let ended = self.durability.slow_ended();
        for number in &self.intents {
            let region = &mut self.regions[*number as usize];
            if region.ended > synced {
                region.ended = ended;
            }
        }
    }

    /// Takes intents back that are not needed any more. A region is at rest when nothing writes to it and what was written
    /// is durable.
    pub(super) fn clear_intents(&mut self, now_ns: u64) {
        let mut at = 0;
        while at < self.intents.len() {
            let number = self.intents[at];
            let region = self.regions[number as usize];
            let rests = region.writers == 0 && now_ns.saturating_sub(region.ended_ns) >= REST_NS;
            if rests && region.ended <= self.durability.slow_synced() && self.durability.room_to_record() {
                self.regions[number as usize].set = Lsn(0);
                self.record(Record { slot: Slot(0), what: What::Intent { region: number, set: false } });
                self.intents.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }
}
