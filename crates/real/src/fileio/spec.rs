//! What to run.

use std::path::PathBuf;

use flatwater_core::workload::fileio as workload;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::part::Part;
use crate::permit::Permit;
use crate::storage::fault::Fault;
use crate::storage::{Engine, FsyncCall, SyncMode};

/// What to run, resolved and checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The workload.
    pub workload: workload::Fileio,
    /// Its files, or one block device.
    pub paths: Vec<PathBuf>,
    /// What of them may be written; nothing if absent.
    pub permit: Option<Permit>,
    /// Lanes.
    pub threads: u32,
    /// The share of this host, if several hosts have lanes; None: the lanes above are all.
    pub part: Option<Part>,
    /// Outstanding requests a lane.
    pub queue_depth: u32,
    /// How requests reach the kernel.
    pub engine: Engine,
    /// O_DIRECT.
    pub direct: bool,
    /// O_SYNC or O_DSYNC.
    pub sync: SyncMode,
    /// fsync or fdatasync.
    pub fsync_call: FsyncCall,
    /// Arrivals a second of all lanes of all hosts together; 0 for a closed loop.
    pub rate_per_s: f64,
    /// Arrivals of an open loop at random (Poisson) instead of evenly.
    pub poisson: bool,
    /// Share of written data that compresses away, %.
    pub compressible_pct: f64,
    /// Stamp and check every block.
    pub verify: Option<Verify>,
    /// Forget what the page cache holds of the files before the first request.
    pub drop_cache: bool,
    /// What goes wrong on purpose.
    pub fault: Option<Fault>,
    /// Count failed requests and go on, instead of ending the run at the first.
    pub continue_on_error: bool,
    /// Record latencies and requests in flight; off only to measure what recording costs.
    pub record: bool,
    /// Length of an interval, ms.
    pub interval_ms: u64,
}

/// How blocks are stamped.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Which prepared set of files the blocks belong to.
    pub set_id: u64,
    /// Generations written by this run start above this one; it must be over those of all runs before (prepared: 1).
    pub generation_base: u32,
}

impl Spec {
    /// Outstanding requests that the engine lets a lane have.
    pub(super) fn depth(&self) -> u32 {
        if self.engine == Engine::Psync { 1 } else { self.queue_depth }
    }

    /// The lanes of this host among those of all.
    pub(super) fn lanes(&self) -> Part {
        Part::or_whole(self.part, self.threads)
    }

    /// How fast requests arrive.
    pub(super) fn rate(&self) -> workload::Rate {
        workload::Rate { per_s: self.rate_per_s, poisson: self.poisson }
    }
}
