//! The page cleaners of MySQL 5.7 (page_cleaner_flush_pages_recommendation of its buf0flu.cc).

use super::policy::{Order, Policy, View};
use super::rates::{Averages, Rates};

/// Seconds of redo that a request at the log's limit is extended by (buf_flush_request_force).
pub(super) const REQUEST_SECONDS: u64 = 3;

/// A third each of what age and dirty pages ask for, of what was written lately, and of the pages that hold the log's end
/// back for the next second.
pub(super) struct Mysql57 {
    rates: Rates,
    averages: Averages,
}

impl Mysql57 {
    pub(super) const fn new(rates: Rates, loops: u64) -> Self {
        Self { rates, averages: Averages::new(loops, true) }
    }

    /// Bytes of redo in a second, on average.
    pub(super) const fn redo_per_s(&self) -> u64 {
        self.averages.redo
    }
}

impl Policy for Mysql57 {
    fn round(&mut self, view: &View) -> Order {
        if let Some(order) = self.rates.opening(&mut self.averages, view) {
            return order;
        }
        if self.averages.is_still(view) {
            return Order::NONE;
        }
        self.averages.count(view, view.flushed_own);
        let oldest_lsn = view.oldest_lsn.unwrap_or(view.lsn);
        let pct = self.rates.pct_for_dirty(view.dirty_pct).max(self.rates.pct_for_lsn(view.lsn - oldest_lsn, view));
        self.rates.a_third_each(&self.averages, pct, oldest_lsn, view)
    }

    /// The target of the threads that found the log at its limit, the synchronous age behind the newest change
    /// (log_checkpoint_margin), and some seconds of redo further (buf_flush_request_force).
    fn sync(&mut self, view: &View) -> Order {
        let oldest_lsn = view.oldest_lsn.unwrap_or(view.lsn);
        let limit_lsn = oldest_lsn + view.over_limit() + self.redo_per_s() * REQUEST_SECONDS;
        Order { pages: u64::MAX, limit_lsn, at_once: true }
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::{Firsts, view};
    use super::super::rates::tests::RATES;
    use super::*;
    use crate::database::ids::Lsn;

    /// Changes 10,000 bytes a second, a page's first change each 100 bytes, the oldest 2,800,000 behind (f = 40).
    fn at(second: u64, own: u64, list: &Firsts) -> View<'_> {
        let lsn = 9_000_000 + second * 10_000;
        let plain = view(lsn, lsn - 2_800_000, 1000);
        View { now_ns: second * 1_000_000_000, flushed_own: own, list, ..plain }
    }

    #[test]
    fn a_third_each_is_for_the_age_the_average_and_the_log() {
        let list = Firsts((0..300).map(|page| 6_210_000 + page * 100).collect());
        let mut policy = Mysql57::new(RATES, 2);
        assert_eq!(policy.round(&at(0, 0, &list)).pages, 0);
        // f = 40: 33 % of 200 = 66. No average yet: the target is the oldest change itself, which is at least one page's.
        // (66 + 0 + 1) / 3 = 22.
        assert_eq!(policy.round(&at(1, 0, &list)).pages, 22);
        // 22 pages in two seconds: 11 / 2 = 5; redo 10,000 / 2 = 5000, so pages until 6,220,000 + 15,000: the first
        // 25,000 / 100 + 1 = 251; a third is 83. (66 + 5 + 83) / 3 = 51.
        assert_eq!(policy.round(&at(2, 22, &list)).pages, 51);
        assert_eq!(policy.round(&at(3, 51, &list)).limit_lsn, Lsn::MAX);
    }

    #[test]
    fn io_capacity_max_is_the_most() {
        let list = Firsts(vec![1_000_000; 5000]);
        let mut policy = Mysql57::new(RATES, 1);
        policy.round(&at(0, 0, &list));
        // Pages for the log are at most twice the maximum: (66 + 500 + 400) / 3 = 322, and that is over 200.
        assert_eq!(policy.round(&at(1, 1000, &list)).pages, 200);
        assert_eq!(policy.round(&View { idle: true, ..at(2, 0, &list) }), Order::pages(200));
    }

    #[test]
    fn in_sync_everything_up_to_a_target_is_written() {
        // 500,000 over the synchronous age: so far on from the oldest change.
        let mut policy = Mysql57::new(RATES, 1);
        let order = policy.sync(&view(9_000_000, 1_000_000, 10));
        assert_eq!(order, Order { pages: u64::MAX, limit_lsn: Lsn::new(1_500_000), at_once: true });
        // And three seconds of redo, of which the average is half of the first second's 10,000.
        let list = Firsts(Vec::new());
        policy.round(&at(0, 0, &list));
        policy.round(&at(1, 0, &list));
        assert_eq!(policy.sync(&view(9_000_000, 1_000_000, 10)).limit_lsn, Lsn::new(1_515_000));
    }
}
