//! What the text of a statement says, and which query log a file is.

use std::path::PathBuf;

use flatwater_core::workload::query_log::{Amount, Format};
use flatwater_core::workload::sql::text::Statement;
use flatwater_real::database::query_log::{format_of, sendable_of};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Statements, and their microseconds.
type Pair = (u64, f64);
/// See `query_log_sendable`.
type Sendable = (Pair, Pair, Pair, Vec<(&'static str, Pair)>);

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
        Ok(Format::Digests) => Ok("digests"),
        Err(what) => Err(PyValueError::new_err(what)),
    }
}

/// Of a record of digests, each as a number of statements and their microseconds: all, those that can be sent, of these
/// those that may write, and the others with the words that say why not. None of another log; ValueError(what) for a file
/// that cannot be read.
#[pyfunction]
pub fn query_log_sendable(py: Python<'_>, path: PathBuf) -> PyResult<Option<Sendable>> {
    let told = py.detach(|| sendable_of(&path)).map_err(PyValueError::new_err)?;
    let pair = |amount: Amount| (amount.count, amount.time_us);
    Ok(told.map(|told| {
        let left_out = told.left_out.into_iter().map(|(why, amount)| (why.words(), pair(amount))).collect();
        (pair(told.all), pair(told.sent), pair(told.writes), left_out)
    }))
}
