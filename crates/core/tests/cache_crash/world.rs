//! One cache through several lives: random requests, IOs that end in random order, the power cut after each of them.

use flatwater_core::cache::journal::recovery::{self, Devices, Layout};
use flatwater_core::cache::journal::{PAIR_BYTES, Witness};
use flatwater_core::cache::{Command, Engine, Io, IoKind, Out};
use flatwater_core::seed::{self, Rng};
use rand::Rng as _;

use crate::disk::{AtOnce, Disk, SECTOR};
use crate::faults::Faults;
use crate::memory::Plain;
use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::users::Users;

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

/// An IO under way.
struct Running {
    io: Io,
    /// The disk's name for a write, or what a sync covers.
    disk: u64,
}

#[path = "look.rs"]
mod look;
#[path = "requests.rs"]
mod requests;

/// One cache, the devices under it, and what its users may expect.
pub struct World {
    seed: u64,
    pub rng: Rng,
    pub plan: Plan,
    pub disks: [Disk; 3],
    pub oracle: Oracle,
    memory: Plain,
    engine: Option<Engine>,
    /// What identifies the slow device's contents. The caller of the engine keeps it.
    witness: Option<Witness>,
    users: Users,
    running: Vec<Running>,
    step: u64,
    now_ns: u64,
    lives: u32,
    /// Cuts that were made and looked at.
    pub cuts: u64,
    /// Of every IO with what it wrote and of every answer, in their order.
    pub digest: u32,
    cuts_left: u64,
    note: String,
    idle: u32,
    faults: Option<Faults>,
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
            engine: None,
            witness: None,
            users: Users::default(),
            running: Vec::new(),
            step: 1,
            now_ns: 0,
            lives: 0,
            cuts: 0,
            digest: 0,
            cuts_left: 0,
            note: String::new(),
            idle: 0,
            faults: None,
            given_up: false,
        }
    }

    /// Runs lives of the cache until so many cuts were made.
    pub fn run(&mut self, cuts: u64) -> Checked {
        self.cuts_left = cuts;
        let result = self.run_lives();
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
        self.faults = Some(Faults::any(&mut self.rng));
    }

    /// Whether an IO of the fast device failed.
    fn fast_failed(&self) -> bool {
        self.faults.as_ref().is_some_and(Faults::fast_failed)
    }

    fn run_lives(&mut self) -> Checked {
        self.make()?;
        while self.cuts < self.cuts_left && !self.given_up {
            self.lives += 1;
            self.run_life()?;
        }
        Ok(())
    }

    pub fn devices(&mut self) -> Devices<'_> {
        let [fast, slow, pair] = &mut self.disks;
        Devices { fast, slow, pair }
    }

    /// Runs the cache from a start to a power cut for good.
    fn run_life(&mut self) -> Checked {
        let end = self.run_to_end()?;
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

    /// Runs the cache from a start to where the power is to be cut: some lives end in the middle, some when all
    /// requests are answered, some cleanly.
    pub fn run_to_end(&mut self) -> Checked<End> {
        assert!(!self.disks.iter().any(Disk::writes), "a write of an earlier life is under way");
        let mut recovered = self.recover()?;
        self.witness = recovered.witness.take();
        let values = self.content(&recovered)?;
        self.oracle.settle(&values);
        self.engine = Some(Engine::new(self.plan.settings.clone(), recovered, self.now_ns)?);
        let mut requests = self.rng.random_range(1..REQUESTS);
        let end = [End::Middle, End::Quiet, End::Quiet, End::Stopped][self.rng.random_range(0..4)];
        while requests > 0 {
            if self.users.requests() < self.plan.depth && self.rng.random_range(0..3) > 0 {
                self.ask()?;
                requests -= 1;
            } else {
                self.take_step()?;
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
    fn take_step(&mut self) -> Checked {
        if self.running.is_empty() || self.rng.random_range(0..40) == 0 {
            self.idle = if self.running.is_empty() { self.idle + 1 } else { 0 };
            if self.idle > IDLE && !self.users.are_idle() {
                return Err(self.hangs());
            }
            let next = self.engine.as_ref().and_then(Engine::next_ns).unwrap_or(self.now_ns + 1_000_000);
            // A long wait is a wait for the end of a pause.
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
            if self.users.are_idle() {
                return Ok(());
            }
            self.take_step()?;
        }
        Err(self.hangs())
    }

    fn hangs(&self) -> String {
        let running: Vec<_> = self.running.iter().map(|running| running.io).collect();
        format!("it hangs: {}, IOs {running:?}", self.users)
    }

    /// A clean stop makes everything durable.
    fn stop(&mut self) -> Checked {
        let drain = self.rng.random();
        let tag = self.users.next_tag();
        self.users.begin_command(tag, true);
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
        let mut out = Out::default();
        what(&mut engine, self.now_ns, &mut self.memory, &mut out);
        self.engine = Some(engine);
        for io in out.ios {
            self.begin(io)?;
        }
        for (tag, result) in out.answers {
            self.answered(tag, result)?;
        }
        Ok(())
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
        if self.faults.as_mut().is_some_and(|faults| faults.strike(side, self.step, &mut self.rng)) {
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
}
