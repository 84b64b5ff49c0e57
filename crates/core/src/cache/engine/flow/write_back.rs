//! One write-back: neighbouring dirty blocks are read from their slots, written to the slow device as one IO, synced
//! there, and only then recorded as clean. Users' writes go on meanwhile: a block's newer version lies in another slot,
//! and is not written back before this has ended.

use super::super::counts::Event;
use super::super::durability::Waiter;
use super::super::jobs::Job;
use super::super::keys::WriteBackId;
use super::super::write_back::{Flight, Next, Run, Situation, units};
use super::super::{Engine, Turn};
use crate::cache::journal::{Record, What};
use crate::cache::slots::{ALONE, DESTAGING, FRESH, LOST, NEWER, SUPERSEDED};
use crate::cache::{Block, IoKind, Memory, Place, Side, Slot};

impl Engine {
    /// Begins what write-back is due.
    pub(in super::super) fn write_back<M: Memory>(&mut self, turn: &mut Turn<M>) {
        let now_ns = turn.now_ns;
        self.write_back.look(&mut self.contents, self.counts.write_back_bytes(), &self.settings, now_ns);
        let stops = self.commands.is_closed() && !self.commands.is_draining();
        if !self.write_back.is_paused(now_ns) && !stops {
            let depth = self.write_back.depth_now(&self.settings, now_ns);
            while self.write_back.may_begin(depth, &self.settings)
                && (self.degraded() || self.durability.room_to_record())
            {
                if !self.begin_next(turn) {
                    break;
                }
            }
        }
        if self.write_back.wants_sync(self.starving(), &self.settings) {
            self.durability.want_slow(self.durability.slow_ended());
        }
    }

    /// Begins the next write-back; false: there is none to be begun now.
    fn begin_next<M: Memory>(&mut self, turn: &mut Turn<M>) -> bool {
        let now = Situation {
            now_ns: turn.now_ns,
            settings: &self.settings,
            run_blocks: self.addresses.run_blocks(),
            all_must_go: self.degraded() || self.commands.is_draining() || self.starving(),
            slow_synced: self.durability.slow_synced(),
        };
        let (next, wanted) = self.write_back.next(&mut self.contents, &mut self.on_demand, &now);
        if let Some(wanted) = wanted {
            self.durability.want_slow(wanted);
        }
        match next {
            Next::Nothing => return false,
            Next::Others => {}
            Next::Run(run) => self.begin_run(run, turn),
            Next::Fallow(run) => {
                self.begin_run(run, turn);
                self.counts.add(Event::FallowCleaning);
            }
        }
        true
    }

    /// Begins the write-back of versions of neighbouring blocks.
    fn begin_run<M: Memory>(&mut self, run: Run, turn: &mut Turn<M>) {
        let blocks = run.slots.len() as u32;
        let block_bytes = self.addresses.block_bytes();
        let buffer = turn.memory.take(blocks * block_bytes);
        let back = self.write_back.begin(run, buffer, self.on_demand.begun(), &self.contents, turn.now_ns);
        self.durability.promise(blocks);
        for nth in 0..blocks {
            let slot = self.write_back.get(back).slots[nth as usize];
            if !self.contents.slots().has(slot, SUPERSEDED) {
                self.contents.mark(slot, DESTAGING);
            }
            if self.contents.slots().has(slot, FRESH) {
                // What is written back must not be newer than what a crash leaves in the cache.
                self.write_back.needs(back, self.durability.users());
            }
            self.contents.read_begins(slot);
            let place = Place::Buffer { buffer, at: nth * block_bytes };
            let job = Job::BackRead { back, nth };
            self.background(job, Side::Fast, IoKind::Read, self.addresses.slot(slot), place, turn);
        }
    }

    /// A version was read from its slot.
    pub(in super::super) fn version_read<M: Memory>(
        &mut self,
        back: WriteBackId,
        nth: u32,
        ok: bool,
        turn: &mut Turn<M>,
    ) {
        let flight = self.write_back.get(back);
        let (slot, block, lsn) = (flight.slots[nth as usize], flight.block + nth, flight.lsn);
        let block_bytes = self.addresses.block_bytes();
        let place = Place::Buffer { buffer: flight.buffer, at: nth * block_bytes };
        // Always checked, whatever the settings: what goes back becomes the only copy.
        let good = ok && turn.memory.checksum(place, block_bytes) == self.contents.slots().crc(slot);
        if !good {
            if self.contents.find(block) == slot && !self.contents.slots().has(slot, NEWER) {
                self.slot_is_bad(slot, ok, turn);
            }
            // If it was superseded, only the order suffers.
            self.version_ended(slot, block, true);
            self.write_back.cannot_read(back, nth);
        }
        self.contents.read_ended(slot);
        if self.write_back.read_ended(back) {
            self.durability.wait_recorded(lsn, Waiter::WriteBack(back));
        }
    }

    /// All that is written back is durable in the cache: it goes to the slow device.
    pub(in super::super) fn write_back_may_go<M: Memory>(&mut self, back: WriteBackId, turn: &mut Turn<M>) {
        let flight = self.write_back.get(back);
        let (block, buffer) = (flight.block, flight.buffer);
        let block_bytes = self.addresses.block_bytes();
        let (mut from, mut writes) = (0, 0);
        while let Some((nth, blocks)) = self.write_back.get(back).readable(from) {
            let bytes = blocks * block_bytes;
            let place = Place::Buffer { buffer, at: nth * block_bytes };
            self.counts.written_back(bytes);
            let range = (self.addresses.offset(block + nth), bytes);
            self.background(Job::BackWrite { back }, Side::Slow, IoKind::Write, range, place, turn);
            (from, writes) = (nth + blocks, writes + 1);
        }
        self.write_back.writes_begin(back, writes, turn.now_ns);
        if writes == 0 {
            self.write_back_ios_over(back, turn);
        }
    }

