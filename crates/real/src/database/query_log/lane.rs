//! One session of a replay: the statements of its recorded connections, one after the other.

use std::collections::HashMap;

use flatwater_core::workload::query_log::{Entry, STATEMENT_BYTES_MAX, schema_of_use};
use flatwater_core::workload::sql::effect;

use super::job::{Counter, Job, KINDS, kind_of};
use super::queues::Found;
use super::settings::Settings;
use super::transaction::Transaction;
use super::verbs::needs_no_schema;
use crate::Error;
use crate::database::again::Lost;
use crate::database::connection::{Connection, LOGIN, Login, SqlError};
use crate::database::load::quoted;
use crate::database::read_only::make_read_only;
use crate::database::refused;

/// First and longest pause between two attempts to reach a server that is gone.
const RECONNECT_PAUSE_NS: (u64, u64) = (200_000_000, 200_000_000);
/// A statement that begins later than this is late: below it is what timers and schedulers need.
const LATE_NS: u64 = 10_000_000;

/// ER_BAD_DB_ERROR: the schema is not there.
pub(super) const NO_SCHEMA: u16 = 1049;

/// One session.
pub(super) struct Lane<'a> {
    job: &'a Job,
    lane: usize,
    connection: Option<Connection>,
    /// The schema that is open; None: none, or it is not known.
    schema: Option<String>,
    /// Another schema than the login's may be open.
    moved: bool,
    /// The connection was closed with the recorded one whose statements it had sent.
    closed: bool,
    /// The open schema may have been dropped by its own session.
    dropped: bool,
    transaction: Transaction,
    /// The recorded connections whose statements this connection has sent, without those that are over.
    of: Vec<u64>,
    /// The schemas that the USE of recorded connections led to.
    led: HashMap<u64, Option<String>>,
    /// What is set again where its connection is lost.
    settings: Settings,
    begun_ns: u64,
}

impl<'a> Lane<'a> {
    /// Runs a session to the end of the log.
    pub(super) fn run(job: &'a Job, lane: usize) {
        let mut own = Self {
            job,
            lane,
            connection: None,
            schema: None,
            moved: false,
            closed: false,
            dropped: false,
            transaction: Transaction::default(),
            of: Vec::new(),
            led: HashMap::new(),
            settings: Settings::default(),
            begun_ns: 0,
        };
        // A failure ends the run before it begins.
        if let Err(error) = own.connect() {
            job.crew.fail(Error::Workload(format!(
                "session {} of {}: cannot connect: {}",
                lane + 1,
                job.connections,
                refused::with_hint(&error)
            )));
        }
        job.crew.gate.arrive_and_wait();
        own.begun_ns = job.crew.clock.now_ns();
        if own.connection.is_some() {
            own.work();
        }
        job.crew.recorder.flights(lane).close();
    }

