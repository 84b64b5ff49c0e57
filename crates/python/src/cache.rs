//! The flash cache: `CacheServer` serves one; the rest makes, inspects and drains one that rests.

use std::os::fd::IntoRawFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use flatwater_core::cache::{Change, Command, Failure, Settings};
use flatwater_real::cache::Source;
use flatwater_serve::cache::{self, Server};
use flatwater_serve::fuse::cached;
use flatwater_serve::nbd;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::errors::{engine_error, os_error};
use crate::input::parse;

/// How often a command that lasts looks whether the cache has ended.
const LOOK: Duration = Duration::from_millis(500);

/// A command, as Python writes it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    Set(Vec<(String, String)>),
    WriteBack(Option<(u64, u64)>),
    StopWriteBack,
    Pin { range: (u64, u64), pinned: bool },
    Preload((u64, u64)),
    Resize(u64),
}

impl From<Order> for Command {
    fn from(order: Order) -> Self {
        match order {
            Order::Set(changes) => Self::Set(named(changes)),
            Order::WriteBack(range) => Self::WriteBack(range),
            Order::StopWriteBack => Self::StopWriteBack,
            Order::Pin { range, pinned } => Self::Pin { range, pinned },
            Order::Preload(range) => Self::Preload(range),
            Order::Resize(bytes) => Self::Resize(bytes),
        }
    }
}

fn named(changes: Vec<(String, String)>) -> Vec<Change> {
    changes.into_iter().map(|(name, value)| Change { name, value }).collect()
}

/// What is offered over NBD, to who comes to a listening socket. The server works on a copy: it stays open.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Exported {
    fd: i32,
    name: String,
    bytes: u64,
    block_bytes: u32,
}

/// A cache that is served through FUSE, over NBD, or both.
#[pyclass(module = "flatwater._engine", frozen)]
pub struct CacheServer {
    server: Server,
    clients: Option<Arc<nbd::Tally>>,
    /// What was told is told once: the moment of the last.
    told_ns: Mutex<Option<u64>>,
}

#[pymethods]
impl CacheServer {
    /// Recovers the cache and serves it: through FUSE if the spec says so, and over NBD with an `export`, JSON.
    #[new]
    #[pyo3(signature = (spec, export=None))]
    fn new(py: Python<'_>, spec: &str, export: Option<&str>) -> PyResult<Self> {
        let spec: cache::Spec = parse(spec)?;
        let export: Option<Exported> = export.map(parse).transpose()?;
        py.detach(|| {
            let mut sources: Vec<Box<dyn Source>> = Vec::new();
            let mut clients = None;
            if let Some(Exported { fd, name, bytes, block_bytes }) = export {
                let export = nbd::Export::new(&name, bytes, block_bytes)?;
                let socket = cache::copy(fd).map_err(|error| format!("descriptor {fd}: {error}"))?;
                let server = nbd::Server::on(nbd::Listener::shared(socket), export, nbd::Limits::default());
                clients = Some(server.tally());
                sources.push(Box::new(server));
            }
            Ok((Server::start_with(spec, sources)?, clients))
        })
        .map(|(server, clients)| Self { server, clients, told_ns: Mutex::default() })
        .map_err(|error: String| engine_error(error))
    }

    /// Bytes of the device that is served.
    #[getter]
    fn size_bytes(&self) -> u64 {
        self.server.bytes()
    }

    /// What recovery found and did, in words.
    fn notes(&self) -> Vec<String> {
        self.server.notes().to_vec()
    }

    /// JSON of what was counted, of the settings as they are, and of where requests are recorded.
    fn statistics(&self, py: Python<'_>) -> PyResult<String> {
        let handle = self.server.handle();
        let (statistics, settings, record) =
            py.detach(|| (handle.statistics(), handle.settings(), handle.recorded_to()));
        let statistics = statistics.ok_or_else(|| engine_error("the cache has ended"))?;
        Ok(json!({"statistics": statistics, "settings": settings, "record": record}).to_string())
    }

