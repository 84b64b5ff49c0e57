//! The engine: requests in, IOs and answers out.
//!
//! The engine itself is a router. Its state lies in components, and each component owns its state: `requests` (cut into
//! parts of one block), `locks` (one owner of a block at a time), `contents` (what is cached, and where), `admission`
//! (what may come in), `durability` (the journal, syncs, and their waiters), `fills`, `cached_writes` and `bypasses`
//! (operations in flight), `write_back` (when dirty blocks are written back, and which), `on_demand` and `commands`
//! (commands of users), `pairing` (whether the fast device is trusted) and `counts`. `flow/` leads requests, IOs and
//! time through them, one file a path.

mod addresses;
mod admission;
mod bypasses;
mod cached_writes;
mod commands;
mod contents;
mod counts;
mod durability;
mod fills;
mod flow;
mod jobs;
mod keys;
mod locks;
mod on_demand;
mod pairing;
mod requests;
mod sequential;
#[cfg(test)]
mod tests;
mod write_back;

use addresses::Addresses;
use admission::Admission;
use bypasses::Bypasses;
use cached_writes::CachedWrites;
use commands::Commands;
use contents::Contents;
use counts::Counts;
use durability::Durability;
use fills::Fills;
use jobs::{Job, Jobs};
use locks::Locks;
use on_demand::OnDemand;
use pairing::Pairing;
use requests::Requests;
use write_back::WriteBack;

use super::journal::recovery::Recovered;
use super::{Command, Io, IoId, IoKind, Memory, Out, Place, Request, Settings, Side, Statistics};
use crate::histogram::Histogram;

/// The arguments of a call: the time, the caller's memory, and where to put the effects.
struct Turn<'a, M: Memory> {
    now_ns: u64,
    memory: &'a mut M,
    out: &'a mut Out,
}

/// Later than every time of a cache.
const NEVER_NS: u64 = u64::MAX;

/// A cache that serves. It puts the IOs that it wants into `Out`. The caller issues them in any order and as many at
/// once as it likes, and reports the end of each to `ended`. It calls `tick` at the time of `next_ns`. An IO may begin
/// as soon as it is in `Out`: an IO that must follow another one is put out only when that has ended.
pub struct Engine {
    settings: Settings,
    addresses: Addresses,
    contents: Contents,
    admission: Admission,
    durability: Durability,
    pairing: Pairing,
    requests: Requests,
    locks: Locks,
    fills: Fills,
    writes: CachedWrites,
    bypasses: Bypasses,
    write_back: WriteBack,
    on_demand: OnDemand,
    commands: Commands,
    counts: Counts,
    jobs: Jobs,
    /// A call changed something, so waiters may proceed.
    due: bool,
}

impl Engine {
    /// A cache that was recovered, at `now_ns`.
    ///
    /// # Errors
    /// A setting is invalid.
    pub fn new(settings: Settings, recovered: Recovered, now_ns: u64) -> Result<Self, String> {
        settings.check()?;
        let addresses = Addresses::new(recovered.geometry);
        let (mut contents, held) = Contents::new(&recovered, &settings.policy, write_back::units(now_ns))?;
        let write_back = WriteBack::new(held.by_age, &mut contents, now_ns);
        let mut engine = Self {
            admission: Admission::new(&settings, addresses.slots()),
            durability: Durability::new(&recovered, now_ns),
            pairing: Pairing::new(),
            requests: Requests::default(),
            locks: Locks::new(),
            fills: Fills::default(),
            writes: CachedWrites::default(),
            bypasses: Bypasses::new(addresses.regions(), now_ns),
            on_demand: OnDemand::default(),
            commands: Commands::default(),
            counts: Counts::default(),
            jobs: Jobs::default(),
            due: true,
            settings,
            addresses,
            contents,
            write_back,
        };
        engine.start_order(held.versions, now_ns);
        Ok(engine)
    }

    /// Bytes of the cached device.
    pub fn bytes(&self) -> u64 {
        self.addresses.slow_bytes()
    }

    /// Takes a request.
    pub fn submit<M: Memory>(&mut self, now_ns: u64, request: Request, memory: &mut M, out: &mut Out) {
        let mut turn = Turn { now_ns, memory, out };
        self.ask(request, &mut turn);
        self.run_due_work(&mut turn);
    }

    /// Takes a command, which ends with an answer of `tag`.
    pub fn command<M: Memory>(&mut self, now_ns: u64, tag: u64, command: Command, memory: &mut M, out: &mut Out) {
        let mut turn = Turn { now_ns, memory, out };
        self.due = true;
        self.begin(tag, command, &mut turn);
        self.run_due_work(&mut turn);
    }

