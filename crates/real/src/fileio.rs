//! Running the fileio workload on real files: one thread a lane, one ticker that ends the intervals.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use flatwater_core::interval::{Flights, Interval, Recorder};
use flatwater_core::seed::stream;
use flatwater_core::storage::{Completion, Kind, Queue, Request};
use flatwater_core::workload::fileio::{Fileio, FsyncPolicy, Generator, Shared};
use flatwater_core::workload::payload::{self, Generations, Header, Payload};
use serde::Deserialize;

use crate::Error;
use crate::clock::{Clock, process_cpu_ns};
use crate::storage::fault::{Fault, FaultState, FaultyQueue};
use crate::storage::psync::Psync;
use crate::storage::uring::Uring;
use crate::storage::{Engine, FsyncCall, SyncMode, Target};

mod arrival;
use arrival::Arrivals;

/// A lane needs little stack: its buffers are on the heap, and there may be thousands of lanes.
const LANE_STACK_BYTES: usize = 256 << 10;
/// Longest sleep or wait after which a lane looks whether it should stop.
const STOP_CHECK_NS: u64 = 50_000_000;

/// What to run, resolved and checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The workload.
    pub workload: Fileio,
    /// Its files, or one block device.
    pub paths: Vec<PathBuf>,
    /// Lanes.
    pub threads: u32,
    /// Outstanding requests a lane.
    pub queue_depth: u32,
    /// How requests reach the kernel.
    pub engine: Engine,
    /// O_DIRECT.
    pub direct: bool,
    /// O_SYNC or O_DSYNC.
    pub sync: SyncMode,
    /// fsync or fdatasync.
    pub fsync_call: FsyncCall,
    /// Arrivals a second of all lanes together; 0 for a closed loop.
    pub rate_per_s: f64,
    /// Arrivals of an open loop at random (Poisson) instead of evenly.
    pub poisson: bool,
    /// Share of written data that compresses away, %.
    pub compressible_pct: f64,
    /// Stamp and check every block.
    pub verify: Option<Verify>,
    /// What goes wrong on purpose.
    pub fault: Option<Fault>,
    /// Count failed requests and go on, instead of ending the run at the first.
    pub continue_on_error: bool,
    /// Record latencies and requests in flight; off only to measure what recording costs.
    pub record: bool,
    /// Length of an interval, ms.
    pub interval_ms: u64,
}

/// How blocks are stamped.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Which prepared set of files the blocks belong to.
    pub set_id: u64,
    /// Generations written by this run start above this one; it must be over those of all runs before (prepared: 1).
    pub generation_base: u32,
}

/// What lanes share.
struct Job {
    spec: Spec,
    target: Arc<Target>,
    recorder: Recorder,
    clock: Clock,
    generations: Option<Arc<Generations>>,
    fault_state: Arc<FaultState>,
    stop: AtomicBool,
    lanes_left: AtomicUsize,
    failure: Mutex<Option<Error>>,
    gate: Gate,
}

/// Lets all lanes begin together, once each has its queue.
#[derive(Default)]
struct Gate {
    state: Mutex<(u32, bool)>,
    changed: Condvar,
}

impl Gate {
    fn arrive_and_wait(&self) {
        let mut state = self.state.lock().expect("no lane panics here");
        state.0 += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| !state.1).expect("no lane panics here"));
    }

    fn open_when(&self, lanes: u32) {
        let state = self.state.lock().expect("no lane panics here");
        let mut state = self.changed.wait_while(state, |state| state.0 < lanes).expect("no lane panics here");
        state.1 = true;
        self.changed.notify_all();
    }
}

/// A running workload.
pub struct Run {
    job: Arc<Job>,
    intervals: Mutex<Receiver<Interval>>,
}

/// What `next_interval` found.
pub enum Next {
    /// An interval ended.
    Interval(Box<Interval>),
    /// None ended in time.
    Waiting,
    /// The run is over and every interval was taken.
    Over,
}

