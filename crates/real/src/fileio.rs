//! Running the fileio workload on real files: one thread a lane, one ticker that ends the intervals.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use flatwater_core::interval::{Flights, Interval, Recorder};
use flatwater_core::storage::Queue;
use flatwater_core::workload::fileio::{Fileio, Generator, Shared};
use flatwater_core::workload::payload::Generations;
use serde::Deserialize;

use crate::Error;
use crate::clock::{Clock, process_cpu_ns};
use crate::storage::buffer::Buffers;
use crate::storage::fault::{Fault, FaultState, FaultyQueue};
use crate::storage::psync::Psync;
use crate::storage::uring::Uring;
use crate::storage::{Engine, FsyncCall, SyncMode, Target};

mod arrival;
mod lane;

use arrival::Arrivals;
use lane::Lane;

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
    /// Forget what the page cache holds of the files before the first request.
    pub drop_cache: bool,
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
    /// Lanes that may still send requests; the one that takes it to zero makes everything durable at the end.
    lanes_writing: AtomicUsize,
    failure: Mutex<Option<Error>>,
    warning: Mutex<Option<String>>,
    gate: Gate,
    /// Told when the last lane ended.
    ended: Condvar,
    ended_lock: Mutex<()>,
}

/// Counts a lane as ended, even one that panicked: a run must never wait for what will not come.
struct LaneEnd<'a>(&'a Job);

impl Drop for LaneEnd<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0
                .fail(Error::Workload("a thread of the load generator broke down: this is a bug of flatwater".into()));
            self.0.gate.arrive();
        }
        self.0.end_lanes(1);
    }
}

/// Lets all lanes begin together, once each has its queue.
#[derive(Default)]
struct Gate {
    state: Mutex<(u32, bool)>,
    changed: Condvar,
}

impl Gate {
    fn arrive(&self) {
        self.state.lock().expect("no lane panics here").0 += 1;
        self.changed.notify_all();
    }

    fn arrive_and_wait(&self) {
        self.arrive();
        let state = self.state.lock().expect("no lane panics here");
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
        if spec.drop_cache {
            target.drop_cache()?;
        }
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
            lanes_writing: AtomicUsize::new(lanes as usize),
            failure: Mutex::new(None),
            warning: Mutex::new(None),
            gate: Gate::default(),
            ended: Condvar::new(),
            ended_lock: Mutex::new(()),
        });
        let mut started = 0;
        let buffers = Buffers::for_queues(lanes, depth, job.spec.workload.block_bytes_max(), write);
        for (lane, (generator, buffers)) in generators.into_iter().zip(buffers).enumerate() {
            let own = job.clone();
            let spawned = thread::Builder::new()
                .name(format!("lane-{lane}"))
                .stack_size(LANE_STACK_BYTES)
                .spawn(move || own.run_lane(lane, generator, buffers));
            if let Err(source) = spawned {
                job.fail(Error::Engine {
                    engine: "threads",
                    source,
                    hint: " (hint: fewer workload.threads, or raise ulimit -u)",
                });
                job.end_lanes(lanes as usize - lane);
                break;
            }
            started += 1;
        }
        job.gate.open_when(started);
        let begin_ns = job.clock.now_ns();
        job.recorder.begin(begin_ns);
        let (sender, intervals) = channel();
        let ticker = job.clone();
        thread::Builder::new()
            .name("ticker".into())
            .spawn(move || ticker.tick(begin_ns, |interval| sender.send(interval).is_ok()))
            .map_err(|source| {
                job.stop.store(true, SeqCst);
                Error::Engine { engine: "threads", source, hint: " (hint: raise ulimit -u)" }
            })?;
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
        self.job.wait_for_lanes(timeout)
    }

    /// What made the run weaker than asked, in words.
    pub fn warning(&self) -> Option<String> {
        self.job.warning.lock().expect("no lane panics here").clone()
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
            let over = self.wait_for_lanes(Duration::from_nanos(next_ns.saturating_sub(self.clock.now_ns())));
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

    fn run_lane(&self, lane: usize, generator: Generator, buffers: Buffers) {
        let _end = LaneEnd(self);
        let target = self.target.clone();
        match self.spec.engine {
            Engine::Psync => self.run_queue(lane, generator, Psync::new(target, buffers)),
            Engine::IoUring => match Uring::new(target, buffers) {
                Ok(queue) => {
                    if !queue.has_fixed_buffers() {
                        self.warn(
                            "the buffers could not be registered (RLIMIT_MEMLOCK), which costs CPU time in every \
                             request: raise ulimit -l",
                        );
                    }
                    self.run_queue(lane, generator, queue);
                }
                Err(error) => {
                    self.gate.arrive_and_wait();
                    self.fail(error);
                }
            },
        }
    }

    /// A request failed: the first one is told, and ends the run unless it is to go on.
    fn note_error(&self, error: Error) {
        if self.spec.continue_on_error {
            self.failure.lock().expect("no lane panics here").get_or_insert(error);
        } else {
            self.fail(error);
        }
    }

    fn warn(&self, text: &str) {
        self.warning.lock().expect("no lane panics here").get_or_insert_with(|| text.to_owned());
    }

    fn end_lanes(&self, count: usize) {
        if self.lanes_left.fetch_sub(count, SeqCst) == count {
            let _lock = self.ended_lock.lock().expect("nothing panics under it");
            self.ended.notify_all();
        }
    }

    /// Waits until all lanes ended, `timeout` at most; whether they did.
    fn wait_for_lanes(&self, timeout: Duration) -> bool {
        let lock = self.ended_lock.lock().expect("nothing panics under it");
        let running = |(): &mut ()| self.lanes_left.load(SeqCst) > 0;
        let (_lock, wait) = self.ended.wait_timeout_while(lock, timeout, running).expect("nothing panics under it");
        !wait.timed_out()
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

#[cfg(test)]
mod tests;
