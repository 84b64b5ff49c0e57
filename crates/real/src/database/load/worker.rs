//! The threads of a load.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use super::marks::{self, Done, Refused, quoted};
use super::plan::{Next, Plan, Task};
use super::row::{Form, Row};
use super::{Chunk, Job};
use crate::database::connection::{Connection, Login, SqlError};

/// Text that is sent at a time with LOAD DATA: large against a system call, small against a processor's cache.
const SEND_BYTES: usize = 128 << 10;
/// Text of one INSERT, about, where the server takes so much.
const INSERT_BYTES: usize = 1 << 20;
/// Bytes of a packet that are not the statement's: its command and what servers count with it.
const PACKET_SPARE_BYTES: usize = 64;
/// How long a wait for other threads lasts before it is looked whether the load goes on.
const LOOK_UP: Duration = Duration::from_millis(100);
/// Attempts at one chunk or statement when others are in its way.
const ATTEMPTS: u32 = 5;

/// Error numbers of MySQL and MariaDB.
mod refused {
    /// LOAD DATA LOCAL is not allowed: ER_NOT_ALLOWED_COMMAND, ER_CLIENT_LOCAL_FILES_DISABLED (MySQL 8), its MariaDB
    /// counterpart, and the client libraries' own number.
    pub const LOCAL_FILES: [u16; 4] = [1148, 3948, 4166, 2068];
    /// Deadlock, and lock wait timeout.
    pub const IN_THE_WAY: [u16; 2] = [1213, 1205];
    /// Table exists; duplicate key name; duplicate constraint name.
    pub const EXISTS: [u16; 3] = [1050, 1061, 1826];
    /// "Can't create table": also what MariaDB says to a foreign key whose name is there (errno 121).
    pub const CANNOT_CREATE: u16 = 1005;
    /// Disk full, in the server's and the storage engine's words (1878: of the files that an index is sorted in).
    pub const FULL: [u16; 4] = [1021, 1114, 1026, 1878];
    /// Access denied to a schema, to an account, to a privilege.
    pub const DENIED: [u16; 4] = [1044, 1045, 1142, 1227];
    /// Too many connections.
    pub const TOO_MANY_CONNECTIONS: [u16; 2] = [1040, 1203];
}

/// What failed, and what it was at.
struct Failure {
    what: String,
    error: SqlError,
}

impl Failure {
    fn at(what: impl Into<String>) -> impl FnOnce(SqlError) -> Self {
        let what = what.into();
        move |error| Self { what, error }
    }
}

/// Does the whole load.
pub fn load(job: &Job) {
    if let Err(failure) = run(job) {
        note(job, &failure);
    }
}

/// Keeps the first failure and stops everyone.
fn note(job: &Job, failure: &Failure) {
    // Connections that were given up because of a stop are no failure of their own.
    if !(matches!(failure.error, SqlError::Abandoned) && job.stop.load(SeqCst)) {
        let text = explain(job, failure);
        job.failure.lock().expect("no thread panics here").get_or_insert(text);
    }
    job.stop.store(true, SeqCst);
}

fn explain(job: &Job, Failure { what, error }: &Failure) -> String {
    let address = &job.spec.login.address;
    let hint = match error {
        SqlError::Server { code, .. } if refused::FULL.contains(code) => {
            " (hint: make room on the server's disk and load again: it goes on where it stopped)"
        }
        SqlError::Server { code, .. } if refused::DENIED.contains(code) => " (hint: grant the account the schema)",
        SqlError::Server { code, .. } if refused::TOO_MANY_CONNECTIONS.contains(code) => {
            " (hint: fewer threads, or a larger max_connections of the server)"
        }
        SqlError::Lost(_) => " (hint: when the server is there again, load again: it goes on where it stopped)",
        _ => "",
    };
    format!("loading schema {} on {address}: {what}: {error}{hint}", job.schema)
}

