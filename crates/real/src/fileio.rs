//! Running the fileio workload on real files: one thread a lane, one ticker that ends the intervals.

use std::sync::Arc;

use flatwater_core::interval::{Flights, Recorder};
use flatwater_core::storage::{Kind, Queue};
use flatwater_core::workload::fileio::{Generator, Shared};

use crate::Error;
use crate::crew::{Crew, Run};
use crate::permit;
use crate::storage::buffer::Buffers;
use crate::storage::fault::FaultyQueue;
use crate::storage::psync::Psync;
use crate::storage::uring::Uring;
use crate::storage::{Engine, Target};

mod job;
mod lane;
mod spec;
mod verification;

use job::Job;
use lane::Lane;
pub use spec::{Spec, Verify};
use verification::Verification;

/// A lane needs little stack: its buffers are on the heap, and there may be thousands of lanes.
const LANE_STACK_BYTES: usize = 256 << 10;

/// A fileio workload under way.
pub struct Fileio {
    run: Run,
    verification: Option<Verification>,
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
        let earlier = after.and_then(|run| run.verification.as_ref());
        let verification = spec.verify.map(|verify| Verification::new(verify, &spec.workload, earlier));
        let lanes = spec.threads;
        let depth = spec.depth();
        let part = spec.lanes();
        let period_ns = spec.rate().period_ns(part.of) as u64;
        let flights = (0..lanes).map(|_| Flights::new(depth, period_ns)).collect();
        let crew = Arc::new(Crew::new(Recorder::new(&Kind::REPORTED, Vec::new(), flights), lanes));
        let shared = Arc::new(Shared::default());
        let generators = (0..lanes)
            .map(|lane| Generator::new(spec.workload.clone(), shared.clone(), part.number(lane as usize) as u64))
            .collect::<Result<Vec<_>, _>>()
            .map_err(Error::Workload)?;
        let buffers = Buffers::for_queues(lanes, depth, spec.workload.block_bytes_max(), write);
        let (interval_ms, hold) = (spec.interval_ms, spec.part.is_some());
        let hint = " (hint: fewer workload.threads, or raise ulimit -u)";
        let job = Job::new(spec, target, crew.clone(), verification.clone());
        let work = generators.into_iter().zip(buffers).collect();
        let run = crew.start(work, LANE_STACK_BYTES, interval_ms, hold, hint, move |lane, (generator, buffers)| {
            run_lane(&job, lane, generator, buffers);
        })?;
        Ok(Self { run, verification })
    }

    /// The lanes at work.
    pub fn run(&self) -> &Run {
        &self.run
    }
}

/// Runs a lane to its end on a queue of the job's engine.
fn run_lane(job: &Job, lane: usize, generator: Generator, buffers: Buffers) {
    let target = job.target.clone();
    match job.spec.engine {
        Engine::Psync => run_queue(job, lane, generator, Psync::new(target, buffers)),
        Engine::IoUring => match Uring::new(target, buffers) {
            Ok(queue) => {
                if !queue.has_fixed_buffers() {
                    job.crew.warn(
                        "the buffers could not be registered (RLIMIT_MEMLOCK), which costs CPU time in every \
                         request: raise ulimit -l",
                    );
                }
                run_queue(job, lane, generator, queue);
            }
            Err(error) => {
                job.crew.gate.arrive_and_wait();
                job.crew.fail(error);
            }
        },
    }
}

fn run_queue<Q: Queue>(job: &Job, lane: usize, generator: Generator, queue: Q) {
    match job.spec.fault {
        None => Lane::new(job, lane, generator, queue).run(),
        Some(fault) => {
            Lane::new(job, lane, generator, FaultyQueue::new(queue, fault, job.fault_state.clone())).run();
        }
    }
}

#[cfg(test)]
mod tests;
