//! Traces of requests: summed up, simulated, converted.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use flatwater_core::cache::policy::NAMES;
use flatwater_core::trace::simulate::{Case, simulate};
use flatwater_core::trace::summary::{Summary, index};
use flatwater_core::trace::{Format, Kind, Problem, Source, convert, kind_name};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

type Stopped = Arc<Mutex<Option<PyErr>>>;

/// ValueError(what, where, hint).
fn wrong(problem: Problem) -> PyErr {
    PyValueError::new_err((problem.what, problem.place, problem.hint))
}

/// Opens a trace so that Ctrl-C ends reading it.
fn open(path: &Path, named: Option<&str>) -> Result<(Source, Stopped), Problem> {
    let format = named.map(Format::named).transpose().map_err(|what| Problem::new("format", what, ""))?;
    let mut source = Source::open(path, format)?;
    let stopped: Stopped = Arc::default();
    let told = stopped.clone();
    source.watch(Box::new(move || {
        Python::attach(|py| py.check_signals()).map_err(|error| {
            *told.lock().expect("nothing panics under it") = Some(error);
            Problem::new("trace", "interrupted", "")
        })
    }));
    Ok((source, stopped))
}

/// Does something with a trace, without Python's lock.
fn with<T: Send>(
    py: Python<'_>,
    path: &Path,
    named: Option<&str>,
    work: impl FnOnce(&mut Source) -> Result<T, Problem> + Send,
) -> PyResult<T> {
    let (mut source, stopped) = open(path, named).map_err(wrong)?;
    let result = py.detach(|| work(&mut source));
    let stopped = stopped.lock().expect("nothing panics under it").take();
    result.map_err(|problem| stopped.unwrap_or_else(|| wrong(problem)))
}

/// Formats that can be read: name and what it is.
#[pyfunction]
pub fn trace_formats() -> Vec<(&'static str, &'static str)> {
    Format::ALL.iter().map(|(_, name, about)| (*name, *about)).collect()
}

/// Replacement policies of caches: name and what it is.
#[pyfunction]
pub fn cache_policies() -> Vec<(&'static str, &'static str)> {
    NAMES.to_vec()
}

/// Whether a trace tells objects instead of ranges of bytes; reads no more than its beginning.
#[pyfunction]
#[pyo3(signature = (path, named=None))]
pub fn trace_tells_objects(py: Python<'_>, path: PathBuf, named: Option<&str>) -> PyResult<bool> {
    with(py, &path, named, |source| Ok(source.format().tells_objects()))
}

/// What a trace is like, in one pass. ValueError(what, where, hint) when it cannot be read.
#[pyfunction]
#[pyo3(signature = (path, named=None, block_bytes=4096))]
pub fn trace_summary<'py>(
    py: Python<'py>,
    path: PathBuf,
    named: Option<&str>,
    block_bytes: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let (summary, format) = with(py, &path, named, |source| {
        let summary = Summary::of(source, block_bytes)?;
        Ok((summary, source.format()))
    })?;
    let (requests, bytes) = (PyDict::new(py), PyDict::new(py));
    for kind in [Kind::Read, Kind::Write, Kind::Zero, Kind::Trim, Kind::Flush] {
        requests.set_item(kind_name(kind), summary.requests[index(kind)])?;
        bytes.set_item(kind_name(kind), summary.bytes[index(kind)])?;
    }
    let out = PyDict::new(py);
    out.set_item("format", format.name())?;
    out.set_item("objects", format.tells_objects())?;
    out.set_item("requests", requests)?;
    out.set_item("bytes", bytes)?;
    out.set_item("duration_s", summary.duration_ns as f64 / 1e9)?;
    out.set_item("span_bytes", summary.span_bytes)?;
    out.set_item("longest_bytes", summary.longest_bytes)?;
    out.set_item("align_bytes", summary.align_bytes())?;
    out.set_item("sizes", summary.sizes.into_iter().collect::<Vec<_>>())?;
    out.set_item("other_sizes", summary.other_sizes)?;
    out.set_item("sequential", summary.sequential)?;
    out.set_item("unaligned", summary.unaligned)?;
    out.set_item("backwards", summary.backwards)?;
    out.set_item("processes", summary.processes.into_iter().collect::<Vec<_>>())?;
    out.set_item("footprint_blocks", if summary.curve.requests() > 0 { summary.curve.footprint() } else { 0 })?;
    out.set_item("curve", summary.curve.points())?;
    out.set_item("note", summary.note)?;
    Ok(out)
}

/// How caches of some (policy, blocks) would do: (reads, read misses, writes, write misses) of each, in blocks.
#[pyfunction]
#[pyo3(signature = (path, cases, named=None, block_bytes=4096))]
pub fn trace_simulate(
    py: Python<'_>,
    path: PathBuf,
    cases: Vec<(String, u32)>,
    named: Option<&str>,
    block_bytes: u32,
) -> PyResult<Vec<(u64, u64, u64, u64)>> {
    let cases: Vec<Case> = cases.into_iter().map(|(policy, blocks)| Case { policy, blocks }).collect();
    let outcomes = with(py, &path, named, |source| simulate(source, block_bytes, &cases))?;
    Ok(outcomes.into_iter().map(|own| (own.reads, own.read_misses, own.writes, own.write_misses)).collect())
}

/// Writes a trace into a new file, as "flatwater" or "iolog"; how many requests.
#[pyfunction]
#[pyo3(signature = (path, out, to="flatwater", named=None))]
pub fn trace_convert(py: Python<'_>, path: PathBuf, out: PathBuf, to: &str, named: Option<&str>) -> PyResult<u64> {
    let to = convert::Target::named(to).map_err(|what| wrong(Problem::new("to", what, "")))?;
    with(py, &path, named, |source| convert::convert(source, &out, to))
}
