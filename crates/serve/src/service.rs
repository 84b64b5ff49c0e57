//! Requests in real time. A request goes to the model when it arrives, and is answered when its IO and the model have ended.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use flatwater_model::storage::{Command, Device, Failure, Operation};

use crate::lag::Lag;
use crate::lock::lock;
use crate::pacing::{Due, FlightId, Pacing};

/// An answer that can be sent.
pub trait Answer: Send {
    /// Sends it, or the errno of a failure. Returns false if the request failed.
    fn send(self, result: Result<(), i32>) -> bool;

    /// A further command that must end before the answer is sent. It is called when the first command has ended.
    fn then(&mut self) -> Option<Command> {
        None
    }
}

/// Counts of requests by kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Reads.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of them.
    pub written_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Trims.
    pub trims: u64,
    /// Requests that failed.
    pub failed: u64,
}

/// What was counted of the answers.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests.
    pub counts: Counts,
    /// How late they were.
    pub lag: Lag,
}

/// A device at work in real time.
pub struct Service<T> {
    began: Instant,
    /// What the device's time was when the clock began.
    began_ns: u64,
    turn: Mutex<Turn<T>>,
    sooner: Condvar,
    tally: Mutex<[Tally; 2]>,
    worn_out: AtomicBool,
}

struct Turn<T> {
    pacing: Pacing<T>,
    /// When the thread that waits for the model wakes up without a notification.
    wakes_ns: u64,
    stopping: bool,
}

/// The last part of a wait, which the thread spends awake. To put a thread to sleep and to wake it takes longer.
const SPIN_NS: u64 = 10_000;
/// A sleep ends early by at most this, so that the thread is awake in time.
const EARLY_MAX_NS: u64 = 60_000;
/// A thread without work wakes up this often.
const IDLE: Duration = Duration::from_secs(1);

impl<T: Answer> Service<T> {
    /// A service of a device whose time is `began_ns`.
    pub fn new(device: Box<dyn Device>, began_ns: u64) -> Self {
        let turn = Turn { pacing: Pacing::new(device, began_ns), wakes_ns: u64::MAX, stopping: false };
        Self {
            began: Instant::now(),
            began_ns,
            turn: Mutex::new(turn),
            sooner: Condvar::new(),
            tally: Mutex::default(),
            worn_out: AtomicBool::new(false),
        }
    }

    /// The device's time.
    pub fn now_ns(&self) -> u64 {
        self.began_ns + self.began.elapsed().as_nanos() as u64
    }

    /// How long it has been running.
    pub fn running(&self) -> Duration {
        self.began.elapsed()
    }

    /// Whether a request has failed because the device is worn out.
    pub fn worn_out(&self) -> bool {
        self.worn_out.load(Relaxed)
    }

    /// A request has arrived. Returns its id for `finish`.
    pub fn arrive(&self, command: Command) -> FlightId {
        let mut turn = lock(&self.turn);
        let id = turn.pacing.arrive(self.now_ns(), command);
        let sooner = turn.pacing.next_ns().is_some_and(|next_ns| next_ns < turn.wakes_ns);
        drop(turn);
        if sooner {
            self.sooner.notify_one();
        }
        let counts = &mut lock(&self.tally)[0].counts;
        match command.operation {
            Operation::Read => {
                (counts.reads, counts.read_bytes) = (counts.reads + 1, counts.read_bytes + command.bytes)
            }
            Operation::Write => {
                (counts.writes, counts.written_bytes) = (counts.writes + 1, counts.written_bytes + command.bytes);
            }
            Operation::Flush => counts.flushes += 1,
            Operation::Trim => counts.trims += 1,
        }
        id
    }

    /// The IO of a request has ended: answers all requests that may be answered by now.
    pub fn finish(&self, id: FlightId, answer: T) {
        let mut due = Vec::new();
        let mut turn = lock(&self.turn);
        turn.pacing.finish(id, answer);
        turn.pacing.take_due(self.now_ns(), &mut due);
        drop(turn);
        self.answer(due);
    }

