//! The engine: requests in, IOs and answers out.
//!
//! `requests.rs` cuts requests into parts of one block, `locks.rs` lets one mutator a block at a time through;
//! `reads.rs`, `writes.rs` (into the cache) and `past.rs` (past it) are what parts do; `space.rs` finds slots;
//! `commit.rs` makes durable; `destage.rs` says when dirty blocks go back, `sweep.rs` and `marks.rs` which, and
//! `write_back.rs` how; `commands.rs` is what
//! can be asked of the engine itself; `faults.rs` what is done when devices fail.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

mod commands;
mod commit;
mod counts;
mod destage;
mod durability;
mod faults;
mod locks;
mod marks;
mod ordered;
mod pairing;
mod past;
mod queue;
mod reads;
mod requests;
mod sequential;
mod space;
mod statistics;
mod sweep;
#[cfg(test)]
mod tests;
mod write_back;
mod writes;

use commands::{Commands, Flushing};
use counts::{Counts, Event};
use destage::Pace;
use durability::{Durability, SlowSeq, Waiter};
use locks::Locks;
use marks::Marks;
use ordered::Epoch;
use pairing::Pairing;
use past::{Past, PastId, Region};
use queue::Queue;
use reads::{Fill, FillId};
use requests::{Asked, AskedId, Part};
use sequential::Streams;
use space::Space;
use sweep::Sweep;
use write_back::{Destage, DestageId};
use writes::{Write, WriteId};

use super::curve::{self, Curve};
use super::ghost::Ghost;
use super::index::Index;
use super::journal::recovery::{Geometry, Recovered};
use super::journal::{Holding, Mark};
use super::policy::{Policies, Policy};
use super::slots::{Slots, State};
use super::statistics::Statistics;
use super::{
    Admission, Block, BufferId, Command, Io, IoId, IoKind, Lsn, Memory, Out, Place, Request, Settings, Side, Slot,
};
use crate::slab::Slab;

/// A unit of the slots' `since`: 2^27 ns are 134 ms, and 32 bits of them 18 years.
const UNIT_SHIFT: u32 = 27;

/// Blocks that are remembered as missed once: a quarter of the slots, which costs 1.2 B a slot.
fn ghosts(settings: &Settings, slots: u32) -> u32 {
    if settings.admission == Admission::SecondHit { (slots / 4).max(16) } else { 0 }
}

/// What an IO that is under way was for.
#[derive(Clone, Copy)]
enum Job {
    Hit { part: Part, slot: Slot, buffer: Option<BufferId> },
    Straight { part: Part },
    FillRead { fill: FillId },
    FillWrite { fill: FillId, block: Block, slot: Slot },
    WriteRead { write: WriteId },
    WriteData { write: WriteId },
    PastWrite { past: PastId },
    PastCopy { past: PastId, block: Block, slot: Slot },
    DestageRead { destage: DestageId, nth: u32 },
    DestageWrite { destage: DestageId },
    Page { ticket: u32, buffer: BufferId, of_journal: bool },
    FastSync { mark: Mark },
    SlowSync { ended: SlowSeq },
    PairWrite { buffer: BufferId },
    PairSync,
}

/// What a call brings: the time, the caller's memory, and where to put what is wanted.
struct Turn<'a, M: Memory> {
    now_ns: u64,
    memory: &'a mut M,
    out: &'a mut Out,
}

/// A cache at work. Its caller does the IOs that it puts into `Out`, in any order and as many at once as it likes, tells
/// it how each ended, and calls `tick` when `next_ns` says so. An IO may begin as soon as it was put out: what must come
/// after something else is put out only when that has ended.
pub struct Engine {
    geometry: Geometry,
    block_bytes: u32,
    block_shift: u32,
    block_mask: u64,
    /// Blocks that can be cached: a short last one can not.
    whole_blocks: u32,
    settings: Settings,

    slots: Slots,
    index: Index,
    policy: Policies,
    ghost: Ghost,
    curve: Curve,
    durability: Durability,
    space: Space,
    locks: Locks,
    streams: Streams,

    asked: Slab<Asked, AskedId>,
    jobs: Slab<Job, IoId>,
    fills: Slab<Fill, FillId>,
    writes: Slab<Write, WriteId>,
    pasts: Slab<Past, PastId>,
    destages: Slab<Destage, DestageId>,
    /// Requests of which more may be cut.
    unfinished: Vec<AskedId>,
    /// Parts of writes that wait for a slot or for room in the journal. Their blocks are locked.
    starved: VecDeque<Part>,
    commands: Commands,
    flushing: Option<Flushing>,
    flushings: u64,
    pins: Vec<(Block, Block)>,
    stopping: bool,

