//! flatwater's engine as a Python module: translation only. What it does stands in the other crates; its Python
//! signatures stand in `python/flatwater/_engine.pyi`, which stubtest holds against this.

mod cache;
mod emulator;
mod policy;
mod schema;
mod trace;
mod witness;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flatwater_core::histogram::Histogram as CoreHistogram;
use flatwater_core::interval::Interval;
use flatwater_model::database::flushing::Policy;
use flatwater_model::database::{Fleet, Spec as FleetSpec};
use flatwater_model::fileio::{DeviceInterval, Fileio as ModelledFileio};
use flatwater_real::database::{self, connection, load};
use flatwater_real::{crew, fileio, prepare};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

create_exception!(
    flatwater,
    EngineError,
    PyException,
    "Real storage could not be driven; the message names the place."
);

fn engine_error<E: std::fmt::Display>(error: E) -> PyErr {
    EngineError::new_err(error.to_string())
}

fn parse<'a, T: serde::Deserialize<'a>>(json: &'a str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A wait that Python asks for: an hour at most, whatever number it gives.
fn seconds(timeout_s: f64) -> Duration {
    Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0))
}

/// Latencies in nanoseconds, three significant digits.
#[pyclass(module = "flatwater._engine")]
#[derive(Default)]
struct Histogram(CoreHistogram);

#[pymethods]
impl Histogram {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Reads HdrHistogram's V2+DEFLATE encoding; ValueError when it is something else.
    #[staticmethod]
    fn from_v2(data: &[u8]) -> PyResult<Self> {
        CoreHistogram::from_v2(data).map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// HdrHistogram's V2+DEFLATE encoding.
    fn to_v2<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_v2())
    }

    /// Counts a latency `count` times.
    #[pyo3(signature = (value, count=1))]
    fn record_ns(&mut self, value: u64, count: u64) {
        self.0.record_n_ns(value, count);
    }

    /// Adds another one's counts.
    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// Latencies counted.
    fn count(&self) -> u64 {
        self.0.count()
    }

    /// The latency that a share `q` (0..1) did not exceed; 0 when empty.
    fn quantile_ns(&self, q: f64) -> u64 {
        self.0.quantile_ns(q)
    }

    /// The largest; 0 when empty.
    fn max_ns(&self) -> u64 {
        self.0.max_ns()
    }

    /// Non-empty buckets as (highest latency in ns, count).
    fn buckets(&self) -> Vec<(u64, u64)> {
        self.0.buckets()
    }
}

/// A workload under way.
#[pyclass(module = "flatwater._engine", frozen)]
struct Run(Work);

enum Work {
    Fileio(fileio::Fileio),
    Database(crew::Run),
    /// In virtual time; None when another run went on with its device.
    Modelled(Box<Mutex<Option<Model>>>),
}

/// What is modelled: requests to a device, or a database that makes them.
enum Model {
    Fileio(ModelledFileio),
    Database(Fleet),
}

impl Model {
    fn next_interval(&mut self) -> Option<(Interval, DeviceInterval)> {
        match self {
            Self::Fileio(run) => run.next_interval(),
            Self::Database(run) => run.next_interval(),
        }
    }

    fn stop(&mut self) {
        match self {
            Self::Fileio(run) => run.stop(),
            Self::Database(run) => run.stop(),
        }
    }

    fn failure(&self) -> Option<String> {
        match self {
            Self::Fileio(run) => run.failure(),
            Self::Database(run) => run.failure(),
        }
    }
}

impl Work {
    /// The crew of real threads, where there is one.
    fn crew(&self) -> Result<&crew::Run, &Mutex<Option<Model>>> {
        match self {
            Self::Fileio(fileio) => Ok(fileio.run()),
            Self::Database(run) => Ok(run),
            Self::Modelled(model) => Err(model),
        }
    }
}

#[pymethods]
impl Run {
    /// Opens files and starts reading and writing; `after` continues the verification of an earlier run.
    #[staticmethod]
    #[pyo3(signature = (spec, after=None))]
    fn fileio(py: Python<'_>, spec: &str, after: Option<&Self>) -> PyResult<Self> {
        let spec: fileio::Spec = parse(spec)?;
        let after = match after {
            Some(Self(Work::Fileio(fileio))) => Some(fileio),
            _ => None,
        };
        py.detach(|| fileio::Fileio::start(spec, after)).map(|run| Self(Work::Fileio(run))).map_err(engine_error)
    }

