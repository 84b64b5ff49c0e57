//! One connection of a run: its closed or open loop of transactions.

use flatwater_core::seed::stream;
use flatwater_core::workload::arrival::{Arrivals, period_ns};

use super::job::{COUNTERS, Counter, Job};
use crate::Error;
use crate::database::again::Lost;
use crate::database::connection::{Connection, LOGIN, Login, SqlError};
use crate::database::refused;
use crate::database::terminal::{Outcome, Terminal};

/// Attempts at one transaction before it counts as failed: as many as tpcc-mysql makes.
const ATTEMPTS_MAX: u32 = 2000;
/// First and longest pause between two attempts to reach a server that is gone.
const RECONNECT_PAUSE_NS: (u64, u64) = (10_000_000, 1_000_000_000);

/// A client that is woken by a reply takes the CPU from whoever has it, and on a busy machine that is the server at its
/// next statement: as a batch thread it waits its turn. Measured with 8 connections on 2 cores that the server filled:
/// 0.25x to 0.4x the client's CPU time with statements back to back, 0.5x to 0.8x one by one, at no less throughput. On
/// an idle core nothing changes.
///
/// It would wait for the neighbours' turns too: beside a program that computes on each core, over TCP, that was 0.93x
/// the queries a second of sysbench, and 1.2x as an ordinary thread. So lanes yield only where nobody else is busy.
fn yield_to_servers() {
    // SAFETY: plain system call about this thread alone, with a struct that we own. A refusal leaves all as it was.
    unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters);
    }
}

/// How a transaction ended.
enum End {
    /// Well.
    Done,
    /// The server refused it, which was counted.
    Failed,
    /// Not at all: the run is over.
    Gone,
}

/// One connection's loop.
pub(super) struct Lane<'a> {
    job: &'a Job,
    lane: usize,
    /// Its number among the sessions of all hosts.
    session: usize,
    terminal: Box<dyn Terminal>,
    connection: Option<Connection>,
    /// Statements of this connection that were counted.
    counted: u64,
    /// Transactions of this connection that have ended.
    served: u64,
}

impl<'a> Lane<'a> {
    /// Runs a connection to its end.
    pub(super) fn run(job: &'a Job, lane: usize, terminal: Box<dyn Terminal>) {
        if job.yields {
            yield_to_servers();
        }
        let session = job.spec.sessions().number(lane);
        let mut own = Self { job, lane, session, terminal, connection: None, counted: 0, served: 0 };
        // A failure ends the run before it begins: whoever chooses when it begins learns it in time.
        if let Err(error) = own.connect() {
            job.crew.fail(own.explain("cannot connect", &error));
        }
        job.crew.gate.arrive_and_wait();
        if own.connection.is_some() {
            own.work();
        }
        job.crew.recorder.flights(lane).close();
    }

    fn login(&self) -> &Login {
        &self.job.spec.servers[self.session % self.job.spec.servers.len()]
    }

    fn connect(&mut self) -> Result<(), SqlError> {
        // A server that is frozen now would let everyone wait at the gate; frozen later, it is a stall in the record.
        let mut connection = Connection::open_within(self.login(), self.job.crew.abandon_flag(), LOGIN)?;
        self.terminal.attach(&mut connection)?;
        connection.wait_at_most(None);
        self.counted = connection.statements();
        self.served = 0;
        self.connection = Some(connection);
        Ok(())
    }

    /// After a transaction: closes the connection and makes the next one, where it has served its transactions. False:
    /// the run is over.
    fn renew(&mut self) -> bool {
        let (crew, spec) = (&self.job.crew, &self.job.spec);
        self.served += 1;
        if spec.reconnect_every == 0 || self.served < spec.reconnect_every || crew.stopping() {
            return true;
        }
        // Planned reconnects are the last of the kinds.
        let (kind, started_ns) = (self.job.kinds.len() - 1, crew.clock.now_ns());
        // Closed before the next one is asked for: a client has one connection at a time.
        self.connection = None;
        crew.recorder.flights(self.lane).begin(0, started_ns);
        let connected = match self.connect() {
            Ok(()) => true,
            Err(SqlError::Abandoned) => false,
            Err(error) => {
                self.note_error(kind, &error);
                self.count(Counter::ConnectFailures, 1);
                // A server that goes is an outage, as if a transaction had found it. One that stays refuses us.
                let refuses = match error {
                    SqlError::Server { code, .. } => code != refused::SHUTDOWN,
                    SqlError::Handshake(_) => true,
                    _ => false,
                };
                let text = self.explain("cannot connect again", &error);
                match (refuses, spec.continue_on_error) {
                    (true, false) => crew.fail(text),
                    (true, true) => crew.note_failure(text),
                    (false, _) => {}
                }
                (!refuses || spec.continue_on_error) && self.reconnect(kind, true)
            }
        };
        crew.recorder.flights(self.lane).end(0);
        if connected {
            self.record(kind, crew.clock.now_ns().saturating_sub(started_ns));
        }
        connected
    }

