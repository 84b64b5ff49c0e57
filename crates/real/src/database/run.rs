//! Running a workload on servers: one thread and one session a connection, in a closed or open loop.

mod job;
mod lane;
mod neighbours;
mod spec;

use std::sync::Arc;

use flatwater_core::interval::{Flights, Recorder};
use flatwater_core::workload::arrival::period_ns;

use super::connection::{Connection, LOGIN};
use super::query_log;
use crate::Error;
use crate::crew::{Crew, Run};
use job::{COUNTERS, Job};
use lane::Lane;
pub use spec::{Spec, Workload};

/// A session needs little stack: its buffers are on the heap, and there may be 10,000.
const LANE_STACK_BYTES: usize = 256 << 10;
/// Checks the data, starts all connections, and with them the workload.
///
/// # Errors
/// A server that cannot be reached, data that is not there; too many threads. A connection that is refused later is
/// the run's failure.
pub fn start(spec: Spec) -> Result<Run, Error> {
    allow_files(u64::from(spec.connections));
    let kinds = spec.reported_kinds();
    let own = if let Workload::QueryLog(_) = spec.workload { &query_log::COUNTERS[..] } else { &COUNTERS[..] };
    let mut counters: Vec<String> = own.iter().map(ToString::to_string).collect();
    if spec.servers.len() > 1 {
        counters.extend((0..spec.servers.len()).map(|instance| format!("instance{instance}_operations")));
    }
    let sessions = spec.sessions();
    let period_ns = period_ns(sessions.of, spec.rate_per_s);
    let flights = (0..spec.connections).map(|_| Flights::new(1, period_ns as u64)).collect();
    let crew = Arc::new(Crew::new(Recorder::new(kinds, counters, flights), spec.connections));
    if let Workload::QueryLog(log) = &spec.workload {
        let Spec { connections, continue_on_error, interval_ms, .. } = spec;
        let (log, servers) = (log.clone(), spec.servers);
        let replay = query_log::Replay { log, servers, connections, continue_on_error, interval_ms };
        return query_log::start(replay, crew);
    }
    let mut ready = Vec::new();
    for login in &spec.servers {
        let mut connection = Connection::open_within(login, crew.abandon_flag(), LOGIN)
            .map_err(|error| Error::Workload(error.to_string()))?;
        ready.push(spec.workload.open(&mut connection).map_err(Error::Workload)?);
    }
    // Each instance has terminals of its own, numbered from 0: its data are a whole workload's.
    let instances = spec.servers.len();
    let terminals: Vec<_> = (0..spec.connections as usize)
        .map(|lane| {
            let session = sessions.number(lane);
            let of = (sessions.of as usize - session % instances).div_ceil(instances);
            let seed = spec.seed.wrapping_add((session % instances) as u64);
            ready[session % instances].terminal((session / instances) as u64, of as u64, seed)
        })
        .collect();
    drop(ready);
    let (interval_ms, hold) = (spec.interval_ms, spec.part.is_some());
    let job = Job { spec, kinds, crew: crew.clone(), yields: !neighbours::are_busy() };
    let hint = " (hint: fewer workload.connections, or raise ulimit -u)";
    crew.start(terminals, LANE_STACK_BYTES, interval_ms, hold, hint, move |lane, terminal| {
        Lane::run(&job, lane, terminal)
    })
}

/// Raises this process's limit on open files, as far as it may, to hold so many sockets.
fn allow_files(connections: u64) {
    /// The process's own files beside them.
    const OTHERS: u64 = 256;
    // SAFETY: plain system calls on a struct that we own.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 && limit.rlim_cur < connections + OTHERS {
            limit.rlim_cur = (connections + OTHERS).min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
