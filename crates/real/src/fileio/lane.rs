//! One thread of a run: a closed or open loop over its queue.

use std::ffi::CString;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use flatwater_core::slab::Slab;
use flatwater_core::storage::{Completion, Kind, Queue, Request};
use flatwater_core::workload::fileio::{Generator, Schedule, Turn};
use flatwater_core::workload::payload::Payload;

use super::job::Job;
use crate::Error;
use crate::crew::STOP_CHECK_NS;

/// An idle device gets the first requests of a batch at once, while the rest of the batch is made. Measured at depth 32 on a
/// virtio disk: if the whole batch goes in one call, the device is idle meanwhile (0.8x the IOPS); with a call for every 8
/// requests, a request takes 1.1x the CPU time. One early call avoids both.
const HEAD_REQUESTS: usize = 8;
/// How long a lane without outstanding requests waits for blocks that other lanes hold: about the time of a fast request.
const HELD_PAUSE: Duration = Duration::from_micros(50);

/// A request under way.
#[derive(Clone, Copy)]
struct Flight {
    request: Request,
    started_ns: u64,
    /// The generation of a verified block before this request (0: unknown).
    generation: u32,
}

/// The closed or open loop of one thread over its queue.
pub(super) struct Lane<'a, Q> {
    job: &'a Job,
    lane: usize,
    /// It is dropped only when no request is outstanding, because the kernel may still write into the buffers of outstanding
    /// ones. After an error or a panic it is never dropped.
    queue: ManuallyDrop<Q>,
    schedule: Schedule,
    payload: Payload,
    /// The requests under way, by the slot of the queue.
    flights: Slab<Flight>,
    depth: usize,
    /// Kept to reuse its memory.
    outcomes: Vec<(Completion, Flight, Result<(), Error>)>,
}

impl<'a, Q: Queue> Lane<'a, Q> {
    pub(super) fn new(job: &'a Job, lane: usize, generator: Generator, mut queue: Q) -> Self {
        let depth = queue.depth();
        let seed = job.spec.workload.seed;
        let part = job.spec.lanes();
        let number = part.number(lane) as u32;
        let payload = Payload::new(seed, "lane", u64::from(number), job.spec.compressible_pct);
        for (index, buffer) in queue.write_buffers().into_iter().enumerate() {
            payload.fill(buffer, index as u64);
        }
        job.crew.gate.arrive_and_wait();
        let schedule = Schedule::new(generator, job.spec.rate(), number, part.of, job.crew.clock.now_ns());
        Self {
            job,
            lane,
            queue: ManuallyDrop::new(queue),
            schedule,
            payload,
            flights: Slab::new(),
            depth: depth as usize,
            outcomes: Vec::with_capacity(depth as usize),
        }
    }

