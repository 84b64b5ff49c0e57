//! A query log that is replayed: each statement at its time, those of a recorded connection on one session in their
//! order. Statements of digests have no connection: any session sends them.

mod feeder;
mod job;
mod lane;
mod queues;
mod settings;
mod told;
mod transaction;
mod verbs;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use flatwater_core::workload::query_log::Format;

use crate::Error;
use crate::crew::{Crew, Run};
use crate::database::connection::{Connection, LOGIN, Login};
use crate::database::load::quoted;
use feeder::Feeder;
use job::Job;
pub use job::{COUNTERS, KINDS, QueryLogSpec};
use lane::{Lane, NO_SCHEMA};
use queues::Queues;
pub use told::{Told, mixing, sendable_of, tell};

/// A session needs little stack: its buffers are on the heap.
const LANE_STACK_BYTES: usize = 256 << 10;
/// Schemas of a log that a server is asked for.
const SCHEMAS_MAX: usize = 100;

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

/// Starts the sessions, and whoever reads the log for them.
///
/// # Errors
/// A log that cannot be read; a server that has none of its schemas; too many threads.
pub fn start(replay: Replay, crew: Arc<Crew>) -> Result<Run, Error> {
    let Replay { log, servers, connections, continue_on_error, interval_ms } = replay;
    let unreadable = |what| Error::Workload(format!("{}: {what}", log.log.display()));
    let reader = told::open(&log.log).map_err(unreadable)?;
    let told = tell(&log.log).map_err(unreadable)?;
    require_a_schema(&told.schemas, &servers, &crew).map_err(Error::Workload)?;
    let programs = if told.format == Format::General && log.allow_writes { count_programs(&servers, &crew) } else { 0 };
    // Nobody knows which session sent the statements of digests: the next one goes to whoever is free.
    let shared = told.format == Format::Digests;
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
        length_us: told.length_us,
        reached_us: AtomicU64::new(0),
        unread: Mutex::default(),
        notes: Mutex::default(),
        programs,
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

/// What runs statements of its own there, without those of the server's own schemas; 0 of a server that does not tell.
fn count_programs(servers: &[Login], crew: &Crew) -> u64 {
    let Some(login) = servers.first() else { return 0 };
    let Ok(mut connection) = Connection::open_within(login, crew.abandon_flag(), LOGIN) else { return 0 };
    let mut count = |what: &str, schema: &str| {
        let sql = format!("SELECT 1 FROM information_schema.{what} AND {schema} NOT IN ('mysql', 'sys')");
        connection.query(&sql).map_or(0, |reply| reply.rows)
    };
    count("TRIGGERS WHERE 1", "TRIGGER_SCHEMA")
        + count("ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION'", "ROUTINE_SCHEMA")
        + count("EVENTS WHERE 1", "EVENT_SCHEMA")
}

/// Refuses servers that have none of a log's schemas: all of its statements would fail. One that cannot be asked is for
/// the sessions to tell.
///
/// # Errors
/// Which schemas, in words.
fn require_a_schema(schemas: &BTreeSet<String>, servers: &[Login], crew: &Crew) -> Result<(), String> {
    let Some(first) = schemas.first() else { return Ok(()) };
    for login in servers {
        let Ok(mut connection) = Connection::open_within(login, crew.abandon_flag(), LOGIN) else { continue };
        let lacks = |name: &String| {
            let opened = connection.query(&format!("USE {}", quoted(name)));
            opened.is_err_and(|error| error.is(NO_SCHEMA))
        };
        if schemas.iter().take(SCHEMAS_MAX).all(lacks) {
            let names: Vec<String> = schemas.iter().take(SCHEMAS_MAX).map(|name| format!("`{name}`")).collect();
            return Err(format!(
                "workload.log: its statements are of the schema {}, which the server does not have (hint: \
                 database.schema_name = \"{first}\", or a CREATE DATABASE in workload.setup_file)",
                names.join(" or ")
            ));
        }
    }
    Ok(())
}