    /// Connects to servers and starts running transactions.
    #[staticmethod]
    fn database(py: Python<'_>, spec: &str) -> PyResult<Self> {
        let spec: database::run::Spec = parse(spec)?;
        py.detach(|| database::run::start(spec)).map(|run| Self(Work::Database(run))).map_err(engine_error)
    }

    /// Makes a modelled device and starts reading and writing it in virtual time; `after` goes on with the device of an
    /// earlier run, which is then over.
    #[staticmethod]
    #[pyo3(signature = (spec, after=None))]
    fn modelled(py: Python<'_>, spec: &str, after: Option<&Self>) -> PyResult<Self> {
        let spec = parse(spec)?;
        py.detach(|| {
            let after = match after {
                Some(Self(Work::Modelled(model))) => model.lock().expect("nothing panics under it").take(),
                _ => None,
            };
            let after = after.and_then(|model| if let Model::Fileio(run) = model { Some(run) } else { None });
            ModelledFileio::start(spec, after)
        })
        .map(|run| Self(Work::Modelled(Box::new(Mutex::new(Some(Model::Fileio(run)))))))
        .map_err(engine_error)
    }

    /// Makes a modelled database on a modelled device and starts running transactions in virtual time; `policies`, one
    /// a server, say what is flushed in the background, in place of the servers' own.
    #[staticmethod]
    #[pyo3(signature = (spec, policies=Vec::new()))]
    fn modelled_database(py: Python<'_>, spec: &str, policies: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let spec: FleetSpec = parse(spec)?;
        let own = |policy| Ok(Box::new(policy::PythonPolicy::new(policy)?) as Box<dyn Policy>);
        let policies = policies.iter().map(own).collect::<PyResult<Vec<_>>>()?;
        py.detach(|| if policies.is_empty() { Fleet::start(spec) } else { Fleet::start_with(spec, policies) })
            .map(|run| Self(Work::Modelled(Box::new(Mutex::new(Some(Model::Database(run)))))))
            .map_err(engine_error)
    }

    /// The next interval as a dict, or None when `timeout_s` passed; StopIteration when the run is over. A modelled run
    /// takes as long as it must to compute one.
    fn next_interval<'py>(&self, py: Python<'py>, timeout_s: f64) -> PyResult<Option<Bound<'py, PyDict>>> {
        let over = || pyo3::exceptions::PyStopIteration::new_err(());
        match self.0.crew() {
            Ok(run) => match py.detach(|| run.next_interval(seconds(timeout_s))) {
                crew::Next::Interval(interval) => interval_dict(py, &interval, DeviceInterval::default()).map(Some),
                crew::Next::Waiting => Ok(None),
                crew::Next::Over => Err(over()),
            },
            Err(model) => {
                let next = py
                    .detach(|| model.lock().expect("nothing panics under it").as_mut().and_then(Model::next_interval));
                let (interval, device) = next.ok_or_else(over)?;
                interval_dict(py, &interval, device).map(Some)
            }
        }
    }

    /// Asks all threads to finish what is outstanding and end.
    fn stop(&self, py: Python<'_>) {
        match self.0.crew() {
            Ok(run) => run.stop(),
            // Whoever computes an interval may wait for the interpreter's lock: nobody waits for him with it.
            Err(model) => py.detach(|| {
                if let Some(run) = model.lock().expect("nothing panics under it").as_mut() {
                    run.stop();
                }
            }),
        }
    }

    /// Waits for the threads to end; False when some are still stuck after `timeout_s`.
    fn join(&self, py: Python<'_>, timeout_s: f64) -> bool {
        self.0.crew().map_or(true, |run| py.detach(|| run.join(seconds(timeout_s))))
    }

    /// The first failure in words, or None.
    fn failure(&self, py: Python<'_>) -> Option<String> {
        match self.0.crew() {
            Ok(run) => run.failure(),
            Err(model) => {
                py.detach(|| model.lock().expect("nothing panics under it").as_ref().and_then(Model::failure))
            }
        }
    }

    /// What made the run weaker than asked, in words, or None.
    fn warning(&self) -> Option<String> {
        self.0.crew().ok().and_then(crew::Run::warning)
    }
}

