//! An emulated device from its mount to its end.

use std::collections::VecDeque;
use std::ffi::CString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flatwater_model::storage::{self, Command, Device, Incident, Opening, Operation};
use fuser::{BackgroundSession, Config, Session, SessionACL};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::backing::Backing;
use crate::fuse::{BLOCK_BYTES, EmulatedFiles, Reply, Told};
use crate::service::{Service, Tally};
use flatwater_real::permit::Permit;

use crate::sidecar::Sidecar;

/// The source that our mounts name in /proc/self/mountinfo.
pub const MOUNT_SOURCE: &str = "flatwater-emulate";
/// How often the sidecar is written, and so how much wear a kill can forget.
const SAVED_EVERY: Duration = Duration::from_secs(5);
/// Samples kept for a reader that does not come: an hour's at one a second.
const SAMPLES_MAX: usize = 3600;
/// Incidents that `stats.json` names.
const INCIDENTS_TOLD: usize = 20;
/// What an emptied model is filled again with: requests of this length, so many at once.
const REPLAY_BYTES: u64 = 1 << 20;
const REPLAY_DEPTH: usize = 64;

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

/// What a device told of one interval.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Its end, since the emulator began.
    pub end_s: f64,
    /// Series by name, without the layer.
    pub series: Vec<(String, f64)>,
    /// What happened by itself; times are the emulator's.
    pub incidents: Vec<Incident>,
}

/// An emulated device under way.
pub struct Emulator {
    inner: Arc<Inner>,
    session: Mutex<Option<BackgroundSession>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    mount: PathBuf,
}

struct Inner {
    service: Arc<Service<Reply>>,
    backing: Arc<Backing>,
    sidecar: Sidecar,
    title: String,
    began_ns: u64,
    interval: Duration,
    samples: Mutex<Samples>,
    stopping: AtomicBool,
    /// Why the sidecar could not be written, if it could not.
    trouble: Mutex<Option<String>>,
}

#[derive(Default)]
struct Samples {
    waiting: VecDeque<Sample>,
    latest: Sample,
    incidents: VecDeque<Incident>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        let backing = Arc::new(backing.map_err(|error| told(&spec.backing, &error))?);
        let mut began_ns = 0;
        if spec.replay {
            let extents = backing.extents().map_err(|error| told(&spec.backing, &error))?;
            began_ns = replay(&mut *device, &extents, bytes);
        }
        let sidecar = Sidecar::new(spec.sidecar.clone(), spec.owner);
        sidecar.save(device.state().as_deref()).map_err(|error| told(&spec.sidecar, &error))?;
        let inner = Arc::new(Inner {
            service: Arc::new(Service::new(device, began_ns)),
            backing: backing.clone(),
            sidecar,
            title: spec.title,
            began_ns,
            interval: Duration::from_millis(spec.interval_ms.max(10)),
            samples: Mutex::default(),
            stopping: AtomicBool::new(false),
            trouble: Mutex::default(),
        });
        let files = EmulatedFiles::new(inner.service.clone(), backing, inner.clone());
        let (mount, readers) = (spec.mount.clone(), spec.readers.max(1));
        // From a thread of its own, whose manners all threads of the session inherit.
        let session = std::thread::spawn(move || {
            set_manners();
            serve(files, &mount, readers)
        });
        let session = session.join().map_err(|_| "mounting panicked".to_owned())?;
        let session = session.map_err(|error| told(&spec.mount, &error))?;
        let emulator = Self { inner, session: Mutex::new(Some(session)), threads: Mutex::default(), mount: spec.mount };
        emulator.start_threads()?;
        Ok(emulator)
    }

    fn start_threads(&self) -> Result<(), String> {
        let (pacer, ticker) = (self.inner.service.clone(), self.inner.clone());
        let pace = move || {
            set_manners();
            pacer.pace();
        };
        let failed = |error: io::Error| format!("no thread: {error}");
        let pace = std::thread::Builder::new().name("fw-pace".into()).spawn(pace).map_err(failed)?;
        let tick = std::thread::Builder::new().name("fw-tick".into()).spawn(move || ticker.tick()).map_err(failed)?;
        lock(&self.threads).extend([pace, tick]);
        Ok(())
    }

    /// Whether it still serves: somebody may have unmounted it.
    pub fn mounted(&self) -> bool {
        lock(&self.session).as_ref().is_some_and(|session| !session.guard.is_finished())
    }

    /// Bytes of the file that is served.
    pub fn bytes(&self) -> u64 {
        self.inner.backing.bytes()
    }

    /// Takes the samples since the last call.
    pub fn samples(&self) -> Vec<Sample> {
        lock(&self.inner.samples).waiting.drain(..).collect()
    }

    /// What it has done so far, as JSON: what `stats.json` says.
    pub fn summary(&self) -> String {
        self.inner.stats()
    }

    /// Why the sidecar could not be written, if it could not.
    pub fn trouble(&self) -> Option<String> {
        lock(&self.inner.trouble).clone()
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
        self.inner.stopping.store(true, Relaxed);
        // Those who hold a lazily unmounted one may keep it for ever: nobody waits for them.
        let ended = if lazily { Ok(()) } else { session.join() };
        self.inner.service.stop();
        for thread in lock(&self.threads).drain(..) {
            let _ = thread.join();
        }
        self.inner.save();
        ended
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.stop(true);
    }
}

