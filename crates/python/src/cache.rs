//! The flash cache: `CacheServer` serves one; the rest makes, inspects and drains one that rests.

use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use flatwater_core::cache::journal::recovery::{self, Blocks, Layout, Progress, Sizes, Terms, Trouble};
use flatwater_core::cache::{Change, Command, Failure, Settings};
use flatwater_real::cache::{Devices, Source};
use flatwater_serve::cache::{self, Server};
use flatwater_serve::nbd;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{engine_error, parse};

/// How often a command that lasts looks whether the cache has ended.
const LOOK: Duration = Duration::from_millis(500);

/// What is the user's to mend is a ValueError.
fn trouble_error(trouble: &Trouble) -> PyErr {
    match trouble {
        Trouble::Io { .. } | Trouble::Damaged(_) => engine_error(trouble),
        _ => PyValueError::new_err(trouble.to_string()),
    }
}

fn os_error(error: &io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(code) => PyOSError::new_err((code, error.to_string())),
        None => engine_error(error),
    }
}

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
        let (statistics, settings, record) = py.detach(|| (handle.statistics(), handle.settings(), handle.records()));
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
        let told = py.detach(|| self.server.handle().told());
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
    let mounted = py.detach(|| cache::mount(&path, source, true)).map_err(|error| os_error(&error))?;
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

/// A device that is only looked at: it may be anybody's.
struct Looked {
    file: File,
    bytes: u64,
}

impl Looked {
    fn open(path: &PathBuf) -> io::Result<Self> {
        use std::io::{Seek, SeekFrom};
        let mut file = File::open(path)?;
        let bytes = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, bytes })
    }
}

impl Blocks for Looked {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    fn write(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where a resting cache lies.
#[derive(Clone, Deserialize, JsonSchema)]
pub(crate) struct Places {
    fast: PathBuf,
    slow: PathBuf,
    pair: PathBuf,
    /// The backing device is the right one although it is not as it was left.
    #[serde(default)]
    trust: bool,
    /// What the kernel calls the backing device.
    #[serde(default)]
    identity: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Wanted {
    #[serde(flatten)]
    places: Places,
    uuid: String,
    fast_bytes: u64,
    slow_bytes: u64,
    block_bytes: u32,
    #[serde(default)]
    force: bool,
}

/// Makes an empty cache. ValueError names what is in the way.
#[pyfunction]
pub fn cache_make(py: Python<'_>, spec: &str) -> PyResult<()> {
    let wanted: Wanted = parse(spec)?;
    let hex: String = wanted.uuid.chars().filter(|&letter| letter != '-').collect();
    let uuid = u128::from_str_radix(&hex, 16).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let layout = Layout {
        uuid: uuid.to_be_bytes(),
        fast_bytes: wanted.fast_bytes,
        slow_bytes: wanted.slow_bytes,
        block_bytes: wanted.block_bytes,
    };
    py.detach(|| {
        let Places { fast, slow, pair, identity, .. } = &wanted.places;
        let identity = identity.as_deref().unwrap_or_default();
        let mut devices = Devices::open(fast, slow, pair).map_err(engine_error)?;
        recovery::format_as(borrowed(&mut devices), &layout, Sizes::default(), wanted.force, identity)
            .map(drop)
            .map_err(|trouble| trouble_error(&trouble))
    })
}

fn borrowed(devices: &mut Devices) -> recovery::Devices<'_> {
    recovery::Devices { fast: &mut devices.fast, slow: &mut devices.slow, pair: &mut devices.pair }
}

/// What a resting cache says of itself, as JSON; None: there is none. With `pair` and `slow`, also whether it and
/// that backing device belong together. Blocks are not read.
#[pyfunction]
#[pyo3(signature = (fast, pair=None, slow=None))]
pub fn cache_inspect(
    py: Python<'_>,
    fast: PathBuf,
    pair: Option<PathBuf>,
    slow: Option<PathBuf>,
) -> PyResult<Option<String>> {
    py.detach(|| match inspect(&fast, pair.as_ref().zip(slow.as_ref()), false, &mut |_| true) {
        Ok(report) => Ok(Some(report.to_string())),
        Err(Failed::Trouble(Trouble::NoCache(_))) => Ok(None),
        Err(failed) => Err(failed.into()),
    })
}

enum Failed {
    Trouble(Trouble),
    Open(PathBuf, io::Error),
}

impl From<Failed> for PyErr {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Trouble(trouble) => trouble_error(&trouble),
            Failed::Open(path, error) => engine_error(format!("{}: {error}", path.display())),
        }
    }
}

