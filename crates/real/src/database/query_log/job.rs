//! What the sessions of a replay share, and what they count.

use std::path::PathBuf;
use std::sync::Arc;

use flatwater_core::workload::query_log::Entry;
use flatwater_core::workload::sql::effect;
use schemars::JsonSchema;
use serde::Deserialize;

use super::queues::Queues;
use crate::crew::Crew;
use crate::database::connection::Login;

/// Kinds of statements, for their counts and latencies.
pub const KINDS: [&str; 5] = ["select", "insert", "update", "delete", "other"];
/// What is counted besides them, in the order of `Counter`.
pub const COUNTERS: [&str; 6] = ["queries", "reconnects", "connect_failures", "late", "lag_ms", "writes_skipped"];

/// The places of the counters.
#[derive(Clone, Copy)]
pub(super) enum Counter {
    Queries,
    Reconnects,
    ConnectFailures,
    /// Statements that began later than they should have.
    Late,
    /// By how much, together.
    LagMs,
    WritesSkipped,
}

/// A log to replay, resolved: every field is checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryLogSpec {
    /// The log's file.
    pub log: PathBuf,
    /// How much faster than recorded; 0: each session's statements back to back.
    pub speed: f64,
    /// Replay statements that may write.
    pub allow_writes: bool,
}

/// What the sessions share.
pub(super) struct Job {
    pub(super) spec: QueryLogSpec,
    pub(super) servers: Vec<Login>,
    pub(super) connections: u32,
    /// All sessions take from one queue.
    pub(super) shared: bool,
    pub(super) continue_on_error: bool,
    pub(super) interval_ms: u64,
    pub(super) queues: Queues,
    pub(super) crew: Arc<Crew>,
}

/// The place of a statement's kind among `KINDS`.
pub(super) fn kind_of(entry: &Entry) -> usize {
    match effect::verb(&entry.sql).as_str() {
        "SELECT" => 0,
        "INSERT" | "REPLACE" => 1,
        "UPDATE" => 2,
        "DELETE" => 3,
        _ => 4,
    }
}