impl Inner {
    fn tick(&self) {
        let (mut saved, mut next) = (Instant::now(), Instant::now() + self.interval);
        while !self.stopping.load(Relaxed) {
            let now = Instant::now();
            if now < next {
                std::thread::sleep((next - now).min(Duration::from_millis(100)));
                continue;
            }
            next += self.interval * (1 + ((now - next).as_nanos() / self.interval.as_nanos()) as u32);
            self.sample();
            if saved.elapsed() >= SAVED_EVERY {
                saved = Instant::now();
                self.save();
            }
        }
    }

    fn sample(&self) {
        let mut sample = Sample { end_s: self.service.running().as_secs_f64(), ..Sample::default() };
        sample.incidents = self.service.with_device(|now_ns, device| {
            device.observe(now_ns, &mut sample.series);
            device.incidents()
        });
        for incident in &mut sample.incidents {
            incident.at_ns = incident.at_ns.saturating_sub(self.began_ns);
        }
        let Tally { counts, lag } = self.service.take_tally();
        let mut samples = lock(&self.samples);
        let passed_s = sample.end_s - samples.latest.end_s;
        let per_second = [
            ("reads_per_s", counts.reads),
            ("read_bytes_per_s", counts.read_bytes),
            ("writes_per_s", counts.writes),
            ("write_bytes_per_s", counts.written_bytes),
            ("flushes_per_s", counts.flushes),
            ("trims_per_s", counts.trims),
        ];
        sample.series.extend(per_second.map(|(name, count)| (name.to_owned(), count as f64 / passed_s)));
        sample.series.extend(lag.series());
        samples.latest = sample.clone();
        samples.incidents.extend(sample.incidents.iter().cloned());
        let over = samples.incidents.len().saturating_sub(INCIDENTS_TOLD);
        samples.incidents.drain(..over);
        samples.waiting.push_back(sample);
        if samples.waiting.len() > SAMPLES_MAX {
            samples.waiting.pop_front();
        }
    }

    fn save(&self) {
        let state = self.service.with_device(|_, device| device.state());
        let trouble = self.sidecar.save(state.as_deref()).err();
        *lock(&self.trouble) = trouble.map(|error| format!("the device's state cannot be kept: {error}"));
    }
}

impl Told for Inner {
    fn stats(&self) -> String {
        let [mut all, before] = self.service.tally();
        all.merge(&before);
        let Tally { counts, lag } = all;
        let series = |series: Vec<(String, f64)>| -> Map<String, Value> {
            series.into_iter().map(|(name, value)| (name, json!(value))).collect()
        };
        let mut lags = series(lag.series());
        lags.insert("answers".into(), json!(lag.answers()));
        lags.insert("kept_up".into(), json!(lag.kept_up()));
        let samples = lock(&self.samples);
        let incidents: Vec<_> = samples.incidents.iter().map(|one| json!([one.at_ns as f64 / 1e9, one.text])).collect();
        let stats = json!({
            "device": self.title,
            "size_bytes": self.backing.bytes(),
            "allocated_bytes": self.backing.allocated_bytes(),
            "running_s": self.service.running().as_secs_f64(),
            "reads": counts.reads,
            "read_bytes": counts.read_bytes,
            "writes": counts.writes,
            "written_bytes": counts.written_bytes,
            "flushes": counts.flushes,
            "trims": counts.trims,
            "failed": counts.failed,
            "in_flight": self.service.in_flight(),
            "lag": lags,
            "series": series(samples.latest.series.clone()),
            "incidents": incidents,
        });
        format!("{stats:#}\n")
    }