    regions: Vec<Region>,
    intents: Vec<u32>,
    pairing: Pairing,
    lost_blocks: BTreeSet<Block>,

    /// Slots by state; of the dirty ones those that are lost.
    dirty: u32,
    clean: u32,
    lost: u32,
    /// Dirty blocks in the order in which they became so; some left meanwhile.
    queue: Queue,
    urgent: Vec<Block>,
    /// Records and slots of dirty versions that are not known to be durable.
    fresh: VecDeque<(Lsn, Slot)>,
    /// With `ordered`, the epochs that did not go back, the last one open; else none.
    epochs: VecDeque<Epoch>,
    superseded: u32,
    fallow: VecDeque<Block>,
    pace: Pace,
    /// What is dirty by address and by set, where that says what goes back.
    sweep: Sweep,
    marks: Marks,
    /// Write-backs whose IOs are under way, and those that wait for a sync.
    destaging: u32,
    sets: BTreeMap<u32, u32>,
    unsynced: u32,
    pause_ns: u64,
    resume_ns: u64,
    /// Blocks that the slow device refused, how often each, since they were asked for; and since when there is one.
    refused: BTreeMap<Block, u32>,
    refused_since_ns: u64,

    /// Something happened after which who waits may go on.
    due: bool,
    intents_ns: u64,
    last_request_ns: u64,
    slow_foreground: u32,
    slow_foreground_ns: u64,
    slow_read_ns: u64,

    counts: Counts,
}

impl Engine {
    /// A cache as recovery found it, at `now_ns`.
    ///
    /// # Errors
    /// A setting that cannot be, in words.
    pub fn new(settings: Settings, recovered: Recovered, now_ns: u64) -> Result<Self, String> {
        settings.check()?;
        let geometry = recovered.geometry;
        let block_bytes = geometry.block_bytes;
        let mut slots = Slots::new(geometry.slots);
        let mut index = Index::new(geometry.slots);
        let mut policy = Policies::new(&settings.policy, geometry.slots)?;
        let (mut clean, mut dirty, mut lost, mut superseded) = (0, 0, 0, 0);
        let (mut queue, mut order) = (Vec::new(), Vec::new());
        let mut lost_blocks: BTreeSet<Block> = recovered.lost.iter().copied().collect();
        for held in &recovered.held {
            let entry = held.entry;
            let state = match entry.holding {
                Holding::Clean => State::Clean,
                Holding::Dirty => State::Dirty,
                Holding::Superseded => {
                    slots.hold(held.slot, entry.block, entry.crc, State::Dirty);
                    slots.mark(held.slot, super::slots::SUPERSEDED);
                    order.push((entry.stamp, held.slot));
                    superseded += 1;
                    continue;
                }
                Holding::Nothing => continue,
            };
            slots.hold(held.slot, entry.block, entry.crc, state);
            index.insert(entry.block, held.slot, slots.blocks());
            policy.insert(held.slot, entry.block);
            if state == State::Dirty {
                // Times of an earlier life mean nothing: the order does.
                queue.push((entry.stamp, entry.block));
                slots.set_since(held.slot, (now_ns >> UNIT_SHIFT) as u32);
                slots.mark(held.slot, super::slots::QUEUED);
                policy.hold(held.slot);
                dirty += 1;
                if lost_blocks.remove(&entry.block) {
                    slots.mark(held.slot, super::slots::LOST);
                    lost += 1;
                } else {
                    order.push((entry.stamp, held.slot));
                }
            } else {
                clean += 1;
            }
        }
        queue.sort_unstable();
        let space = Space::new(geometry.slots, |slot| slots.state(slot) != State::Free);
        let mut engine = Self {
            block_bytes,
            block_shift: block_bytes.trailing_zeros(),
            block_mask: u64::from(block_bytes) - 1,
            whole_blocks: (geometry.slow_bytes / u64::from(block_bytes)) as u32,
            ghost: Ghost::new(ghosts(&settings, geometry.slots)),
            curve: Curve::new(curve::SAMPLE),
            durability: Durability::new(&recovered, now_ns),
            locks: Locks::new(),
            streams: Streams::new(),
            asked: Slab::default(),
            jobs: Slab::default(),
            fills: Slab::default(),
            writes: Slab::default(),
            pasts: Slab::default(),
            destages: Slab::default(),
            unfinished: Vec::new(),
            starved: VecDeque::new(),
            commands: Commands::default(),
            flushing: None,
            flushings: 0,
            pins: Vec::new(),
            stopping: false,
            regions: vec![Region::default(); geometry.regions() as usize],
            intents: Vec::new(),
            pairing: Pairing::new(),
            lost_blocks,
            dirty,
            clean,
            lost,
            queue: queue.into_iter().map(|(_, block)| block).collect(),
            urgent: Vec::new(),
            fresh: VecDeque::new(),
            epochs: VecDeque::new(),
            superseded,
            fallow: VecDeque::new(),
            pace: Pace::default(),
            sweep: Sweep::default(),
            marks: Marks::default(),
            destaging: 0,
            sets: BTreeMap::new(),
            unsynced: 0,
            pause_ns: 0,
            resume_ns: 0,
            refused: BTreeMap::new(),
            refused_since_ns: 0,
            due: true,
            intents_ns: now_ns,
            last_request_ns: now_ns,
            slow_foreground: 0,
            slow_foreground_ns: 0,
            slow_read_ns: 0,
            counts: Counts::default(),
            geometry,
            settings,
            slots,
            index,
            policy,
            space,
        };
        if engine.ordered() {
            engine.take_up_order(order, now_ns);
        } else if superseded > 0 {
            engine.end_order(now_ns);
        } else if engine.settings.flush_period_s > 0.0 || matches!(engine.policy, Policies::Flashcache(_)) {
            engine.index_dirty(now_ns);
        }
        Ok(engine)
    }

