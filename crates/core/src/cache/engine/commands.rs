//! Commands: settings, write-back on demand, pinning, preloading, another size, the end.

use std::collections::VecDeque;

use super::{Engine, Turn};
use crate::cache::ghost::Ghost;
use crate::cache::policy::{Policies, Policy};
use crate::cache::slots::{BAD, PINNED, SUPERSEDED, State, WANTED};
use crate::cache::{Block, Change, Command, Failure, Memory, Slot};

/// Runs of blocks that are read at once for a command.
const LOADS_MAX: u32 = 4;

/// A write-back that a user asked for.
pub(super) struct Flushing {
    tag: u64,
    range: Option<(u64, u64)>,
    /// Blocks still to be begun, by address, the next one last.
    pub(super) blocks: Vec<Block>,
    /// How many there were, and how many are left.
    pub(super) total: u32,
    pub(super) left: u32,
    pub(super) failed: bool,
    /// With `ordered`: the last epoch that it waits for.
    pub(super) epoch: u32,
}

/// A range that is read into the cache.
pub(super) struct Load {
    tag: u64,
    next: Block,
    end: Block,
    under_way: u32,
    failed: bool,
}

/// What was asked for and has not ended.
#[derive(Default)]
pub(super) struct Commands {
    flushes: VecDeque<(u64, Option<(u64, u64)>)>,
    loads: VecDeque<Load>,
    resize: Option<u64>,
    stop: Option<Stop>,
}

struct Stop {
    tag: u64,
    drain: bool,
    /// The journal was told to stop.
    told: bool,
}

impl Commands {
    /// Write-backs that were asked for and have not begun.
    pub(super) fn flushes(&self) -> u64 {
        self.flushes.len() as u64
    }

    pub(super) fn len(&self) -> usize {
        self.flushes.len() + self.loads.len() + usize::from(self.resize.is_some()) + usize::from(self.stop.is_some())
    }
}

impl Engine {
    /// Begins a command.
    pub(super) fn begin<M: Memory>(&mut self, tag: u64, command: Command, turn: &mut Turn<M>) {
        if self.stopping && !matches!(command, Command::Stop { .. }) {
            return turn.out.answers.push((tag, Err(Failure::Stopping)));
        }
        match command {
            Command::Set(changes) => {
                let result = self.set(&changes, turn.now_ns).map_err(|text| {
                    self.tell(turn, text);
                    Failure::Busy
                });
                turn.out.answers.push((tag, result));
            }
            Command::WriteBack(range) => {
                self.refused.clear();
                self.commands.flushes.push_back((tag, range));
                self.next_flush(turn.now_ns);
                self.flushing_left(turn);
            }
            Command::StopWriteBack => {
                self.stop_flushes(turn);
                turn.out.answers.push((tag, Ok(())));
            }
            Command::Preload(range) => self.load(tag, range, turn),
            Command::Pin { range, pinned } => self.pin(tag, range, pinned, turn),
            Command::Resize(bytes) => self.resize(tag, bytes, turn),
            Command::Stop { drain: false } if self.commands.stop.as_ref().is_some_and(|stop| stop.drain) => {
                // Whoever gave up waiting for the end of the write-back.
                if let Some(stop) = self.commands.stop.replace(Stop { tag, drain: false, told: false }) {
                    turn.out.answers.push((stop.tag, Err(Failure::Busy)));
                }
            }
            Command::Stop { .. } if self.commands.stop.is_some() => turn.out.answers.push((tag, Err(Failure::Busy))),
            Command::Stop { drain } => {
                self.stopping = true;
                self.refused.clear();
                self.commands.stop = Some(Stop { tag, drain, told: false });
            }
        }
    }

