//! Requests in real time: what arrives goes to the model at once, and is answered when both its IO and the model are done.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use flatwater_model::storage::{Command, Device, Failure, Operation};

use crate::lag::Lag;
use crate::lock::lock;
use crate::pacing::{Due, Pacing};

/// Something that can be sent to whoever asked.
pub trait Answer: Send {
    /// Sends it, or the errno of what went wrong; false when it failed.
    fn send(self, result: Result<(), i32>) -> bool;

    /// What must end before it may be sent, now that its own command has.
    fn then(&mut self) -> Option<Command> {
        None
    }
}

/// Requests by what they asked for.
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
    /// When the thread that waits for the model wakes up by itself.
    wakes_ns: u64,
    stopping: bool,
}

/// Of a wait that is nearly over, so much is spent awake: less than putting a thread to sleep and waking it takes.
const SPIN_NS: u64 = 10_000;
/// A wait for the model is never taken to be shorter by more than this for the sake of waking up in time.
const EARLY_MAX_NS: u64 = 60_000;
/// A thread that waits for nothing looks up this often.
const IDLE: Duration = Duration::from_secs(1);

impl<T: Answer> Service<T> {
    /// Begins; the device's time has come to `began_ns`.
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

    /// How long it has been at work.
    pub fn running(&self) -> Duration {
        self.began.elapsed()
    }

    /// Whether the device said that it takes no more writes.
    pub fn worn_out(&self) -> bool {
        self.worn_out.load(Relaxed)
    }

    /// A request has come; gives its number.
    pub fn arrive(&self, command: Command) -> usize {
        let mut turn = lock(&self.turn);
        let number = turn.pacing.arrive(self.now_ns(), command);
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
        number
    }

    /// The IO of a request is done: answers it, and whatever else may be answered by now.
    pub fn finish(&self, number: usize, answer: T) {
        let mut due = Vec::new();
        let mut turn = lock(&self.turn);
        turn.pacing.done(number, answer);
        turn.pacing.due(self.now_ns(), &mut due);
        drop(turn);
        self.answer(due);
    }

    /// Waits for the model and answers, until `stop`: the work of one thread.
    pub fn pace(&self) {
        let (mut due, mut early_ns) = (Vec::new(), 0);
        let mut turn = lock(&self.turn);
        while !turn.stopping {
            turn.pacing.due(self.now_ns(), &mut due);
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
        turn.pacing.due(now_ns, &mut due);
        let result = work(now_ns, turn.pacing.device());
        drop(turn);
        self.answer(due);
        result
    }

    /// Requests that were not answered yet.
    pub fn in_flight(&self) -> usize {
        lock(&self.turn).pacing.in_flight()
    }

    /// What was counted since the last `take_tally`, and in all before that.
    pub fn tally(&self) -> [Tally; 2] {
        lock(&self.tally).clone()
    }

    /// What was counted since the last call.
    pub fn take_tally(&self) -> Tally {
        let tally = &mut *lock(&self.tally);
        let taken = std::mem::take(&mut tally[0]);
        tally[1].merge(&taken);
        taken
    }

    fn answer(&self, due: Vec<Due<T>>) {
        for Due { mut answer, result, arrived_ns, over_ns } in due {
            if let (Ok(()), Some(command)) = (result, answer.then()) {
                let number = self.arrive(command);
                self.finish(number, answer);
                continue;
            }
            if result == Err(Failure::ReadOnly) {
                self.worn_out.store(true, Relaxed);
            }
            let failed = !answer.send(result.map_err(Failure::errno));
            let behind_ns = self.now_ns().saturating_sub(over_ns);
            let tally = &mut lock(&self.tally)[0];
            tally.lag.record(over_ns.saturating_sub(arrived_ns), behind_ns);
            tally.counts.failed += u64::from(failed);
        }
    }
}

impl Tally {
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.lag.merge(&other.lag);
        let (own, more) = (&mut self.counts, &other.counts);
        own.reads += more.reads;
        own.read_bytes += more.read_bytes;
        own.writes += more.writes;
        own.written_bytes += more.written_bytes;
        own.flushes += more.flushes;
        own.trims += more.trims;
        own.failed += more.failed;
    }
}
