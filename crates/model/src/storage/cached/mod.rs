//! The flash cache in virtual time: the engine of crates/core over two modelled devices. It is a device itself.

mod past;
mod series;
mod spec;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use flatwater_core::cache::{self, Engine, Io, IoId, IoKind, Kind, NoData, Out, Side};
use flatwater_core::slab::Key;

use self::past::Past;
use self::series::Observed;
use self::spec::Opened;
pub use self::spec::Spec;
use super::{Command, Device, Ended, Failure, Figures, Incident, Opening, Operation};

/// A cache at work.
pub struct Cached {
    engine: Engine,
    memory: NoData,
    fast: Box<dyn Device>,
    slow: Box<dyn Device>,
    capacity_bytes: u64,
    now_ns: u64,
    /// What was before time began: the engine's clock is so far ahead of the run's.
    past_ns: u64,
    past: Option<Past>,
    /// Requests that ended while others were taken up: told when time passes.
    answers: VecDeque<Ended>,
    told: Vec<Incident>,
    observed: Observed,
    /// Kept to reuse their memory.
    out: Out,
    ended: Vec<Ended>,
    at_once: Vec<IoId>,
}

impl Cached {
    /// An empty cache, in front of a device that is as its own spec says.
    ///
    /// # Errors
    /// Figures that do not go together, in words.
    pub fn new<D: Figures>(spec: &Spec<D>, opening: Opening) -> Result<Self, String> {
        let Opened { fast, slow, layout } = spec.open(opening)?;
        let capacity_bytes = layout.slow_bytes;
        let recovered = cache::journal::recovery::Recovered::fresh(layout);
        let engine = Engine::new(spec.settings()?, recovered, 0)?;
        Ok(Self {
            memory: NoData::default(),
            fast,
            slow,
            capacity_bytes,
            now_ns: 0,
            past_ns: 0,
            past: spec.warm.then(Past::default),
            answers: VecDeque::new(),
            told: Vec::new(),
            observed: Observed::default(),
            out: Out::default(),
            ended: Vec::new(),
            at_once: Vec::new(),
            engine,
        })
    }

    /// The engine's clock.
    fn clock_ns(&self) -> u64 {
        self.past_ns + self.now_ns
    }

    /// Does what the engine wants after a call.
    fn settle(&mut self, mut out: Out) {
        loop {
            for io in out.ios.drain(..) {
                self.send(io);
            }
            for (tag, result) in out.answers.drain(..) {
                self.answers.push_back(Ended { tag, at_ns: self.now_ns, result: result.map_err(failure) });
            }
            for told in out.told.drain(..) {
                self.told.push(Incident { at_ns: told.at_ns.saturating_sub(self.past_ns), text: told.text });
            }
            let Some(id) = self.at_once.pop() else { break };
            self.engine.ended(self.clock_ns(), id, Ok(()), &mut self.memory, &mut out);
        }
        self.out = out;
    }

    fn send(&mut self, io: Io) {
        let operation = match io.kind {
            IoKind::Read => Operation::Read,
            IoKind::Write => Operation::Write,
            IoKind::Sync => Operation::Flush,
            IoKind::Discard => Operation::Trim,
        };
        let command = Command { operation, offset: io.offset, bytes: u64::from(io.bytes) };
        match io.side {
            Side::Fast => self.fast.submit(self.now_ns, u64::from(io.id.number()), command),
            Side::Slow => self.slow.submit(self.now_ns, u64::from(io.id.number()), command),
            // The pairing record is written a few times in a cache's life.
            Side::Pair => self.at_once.push(io.id),
        }
    }

