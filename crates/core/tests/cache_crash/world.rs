//! One cache through several lives: random requests, IOs that end in random order, the power cut after each of them.

use std::collections::BTreeMap;

use flatwater_core::cache::journal::recovery::{self, Devices, Layout};
use flatwater_core::cache::journal::{PAIR_BYTES, Witness};
use flatwater_core::cache::{Command, Engine, Failure, Io, IoKind, Kind, Out, Request};
use flatwater_core::seed::{self, Rng};
use rand::Rng as _;

use crate::disk::{AtOnce, Disk, SECTOR};
use crate::memory::{Plain, stamp, stamped};
use crate::oracle::Oracle;
use crate::plan::Plan;

/// Requests of one life at most, and at once.
const REQUESTS: u32 = 60;

/// Ticks without an IO under way before something hangs.
const IDLE: u32 = 300;

/// IOs that a request may cost before something hangs.
const STEPS: u32 = 4000;

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Middle,
    Quiet,
    Stopped,
}

/// IOs of one side fail now and then.
#[derive(Clone, Copy, Debug)]
struct Faults {
    side: usize,
    /// One of so many.
    one_of: u32,
    /// From this step on.
    from: u64,
    /// One of so many IOs of the pairing record fails too; 0: none does.
    pair: u32,
}

impl Faults {
    /// One of how many IOs of a side fails; 0: none does.
    fn one_of(self, side: usize) -> u32 {
        if side == self.side {
            self.one_of
        } else if side == 2 {
            self.pair
        } else {
            0
        }
    }
}

/// A request under way.
struct Asked {
    request: Request,
    issued: u64,
    op: Option<u32>,
}

/// An IO under way.
struct Running {
    io: Io,
    /// The disk's name for a write, or what a sync covers.
    disk: u64,
}

#[path = "look.rs"]
mod look;

pub struct World {
    seed: u64,
    pub rng: Rng,
    pub plan: Plan,
    pub disks: [Disk; 3],
    pub oracle: Oracle,
    memory: Plain,
    out: Out,
    engine: Option<Engine>,
    /// What the backing device is known by: whoever drives the engine keeps it.
    witness: Option<Witness>,
    asked: BTreeMap<u64, Asked>,
    commands: BTreeMap<u64, bool>,
    running: Vec<Running>,
    step: u64,
    now_ns: u64,
    tags: u64,
    values: u64,
    lives: u32,
    /// Cuts that were made and looked at.
    pub cuts: u64,
    /// Of every IO with what it wrote and of every answer, in their order.
    pub digest: u32,
    cuts_left: u64,
    note: String,
    idle: u32,
    faults: Option<Faults>,
    /// An IO of the fast device failed: what it alone had may be lost, and writes may go past it, where they can be torn
    /// and keep no order.
    fast_failed: bool,
    /// The fast device failed so that dirty blocks were given up.
    given_up: bool,
}

/// A world's result: an error says seed and cut.
pub type Checked<T = ()> = Result<T, String>;

impl World {
    pub fn new(seed: u64) -> Self {
        let mut rng = seed::stream(seed, "crash", 0);
        let plan = Plan::any(&mut rng);
        let sectors = (plan.slow_bytes / SECTOR as u64) as u32;
        let disks = [plan.fast_bytes, plan.slow_bytes, PAIR_BYTES].map(|bytes| Disk::new(bytes as usize));
        let oracle = Oracle::new(sectors, plan.block_bytes / SECTOR as u32);
        Self {
            seed,
            rng,
            plan,
            disks,
            oracle,
            memory: Plain::default(),
            out: Out::default(),
            engine: None,
            witness: None,
            asked: BTreeMap::new(),
            commands: BTreeMap::new(),
            running: Vec::new(),
            step: 1,
            now_ns: 0,
            tags: 0,
            values: 0,
            lives: 0,
            cuts: 0,
            digest: 0,
            cuts_left: 0,
            note: String::new(),
            idle: 0,
            faults: None,
            fast_failed: false,
            given_up: false,
        }
    }

    /// Lives until so many cuts were made.
    pub fn run(&mut self, cuts: u64) -> Checked {
        self.cuts_left = cuts;
        let result = self.lives();
        result.map_err(|what| {
            format!(
                "FLATWATER_SEED={} cut {} (life {}, step {}): {what}\n{:?}, blocks of {} B, {} of them, depth {}",
                self.seed,
                self.cuts,
                self.lives,
                self.step,
                self.plan.settings,
                self.plan.block_bytes,
                self.plan.blocks,
                self.plan.depth
            )
        })
    }