    pub(super) fn run(mut self) {
        if self.schedule.is_open_loop() {
            // Otherwise the kernel may wake this thread 50 us late, and all of that would count as latency.
            // SAFETY: a plain system call that concerns only this thread.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        }
        if let Err(source) = self.run_until_stopped().and_then(|()| self.sync_at_end()) {
            self.job.crew.fail(Error::Engine { engine: "waiting for requests", source, hint: "" });
        }
        if let Some(problem) = self.schedule.problem() {
            self.job.crew.fail(Error::Workload(problem));
        }
        self.job.crew.recorder.flights(self.lane).close();
        if self.flights.is_empty() {
            drop(ManuallyDrop::into_inner(self.queue));
        }
    }

    fn run_until_stopped(&mut self) -> std::io::Result<()> {
        let mut fresh = Vec::with_capacity(self.depth);
        let mut done = Vec::with_capacity(self.depth);
        loop {
            let stopping = self.job.crew.stopping() || self.schedule.is_exhausted();
            if !stopping {
                self.fill(&mut fresh);
            }
            if self.flights.is_empty() {
                if stopping {
                    return Ok(());
                }
                match self.schedule.next_arrival_ns() {
                    // There is nothing to do before the next arrival.
                    Some(next_ns) => {
                        let now_ns = self.job.crew.clock.now_ns();
                        self.job.crew.clock.sleep_until(next_ns.min(now_ns + STOP_CHECK_NS));
                    }
                    // Other lanes hold the blocks of the next requests.
                    None => std::thread::sleep(HELD_PAUSE),
                }
                continue;
            }
            self.begin(&mut fresh);
            let timeout_ns = self.timeout_ns(stopping);
            self.queue.wait(timeout_ns, &mut done)?;
            self.finish(&mut done);
        }
    }

    /// How long the queue may wait: until the next arrival if there is a slot for it, otherwise without a limit.
    fn timeout_ns(&self, stopping: bool) -> Option<u64> {
        if stopping || self.flights.len() == self.depth {
            return None;
        }
        let next_ns = self.schedule.next_arrival_ns()?;
        Some(next_ns.saturating_sub(self.job.crew.clock.now_ns()).min(STOP_CHECK_NS))
    }

    /// Pushes as many requests as there are free slots and arrivals. An idle device gets the first of them at once.
    fn fill(&mut self, fresh: &mut Vec<u32>) {
        let now_ns = if self.schedule.is_open_loop() { self.job.crew.clock.now_ns() } else { 0 };
        let verification = self.job.verification.as_ref();
        let claim = |request| verification.map_or(Some(0), |blocks| blocks.claim(request));
        // A device that has work can wait for the whole batch.
        let mut head_due = self.flights.len() < HEAD_REQUESTS;
        while self.flights.len() < self.depth {
            let Turn::Send { request, claim: generation, intended_ns } = self.schedule.next(now_ns, claim) else {
                break;
            };
            let slot = self.flights.insert(Flight { request, started_ns: intended_ns.unwrap_or(0), generation });
            match request.kind {
                Kind::Write => self.prepare_write(slot, request, generation),
                kind => drop(self.queue.take_buffer(slot, kind)),
            }
            self.queue.push(slot, request);
            fresh.push(slot);
            if head_due && fresh.len() == HEAD_REQUESTS {
                head_due = false;
                self.begin(fresh);
                self.queue.submit();
            }
        }
        if let Some(next_ns) = self.schedule.next_arrival_ns() {
            self.job.crew.recorder.flights(self.lane).intend(next_ns);
        }
    }

    fn prepare_write(&mut self, slot: u32, request: Request, generation: u32) {
        let block = &mut self.queue.take_buffer(slot, Kind::Write)[..request.bytes as usize];
        self.payload.stamp(block);
        if let Some(verification) = &self.job.verification {
            verification.seal(block, request, generation);
        }
    }

    /// Marks the pushed requests as begun: now in a closed loop, at their intended start in an open one.
    fn begin(&mut self, fresh: &mut Vec<u32>) {
        if fresh.is_empty() {
            return;
        }
        let now_ns = self.job.crew.clock.now_ns();
        let flights = self.job.crew.recorder.flights(self.lane);
        for slot in fresh.drain(..) {
            let flight = &mut self.flights[slot];
            if flight.started_ns == 0 {
                flight.started_ns = now_ns;
            }
            if self.job.spec.record {
                flights.begin(slot, flight.started_ns);
            }
        }
    }

    /// Counts and checks the requests that ended, and frees their slots.
    fn finish(&mut self, done: &mut Vec<Completion>) {
        if done.is_empty() {
            return;
        }
        let now_ns = self.job.crew.clock.now_ns();
        let job = self.job;
        for completion in done.drain(..) {
            let flight = self.flights.remove(completion.slot);
            let outcome = self.check(completion, flight);
            self.outcomes.push((completion, flight, outcome));
        }
        // One lock for a batch, and nothing slow under it. Up to 64 lanes have their own lock.
        let mut kinds = job.crew.recorder.shard(self.lane).lock().expect("no lane panics while it records");
        for (completion, flight, outcome) in self.outcomes.drain(..) {
            let kind = &mut kinds[flight.request.kind as usize];
            if let Err(error) = outcome {
                kind.failed();
                job.crew.recorder.flights(self.lane).end(completion.slot);
                job.note_error(error);
                continue;
            }
            if job.spec.record {
                job.crew.recorder.flights(self.lane).end(completion.slot);
            }
            let latency_ns = job.spec.record.then(|| now_ns.saturating_sub(flight.started_ns));
            kind.finished(flight.request.bytes, latency_ns);
            self.schedule.follow(flight.request);
        }
    }

    /// Checks the result of a request, and gives its block back.
    fn check(&mut self, completion: Completion, flight: Flight) -> Result<(), Error> {
        let request = flight.request;
        let outcome = self.check_result(completion, flight);
        if let Some(verification) = &self.job.verification
            && request.kind != Kind::Fsync
        {
            verification.give_back(request, flight.generation, &outcome);
        }
        outcome.map(|_| ())
    }

    /// The generation that a read found; 0 if nothing was read or blocks are not verified.
    fn check_result(&mut self, completion: Completion, flight: Flight) -> Result<u32, Error> {
        let request = flight.request;
        let path = || self.job.target.path(request.file);
        let (offset, bytes) = (request.offset, request.bytes);
        if completion.result != bytes as i32 {
            let source = match completion.result {
                negative if negative < 0 => std::io::Error::from_raw_os_error(-negative),
                short => part_done(&path(), short, bytes),
            };
            return Err(Error::Request { what: request.kind.name(), path: path(), offset, bytes, source });
        }
        match (&self.job.verification, request.kind) {
            (Some(verification), Kind::Read) => {
                let path = path();
                let block = &self.queue.buffer(completion.slot)[..bytes as usize];
                let checked = verification.check(block, request, flight.generation);
                checked.map_err(|mismatch| Error::Mismatch { path, offset, bytes, mismatch })
            }
            _ => Ok(0),
        }
    }

    /// The last lane that ends makes all data durable, if the workload requires it.
    fn sync_at_end(&mut self) -> std::io::Result<()> {
        let mut done = Vec::new();
        for request in self.job.end_of_lane() {
            let slot = self.flights.insert(Flight { request, started_ns: 0, generation: 0 });
            self.queue.push(slot, request);
            self.begin(&mut vec![slot]);
            while !self.flights.is_empty() {
                self.queue.wait(None, &mut done)?;
                self.finish(&mut done);
            }
        }
        Ok(())
    }
}
/// Why a request was done only in part. A file system that fills up under a write does so, and only the next write fails.
fn part_done(path: &Path, done_bytes: i32, bytes: u32) -> std::io::Error {
    if free_bytes(path).is_some_and(|free| free < u64::from(bytes) - done_bytes as u64) {
        return std::io::Error::from_raw_os_error(libc::ENOSPC);
    }
    std::io::Error::other(format!("only {done_bytes} B were done"))
}

/// What the file system of a path has free; None if it does not tell.
fn free_bytes(path: &Path) -> Option<u64> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut told = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a zero byte, and the call fills what it is given before it returns 0.
    let told = unsafe { (libc::statvfs(path.as_ptr(), told.as_mut_ptr()) == 0).then(|| told.assume_init())? };
    Some(told.f_bfree * told.f_frsize)
}