fn interval_dict<'py>(py: Python<'py>, interval: &Interval, device: DeviceInterval) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("start_s", interval.start_ns as f64 / 1e9)?;
    out.set_item("end_s", interval.end_ns as f64 / 1e9)?;
    let metrics = PyDict::new(py);
    for (name, value) in interval.metrics() {
        metrics.set_item(name, value)?;
    }
    out.set_item("metrics", metrics)?;
    let (histograms, totals, counters) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
    for (kind, own) in interval.told.iter().zip(&interval.kinds) {
        totals.set_item(kind.name, (own.operations, own.bytes, own.errors))?;
        if own.latency.count() > 0 {
            histograms.set_item(kind.name, PyBytes::new(py, &own.latency.to_v2()))?;
        }
    }
    for (name, count) in &interval.counters {
        counters.set_item(name, count)?;
    }
    out.set_item("histograms", histograms)?;
    out.set_item("totals", totals)?;
    out.set_item("counters", counters)?;
    out.set_item("cpu_s", interval.cpu.map(|cpu| (cpu.user + cpu.system) as f64 / 1e9))?;
    let storage = PyDict::new(py);
    for (name, value) in device.series {
        storage.set_item(name, value)?;
    }
    out.set_item("storage", storage)?;
    let incidents: Vec<_> = device.incidents.into_iter().map(|one| (one.at_ns as f64 / 1e9, one.text)).collect();
    out.set_item("incidents", incidents)?;
    Ok(out)
}

/// Files being written for an experiment.
#[pyclass(module = "flatwater._engine", frozen)]
struct Prepare(prepare::Prepare);

#[pymethods]
impl Prepare {
    /// Starts the writers.
    #[new]
    fn new(py: Python<'_>, spec: &str) -> PyResult<Self> {
        let spec: prepare::Spec = parse(spec)?;
        py.detach(|| prepare::Prepare::start(spec)).map(Self).map_err(engine_error)
    }

    /// Bytes written without a gap from the beginning.
    fn done_bytes(&self) -> u64 {
        self.0.done_bytes()
    }

    /// Bytes to write in all.
    fn total_bytes(&self) -> u64 {
        self.0.total_bytes()
    }

    /// Asks the writers to end.
    fn stop(&self) {
        self.0.stop();
    }

    /// Waits for the writers; False when they are still at work after `timeout_s`.
    fn join(&self, py: Python<'_>, timeout_s: f64) -> bool {
        py.detach(|| self.0.join(seconds(timeout_s)))
    }

    /// The first failure in words, or None.
    fn failure(&self) -> Option<String> {
        self.0.failure()
    }
}

/// A schema being filled for an experiment.
#[pyclass(module = "flatwater._engine", frozen)]
struct Load(load::Load);

#[pymethods]
impl Load {
    /// Checks the schema and starts the loaders.
    #[new]
    fn new(py: Python<'_>, spec: &str) -> PyResult<Self> {
        let spec: load::Spec = parse(spec)?;
        py.detach(|| load::Load::start(spec)).map(Self).map_err(engine_error)
    }

    /// Rows that are there.
    fn done_rows(&self) -> u64 {
        self.0.done_rows()
    }

    /// Rows to load in all.
    fn total_rows(&self) -> u64 {
        self.0.total_rows()
    }

    /// What is being done: "rows" or "indexes".
    fn phase(&self) -> &'static str {
        self.0.phase().name()
    }

    /// Asks the loaders to end; what is loaded stays, and another Load goes on from there.
    fn stop(&self) {
        self.0.stop();
    }

    /// Waits for the loaders; False when they are still at work after `timeout_s`.
    fn join(&self, py: Python<'_>, timeout_s: f64) -> bool {
        py.detach(|| self.0.join(seconds(timeout_s)))
    }

    /// The first failure in words, or None.
    fn failure(&self) -> Option<String> {
        self.0.failure()
    }
}

/// A session with a MySQL-compatible server, for questions: not for workloads.
#[pyclass(module = "flatwater._engine", frozen)]
struct Connection {
    session: Mutex<Option<connection::Connection>>,
    closed: Arc<AtomicBool>,
    patience: Duration,
}

