//! The threads of a workload. They begin together, a ticker ends the intervals, and a caller that waits for them never waits
//! for a thread that has already ended.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use flatwater_core::interval::{CpuNs, Interval, Recorder};

use crate::Error;
use crate::clock::{Clock, monotonic_now_ns, process_cpu_ns};

mod start;

use start::Start;

/// A lane checks at least this often whether it should stop.
pub(crate) const STOP_CHECK_NS: u64 = 50_000_000;

/// State that the threads (lanes) of a workload share with the ticker and with the caller that started them.
pub struct Crew {
    /// The recorder of all lanes.
    pub recorder: Recorder,
    /// The run's clock.
    pub clock: Clock,
    pub(crate) gate: Gate,
    stop: AtomicBool,
    /// Notified when the run is to stop.
    stopped: Condvar,
    pauses: Mutex<()>,
    /// Whether waits for outstanding answers are to be given up.
    abandon: Arc<AtomicBool>,
    lanes_left: AtomicUsize,
    failure: Mutex<Option<Error>>,
    ended_by: Mutex<Option<Error>>,
    warning: Mutex<Option<String>>,
    /// Notified when the last lane has ended.
    ended: Condvar,
    ended_lock: Mutex<()>,
    start: Start,
}

/// Counts a lane as ended, also if it panicked: otherwise the run would wait for it without end.
struct LaneEnd<'a>(&'a Crew);

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

/// Lets all lanes begin together, once each is ready.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<Arrivals>,
    /// For the one that counts the lanes.
    arrived: Condvar,
    /// For the lanes. Were they woken by each arrival, ten thousand would cost fifty million wake-ups.
    opened: Condvar,
}

#[derive(Default)]
struct Arrivals {
    lanes: u32,
    is_open: bool,
}

impl Gate {
    fn arrive(&self) {
        self.state.lock().expect("no lane panics here").lanes += 1;
        self.arrived.notify_one();
    }

    /// Waits until all lanes are here.
    pub(crate) fn arrive_and_wait(&self) {
        self.arrive();
        let state = self.state.lock().expect("no lane panics here");
        drop(self.opened.wait_while(state, |state| !state.is_open).expect("no lane panics here"));
    }

    fn wait_for(&self, lanes: u32) {
        let state = self.state.lock().expect("no lane panics here");
        drop(self.arrived.wait_while(state, |state| state.lanes < lanes).expect("no lane panics here"));
    }

    fn open(&self) {
        self.state.lock().expect("no lane panics here").is_open = true;
        self.opened.notify_all();
    }
}

impl Crew {
    /// A crew of `lanes` lanes. None of them runs yet.
    pub fn new(recorder: Recorder, lanes: u32) -> Self {
        Self {
            recorder,
            clock: Clock::start(),
            gate: Gate::default(),
            stop: AtomicBool::new(false),
            stopped: Condvar::new(),
            pauses: Mutex::new(()),
            abandon: Arc::default(),
            lanes_left: AtomicUsize::new(lanes as usize),
            failure: Mutex::new(None),
            ended_by: Mutex::new(None),
            warning: Mutex::new(None),
            ended: Condvar::new(),
            ended_lock: Mutex::new(()),
            start: Start::default(),
        }
    }

