//! What a source of requests sees of the reactor.

use std::path::Path;

use flatwater_core::cache::{Command, Failure, Settings, Statistics};
use io_uring::squeue;

use super::ask::Ask;
use super::core::Core;
use super::pool::Buffer;
use super::ring::Owner;

/// Where requests come from: the reactor owns it and calls it from its one thread. None of the calls may wait.
pub trait Source: Send {
    /// The reactor begins: the source puts its first operations into the ring.
    ///
    /// # Errors
    /// What hinders it; the reactor then does not begin.
    fn begin(&mut self, port: &mut Port<'_>) -> Result<(), String>;

    /// An operation that was pushed with this key ended, with what the kernel says: a negative errno, or a count. `more`:
    /// it is one that ends several times, and will again.
    fn completed(&mut self, port: &mut Port<'_>, key: u64, result: i32, more: bool);

    /// A request or command that was asked for with this key ended. Its memory is the source's again.
    fn answered(&mut self, port: &mut Port<'_>, key: u64, result: Result<(), Failure>);

    /// All that could be done now is done: the reactor is about to wait. Sources that batch send now, or look for more
    /// to do; true: there is more already, so do not wait.
    fn turn(&mut self, port: &mut Port<'_>) -> bool {
        let _ = port;
        false
    }

    /// The reactor wants to end: no new request from now on. Those under way are answered still.
    fn stopping(&mut self, port: &mut Port<'_>);

    /// Whether nothing of it is under way any more (asked while it ends): its answers are sent, its operations over.
    fn idle(&self) -> bool;

    /// Why it can serve nobody any more (its mount is gone, its socket broke), if so: the reactor's handle tells.
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
    /// The reactor's clock, as of this turn.
    pub fn now_ns(&self) -> u64 {
        self.core.now_ns()
    }

    /// Bytes of the device that is served.
    pub fn bytes(&self) -> u64 {
        self.core.target.bytes()
    }

    /// Takes a request; `answered` comes later, never from within this call. Ranges beyond the device are refused
    /// there (`Failure::Outside`).
    pub fn ask(&mut self, key: u64, ask: Ask) {
        self.core.ask(self.source, key, ask);
    }

    /// Takes a command, which ends in `answered`.
    pub fn command(&mut self, key: u64, command: Command) {
        self.core.command(self.source, key, command);
    }

    /// The settings as they are; None when there is no cache.
    pub fn settings(&self) -> Option<&Settings> {
        self.core.target.settings()
    }

    /// Whether anybody looks at `Ask::process`: finding it out costs a source time.
    pub fn wants_processes(&self) -> bool {
        let listed = |settings: &Settings| !settings.allow_processes.is_empty() || !settings.deny_processes.is_empty();
        self.core.records().is_some() || self.core.target.settings().is_some_and(listed)
    }

    /// Records all requests to a file from now on; None: no more.
    ///
    /// # Errors
    /// What hinders it, in words.
    pub fn record(&mut self, path: Option<&Path>) -> Result<(), String> {
        self.core.record(path)
    }

    /// The file that requests are recorded to.
    pub fn records(&self) -> Option<&Path> {
        self.core.records()
    }

    /// What was counted; zeros when there is no cache.
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

    /// Puts an operation into the ring; it goes to the kernel before the reactor waits, and `completed` tells of its
    /// end with this key (below 2^48). Multishot operations may end several times.
    ///
    /// # Safety
    /// What the operation points to must stay until it ended.
    pub unsafe fn push(&mut self, entry: squeue::Entry, key: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.core.push(Owner::Source(self.source), key, entry) }
    }

    /// Registers a descriptor with the ring: operations on `types::Fixed` of it are cheaper. None when the ring has no
    /// more places.
    pub fn register(&mut self, descriptor: i32) -> Option<u32> {
        self.core.memory.ring().register(&[descriptor]).ok().flatten()
    }

    /// Starts what was pushed, without waiting.
    pub fn submit(&mut self) {
        self.core.memory.ring().submit();
    }

    /// Lets the reactor end, as `Handle::stop` does.
    pub fn stop(&mut self, drain: bool) {
        self.core.stop_unless_asked(drain);
    }

    /// What happened by itself since the cache began to serve, latest last, and what was told about a change that was
    /// refused.
    pub fn told(&self) -> impl DoubleEndedIterator<Item = &flatwater_core::cache::Told> {
        self.core.told.iter()
    }
}