fn run(job: &Job) -> Result<(), Failure> {
    let login = Login { schema: None, ..job.spec.login.clone() };
    let mut control = Connection::open(&login, job.stop.clone()).map_err(Failure::at("cannot connect"))?;
    control
        .query("SET SESSION autocommit = 1, sql_mode = 'STRICT_TRANS_TABLES'")
        .map_err(Failure::at("cannot set up the session"))?;
    let done = match marks::claim(&mut control, &job.schema, &job.spec.dataset.description()) {
        Ok(done) => done,
        Err(Refused::Server(error)) => return Err(Failure { what: "cannot take the schema".into(), error }),
        Err(Refused::Because(why)) => {
            job.failure.lock().expect("no thread panics here").get_or_insert(why);
            job.stop.store(true, SeqCst);
            return Ok(());
        }
    };
    if marks::is_complete(&done) {
        job.done_rows.store(job.chunks.iter().map(|chunk| chunk.rows).sum(), SeqCst);
        job.indexes.store(true, SeqCst);
        return Ok(());
    }
    for sql in job.dataset.create() {
        match control.query(&sql) {
            Ok(_) => {}
            Err(error) if exists(&error) => {}
            Err(error) => return Err(Failure { what: "cannot make the tables".into(), error }),
        }
    }
    fill(job, &done);
    if job.stop.load(SeqCst) {
        return Ok(());
    }
    marks::complete(&mut control).map_err(Failure::at("cannot mark the schema as complete"))
}

/// A statement by its first words: `ALTER TABLE order_line`.
fn beginning(sql: &str) -> String {
    sql.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// The step that is the statements after the rows.
const FINISH: &str = "finish";
/// Parts of that step that belong to one list of statements: none is so long.
const FINISH_PARTS: u64 = 1000;

/// What the threads of `fill` share.
struct Filling<'a> {
    job: &'a Job,
    done: &'a Done,
    lists: Vec<Vec<String>>,
    plan: Mutex<Plan>,
    /// Something was done.
    progress: Condvar,
}

/// Loads the rows and does what follows them, with as many sessions as the load has threads.
fn fill(job: &Job, done: &Done) {
    let is_done = |chunk: &Chunk| done.contains(&(marks::rows_step(&chunk.table), chunk.part));
    job.done_rows.store(job.chunks.iter().filter(|chunk| is_done(chunk)).map(|chunk| chunk.rows).sum(), SeqCst);
    let left = job.chunks.iter().enumerate().filter(|(_, chunk)| !is_done(chunk));
    let lists = job.dataset.finish();
    let waits = (0..lists.len()).map(|list| job.dataset.finishes(list));
    let plan = Plan::new(left.map(|(index, chunk)| (index, chunk.table.as_str())), waits);
    job.indexes.store(plan.has_rows(), SeqCst);
    let filling = Filling { job, done, lists, plan: Mutex::new(plan), progress: Condvar::new() };
    thread::scope(|scope| {
        for _ in 0..job.spec.threads.max(1) {
            scope.spawn(|| {
                if let Err(failure) = filling.work() {
                    note(job, &failure);
                }
                // Those who wait for this thread's work must not wait for ever.
                filling.progress.notify_all();
            });
        }
    });
}