    /// A write to the slow device ended.
    pub(in super::super) fn versions_written<M: Memory>(&mut self, back: WriteBackId, ok: bool, turn: &mut Turn<M>) {
        let last = self.write_back.write_ended(back, ok, &self.settings, turn.now_ns);
        self.durability.slow_write_ended(false);
        if !ok {
            self.counts.add(Event::SlowWriteError);
        }
        if last {
            self.write_back_ios_over(back, turn);
        }
    }

    fn write_back_ios_over<M: Memory>(&mut self, back: WriteBackId, turn: &mut Turn<M>) {
        let (buffer, waits) = self.write_back.ios_over(back);
        turn.memory.give(buffer);
        if waits {
            // `write_back` chooses when the sync is issued.
            self.durability.wait_for_next_slow_sync(Waiter::WrittenBack(back));
        } else {
            self.written_back(back, turn);
        }
    }

    /// It is durable on the slow device, or it failed.
    pub(in super::super) fn written_back<M: Memory>(&mut self, back: WriteBackId, turn: &mut Turn<M>) {
        let was_failing = self.write_back.is_failing();
        let flight = self.write_back.end(back);
        self.durability.keep_promise(flight.slots.len() as u32);
        let mut failed = false;
        for (block, slot) in flight.block.run(flight.slots.len() as u32).zip(flight.slots.iter().copied()) {
            failed |= self.block_written_back(block, slot, &flight, turn);
        }
        if failed {
            self.write_back_failed(&flight, was_failing, turn);
        }
    }

    /// The write-back of a block, of its version in `slot`, ended. Returns whether the slow device refused it.
    fn block_written_back<M: Memory>(&mut self, block: Block, slot: Slot, flight: &Flight, turn: &mut Turn<M>) -> bool {
        let now = self.contents.find(block);
        if now == Slot::NONE {
            self.version_ended(slot, block, flight.ok);
            return false;
        }
        let same = !self.contents.slots().has(now, NEWER);
        self.contents.unmark(now, DESTAGING | NEWER);
        self.version_ended(slot, block, flight.ok);
        if slot == Slot::NONE {
            // It was lost: a user who waits for it gets an error.
            self.wanted_no_more(now, self.contents.slots().has(now, LOST), turn);
            self.write_back.stays_dirty(block, now, &mut self.contents);
        } else if flight.ok {
            self.write_back.forget_refusal(block);
            self.counts.add(Event::Cleaning);
            self.contents.unmark(now, ALONE);
            if same {
                self.becomes_clean(block, now);
            } else {
                if !self.write_back.keeps_order() {
                    self.contents.set_since(now, units(flight.began_ns));
                }
                self.write_back.stays_dirty(block, now, &mut self.contents);
            }
            if same || flight.on_demand == self.on_demand.begun() {
                self.wanted_no_more(now, false, turn);
            } else {
                self.want_again(block, now);
            }
        } else {
            self.write_back.refused(block, turn.now_ns);
            if self.contents.slots().has(now, ALONE) {
                self.wanted_no_more(now, true, turn);
            }
            self.contents.mark(now, ALONE);
            self.write_back.stays_dirty(block, now, &mut self.contents);
            self.want_again(block, now);
            return true;
        }
        false
    }

    /// The slow device refused blocks: a pause follows, and in the end the users who wait get an error.
    fn write_back_failed<M: Memory>(&mut self, flight: &Flight, was_failing: bool, turn: &mut Turn<M>) {
        if flight.on_demand == self.on_demand.begun() && self.write_back.keeps_order() && was_failing {
            // In order nothing else could go back before it.
            self.fail_on_demand(turn);
        }
        if !was_failing {
            let what = format!("the slow device failed to take block {}: it stays dirty, tried again", flight.block);
            self.notify(turn, what);
        }
        if self.write_back.failed(turn.now_ns) {
            self.fail_on_demand(turn);
            self.drain_fails(turn);
        }
    }

    /// The write-back of a version ended; not `done`: it failed.
    fn version_ended(&mut self, slot: Slot, block: Block, done: bool) {
        if self.write_back.version_ended(slot, block, done, &mut self.contents) {
            let epoch = self.contents.slots().since(slot);
            self.let_go(slot);
            self.epoch_version_ended(epoch);
        }
    }

    /// The slow device holds what a slot holds, durably.
    fn becomes_clean(&mut self, block: Block, slot: Slot) {
        self.write_back.became_clean(block, &self.contents);
        let lost = self.contents.becomes_clean(slot);
        if !lost && self.write_back.keeps_order() {
            self.epoch_version_ended(self.contents.slots().since(slot));
        }
        self.record(Record { slot, what: What::Cleaned });
    }

    /// Whether everything that was written back must be synced before nothing waits for the slow device: write-backs
    /// that failed need no sync.
    pub(in super::super) fn write_backs_need_sync(&self) -> bool {
        self.write_back.unsynced() > 0 || self.ordered()
    }
}