    /// From now on IOs of one side fail now and then, or all of them.
    pub fn fail(&mut self) {
        let side = [0, 0, 1][self.rng.random_range(0..3)];
        let one_of = [1, 3, 10, 30][self.rng.random_range(0..4)];
        // A slow device that takes nothing any more lets nothing be emptied.
        let one_of = if side == 1 { one_of.max(3) } else { one_of };
        let from = self.rng.random_range(0..300);
        // Only when the fast device fails is there any IO of the pairing record.
        let pair = if side == 0 { [0, 2, 4][self.rng.random_range(0..3)] } else { 0 };
        self.faults = Some(Faults { side, one_of, from, pair });
    }

    fn lives(&mut self) -> Checked {
        self.make()?;
        while self.cuts < self.cuts_left && !self.given_up {
            self.lives += 1;
            self.life()?;
        }
        Ok(())
    }

    pub fn devices(&mut self) -> Devices<'_> {
        let [fast, slow, pair] = &mut self.disks;
        Devices { fast, slow, pair }
    }

    /// From a start to a cut for good.
    fn life(&mut self) -> Checked {
        let end = self.live()?;
        self.cut_for_good(end == End::Stopped)
    }

    pub fn layout(&self) -> Layout {
        Layout {
            uuid: [self.seed as u8; 16],
            fast_bytes: self.plan.fast_bytes,
            slow_bytes: self.plan.slow_bytes,
            block_bytes: self.plan.block_bytes,
        }
    }

    /// Makes the cache.
    pub fn make(&mut self) -> Checked {
        let layout = self.layout();
        let sizes = self.plan.sizes;
        recovery::format(self.devices(), &layout, sizes, false).map_err(|trouble| trouble.to_string())?;
        Ok(())
    }

    /// From a start to where the power is to be cut: some lives end in the middle, some when all was answered, some cleanly.
    pub fn live(&mut self) -> Checked<End> {
        assert!(!self.disks.iter().any(Disk::writes), "a write of a dead life is under way");
        let mut recovered = self.recover()?;
        self.witness = recovered.witness.take();
        let values = self.content(&recovered)?;
        self.oracle.settle(&values);
        self.engine = Some(Engine::new(self.plan.settings.clone(), recovered, self.now_ns)?);
        let mut requests = self.rng.random_range(1..REQUESTS);
        let end = [End::Middle, End::Quiet, End::Quiet, End::Stopped][self.rng.random_range(0..4)];
        while requests > 0 {
            if self.asked.len() < self.plan.depth && self.rng.random_range(0..3) > 0 {
                self.ask()?;
                requests -= 1;
            } else {
                self.go_on()?;
            }
        }
        if end != End::Middle {
            self.finish()?;
        }
        if end == End::Stopped {
            self.stop()?;
        }
        Ok(end)
    }

    /// One IO ends, or time goes on.
    fn go_on(&mut self) -> Checked {
        if self.running.is_empty() || self.rng.random_range(0..40) == 0 {
            self.idle = if self.running.is_empty() { self.idle + 1 } else { 0 };
            if self.idle > IDLE && !(self.asked.is_empty() && self.commands.is_empty()) {
                return Err(self.hangs());
            }
            let next = self.engine.as_ref().and_then(Engine::next_ns).unwrap_or(self.now_ns + 1_000_000);
            // Who waits long waits for a pause to end.
            self.now_ns = self.now_ns.max(next) + if self.idle > 20 { 1_000_000_000 } else { 0 };
            self.note = "tick".into();
            self.call(|engine, now, memory, out| engine.tick(now, memory, out))
        } else {
            self.idle = 0;
            let at = self.rng.random_range(0..self.running.len());
            self.end(at)
        }
    }

    fn finish(&mut self) -> Checked {
        for _ in 0..STEPS {
            if self.asked.is_empty() && self.commands.is_empty() {
                return Ok(());
            }
            self.go_on()?;
        }
        Err(self.hangs())
    }

    fn hangs(&self) -> String {
        let left: Vec<_> = self.asked.values().map(|asked| asked.request).collect();
        let running: Vec<_> = self.running.iter().map(|running| running.io).collect();
        format!("it hangs: {left:?}, commands {:?}, IOs {running:?}", self.commands)
    }

    /// A clean stop makes everything durable.
    fn stop(&mut self) -> Checked {
        let drain = self.rng.random();
        self.tags += 1;
        let tag = self.tags;
        self.commands.insert(tag, true);
        let issued = self.step;
        self.call(|engine, now, memory, out| engine.command(now, tag, Command::Stop { drain }, memory, out))?;
        self.finish()?;
        if self.faults.is_none() {
            self.oracle.flushed(issued, self.step);
        }
        if let Some(mut witness) = self.witness.take().filter(|_| self.rng.random()) {
            witness.look_again(&mut self.disks[1]);
            witness.store(&mut AtOnce(&mut self.disks[0])).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn call(&mut self, what: impl FnOnce(&mut Engine, u64, &mut Plain, &mut Out)) -> Checked {
        let mut engine = self.engine.take().expect("a life");
        self.now_ns += 1000;
        self.step += 1;
        if std::env::var_os("FLATWATER_TRACE").is_some() {
            eprintln!("step {} {}", self.step, self.note);
        }
        what(&mut engine, self.now_ns, &mut self.memory, &mut self.out);
        self.engine = Some(engine);
        let out = std::mem::take(&mut self.out);
        for io in out.ios {
            self.begin(io)?;
        }
        for (tag, result) in out.answers {
            self.answered(tag, result)?;
        }
        Ok(())
    }

    fn ask(&mut self) -> Checked {
        self.tags += 1;
        let tag = self.tags;
        let kind = match self.rng.random_range(0..100) {
            0..35 => Kind::Read,
            35..80 => Kind::Write,
            80..84 => Kind::Zero,
            84..88 => Kind::Trim,
            88..98 => Kind::Flush,
            _ => return self.command(tag),
        };
        let changes = matches!(kind, Kind::Write | Kind::Zero | Kind::Trim);
        let (first, last) = if kind == Kind::Flush { (0, 0) } else { self.range() };
        let durable = changes && self.rng.random_range(0..6) == 0;
        let request = Request {
            tag,
            kind,
            offset: u64::from(first) * SECTOR as u64,
            bytes: (last - first) * SECTOR as u32,
            durable,
            process: 0,
        };
        let mut memory = vec![0xdd; request.bytes as usize];
        let mut op = None;
        if changes {
            self.values += 1;
            let value = if kind == Kind::Write { self.values } else { 0 };
            for (nth, sector) in memory.chunks_exact_mut(SECTOR).enumerate() {
                stamp(sector, first + nth as u32, value);
            }
            op = Some(self.oracle.issue(self.step, (first, last), value, kind != Kind::Trim));
        }
        self.memory.requests.insert(tag, memory);
        self.asked.insert(tag, Asked { request, issued: self.step, op });
        self.note = format!("{request:?}");
        self.call(|engine, now, memory, out| engine.submit(now, request, memory, out))
    }

    fn command(&mut self, tag: u64) -> Checked {
        let command = match self.rng.random_range(0..3) {
            0 => Command::WriteBack(None),
            1 => Command::WriteBack(Some((0, self.plan.slow_bytes / 2 / 512 * 512))),
            _ => Command::Preload((0, self.plan.slow_bytes.min(4 * u64::from(self.plan.block_bytes)))),
        };
        self.commands.insert(tag, false);
        self.note = format!("{command:?}");
        self.call(|engine, now, memory, out| engine.command(now, tag, command, memory, out))
    }

    /// Sectors, first and past the last: whole blocks, parts of one, or over several.
    fn range(&mut self) -> (u32, u32) {
        let per_block = self.plan.block_bytes / SECTOR as u32;
        let sectors = (self.plan.slow_bytes / SECTOR as u64) as u32;
        // Half of the requests go to a few blocks.
        let blocks = if self.rng.random() { self.plan.blocks } else { self.plan.blocks.min(6) };
        let block = self.rng.random_range(0..blocks);
        let first = block * per_block;
        let (first, last) = match self.rng.random_range(0..10) {
            0..6 => (first, first + per_block),
            6..8 => {
                let from = self.rng.random_range(0..per_block);
                (first + from, first + self.rng.random_range(from..per_block) + 1)
            }
            8 => (first, first + per_block * self.rng.random_range(1..4)),
            _ => {
                let from = first + self.rng.random_range(0..per_block);
                (from, from + self.rng.random_range(1..3 * per_block))
            }
        };
        let first = first.min(sectors - 1);
        (first, last.clamp(first + 1, sectors))
    }

    fn begin(&mut self, io: Io) -> Checked {
        let side = io.side as usize;
        let end = io.offset + u64::from(io.bytes);
        if end > self.disks[side].len() as u64 {
            return Err(format!("an IO past the end: {io:?}"));
        }
        if side == 1
            && matches!(io.kind, IoKind::Write | IoKind::Discard)
            && let Some(witness) = &mut self.witness
            && witness.touch(io.offset, io.bytes.into())
        {
            witness.store(&mut AtOnce(&mut self.disks[0])).map_err(|error| error.to_string())?;
        }
        self.digest_words([self.step, io.kind as u64, side as u64, io.offset, io.bytes.into()]);
        let disk = match io.kind {
            IoKind::Read => 0,
            IoKind::Write => {
                let data = self.memory.bytes(io.place, io.bytes).to_vec();
                self.digest = crc32c::crc32c_append(self.digest, &data);
                self.disks[side].begin_write(io.offset, data)
            }
            // What is given back reads as zeros or as it was, which a lost write of zeros is.
            IoKind::Discard => self.disks[side].begin_write(io.offset, vec![0; io.bytes as usize]),
            IoKind::Sync => self.disks[side].begin_sync(),
        };
        self.running.push(Running { io, disk });
        Ok(())
    }

    fn end(&mut self, at: usize) -> Checked {
        let Running { io, disk } = self.running.swap_remove(at);
        let side = io.side as usize;
        if let Some(faults) = self.faults
            && self.step >= faults.from
            && faults.one_of(side) > 0
            && self.rng.random_range(0..faults.one_of(side)) == 0
        {
            self.fast_failed |= side == 0;
            if matches!(io.kind, IoKind::Write | IoKind::Discard) {
                self.disks[side].fail_write(disk, &mut self.rng);
            }
            self.note = format!("failed {io:?}");
            self.call(|engine, now, memory, out| engine.ended(now, io.id, Err(5), memory, out))?;
            return self.cut_and_put_back().map_err(|what| format!("after the failed {io:?}: {what}"));
        }
        match io.kind {
            IoKind::Read => {
                let mut data = vec![0; io.bytes as usize];
                self.disks[side].look(io.offset, &mut data);
                self.memory.bytes(io.place, io.bytes).copy_from_slice(&data);
            }
            IoKind::Write | IoKind::Discard => self.disks[side].end_write(disk),
            IoKind::Sync => self.disks[side].end_sync(disk),
        }
        self.note = format!("ended {io:?}");
        self.call(|engine, now, memory, out| engine.ended(now, io.id, Ok(()), memory, out))?;
        if self.cuts_left == 0 {
            return Ok(());
        }
        self.cut_and_put_back().map_err(|what| format!("after {io:?}: {what}"))
    }

    fn digest_words<const N: usize>(&mut self, words: [u64; N]) {
        for word in words {
            self.digest = crc32c::crc32c_append(self.digest, &word.to_le_bytes());
        }
    }

    fn answered(&mut self, tag: u64, result: Result<(), Failure>) -> Checked {
        self.digest_words([self.step, tag, result.is_ok().into()]);
        if let Some(stop) = self.commands.remove(&tag) {
            return match result {
                Err(failure) if stop && self.faults.is_none() => Err(format!("the stop failed: {failure:?}")),
                _ => Ok(()),
            };
        }
        let asked = self.asked.remove(&tag).ok_or_else(|| format!("an answer to nobody: {tag}"))?;
        let memory = self.memory.requests.remove(&tag).expect("its memory");
        if let Err(failure) = result {
            if self.faults.is_some() && failure == Failure::Medium {
                return Ok(());
            }
            return Err(format!("{:?} failed: {failure:?}", asked.request));
        }
        match (asked.request.kind, asked.op) {
            (Kind::Flush, _) => self.oracle.flushed(asked.issued, self.step),
            (_, Some(op)) => self.oracle.answered(op, self.step, asked.request.durable),
            _ => {
                let first = (asked.request.offset / SECTOR as u64) as u32;
                for (nth, sector) in memory.chunks_exact(SECTOR).enumerate() {
                    let sector_number = first + nth as u32;
                    let value = stamped(sector, sector_number)?;
                    self.oracle
                        .read(sector_number, value, asked.issued)
                        .map_err(|what| format!("{:?}: {what}", asked.request))?;
                }
            }
        }
        Ok(())
    }
}
