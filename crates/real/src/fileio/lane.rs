//! One thread of a run: its closed or open loop over its queue.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use flatwater_core::seed::stream;
use flatwater_core::storage::{Completion, Kind, Queue, Request};
use flatwater_core::trace::replay::Cursor;
use flatwater_core::workload::fileio::{FsyncPolicy, Generator};
use flatwater_core::workload::payload::{self, Header, Payload};

use super::Job;
use crate::Error;
use crate::crew::STOP_CHECK_NS;
use flatwater_core::workload::arrival::{Arrivals, period_ns};

/// Requests of a batch that go to an idle device at once, while the rest of the batch is still being made. Measured at
/// depth 32 on a virtio disk: with the whole batch in one call the device idles meanwhile (0.8x the IOPS), with a call
/// for every 8 requests the CPU time per request is 1.1x; one early call gets both.
const HEAD_REQUESTS: usize = 8;
/// Blocks that are asked for in vain before a lane waits for those who have them.
const PASSED_OVER_MAX: usize = 64;
/// How long a lane with nothing outstanding then waits: about the time of a fast request.
const HELD_PAUSE: Duration = Duration::from_micros(50);

/// What a lane can do next.
enum Next {
    /// Send this; the block's generation before it (0: unknown, or blocks are not verified).
    Request(Request, u32),
    /// Wait: every block that was asked for has a request under way.
    Held,
    /// Nothing any more: the workload's bytes are used up.
    Over,
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
pub(super) struct Lane<'a, Q> {
    job: &'a Job,
    lane: usize,
    /// Dropped only when nothing is outstanding: the kernel may still write into the buffers of what is, so after an
    /// error or a panic they are never freed.
    queue: ManuallyDrop<Q>,
    generator: Generator,
    payload: Payload,
    arrivals: Option<Arrivals>,
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    /// Requests that must come before the generator's next one.
    follow_ups: VecDeque<Request>,
    exhausted: bool,
    /// Kept to reuse its memory.
    outcomes: Vec<(Completion, Flight, Result<(), Error>)>,
}

impl<'a, Q: Queue> Lane<'a, Q> {
    pub(super) fn new(job: &'a Job, lane: usize, generator: Generator, mut queue: Q) -> Self {
        let depth = queue.depth();
        let seed = job.spec.workload.seed;
        let payload = Payload::new(seed, "lane", lane as u64, job.spec.compressible_pct);
        for (index, buffer) in queue.write_buffers().into_iter().enumerate() {
            payload.fill(buffer, index as u64);
        }
        job.crew.gate.arrive_and_wait();
        let (threads, rng) = (job.spec.threads, stream(seed, "arrivals", lane as u64));
        let (period_ns, share) = (period_ns(threads, job.spec.rate_per_s), lane as f64 / f64::from(threads));
        let now_ns = job.crew.clock.now_ns();
        let arrivals = match generator.replay() {
            Some(cursor) => Arrivals::replayed(cursor, now_ns),
            None => Arrivals::new(period_ns, job.spec.poisson, share, now_ns, rng),
        };
        Self {
            job,
            lane,
            queue: ManuallyDrop::new(queue),
            generator,
            payload,
            arrivals,
            flights: vec![None; depth as usize],
            free: (0..depth).rev().collect(),
            follow_ups: VecDeque::new(),
            exhausted: false,
            outcomes: Vec::with_capacity(depth as usize),
        }
    }