impl Run {
    /// Opens the files and starts all lanes. `after` continues the verification of an earlier run on the same files.
    pub fn start(spec: Spec, after: Option<&Self>) -> Result<Self, Error> {
        let write = spec.workload.read_pct < 100.0;
        let target = Arc::new(Target::open(&spec.paths, write, spec.direct, spec.sync, spec.fsync_call)?);
        let generations = spec.verify.map(|_| {
            after.and_then(|run| run.job.generations.clone()).unwrap_or_else(|| {
                let per_file = spec.workload.file_bytes / u64::from(spec.workload.block_bytes_max().max(1));
                Arc::new(Generations::new((per_file * u64::from(spec.workload.files)) as usize))
            })
        });
        let lanes = spec.threads;
        let depth = if spec.engine == Engine::Psync { 1 } else { spec.queue_depth };
        let period_ns = Arrivals::period_ns(&spec);
        let recorder = Recorder::new((0..lanes).map(|_| Flights::new(depth, period_ns as u64)).collect());
        let shared = Arc::new(Shared::default());
        let generators = (0..lanes)
            .map(|lane| Generator::new(spec.workload.clone(), shared.clone(), u64::from(lane)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(Error::Workload)?;
        let job = Arc::new(Job {
            spec,
            target,
            recorder,
            clock: Clock::start(),
            generations,
            fault_state: Arc::default(),
            stop: AtomicBool::new(false),
            lanes_left: AtomicUsize::new(lanes as usize),
            failure: Mutex::new(None),
            gate: Gate::default(),
        });
        let mut started = 0;
        for (lane, generator) in generators.into_iter().enumerate() {
            let own = job.clone();
            let spawned = thread::Builder::new()
                .name(format!("lane-{lane}"))
                .stack_size(LANE_STACK_BYTES)
                .spawn(move || own.run_lane(lane, generator));
            if let Err(source) = spawned {
                job.fail(Error::Engine {
                    engine: "threads",
                    source,
                    hint: " (hint: fewer workload.threads, or raise ulimit -u)",
                });
                job.lanes_left.fetch_sub(lanes as usize - lane, SeqCst);
                break;
            }
            started += 1;
        }
        job.gate.open_when(started);
        let begin_ns = job.clock.now_ns();
        job.recorder.collect(begin_ns);
        let (sender, intervals) = channel();
        let ticker = job.clone();
        thread::Builder::new()
            .name("ticker".into())
            .spawn(move || ticker.tick(begin_ns, |interval| sender.send(interval).is_ok()))
            .map_err(|source| Error::Engine { engine: "threads", source, hint: "" })?;
        Ok(Self { job, intervals: Mutex::new(intervals) })
    }

    /// Waits for the next interval to end.
    pub fn next_interval(&self, timeout: Duration) -> Next {
        match self.intervals.lock().expect("no reader panics here").recv_timeout(timeout) {
            Ok(interval) => Next::Interval(Box::new(interval)),
            Err(RecvTimeoutError::Timeout) => Next::Waiting,
            Err(RecvTimeoutError::Disconnected) => Next::Over,
        }
    }

    /// Asks all lanes to finish what is outstanding and end.
    pub fn stop(&self) {
        self.job.stop.store(true, SeqCst);
    }

    /// Waits until all lanes ended; false when some did not within `timeout` (their device does not answer).
    pub fn join(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        while self.job.lanes_left.load(SeqCst) > 0 {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// The first failure, in words.
    pub fn failure(&self) -> Option<String> {
        self.job.failure.lock().expect("no lane panics here").as_ref().map(ToString::to_string)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Job {
    fn fail(&self, error: Error) {
        self.failure.lock().expect("no lane panics here").get_or_insert(error);
        self.stop.store(true, SeqCst);
    }

    /// Ends an interval at each multiple of its length until all lanes ended and the last one was told.
    fn tick(&self, begin_ns: u64, mut tell: impl FnMut(Interval) -> bool) {
        let step_ns = self.spec.interval_ms.max(1) * 1_000_000;
        let mut cpu = process_cpu_ns();
        let mut next_ns = begin_ns + step_ns;
        loop {
            // Sleeps in slices, so that a run that ends early is not waited for.
            while self.clock.now_ns() < next_ns && self.lanes_left.load(SeqCst) > 0 {
                self.clock.sleep_until(next_ns.min(self.clock.now_ns() + STOP_CHECK_NS));
            }
            let over = self.lanes_left.load(SeqCst) == 0;
            let mut interval = self.recorder.collect(self.clock.now_ns());
            interval.start_ns -= begin_ns;
            interval.end_ns -= begin_ns;
            let now_cpu = process_cpu_ns();
            (interval.cpu_user_ns, interval.cpu_system_ns) = (now_cpu.0 - cpu.0, now_cpu.1 - cpu.1);
            cpu = now_cpu;
            next_ns += step_ns * (1 + self.clock.now_ns().saturating_sub(next_ns) / step_ns);
            if !tell(interval) || over {
                return;
            }
        }
    }

    fn run_lane(&self, lane: usize, generator: Generator) {
        let target = self.target.clone();
        let block_bytes = self.spec.workload.block_bytes_max();
        match self.spec.engine {
            Engine::Psync => self.run_queue(lane, generator, Psync::new(target, block_bytes)),
            Engine::IoUring => match Uring::new(target, self.spec.queue_depth, block_bytes) {
                Ok(queue) => self.run_queue(lane, generator, queue),
                Err(error) => {
                    self.gate.arrive_and_wait();
                    self.fail(error);
                }
            },
        }
        self.lanes_left.fetch_sub(1, SeqCst);
    }

    fn run_queue<Q: Queue>(&self, lane: usize, generator: Generator, queue: Q) {
        match self.spec.fault {
            None => Lane::new(self, lane, generator, queue).run(),
            Some(fault) => {
                Lane::new(self, lane, generator, FaultyQueue::new(queue, fault, self.fault_state.clone())).run();
            }
        }
    }
}

/// A request under way.
#[derive(Clone, Copy)]
struct Flight {
    request: Request,
    started_ns: u64,
    /// Verified block: its generation before this request (0: unknown).
    generation: u32,
}

/// One thread's closed or open loop over its queue.
struct Lane<'a, Q> {
    job: &'a Job,
    lane: usize,
    queue: Q,
    generator: Generator,
    payload: Payload,
    arrivals: Option<Arrivals>,
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    /// Requests that must come before the generator's next one.
    follow_ups: VecDeque<Request>,
    exhausted: bool,
}

impl<'a, Q: Queue> Lane<'a, Q> {
    fn new(job: &'a Job, lane: usize, generator: Generator, mut queue: Q) -> Self {
        let depth = queue.depth();
        let seed = job.spec.workload.seed;
        let payload = Payload::new(seed, lane as u64, job.spec.compressible_pct);
        for slot in 0..depth {
            payload.fill(queue.buffer(slot), lane as u64 * u64::from(depth) + u64::from(slot));
        }
        job.gate.arrive_and_wait();
        let arrivals = Arrivals::new(&job.spec, lane, job.clock.now_ns(), stream(seed, "arrivals", lane as u64));
        Self {
            job,
            lane,
            queue,
            generator,
            payload,
            arrivals,
            flights: vec![None; depth as usize],
            free: (0..depth).rev().collect(),
            follow_ups: VecDeque::new(),
            exhausted: false,
        }
    }

    fn run(mut self) {
        if let Err(source) = self.run_until_stopped().and_then(|()| self.sync_at_end()) {
            self.job.fail(Error::Engine { engine: "waiting for requests", source, hint: "" });
        }
        self.job.recorder.flights(self.lane).close();
    }

    fn run_until_stopped(&mut self) -> std::io::Result<()> {
        let mut fresh = Vec::with_capacity(self.flights.len());
        let mut done = Vec::with_capacity(self.flights.len());
        loop {
            let stopping = self.job.stop.load(Relaxed) || self.exhausted;
            if !stopping {
                self.fill(&mut fresh);
            }
            if self.free.len() == self.flights.len() {
                match &self.arrivals {
                    // Nothing to do before the next arrival.
                    Some(arrivals) if !stopping => {
                        let now = self.job.clock.now_ns();
                        self.job.clock.sleep_until(arrivals.next_ns().min(now + STOP_CHECK_NS));
                        continue;
                    }
                    _ if stopping => return Ok(()),
                    _ => continue,
                }
            }
            self.begin(&mut fresh);
            self.queue.wait(self.timeout_ns(stopping), &mut done)?;
            self.finish(&mut done);
        }
    }

    /// How long the queue may wait: to the next arrival when it could still be sent, else for ever.
    fn timeout_ns(&self, stopping: bool) -> Option<u64> {
        let arrivals = self.arrivals.as_ref().filter(|_| !stopping && !self.free.is_empty())?;
        Some(arrivals.next_ns().saturating_sub(self.job.clock.now_ns()).min(STOP_CHECK_NS))
    }

    /// Pushes as many requests as there are free slots (and arrivals).
    fn fill(&mut self, fresh: &mut Vec<u32>) {
        let now_ns = if self.arrivals.is_some() { self.job.clock.now_ns() } else { 0 };
        while let Some(slot) = self.free.pop() {
            if self.follow_ups.is_empty() && self.arrivals.as_ref().is_some_and(|arrivals| arrivals.next_ns() > now_ns)
            {
                self.free.push(slot);
                break;
            }
            let Some((request, generation)) = self.next_request() else {
                self.exhausted = true;
                self.free.push(slot);
                break;
            };
            // An fsync is no arrival of its own: it starts when it is sent.
            let started_ns = match &mut self.arrivals {
                Some(arrivals) if request.kind != Kind::Fsync => arrivals.take(),
                _ => 0,
            };
            if request.kind == Kind::Write {
                self.prepare_write(slot, request, generation);
            }
            self.flights[slot as usize] = Some(Flight { request, started_ns, generation });
            self.queue.push(slot, request);
            fresh.push(slot);
        }
        if let Some(arrivals) = &self.arrivals {
            self.job.recorder.flights(self.lane).intend(arrivals.next_ns());
        }
    }

    /// The next request and, when blocks are verified, its block's generation. A block that another request has is
    /// passed over.
    fn next_request(&mut self) -> Option<(Request, u32)> {
        if let Some(request) = self.follow_ups.pop_front() {
            return Some((request, 0));
        }
        loop {
            let request = self.generator.next_request()?;
            match &self.job.generations {
                Some(generations) if request.kind != Kind::Fsync => {
                    if let Some(generation) = generations.take(self.block(request)) {
                        return Some((request, generation));
                    }
                    self.generator.pass_over(request);
                    if self.job.stop.load(Relaxed) {
                        return None;
                    }
                }
                _ => return Some((request, 0)),
            }
        }
    }

    fn block(&self, request: Request) -> u64 {
        let bytes = u64::from(self.job.spec.workload.block_bytes_max());
        u64::from(request.file) * (self.job.spec.workload.file_bytes / bytes) + request.offset / bytes
    }

    fn header(&self, request: Request, generation: u32) -> Option<Header> {
        let verify = self.job.spec.verify?;
        Some(Header { set_id: verify.set_id, file: request.file, offset: request.offset, generation })
    }

    /// The generation that a write leaves behind.
    fn next_generation(&self, generation: u32) -> u32 {
        let base = self.job.spec.verify.map_or(0, |verify| verify.generation_base);
        generation.max(base) + 1
    }

    fn prepare_write(&mut self, slot: u32, request: Request, generation: u32) {
        let header = self.header(request, self.next_generation(generation));
        let block = &mut self.queue.buffer(slot)[..request.bytes as usize];
        self.payload.stamp(block);
        if let Some(header) = header {
            payload::seal(block, header);
        }
    }

    /// Marks what was pushed as begun: now in a closed loop, at its intended start in an open one.
    fn begin(&mut self, fresh: &mut Vec<u32>) {
        if fresh.is_empty() {
            return;
        }
        let now_ns = self.job.clock.now_ns();
        let flights = self.job.recorder.flights(self.lane);
        for slot in fresh.drain(..) {
            if let Some(flight) = &mut self.flights[slot as usize] {
                if flight.started_ns == 0 {
                    flight.started_ns = now_ns;
                }
                if self.job.spec.record {
                    flights.begin(slot, flight.started_ns);
                }
            }
        }
    }

    /// Counts what ended, checks it, and frees its slots.
    fn finish(&mut self, done: &mut Vec<Completion>) {
        if done.is_empty() {
            return;
        }
        let now_ns = self.job.clock.now_ns();
        let job = self.job;
        // One lock a batch; it is free unless the ticker is collecting.
        let mut kinds = job.recorder.shard(self.lane).lock().expect("no lane panics while it records");
        for completion in done.drain(..) {
            let Some(flight) = self.flights[completion.slot as usize].take() else { continue };
            self.free.push(completion.slot);
            let kind = &mut kinds[flight.request.kind as usize];
            match self.check(completion, flight) {
                Ok(()) => {
                    kind.operations += 1;
                    kind.bytes += u64::from(flight.request.bytes);
                    if job.spec.record {
                        job.recorder.flights(self.lane).end(completion.slot);
                        kind.latency.record_ns(now_ns.saturating_sub(flight.started_ns));
                    }
                    if flight.request.kind == Kind::Write && job.spec.workload.fsync == FsyncPolicy::EveryWrite {
                        let file = flight.request.file;
                        self.follow_ups.push_back(Request { kind: Kind::Fsync, file, bytes: 0, offset: 0 });
                    }
                }
                Err(error) => {
                    kind.errors += 1;
                    job.recorder.flights(self.lane).end(completion.slot);
                    if job.spec.continue_on_error {
                        job.failure.lock().expect("no lane panics here").get_or_insert(error);
                    } else {
                        job.fail(error);
                    }
                }
            }
        }
    }

    /// Whether a request did what it should; gives its block back.
    fn check(&mut self, completion: Completion, flight: Flight) -> Result<(), Error> {
        let request = flight.request;
        let outcome = self.check_result(completion, flight);
        if let Some(generations) = &self.job.generations
            && request.kind != Kind::Fsync
        {
            // After a failed request nobody knows what the block holds.
            generations.give_back(self.block(request), *outcome.as_ref().unwrap_or(&0));
        }
        outcome.map(|_| ())
    }

    /// The generation that the block now has (0 when blocks are not verified).
    fn check_result(&mut self, completion: Completion, flight: Flight) -> Result<u32, Error> {
        let request = flight.request;
        let path = || self.job.target.path(request.file);
        let (offset, bytes) = (request.offset, request.bytes);
        if completion.result != bytes as i32 {
            let source = match completion.result {
                negative if negative < 0 => std::io::Error::from_raw_os_error(-negative),
                short => std::io::Error::other(format!("only {short} B were done")),
            };
            return Err(Error::Request { what: request.kind.name(), path: path(), offset, bytes, source });
        }
        let Some(header) = self.header(request, flight.generation) else { return Ok(0) };
        match request.kind {
            Kind::Fsync => Ok(0),
            Kind::Write => Ok(self.next_generation(flight.generation)),
            Kind::Read => {
                let path = path();
                let block = &self.queue.buffer(completion.slot)[..bytes as usize];
                payload::check(block, header).map_err(|mismatch| Error::Mismatch { path, offset, bytes, mismatch })
            }
        }
    }

    /// The last lane to end makes everything durable, when the workload says so.
    fn sync_at_end(&mut self) -> std::io::Result<()> {
        let workload = &self.job.spec.workload;
        if workload.fsync != FsyncPolicy::End || self.job.lanes_left.load(SeqCst) > 1 {
            return Ok(());
        }
        let mut done = Vec::new();
        for file in 0..workload.files {
            let Some(slot) = self.free.pop() else { break };
            let request = Request { kind: Kind::Fsync, file, bytes: 0, offset: 0 };
            self.flights[slot as usize] = Some(Flight { request, started_ns: 0, generation: 0 });
            self.queue.push(slot, request);
            self.begin(&mut vec![slot]);
            while self.flights[slot as usize].is_some() {
                self.queue.wait(None, &mut done)?;
                self.finish(&mut done);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
