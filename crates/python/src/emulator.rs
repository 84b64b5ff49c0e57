//! `Emulator`: a modelled device that is served as a file.

use flatwater_serve::emulator;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{engine_error, os_error};
use crate::input::parse;

/// A modelled device that is served as a file.
#[pyclass(module = "flatwater._engine", frozen)]
pub struct Emulator(emulator::Emulator);

#[pymethods]
impl Emulator {
    /// Makes the device, mounts it and serves it.
    #[new]
    fn new(py: Python<'_>, spec: &str) -> PyResult<Self> {
        let spec: emulator::Spec = parse(spec)?;
        py.detach(|| emulator::Emulator::start(spec)).map(Self).map_err(engine_error)
    }

    /// Bytes of the file that is served.
    #[getter]
    fn size_bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Whether it still serves: somebody may have unmounted it.
    fn mounted(&self) -> bool {
        self.0.mounted()
    }

    /// Forgets what was trimmed so far: what is not trimmed from now on counts as held at the next `settle`.
    fn forget_trims(&self) {
        self.0.forget_trims();
    }

    /// Brings the device into its initial state anew, with the data that it holds now; OSError if the file cannot tell.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.settle()).map_err(|error| os_error(&error))
    }

    /// The intervals since the last call: dicts of end_s, series and incidents.
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let samples = py.detach(|| self.0.samples());
        samples
            .into_iter()
            .map(|sample| {
                let (out, series) = (PyDict::new(py), PyDict::new(py));
                for (name, value) in sample.series {
                    series.set_item(name, value)?;
                }
                let incidents: Vec<_> =
                    sample.incidents.into_iter().map(|one| (one.at_ns as f64 / 1e9, one.text)).collect();
                out.set_item("end_s", sample.end_s)?;
                out.set_item("series", series)?;
                out.set_item("incidents", incidents)?;
                Ok(out)
            })
            .collect()
    }

    /// What it has done so far: the JSON of `stats.json`.
    fn summary(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.summary())
    }

    /// Why the device's state could not be kept, or None.
    fn trouble(&self) -> Option<String> {
        self.0.trouble()
    }

    /// Unmounts and keeps the device's state; OSError (EBUSY) when it is in use, unless `lazily`.
    #[pyo3(signature = (lazily=false))]
    fn stop(&self, py: Python<'_>, lazily: bool) -> PyResult<()> {
        py.detach(|| self.0.stop(lazily)).map_err(|error| os_error(&error))
    }
}