impl Filling<'_> {
    fn work(&self) -> Result<(), Failure> {
        let mut session = None;
        while let Some(task) = self.next() {
            let session = match &mut session {
                Some(session) => session,
                none => none.insert(Session::open(self.job).map_err(Failure::at("cannot connect"))?),
            };
            match task {
                Task::Rows(index) => self.load(session, &self.job.chunks[index])?,
                Task::Finish(list) => self.finish(session, list)?,
            }
        }
        Ok(())
    }

    fn next(&self) -> Option<Task> {
        let mut plan = self.plan.lock().expect("no thread panics here");
        loop {
            if self.job.stop.load(SeqCst) {
                return None;
            }
            match plan.take() {
                Next::Do(task) => return Some(task),
                Next::End => return None,
                Next::Wait => {
                    let waited = self.progress.wait_timeout(plan, LOOK_UP).expect("no thread panics here");
                    plan = waited.0;
                }
            }
        }
    }

    fn load(&self, session: &mut Session, chunk: &Chunk) -> Result<(), Failure> {
        let loaded = session.load(self.job, chunk);
        loaded.map_err(Failure::at(format!("part {} of table {}", chunk.part, chunk.table)))?;
        self.job.done_rows.fetch_add(chunk.rows, SeqCst);
        let mut plan = self.plan.lock().expect("no thread panics here");
        plan.done(&chunk.table);
        self.job.indexes.store(plan.has_rows(), SeqCst);
        self.progress.notify_all();
        Ok(())
    }

    fn finish(&self, session: &mut Session, list: usize) -> Result<(), Failure> {
        for (sql, place) in self.lists[list].iter().zip(0..) {
            let part = list as u64 * FINISH_PARTS + place;
            if !self.done.contains(&(FINISH.to_owned(), part)) {
                session.change(sql, part).map_err(Failure::at(beginning(sql)))?;
            }
        }
        Ok(())
    }
}

/// Whether what was to be made is there: an earlier load was killed between making and marking it.
fn exists(error: &SqlError) -> bool {
    match error {
        SqlError::Server { code, message } => {
            refused::EXISTS.contains(code) || *code == refused::CANNOT_CREATE && message.contains("errno: 121")
        }
        _ => false,
    }
}

fn in_the_way(error: &SqlError) -> bool {
    matches!(error, SqlError::Server { code, .. } if refused::IN_THE_WAY.contains(code))
}

/// One thread's session.
struct Session {
    connection: Connection,
    line: Row,
    tuple: Row,
    /// The longest INSERT.
    insert_bytes: usize,
}

impl Session {
    fn open(job: &Job) -> Result<Self, SqlError> {
        let mut connection = Connection::open(&job.spec.login, job.stop.clone())?;
        // With both checks off, MariaDB's first transaction into an empty table locks it and sorts its rows by itself:
        // measured on 10.11, that costs twice the CPU of rows that come in the order of the primary key.
        connection.query(
            "SET SESSION autocommit = 0, foreign_key_checks = 0, unique_checks = 1, sql_mode = 'STRICT_TRANS_TABLES'",
        )?;
        // Generated rows have no place in a binary log. Not every account may say so.
        match connection.query("SET SESSION sql_log_bin = 0") {
            Ok(_) | Err(SqlError::Server { .. }) => {}
            Err(error) => return Err(error),
        }
        connection.query("SELECT @@max_allowed_packet, @@local_infile")?;
        let rows = connection.rows();
        let max_packet = rows.int(0, 0).and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(INSERT_BYTES);
        if rows.int(0, 1) == Some(0) {
            job.bulk.store(false, SeqCst);
        }
        Ok(Self {
            connection,
            line: Row::new(Form::Line),
            tuple: Row::new(Form::Tuple),
            insert_bytes: INSERT_BYTES.min(max_packet.saturating_sub(PACKET_SPARE_BYTES)),
        })
    }

    /// Loads a chunk and its mark in one transaction.
    fn load(&mut self, job: &Job, chunk: &Chunk) -> Result<(), SqlError> {
        let mut attempt = 0;
        loop {
            let sent = if job.bulk.load(SeqCst) { self.send_lines(job, chunk) } else { self.send_tuples(job, chunk) };
            let committed = sent.and_then(|()| {
                marks::mark(&mut self.connection, &marks::rows_step(&chunk.table), chunk.part, None)?;
                self.connection.query("COMMIT")
            });
            let Err(error) = committed else { return Ok(()) };
            attempt += 1;
            match &error {
                SqlError::Server { code, .. } if refused::LOCAL_FILES.contains(code) && job.spec.bulk => {
                    job.bulk.store(false, SeqCst);
                }
                error if in_the_way(error) && attempt < ATTEMPTS => {}
                _ => return Err(error),
            }
            self.connection.query("ROLLBACK")?;
        }
    }

