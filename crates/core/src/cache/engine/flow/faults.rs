//! When devices fail. What is dirty is never dropped; without the fast device writes go on to the slow one.

use super::super::counts::Event;
use super::super::jobs::Job;
use super::super::{Engine, Turn};
use crate::cache::journal::PAIR_BYTES;
use crate::cache::slots::{LOST, State};
use crate::cache::{Block, BufferId, IoKind, Memory, Place, Side, Slot, Told};

/// Blocks that are named one by one when the fast device fails.
const NAMED: usize = 64;

impl Engine {
    /// Reports an event to the user.
    pub(in super::super) fn notify<M: Memory>(&mut self, turn: &mut Turn<M>, text: String) {
        turn.out.told.push(Told { at_ns: turn.now_ns, text });
    }

    /// A slot did not give what was put in it: not `read` (EIO), or not with the right checksum.
    pub(in super::super) fn slot_is_bad<M: Memory>(&mut self, slot: Slot, read: bool, turn: &mut Turn<M>) {
        let (block, since) = (self.contents.slots().block(slot), self.contents.slots().since(slot));
        let why = if read { "its checksum is wrong" } else { "the fast device can not read it" };
        if read {
            self.counts.add(Event::ChecksumError);
        } else {
            self.counts.add(Event::FastReadError);
        }
        if self.contents.slots().state(slot) != State::Dirty {
            return self.notify(turn, format!("a clean copy of block {block} is dropped: {why}"));
        }
        if !self.contents.slots().has(slot, LOST) {
            self.contents.lose(slot);
            self.wanted_no_more(slot, true, turn);
            if self.write_back.keeps_order() {
                self.on_demand.will_fail();
                self.epoch_version_ended(since);
            }
            let from = self.addresses.offset(block);
            let to = from + u64::from(self.addresses.block_bytes());
            let what =
                format!("block {block} (bytes {from} to {to}) is lost: {why}, and it was dirty; reads of it give EIO");
            self.notify(turn, what);
        }
    }

    /// The fast device failed.
    pub(in super::super) fn degrade<M: Memory>(&mut self, why: &str, turn: &mut Turn<M>) {
        if self.degraded() {
            return;
        }
        if self.write_back.keeps_order() {
            self.end_order(turn.now_ns);
        }
        self.pairing.fail();
        self.durability.abandon();
        self.begin_on_demand_anew(turn.now_ns);
        let slots = self.contents.slots();
        let dirty = slots.all().filter(|slot| slots.dirty(*slot));
        let mut dirty: Vec<Block> = dirty.map(|slot| slots.block(slot)).collect();
        dirty.sort_unstable();
        self.notify(turn, format!("the fast device failed: {why}. Writes go to the slow device from now on"));
        if !dirty.is_empty() {
            let named: Vec<String> = dirty.iter().take(NAMED).map(Block::to_string).collect();
            let more = if dirty.len() > NAMED { format!(" and {} more", dirty.len() - NAMED) } else { String::new() };
            let what = format!(
                "{} dirty blocks are written back if they can be read: {}{more}",
                dirty.len(),
                named.join(", ")
            );
            self.notify(turn, what);
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
    pub(in super::super) fn pair_written<M: Memory>(&mut self, buffer: BufferId, ok: bool, turn: &mut Turn<M>) {
        if !ok {
            return self.pair_failed("written", buffer, turn);
        }
        turn.memory.give(buffer);
        self.io(Job::PairSync, Side::Pair, IoKind::Sync, (0, 0), Place::Nowhere, turn);
    }

    /// The pairing record is durable, or nobody knows: then it is written anew, for the system may have forgotten it.
    pub(in super::super) fn pair_synced<M: Memory>(&mut self, ok: bool, turn: &mut Turn<M>) {
        if !ok {
            let buffer = self.degraded_pair(self.contents.dirty(), turn);
            return self.pair_failed("synced", buffer, turn);
        }
        self.pairing.synced();
    }

    /// Writes the pairing record of a failed fast device on which so many blocks are that are nowhere else.
    pub(in super::super) fn write_pair<M: Memory>(&mut self, dirty: u32, turn: &mut Turn<M>) {
        let buffer = self.degraded_pair(dirty, turn);
        self.put_pair(buffer, turn);
    }

    /// Writes the pairing record that is in a buffer.
    pub(in super::super) fn put_pair<M: Memory>(&mut self, buffer: BufferId, turn: &mut Turn<M>) {
        let place = Place::Buffer { buffer, at: 0 };
        self.io(Job::PairWrite { buffer }, Side::Pair, IoKind::Write, (0, PAIR_BYTES as u32), place, turn);
    }

    /// Without the pairing record nothing may go past the fast device. Tried until it goes.
    fn pair_failed<M: Memory>(&mut self, done: &str, buffer: BufferId, turn: &mut Turn<M>) {
        self.notify(turn, format!("the pairing record can not be {done}: writes wait"));
        self.pairing.retry_later(buffer, turn.now_ns);
    }
}
