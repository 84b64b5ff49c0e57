//! One write-back: neighbouring dirty blocks are read from their slots, written to the slow device as one IO, synced there,
//! and only then recorded as clean. Users' writes go on meanwhile: a block's newer version lies in another slot, and is
//! not written back before this has ended.

use super::counts::Event;
use super::{Engine, Job, Turn, Waiter};
use crate::cache::journal::{Record, What};
use crate::cache::policy::Policy;
use crate::cache::slots::{ALONE, DESTAGING, FRESH, LOST, NEWER, PINNED, QUEUED, SUPERSEDED, State, WANTED};
use crate::cache::{Block, BufferId, IoKind, Lsn, Memory, Place, Side, Slot};

/// The first and the longest pause after the slow device failed to take a write-back.
const PAUSE_FIRST_NS: u64 = 100_000_000;
const PAUSE_MOST_NS: u64 = 30_000_000_000;
/// Tries of a block after the first one, after which who asked for its write-back does not wait any more: 3 s, if nothing
/// else goes either.
const RETRIES_MAX: u32 = 5;

/// Nor is waited longer while one block or another is refused.
const REFUSED_NS_MAX: u64 = 10_000_000_000;

crate::slab_key!(
    /// A write-back under way.
    pub(super) DestageId
);

/// Blocks on their way back.
pub(super) struct Destage {
    block: Block,
    /// The versions that are written; a block that could not be read is Slot::NONE.
    slots: Vec<Slot>,
    buffer: BufferId,
    /// IOs under way.
    left: u32,
    ok: bool,
    since_ns: u64,
    /// When it began: what of it is newer became so later.
    began_ns: u64,
    /// The user's write-back that was at work when it began.
    flushing: u64,
    /// The records that must be durable first.
    lsn: Lsn,
    /// The set that it counts in, if the policy has sets.
    set: Option<u32>,
}

impl Engine {
    /// Begins the write-back of a block and of its neighbours that are dirty too. Returns the first and the last one;
    /// None: there is nothing to write back.
    pub(super) fn destage<M: Memory>(&mut self, block: Block, turn: &mut Turn<M>) -> Option<(Block, Block)> {
        let slot = self.destageable(block)?;
        let (mut first, mut last) = (block, block);
        if !self.slots.has(slot, ALONE) {
            self.neighbours_ahead(block);
            let goes =
                |engine: &Self, block| engine.destageable(block).is_some_and(|slot| !engine.slots.has(slot, ALONE));
            while last - first + 1 < self.run_blocks() && goes(self, last + 1) {
                last = last + 1;
            }
            while last - first + 1 < self.run_blocks() && first.0 > 0 && goes(self, Block(first.0 - 1)) {
                first = Block(first.0 - 1);
            }
        }
        let slots: Vec<Slot> = first.run(last - first + 1).map(|block| self.find(block)).collect();
        self.destage_run(first, slots, turn);
        Some((first, last))
    }

    /// Begins the write-back of versions of neighbouring blocks.
    pub(super) fn destage_run<M: Memory>(&mut self, block: Block, slots: Vec<Slot>, turn: &mut Turn<M>) {
        let blocks = slots.len() as u32;
        let buffer = turn.memory.take(blocks * self.block_bytes);
        let flushing = self.flushings;
        let set = self.set_of(block);
        if let Some(set) = set {
            *self.sets.entry(set).or_default() += 1;
        }
        let now_ns = turn.now_ns;
        let destage = Destage {
            block,
            slots,
            buffer,
            left: blocks,
            ok: true,
            since_ns: now_ns,
            began_ns: now_ns,
            flushing,
            lsn: Lsn(0),
            set,
        };
        let number = self.destages.insert(destage);
        self.destaging += 1;
        self.durability.promise(blocks);
        for nth in 0..blocks {
            let slot = self.destages[number].slots[nth as usize];
            if !self.slots.has(slot, SUPERSEDED) {
                self.slots.mark(slot, DESTAGING);
            }
            if self.slots.has(slot, FRESH) {
                // What is written back must not be newer than what a crash leaves in the cache.
                self.destages[number].lsn = self.durability.users();
            }
            self.slots.read_begins(slot);
            let place = Place::Buffer { buffer, at: nth * self.block_bytes };
            let range = (self.geometry.slot_offset(slot), self.block_bytes);
            self.background(Job::DestageRead { destage: number, nth }, Side::Fast, IoKind::Read, range, place, turn);
        }
    }

    /// The slot of a block that can be written back now.
    pub(super) fn destageable(&self, block: Block) -> Option<Slot> {
        let slot = self.index.find(block, self.slots.blocks())?;
        (self.slots.dirty(slot) && !self.slots.has(slot, DESTAGING | LOST)).then_some(slot)
    }

