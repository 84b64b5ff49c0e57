//! The flash cache in virtual time: the engine of crates/core over two modelled devices. It is a device too.

mod below;
mod series;
mod spec;
#[cfg(test)]
mod tests;
mod warm_up;

use flatwater_core::cache::{self, Engine, Io, IoId, IoKind, Kind, NoData, Out, Side};
use flatwater_core::slab::Key;

use self::below::Below;
use self::series::Observed;
use self::spec::Opened;
pub use self::spec::Spec;
use self::warm_up::WarmUp;
use super::{Command, Device, Ended, Failure, Figures, Incident, Opening, Operation};

/// A cache.
pub struct Cached {
    engine: Engine,
    memory: NoData,
    fast: Below,
    slow: Below,
    capacity_bytes: u64,
    now_ns: u64,
    /// When the next tick of the engine is due, on its clock. It is asked again after each call of the engine.
    tick_ns: Option<u64>,
    /// How long the warm-up took: the clock of the engine is ahead of that of the run by this.
    warm_up_ns: u64,
    /// The warm-up under way.
    warm_up: Option<WarmUp>,
    /// Requests that ended. The next `advance` returns them.
    answers: Vec<Ended>,
    incidents: Vec<Incident>,
    observed: Observed,
    /// Kept to reuse their memory.
    out: Out,
    ended: Vec<Ended>,
    at_once: Vec<IoId>,
}

impl Cached {
    /// An empty cache.
    ///
    /// # Errors
    /// Figures that do not fit each other, in words.
    pub fn new<D: Figures>(spec: &Spec<D>, opening: Opening) -> Result<Self, String> {
        let Opened { fast, slow, layout } = spec.open(opening)?;
        let capacity_bytes = layout.slow_bytes;
        let recovered = cache::journal::recovery::Recovered::fresh(layout);
        let engine = Engine::new(spec.settings()?, recovered, 0)?;
        Ok(Self {
            memory: NoData::default(),
            fast: Below::new(fast),
            slow: Below::new(slow),
            capacity_bytes,
            now_ns: 0,
            tick_ns: engine.next_ns(),
            warm_up_ns: 0,
            warm_up: spec.warm.then(WarmUp::default),
            answers: Vec::new(),
            incidents: Vec::new(),
            observed: Observed::default(),
            out: Out::default(),
            ended: Vec::new(),
            at_once: Vec::new(),
            engine,
        })
    }

    /// The engine's clock.
    fn clock_ns(&self) -> u64 {
        self.warm_up_ns + self.now_ns
    }

    /// Carries out what the engine returned from a call.
    fn settle(&mut self, mut out: Out) {
        loop {
            for io in out.ios.drain(..) {
                self.send(io);
            }
            for (tag, result) in out.answers.drain(..) {
                self.answers.push(Ended { tag, at_ns: self.now_ns, result: result.map_err(failure) });
            }
            for incident in out.told.drain(..) {
                let at_ns = incident.at_ns.saturating_sub(self.warm_up_ns);
                self.incidents.push(Incident { at_ns, text: incident.text });
            }
            let Some(id) = self.at_once.pop() else { break };
            self.engine.ended(self.clock_ns(), id, Ok(()), &mut self.memory, &mut out);
        }
        self.out = out;
        self.tick_ns = self.engine.next_ns();
    }

    /// Sends an IO of the engine to its device.
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
            // The pairing record is written so rarely that its time does not matter.
            Side::Pair => self.at_once.push(io.id),
        }
    }

    /// Handles all events at `at_ns`.
    fn handle(&mut self, at_ns: u64) {
        self.now_ns = at_ns;
        let mut ended = std::mem::take(&mut self.ended);
        self.fast.advance(at_ns, &mut ended);
        self.slow.advance(at_ns, &mut ended);
        for end in ended.drain(..) {
            let mut out = std::mem::take(&mut self.out);
            let result = end.result.map_err(Failure::errno);
            self.engine.ended(self.clock_ns(), IoId::from_number(end.tag as u32), result, &mut self.memory, &mut out);
            self.settle(out);
        }
        self.ended = ended;
        if self.tick_ns.is_some_and(|tick_ns| tick_ns <= self.clock_ns()) {
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
        if self.warm_up.take().is_some() {
            // The driver ended the warm-up early.
            self.observed.begin(self.engine.statistics(self.warm_up_ns + now_ns), now_ns);
        }
        if !command.fits(self.capacity_bytes) || u32::try_from(command.bytes).is_err() {
            self.answers.push(Ended { tag, at_ns: now_ns, result: Err(Failure::Full) });
            return;
        }
        let mut out = std::mem::take(&mut self.out);
        self.engine.submit(self.clock_ns(), request(tag, command), &mut self.memory, &mut out);
        self.settle(out);
    }

    fn next_ns(&self) -> Option<u64> {
        if let Some(first) = self.answers.first() {
            return Some(first.at_ns);
        }
        let of_run = |tick_ns: u64| tick_ns.saturating_sub(self.warm_up_ns).max(self.now_ns);
        let due_ns = self.tick_ns.map_or(u64::MAX, of_run).min(self.fast.due_ns()).min(self.slow.due_ns());
        (due_ns != u64::MAX).then_some(due_ns)
    }

    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        let before = ended.len();
        loop {
            ended.append(&mut self.answers);
            let Some(at_ns) = self.next_ns() else { return };
            if at_ns > until_ns || (ended.len() > before && at_ns > ended[before].at_ns) {
                return;
            }
            self.handle(at_ns);
        }
    }

    fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>) {
        let statistics = self.engine.statistics(self.clock_ns().max(self.warm_up_ns + now_ns));
        self.observed.append_series(statistics, self.engine.settings(), now_ns, series);
        let first = series.len();
        self.fast.observe(now_ns, series);
        for (name, _) in &mut series[first..] {
            *name = format!("cache.fast_{}", name.replace('.', "_"));
        }
        self.slow.observe(now_ns, series);
    }

    fn incidents(&mut self) -> Vec<Incident> {
        let mut incidents = std::mem::take(&mut self.incidents);
        for (which, device) in [("cache device", &mut self.fast), ("cached device", &mut self.slow)] {
            let of_device = device.incidents().into_iter();
            incidents.extend(
                of_device
                    .map(|incident| Incident { at_ns: incident.at_ns, text: format!("{which}: {}", incident.text) }),
            );
        }
        incidents.sort_by_key(|incident| incident.at_ns);
        incidents
    }

    fn needs_warm_up(&self) -> bool {
        self.warm_up.is_some()
    }

    fn warm_up(&mut self, command: Command) {
        let Some(warm_up) = self.warm_up.as_mut().filter(|_| command.fits(self.capacity_bytes)) else { return };
        self.warm_up_ns = warm_up.serve(&mut self.engine, &mut self.memory, self.warm_up_ns, request(0, command));
        self.tick_ns = self.engine.next_ns();
        if let Some(statistics) = warm_up.end(&self.engine, self.warm_up_ns) {
            self.warm_up = None;
            self.observed.begin(statistics, self.now_ns);
        }
    }
}
