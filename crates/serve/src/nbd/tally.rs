//! The counts of a server about its clients.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::lock::lock;

/// Counts of a server, for other threads.
#[derive(Debug, Default)]
pub struct Tally {
    /// Clients now.
    pub connections: AtomicU64,
    /// Clients that have connected so far.
    pub accepted: AtomicU64,
    /// Clients that were turned away because there were too many.
    pub turned_away: AtomicU64,
    /// Clients that were disconnected: they broke the protocol, or held memory for which others waited.
    pub cut_off: AtomicU64,
    /// Requests that were answered.
    pub requests: AtomicU64,
    /// Memory that requests hold.
    pub held_bytes: AtomicU64,
    latest: Mutex<Option<String>>,
    processes: Mutex<Vec<u32>>,
}

impl Tally {
    /// Adds to a count.
    pub fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }

    /// A client of this process has connected.
    pub(super) fn came(&self, process: u32) {
        Self::count(&self.accepted);
        Self::count(&self.connections);
        lock(&self.processes).push(process);
    }

    /// A client of this process has left.
    pub(super) fn left(&self, process: u32) {
        self.connections.fetch_sub(1, Relaxed);
        let mut processes = lock(&self.processes);
        if let Some(at) = processes.iter().position(|other| *other == process) {
            processes.remove(at);
        }
    }

    /// The processes of the clients, in order, each once; 0: not known.
    pub fn processes(&self) -> Vec<u32> {
        let mut processes = lock(&self.processes).clone();
        processes.sort_unstable();
        processes.dedup();
        processes
    }

    /// A client was turned away because there are `most` clients already.
    pub(super) fn turn_away(&self, most: usize) {
        Self::count(&self.turned_away);
        *lock(&self.latest) = Some(format!("a client was turned away: there are {most} already"));
    }

    /// The client of a process was cut off.
    pub(super) fn cut_off(&self, process: u32, why: &str) {
        Self::count(&self.cut_off);
        *lock(&self.latest) = Some(format!("the client of process {process} was cut off: {why}"));
    }

    /// Why the latest client was cut off or turned away.
    pub fn latest(&self) -> Option<String> {
        lock(&self.latest).clone()
    }
}
