//! What a flushing policy sees, and what it answers.

use super::super::ids::Lsn;
use super::super::log::Ages;

/// innodb_log_recent_closed_size of MySQL 8.0: how far its flush list may be out of the log's order.
pub(super) const ORDER_LAG_BYTES: u64 = 2 << 20;

/// The pages that a policy may count.
pub trait FlushList {
    /// Pages whose first change is at or before an LSN, counted up to `most`.
    fn pages_until(&self, lsn: Lsn, most: u64) -> u64;
}

/// What a policy sees of the server at the beginning of a round.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Virtual time since the run began.
    pub now_ns: u64,
    /// The newest change.
    pub lsn: Lsn,
    /// The oldest change that is in no file, if anything is dirty.
    pub oldest_lsn: Option<Lsn>,
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
    /// Of them, those that the policy's own last order asked for.
    pub flushed_own: u64,
    /// Nothing was changed since the last round.
    pub idle: bool,
    /// The dirty pages in the order of their first change.
    pub list: &'a dyn FlushList,
    /// The log's limits.
    pub ages: Ages,
}

impl View<'_> {
    /// How far the oldest change is beyond what is let happen: the synchronous age.
    pub fn over_limit(&self) -> u64 {
        self.oldest_lsn.map_or(0, |oldest_lsn| (self.lsn - oldest_lsn).saturating_sub(self.ages.modified_sync))
    }

    /// Where the oldest change should be when writers wait: twice as far on as it is over the limit
    /// (log_checkpoint_margin).
    pub fn sync_target_lsn(&self) -> Lsn {
        self.oldest_lsn.unwrap_or(self.lsn) + 2 * self.over_limit()
    }
}

/// What is to be written now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Pages at most.
    pub pages: u64,
    /// Only those whose oldest change is before this LSN.
    pub limit_lsn: Lsn,
    /// The next round follows without a pause.
    pub at_once: bool,
}

impl Order {
    /// So many of the oldest pages.
    pub const fn pages(pages: u64) -> Self {
        Self { pages, limit_lsn: Lsn::MAX, at_once: false }
    }

    /// Nothing.
    pub(super) const NONE: Self = Self::pages(0);
}

/// A flushing policy.
pub trait Policy: Send {
    /// Time between two rounds, ns.
    fn period_ns(&self) -> u64 {
        1_000_000_000
    }

    /// What a round writes.
    fn round(&mut self, view: &View) -> Order;

    /// After how long the master thread gives the same order again when another thread's batch was in its way, ns; None: not
    /// at all.
    fn retry_ns(&self) -> Option<u64> {
        None
    }

    /// What a page cleaner writes while writers wait for room in the log.
    fn sync(&mut self, view: &View) -> Order {
        Order { pages: u64::MAX, limit_lsn: view.sync_target_lsn(), at_once: true }
    }

    /// Why it cannot go on, in words; the run ends then.
    fn failure(&mut self) -> Option<String> {
        None
    }
}

/// First changes of pages, for tests.
#[cfg(test)]
pub(super) struct Firsts(pub(super) Vec<u64>);

#[cfg(test)]
impl FlushList for Firsts {
    fn pages_until(&self, lsn: Lsn, most: u64) -> u64 {
        (self.0.iter().filter(|first_lsn| **first_lsn <= lsn.bytes()).count() as u64).min(most)
    }
}

#[cfg(test)]
pub(super) fn view(lsn: u64, oldest_lsn: u64, dirty: u64) -> View<'static> {
    static NO_PAGES: Firsts = Firsts(Vec::new());
    View {
        now_ns: 0,
        lsn: Lsn::new(lsn),
        oldest_lsn: Some(Lsn::new(oldest_lsn)),
        checkpoint_age: lsn - oldest_lsn,
        dirty,
        dirty_pct: 50.0,
        ages_sum: 0,
        flushed: 0,
        flushed_lru: 0,
        flushed_own: 0,
        idle: false,
        list: &NO_PAGES,
        ages: Ages {
            group_capacity: 10_000_000,
            modified_async: 7_000_000,
            modified_sync: 7_500_000,
            checkpoint_async: 7_750_000,
            checkpoint_max: 8_000_000,
        },
    }
}
