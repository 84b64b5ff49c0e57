//! The reactor as a source of requests sees it.

use std::path::Path;

use flatwater_core::cache::{Command, Failure, Settings, Statistics};
use io_uring::squeue;

use super::ask::Ask;
use super::core::Core;
use super::pool::Buffer;
use super::ring::Owner;

/// A source of requests. The reactor owns it and calls it from its one thread. No call may wait.
pub trait Source: Send {
    /// The reactor begins: the source puts its first operations into the ring.
    ///
    /// # Errors
    /// Why the source cannot begin. Then the reactor does not begin either.
    fn begin(&mut self, port: &mut Port<'_>) -> Result<(), String>;

    /// An operation that was pushed with this key has ended. `result` is that of the kernel: a negative errno, or a count.
    /// `more`: the operation ends several times, and will end again.
    fn completed(&mut self, port: &mut Port<'_>, key: u64, result: i32, more: bool);

    /// A request or command with this key has ended. Its memory belongs to the source again.
    fn answered(&mut self, port: &mut Port<'_>, key: u64, result: Result<(), Failure>);

    /// The reactor is about to wait. A source that collects batches sends them now, or looks for more work. Returns true if
    /// there is more work already; then the reactor does not wait.
    fn turn(&mut self, port: &mut Port<'_>) -> bool {
        let _ = port;
        false
    }

    /// The reactor stops: the source takes no new requests from now on. Those under way are still answered.
    fn stopping(&mut self, port: &mut Port<'_>);

    /// While the reactor stops: whether all answers of the source are sent and all its operations have ended.
    fn idle(&self) -> bool;

    /// Why the source cannot serve any more (its mount is gone, its socket broke); None: it can. The handle reports it.
    fn over(&self) -> Option<String> {
        None
    }
}

/// The reactor as one source sees it.
pub struct Port<'a> {
    pub(super) core: &'a mut Core,
    pub(super) source: u8,
}

impl Port<'_> {
    /// The time of this turn, by the reactor's clock.
    pub fn now_ns(&self) -> u64 {
        self.core.now_ns()
    }

    /// Bytes of the device that is served.
    pub fn bytes(&self) -> u64 {
        self.core.target.bytes()
    }

    /// Takes a request. `answered` is called later, never within this call. A range beyond the device fails
    /// (`Failure::Outside`).
    pub fn ask(&mut self, key: u64, ask: Ask) {
        self.core.ask(self.source, key, ask);
    }

    /// Takes a command, which ends in `answered`.
    pub fn command(&mut self, key: u64, command: Command) {
        self.core.command(self.source, key, command);
    }

    /// The present settings; None: there is no cache.
    pub fn settings(&self) -> Option<&Settings> {
        self.core.target.settings()
    }

    /// Whether `Ask::process` is used: to find it out costs a source time.
    pub fn wants_processes(&self) -> bool {
        let listed = |settings: &Settings| !settings.allow_processes.is_empty() || !settings.deny_processes.is_empty();
        self.core.recorded_to().is_some() || self.core.target.settings().is_some_and(listed)
    }

    /// Records all requests to a file from now on; None: stops recording.
    ///
    /// # Errors
    /// Why that is impossible, in words.
    pub fn record(&mut self, path: Option<&Path>) -> Result<(), String> {
        self.core.record(path)
    }

    /// The file to which requests are recorded.
    pub fn recorded_to(&self) -> Option<&Path> {
        self.core.recorded_to()
    }

    /// The statistics; zeros without a cache.
    pub fn statistics(&self) -> Statistics {
        self.core.target.statistics(self.core.now_ns())
    }

    /// Whether a trimmed range surely reads as zeros.
    pub fn zeros_holes(&self) -> bool {
        self.core.zeros_holes
    }

    /// A buffer of at least `bytes`, on huge pages and registered; its content is arbitrary.
    pub fn take(&mut self, bytes: u32) -> Buffer {
        self.core.memory.take_buffer(bytes)
    }

    /// Gives a buffer back.
    pub fn give(&mut self, buffer: Buffer) {
        self.core.memory.give_buffer(buffer.number);
    }

    /// Puts an operation into the ring. It goes to the kernel before the reactor waits. `completed` is called with this key
    /// (below 2^48) when it has ended. A multishot operation may end several times.
    ///
    /// # Safety
    /// The memory that the operation points to must stay until it has ended.
    pub unsafe fn push(&mut self, entry: squeue::Entry, key: u64) {
        // SAFETY: the caller guarantees it.
        unsafe { self.core.push(Owner::Source(self.source), key, entry) }
    }

    /// Registers a descriptor with the ring: operations on `types::Fixed` of it are cheaper. None: the ring has no more
    /// places.
    pub fn register(&mut self, descriptor: i32) -> Option<u32> {
        self.core.memory.ring().register(&[descriptor]).ok().flatten()
    }

    /// Submits what was pushed, without waiting.
    pub fn submit(&mut self) {
        self.core.memory.ring().submit();
    }

    /// Makes the reactor stop, as `Handle::stop` does.
    pub fn stop(&mut self, drain: bool) {
        self.core.stop_unless_stopping(drain);
    }

    /// The incidents since the cache began to serve, the latest last, with those of changes that were refused.
    pub fn incidents(&self) -> impl DoubleEndedIterator<Item = &flatwater_core::cache::Told> {
        self.core.incidents.iter()
    }
}