    fn login(&self) -> &'a Login {
        &self.job.servers[self.lane % self.job.servers.len()]
    }

    fn connect(&mut self) -> Result<(), SqlError> {
        let login = self.login();
        let mut connection = Connection::open_within(login, self.job.crew.abandon_flag(), LOGIN)?;
        connection.keep_rows(0);
        if !self.job.spec.allow_writes {
            make_read_only(&mut connection)?;
        }
        for sql in self.settings.iter() {
            connection.queue_query(sql);
            match connection.reply() {
                Err(error) if refused::ends_session(&error) => return Err(error),
                // It was set before. Should it not be now, what needs it is refused, too.
                Ok(_) | Err(_) => {}
            }
        }
        connection.wait_at_most(None);
        self.schema.clone_from(&login.schema);
        (self.moved, self.closed, self.dropped) = (false, false, false);
        self.transaction.connect();
        self.connection = Some(connection);
        Ok(())
    }

    fn work(&mut self) {
        let crew = &self.job.crew;
        while !crew.stopping() {
            let queue = if self.job.shared { 0 } else { self.lane };
            let entry = match self.job.queues.take(queue) {
                Found::Entry(entry) => entry,
                Found::Nothing => continue,
                Found::Over if crew.stopping() => break,
                Found::Over => {
                    self.job.tell_end(None);
                    return self.end_interval();
                }
            };
            if entry.ends {
                if !self.wait_for(&entry, false) {
                    break;
                }
                self.close(entry.session);
                continue;
            }
            let is_sent = self.job.spec.allow_writes || effect::reads(&entry.sql);
            if (is_sent && !self.make_ready(&entry)) || !self.wait_for(&entry, is_sent) {
                break;
            }
            if !is_sent {
                self.count(Counter::WritesSkipped, 1);
            } else if !self.send(&entry) {
                break;
            }
        }
        self.job.tell_end(Some(self.log_us()));
    }

    /// Gives a statement the session that its recorded connection had. The connection is made anew where it has the state
    /// of others (an open transaction, locks, settings, temporary tables): not all servers can be asked to forget that, and
    /// with it they would forget the character set of the login. False if the run ended.
    fn make_ready(&mut self, entry: &Entry) -> bool {
        // Nobody knows the connections of digests.
        let has_state = !self.job.shared && self.has_state_of_others(entry);
        // No statement closes a schema.
        let has_schema = self.moved && self.schema_of(entry).is_none();
        let is_lost = self.connection.is_none() && !self.closed;
        if self.closed || has_state {
            self.settings.clear();
            self.transaction = Transaction::default();
        }
        if is_lost || !(self.closed || has_state || has_schema) {
            return true;
        }
        self.connection = None;
        self.transaction = Transaction::default();
        self.reconnect(kind_of(entry), Counter::Resets)
    }

    /// A recorded connection is over, and with it what it has left: others may wait for its locks.
    fn close(&mut self, session: u64) {
        self.led.remove(&session);
        let is_known = self.of.contains(&session);
        self.of.retain(|connection| *connection != session);
        self.job.queues.keep_waiting(&mut self.of);
        // Also where its connection was lost: nothing of it is made anew for another one.
        if is_known && self.of.is_empty() {
            (self.connection, self.closed, self.transaction) = (None, true, Transaction::default());
        }
    }

    /// Whether a statement finds what others have left: those of recorded connections that are over, or of its own before
    /// it was reset. Where one of the others goes on, both share the session.
    fn has_state_of_others(&mut self, entry: &Entry) -> bool {
        let (fresh, known) = (self.of.is_empty(), self.of.contains(&entry.session));
        self.of.retain(|connection| *connection != entry.session);
        if !self.of.is_empty() {
            self.job.queues.keep_waiting(&mut self.of);
        }
        let alone = self.of.is_empty();
        self.of.push(entry.session);
        if !alone {
            self.count(Counter::Mixed, 1);
        }
        alone && !fresh && (!known || entry.anew)
    }

    /// How far into the log it is now, microseconds; 0 where each statement follows the one before at once.
    fn log_us(&self) -> u64 {
        let since_ns = self.job.crew.clock.now_ns().saturating_sub(self.begun_ns);
        (since_ns as f64 / 1000.0 * self.job.spec.speed) as u64
    }

    /// An interval that is shorter than half of its length is not recorded: what was done in the last one stays.
    fn end_interval(&self) {
        let (crew, step_ns) = (&self.job.crew, self.job.interval_ms.max(1) * 1_000_000);
        let since_ns = crew.clock.now_ns().saturating_sub(self.begun_ns);
        let least_ns = since_ns - since_ns % step_ns + step_ns * 6 / 10;
        crew.pause_until(self.begun_ns + least_ns.max(since_ns));
    }

    /// Waits for the moment of a statement; false if the run ended before.
    fn wait_for(&self, entry: &Entry, is_sent: bool) -> bool {
        let (crew, speed) = (&self.job.crew, self.job.spec.speed);
        let since_us = self.job.queues.since_first_us(entry.at_us);
        let mut goes_on = !crew.stopping();
        if speed > 0.0 {
            let due_ns = self.begun_ns.saturating_add((since_us as f64 * 1000.0 / speed) as u64);
            let late_ns = crew.clock.now_ns().saturating_sub(due_ns);
            if is_sent && late_ns > LATE_NS {
                self.count(Counter::Late, 1);
                self.count(Counter::LagMs, late_ns / 1_000_000);
            }
            goes_on = crew.pause_until(due_ns);
        }
        if goes_on {
            self.job.reach(since_us);
        }
        goes_on
    }

    /// Runs a statement; false if the run is over.
    fn send(&mut self, entry: &Entry) -> bool {
        let kind = kind_of(entry);
        if self.connection.is_none() && !self.reconnect(kind, Counter::Reconnects) {
            return false;
        }
        let crew = &self.job.crew;
        let flights = crew.recorder.flights(self.lane);
        let begun_ns = crew.clock.now_ns();
        flights.begin(0, begun_ns);
        let outcome = self.execute(entry);
        flights.end(0);
        let error = match outcome {
            Ok(()) => {
                let latency_ns = crew.clock.now_ns().saturating_sub(begun_ns);
                let mut kinds = crew.recorder.shard(self.lane).lock().expect("no lane panics while it records");
                kinds[kind].finished(0, Some(latency_ns));
                return true;
            }
            Err(SqlError::Abandoned) => return false,
            Err(error) => error,
        };
        self.note_error(kind, &error);
        let is_sent = entry.sql.len() <= STATEMENT_BYTES_MAX;
        let mut is_lost = is_sent && refused::ends_session(&error);
        if !is_lost {
            let connection = &mut self.connection;
            self.transaction.refuse(entry, &error, || match connection.as_mut()?.query("DO 0") {
                Ok(reply) => reply.in_transaction,
                // A program may have ended with its connection (KILL).
                Err(error) => {
                    is_lost = refused::ends_session(&error);
                    None
                }
            });
        }
        if is_lost {
            self.connection = None;
            self.note_setting(&entry.sql); // it is not sent again, but what follows relies on it
            self.transaction.lose(entry);
        }
        let kind = KINDS[kind];
        let text = if self.job.shared {
            format!("{kind} of digest {}: {error}", entry.session)
        } else {
            let log = self.job.spec.log.display();
            format!("{log}:{}: {kind} of recorded connection {}: {error}", entry.line, entry.session)
        };
        if self.job.continue_on_error {
            self.job.crew.note_failure(Error::Workload(text));
            return true;
        }
        self.job.crew.fail(Error::Workload(text));
        false
    }

    /// The schema of a statement: where its connection has sent a USE, the one that this led to.
    fn schema_of(&self, entry: &Entry) -> Option<String> {
        let led = self.led.get(&entry.session).filter(|_| entry.moved).and_then(Option::as_ref);
        led.or(entry.schema.as_ref()).or(self.login().schema.as_ref()).cloned()
    }

    fn execute(&mut self, entry: &Entry) -> Result<(), SqlError> {
        let schema = self.schema_of(entry);
        let Some(connection) = &mut self.connection else { return Err(SqlError::Abandoned) };
        if entry.sql.len() > STATEMENT_BYTES_MAX {
            return Err(SqlError::Server { code: 1153, message: "the statement is longer than 16 MiB".into() });
        }
        if schema.is_some() && (schema != self.schema || self.dropped) {
            let was_open = schema == self.schema;
            // In the wrong schema nothing is run.
            (self.schema, self.moved) = (None, true);
            match connection.query(&format!("USE {}", quoted(schema.as_deref().unwrap_or_default()))) {
                // It was dropped, and none is open since, as none was when this was recorded.
                Err(error) if was_open && error.is(NO_SCHEMA) => self.schema.clone_from(&schema),
                // A transaction has the same begin and end in every schema, or in none.
                Err(error)
                    if (error.is(NO_SCHEMA) || error.is(refused::SCHEMA_DENIED)) && needs_no_schema(&entry.sql) => {}
                Err(error) => return Err(error),
                Ok(_) => {
                    self.dropped = false;
                    self.schema.clone_from(&schema);
                }
            }
        }
        // What is left of its transaction must not be committed statement by statement: a ROLLBACK may be its end. After
        // some deadlocks a part of it is still open, which BEGIN would commit.
        if self.transaction.lacks_begin(entry.session) {
            match connection.query("ROLLBACK") {
                Ok(_) => _ = connection.query(self.transaction.begin())?,
                // It is a distributed one (XA), whose own statements end it.
                Err(error) if !refused::ends_session(&error) => {}
                Err(error) => return Err(error),
            }
            self.transaction.begin_again(entry.session);
        }
        let Some(sql) = self.transaction.instead_of(entry) else { return Ok(()) };
        connection.queue_query(sql);
        let reply = connection.reply();
        self.transaction.note(sql, &reply);
        self.count(Counter::Queries, 1);
        if reply.is_ok() {
            self.note_setting(&entry.sql);
        }
        if let Some(opened) = schema_of_use(&entry.sql) {
            // One that failed leaves the schema as it was: a connection without one is not made anew in a transaction.
            if reply.is_ok() {
                (self.schema, self.moved) = (None, true);
            }
            let led = if reply.is_ok() { Some(opened) } else { schema };
            self.led.insert(entry.session, led);
        }
        // A schema that is dropped and made again has to be opened again.
        self.dropped |= reply.is_ok() && effect::verb(&entry.sql) == "DROP";
        reply.map(drop)
    }

    fn note_setting(&mut self, sql: &[u8]) {
        if !self.job.shared {
            self.settings.note(sql);
        }
    }

    /// Connects, and counts it; false if the run ended before.
    fn reconnect(&mut self, kind: usize, counter: Counter) -> bool {
        let lost = Lost {
            crew: &self.job.crew,
            lane: self.lane,
            kind,
            reconnects: counter as usize,
            connect_failures: Counter::ConnectFailures as usize,
            pauses_ns: RECONNECT_PAUSE_NS,
        };
        lost.connect_again(false, || self.connect())
    }

    fn note_error(&self, kind: usize, error: &SqlError) {
        self.job.crew.recorder.count_error(self.lane, kind, error.number());
    }

    fn count(&self, counter: Counter, by: u64) {
        self.job.crew.recorder.count(counter as usize, by);
    }
}