    /// Starts one lane for each piece of `work`, and the ticker. Each lane must pass the gate once. With `hold` they begin at
    /// the instant of `Run::begin_at`, else as soon as all are ready. `hint` is shown when there are too many threads.
    ///
    /// # Errors
    /// The ticker could not be started. A lane that could not be started is the failure of the run.
    pub(crate) fn start<T: Send + 'static>(
        self: Arc<Self>,
        work: Vec<T>,
        stack_bytes: usize,
        interval_ms: u64,
        hold: bool,
        hint: &'static str,
        lane_body: impl Fn(usize, T) + Send + Sync + 'static,
    ) -> Result<Run, Error> {
        let lanes = work.len();
        let lane_body = Arc::new(lane_body);
        let mut started = 0;
        for (lane, own) in work.into_iter().enumerate() {
            let (crew, body) = (self.clone(), lane_body.clone());
            let spawned =
                thread::Builder::new().name(format!("lane-{lane}")).stack_size(stack_bytes).spawn(move || {
                    let _end = LaneEnd(&crew);
                    body(lane, own);
                });
            if let Err(source) = spawned {
                self.fail(Error::Engine { engine: "threads", source, hint });
                self.end_lanes(lanes - lane);
                break;
            }
            started += 1;
        }
        let (sender, intervals) = channel();
        let ticker = self.clone();
        // Lanes may take long to be ready (10,000 connections). The caller does not wait for that.
        let tick = move || {
            ticker.gate.wait_for(started);
            let begin_ns = if hold { ticker.wait_for_start() } else { ticker.clock.now_ns() };
            ticker.gate.open();
            ticker.start.note_begun(ticker.clock.now_ns());
            ticker.recorder.begin(begin_ns);
            ticker.tick(begin_ns, interval_ms, |interval| sender.send(interval).is_ok());
        };
        thread::Builder::new().name("ticker".into()).spawn(tick).map_err(|source| {
            self.stop();
            self.gate.wait_for(started);
            self.gate.open();
            Error::Engine { engine: "threads", source, hint: " (hint: raise ulimit -u)" }
        })?;
        Ok(Run { crew: self, intervals: Mutex::new(intervals) })
    }

    /// Waits for the instant at which the lanes begin, and returns it. A run that is stopped before begins now.
    fn wait_for_start(&self) -> u64 {
        let Some(at_ns) = self.start.wait(|| self.stopping()) else { return self.clock.now_ns() };
        // The intervals are counted from the instant itself, also if this thread wakes late.
        if self.pause_until(at_ns) { at_ns } else { at_ns.min(self.clock.now_ns()) }
    }

    /// Whether lanes are to end after their outstanding requests.
    #[inline]
    pub fn stopping(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// The flag that makes waits for an answer give up.
    pub fn abandon_flag(&self) -> Arc<AtomicBool> {
        self.abandon.clone()
    }

    fn stop(&self) {
        self.stop.store(true, SeqCst);
        self.start.wake();
        let _lock = self.pauses.lock().expect("nothing panics under it");
        self.stopped.notify_all();
    }

    /// Sleeps until the run's clock shows `at_ns`. Returns false if the run is to stop, which ends the sleep.
    pub(crate) fn pause_until(&self, at_ns: u64) -> bool {
        let now_ns = self.clock.now_ns();
        if at_ns > now_ns && !self.stopping() {
            let lock = self.pauses.lock().expect("nothing panics under it");
            let running = |(): &mut ()| !self.stopping();
            let timeout = Duration::from_nanos(at_ns - now_ns);
            drop(self.stopped.wait_timeout_while(lock, timeout, running).expect("nothing panics under it"));
        }
        !self.stopping()
    }

    /// Ends the run with a failure, of which the first is kept.
    pub(crate) fn fail(&self, error: Error) {
        self.ended_by.lock().expect("no lane panics here").get_or_insert(error);
        self.stop();
    }

    /// Keeps the first failure after which the run goes on.
    pub(crate) fn note_failure(&self, error: Error) {
        self.failure.lock().expect("no lane panics here").get_or_insert(error);
    }

    /// Keeps the first warning.
    pub(crate) fn warn(&self, text: &str) {
        self.warning.lock().expect("no lane panics here").get_or_insert_with(|| text.to_owned());
    }

    /// Ends an interval at each multiple of its length, and sends it, until all lanes have ended.
    fn tick(&self, begin_ns: u64, interval_ms: u64, mut send: impl FnMut(Interval) -> bool) {
        let step_ns = interval_ms.max(1) * 1_000_000;
        let mut cpu = process_cpu_ns();
        let mut next_ns = begin_ns + step_ns;
        loop {
            let over = self.wait_for_lanes(Duration::from_nanos(next_ns.saturating_sub(self.clock.now_ns())));
            let mut interval = self.recorder.collect(self.clock.now_ns());
            interval.start_ns -= begin_ns;
            interval.end_ns -= begin_ns;
            let now_cpu = process_cpu_ns();
            interval.cpu = Some(CpuNs { user: now_cpu.0 - cpu.0, system: now_cpu.1 - cpu.1 });
            cpu = now_cpu;
            next_ns += step_ns * (1 + self.clock.now_ns().saturating_sub(next_ns) / step_ns);
            if !send(interval) || over {
                return;
            }
        }
    }

    fn end_lanes(&self, count: usize) {
        if self.lanes_left.fetch_sub(count, SeqCst) == count {
            let _lock = self.ended_lock.lock().expect("nothing panics under it");
            self.ended.notify_all();
        }
    }

    /// Waits until all lanes have ended, at most for `timeout`. Returns whether they have.
    fn wait_for_lanes(&self, timeout: Duration) -> bool {
        let lock = self.ended_lock.lock().expect("nothing panics under it");
        let running = |(): &mut ()| self.lanes_left.load(SeqCst) > 0;
        let (_lock, wait) = self.ended.wait_timeout_while(lock, timeout, running).expect("nothing panics under it");
        !wait.timed_out()
    }
}