#[pymethods]
impl Connection {
    /// Connects; the login is JSON: address, user, password, schema. A server that lets this, or a question, wait for
    /// longer than `timeout_s` is as good as gone.
    #[new]
    #[pyo3(signature = (login, timeout_s=60.0))]
    fn new(py: Python<'_>, login: &str, timeout_s: f64) -> PyResult<Self> {
        let login: connection::Login = parse(login)?;
        let patience = seconds(timeout_s);
        let closed = Arc::new(AtomicBool::new(false));
        let mut session = py
            .detach(|| connection::Connection::open_within(&login, closed.clone(), patience))
            .map_err(engine_error)?;
        session.keep_names();
        Ok(Self { session: Mutex::new(Some(session)), closed, patience })
    }

    /// Runs a statement; its rows as text, NULL as None.
    fn query<'py>(&self, py: Python<'py>, sql: &str) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let rows = py.detach(|| {
            let mut session = self.session.lock().expect("nothing panics under it");
            let session = session.as_mut().ok_or_else(|| engine_error("the connection is closed"))?;
            session.wait_at_most(Some(self.patience));
            session.query(sql).map_err(engine_error)?;
            let (rows, columns) = (session.rows(), session.rows().columns());
            let text = |row, column| rows.bytes(row, column).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            Ok::<_, PyErr>(
                (0..rows.len())
                    .map(|row| (0..columns).map(|column| text(row, column)).collect())
                    .collect::<Vec<Vec<_>>>(),
            )
        })?;
        rows.into_iter().map(|row| PyTuple::new(py, row)).collect()
    }

    /// Names of the last result's columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let session = self.session.lock().expect("nothing panics under it");
        session.as_ref().map(|session| session.names().to_vec()).unwrap_or_default()
    }

    /// The server's version as it says it.
    #[getter]
    fn server_version(&self) -> String {
        let session = self.session.lock().expect("nothing panics under it");
        session.as_ref().map(|session| session.server_version().to_owned()).unwrap_or_default()
    }

    /// Ends the session, also from another thread while a question waits for its answer.
    fn close(&self, py: Python<'_>) {
        self.closed.store(true, Relaxed);
        py.detach(|| *self.session.lock().expect("nothing panics under it") = None);
    }
}

/// Gives the first `length` bytes of a file or device that the permit names back to the storage (TRIM).
#[pyfunction]
fn purge(py: Python<'_>, path: std::path::PathBuf, permit: &str, length: u64) -> PyResult<()> {
    let permit = parse(permit)?;
    py.detach(|| flatwater_real::storage::purge(&path, &permit, length)).map_err(engine_error)
}

/// Checks TPC-C's consistency conditions (clause 3.3.2) on a schema: number, title, why a condition does not apply (or
/// None), and how often it is violated (None where it does not apply).
#[pyfunction]
#[allow(clippy::type_complexity)]
fn check_consistency(
    py: Python<'_>,
    login: &str,
    after_run: bool,
) -> PyResult<Vec<(u32, &'static str, Option<&'static str>, Option<u64>)>> {
    let login: connection::Login = parse(login)?;
    py.detach(|| {
        let mut session = connection::Connection::open(&login, Arc::default())?;
        database::tpcc::check_consistency(&mut session, after_run)
    })
    .map(|conditions| {
        conditions
            .into_iter()
            .map(|own| (own.number, own.title, own.applies.err(), own.applies.is_ok().then_some(own.violations)))
            .collect()
    })
    .map_err(engine_error::<connection::SqlError>)
}

/// The engine.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::cache::{CacheServer, CacheTask, cache_inspect, cache_make, cache_mount, cache_settings};
    #[pymodule_export]
    use super::emulator::Emulator;
    #[pymodule_export]
    use super::schema::plan_schemas;
    #[pymodule_export]
    use super::trace::{
        cache_policies, trace_convert, trace_formats, trace_simulate, trace_summary, trace_tells_objects,
    };
    #[pymodule_export]
    use super::witness::{file_witness, rename_new};
    #[pymodule_export]
    use super::{Connection, EngineError, Histogram, Load, Prepare, Run, check_consistency, purge};
}
