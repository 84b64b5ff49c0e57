//! How the engine's errors are Python's.

use std::io;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError};
use pyo3::prelude::*;

create_exception!(
    flatwater,
    EngineError,
    PyException,
    "Real storage could not be driven; the message names the place."
);

/// An `EngineError` in the error's words.
pub fn engine_error<E: std::fmt::Display>(error: E) -> PyErr {
    EngineError::new_err(error.to_string())
}

/// An `OSError` where the system said why, else an `EngineError`.
pub fn os_error(error: &io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(code) => PyOSError::new_err((code, error.to_string())),
        None => engine_error(error),
    }
}
