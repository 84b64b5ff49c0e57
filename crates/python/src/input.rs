//! What Python hands over, as the engine takes it.

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A specification that is written as JSON. What it cannot be is a ValueError.
pub fn parse<'a, T: serde::Deserialize<'a>>(json: &'a str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A wait that Python asks for: an hour at most, whatever number it gives.
pub fn seconds(timeout_s: f64) -> Duration {
    Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0))
}