    /// Changes settings, all or none.
    fn set(&mut self, changes: &[Change], now_ns: u64) -> Result<(), String> {
        let mut settings = self.settings.clone();
        for change in changes {
            settings.change(change)?;
        }
        settings.check()?;
        if settings.policy != self.settings.policy {
            let mut policy = Policies::new(&settings.policy, self.slots.len())?;
            for slot in self.slots.all() {
                let held = matches!(self.slots.state(slot), State::Clean | State::Dirty);
                if held && !self.slots.has(slot, SUPERSEDED) {
                    policy.insert(slot, self.slots.block(slot));
                    if self.slots.dirty(slot) || self.slots.has(slot, PINNED) {
                        policy.hold(slot);
                    }
                }
            }
            self.policy = policy;
        }
        if settings.admission != self.settings.admission {
            self.ghost = Ghost::new(super::ghosts(&settings, self.slots.len()));
        }
        let policy = settings.policy != self.settings.policy;
        let period = settings.flush_period_s != self.settings.flush_period_s;
        let marks = settings.dirty_high_pct != self.settings.dirty_high_pct;
        self.settings = settings;
        if self.ordered() && self.epochs.is_empty() {
            self.begin_order(now_ns);
        } else if !self.ordered() && !self.epochs.is_empty() {
            self.end_order(now_ns);
        } else {
            if self.epochs.is_empty() && (policy || period || marks && self.marks.on()) {
                self.index_dirty(now_ns);
            }
            return Ok(());
        }
        self.flush_anew(now_ns);
        Ok(())
    }

    /// Begins the next write-back that was asked for, if none is at work.
    fn next_flush(&mut self, now_ns: u64) {
        if self.flushing.is_some() {
            return;
        }
        let Some((tag, range)) = self.commands.flushes.pop_front() else { return };
        if self.ordered() {
            let (epoch, left) = self.all_epochs(now_ns);
            self.flushings += 1;
            let blocks = Vec::new();
            self.flushing = Some(Flushing { tag, range, blocks, total: left, left, failed: false, epoch });
            return;
        }
        let (from, to) = match range {
            None => (Block(0), Block::NONE),
            Some((offset, bytes)) => self.blocks_of(offset, bytes),
        };
        let mut blocks = Vec::new();
        for slot in self.slots.all() {
            let block = self.slots.block(slot);
            if self.slots.dirty(slot) && (from..to).contains(&block) && !self.slots.has(slot, crate::cache::slots::LOST)
            {
                self.slots.mark(slot, WANTED);
                blocks.push(block);
            }
        }
        blocks.sort_unstable_by(|a, b| b.cmp(a));
        let total = blocks.len() as u32;
        self.flushings += 1;
        self.flushing = Some(Flushing { tag, range, blocks, total, left: total, failed: false, epoch: 0 });
    }

    /// Ends the write-back that was asked for when nothing of it is left.
    pub(super) fn flushing_left<M: Memory>(&mut self, turn: &mut Turn<M>) {
        while let Some(done) = self.flushing.take_if(|flushing| flushing.left == 0) {
            let result = if done.failed { Err(Failure::Medium) } else { Ok(()) };
            turn.out.answers.push((done.tag, result));
            self.next_flush(turn.now_ns);
        }
    }

    /// The write-back that was asked for begins anew: what it waits for is counted in another way now.
    pub(super) fn flush_anew(&mut self, now_ns: u64) {
        if let Some(flushing) = self.flushing.take() {
            for slot in self.slots.all() {
                self.slots.unmark(slot, WANTED);
            }
            self.commands.flushes.push_front((flushing.tag, flushing.range));
            self.next_flush(now_ns);
            self.due = true;
        }
    }

    /// Ends the write-back that was asked for, which cannot be done.
    pub(super) fn fail_flush<M: Memory>(&mut self, turn: &mut Turn<M>) {
        if let Some(flushing) = self.flushing.take() {
            turn.out.answers.push((flushing.tag, Err(Failure::Medium)));
            for slot in self.slots.all() {
                self.slots.unmark(slot, WANTED);
            }
            self.next_flush(turn.now_ns);
        }
    }

    fn stop_flushes<M: Memory>(&mut self, turn: &mut Turn<M>) {
        if let Some(flushing) = self.flushing.take() {
            turn.out.answers.push((flushing.tag, Err(Failure::Busy)));
            for slot in self.slots.all() {
                self.slots.unmark(slot, WANTED);
            }
        }
        for (tag, _) in std::mem::take(&mut self.commands.flushes) {
            turn.out.answers.push((tag, Err(Failure::Busy)));
        }
    }

    /// The blocks of a range of bytes.
    fn blocks_of(&self, offset: u64, bytes: u64) -> (Block, Block) {
        let end = offset.saturating_add(bytes).min(self.bytes());
        let from = Block((offset.min(end) >> self.block_shift) as u32);
        (from, Block(end.div_ceil(u64::from(self.block_bytes)) as u32))
    }

