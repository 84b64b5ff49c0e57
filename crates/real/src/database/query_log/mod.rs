//! A query log that is replayed: each statement at its time, those of a recorded connection on one session in their
//! order. Statements of digests have no connection: any session sends them.

mod feeder;
mod job;
mod lane;
mod queues;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use flatwater_core::workload::query_log::{Format, Forms, Reader, Sendable, is_digests};

use crate::Error;
use crate::crew::{Crew, Run};
use crate::database::connection::Login;
use feeder::Feeder;
use job::Job;
pub use job::{COUNTERS, KINDS, QueryLogSpec};
use lane::Lane;
use queues::Queues;

/// A session needs little stack: its buffers are on the heap.
const LANE_STACK_BYTES: usize = 256 << 10;

/// Who replays a log where.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The log.
    pub log: QueryLogSpec,
    /// The servers: sessions are dealt to them in turn.
    pub servers: Vec<Login>,
    /// Sessions on all servers together.
    pub connections: u32,
    /// Count what the server refuses and go on, instead of ending the run at the first.
    pub continue_on_error: bool,
    /// Length of an interval, ms.
    pub interval_ms: u64,
}

/// Which log a file is, by its first entry.
///
/// # Errors
/// What the system says; that it is no query log, or has no statement that can be sent.
pub fn format_of(path: &Path) -> Result<Format, String> {
    if let Some(forms) = forms_of(path)? {
        let told = forms.sendable();
        return match (told.samples, told.sent.count) {
            (false, _) => Err("it was observed without samples of statements".into()),
            (true, 0) => Err("none of its statements has a sample that can be sent".into()),
            (true, _) => Ok(Format::Digests),
        };
    }
    let mut reader = open(path)?;
    match reader.next_entry()? {
        Some(_) => reader.format().ok_or_else(|| "it is no query log".into()),
        None => Err("there is no statement in it".into()),
    }
}

/// What of a record of digests can be sent; None of another log.
///
/// # Errors
/// What the system says.
pub fn sendable_of(path: &Path) -> Result<Option<Sendable>, String> {
    Ok(forms_of(path)?.map(|forms| forms.sendable()))
}

fn forms_of(path: &Path) -> Result<Option<Forms>, String> {
    let mut source = source(path)?;
    let begins = source.fill_buf().map_err(|error| error.to_string())?;
    if is_digests(begins) { Forms::gather(source).map(Some) } else { Ok(None) }
}

fn source(path: &Path) -> Result<BufReader<File>, String> {
    Ok(BufReader::with_capacity(1 << 20, File::open(path).map_err(|error| error.to_string())?))
}

fn open(path: &Path) -> Result<Reader<BufReader<File>>, String> {
    let source = source(path)?;
    Ok(match forms_of(path)? {
        Some(forms) => Reader::of_digests(source, forms),
        None => Reader::new(source),
    })
}

/// Starts the sessions, and whoever reads the log for them.
///
/// # Errors
/// A log that cannot be read; too many threads.
pub fn start(replay: Replay, crew: Arc<Crew>) -> Result<Run, Error> {
    let Replay { log, servers, connections, continue_on_error, interval_ms } = replay;
    let reader = open(&log.log).map_err(|what| Error::Workload(format!("{}: {what}", log.log.display())))?;
    // Nobody knows which session sent the statements of digests: the next one goes to whoever is free.
    let shared = reader.format() == Some(Format::Digests);
    let queues = Queues::new(if shared { 1 } else { connections as usize });
    let crew_of_all = crew.clone();
    let job = Arc::new(Job {
        spec: log,
        servers,
        connections,
        shared,
        continue_on_error,
        interval_ms,
        queues,
        crew: crew_of_all,
    });
    let feeding = job.clone();
    std::thread::Builder::new()
        .name("query-log".into())
        .spawn(move || Feeder::new(&feeding, reader).feed())
        .map_err(|source| Error::Engine { engine: "threads", source, hint: " (hint: raise ulimit -u)" })?;
    let hint = " (hint: fewer workload.connections, or raise ulimit -u)";
    let lanes = vec![(); connections as usize];
    crew.start(lanes, LANE_STACK_BYTES, interval_ms, false, hint, move |lane, ()| Lane::run(&job, lane))
}
