//! Asking the policy: what it is shown, and what it remembers of the last time.

use super::Innodb;
use super::flushing::{self, FlushList, Order, Policy, View};
use super::pool::Pool;

/// A policy, and how things stood when it was last asked.
pub(super) struct Rounds {
    policy: Box<dyn Policy>,
    flushed: u64,
    flushed_lru: u64,
    flushed_own: u64,
    lsn: u64,
}

impl Rounds {
    pub(super) const fn new(policy: Box<dyn Policy>) -> Self {
        Self { policy, flushed: 0, flushed_lru: 0, flushed_own: 0, lsn: 0 }
    }

    /// Time between two rounds.
    pub(super) fn period_ns(&self) -> u64 {
        self.policy.period_ns().max(1_000_000)
    }
}

impl FlushList for Pool {
    fn pages_until(&self, lsn: u64, most: u64) -> u64 {
        self.dirty_until(lsn, most)
    }
}

impl Innodb {
    /// What the policy wants written now; `sync`: while writers wait for room in the log.
    pub(super) fn ask_policy(&mut self, sync: bool) -> Order {
        let mut policy = std::mem::replace(&mut self.rounds.policy, flushing::nothing());
        let totals = self.counts.totals;
        let rounds = &self.rounds;
        let view = View {
            now_ns: self.now_ns,
            lsn: self.redo.lsn,
            oldest_lsn: self.pool.oldest_lsn(),
            checkpoint_age: self.redo.checkpoint_age(),
            dirty: self.pool.dirty(),
            dirty_pct: self.pool.dirty_pct(),
            ages_sum: self.pool.ages_sum(self.redo.lsn),
            flushed: totals.flushed - rounds.flushed,
            flushed_lru: totals.flushed_lru - rounds.flushed_lru,
            flushed_own: totals.flushed_background - rounds.flushed_own,
            idle: rounds.lsn == self.redo.lsn,
            list: &self.pool,
            ages: self.ages,
        };
        let order = if sync { policy.sync(&view) } else { policy.round(&view) };
        if let Some(failure) = policy.failure() {
            self.failure.get_or_insert(failure);
        }
        self.rounds = Rounds {
            policy,
            flushed: totals.flushed,
            flushed_lru: totals.flushed_lru,
            flushed_own: totals.flushed_background,
            lsn: self.redo.lsn,
        };
        order
    }
}