    fn pin<M: Memory>(&mut self, tag: u64, range: (u64, u64), pinned: bool, turn: &mut Turn<M>) {
        let (from, to) = self.blocks_of(range.0, range.1);
        if !pinned {
            // What was pinned around the range stays so.
            let mut rest = Vec::new();
            for (first, last) in std::mem::take(&mut self.pins) {
                rest.extend([(first, last.min(from)), (first.max(to), last)].into_iter().filter(|(a, b)| a < b));
            }
            self.pins = rest;
            for slot in self.slots.all() {
                if self.slots.has(slot, PINNED) && !self.pinned(self.slots.block(slot)) {
                    self.slots.unmark(slot, PINNED);
                    if !self.slots.dirty(slot) {
                        self.policy.release(slot, self.slots.block(slot));
                    }
                }
            }
            return turn.out.answers.push((tag, Ok(())));
        }
        // A cache that is all pinned could take nothing else.
        let all: u64 = self.pins.iter().map(|(a, b)| u64::from(*b - *a)).sum::<u64>() + u64::from(to - from);
        if all > u64::from(self.space.limit) * 9 / 10 {
            self.tell(
                turn,
                format!("{all} blocks can not be pinned: {} slots, of which a tenth must stay", self.space.limit),
            );
            let most_blocks = self.space.limit * 9 / 10;
            return turn.out.answers.push((tag, Err(Failure::Pins { most_blocks })));
        }
        self.pins.push((from, to));
        for block in from.run(to - from) {
            let slot = self.find(block);
            if slot != Slot::NONE && !self.slots.has(slot, PINNED) {
                self.slots.mark(slot, PINNED);
                if !self.slots.dirty(slot) {
                    self.policy.hold(slot);
                }
            }
        }
        self.load(tag, range, turn);
    }

    /// Whether a block is never evicted.
    #[inline]
    pub(super) fn pinned(&self, block: Block) -> bool {
        !self.pins.is_empty() && self.pins.iter().any(|(from, to)| (*from..*to).contains(&block))
    }

    fn load<M: Memory>(&mut self, tag: u64, range: (u64, u64), turn: &mut Turn<M>) {
        let (next, end) = self.blocks_of(range.0, range.1);
        self.commands.loads.push_back(Load { tag, next, end, under_way: 0, failed: false });
        self.load_more(turn);
    }

    /// Reads more of the first range that is to be loaded.
    pub(super) fn load_more<M: Memory>(&mut self, turn: &mut Turn<M>) {
        while let Some(load) = self.commands.loads.front() {
            let (next, end, under_way) = (load.next, load.end, load.under_way);
            if next >= end || self.degraded() {
                if under_way > 0 {
                    return;
                }
                let load = self.commands.loads.pop_front().expect("it is the first");
                let failed = load.failed || load.next < load.end;
                turn.out.answers.push((load.tag, if failed { Err(Failure::NoRoom) } else { Ok(()) }));
                continue;
            }
            let goes = |engine: &Self, block| {
                engine.may_cache(block)
                    && engine.find(block) == Slot::NONE
                    && !engine.locks.held(block)
                    && !engine.gone(block)
            };
            if !goes(self, next) {
                self.commands.loads[0].next = next + 1;
                continue;
            }
            let run = self.run_blocks().min(self.space.reserve / 4).max(1);
            let short = self.space.free() <= self.space.reserve / 2 + run * (under_way + 1);
            if under_way >= LOADS_MAX || short && self.space.limbo() > 0 {
                self.want_limbo();
                return;
            }
            let blocks = (1..run.min(end - next)).find(|nth| !goes(self, next + *nth)).unwrap_or(run.min(end - next));
            self.commands.loads[0].next = next + blocks;
            self.commands.loads[0].under_way += 1;
            self.fill(next, blocks, None, turn);
        }
    }

    /// A run that a command asked for is in the cache, or is not.
    pub(super) fn loaded<M: Memory>(&mut self, all: bool, turn: &mut Turn<M>) {
        if let Some(load) = self.commands.loads.front_mut() {
            load.under_way -= 1;
            load.failed |= !all;
        }
        self.load_more(turn);
    }

