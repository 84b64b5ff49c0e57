//! When dirty pages are written in the background: one file a policy, met in `open`.
//!
//! A policy is asked in rounds what the master thread should write now. What the foreground writes, because the log is
//! at its limit or no page is free, is not a policy's affair: see `limits.rs` and `free.rs`.

use super::redo::Ages;
use super::settings::{AdaptiveMethod, Settings};

mod estimate;
mod keep_average;
mod native;
mod reflex;

/// What a policy sees of the server at the beginning of a round.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The newest change.
    pub lsn: u64,
    /// The oldest change that is in no file, if anything is dirty.
    pub oldest_lsn: Option<u64>,
    /// Distance to the last checkpoint.
    pub checkpoint_age: u64,
    /// Dirty pages.
    pub dirty: u64,
    /// The lab's dirty %.
    pub dirty_pct: f64,
    /// Sum of the ages of all dirty pages' oldest changes.
    pub ages_sum: u128,
    /// Pages written since the last round, by anybody, and of these those for free pages (LRU).
    pub flushed: u64,
    /// Of them, for free pages.
    pub flushed_lru: u64,
    /// The log's limits.
    pub ages: Ages,
}

/// What is to be written now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Pages at most.
    pub pages: u64,
    /// Only those whose oldest change is before this LSN.
    pub limit_lsn: u64,
    /// The next round follows without a pause.
    pub at_once: bool,
}

impl Order {
    /// So many of the oldest pages.
    pub const fn pages(pages: u64) -> Self {
        Self { pages, limit_lsn: u64::MAX, at_once: false }
    }

    const NONE: Self = Self::pages(0);
}

/// A flushing policy.
pub trait Policy: Send {
    /// Time between two rounds, ns.
    fn period_ns(&self) -> u64 {
        1_000_000_000
    }

    /// What a round writes.
    fn round(&mut self, view: &View) -> Order;
}

/// The policy that settings ask for.
pub fn open(settings: &Settings) -> Box<dyn Policy> {
    let capacity = settings.innodb_io_capacity;
    if !settings.innodb_adaptive_flushing {
        return Box::new(Nothing);
    }
    match settings.innodb_adaptive_flushing_method {
        AdaptiveMethod::Native => Box::new(native::Native::new(capacity)),
        AdaptiveMethod::Estimate => Box::new(estimate::Estimate::new(settings.innodb_doublewrite)),
        AdaptiveMethod::KeepAverage => Box::new(keep_average::KeepAverage::default()),
        AdaptiveMethod::Reflex => Box::new(reflex::Reflex::new(capacity)),
    }
}

/// innodb_adaptive_flushing = OFF, and servers before it: only the dirty limit and the log's limits flush.
struct Nothing;

impl Policy for Nothing {
    fn round(&mut self, _: &View) -> Order {
        Order::NONE
    }
}

#[cfg(test)]
fn view(lsn: u64, oldest_lsn: u64, dirty: u64) -> View {
    View {
        lsn,
        oldest_lsn: Some(oldest_lsn),
        checkpoint_age: lsn - oldest_lsn,
        dirty,
        dirty_pct: 50.0,
        ages_sum: 0,
        flushed: 0,
        flushed_lru: 0,
        ages: Ages {
            group_capacity: 10_000_000,
            modified_async: 7_000_000,
            modified_sync: 7_500_000,
            checkpoint_async: 7_750_000,
            checkpoint_max: 8_000_000,
        },
    }
}
