//! An emulated device from its mount to its end.

mod replay;
mod watch;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use flatwater_model::storage::{self, Opening};
use flatwater_real::permit::Permit;
use fuser::BackgroundSession;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::backing::Backing;
use crate::fuse::emulated::{EmulatedFiles, Reply, Told, serve};
use crate::fuse::{BLOCK_BYTES, unmount};
use crate::lock::lock;
use crate::manners::set_manners;
use crate::service::Service;
use crate::sidecar::Sidecar;
use crate::trimmed::Trimmed;
use replay::{replay, trim_others};
pub use watch::Sample;
use watch::Watch;

/// The source that our mounts name in /proc/self/mountinfo.
pub const MOUNT_SOURCE: &str = "flatwater-emulate";
/// What to emulate, resolved and checked by the caller.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The device.
    pub device: storage::Spec,
    /// Its name, for people.
    pub title: String,
    /// Everything random follows from it.
    pub seed: u64,
    /// Bytes of the file that is served.
    pub bytes: u64,
    /// Bytes from the beginning that the model takes as used when it is made.
    pub used_bytes: u64,
    /// Ranges (offset, bytes) that were trimmed in earlier uses of the backing file.
    pub trimmed: Vec<(u64, u64)>,
    /// Let the model write what the backing file holds before it serves: for a device that is made empty.
    pub replay: bool,
    /// The file that holds what is written.
    pub backing: PathBuf,
    /// The file, as it was found when it was checked.
    pub permit: Permit,
    /// Throw away what is in it.
    pub emptied: bool,
    /// What is flushed survives a power cut.
    pub durable: bool,
    /// The directory to mount on.
    pub mount: PathBuf,
    /// The sidecar's file ...
    pub sidecar: PathBuf,
    /// ... and what stands in it beside the device's state.
    pub owner: Map<String, Value>,
    /// Threads that take requests.
    pub readers: usize,
    /// Length of an interval of the series, ms.
    pub interval_ms: u64,
}

/// An emulated device under way.
pub struct Emulator {
    service: Arc<Service<Reply>>,
    watch: Arc<Watch>,
    backing: Arc<Backing>,
    trimmed: Arc<Mutex<Trimmed>>,
    bytes: u64,
    used_bytes: u64,
    session: Mutex<Option<BackgroundSession>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    mount: PathBuf,
}

impl Emulator {
    /// Makes the device, mounts it and serves it.
    ///
    /// # Errors
    /// What cannot be, in words.
    pub fn start(spec: Spec) -> Result<Self, String> {
        let mut device = spec.device.open(Opening { seed: spec.seed, used_bytes: spec.used_bytes })?;
        let bytes = spec.bytes / u64::from(BLOCK_BYTES) * u64::from(BLOCK_BYTES);
        if bytes == 0 || bytes > device.capacity_bytes() {
            return Err(format!("{bytes} B cannot be served from a device of {} B", device.capacity_bytes()));
        }
        let backing = Backing::open(&spec.backing, &spec.permit, bytes, spec.durable, spec.emptied);
        let backing = Arc::new(backing.map_err(|error| io_error_text(&spec.backing, &error))?);
        let trimmed = Trimmed::of(&spec.trimmed);
        let extents = backing.extents().map_err(|error| io_error_text(&spec.backing, &error))?;
        let mut began_ns = 0;
        if spec.replay {
            began_ns = replay(&mut *device, &extents, bytes);
        } else {
            let held = trimmed.held(spec.used_bytes, &extents);
            let as_made = held == Trimmed::default().held(spec.used_bytes, &[]);
            if !as_made && !device.hold(0, &held) {
                began_ns = trim_others(&mut *device, &held, bytes);
            }
        }
        let sidecar = Sidecar::new(spec.sidecar.clone(), spec.owner);
        let saved = sidecar.save(device.state().as_deref(), &trimmed.ranges());
        saved.map_err(|error| io_error_text(&spec.sidecar, &error))?;
        let trimmed = Arc::new(Mutex::new(trimmed));
        let service = Arc::new(Service::new(device, began_ns));
        let interval = Duration::from_millis(spec.interval_ms.max(10));
        let watch =
            Watch::new(service.clone(), backing.clone(), sidecar, trimmed.clone(), spec.title, began_ns, interval);
        let watch = Arc::new(watch);
        let files = EmulatedFiles::new(service.clone(), backing.clone(), trimmed.clone(), watch.clone());
        let (mount, readers) = (spec.mount.clone(), spec.readers.max(1));
        // From a thread of its own, whose manners all threads of the session inherit.
        let session = std::thread::spawn(move || {
            set_priority();
            serve(files, &mount, MOUNT_SOURCE, readers)
        });
        let session = session.join().map_err(|_| "mounting panicked".to_owned())?;
        let session = session.map_err(|error| io_error_text(&spec.mount, &error))?;
        let (session, threads) = (Mutex::new(Some(session)), Mutex::default());
        let (used_bytes, mount) = (spec.used_bytes, spec.mount);
        let emulator = Self { service, watch, backing, trimmed, bytes, used_bytes, session, threads, mount };
        emulator.start_threads()?;
        Ok(emulator)
    }

