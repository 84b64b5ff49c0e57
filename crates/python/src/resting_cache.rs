//! Caches that rest: they are made, inspected, checked and drained.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use flatwater_core::cache::journal::recovery::{self, Blocks, Layout, Progress, Sizes, Terms, Trouble};
use flatwater_real::cache::Devices;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::engine_error;
use crate::input::parse;

/// What is the user's to mend is a ValueError.
fn trouble_error(trouble: &Trouble) -> PyErr {
    match trouble {
        Trouble::Io { .. } | Trouble::Damaged(_) => engine_error(trouble),
        _ => PyValueError::new_err(trouble.to_string()),
    }
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