    /// An IO ended: all of it, or with the errno of what went wrong.
    pub fn ended<M: Memory>(&mut self, now_ns: u64, id: IoId, result: Result<(), i32>, memory: &mut M, out: &mut Out) {
        let turn = &mut Turn { now_ns, memory, out };
        let ok = result.is_ok();
        let job = self.jobs.remove(id);
        // Nobody waits for the end of most reads of cached blocks.
        self.due |= !matches!(job, Job::Hit { .. });
        match job {
            Job::Hit { part, slot, buffer } => self.hit_ended(part, slot, buffer, ok, turn),
            Job::BypassRead { part } => self.bypass_read_ended(part, ok, turn),
            Job::FillRead { fill } => self.fill_read(fill, ok, turn),
            Job::FillWrite { fill, block, slot } => self.fill_written(fill, block, slot, ok, turn),
            Job::WriteRead { write } => self.old_read(write, ok, turn),
            Job::WriteData { write } => self.data_written(write, ok, turn),
            Job::BypassWrite { bypass } => self.bypass_written(bypass, ok, turn),
            Job::BypassCopy { bypass, block, slot } => self.bypass_copied(bypass, block, slot, ok, turn),
            Job::BackRead { back, nth } => self.version_read(back, nth, ok, turn),
            Job::BackWrite { back } => self.versions_written(back, ok, turn),
            Job::Page { ticket, buffer, of_journal } => self.page_written((ticket, buffer, of_journal), ok, turn),
            Job::FastSync { mark } => self.fast_synced(mark, ok, turn),
            Job::SlowSync { ended } => self.slow_synced(ended, ok, turn),
            Job::PairWrite { buffer } => self.pair_written(buffer, ok, turn),
            Job::PairSync => self.pair_synced(ok, turn),
        }
        self.run_due_work(turn);
    }

    /// When `tick` is wanted next; None: not before another call.
    pub fn next_ns(&self) -> Option<u64> {
        let interval_s = self.settings.commit_interval_s;
        let commit = self.durability.commit_next_ns(interval_s, self.write_backs_need_sync());
        let waited_for = || self.on_demand.is_at_work() || self.starving();
        let write_back = self.write_back.next_ns(&self.contents, &self.settings, waited_for);
        let others = [self.bypasses.look_ns(), self.pairing.retry_ns(), write_back];
        let next_ns = others.iter().fold(commit.unwrap_or(NEVER_NS), |next, at| next.min(at.unwrap_or(NEVER_NS)));
        (next_ns != NEVER_NS).then_some(next_ns)
    }

    /// Time has come to `now_ns`.
    pub fn tick<M: Memory>(&mut self, now_ns: u64, memory: &mut M, out: &mut Out) {
        let turn = &mut Turn { now_ns, memory, out };
        self.due = true;
        let all_slow = self.write_backs_need_sync();
        self.durability.commit_by_time(now_ns, self.settings.commit_interval_s, all_slow);
        if !self.degraded() && self.bypasses.take_look(now_ns) {
            self.clear_intents(now_ns);
        }
        if let Some(buffer) = self.pairing.take_retry(now_ns) {
            self.put_pair(buffer, turn);
        }
        self.run_due_work(turn);
    }

    /// Requests, commands and IOs under way.
    pub fn busy(&self) -> bool {
        let commands = self.commands.len() + self.on_demand.waiting() + usize::from(self.on_demand.is_at_work());
        self.requests.len() + self.jobs.len() + self.durability.waiters() + commands > 0
    }

    /// The settings as they are.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// All counts and gauges.
    pub fn statistics(&self, now_ns: u64) -> Statistics {
        self.count(now_ns)
    }

    /// The latencies of reads, of writes (zeros and trims too) and of flushes.
    pub fn latencies(&self) -> [&Histogram; 3] {
        self.counts.latencies()
    }

    /// Does what has become possible, until nothing more follows from it.
    #[inline]
    fn run_due_work<M: Memory>(&mut self, turn: &mut Turn<M>) {
        while self.take_due() {
            self.serve_waiters(turn);
        }
    }

    /// Serves each kind of waiter once. Most calls of the engine have nobody to serve, and do not pay for this one's
    /// stack.
    #[inline(never)]
    fn serve_waiters<M: Memory>(&mut self, turn: &mut Turn<M>) {
        self.commit(turn);
        while let Some(request) = self.requests.next_unfinished() {
            self.advance(request, turn);
        }
        if self.requests.starved() > 0 {
            self.feed(turn);
        }
        if self.on_demand.is_at_work() {
            self.end_on_demand(turn);
        }
        if let Some(dirty) = self.pairing.outdated(self.contents.dirty(), self.contents.lost()) {
            self.write_pair(dirty, turn);
        }
        if self.commands.len() + self.on_demand.waiting() > 0 {
            self.load_more(turn);
            self.resize_on(turn);
            self.stop_on(turn);
        }
        if self.contents.dirty() > 0 || self.write_back.unsynced() > 0 || self.contents.superseded() > 0 {
            self.write_back(turn);
        }
    }

    /// Whether something changed after which waiters may go on.
    #[inline]
    fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
            | self.durability.take_due()
            | self.contents.take_due()
            | self.requests.take_due()
            | self.on_demand.take_due()
            | self.pairing.take_due()
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
            self.write_back.slow_read_begins(turn.now_ns);
        }
        self.counts.io(side, kind, bytes, matches!(job, Job::Page { .. }));
        let id = self.jobs.insert(job);
        turn.out.ios.push(Io { id, side, kind, offset, bytes, place, background: false });
    }

    /// Puts an IO of the background out.
    fn background<M: Memory>(
        &mut self,
        job: Job,
        side: Side,
        kind: IoKind,
        range: (u64, u32),
        place: Place,
        turn: &mut Turn<M>,
    ) {
        self.io(job, side, kind, range, place, turn);
        if let Some(io) = turn.out.ios.last_mut() {
            io.background = true;
        }
    }

    /// The fast device failed: nothing is written to it any more.
    #[inline]
    fn degraded(&self) -> bool {
        self.pairing.degraded()
    }
}
