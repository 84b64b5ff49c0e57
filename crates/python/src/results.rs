//! The rows of many result folders, for `flatwater.catalogue`.

use std::path::PathBuf;

use flatwater_results::{Column, Table, Values, read, stamps};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A column as Arrow lays it out: rows, bits of validity, offsets (of texts), values.
type Buffers<'py> = (usize, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>, Bound<'py, PyBytes>);

/// Of one thread: number and stamp of each result, and the tables.
type Part<'py> = (Vec<(i32, String)>, Bound<'py, PyDict>);

/// Reads results, and returns parts: (number and stamp of each result, table -> (runs, columns)). See
/// `crates/results`.
#[pyfunction]
pub fn results_read<'py>(
    py: Python<'py>,
    folders: Vec<PathBuf>,
    young_ns: i64,
    schema_version: i64,
) -> PyResult<Vec<Part<'py>>> {
    let parts = py.detach(|| read(&folders, young_ns.into(), schema_version));
    parts
        .into_iter()
        .map(|part| {
            let tables = PyDict::new(py);
            let rows = &part.rows;
            for (name, table) in [
                ("runs", &rows.runs),
                ("summary", &rows.summary),
                ("metrics", &rows.metrics),
                ("events", &rows.events),
                ("thresholds", &rows.thresholds),
                ("machine", &rows.machine),
            ] {
                tables.set_item(name, buffers(py, table))?;
            }
            Ok((part.stamps, tables))
        })
        .collect()
}

/// How the files of each result are now; empty if one changed after `young_ns`. See `crates/results`.
#[pyfunction]
pub fn results_stamps(py: Python<'_>, folders: Vec<PathBuf>, young_ns: i64) -> Vec<String> {
    py.detach(|| stamps(&folders, young_ns.into()))
}

fn buffers<'py>(py: Python<'py>, table: &Table) -> (Bound<'py, PyBytes>, Vec<Buffers<'py>>) {
    (PyBytes::new(py, &table.runs), table.columns.iter().map(|column| column_buffers(py, column)).collect())
}

fn column_buffers<'py>(py: Python<'py>, column: &Column) -> Buffers<'py> {
    let (offsets, values) = match &column.values {
        Values::Text { offsets, text } => (Some(PyBytes::new(py, offsets)), text),
        Values::Whole(values) | Values::Real(values) | Values::Yes(values) => (None, values),
    };
    (column.rows, PyBytes::new(py, &column.valid), offsets, PyBytes::new(py, values))
}
