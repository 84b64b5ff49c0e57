//! What the sessions of a replay share, and what they count.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use flatwater_core::workload::query_log::{Entry, Notes, Unread};
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
    /// What of the log was left out so far.
    pub(super) unread: Mutex<Unread>,
    /// What it does not tell.
    pub(super) notes: Mutex<Notes>,
    /// Triggers, functions and events of the server, where a general log has their statements, too.
    pub(super) programs: u64,
    pub(super) crew: Arc<Crew>,
}

impl Job {
    /// A statement of this moment of the log is due.
    pub(super) fn reach(&self, since_first_us: u64) {
        self.reached_us.fetch_max(since_first_us, Relaxed);
    }

    /// What of the log was left out so far.
    pub(super) fn note_told(&self, unread: Unread, notes: Notes) {
        *self.notes.lock().expect("nothing panics under it") = notes;
        if unread.count > 0 {
            *self.unread.lock().expect("nothing panics under it") = unread;
        }
    }

    /// Tells what of the log was not replayed: of a run that ended before it, at this moment of the log, and what cannot be
    /// read.
    pub(super) fn tell_end(&self, early_us: Option<u64>) {
        let left = early_us.and_then(|ended_us| {
            self.reach(ended_us);
            self.left()
        });
        let told: Vec<String> = left.into_iter().chain(self.unread()).chain(self.guesses()).collect();
        if !told.is_empty() {
            self.crew.warn(&told.join("; "));
        }
    }

    fn left(&self) -> Option<String> {
        let Some(length_us) = self.length_us else {
            return Some("the run ended before the log (workload.duration_s)".into());
        };
        let left_us = length_us.saturating_sub(self.reached_us.load(Relaxed));
        let (left, length) = (seconds(left_us), seconds(length_us));
        let text = format!(
            "the run ended before the log: the last {left} of its {length} were not replayed (workload.duration_s)"
        );
        (left_us > 0).then_some(text)
    }

    fn guesses(&self) -> Vec<String> {
        let Notes { nameless, calls, logged_one_of, sets_for_all_at, set_back_at, older_at, reopened_at } =
            *self.notes.lock().expect("nothing panics under it");
        let log = self.spec.log.display();
        let nameless = nameless.then(|| {
            format!(
                "{log} does not tell which connection sent a statement: each user and host had one session, and \
                 transactions of its connections are mixed (a general log tells it)"
            )
        });
        let calls = calls.then(|| {
            format!("{log} may have the statements of stored programs besides their CALL: those were run twice")
        });
        let programs = (self.programs > 0).then(|| {
            format!(
                "{log} has what triggers, functions and events did as statements of their own, and the server has {} of \
                 them: these statements may have run twice (a slow log does not have them)",
                self.programs
            )
        });
        let sampled = (logged_one_of > 1).then(|| {
            format!(
                "{log} has one of {logged_one_of} statements or sessions (log_slow_rate_limit): the load is so many times \
                 less than the recorded server's"
            )
        });
        let for_all = sets_for_all_at.filter(|_| self.spec.allow_writes).map(|line| {
            format!("{log}:{line}: it sets a variable for all sessions (SET GLOBAL): the server keeps it after the run")
        });
        let set_back = set_back_at.map(|line| {
            format!("{log}:{line}: its times go back, as at the end of summer time: what follows went on from the time before")
        });
        let older = older_at.map(|line| {
            format!("{log}:{line}: its times go back by more than a day (a damaged time, or logs in another order): what is older than \
                 the log's begin was sent at once")
        });
        let reopened = reopened_at.filter(|_| self.spec.allow_writes).map(|line| {
            format!(
                "{log}:{line}: the log was opened again here: if the server was restarted, the same number is another \
                 connection since, and transactions that were open then went on (cut the log there)"
            )
        });
        [nameless, calls, programs, sampled, for_all, set_back, older, reopened].into_iter().flatten().collect()
    }

    fn unread(&self) -> Option<String> {
        let Unread { count, first } = *self.unread.lock().expect("nothing panics under it");
        let (line, what) = first?;
        let (log, some) = (self.spec.log.display(), if count == 1 { "entry" } else { "entries" });
        Some(format!("{count} {some} of the log left out; the first is {log}:{line}: {what}"))
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
