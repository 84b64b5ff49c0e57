//! Filling a schema: chunks of rows in parallel, each in one transaction with the mark that it is done, then indexes.
//!
//! Whatever ends a load (a signal, a lost connection, a full disk), the next one of the same data set goes on where it
//! stopped: no row is missing, none is there twice.

mod dataset;
mod failure;
mod fill;
mod job;
mod marks;
mod plan;
mod refusal;
mod row;
mod script;
mod session;
mod setup;
mod spec;
mod statements;
mod worker;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

pub use dataset::{Chunk, Dataset, Rows};
use job::Job;
pub(super) use marks::{quoted, require_finished};
pub use row::{Form, Row};
pub use setup::{SetupSpec, SetupStatement};
pub use spec::{DatasetSpec, Spec};

/// What a load is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Rows.
    Rows,
    /// Indexes and foreign keys.
    Indexes,
}

impl Phase {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Indexes => "indexes",
        }
    }
}

/// A load under way.
pub struct Load(Arc<Job>);

impl Load {
    /// Starts it.
    ///
    /// # Errors
    /// A specification that makes no sense, or too many threads. What the server refuses is the load's failure.
    pub fn start(spec: Spec) -> Result<Self, Error> {
        spec.dataset.validate().map_err(Error::Workload)?;
        let Some(schema) = spec.login.schema.clone() else {
            return Err(Error::Workload("the login names no schema to load into".into()));
        };
        let job = Arc::new(Job::new(spec, schema));
        let own = job.clone();
        let spawned = thread::Builder::new().name("load".into()).spawn(move || {
            worker::load(&own);
            own.ended.store(true, SeqCst);
        });
        match spawned {
            Ok(_) => Ok(Self(job)),
            Err(source) => Err(Error::Engine { engine: "threads", source, hint: " (hint: raise ulimit -u)" }),
        }
    }

    /// Rows that are in the schema for good, those of an earlier attempt included.
    pub fn done_rows(&self) -> u64 {
        self.0.done_rows.load(SeqCst)
    }

    /// Rows in all.
    pub fn total_rows(&self) -> u64 {
        self.0.chunks.iter().map(|chunk| chunk.rows).sum()
    }

    /// What it is at.
    pub fn phase(&self) -> Phase {
        if self.0.indexes.load(SeqCst) { Phase::Indexes } else { Phase::Rows }
    }

    /// Ends it at once: the server takes back the transactions under way, and a later load goes on after the others.
    pub fn stop(&self) {
        self.0.stop.store(true, SeqCst);
    }

    /// Waits for its end; false when it is still at work after `timeout`.
    pub fn join(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        while !self.0.ended.load(SeqCst) {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// The first failure, in words: what, where, what next.
    pub fn failure(&self) -> Option<String> {
        self.0.failure.lock().expect("no thread panics here").clone()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop();
    }
}
