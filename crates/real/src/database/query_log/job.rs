//! What the sessions of a replay share, and what they count.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
pub const COUNTERS: [&str; 8] =
    ["queries", "reconnects", "connect_failures", "late", "lag_ms", "writes_skipped", "resets", "mixed"];

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
    /// Connections that were made anew for another recorded connection.
    Resets,
    /// Statements on a session that another recorded connection was using, too.
    Mixed,
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
    /// From the log's first statement to its last one, microseconds, where its end tells it.
    pub(super) length_us: Option<u64>,
    /// How far into the log statements were due, microseconds.
    pub(super) reached_us: AtomicU64,
    pub(super) crew: Arc<Crew>,
}

impl Job {
    /// A statement of this moment of the log is due.
    pub(super) fn reach(&self, since_first_us: u64) {
        self.reached_us.fetch_max(since_first_us, Relaxed);
    }

    /// Tells how much of the log was left, of a run that ended before it.
    pub(super) fn tell_left(&self) {
        let Some(length_us) = self.length_us else {
            return self.crew.warn("the run ended before the log (workload.duration_s)");
        };
        let left_us = length_us.saturating_sub(self.reached_us.load(Relaxed));
        if left_us > 0 {
            let (left, length) = (seconds(left_us), seconds(length_us));
            self.crew.warn(&format!(
                "the run ended before the log: the last {left} of its {length} were not replayed (workload.duration_s)"
            ));
        }
    }
}

fn seconds(us: u64) -> String {
    format!("{} s", (us as f64 / 1e5).round() / 10.0)
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
