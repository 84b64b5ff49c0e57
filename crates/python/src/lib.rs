//! flatwater's engine as a Python module: translation only. What it does stands in the other crates; its Python
//! signatures stand in `python/flatwater/_engine.pyi`, which stubtest holds against this.

use std::time::Duration;

use flatwater_core::histogram::Histogram as CoreHistogram;
use flatwater_core::interval::Interval;
use flatwater_core::storage::Kind;
use flatwater_real::{fileio, prepare};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

create_exception!(
    flatwater,
    EngineError,
    PyException,
    "Real storage could not be driven; the message names the place."
);

fn engine_error(error: impl std::fmt::Display) -> PyErr {
    EngineError::new_err(error.to_string())
}

fn parse<'a, T: serde::Deserialize<'a>>(json: &'a str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))
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

/// A fileio workload on real files.
#[pyclass(module = "flatwater._engine", frozen)]
struct FileioRun(fileio::Run);

#[pymethods]
impl FileioRun {
    /// Opens the files and starts; `after` continues the verification of an earlier run.
    #[new]
    #[pyo3(signature = (spec, after=None))]
    fn new(py: Python<'_>, spec: &str, after: Option<&Self>) -> PyResult<Self> {
        let spec: fileio::Spec = parse(spec)?;
        py.detach(|| fileio::Run::start(spec, after.map(|run| &run.0))).map(Self).map_err(engine_error)
    }

    /// The next interval as a dict, or None when `timeout_s` passed; StopIteration when the run is over.
    fn next_interval<'py>(&self, py: Python<'py>, timeout_s: f64) -> PyResult<Option<Bound<'py, PyDict>>> {
        match py.detach(|| self.0.next_interval(Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0)))) {
            fileio::Next::Interval(interval) => interval_dict(py, &interval).map(Some),
            fileio::Next::Waiting => Ok(None),
            fileio::Next::Over => Err(pyo3::exceptions::PyStopIteration::new_err(())),
        }
    }

    /// Asks all threads to finish what is outstanding and end.
    fn stop(&self) {
        self.0.stop();
    }

    /// Waits for the threads to end; False when some are still stuck after `timeout_s`.
    fn join(&self, py: Python<'_>, timeout_s: f64) -> bool {
        py.detach(|| self.0.join(Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0))))
    }

    /// The first failure in words, or None.
    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    /// What made the run weaker than asked, in words, or None.
    fn warning(&self) -> Option<String> {
        self.0.warning()
    }
}

fn interval_dict<'py>(py: Python<'py>, interval: &Interval) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("start_s", interval.start_ns as f64 / 1e9)?;
    out.set_item("end_s", interval.end_ns as f64 / 1e9)?;
    let metrics = PyDict::new(py);
    for (name, value) in interval.metrics() {
        metrics.set_item(name, value)?;
    }
    out.set_item("metrics", metrics)?;
    let (histograms, totals) = (PyDict::new(py), PyDict::new(py));
    for (kind, own) in Kind::ALL.iter().zip(&interval.kinds) {
        totals.set_item(kind.name(), (own.operations, own.bytes, own.errors))?;
        if own.latency.count() > 0 {
            histograms.set_item(kind.name(), PyBytes::new(py, &own.latency.to_v2()))?;
        }
    }
    out.set_item("histograms", histograms)?;
    out.set_item("totals", totals)?;
    out.set_item("cpu_s", (interval.cpu_user_ns + interval.cpu_system_ns) as f64 / 1e9)?;
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
        py.detach(|| self.0.join(Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0))))
    }

    /// The first failure in words, or None.
    fn failure(&self) -> Option<String> {
        self.0.failure()
    }
}

/// Gives the first `length` bytes of a file or device back to the storage (TRIM).
#[pyfunction]
fn purge(py: Python<'_>, path: std::path::PathBuf, length: u64) -> PyResult<()> {
    py.detach(|| flatwater_real::storage::purge(&path, length)).map_err(engine_error)
}

/// The engine.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::{EngineError, FileioRun, Histogram, Prepare, purge};
}
