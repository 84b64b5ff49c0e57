//! A flushing policy that is a Python object: called once a round of the modelled server, with the interpreter's lock.

use flatwater_model::database::Lsn;
use flatwater_model::database::flushing::{Order, Policy, View};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// `Guard` (runner/stack/database/modelled/policy.py): it checks what the user's class returns, and says in words what is wrong.
pub struct PythonPolicy {
    guard: Py<PyAny>,
    period_ns: u64,
    failure: Option<String>,
}

impl PythonPolicy {
    /// The policy that this object is.
    ///
    /// # Errors
    /// Whatever Python raises: it has no period, for one.
    pub fn new(guard: &Bound<'_, PyAny>) -> PyResult<Self> {
        let period_ns = guard.getattr("period_ns")?.extract()?;
        Ok(Self { guard: guard.clone().unbind(), period_ns, failure: None })
    }

    fn ask(&self, view: &View<'_>) -> PyResult<Order> {
        Python::attach(|py| {
            let told = PyDict::new(py);
            told.set_item("time_s", view.now_ns as f64 / 1e9)?;
            told.set_item("lsn", view.lsn.bytes())?;
            told.set_item("oldest_lsn", view.oldest_lsn.map(Lsn::bytes))?;
            told.set_item("checkpoint_age", view.checkpoint_age)?;
            told.set_item("dirty_pages", view.dirty)?;
            told.set_item("dirty_pct", view.dirty_pct)?;
            told.set_item("flushed", view.flushed)?;
            told.set_item("flushed_lru", view.flushed_lru)?;
            told.set_item("flushed_own", view.flushed_own)?;
            told.set_item("idle", view.idle)?;
            told.set_item("log_capacity", view.ages.group_capacity)?;
            told.set_item("async_age", view.ages.modified_async)?;
            told.set_item("sync_age", view.ages.modified_sync)?;
            told.set_item("max_age", view.ages.checkpoint_max)?;
            let (pages, limit_lsn): (u64, Option<u64>) = self.guard.call1(py, (told,))?.extract(py)?;
            Ok(Order { limit_lsn: limit_lsn.map_or(Lsn::MAX, Lsn::new), ..Order::pages(pages) })
        })
    }
}

impl Policy for PythonPolicy {
    fn period_ns(&self) -> u64 {
        self.period_ns
    }

    fn round(&mut self, view: &View<'_>) -> Order {
        if self.failure.is_some() {
            return Order::pages(0);
        }
        self.ask(view).unwrap_or_else(|error| {
            self.failure = Some(Python::attach(|py| error.value(py).to_string()));
            Order::pages(0)
        })
    }

    fn failure(&mut self) -> Option<String> {
        self.failure.clone()
    }
}