    pub(super) fn run(mut self) {
        if self.arrivals.is_some() {
            // The kernel may otherwise wake a sleeper 50 us late, which would all count as latency.
            // SAFETY: plain system call about this thread alone.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        }
        if let Err(source) = self.run_until_stopped().and_then(|()| self.sync_at_end()) {
            self.job.crew.fail(Error::Engine { engine: "waiting for requests", source, hint: "" });
        }
        if let Some(problem) = self.generator.replay().and_then(Cursor::problem) {
            self.job.crew.fail(Error::Workload(problem));
        }
        self.job.crew.recorder.flights(self.lane).close();
        if self.free.len() == self.flights.len() {
            drop(ManuallyDrop::into_inner(self.queue));
        }
    }

    fn run_until_stopped(&mut self) -> std::io::Result<()> {
        let mut fresh = Vec::with_capacity(self.flights.len());
        let mut done = Vec::with_capacity(self.flights.len());
        loop {
            let stopping = self.job.crew.stopping() || self.exhausted;
            if !stopping {
                self.fill(&mut fresh);
            }
            if self.free.len() == self.flights.len() {
                match &self.arrivals {
                    // Nothing to do before the next arrival.
                    Some(arrivals) if !stopping => {
                        let now = self.job.crew.clock.now_ns();
                        self.job.crew.clock.sleep_until(arrivals.next_ns().min(now + STOP_CHECK_NS));
                        continue;
                    }
                    _ if stopping => return Ok(()),
                    // Other lanes hold the blocks that this one asked for.
                    _ => {
                        std::thread::sleep(HELD_PAUSE);
                        continue;
                    }
                }
            }
            self.begin(&mut fresh);
            let timeout_ns = self.timeout_ns(stopping);
            self.queue.wait(timeout_ns, &mut done)?;
            self.finish(&mut done);
        }
    }

    /// How long the queue may wait: to the next arrival when it could still be sent, else for ever.
    fn timeout_ns(&self, stopping: bool) -> Option<u64> {
        let arrivals = self.arrivals.as_ref().filter(|_| !stopping && !self.free.is_empty())?;
        Some(arrivals.next_ns().saturating_sub(self.job.crew.clock.now_ns()).min(STOP_CHECK_NS))
    }

    /// Pushes as many requests as there are free slots (and arrivals); the first of them go to an idle device at once.
    fn fill(&mut self, fresh: &mut Vec<u32>) {
        let now_ns = if self.arrivals.is_some() { self.job.crew.clock.now_ns() } else { 0 };
        // A device that still has work need not be woken before the whole batch is there.
        let mut head_due = self.flights.len() - self.free.len() < HEAD_REQUESTS;
        while let Some(slot) = self.free.pop() {
            if self.follow_ups.is_empty() && self.arrivals.as_ref().is_some_and(|arrivals| arrivals.next_ns() > now_ns)
            {
                self.free.push(slot);
                break;
            }
            let (request, generation) = match self.next_request() {
                Next::Request(request, generation) => (request, generation),
                other => {
                    self.exhausted = matches!(other, Next::Over);
                    self.free.push(slot);
                    break;
                }
            };
            // An fsync is no arrival of its own: it starts when it is sent.
            let started_ns = match &mut self.arrivals {
                Some(arrivals) if request.kind != Kind::Fsync => arrivals.take(),
                _ => 0,
            };
            match request.kind {
                Kind::Write => self.prepare_write(slot, request, generation),
                kind => drop(self.queue.take_buffer(slot, kind)),
            }
            self.flights[slot as usize] = Some(Flight { request, started_ns, generation });
            self.queue.push(slot, request);
            fresh.push(slot);
            if head_due && fresh.len() == HEAD_REQUESTS {
                head_due = false;
                self.begin(fresh);
                self.queue.submit();
            }
        }
        if let Some(arrivals) = &self.arrivals
            && !self.exhausted
        {
            self.job.crew.recorder.flights(self.lane).intend(arrivals.next_ns());
        }
    }

    /// The next request. Of verified blocks, one that another request has is passed over.
    fn next_request(&mut self) -> Next {
        if let Some(request) = self.follow_ups.pop_front() {
            return Next::Request(request, 0);
        }
        for _ in 0..PASSED_OVER_MAX {
            let Some(request) = self.generator.next_request() else { return Next::Over };
            match &self.job.generations {
                Some(generations) if request.kind != Kind::Fsync => {
                    if let Some(generation) = generations.take(self.block(request)) {
                        return Next::Request(request, generation);
                    }
                    self.generator.pass_over(request);
                }
                _ => return Next::Request(request, 0),
            }
        }
        Next::Held
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
        let block = &mut self.queue.take_buffer(slot, Kind::Write)[..request.bytes as usize];
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
        let now_ns = self.job.crew.clock.now_ns();
        let flights = self.job.crew.recorder.flights(self.lane);
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
        let now_ns = self.job.crew.clock.now_ns();
        let job = self.job;
        for completion in done.drain(..) {
            let Some(flight) = self.flights[completion.slot as usize].take() else { continue };
            self.free.push(completion.slot);
            let outcome = self.check(completion, flight);
            self.outcomes.push((completion, flight, outcome));
        }
        // One lock a batch, and nothing slow under it: up to 64 lanes have one of their own.
        let mut kinds = job.crew.recorder.shard(self.lane).lock().expect("no lane panics while it records");
        for (completion, flight, outcome) in self.outcomes.drain(..) {
            let kind = &mut kinds[flight.request.kind as usize];
            if let Err(error) = outcome {
                kind.errors += 1;
                job.crew.recorder.flights(self.lane).end(completion.slot);
                job.note_error(error);
                continue;
            }
            kind.operations += 1;
            kind.bytes += u64::from(flight.request.bytes);
            if job.spec.record {
                job.crew.recorder.flights(self.lane).end(completion.slot);
                kind.latency.record_ns(now_ns.saturating_sub(flight.started_ns));
            }
            if flight.request.kind == Kind::Write && job.spec.workload.fsync == FsyncPolicy::EveryWrite {
                let file = flight.request.file;
                self.follow_ups.push_back(Request { kind: Kind::Fsync, file, bytes: 0, offset: 0 });
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
        if workload.fsync != FsyncPolicy::End || self.job.lanes_writing.fetch_sub(1, SeqCst) > 1 {
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