/// A running workload.
pub struct Run {
    crew: Arc<Crew>,
    intervals: Mutex<Receiver<Interval>>,
}

/// The result of `next_interval`.
pub enum Next {
    /// An interval ended.
    Interval(Box<Interval>),
    /// No interval ended in time.
    Waiting,
    /// The run is over and every interval was taken.
    Over,
}

impl Run {
    /// Waits for the next interval to end.
    pub fn next_interval(&self, timeout: Duration) -> Next {
        match self.intervals.lock().expect("no reader panics here").recv_timeout(timeout) {
            Ok(interval) => Next::Interval(Box::new(interval)),
            Err(RecvTimeoutError::Timeout) => Next::Waiting,
            Err(RecvTimeoutError::Disconnected) => Next::Over,
        }
    }

    /// Whether all lanes wait for `begin_at`.
    pub fn is_ready(&self) -> bool {
        self.crew.start.is_waited_for()
    }

    /// Lets the lanes of a run that holds them begin at an instant of CLOCK_MONOTONIC; an instant that has passed is now.
    pub fn begin_at(&self, monotonic_ns: u64) {
        let left_ns = monotonic_ns.saturating_sub(monotonic_now_ns());
        self.crew.start.choose(self.crew.clock.now_ns() + left_ns);
    }

    /// When the lanes began, ns of CLOCK_MONOTONIC; None before.
    pub fn begun_ns(&self) -> Option<u64> {
        let ago_ns = self.crew.clock.now_ns().saturating_sub(self.crew.start.begun_ns()?);
        Some(monotonic_now_ns().saturating_sub(ago_ns))
    }

    /// Makes all lanes end after their outstanding requests.
    pub fn stop(&self) {
        self.crew.stop();
    }

    /// Waits until all lanes have ended. Returns false if some have not within `timeout` (their device or server does not
    /// answer).
    pub fn join(&self, timeout: Duration) -> bool {
        self.crew.wait_for_lanes(timeout)
    }

    /// Why the run is weaker than its specification, in words.
    pub fn warning(&self) -> Option<String> {
        self.crew.warning.lock().expect("no lane panics here").clone()
    }

    /// The first failure, in words.
    pub fn failure(&self) -> Option<String> {
        let noted = self.crew.failure.lock().expect("no lane panics here").as_ref().map(ToString::to_string);
        noted.or_else(|| self.ended_by())
    }

    /// The failure that ended the run, in words. None: it went on after each.
    pub fn ended_by(&self) -> Option<String> {
        self.crew.ended_by.lock().expect("no lane panics here").as_ref().map(ToString::to_string)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.stop();
        self.crew.abandon.store(true, SeqCst);
    }
}
