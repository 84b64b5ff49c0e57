//! What to run: a server, its clients and its machine, in the words of the experiment file's loader.

use schemars::JsonSchema;
use serde::Deserialize;

use super::flushing;
use super::generation::Generation;
use super::settings::Settings;
use super::touches::{Measured, Workload};
use crate::storage;

/// CPU time of a server's work, ns of one core.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// A statement: network, parser, optimizer, locks.
    pub statement_ns: u64,
    /// A page that a statement uses: latches, search, a row or a few.
    pub touch_ns: u64,
    /// A page that is read: its checksum, and the way through the kernel.
    pub read_ns: u64,
    /// A page that is written.
    pub write_ns: u64,
    /// What a statement holds of mutexes that the whole server shares: one thread after another.
    #[serde(default)]
    pub mutex_ns: u64,
    /// What the read of a page holds of them.
    #[serde(default)]
    pub read_mutex_ns: u64,
    /// Between a statement's answer and the next statement: the network's and the client's part of a round trip. The
    /// server's cores do nothing for it.
    #[serde(default)]
    pub round_trip_ns: u64,
    /// The kernel's part of a file's sync, besides the device's.
    #[serde(default)]
    pub fsync_ns: u64,
    /// What the sync of a data file takes for each page that was written since the last one: the file system's journal
    /// is committed behind the data (ordered mode), and whoever writes the log through the kernel's cache waits for it.
    #[serde(default)]
    pub sync_page_ns: u64,
    /// What each read and write of a device takes of the cores beside the server's own work, which does not wait for it: a
    /// program on the same machine that emulates the device.
    #[serde(default)]
    pub request_ns: u64,
}

/// What to run, resolved and checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The transactions.
    pub workload: Workload,
    /// What was counted of them on a real server.
    #[serde(default)]
    pub measured: Measured,
    /// Servers beside each other on one machine: connections, data and the pool are shared out among them.
    #[serde(default = "one")]
    pub servers: u32,
    /// Threads that run them, one after another without a pause.
    pub connections: u32,
    /// What the server does its own way.
    pub generation: Generation,
    /// Its settings.
    pub settings: Settings,
    /// Another server's policy in place of its own.
    #[serde(default)]
    pub flushing: Option<flushing::Name>,
    /// Cores of its machine.
    pub cores: u32,
    /// What its work costs.
    pub cpu: Cpu,
    /// Begin as after a long run: the pool is full, and a cache below has seen what it has.
    pub warm: bool,
    /// Where everything is that has no device of its own.
    pub device: storage::Spec,
    /// Devices of their own.
    #[serde(default)]
    pub others: Vec<Other>,
    /// Memory that the kernel has for pages of the log; None: for all of them.
    #[serde(default)]
    pub page_cache_bytes: Option<u64>,
    /// Length of an interval, ms.
    pub interval_ms: u64,
    /// Everything random follows from it.
    pub seed: u64,
}

impl Spec {
    /// Tables that have a device of their own.
    pub fn tables_apart(&self) -> Vec<&str> {
        let parts = self.others.iter().flat_map(|other| &other.holds);
        parts.filter_map(|part| if let Part::Table(name) = part { Some(name.as_str()) } else { None }).collect()
    }
}

const fn one() -> u32 {
    1
}

/// A device beside the one for everything that is not said.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Other {
    /// What its series are called by.
    pub name: String,
    /// The device.
    pub device: storage::Spec,
    /// What is on it.
    pub holds: Vec<Part>,
}

/// What may lie on a device of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The redo log.
    Log,
    /// The doublewrite buffer.
    Doublewrite,
    /// The binary log.
    Binlog,
    /// A table with its indexes.
    Table(String),
}
