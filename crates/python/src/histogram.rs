//! Histograms of latencies.

use flatwater_core::histogram::Histogram as CoreHistogram;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Latencies in nanoseconds, three significant digits.
#[pyclass(module = "flatwater._engine")]
#[derive(Default)]
pub struct Histogram(pub(crate) CoreHistogram);

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