    /// Bytes of the cached device.
    pub fn bytes(&self) -> u64 {
        self.geometry.slow_bytes
    }

    /// Takes a request.
    pub fn submit<M: Memory>(&mut self, now_ns: u64, request: Request, memory: &mut M, out: &mut Out) {
        let mut turn = Turn { now_ns, memory, out };
        self.ask(request, &mut turn);
        self.go_on(&mut turn);
    }

    /// Takes a command, which ends with an answer of `tag`.
    pub fn command<M: Memory>(&mut self, now_ns: u64, tag: u64, command: Command, memory: &mut M, out: &mut Out) {
        let mut turn = Turn { now_ns, memory, out };
        self.due = true;
        self.begin(tag, command, &mut turn);
        self.go_on(&mut turn);
    }

    /// An IO ended: all of it, or with the errno of what went wrong.
    pub fn ended<M: Memory>(&mut self, now_ns: u64, id: IoId, result: Result<(), i32>, memory: &mut M, out: &mut Out) {
        let turn = &mut Turn { now_ns, memory, out };
        let ok = result.is_ok();
        let job = self.jobs.remove(id);
        self.due |= !matches!(job, Job::Hit { .. });
        match job {
            Job::Hit { part, slot, buffer } => self.hit_ended(part, slot, buffer, ok, turn),
            Job::Straight { part } => self.straight_ended(part, ok, turn),
            Job::FillRead { fill } => self.fill_read(fill, ok, turn),
            Job::FillWrite { fill, block, slot } => self.fill_written(fill, block, slot, ok, turn),
            Job::WriteRead { write } => self.old_read(write, ok, turn),
            Job::WriteData { write } => self.data_written(write, ok, turn),
            Job::PastWrite { past } => self.past_written(past, ok, turn),
            Job::PastCopy { past, block, slot } => self.past_copied(past, block, slot, ok, turn),
            Job::DestageRead { destage, nth } => self.destage_read(destage, nth, ok, turn),
            Job::DestageWrite { destage } => self.destage_written(destage, ok, turn),
            Job::Page { ticket, buffer, of_journal } => self.page_written((ticket, buffer, of_journal), ok, turn),
            Job::FastSync { mark } => self.fast_synced(mark, ok, turn),
            Job::SlowSync { ended } => self.slow_synced(ended, ok, turn),
            Job::PairWrite { buffer } => self.pair_written(buffer, ok, turn),
            Job::PairSync => self.pair_synced(ok, turn),
        }
        self.go_on(turn);
    }

    /// When `tick` is wanted next; None: not before another call.
    pub fn next_ns(&self) -> Option<u64> {
        let interval_s = self.settings.commit_interval_s;
        let commit = self.durability.commit_next_ns(interval_s, self.write_backs_need_sync()).unwrap_or(u64::MAX);
        let intents = if self.intents.is_empty() { u64::MAX } else { self.intents_ns };
        let pair = self.pairing.retry_ns().unwrap_or(u64::MAX);
        let write_back = self.write_back_next_ns().unwrap_or(u64::MAX);
        let next = commit.min(intents).min(pair).min(write_back);
        (next != u64::MAX).then_some(next)
    }

