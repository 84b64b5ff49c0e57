//! A cache that serves, from its recovery to its stop: as a file through FUSE and as an NBD export, by one reactor.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;

use flatwater_core::cache::journal::Witness;
use flatwater_core::cache::journal::recovery::{self, Blocks, Terms};
use flatwater_core::cache::{Command, Engine, Failure, Settings};
use flatwater_real::cache::adversity::Adversity;
use flatwater_real::cache::reactor::Parts;
use flatwater_real::cache::target::Plain;
use flatwater_real::cache::{Devices, Handle, Reactor, Source, Target};
use flatwater_real::clock::Clock;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::fuse::cached::{Protocol, Session};
use crate::manners::set_manners;

/// What is served, and how.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The cache device.
    pub fast: PathBuf,
    /// The backing device.
    pub slow: PathBuf,
    /// The pairing record beside it.
    pub pair: PathBuf,
    /// Serve the backing device with no cache, to measure what the transport costs; `fast` and `pair` are then any files.
    #[serde(default)]
    pub plain: bool,
    /// The settings to begin with.
    #[serde(default)]
    pub settings: Settings,
    /// If the cache device failed in an earlier life, start empty, and give up the dirty blocks that were only there.
    #[serde(default)]
    pub give_up: bool,
    /// The backing device is the right one although it is not as it was left.
    #[serde(default)]
    pub trust: bool,
    /// What the kernel calls the backing device; as was said before if absent.
    #[serde(default)]
    pub identity: Option<String>,
    /// Record all requests to this file (a trace); it is appended to.
    #[serde(default)]
    pub record: Option<PathBuf>,
    /// The cache's name, for people.
    #[serde(default)]
    pub name: String,
    /// Serve a mount.
    #[serde(default)]
    pub fuse: Option<FuseSpec>,
    /// What befalls the devices: fast, slow, pair.
    #[serde(default)]
    pub adversities: [Adversity; 3],
}

/// A mount to serve.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FuseSpec {
    /// A descriptor of /dev/fuse, mounted and initialised. The server works on a copy: it stays open.
    pub fd: i32,
    /// What was negotiated.
    pub protocol: Protocol,
    /// Whose the files are; the server's user if absent.
    #[serde(default)]
    pub owner: Option<(u32, u32)>,
}

/// A cache that serves.
pub struct Server {
    handle: Handle,
    thread: Mutex<Option<JoinHandle<()>>>,
    bytes: u64,
    notes: Vec<String>,
}

/// A copy of a descriptor that stays the caller's.
///
/// # Errors
/// EBADF when there is none of this number.
pub fn copy(descriptor: i32) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: it is only borrowed until the copy is made, and a wrong number is refused then.
    unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()
}

impl Server {
    /// Opens the devices, recovers the cache and serves it.
    ///
    /// # Errors
    /// What cannot be, in words.
    pub fn start(spec: Spec) -> Result<Self, String> {
        Self::start_with(spec, Vec::new())
    }

    /// As `start`, with more sources of requests.
    ///
    /// # Errors
    /// What cannot be, in words.
    pub fn start_with(spec: Spec, mut sources: Vec<Box<dyn Source>>) -> Result<Self, String> {
        let clock = Clock::start();
        let mut devices = Devices::open(&spec.fast, &spec.slow, &spec.pair).map_err(|error| error.to_string())?;
        let (target, notes, witness) = if spec.plain {
            let bytes = devices.slow.bytes() / 4096 * 4096;
            (Target::Plain(Plain::new(bytes)), Vec::new(), None)
        } else {
            let (engine, notes, witness) = open_cache(&mut devices, &spec, clock)?;
            (Target::Cache(Box::new(engine)), notes, witness)
        };
        let bytes = target.bytes();
        if let Some(fuse) = spec.fuse {
            let descriptor = copy(fuse.fd).map_err(|error| format!("descriptor {}: {error}", fuse.fd))?;
            // SAFETY: neither can fail.
            let owner = fuse.owner.unwrap_or_else(|| unsafe { (libc::geteuid(), libc::getegid()) });
            sources.push(Box::new(Session::new(descriptor, fuse.protocol, spec.name.clone(), owner)));
        }
        let (adversities, record) = (spec.adversities, spec.record);
        let parts = Parts { devices, target, clock, sources, adversities, record, witness };
        // From a thread of its own, whose manners the reactor's inherits.
        let started = std::thread::spawn(move || {
            set_priority();
            Reactor::start(parts)
        });
        let (handle, thread) = started.join().map_err(|_| "starting panicked".to_owned())??;
        Ok(Self { handle, thread: Mutex::new(Some(thread)), bytes, notes })
    }

    /// Bytes of the device that is served.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What recovery found and did, in words.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The reactor: statistics, settings, commands, requests.
    pub const fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Does a command and waits for its end, for at most so long.
    ///
    /// # Errors
    /// The engine's; `Busy` when it takes longer: then it goes on.
    pub fn command(&self, command: Command, at_most: Duration) -> Result<(), Failure> {
        self.handle.command(command).wait(at_most).unwrap_or(Err(Failure::Busy))
    }

    /// Waits until it can serve nobody any more (unmounted, or its thread ended): why. None: not within that time.
    pub fn wait_over(&self, at_most: Duration) -> Option<String> {
        self.handle.wait_over(at_most)
    }

    /// Ends it: what is under way is answered, and the cache is marked as cleanly stopped; with `drain` all that is dirty
    /// is written back first. A mount stays, for the next to serve.
    ///
    /// # Errors
    /// What went wrong, in words.
    pub fn stop(&self, drain: bool) -> Result<(), String> {
        self.handle.stop(drain);
        self.join()
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// As of `stop`.
    pub fn join(&self) -> Result<(), String> {
        let thread = self.thread.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(thread) = thread {
            thread.join().map_err(|_| "the cache's thread panicked".to_owned())?;
        }
        let ended = self.handle.wait(Duration::ZERO);
        ended.and_then(|ended| ended.trouble).map_or(Ok(()), Err)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Who wanted to know how it went has called `stop`.
        let _ = self.stop(false);
    }
}

/// A cache, what was found and done, and what its backing device is known by.
type Opened = (Engine, Vec<String>, Option<Witness>);

/// Finds out what the cache holds.
fn open_cache(devices: &mut Devices, spec: &Spec, clock: Clock) -> Result<Opened, String> {
    let Devices { fast, slow, pair } = devices;
    let terms = Terms { give_up: spec.give_up, trust: spec.trust, identity: spec.identity.clone() };
    let found = recovery::recover_on(recovery::Devices { fast, slow, pair }, &terms);
    let mut recovered = found.map_err(|trouble| trouble.to_string())?;
    let notes = std::mem::take(&mut recovered.notes);
    let witness = recovered.witness.take();
    Ok((Engine::new(spec.settings.clone(), recovered, clock.now_ns())?, notes, witness))
}

/// The manners of a server, and a place before others, as the kernel's own threads for block devices have. It is not
/// vital, and needs privileges.
fn set_priority() {
    set_manners();
    // SAFETY: plain numbers. Of the calling thread alone: in Linux, priorities are the threads'.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}
