//! What the lanes of a run share, and what they count.

use std::sync::Arc;

use flatwater_core::interval::Kind;

use super::spec::Spec;
use crate::crew::Crew;

/// Things that are counted besides transactions, in the order of their names below; after them one counter an instance.
#[derive(Clone, Copy)]
pub(super) enum Counter {
    Queries,
    Deadlocks,
    LockTimeouts,
    Conflicts,
    Rollbacks,
    Reconnects,
    ConnectFailures,
    /// Time in which sessions waited for the answers to their commits, microseconds.
    CommitUs,
}

pub(super) const COUNTERS: [&str; 8] =
    ["queries", "deadlocks", "lock_timeouts", "conflicts", "rollbacks", "reconnects", "connect_failures", "commit_us"];

/// What lanes share.
pub(super) struct Job {
    pub(super) spec: Spec,
    /// The kinds of transactions.
    pub(super) kinds: &'static [Kind],
    pub(super) crew: Arc<Crew>,
    /// Whether lanes let the server's threads go first.
    pub(super) yields: bool,
}