    /// A version was read from its slot.
    pub(super) fn destage_read<M: Memory>(&mut self, number: DestageId, nth: u32, ok: bool, turn: &mut Turn<M>) {
        let (slot, buffer) = (self.destages[number].slots[nth as usize], self.destages[number].buffer);
        let place = Place::Buffer { buffer, at: nth * self.block_bytes };
        // Always checked, whatever the settings: what goes back becomes the only copy.
        let good = ok && turn.memory.checksum(place, self.block_bytes) == self.slots.crc(slot);
        let block = self.destages[number].block + nth;
        if !good {
            if self.find(block) == slot && !self.slots.has(slot, NEWER) {
                self.slot_is_bad(slot, ok, turn);
            }
            // If it was superseded, only the order suffers.
            self.version_ended(slot, block, true);
            self.destages[number].slots[nth as usize] = Slot::NONE;
        }
        self.read_ended(slot);
        self.destages[number].left -= 1;
        if self.destages[number].left == 0 {
            self.durability.wait_recorded(self.destages[number].lsn, Waiter::Destage(number));
        }
    }

    /// All that is written back is durable in the cache: it goes to the slow device.
    pub(super) fn destage_may_go<M: Memory>(&mut self, number: DestageId, turn: &mut Turn<M>) {
        let (block, buffer) = (self.destages[number].block, self.destages[number].buffer);
        self.destages[number].since_ns = turn.now_ns;
        let slots = std::mem::take(&mut self.destages[number].slots);
        let mut nth = 0;
        for run in slots.chunk_by(|a, b| (*a == Slot::NONE) == (*b == Slot::NONE)) {
            if run[0] != Slot::NONE {
                self.destages[number].left += 1;
                let bytes = run.len() as u32 * self.block_bytes;
                let place = Place::Buffer { buffer, at: nth * self.block_bytes };
                self.counts.written_back(bytes);
                let range = (self.offset(block + nth), bytes);
                self.background(Job::DestageWrite { destage: number }, Side::Slow, IoKind::Write, range, place, turn);
            }
            nth += run.len() as u32;
        }
        self.destages[number].slots = slots;
        if self.destages[number].left == 0 {
            self.destages[number].ok = false;
            self.destage_left(number, turn);
        }
    }

    /// A write to the slow device ended.
    pub(super) fn destage_written<M: Memory>(&mut self, number: DestageId, ok: bool, turn: &mut Turn<M>) {
        let took_ns = turn.now_ns.saturating_sub(self.destages[number].since_ns);
        self.pace.took(took_ns, self.settings.write_back_depth.max(1));
        self.destages[number].left -= 1;
        self.durability.slow_write_ended(false);
        if !ok {
            self.destages[number].ok = false;
            self.counts.add(Event::SlowWriteError);
        }
        if self.destages[number].left == 0 {
            self.destage_left(number, turn);
        }
    }

    fn destage_left<M: Memory>(&mut self, number: DestageId, turn: &mut Turn<M>) {
        turn.memory.give(self.destages[number].buffer);
        self.destaging -= 1;
        if let Some(set) = self.destages[number].set
            && let Some(busy) = self.sets.get_mut(&set)
        {
            *busy -= 1;
            if *busy == 0 {
                self.sets.remove(&set);
            }
        }
        if !self.destages[number].ok {
            return self.destaged(number, turn);
        }
        self.unsynced += 1;
        // `sync_write_backs` chooses when the sync is issued.
        self.durability.wait_for_next_slow_sync(Waiter::Destaged(number));
    }

    /// The sync after it failed.
    pub(super) fn destage_sync_failed(&mut self, number: DestageId) {
        self.destages[number].ok = false;
        self.unsynced -= 1;
    }

    /// Asks for the sync that ended write-backs wait for: when there are enough of them, or nothing else to do.
    pub(super) fn sync_write_backs(&mut self) {
        if self.unsynced > 0 && (self.destaging == 0 || self.unsynced >= self.depth() || self.starving()) {
            self.durability.want_slow(self.durability.slow_ended());
        }
    }