    /// Time has come to `now_ns`.
    pub fn tick<M: Memory>(&mut self, now_ns: u64, memory: &mut M, out: &mut Out) {
        let turn = &mut Turn { now_ns, memory, out };
        self.due = true;
        let all_slow = self.write_backs_need_sync();
        self.durability.commit_by_time(now_ns, self.settings.commit_interval_s, all_slow);
        if now_ns >= self.intents_ns && !self.degraded() {
            self.intents_ns = now_ns + 1_000_000_000;
            self.clear_intents(now_ns);
        }
        if let Some(buffer) = self.pairing.take_retry(now_ns) {
            let place = Place::Buffer { buffer, at: 0 };
            let range = (0, super::journal::PAIR_BYTES as u32);
            self.io(Job::PairWrite { buffer }, Side::Pair, IoKind::Write, range, place, turn);
        }
        self.go_on(turn);
    }

    /// Requests, commands and IOs under way.
    pub fn busy(&self) -> bool {
        self.asked.len() + self.jobs.len() + self.durability.waiters() + self.commands.len() > 0
            || self.flushing.is_some()
    }

    /// The settings as they are.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What was counted.
    pub fn statistics(&self, now_ns: u64) -> Statistics {
        self.count(now_ns)
    }

    /// What follows from whatever happened: who waits goes on, as far as that goes now.
    fn go_on<M: Memory>(&mut self, turn: &mut Turn<M>) {
        // Most reads of what is cached concern nobody else.
        while self.take_due() {
            self.commit(turn);
            while let Some(number) = self.unfinished.pop() {
                if self.asked.contains(number) {
                    self.advance(number, turn);
                }
            }
            if !self.starved.is_empty() {
                self.feed(turn);
            }
            if self.flushing.is_some() {
                self.flushing_left(turn);
            }
            if let Some(dirty) = self.pairing.outdated(self.dirty, self.lost) {
                self.write_pair(dirty, turn);
            }
            if self.commands.len() > 0 {
                self.load_more(turn);
                self.resize_on(turn);
                self.stop_on(turn);
            }
            if self.dirty > 0 || self.unsynced > 0 || self.superseded > 0 {
                self.write_back(turn);
            }
        }
    }

    /// Whether something changed after which waiters may go on.
    fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due) | self.durability.take_due() | self.pairing.take_due()
    }

    /// Starved writes go on as far as there is something for them.
    fn feed<M: Memory>(&mut self, turn: &mut Turn<M>) {
        self.keep_reserve(turn);
        for _ in 0..self.starved.len() {
            let Some(part) = self.starved.pop_front() else { return };
            if self.route(&part, turn) == writes::Route::Starve {
                self.starved.push_front(part);
                if self.degraded() {
                    // Each waits for its own block.
                    self.starved.rotate_left(1);
                    continue;
                }
                return;
            }
            if !self.write_now(part, turn) {
                self.unlock(part.block, turn);
            }
        }
    }

    /// Puts an IO out.
    #[inline]
    fn io<M: Memory>(
        &mut self,
        job: Job,
        side: Side,
        kind: IoKind,
        (offset, bytes): (u64, u32),
        place: Place,
        turn: &mut Turn<M>,
    ) {
        if side == Side::Slow && kind == IoKind::Read {
            self.slow_read_ns = turn.now_ns;
        }
        self.counts.io(side, kind, bytes, matches!(job, Job::Page { .. }));
        let id = self.jobs.insert(job);
        turn.out.ios.push(Io { id, side, kind, offset, bytes, place, background: false });
    }

    /// A read past the cache ended.
    fn straight_ended<M: Memory>(&mut self, part: Part, ok: bool, turn: &mut Turn<M>) {
        if !ok {
            self.counts.add(Event::SlowReadError);
        }
        self.part_ended(part.asked, if ok { Ok(()) } else { Err(super::Failure::Medium) }, turn);
    }

    /// The first byte of a block on the slow device.
    #[inline]
    fn offset(&self, block: Block) -> u64 {
        u64::from(block.0) << self.block_shift
    }

    /// A time in the slots' units.
    #[inline]
    fn units(&self, ns: u64) -> u32 {
        (ns >> UNIT_SHIFT) as u32
    }

    /// Whether a block can be cached at all, as things stand.
    #[inline]
    fn may_cache(&self, block: Block) -> bool {
        block.0 < self.whole_blocks && !self.degraded()
    }
}