    fn work(&mut self) {
        let (crew, spec) = (&self.job.crew, &self.job.spec);
        let sessions = spec.sessions().of;
        let period_ns = period_ns(sessions, spec.rate_per_s);
        let share = self.session as f64 / f64::from(sessions);
        let rng = stream(spec.seed, "arrivals", self.session as u64);
        let mut arrivals = Arrivals::new(period_ns, spec.poisson, share, crew.clock.now_ns(), rng);
        let flights = crew.recorder.flights(self.lane);
        while !crew.stopping() {
            let choice = self.terminal.choose();
            if choice.keying_ns > 0 && !crew.pause_until(crew.clock.now_ns() + choice.keying_ns) {
                return;
            }
            let started_ns = match &mut arrivals {
                Some(arrivals) => {
                    flights.intend(arrivals.next_ns());
                    if !crew.pause_until(arrivals.next_ns()) {
                        return;
                    }
                    let intended_ns = arrivals.take();
                    flights.begin(0, intended_ns);
                    flights.intend(arrivals.next_ns());
                    intended_ns
                }
                None => {
                    let now_ns = crew.clock.now_ns();
                    flights.begin(0, now_ns);
                    now_ns
                }
            };
            let end = self.transact(choice.kind);
            let ended_ns = crew.clock.now_ns();
            flights.end(0);
            match end {
                End::Done => self.record(choice.kind, ended_ns.saturating_sub(started_ns)),
                End::Failed => {}
                End::Gone => return,
            }
            if !self.renew() {
                return;
            }
            if choice.think_ns > 0 && !crew.pause_until(ended_ns + choice.think_ns) {
                return;
            }
        }
    }

    fn record(&self, kind: usize, latency_ns: u64) {
        let recorder = &self.job.crew.recorder;
        let mut kinds = recorder.shard(self.lane).lock().expect("no lane panics while it records");
        kinds[kind].operations += 1;
        kinds[kind].latency.record_ns(latency_ns);
        drop(kinds);
        let instances = self.job.spec.servers.len();
        let name = self.job.kinds[kind].name;
        if instances > 1 && self.job.spec.counted.as_deref().is_none_or(|counted| counted == name) {
            recorder.count(COUNTERS.len() + self.session % instances, 1);
        }
    }

    /// Runs the chosen transaction until it is done, whatever it takes: deadlocks are tried again, a lost connection is
    /// made anew.
    fn transact(&mut self, kind: usize) -> End {
        for _ in 0..ATTEMPTS_MAX {
            if self.connection.is_none() && !self.reconnect(kind, false) {
                return End::Gone;
            }
            let Some(connection) = &mut self.connection else { return End::Gone };
            let outcome = self.terminal.attempt(connection);
            let statements = connection.statements();
            let committing = connection.take_committing();
            self.count(Counter::Queries, statements - self.counted);
            self.count(Counter::CommitUs, committing.as_micros() as u64);
            self.counted = statements;
            let error = match outcome {
                Ok(Outcome::Committed) => return End::Done,
                Ok(Outcome::RolledBack) => {
                    self.count(Counter::Rollbacks, 1);
                    return End::Done;
                }
                Ok(Outcome::Conflict) => {
                    self.count(Counter::Conflicts, 1);
                    continue;
                }
                Err(error) => error,
            };
            let again = match &error {
                SqlError::Abandoned => return End::Gone,
                SqlError::Server { code: refused::DEADLOCK | refused::ROW_CHANGED, .. } => {
                    self.count(Counter::Deadlocks, 1);
                    true
                }
                SqlError::Server { code: refused::LOCK_WAIT_TIMEOUT, .. } => {
                    self.count(Counter::LockTimeouts, 1);
                    true
                }
                // What it says is not understood: nobody knows where its next answer begins.
                SqlError::Protocol(_) | SqlError::Server { code: refused::PACKET_TOO_LARGE, .. } => {
                    self.connection = None;
                    false
                }
                SqlError::Lost(_) | SqlError::Server { .. } if refused::ends_session(&error) => {
                    self.connection = None;
                    self.note_error(kind, &error);
                    true
                }
                _ => false,
            };
            // What a lost connection had begun, its server rolls back by itself.
            if let Some(connection) = &mut self.connection
                && connection.finish().and_then(|()| connection.query("ROLLBACK")).is_err()
            {
                self.connection = None;
            }
            if !again {
                return self.refused(kind, &error);
            }
        }
        self.refused(kind, &SqlError::Protocol(format!("the transaction was not done after {ATTEMPTS_MAX} attempts")))
    }

    /// A transaction that failed for good.
    fn refused(&mut self, kind: usize, error: &SqlError) -> End {
        self.note_error(kind, error);
        let text = self.explain(self.job.kinds[kind].name, error);
        if self.job.spec.continue_on_error {
            self.job.crew.note_failure(text);
            return End::Failed;
        }
        self.job.crew.fail(text);
        End::Gone
    }

    fn note_error(&self, kind: usize, error: &SqlError) {
        self.job.crew.recorder.count_error(self.lane, kind, error.number());
    }

    fn count(&self, counter: Counter, by: u64) {
        self.job.crew.recorder.count(counter as usize, by);
    }

    /// Connects again, at once unless the server has just `refused`; false when the run ended before.
    fn reconnect(&mut self, kind: usize, refused: bool) -> bool {
        let lost = Lost {
            crew: &self.job.crew,
            lane: self.lane,
            kind,
            reconnects: Counter::Reconnects as usize,
            connect_failures: Counter::ConnectFailures as usize,
            pauses_ns: RECONNECT_PAUSE_NS,
        };
        lost.connect_again(refused, || self.connect())
    }

    /// A failure with its place and what to do.
    fn explain(&self, what: &str, error: &SqlError) -> Error {
        let place = format!("connection {} of {}", self.session + 1, self.job.spec.sessions().of);
        Error::Workload(format!("{place}: {what}: {}", refused::with_hint(error)))
    }
}
