//! Database servers, asked from Python.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flatwater_core::workload::tpcc::Variant;
use flatwater_real::database::{self, connection};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::engine_error;
use crate::input::{parse, seconds};

/// A session with a MySQL-compatible server, for questions: not for workloads.
#[pyclass(module = "flatwater._engine", frozen)]
pub struct Connection {
    session: Mutex<Option<connection::Connection>>,
    closed: Arc<AtomicBool>,
    patience: Duration,
}

#[pymethods]
impl Connection {
    /// Connects; the login is JSON: address, user, password, schema. A server that lets this, or a question, wait for
    /// longer than `timeout_s` is as good as gone.
    #[new]
    #[pyo3(signature = (login, timeout_s=60.0))]
    fn new(py: Python<'_>, login: &str, timeout_s: f64) -> PyResult<Self> {
        let login: connection::Login = parse(login)?;
        let patience = seconds(timeout_s);
        let closed = Arc::new(AtomicBool::new(false));
        let mut session = py
            .detach(|| connection::Connection::open_within(&login, closed.clone(), patience))
            .map_err(engine_error)?;
        session.keep_names();
        Ok(Self { session: Mutex::new(Some(session)), closed, patience })
    }

    /// Runs a statement; its rows as text, NULL as None.
    fn query<'py>(&self, py: Python<'py>, sql: &str) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let rows = py.detach(|| {
            let mut session = self.session.lock().expect("nothing panics under it");
            let session = session.as_mut().ok_or_else(|| engine_error("the connection is closed"))?;
            session.wait_at_most(Some(self.patience));
            session.query(sql).map_err(engine_error)?;
            let (rows, columns) = (session.rows(), session.rows().columns());
            let text = |row, column| rows.bytes(row, column).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            Ok::<_, PyErr>(
                (0..rows.len())
                    .map(|row| (0..columns).map(|column| text(row, column)).collect())
                    .collect::<Vec<Vec<_>>>(),
            )
        })?;
        rows.into_iter().map(|row| PyTuple::new(py, row)).collect()
    }

    /// Names of the last result's columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let session = self.session.lock().expect("nothing panics under it");
        session.as_ref().map(|session| session.names().to_vec()).unwrap_or_default()
    }

    /// The server's version as it says it.
    #[getter]
    fn server_version(&self) -> String {
        let session = self.session.lock().expect("nothing panics under it");
        session.as_ref().map(|session| session.server_version().to_owned()).unwrap_or_default()
    }

    /// Version and cipher of TLS, None without TLS.
    #[getter]
    fn tls(&self) -> Option<String> {
        let session = self.session.lock().expect("nothing panics under it");
        session.as_ref().and_then(connection::Connection::tls)
    }

    /// Ends the session, also from another thread while a question waits for its answer.
    fn close(&self, py: Python<'_>) {
        self.closed.store(true, Relaxed);
        py.detach(|| *self.session.lock().expect("nothing panics under it") = None);
    }
}

/// Whether an account that was refused without TLS is let in with it; within `timeout_s`.
#[pyfunction]
pub fn requires_tls(py: Python<'_>, login: &str, timeout_s: f64) -> PyResult<bool> {
    let login: connection::Login = parse(login)?;
    let patience = seconds(timeout_s);
    Ok(py.detach(|| connection::requires_tls(&login, patience)))
}

/// Checks TPC-C's consistency conditions (clause 3.3.2) on a schema of a variant: number, title, why a condition does not
/// apply (or None), and how often it is violated (None where it does not apply).
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn check_consistency(
    py: Python<'_>,
    login: &str,
    variant: &str,
    after_run: bool,
) -> PyResult<Vec<(u32, &'static str, Option<&'static str>, Option<u64>)>> {
    let login: connection::Login = parse(login)?;
    let variant: Variant = parse(variant)?;
    py.detach(|| {
        let mut session = connection::Connection::open(&login, Arc::default())?;
        database::tpcc::check_consistency(&mut session, &variant, after_run)
    })
    .map(|conditions| {
        conditions
            .into_iter()
            .map(|own| (own.number, own.title, own.applies.err(), own.applies.is_ok().then_some(own.violations)))
            .collect()
    })
    .map_err(engine_error::<connection::SqlError>)
}
