//! What an array can do beside the host's requests.

/// Kinds of background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Reads one member from end to end.
    Patrol,
    /// Reads all members row by row.
    Check,
    /// Reads the others and writes one member.
    Rebuild,
}

/// Background work under way.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// What it does.
    pub task: Task,
    /// On which member; of a check: any.
    pub member: u32,
    /// Bytes of a member that are done.
    pub(super) done: u64,
    pub(super) pending: u32,
    pub(super) writing: bool,
    /// Parts that a rebuild needed and nobody could read.
    pub(super) unread: u32,
    /// When the present part began.
    pub(super) began_ns: u64,
    /// What the fastest part took: about what any takes of the members, the rest of the time it waited for the host's.
    pub(super) fastest_ns: u64,
    /// When it ends at the latest.
    pub(super) until_ns: u64,
}