    /// Everything of the moment `at_ns`.
    fn pass(&mut self, at_ns: u64) {
        self.now_ns = at_ns;
        let mut ended = std::mem::take(&mut self.ended);
        self.fast.advance(at_ns, &mut ended);
        self.slow.advance(at_ns, &mut ended);
        for one in ended.drain(..) {
            let mut out = std::mem::take(&mut self.out);
            let result = one.result.map_err(Failure::errno);
            self.engine.ended(self.clock_ns(), IoId::from_number(one.tag as u32), result, &mut self.memory, &mut out);
            self.settle(out);
        }
        self.ended = ended;
        if self.engine.next_ns().is_some_and(|tick_ns| tick_ns <= self.clock_ns()) {
            let mut out = std::mem::take(&mut self.out);
            self.engine.tick(self.clock_ns(), &mut self.memory, &mut out);
            self.settle(out);
        }
    }
}

/// A command as the engine takes it.
fn request(tag: u64, command: Command) -> cache::Request {
    let kind = match command.operation {
        Operation::Read => Kind::Read,
        Operation::Write => Kind::Write,
        Operation::Flush => Kind::Flush,
        Operation::Trim => Kind::Trim,
    };
    let bytes = command.bytes as u32;
    cache::Request { tag, kind, offset: command.offset, bytes, durable: false, process: 0 }
}

fn failure(failure: cache::Failure) -> Failure {
    match failure {
        cache::Failure::Outside => Failure::Full,
        _ => Failure::Medium,
    }
}

impl Device for Cached {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn submit(&mut self, now_ns: u64, tag: u64, command: Command) {
        self.now_ns = now_ns;
        if self.past.take().is_some() {
            // Whoever uses it begins without a past.
            self.observed.begin(self.engine.statistics(self.past_ns + now_ns), now_ns);
        }
        if !command.fits(self.capacity_bytes) || u32::try_from(command.bytes).is_err() {
            self.answers.push_back(Ended { tag, at_ns: now_ns, result: Err(Failure::Full) });
            return;
        }
        let mut out = std::mem::take(&mut self.out);
        self.engine.submit(self.clock_ns(), request(tag, command), &mut self.memory, &mut out);
        self.settle(out);
    }

    fn next_ns(&self) -> Option<u64> {
        if let Some(first) = self.answers.front() {
            return Some(first.at_ns);
        }
        let tick_ns = self.engine.next_ns().map(|at_ns| at_ns.saturating_sub(self.past_ns).max(self.now_ns));
        [self.fast.next_ns(), self.slow.next_ns(), tick_ns].into_iter().flatten().min()
    }

    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        let before = ended.len();
        loop {
            ended.extend(self.answers.drain(..));
            let Some(at_ns) = self.next_ns() else { return };
            if at_ns > until_ns || (ended.len() > before && at_ns > ended[before].at_ns) {
                return;
            }
            self.pass(at_ns);
        }
    }

    fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>) {
        let statistics = self.engine.statistics(self.clock_ns().max(self.past_ns + now_ns));
        self.observed.tell(statistics, self.engine.settings(), now_ns, series);
        let first = series.len();
        self.fast.observe(now_ns, series);
        for (name, _) in &mut series[first..] {
            *name = format!("cache.fast_{}", name.replace('.', "_"));
        }
        self.slow.observe(now_ns, series);
    }

    fn incidents(&mut self) -> Vec<Incident> {
        let mut told = std::mem::take(&mut self.told);
        for (which, device) in [("cache device", &mut self.fast), ("cached device", &mut self.slow)] {
            let its = device.incidents().into_iter();
            told.extend(its.map(|one| Incident { at_ns: one.at_ns, text: format!("{which}: {}", one.text) }));
        }
        told.sort_by_key(|incident| incident.at_ns);
        told
    }

    fn wants_past(&self) -> bool {
        self.past.is_some()
    }

    fn happened(&mut self, command: Command) {
        let Some(past) = self.past.as_mut().filter(|_| command.fits(self.capacity_bytes)) else { return };
        self.past_ns = past.serve(&mut self.engine, &mut self.memory, self.past_ns, request(0, command));
        if let Some(statistics) = past.end(&self.engine, self.past_ns) {
            self.past = None;
            self.observed.begin(statistics, self.now_ns);
        }
    }
}
