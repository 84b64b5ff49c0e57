//! Running the fileio workload on real files: one thread a lane, one ticker that ends the intervals.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use flatwater_core::interval::{Flights, Recorder};
use flatwater_core::storage::{Kind, Queue};
use flatwater_core::workload::fileio::{self as workload, Generator, Shared};
use flatwater_core::workload::payload::Generations;
use serde::Deserialize;

use crate::Error;
use crate::crew::{Crew, Run};
use crate::permit::{self, Permit};
use crate::storage::buffer::Buffers;
use crate::storage::fault::{Fault, FaultState, FaultyQueue};
use crate::storage::psync::Psync;
use crate::storage::uring::Uring;
use crate::storage::{Engine, FsyncCall, SyncMode, Target};
use flatwater_core::workload::arrival::period_ns;

mod lane;

use lane::Lane;

/// A lane needs little stack: its buffers are on the heap, and there may be thousands of lanes.
const LANE_STACK_BYTES: usize = 256 << 10;

/// What to run, resolved and checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The workload.
    pub workload: workload::Fileio,
    /// Its files, or one block device.
    pub paths: Vec<PathBuf>,
    /// What of them may be written; nothing if absent.
    pub permit: Option<Permit>,
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
    crew: Arc<Crew>,
    generations: Option<Arc<Generations>>,
    fault_state: Arc<FaultState>,
    /// Lanes that may still send requests; the one that takes it to zero makes everything durable at the end.
    lanes_writing: AtomicUsize,
}

/// A fileio workload under way.
pub struct Fileio {
    run: Run,
    generations: Option<Arc<Generations>>,
}

impl Fileio {
    /// Opens the files and starts all lanes. `after` continues the verification of an earlier run on the same files.
    ///
    /// # Errors
    /// A file that cannot be opened or that nothing may be written to, a workload that cannot be generated, too many threads.
    pub fn start(spec: Spec, after: Option<&Self>) -> Result<Self, Error> {
        let write = spec.workload.read_pct < 100.0;
        let permit = match spec.paths.first() {
            Some(path) if write => Some(permit::required(spec.permit.as_ref(), path)?),
            _ => None,
        };
        let target = Arc::new(Target::open(&spec.paths, permit, spec.direct, spec.sync, spec.fsync_call)?);
        if spec.drop_cache {
            target.drop_cache()?;
        }
        let generations = spec.verify.map(|_| {
            after.and_then(|run| run.generations.clone()).unwrap_or_else(|| {
                let per_file = spec.workload.file_bytes / u64::from(spec.workload.block_bytes_max().max(1));
                Arc::new(Generations::new((per_file * u64::from(spec.workload.files)) as usize))
            })
        });
        let lanes = spec.threads;
        let depth = if spec.engine == Engine::Psync { 1 } else { spec.queue_depth };
        let period_ns = period_ns(lanes, spec.rate_per_s);
        let flights = (0..lanes).map(|_| Flights::new(depth, period_ns as u64)).collect();
        let crew = Arc::new(Crew::new(Recorder::new(&Kind::TOLD, Vec::new(), flights), lanes));
        let shared = Arc::new(Shared::default());
        let generators = (0..lanes)
            .map(|lane| Generator::new(spec.workload.clone(), shared.clone(), u64::from(lane)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(Error::Workload)?;
        let buffers = Buffers::for_queues(lanes, depth, spec.workload.block_bytes_max(), write);
        let interval_ms = spec.interval_ms;
        let job = Job {
            spec,
            target,
            crew: crew.clone(),
            generations: generations.clone(),
            fault_state: Arc::default(),
            lanes_writing: AtomicUsize::new(lanes as usize),
        };
        let work = generators.into_iter().zip(buffers).collect();
        let run =
            crew.start(work, LANE_STACK_BYTES, interval_ms, " (hint: fewer workload.threads, or raise ulimit -u)", {
                move |lane, (generator, buffers)| job.run_lane(lane, generator, buffers)
            })?;
        Ok(Self { run, generations })
    }

    /// The lanes at work.
    pub fn run(&self) -> &Run {
        &self.run
    }
}

impl Job {
    fn run_lane(&self, lane: usize, generator: Generator, buffers: Buffers) {
        let target = self.target.clone();
        match self.spec.engine {
            Engine::Psync => self.run_queue(lane, generator, Psync::new(target, buffers)),
            Engine::IoUring => match Uring::new(target, buffers) {
                Ok(queue) => {
                    if !queue.has_fixed_buffers() {
                        self.crew.warn(
                            "the buffers could not be registered (RLIMIT_MEMLOCK), which costs CPU time in every \
                             request: raise ulimit -l",
                        );
                    }
                    self.run_queue(lane, generator, queue);
                }
                Err(error) => {
                    self.crew.gate.arrive_and_wait();
                    self.crew.fail(error);
                }
            },
        }
    }

    /// A request failed: the first one is told, and ends the run unless it is to go on.
    fn note_error(&self, error: Error) {
        if self.spec.continue_on_error {
            self.crew.note_failure(error);
        } else {
            self.crew.fail(error);
        }
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