    fn smart(&self) -> String {
        let samples = lock(&self.samples);
        let mut text = format!("{}\n", self.title);
        for (name, value) in samples.latest.series.iter().filter(|(name, _)| !name.starts_with("lag_")) {
            let (name, value) = (name.replace('_', " "), (value * 1000.0).round() / 1000.0);
            text += &format!("{name:<28} {value}\n");
        }
        for incident in &samples.incidents {
            text += &format!("at {:.1} s: {}\n", incident.at_ns as f64 / 1e9, incident.text);
        }
        text
    }
}

fn told(path: &Path, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::WouldBlock {
        return format!("{}: another emulator uses it", path.display());
    }
    format!("{}: {error}", path.display())
}

fn serve(files: EmulatedFiles, mount: &Path, readers: usize) -> io::Result<BackgroundSession> {
    let fuse = mount_fuse(mount)?;
    let mut config = Config::default();
    config.n_threads = Some(readers);
    config.clone_fd = readers > 1;
    let session = Session::from_fd(files, fuse, SessionACL::Owner, config).and_then(Session::spawn);
    if session.is_err() {
        let _ = unmount(mount, true);
    }
    session
}

/// Mounts a file system that is to be served through the descriptor. Not with the crate's own means: those unmount
/// whatever is at the path when they are let go.
fn mount_fuse(mount: &Path) -> io::Result<OwnedFd> {
    let fuse = OpenOptions::new().read(true).write(true).open("/dev/fuse")?;
    // SAFETY: neither can fail.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    let options = format!("fd={},rootmode=40755,user_id={uid},group_id={gid},default_permissions", fuse.as_raw_fd());
    let (source, kind) = (CString::new(MOUNT_SOURCE)?, CString::new("fuse.flatwater")?);
    let (path, options) = (CString::new(mount.as_os_str().as_bytes())?, CString::new(options)?);
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOATIME;
    // SAFETY: all strings end with a zero and live until it returns.
    let failed =
        unsafe { libc::mount(source.as_ptr(), path.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast()) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(fuse.into()) }
}

/// Timers to the nanosecond; no waiting for dirty pages that only this process can make clean, for it may stand below a
/// file system; and before others when it is time. None is vital, and the last two need privileges.
fn set_manners() {
    const TIMER_SLACK_NS: libc::c_ulong = 1;
    /// Since Linux 5.6; from linux/prctl.h.
    const PR_SET_IO_FLUSHER: libc::c_int = 57;
    // A device takes a request at once, whatever its host computes: the lowest priority of those that come before all
    // of the host's. The threads do little, and the kernel leaves the others 5 % in any case.
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: all take plain numbers, or what lives until they return. Process 0 is the calling thread.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS);
        libc::prctl(PR_SET_IO_FLUSHER, 1 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong);
        libc::sched_setscheduler(0, libc::SCHED_RR, &raw const priority);
    }
}

fn unmount(mount: &Path, lazily: bool) -> io::Result<()> {
    let path = CString::new(mount.as_os_str().as_bytes())?;
    let flags = if lazily { libc::MNT_DETACH } else { 0 };
    // SAFETY: the path ends with a zero.
    if unsafe { libc::umount2(path.as_ptr(), flags) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

/// Lets the model write what the backing file holds, in its own time; gives the time when it is done.
fn replay(device: &mut dyn Device, extents: &[(u64, u64)], bytes: u64) -> u64 {
    let block = u64::from(BLOCK_BYTES);
    let mut writes = extents.iter().flat_map(|(offset, length)| {
        let (begin, end) = (offset / block * block, (offset + length).div_ceil(block) * block);
        (begin..end.min(bytes))
            .step_by(REPLAY_BYTES as usize)
            .map(move |at| (at, REPLAY_BYTES.min(end.min(bytes) - at)))
    });
    let (mut now_ns, mut under_way, mut tag, mut ended) = (0, 0, 0, Vec::new());
    loop {
        while under_way < REPLAY_DEPTH
            && let Some((offset, bytes)) = writes.next()
        {
            device.submit(now_ns, tag, Command { operation: Operation::Write, offset, bytes });
            (tag, under_way) = (tag + 1, under_way + 1);
        }
        if under_way == 0 {
            break;
        }
        let Some(next_ns) = device.next_ns() else { break };
        device.advance(next_ns, &mut ended);
        now_ns = now_ns.max(next_ns);
        under_way -= ended.drain(..).len();
    }
    device.observe(now_ns, &mut Vec::new());
    device.incidents();
    now_ns
}