    /// Waits for the model and answers requests, until `stop`. It is the work of one thread.
    pub fn pace(&self) {
        let (mut due, mut early_ns) = (Vec::new(), 0);
        let mut turn = lock(&self.turn);
        while !turn.stopping {
            turn.pacing.take_due(self.now_ns(), &mut due);
            if !due.is_empty() {
                drop(turn);
                self.answer(std::mem::take(&mut due));
                turn = lock(&self.turn);
                continue;
            }
            let Some(next_ns) = turn.pacing.next_ns() else {
                turn.wakes_ns = u64::MAX;
                turn = self.sooner.wait_timeout(turn, IDLE).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            };
            let left_ns = next_ns.saturating_sub(self.now_ns());
            if left_ns <= early_ns + SPIN_NS {
                drop(turn);
                while self.now_ns() < next_ns {
                    std::hint::spin_loop();
                }
                turn = lock(&self.turn);
                continue;
            }
            let wake_ns = next_ns - early_ns;
            turn.wakes_ns = next_ns;
            let wait = Duration::from_nanos(left_ns - early_ns);
            let (woken, timeout) = self.sooner.wait_timeout(turn, wait).unwrap_or_else(PoisonError::into_inner);
            turn = woken;
            if timeout.timed_out() {
                // Half of the usual oversleeping: on a busy machine the rest is waiting for a processor, not waking up.
                let overslept_ns = self.now_ns().saturating_sub(wake_ns).min(2 * EARLY_MAX_NS);
                early_ns = (early_ns * 15 + overslept_ns / 2) / 16;
            }
        }
    }

    /// Lets the thread of `pace` end.
    pub fn stop(&self) {
        lock(&self.turn).stopping = true;
        self.sooner.notify_all();
    }

    /// Does something with the device, at its time.
    pub fn with_device<R>(&self, work: impl FnOnce(u64, &mut dyn Device) -> R) -> R {
        let mut due = Vec::new();
        let mut turn = lock(&self.turn);
        let now_ns = self.now_ns();
        turn.pacing.take_due(now_ns, &mut due);
        let result = work(now_ns, turn.pacing.device());
        drop(turn);
        self.answer(due);
        result
    }

    /// Requests that were not answered yet.
    pub fn in_flight(&self) -> usize {
        lock(&self.turn).pacing.in_flight()
    }

    /// The counts since the last `take_tally`, and all counts before that.
    pub fn tally(&self) -> [Tally; 2] {
        lock(&self.tally).clone()
    }

    /// Takes the counts since the last call.
    pub fn take_tally(&self) -> Tally {
        let tally = &mut *lock(&self.tally);
        let taken = std::mem::take(&mut tally[0]);
        tally[1].merge(&taken);
        taken
    }

    fn answer(&self, due: Vec<Due<T>>) {
        for Due { mut answer, result, arrived_ns, ended_ns } in due {
            if let (Ok(()), Some(command)) = (result, answer.then()) {
                let id = self.arrive(command);
                self.finish(id, answer);
                continue;
            }
            if result == Err(Failure::ReadOnly) {
                self.worn_out.store(true, Relaxed);
            }
            let failed = !answer.send(result.map_err(Failure::errno));
            let behind_ns = self.now_ns().saturating_sub(ended_ns);
            let tally = &mut lock(&self.tally)[0];
            tally.lag.record(ended_ns.saturating_sub(arrived_ns), behind_ns);
            tally.counts.failed += u64::from(failed);
        }
    }
}

impl Tally {
    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        self.lag.merge(&other.lag);
        let (sum, more) = (&mut self.counts, &other.counts);
        sum.reads += more.reads;
        sum.read_bytes += more.read_bytes;
        sum.writes += more.writes;
        sum.written_bytes += more.written_bytes;
        sum.flushes += more.flushes;
        sum.trims += more.trims;
        sum.failed += more.failed;
    }
}
