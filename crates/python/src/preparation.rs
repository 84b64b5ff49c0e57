//! What runs need before they begin: files with data, and schemas with rows.

use flatwater_real::database::load;
use flatwater_real::prepare;
use pyo3::prelude::*;

use crate::errors::engine_error;
use crate::input::{parse, seconds};

/// Files being written for an experiment.
#[pyclass(module = "flatwater._engine", frozen)]
pub struct Prepare(prepare::Prepare);

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
pub struct Load(load::Load);

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

/// Gives the first `length` bytes of a file or device that the permit names back to the storage (TRIM).
#[pyfunction]
pub fn purge(py: Python<'_>, path: std::path::PathBuf, permit: &str, length: u64) -> PyResult<()> {
    let permit = parse(permit)?;
    py.detach(|| flatwater_real::storage::purge(&path, &permit, length)).map_err(engine_error)
}
