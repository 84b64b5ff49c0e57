//! A policy and its rounds: what the policy sees of the server, and how the server stood in the last round.

use super::super::flushing::{FlushList, Order, Policy, View};
use super::super::ids::Lsn;
use super::super::log::{Ages, Log};
use super::super::pool::Pool;
use super::super::write_back;

/// A policy, and how things stood when it was last asked.
pub(in super::super) struct Rounds {
    policy: Box<dyn Policy>,
    flushed: u64,
    flushed_lru: u64,
    flushed_own: u64,
    lsn: Lsn,
}

impl FlushList for Pool {
    fn pages_until(&self, lsn: Lsn, most: u64) -> u64 {
        self.dirty_until(lsn, most)
    }
}

impl Rounds {
    /// A policy that was not asked yet.
    pub(in super::super) const fn new(policy: Box<dyn Policy>) -> Self {
        Self { policy, flushed: 0, flushed_lru: 0, flushed_own: 0, lsn: Lsn::ZERO }
    }

    /// Time between two rounds.
    pub(in super::super) fn period_ns(&self) -> u64 {
        self.policy.period_ns().max(1_000_000)
    }

    /// After how long the same order is given again when another batch was in its way; None: not at all.
    pub(in super::super) fn retry_ns(&self) -> Option<u64> {
        self.policy.retry_ns()
    }

    /// What the policy wants written now; `sync`: while writers wait for room in the log.
    pub(in super::super) fn ask(
        &mut self,
        sync: bool,
        now_ns: u64,
        pool: &Pool,
        log: &Log,
        ages: &Ages,
        written: &write_back::Counts,
    ) -> Order {
        let view = View {
            now_ns,
            lsn: log.lsn(),
            oldest_lsn: pool.oldest_lsn(),
            checkpoint_age: log.checkpoint_age(),
            dirty: pool.dirty(),
            dirty_pct: pool.dirty_pct(),
            ages_sum: pool.ages_sum(log.lsn()),
            flushed: written.flushed - self.flushed,
            flushed_lru: written.flushed_lru - self.flushed_lru,
            flushed_own: written.flushed_background - self.flushed_own,
            idle: self.lsn == log.lsn(),
            list: pool,
            ages: *ages,
        };
        let order = if sync { self.policy.sync(&view) } else { self.policy.round(&view) };
        (self.flushed, self.flushed_lru) = (written.flushed, written.flushed_lru);
        (self.flushed_own, self.lsn) = (written.flushed_background, log.lsn());
        order
    }

    /// Why the policy cannot go on, in words.
    pub(in super::super) fn failure(&mut self) -> Option<String> {
        self.policy.failure()
    }
}
