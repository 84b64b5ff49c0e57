//! Filling a schema: chunks of rows in parallel, each in one transaction with the mark that it is done, then indexes.
//!
//! Whatever ends a load (a signal, a lost connection, a full disk), the next one of the same data set goes on where it
//! stopped: no row is missing, none is there twice.

mod marks;
mod plan;
mod row;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use flatwater_core::workload::oltp::OltpSpec;
use flatwater_core::workload::tpcc::WAREHOUSES_MAX;
use flatwater_core::workload::tpcc::population::VERSION;
use serde::Deserialize;
use serde_json::json;

use super::connection::Login;
use super::oltp::OltpData;
use super::tpcc::TpccData;
use crate::Error;

pub(super) use marks::require_finished;
pub use row::{Form, Row};

/// A piece of a table that is loaded in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The table.
    pub table: String,
    /// Its columns in the order of the rows' values, `a, b, c`.
    pub columns: &'static str,
    /// Which piece of the table, from 0 on.
    pub part: u64,
    /// Rows in it (order lines: about).
    pub rows: u64,
}

/// Makes the rows of a chunk, one after the other.
pub trait Rows {
    /// Writes the next row's values into `row`; false when there is none.
    fn next(&mut self, row: &mut Row) -> bool;
}

/// The data of a workload.
pub trait Dataset: Send + Sync {
    /// Statements that make the tables, and nothing else.
    fn create(&self) -> Vec<String>;

    /// All chunks, in the order in which they had best be loaded.
    fn chunks(&self) -> Vec<Chunk>;

    /// The rows of one chunk: the same whenever they are asked for.
    fn rows<'a>(&'a self, chunk: &Chunk) -> Box<dyn Rows + 'a>;

    /// What is done when all rows are there (indexes, foreign keys): lists that may run in parallel, each in its order.
    fn finish(&self) -> Vec<Vec<String>>;

    /// The table whose rows suffice for the list of this index to begin; None: it waits for the rows of all tables.
    fn finishes(&self, _list: usize) -> Option<String> {
        None
    }
}

/// Which data, and how much. JSON: `{"kind": "tpcc", "warehouses": 10, "seed": 1}` or
/// `{"kind": "oltp", "spec": {...}, "seed": 1}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum DatasetSpec {
    /// TPC-C.
    Tpcc {
        /// Warehouses.
        warehouses: u32,
        /// Seed of the rows.
        seed: u64,
    },
    /// sysbench's tables.
    Oltp {
        /// The workload that they are for.
        spec: OltpSpec,
        /// Seed of the rows.
        seed: u64,
    },
}

impl DatasetSpec {
    fn validate(&self) -> Result<(), String> {
        match self {
            Self::Tpcc { warehouses, .. } if !(1..=WAREHOUSES_MAX).contains(warehouses) => {
                Err(format!("warehouses = {warehouses}: it must be 1 to {WAREHOUSES_MAX}"))
            }
            Self::Tpcc { .. } => Ok(()),
            Self::Oltp { spec, .. } => spec.validate(),
        }
    }

    fn dataset(&self) -> Box<dyn Dataset> {
        match self {
            Self::Tpcc { warehouses, seed } => Box::new(TpccData::new(*warehouses, *seed)),
            Self::Oltp { spec, seed } => Box::new(OltpData::new(spec, *seed)),
        }
    }

    /// What the rows are a function of, as JSON: two data sets are the same when their descriptions are.
    fn description(&self) -> String {
        match self {
            Self::Tpcc { warehouses, seed } => {
                json!({"kind": "tpcc", "version": VERSION, "warehouses": warehouses, "seed": seed})
            }
            Self::Oltp { spec, seed } => json!({
                "kind": "oltp", "version": 1, "tables": spec.tables, "rows": spec.loaded_rows(), "seed": seed,
                "distribution": format!("{:?}", spec.distribution), "auto_inc": spec.auto_inc,
                "secondary": spec.secondary,
            }),
        }
        .to_string()
    }
}

/// What to load, and where.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The server and the schema, which is made if it is missing.
    pub login: Login,
    /// The data.
    pub dataset: DatasetSpec,
    /// Sessions that load beside each other.
    pub threads: u32,
    /// Use LOAD DATA where the server allows it; else, and there where it does not, INSERTs of many rows.
    pub bulk: bool,
}

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

/// What the threads of a load share.
struct Job {
    spec: Spec,
    schema: String,
    dataset: Box<dyn Dataset>,
    chunks: Vec<Chunk>,
    done_rows: AtomicU64,
    indexes: AtomicBool,
    /// Use LOAD DATA: until a server turns out not to allow it.
    bulk: AtomicBool,
    /// Everyone stops, connections included.
    stop: Arc<AtomicBool>,
    ended: AtomicBool,
    failure: Mutex<Option<String>>,
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
        let dataset = spec.dataset.dataset();
        let job = Arc::new(Job {
            chunks: dataset.chunks(),
            schema,
            dataset,
            done_rows: AtomicU64::new(0),
            indexes: AtomicBool::new(false),
            bulk: AtomicBool::new(spec.bulk),
            stop: Arc::new(AtomicBool::new(false)),
            ended: AtomicBool::new(false),
            failure: Mutex::new(None),
            spec,
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(dataset: &str) -> Result<Spec, serde_json::Error> {
        serde_json::from_str(&format!(
            r#"{{"login": {{"address": {{"socket": "/s"}}, "user": "u", "password": "", "schema": "tpcc"}},
                "dataset": {dataset}, "threads": 2, "bulk": true}}"#
        ))
    }

    #[test]
    fn a_specification_is_read_and_unknown_fields_are_not() {
        let spec_of = |text| spec(text).expect("a specification").dataset;
        let data = spec_of(r#"{"kind": "tpcc", "warehouses": 10, "seed": 1}"#);
        assert_eq!(data.description(), r#"{"kind":"tpcc","seed":1,"version":1,"warehouses":10}"#);
        assert!(spec(r#"{"kind": "tpcc", "warehouses": 10, "seed": 1, "size": 3}"#).is_err());
        assert!(spec(r#"{"kind": "other", "seed": 1}"#).is_err());
    }

    #[test]
    fn an_impossible_scale_is_refused() {
        for warehouses in [0, 32_768] {
            let dataset = DatasetSpec::Tpcc { warehouses, seed: 1 };
            let refused = dataset.validate().expect_err("refused");
            assert_eq!(refused, format!("warehouses = {warehouses}: it must be 1 to 32767"));
        }
    }
}