    fn start_threads(&self) -> Result<(), String> {
        let (pacer, watch) = (self.service.clone(), self.watch.clone());
        let pace = move || {
            set_priority();
            pacer.pace();
        };
        let failed = |error: io::Error| format!("no thread: {error}");
        let pace = std::thread::Builder::new().name("fw-pace".into()).spawn(pace).map_err(failed)?;
        let tick = std::thread::Builder::new().name("fw-tick".into()).spawn(move || watch.tick()).map_err(failed)?;
        lock(&self.threads).extend([pace, tick]);
        Ok(())
    }

    /// Whether it still serves: somebody may have unmounted it.
    pub fn mounted(&self) -> bool {
        lock(&self.session).as_ref().is_some_and(|session| !session.guard.is_finished())
    }

    /// Bytes of the file that is served.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Forgets what was trimmed so far. At the next `settle`, what was not trimmed since counts as held.
    pub fn forget_trims(&self) {
        *lock(&self.trimmed) = Trimmed::default();
    }

    /// Brings the device into its initial state anew, with the data that it holds now: as if it were started again. Thus
    /// uses that prepared the same data begin with the same device, whatever they did to prepare them. A device without such
    /// a state stays as it is.
    ///
    /// # Errors
    /// The system's error.
    pub fn settle(&self) -> io::Result<()> {
        let trimmed = lock(&self.trimmed).clone();
        let held = trimmed.held(self.used_bytes, &self.backing.extents()?);
        self.service.with_device(|now_ns, device| device.hold(now_ns, &held));
        Ok(())
    }

    /// Takes the samples since the last call.
    pub fn samples(&self) -> Vec<Sample> {
        self.watch.take_samples()
    }

    /// What it has done so far, as JSON: what `stats.json` says.
    pub fn summary(&self) -> String {
        self.watch.stats()
    }

    /// Why the sidecar could not be written, if it could not.
    pub fn trouble(&self) -> Option<String> {
        self.watch.trouble()
    }

    /// Unmounts, ends all threads and keeps the device's state. With `lazily`, whatever still uses it: that then finds
    /// no device any more.
    ///
    /// # Errors
    /// What the system says; EBUSY when it is in use, and then it goes on serving.
    pub fn stop(&self, lazily: bool) -> io::Result<()> {
        if self.mounted() {
            unmount(&self.mount, lazily)?;
        }
        let Some(session) = lock(&self.session).take() else { return Ok(()) };
        self.watch.stop();
        // Those who hold a lazily unmounted one may keep it for ever: nobody waits for them.
        let ended = if lazily { Ok(()) } else { session.join() };
        self.service.stop();
        for thread in lock(&self.threads).drain(..) {
            let _ = thread.join();
        }
        self.watch.save();
        ended
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.stop(true);
    }
}

/// The text of an error, with its path.
fn io_error_text(path: &Path, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::WouldBlock {
        return format!("{}: another emulator uses it", path.display());
    }
    format!("{}: {error}", path.display())
}

/// The manners of a server, and a place before others when it is time. It is not vital, and needs privileges.
fn set_priority() {
    set_manners();
    // A device takes a request at once, whatever its host computes: the lowest priority of those that come before all
    // of the host's. The threads do little, and the kernel leaves the others 5 % in any case.
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: it lives until the call returns. Process 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const priority) };
}
