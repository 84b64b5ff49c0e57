//! The handle through which other threads use the reactor: a queue of messages, and an eventfd that wakes the reactor.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flatwater_core::cache::{Command, Failure, Kind, Settings, Side, Statistics, Told};

use super::adversity::Adversity;
use super::core::Core;
use super::recording::{Recording, already};

/// Work that the reactor's thread does between two requests.
type Work = Box<dyn FnOnce(&mut Core) + Send>;

/// A message to the reactor.
pub(super) enum Message {
    Work(Work),
    Command(Command, Sender<Result<(), Failure>>),
    Ask(LocalAsk),
}

/// A request of another thread of this process, with its data.
pub(super) struct LocalAsk {
    /// Its kind.
    pub kind: Kind,
    /// Its first byte.
    pub offset: u64,
    /// The data of a write.
    pub data: Vec<u8>,
    /// Its length.
    pub bytes: u32,
    /// Whether it is durable before it ends.
    pub durable: bool,
    /// The channel for its result and the data of a read.
    pub answer: Sender<(Result<(), Failure>, Vec<u8>)>,
}

/// How a reactor ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The failure, if there was one.
    pub trouble: Option<String>,
}

#[derive(Debug, Default)]
struct Ending {
    ended: Option<Ended>,
    /// Why sources cannot serve any more.
    over: Vec<String>,
}

pub(super) struct Shared {
    queue: Mutex<VecDeque<Message>>,
    wake: File,
    ending: Mutex<Ending>,
    changed: Condvar,
}

/// The handle of a reactor, for other threads. Clones are handles of the same reactor.
#[derive(Clone)]
pub struct Handle(pub(super) Arc<Shared>);

