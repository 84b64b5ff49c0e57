//! When devices fail. What is dirty is never dropped; without the fast device writes go on to the slow one.

use super::counts::Event;
use super::requests::Part;
use super::writes::Route;
use super::{Engine, Job, Turn};
use crate::cache::journal::PAIR_BYTES;
use crate::cache::slots::{DESTAGING, LOST, State};
use crate::cache::{Block, BufferId, IoKind, Memory, Place, Side, Slot, Told};

/// Blocks that are named one by one when the fast device fails.
const NAMED: usize = 64;

impl Engine {
    /// Nothing is written to the fast device any more.
    #[inline]
    pub(super) fn degraded(&self) -> bool {
        self.pairing.degraded()
    }

    /// Says that something happened.
    pub(super) fn tell<M: Memory>(&mut self, turn: &mut Turn<M>, text: String) {
        turn.out.told.push(Told { at_ns: turn.now_ns, text });
    }

    /// A slot did not give what was put in it: not `read` (EIO), or not with the right checksum.
    pub(super) fn slot_is_bad<M: Memory>(&mut self, slot: Slot, read: bool, turn: &mut Turn<M>) {
        let block = self.slots.block(slot);
        let why = if read { "its checksum is wrong" } else { "the fast device can not read it" };
        if read {
            self.counts.add(Event::ChecksumError);
        } else {
            self.counts.add(Event::FastReadError);
        }
        if self.slots.state(slot) != State::Dirty {
            return self.tell(turn, format!("a clean copy of block {block} is dropped: {why}"));
        }
        if !self.slots.has(slot, LOST) {
            self.slots.mark(slot, LOST);
            self.lost += 1;
            self.no_more_wanted(slot, true, turn);
            if !self.epochs.is_empty() {
                if let Some(flushing) = &mut self.flushing {
                    flushing.failed = true;
                }
                self.epoch_less(self.slots.since(slot));
            }
            let (from, to) = (self.offset(block), self.offset(block) + u64::from(self.block_bytes));
            let what =
                format!("block {block} (bytes {from} to {to}) is lost: {why}, and it was dirty; reads of it give EIO");
            self.tell(turn, what);
        }
    }

    /// The fast device failed.
    pub(super) fn degrade<M: Memory>(&mut self, why: &str, turn: &mut Turn<M>) {
        if self.degraded() {
            return;
        }
        if !self.epochs.is_empty() {
            self.end_order(turn.now_ns);
        }
        self.pairing.fail();
        self.durability.abandon();
        self.flush_anew(turn.now_ns);
        let mut dirty: Vec<Block> = (self.slots.all())
            .filter(|slot| self.slots.state(*slot) == State::Dirty)
            .map(|slot| self.slots.block(slot))
            .collect();
        dirty.sort_unstable();
        self.tell(turn, format!("the fast device failed: {why}. Writes go to the slow device from now on"));
        if !dirty.is_empty() {
            let named: Vec<String> = dirty.iter().take(NAMED).map(Block::to_string).collect();
            let more = if dirty.len() > NAMED { format!(" and {} more", dirty.len() - NAMED) } else { String::new() };
            let what = format!(
                "{} dirty blocks are written back if they can be read: {}{more}",
                dirty.len(),
                named.join(", ")
            );
            self.tell(turn, what);
        }
        self.write_pair(dirty.len() as u32, turn);
    }

    /// A buffer with the pairing record that says so.
    fn degraded_pair<M: Memory>(&mut self, dirty: u32, turn: &mut Turn<M>) -> BufferId {
        self.pairing.begin(dirty);
        let buffer = turn.memory.take(PAIR_BYTES as u32);
        turn.memory.store(Place::Buffer { buffer, at: 0 }, &self.durability.degraded_pair(dirty));
        buffer
    }

    /// The pairing record was written.
    pub(super) fn pair_written<M: Memory>(&mut self, buffer: BufferId, ok: bool, turn: &mut Turn<M>) {
        if !ok {
            return self.pair_failed("written", buffer, turn);
        }
        turn.memory.give(buffer);
        self.io(Job::PairSync, Side::Pair, IoKind::Sync, (0, 0), Place::Nowhere, turn);
    }

    /// The pairing record is durable, or nobody knows: then it is written anew, for the system may have forgotten it.
    pub(super) fn pair_synced<M: Memory>(&mut self, ok: bool, turn: &mut Turn<M>) {
        if !ok {
            let buffer = self.degraded_pair(self.dirty, turn);
            return self.pair_failed("synced", buffer, turn);
        }
        self.pairing.synced();
    }

    /// Writes the pairing record of a failed fast device on which so many blocks are that are nowhere else.
    pub(super) fn write_pair<M: Memory>(&mut self, dirty: u32, turn: &mut Turn<M>) {
        let buffer = self.degraded_pair(dirty, turn);
        let place = Place::Buffer { buffer, at: 0 };
        self.io(Job::PairWrite { buffer }, Side::Pair, IoKind::Write, (0, PAIR_BYTES as u32), place, turn);
    }

    /// Without the pairing record nothing may go past the fast device. Tried until it goes.
    fn pair_failed<M: Memory>(&mut self, done: &str, buffer: BufferId, turn: &mut Turn<M>) {
        self.tell(turn, format!("the pairing record can not be {done}: writes wait"));
        self.pairing.retry_later(buffer, turn.now_ns);
    }

    /// Where a part of a write goes when the fast device is gone.
    pub(super) fn route_degraded(&mut self, part: &Part, slot: Slot) -> Route {
        if self.pairing.failing() {
            return Route::Starve;
        }
        if slot == Slot::NONE || !self.slots.dirty(slot) {
            return Route::Past;
        }
        if self.slots.has(slot, DESTAGING) {
            // It must not overtake what is on its way to the same place.
            return Route::Starve;
        }
        if self.slots.has(slot, LOST) {
            return if part.bytes == self.block_bytes { Route::Past } else { Route::Fail };
        }
        // First what is there goes back: then the write may go past it.
        self.urgent.push(part.block);
        Route::Starve
    }

    /// Whether the only copy of a block that is not cached was lost before the cache was started.
    #[inline]
    pub(super) fn gone(&self, block: Block) -> bool {
        !self.lost_blocks.is_empty() && self.lost_blocks.contains(&block)
    }

    /// A block that was lost was written anew.
    pub(super) fn found(&mut self, block: Block) {
        if !self.lost_blocks.is_empty() {
            self.lost_blocks.remove(&block);
        }
    }
}