fn inspect(
    fast: &PathBuf,
    beside: Option<(&PathBuf, &PathBuf)>,
    check: bool,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Value, Failed> {
    let open = |path: &PathBuf| Looked::open(path).map_err(|error| Failed::Open(path.clone(), error));
    let mut fast = open(fast)?;
    let mut beside = beside.map(|(pair, slow)| Ok((open(pair)?, open(slow)?))).transpose()?;
    let beside = beside.as_mut().map(|(pair, slow)| (pair as &mut dyn Blocks, slow as &mut dyn Blocks));
    let report = recovery::inspect(&mut fast, beside, check, progress).map_err(Failed::Trouble)?;
    Ok(json!(report))
}

/// How far a `CacheTask` is.
#[derive(Default)]
struct Shared {
    done: AtomicU64,
    total: AtomicU64,
    stop: AtomicBool,
}

impl Shared {
    fn told(&self, progress: Progress) -> bool {
        self.done.store(progress.done, Relaxed);
        self.total.store(progress.total, Relaxed);
        !self.stop.load(Relaxed)
    }
}

/// What a task's thread ends with.
type Ended = Result<Value, Failed>;

/// A resting cache being checked or drained.
#[pyclass(module = "flatwater._engine", frozen)]
pub struct CacheTask {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<Ended>>>,
}

#[pymethods]
impl CacheTask {
    /// Starts it: `kind` is "check" or "drain".
    #[new]
    fn new(kind: &str, spec: &str) -> PyResult<Self> {
        let places: Places = parse(spec)?;
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        let thread = match kind {
            "check" => std::thread::spawn(move || check(&places, &own)),
            "drain" => std::thread::spawn(move || drain(&places, &own)),
            _ => return Err(PyValueError::new_err(format!("{kind:?} is no task"))),
        };
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Blocks done.
    fn done(&self) -> u64 {
        self.shared.done.load(Relaxed)
    }

    /// Blocks to be done; 0 until that is known.
    fn total(&self) -> u64 {
        self.shared.total.load(Relaxed)
    }

    /// Asks it to end: what is done stays done.
    fn stop(&self) {
        self.shared.stop.store(true, Relaxed);
    }

    /// Whether it has ended.
    fn ended(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for its end; what it found as JSON, once.
    fn result(&self, py: Python<'_>) -> PyResult<String> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = thread.ok_or_else(|| engine_error("its result was taken"))?;
        let ended = py.detach(|| thread.join()).map_err(|_| engine_error("it panicked"))?;
        ended.map(|value| value.to_string()).map_err(PyErr::from)
    }
}

fn check(places: &Places, shared: &Shared) -> Ended {
    inspect(&places.fast, Some((&places.pair, &places.slow)), true, &mut |progress| shared.told(progress))
}

fn drain(places: &Places, shared: &Shared) -> Ended {
    let Places { fast, slow, pair, trust, identity } = places;
    let terms = Terms { trust: *trust, identity: identity.clone(), ..Terms::default() };
    let mut devices = Devices::open(fast, slow, pair).map_err(|error| Failed::Open(PathBuf::new(), error))?;
    let drained = recovery::drain_on(borrowed(&mut devices), &terms, &mut |progress| shared.told(progress));
    let drained = drained.map_err(Failed::Trouble)?;
    Ok(json!({
        "written_blocks": drained.written_blocks,
        "left_blocks": drained.left_blocks,
        "damaged": drained.damaged,
    }))
}
