//! What the text of a statement says, and which query log a file is.

use std::path::PathBuf;

use flatwater_core::workload::query_log::Format;
use flatwater_core::workload::sql::text::Statement;
use flatwater_real::database::query_log::format_of;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The parameters of a statement by name, in the order in which they stand, and whether it certainly changes no data.
/// ValueError(what, hint) for a text that cannot be sent.
#[pyfunction]
pub fn sql_statement(text: &str) -> PyResult<(Vec<String>, bool)> {
    match Statement::read(text) {
        Ok(statement) => Ok((statement.parameters, statement.reads)),
        Err((what, hint)) => Err(PyValueError::new_err((what, hint))),
    }
}

/// Which query log a file is, by its first statement. ValueError(what) for any other file.
#[pyfunction]
pub fn query_log_format(py: Python<'_>, path: PathBuf) -> PyResult<&'static str> {
    match py.detach(|| format_of(&path)) {
        Ok(Format::Slow) => Ok("slow"),
        Ok(Format::General) => Ok("general"),
        Err(what) => Err(PyValueError::new_err(what)),
    }
}
