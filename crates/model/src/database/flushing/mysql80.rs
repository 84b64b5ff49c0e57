//! The page cleaners of MySQL 8.0.30 and later (Adaptive_flush of its buf0flu.cc).

use super::policy::{ORDER_LAG_BYTES, Order, Policy, View};
use super::rates::{Averages, Rates, SCAN_FACTOR};

/// As in MySQL 5.7, with a finer factor of the age; in sync it goes in small rounds.
pub(super) struct Mysql80 {
    rates: Rates,
    averages: Averages,
}

impl Mysql80 {
    pub(super) const fn new(rates: Rates, loops: u64) -> Self {
        Self { rates, averages: Averages::new(loops, true) }
    }

    /// get_pct_for_lsn: the low water mark is a share of where users stop, and the age one of where flushing is to be in
    /// full (limit_for_dirty_page_age); the factor has fractions.
    fn pct_for_lsn(&self, age: u64, view: &View) -> u64 {
        if !self.rates.is_old(age, view.ages.checkpoint_max, view.ages.modified_async) {
            return 0;
        }
        self.rates.pct_for_factor(age as f64 * 100.0 / view.ages.modified_async.max(1) as f64)
    }
}

impl Policy for Mysql80 {
    fn round(&mut self, view: &View) -> Order {
        if let Some(order) = self.rates.opening(&mut self.averages, view) {
            return order;
        }
        let still = self.averages.is_still(view);
        self.averages.count(view, view.flushed_own);
        if still {
            return Order::NONE;
        }
        let oldest_lsn = view.oldest_lsn.unwrap_or(view.lsn);
        let pct = self.rates.pct_for_dirty(view.dirty_pct).max(self.pct_for_lsn(view.lsn - oldest_lsn, view));
        self.rates.a_third_each(&self.averages, pct, oldest_lsn, view)
    }

    /// Writes the pages up to a target, and at least innodb_io_capacity if so many are before it. Then it looks again. The
    /// target is the synchronous age behind the newest change, the lag of the flush list further (log_sync_flush_lsn), and
    /// some seconds of redo further (buf_flush_page_coordinator_thread). These pages are averaged as others are.
    fn sync(&mut self, view: &View) -> Order {
        if self.averages.is_new() {
            self.averages.begin(view);
        } else if !self.averages.is_still(view) {
            self.averages.count(view, view.flushed_own);
        }
        let oldest_lsn = view.oldest_lsn.unwrap_or(view.lsn);
        let limit_lsn = oldest_lsn + view.over_limit() + ORDER_LAG_BYTES + self.averages.redo * SCAN_FACTOR;
        let most = self.rates.io_capacity_max * 2;
        let pages = view.list.pages_until(limit_lsn, most).max(self.rates.io_capacity);
        Order { pages, limit_lsn, at_once: true }
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::{Firsts, view};
    use super::super::rates::tests::RATES;
    use super::*;
    use crate::database::ids::Lsn;

    #[test]
    fn the_ages_factor_has_fractions() {
        let policy = Mysql80::new(RATES, 1);
        // f = 41.9: 41.9 x 6.473 / 7.5 = 36.2; of the whole number it would be 41 x 6.403 / 7.5 = 35.
        assert_eq!(policy.pct_for_lsn(2_933_000, &view(9_000_000, 1, 1)), 36);
        assert_eq!(RATES.pct_for_lsn(2_933_000, &view(9_000_000, 1, 1)), 35);
        // A tenth of where users stop, 8,000,000.
        assert_eq!([799_999, 800_000].map(|age| policy.pct_for_lsn(age, &view(9_000_000, 1, 1))), [0, 5]);
    }

    #[test]
    fn a_third_each_is_for_the_age_the_average_and_the_log() {
        let mut policy = Mysql80::new(RATES, 1);
        let list = Firsts(vec![6_000_000; 90]);
        let at = |second: u64, own: u64| View {
            now_ns: second * 1_000_000_000,
            flushed_own: own,
            list: &list,
            ..view(9_000_000 + second, 6_200_000 + second, 90)
        };
        assert_eq!(policy.round(&at(0, 0)).pages, 0);
        // f = 40: 66 pages; 60 pages of the last round: 30; 90 pages up to the target: 30. (66 + 30 + 30) / 3.
        assert_eq!(policy.round(&at(1, 60)).pages, 42);
    }

    #[test]
    fn in_sync_its_rounds_are_between_the_two_capacities_and_end_at_the_target() {
        let mut policy = Mysql80::new(Rates { io_capacity_max: 300, ..RATES }, 1);
        let mut pages = |count: usize| {
            let list = Firsts(vec![1_500_000; count]);
            policy.sync(&View { list: &list, ..view(9_000_000, 1_000_000, 10) })
        };
        // The synchronous age is 7,500,000: 500,000 less than the age here. No redo was averaged yet.
        assert_eq!(pages(10), Order { pages: 200, limit_lsn: Lsn::new(1_500_000 + ORDER_LAG_BYTES), at_once: true });
        assert_eq!([pages(350).pages, pages(5000).pages], [350, 600]);
    }

    #[test]
    fn in_sync_it_averages_pages_and_redo_and_goes_some_seconds_further() {
        let mut policy = Mysql80::new(RATES, 1);
        let list = Firsts(Vec::new());
        let at = |second: u64, own: u64| View {
            now_ns: second * 1_000_000_000,
            flushed_own: own,
            list: &list,
            ..view(9_000_000 + second * 10_000, 1_000_000, 10)
        };
        policy.sync(&at(0, 0));
        // A second with 10,000 bytes and 60 pages: half of it is the average.
        let limit_lsn = policy.sync(&at(1, 60)).limit_lsn;
        assert_eq!(limit_lsn, Lsn::new(1_510_000 + ORDER_LAG_BYTES + 3 * 5_000));
        assert_eq!(policy.averages.pages, 30);
    }
}