    /// Records all requests to a file from now on; None: no more. ValueError says what hinders it.
    #[pyo3(signature = (path))]
    fn record(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<()> {
        py.detach(|| self.server.handle().record(path)).map_err(PyValueError::new_err)
    }

    /// Does a command, JSON, and waits for its end.
    fn command(&self, py: Python<'_>, order: &str) -> PyResult<()> {
        let order: Order = parse(order)?;
        py.detach(|| {
            let pending = self.server.handle().command(order.into());
            loop {
                if let Some(result) = pending.wait(LOOK) {
                    return result;
                }
                if self.server.handle().wait(Duration::ZERO).is_some() {
                    return Err(Failure::Stopping);
                }
            }
        })
        .map_err(|failure| match failure {
            // Whoever waits for a write-back knows this one: it was ended.
            Failure::Busy => engine_error("busy"),
            Failure::Size { .. } | Failure::Pins { .. } => PyValueError::new_err(failure.to_string()),
            _ => engine_error(failure),
        })
    }

    /// What happened by itself since the last call: when, in nanoseconds of the server's clock, and in words.
    fn told(&self, py: Python<'_>) -> Vec<(u64, String)> {
        let told = py.detach(|| self.server.handle().incidents());
        let mut last = self.told_ns.lock().unwrap_or_else(PoisonError::into_inner);
        let new: Vec<_> = told.into_iter().filter(|one| last.is_none_or(|last| one.at_ns > last)).collect();
        if let Some(newest) = new.last() {
            *last = Some(newest.at_ns);
        }
        new.into_iter().map(|one| (one.at_ns, one.text)).collect()
    }

    /// Why it serves no more although nobody stopped it, or None.
    fn trouble(&self) -> Option<String> {
        let ended = self.server.handle().wait(Duration::ZERO)?;
        Some(ended.trouble.unwrap_or_else(|| "it ended".into()))
    }

    /// Why nobody can reach it any more (it was unmounted), or None.
    fn over(&self) -> Option<String> {
        self.server.wait_over(Duration::ZERO)
    }

    /// NBD clients that are connected, and their processes, each once (0: not known).
    fn clients(&self) -> (u64, Vec<u32>) {
        let tally = self.clients.as_ref();
        tally.map_or_else(Default::default, |tally| (tally.connections.load(Relaxed), tally.processes()))
    }

    /// Ends it: what is under way is answered, the cache is marked as cleanly stopped; with `drain` everything dirty is
    /// written back first. The mount stays.
    fn stop(&self, py: Python<'_>, drain: bool) -> PyResult<()> {
        py.detach(|| self.server.stop(drain)).map_err(engine_error)
    }
}

/// Mounts on a directory and agrees with the kernel on how it is spoken to: the descriptor, and the agreement as JSON.
#[pyfunction]
pub fn cache_mount(py: Python<'_>, path: PathBuf, source: &str) -> PyResult<(i32, String)> {
    let mounted = py.detach(|| cached::mount(&path, source, true)).map_err(|error| os_error(&error))?;
    let protocol = serde_json::to_string(&mounted.protocol).map_err(engine_error)?;
    Ok((mounted.descriptor.into_raw_fd(), protocol))
}

/// All settings as JSON: a preset's (or the defaults), with changes.
#[pyfunction]
pub fn cache_settings(preset: Option<&str>, changes: Vec<(String, String)>) -> PyResult<String> {
    let mut settings = match preset {
        None => Settings::default(),
        Some(name) => Settings::preset(name).map_err(PyValueError::new_err)?,
    };
    for change in named(changes) {
        settings.change(&change).map_err(PyValueError::new_err)?;
    }
    settings.check().map_err(PyValueError::new_err)?;
    serde_json::to_string(&settings).map_err(engine_error)
}
