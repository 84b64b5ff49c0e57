//! What the text of a statement says, and what a query log tells.

use std::collections::BTreeSet;
use std::path::PathBuf;

use flatwater_core::workload::query_log::{Amount, Format};
use flatwater_core::workload::sql::text::Statement;
use flatwater_real::database::query_log::{mixing, sendable_of, tell};
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

/// Which query log a file is, the schemas that its first and its last statements name, and the seconds between these; None
/// where its end does not tell. ValueError(what) for any other file.
#[pyfunction]
pub fn query_log_told(py: Python<'_>, path: PathBuf) -> PyResult<(&'static str, BTreeSet<String>, Option<f64>)> {
    let told = py.detach(|| tell(&path)).map_err(PyValueError::new_err)?;
    let format = match told.format {
        Format::Slow => "slow",
        Format::General => "general",
        Format::Digests => "digests",
    };
    Ok((format, told.schemas, told.length_us.map(|length_us| length_us as f64 / 1e6)))
}

/// Of a query log that does not tell connections and whose statements write: the line and the first word of the first one
/// of a transaction. None of another log; ValueError(what) for a file that cannot be read.
#[pyfunction]
pub fn query_log_mixing(py: Python<'_>, path: PathBuf) -> PyResult<Option<(u64, String)>> {
    py.detach(|| mixing(&path)).map_err(PyValueError::new_err)
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