    fn resize<M: Memory>(&mut self, tag: u64, bytes: u64, turn: &mut Turn<M>) {
        let slots = bytes.saturating_sub(self.geometry.slots_offset) >> self.block_shift;
        let (least, most) = (16, u64::from(self.geometry.slots));
        if self.commands.resize.is_some() {
            return turn.out.answers.push((tag, Err(Failure::Busy)));
        }
        if !(least..=most).contains(&slots) {
            let room = |slots: u64| self.geometry.slots_offset + slots * u64::from(self.block_bytes);
            let (least_bytes, most_bytes) = (room(least), room(most));
            return turn.out.answers.push((tag, Err(Failure::Size { least_bytes, most_bytes })));
        }
        self.commands.resize = Some(tag);
        let before = self.space.limit;
        self.space.set_limit(slots as u32);
        let bad = (self.space.limit..before).map(Slot).filter(|slot| self.is_bad(*slot)).count();
        self.space.outside -= bad as u32;
        self.resize_on(turn);
    }

    fn is_bad(&self, slot: Slot) -> bool {
        self.slots.has(slot, BAD) && self.slots.state(slot) == State::Free
    }

    /// Empties what lies behind the limit; ends the command when nothing does any more.
    pub(super) fn resize_on<M: Memory>(&mut self, turn: &mut Turn<M>) {
        let Some(tag) = self.commands.resize else { return };
        if self.degraded() {
            // Slots of a device that is not written any more never come free.
            self.commands.resize = None;
            return turn.out.answers.push((tag, Err(Failure::Degraded)));
        }
        if self.space.outside > 0 {
            for slot in self.slots.all().skip(self.space.limit as usize) {
                let block = self.slots.block(slot);
                match self.slots.state(slot) {
                    State::Clean if !self.locks.held(block) && self.durability.room_to_record() => {
                        self.drop_block(block, turn)
                    }
                    State::Dirty if !self.ordered() && self.urgent.len() < 64 && self.destageable(block).is_some() => {
                        self.urgent.push(block)
                    }
                    _ => {}
                }
            }
            self.want_limbo();
        }
        if self.space.outside == 0 {
            self.commands.resize = None;
            turn.out.answers.push((tag, Ok(())));
        }
    }

    /// How far the end has come.
    pub(super) fn stop_on<M: Memory>(&mut self, turn: &mut Turn<M>) {
        let Some(stop) = &self.commands.stop else { return };
        if stop.told {
            if self.durability.stopped() && self.jobs.is_empty() {
                let stop = self.commands.stop.take().expect("it is there");
                turn.out.answers.push((stop.tag, Ok(())));
            }
            return;
        }
        let drain = stop.drain && self.dirty > self.lost;
        if !drain {
            self.stop_flushes(turn);
        }
        let under_way =
            self.asked.len() + self.fills.len() + self.writes.len() + self.pasts.len() + self.destages.len();
        if drain || under_way > 0 {
            return;
        }
        if self.durability.want_slow_synced(self.write_backs_need_sync()) {
            return;
        }
        self.durability.stop();
        if let Some(stop) = &mut self.commands.stop {
            stop.told = true;
        }
    }

    /// The slow device can not be synced: the cache ends, but not cleanly.
    pub(super) fn stop_fails<M: Memory>(&mut self, turn: &mut Turn<M>) {
        if let Some(stop) = self.commands.stop.take_if(|stop| !stop.told) {
            turn.out.answers.push((stop.tag, Err(Failure::Medium)));
        }
    }

    /// The slow device does not take what is dirty: who waits for the end of the write-back is told, and may stop without.
    pub(super) fn drain_fails<M: Memory>(&mut self, turn: &mut Turn<M>) {
        if let Some(stop) = self.commands.stop.take_if(|stop| stop.drain && !stop.told) {
            let what = format!(
                "{} blocks stay dirty, because the slow device fails to take them: they are safe in the cache",
                self.dirty - self.lost
            );
            self.tell(turn, what);
            self.fail_flush(turn);
            turn.out.answers.push((stop.tag, Err(Failure::Medium)));
        }
    }

    /// Whether the end waits for everything to be written back.
    pub(super) fn draining(&self) -> bool {
        self.commands.stop.as_ref().is_some_and(|stop| stop.drain)
    }
}