    /// It is durable on the slow device, or it failed.
    pub(super) fn destaged<M: Memory>(&mut self, number: DestageId, turn: &mut Turn<M>) {
        let destage = self.destages.remove(number);
        self.sweep.look_again();
        self.durability.keep_promise(destage.slots.len() as u32);
        if destage.ok {
            self.unsynced -= 1;
            self.pause_ns = 0;
        }
        let mut failed = false;
        for (nth, slot) in destage.slots.iter().enumerate() {
            let block = destage.block + nth as u32;
            let now = self.find(block);
            if now == Slot::NONE {
                self.version_ended(*slot, block, destage.ok);
                continue;
            }
            let same = !self.slots.has(now, NEWER);
            self.slots.unmark(now, DESTAGING | NEWER);
            self.version_ended(*slot, block, destage.ok);
            if *slot == Slot::NONE {
                // It was lost; whoever waits for it is told.
                self.no_more_wanted(now, self.slots.has(now, LOST), turn);
                self.queue_again(block, now);
            } else if destage.ok {
                self.refused.remove(&block);
                self.counts.add(Event::Cleaning);
                self.slots.unmark(now, ALONE);
                if same {
                    self.becomes_clean(block, now);
                } else {
                    if self.epochs.is_empty() {
                        self.slots.set_since(now, self.units(destage.began_ns));
                    }
                    self.queue_again(block, now);
                }
                if same || destage.flushing == self.flushings {
                    self.no_more_wanted(now, false, turn);
                } else {
                    self.want_again(block, now);
                }
            } else {
                failed = true;
                if self.refused.is_empty() {
                    self.refused_since_ns = turn.now_ns;
                }
                *self.refused.entry(block).or_default() += 1;
                if self.slots.has(now, ALONE) {
                    self.no_more_wanted(now, true, turn);
                }
                self.slots.mark(now, ALONE);
                self.queue_again(block, now);
                self.want_again(block, now);
            }
        }
        if failed {
            if destage.flushing == self.flushings && !self.epochs.is_empty() && self.pause_ns > 0 {
                // In order nothing else could go back before it.
                self.fail_flush(turn);
            }
            if self.pause_ns == 0 {
                let what =
                    format!("the slow device failed to take block {}: it stays dirty, tried again", destage.block);
                self.tell(turn, what);
            }
            // Those that were begun together fail together: that is one try.
            if turn.now_ns >= self.resume_ns {
                self.pause_ns = (self.pause_ns * 2).clamp(PAUSE_FIRST_NS, PAUSE_MOST_NS);
                self.resume_ns = turn.now_ns + self.pause_ns;
            }
            // What others do meanwhile does not count: a full file takes what it has space for, and never the rest.
            let long = turn.now_ns.saturating_sub(self.refused_since_ns) > REFUSED_NS_MAX;
            if long || self.refused.values().any(|&tries| tries > RETRIES_MAX) {
                self.fail_flush(turn);
                self.drain_fails(turn);
                self.refused.clear();
            }
        }
    }

    /// The slow device holds what a slot holds, durably.
    fn becomes_clean(&mut self, block: Block, slot: Slot) {
        self.dirty -= 1;
        self.dirty_went(block);
        self.clean += 1;
        self.slots.set_state(slot, State::Clean);
        if self.slots.has(slot, LOST) {
            // It could be read for this once: it is found again.
            self.slots.unmark(slot, LOST);
            self.lost -= 1;
        } else if !self.epochs.is_empty() {
            self.epoch_less(self.slots.since(slot));
        }
        if !self.slots.has(slot, PINNED) {
            self.policy.release(slot, block);
        }
        self.record(Record { slot, what: What::Cleaned });
    }

    /// A block became dirty.
    pub(super) fn became_dirty(&mut self, block: Block, slot: Slot) {
        self.dirty += 1;
        self.dirty_came(block, slot);
        self.queue_again(block, slot);
    }

    /// A block stays dirty: it must stand in the queue, if there is one.
    pub(super) fn queue_again(&mut self, block: Block, slot: Slot) {
        let by_age = self.epochs.is_empty() && !self.sweep.on();
        if by_age && self.slots.dirty(slot) && !self.slots.has(slot, QUEUED) {
            self.slots.mark(slot, QUEUED);
            self.queue.push_back(block);
            self.tidy_queue();
        }
    }

    /// A dirty block is written over elsewhere, or given up.
    pub(super) fn no_more_dirty(&mut self, slot: Slot) {
        if !self.refused.is_empty() {
            self.refused.remove(&self.slots.block(slot));
        }
        self.dirty -= 1;
        self.dirty_went(self.slots.block(slot));
        if self.slots.has(slot, LOST) {
            self.lost -= 1;
        } else if !self.epochs.is_empty() {
            self.epoch_less(self.slots.since(slot));
        }
    }

    /// A block that a user's write-back waits for was not written back, or an older version of it: once more.
    fn want_again(&mut self, block: Block, slot: Slot) {
        if self.slots.has(slot, WANTED)
            && let Some(flushing) = &mut self.flushing
        {
            // All others first: they may go.
            flushing.blocks.insert(0, block);
        }
    }

    /// A block that a user's write-back waits for is done with.
    pub(super) fn no_more_wanted<M: Memory>(&mut self, slot: Slot, failed: bool, turn: &mut Turn<M>) {
        if !self.slots.has(slot, WANTED) {
            return;
        }
        self.slots.unmark(slot, WANTED);
        if let Some(flushing) = &mut self.flushing {
            flushing.left -= 1;
            flushing.failed |= failed;
        }
        self.flushing_left(turn);
    }
}