/// A command that was sent. Its answer comes later.
pub struct Pending(Receiver<Result<(), Failure>>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pending {
    /// Waits at most so long for the answer. None: it has not come yet.
    pub fn wait(&self, at_most: Duration) -> Option<Result<(), Failure>> {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        match self.0.recv_timeout(at_most) {
            Ok(answer) => Some(answer),
            Err(Timeout) => None,
            Err(Disconnected) => Some(Err(Failure::Stopping)),
        }
    }
}

impl Handle {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: a plain system call.
        let wake = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if wake < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just made, and no other owner has it.
        let wake = File::from(unsafe { OwnedFd::from_raw_fd(wake) });
        let shared = Shared { queue: Mutex::default(), wake, ending: Mutex::default(), changed: Condvar::new() };
        Ok(Self(Arc::new(shared)))
    }

    pub(super) fn wake_file(&self) -> &File {
        &self.0.wake
    }

    pub(super) fn take(&self) -> VecDeque<Message> {
        std::mem::take(&mut lock(&self.0.queue))
    }

    /// Notes that the reactor has ended. Callers that wait for an answer learn that none comes.
    pub(super) fn end(&self, ended: Ended) {
        lock(&self.0.ending).ended = Some(ended);
        self.take();
        self.0.changed.notify_all();
    }

    pub(super) fn source_over(&self, why: String) {
        lock(&self.0.ending).over.push(why);
        self.0.changed.notify_all();
    }

    fn send(&self, message: Message) {
        lock(&self.0.queue).push_back(message);
        if lock(&self.0.ending).ended.is_some() {
            self.take();
        }
        // The counter of an eventfd does not overflow in practice.
        let _ = (&self.0.wake).write_all(&1u64.to_ne_bytes());
    }

    /// Does work in the reactor's thread and waits for its result. None: the reactor has ended.
    fn within<R: Send + 'static>(&self, work: impl FnOnce(&mut Core) -> R + Send + 'static) -> Option<R> {
        let (sender, receiver) = channel();
        self.send(Message::Work(Box::new(move |core| {
            // The caller may have stopped waiting.
            let _ = sender.send(work(core));
        })));
        receiver.recv().ok()
    }

    /// Sends a command; see `Engine::command`.
    pub fn command(&self, command: Command) -> Pending {
        let (sender, receiver) = channel();
        self.send(Message::Command(command, sender));
        Pending(receiver)
    }

    /// Reads, at any offset and of any length.
    ///
    /// # Errors
    /// The engine's; `Stopping` when the reactor ended.
    pub fn read(&self, offset: u64, bytes: u32) -> Result<Vec<u8>, Failure> {
        self.ask(Kind::Read, offset, Vec::new(), bytes, false)
    }

    /// Writes.
    ///
    /// # Errors
    /// As of `read`.
    pub fn write(&self, offset: u64, data: Vec<u8>, durable: bool) -> Result<(), Failure> {
        let bytes = data.len() as u32;
        self.ask(Kind::Write, offset, data, bytes, durable).map(drop)
    }

    /// Flushes, trims or zeroes.
    ///
    /// # Errors
    /// As of `read`.
    pub fn change(&self, kind: Kind, offset: u64, bytes: u32, durable: bool) -> Result<(), Failure> {
        self.ask(kind, offset, Vec::new(), bytes, durable).map(drop)
    }

    fn ask(&self, kind: Kind, offset: u64, data: Vec<u8>, bytes: u32, durable: bool) -> Result<Vec<u8>, Failure> {
        let (answer, receiver) = channel();
        self.send(Message::Ask(LocalAsk { kind, offset, data, bytes, durable, answer }));
        let (result, data) = receiver.recv().map_err(|_| Failure::Stopping)?;
        result.map(|()| data)
    }

    /// The statistics; None: the reactor has ended.
    pub fn statistics(&self) -> Option<Statistics> {
        self.within(|core| core.target.statistics(core.now_ns()))
    }

    /// The present settings; None: the reactor has ended, or there is no cache.
    pub fn settings(&self) -> Option<Settings> {
        self.within(|core| core.target.settings().cloned()).flatten()
    }

    /// The latest thousand incidents, oldest first.
    pub fn incidents(&self) -> Vec<Told> {
        self.within(|core| core.incidents.iter().cloned().collect()).unwrap_or_default()
    }

    /// Records all requests to a file from now on; None: stops recording.
    ///
    /// # Errors
    /// Why that is impossible, in words.
    pub fn record(&self, path: Option<PathBuf>) -> Result<(), String> {
        // The slow steps are done in this thread, so that the reactor need not wait for them.
        let ended = || "the cache has ended".to_owned();
        if let (Some(now), Some(path)) = (self.recorded_to(), &path) {
            // Another user may have begun the recording: it does not end unnoticed.
            return if now == *path { Ok(()) } else { Err(already(&now)) };
        }
        if let Some(recording) = self.within(Core::take_recording).ok_or_else(ended)? {
            let text = recording.end()?;
            self.within(move |core| core.report(text)).ok_or_else(ended)?;
        }
        let Some(path) = path else { return Ok(()) };
        let options = self.within(|core| core.recording_options()).ok_or_else(ended)?;
        let recording = Recording::begin(&path, options)?;
        self.within(move |core| core.give_recording(recording)).ok_or_else(ended)
    }

    /// The file to which requests are recorded; None: there is no recording, or the reactor has ended.
    pub fn recorded_to(&self) -> Option<PathBuf> {
        self.within(|core| core.recorded_to().map(PathBuf::from)).flatten()
    }

    /// Sets the adversity of a device.
    pub fn set_adversity(&self, side: Side, adversity: Adversity) {
        self.within(move |core| core.adversities.set(side, adversity));
    }

    /// Makes the reactor stop. Sources take no new requests, requests under way are answered, and the engine stops cleanly.
    /// With `drain` all dirty blocks are written back first. `wait` returns when and how it ended.
    pub fn stop(&self, drain: bool) {
        self.send(Message::Work(Box::new(move |core| core.stop(drain))));
    }

    /// Waits until the reactor has ended. None: it has not ended within that time.
    pub fn wait(&self, at_most: Duration) -> Option<Ended> {
        self.wait_for(at_most, |ending| ending.ended.clone())
    }

    /// Waits until the reactor has ended or a source cannot serve any more (its mount is gone), and returns why. None: neither
    /// within that time.
    pub fn wait_over(&self, at_most: Duration) -> Option<String> {
        self.wait_for(at_most, |ending| match &ending.ended {
            Some(ended) => Some(ended.trouble.clone().unwrap_or_default()),
            None => ending.over.first().cloned(),
        })
    }

    fn wait_for<R>(&self, at_most: Duration, what: impl Fn(&Ending) -> Option<R>) -> Option<R> {
        let until = Instant::now() + at_most;
        let mut ending = lock(&self.0.ending);
        loop {
            if let Some(found) = what(&ending) {
                return Some(found);
            }
            let left = until.checked_duration_since(Instant::now())?;
            ending = self.0.changed.wait_timeout(ending, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