    fn send_lines(&mut self, job: &Job, chunk: &Chunk) -> Result<(), SqlError> {
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'flatwater' INTO TABLE {} CHARACTER SET binary FIELDS TERMINATED BY '\\t' \
             ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({})",
            quoted(&chunk.table),
            chunk.columns
        );
        let mut rows = job.dataset.rows(chunk);
        let line = &mut self.line;
        let mut sent = 0;
        let mut fill = |buffer: &mut Vec<u8>| {
            // Rows are built where they are sent from.
            std::mem::swap(buffer, line.buffer());
            let more = loop {
                line.begin();
                if !rows.next(line) {
                    break false;
                }
                line.end();
                sent += 1;
                if line.buffer().len() >= SEND_BYTES {
                    break !job.stop.load(SeqCst);
                }
            };
            std::mem::swap(buffer, line.buffer());
            more
        };
        let reply = self.connection.load_data(&sql, &mut fill)?;
        if job.stop.load(SeqCst) {
            // The data may have been cut short: it must not be committed.
            return Err(SqlError::Abandoned);
        }
        // LOCAL makes errors of single rows into warnings.
        if reply.rows == sent && reply.warnings == 0 {
            return Ok(());
        }
        Err(self.complaint(sent, reply.rows, reply.warnings))
    }

    /// What the server had against rows that it left out or changed.
    fn complaint(&mut self, sent: u64, loaded: u64, warnings: u16) -> SqlError {
        let told = match self.connection.query("SHOW WARNINGS LIMIT 1") {
            Ok(_) => self.connection.rows().bytes(0, 2).map(|text| String::from_utf8_lossy(text).into_owned()),
            Err(error) => return error,
        };
        SqlError::Protocol(format!(
            "of {sent} rows the server took {loaded}, with {warnings} warnings: {}",
            told.unwrap_or_default()
        ))
    }

    fn send_tuples(&mut self, job: &Job, chunk: &Chunk) -> Result<(), SqlError> {
        let head = format!("INSERT INTO {} ({}) VALUES ", quoted(&chunk.table), chunk.columns);
        let mut rows = job.dataset.rows(chunk);
        let tuple = &mut self.tuple;
        tuple.buffer().clear();
        tuple.buffer().extend_from_slice(head.as_bytes());
        loop {
            let before = tuple.buffer().len();
            tuple.begin();
            let more = rows.next(tuple);
            if more {
                tuple.end();
            } else {
                tuple.buffer().truncate(before);
            }
            let text = tuple.buffer();
            // A statement that the last row made too long goes without it.
            if before > head.len() && (!more || text.len() - 1 > self.insert_bytes) {
                self.connection.queue_query(&text[..before - 1]);
                self.connection.reply()?;
                text.drain(head.len()..before);
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Runs a statement that commits by itself, and marks it.
    fn change(&mut self, sql: &str, part: u64) -> Result<(), SqlError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.connection.query(sql) {
                Ok(_) => break,
                Err(error) if exists(&error) => break,
                Err(error) if in_the_way(&error) && attempt < ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
        marks::mark(&mut self.connection, FINISH, part, Some(sql))?;
        self.connection.query("COMMIT").map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_already_is_no_error() {
        let server = |code, message: &str| SqlError::Server { code, message: message.into() };
        assert!(exists(&server(1061, "Duplicate key name 'idx_orders'")));
        assert!(exists(&server(1005, "Can't create table `a`.`b` (errno: 121 \"Duplicate key on write or update\")")));
        assert!(!exists(&server(1005, "Can't create table `a`.`b` (errno: 150 \"Foreign key constraint is wrong\")")));
        assert!(!exists(&SqlError::Abandoned));
        assert!(in_the_way(&server(1213, "Deadlock")) && !in_the_way(&server(1062, "Duplicate entry")));
    }
}
