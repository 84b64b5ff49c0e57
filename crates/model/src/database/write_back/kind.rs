//! What a batch writes, who waits for it, and how far it is.

use super::super::ids::{FrameId, Lsn, PassId, ThreadNo};

/// Which pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    /// Those whose first change is the oldest, before an LSN.
    List {
        /// The LSN.
        limit_lsn: Lsn,
        /// The log is near its limit.
        sync: bool,
    },
    /// Those at the end of the LRU list.
    Lru,
    /// This page, which its thread writes by itself for its frame, past the batches.
    Single(FrameId),
}

/// Who waits for the end of a batch or a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Owner {
    Master,
    Cleaner,
    /// A thread that needs room in the log.
    Thread(ThreadNo),
    /// A thread that needs a frame.
    Reader(ThreadNo),
    Pass(PassId),
    /// Of no batch: the files that a checkpoint waits for.
    Checkpoint,
}

/// A batch or a pass that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Ended {
    pub(in super::super) owner: Owner,
    /// Pages that were written.
    pub(in super::super) written: u64,
    /// An instance was left out, because another batch was in its list.
    pub(in super::super) skipped: bool,
}

/// Where a batch is whose pages are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Pages of it are still being written, or it has not chosen all.
    UnderWay,
    /// All its pages are in their places: these files are to be synced, a bit each.
    Unsynced(u64),
    /// Nothing is left to do.
    Done,
}

/// How a batch for free frames goes over an LRU list from its end: it evicts clean pages and writes dirty ones, until so many
/// frames are free or so few pages are in the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct LruWay {
    pub(super) wanted: u64,
    pub(super) least: u64,
}
