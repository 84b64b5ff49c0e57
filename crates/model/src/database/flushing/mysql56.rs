//! The page cleaner of MySQL 5.6 (page_cleaner_flush_pages_if_needed of its buf0flu.cc).

use super::policy::{Order, Policy, View};
use super::rates::{Averages, Rates};
use crate::database::ids::Lsn;

/// Half of what the log's age and the dirty pages ask for, half of what was written lately; and no page whose first change
/// is younger than what a second or two change.
pub(super) struct Mysql56 {
    rates: Rates,
    averages: Averages,
    /// What the last round asked for, what it got and one, and its LSN.
    asked: u64,
    got: u64,
    lsn: Lsn,
}

impl Mysql56 {
    pub(super) const fn new(rates: Rates, loops: u64) -> Self {
        Self { rates, averages: Averages::new(loops, false), asked: 0, got: 0, lsn: Lsn::ZERO }
    }

    /// af_get_pct_for_dirty of 5.6: whole numbers, and over the marks, not at them.
    fn pct_for_dirty(&self, dirty_pct: f64) -> u64 {
        let rates = &self.rates;
        let dirty = dirty_pct as u64;
        if rates.dirty_lwm_pct == 0.0 {
            return if dirty as f64 > rates.dirty_max_pct { 100 } else { 0 };
        }
        if dirty as f64 <= rates.dirty_lwm_pct {
            return 0;
        }
        dirty * 100 / (rates.dirty_max_pct as u64 + 1)
    }
}

impl Policy for Mysql56 {
    fn round(&mut self, view: &View) -> Order {
        if let Some(order) = self.rates.opening(&mut self.averages, view) {
            return order;
        }
        if self.averages.is_still(view) {
            return Order::NONE;
        }
        self.averages.count(view, view.flushed_own);
        let oldest_lsn = view.oldest_lsn.unwrap_or(view.lsn);
        let pct = self.pct_for_dirty(view.dirty_pct).max(self.rates.pct_for_lsn(view.lsn - oldest_lsn, view));
        let pages = ((self.rates.pct_io(pct) + self.averages.pages) / 2).min(self.rates.io_capacity_max);
        self.got = if self.lsn == Lsn::ZERO { 0 } else { view.flushed_own + 1 };
        // A round that got less than it asked for reaches further the next time.
        let behind = self.got > 0 && view.lsn - self.lsn > self.averages.redo / 2;
        let further = if behind { self.asked / self.got } else { 0 };
        (self.asked, self.lsn) = (pages, view.lsn);
        Order { pages, limit_lsn: oldest_lsn + self.averages.redo * (further + 1), at_once: false }
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::view;
    use super::super::rates::tests::RATES;
    use super::*;

    /// A server that changes 10,000 bytes a second; its oldest change stays 2,800,000 behind (f = 40).
    fn at(second: u64, own: u64) -> View<'static> {
        let lsn = 9_000_000 + second * 10_000;
        View { now_ns: second * 1_000_000_000, flushed_own: own, ..view(lsn, lsn - 2_800_000, 1000) }
    }

    #[test]
    fn half_is_for_the_age_and_half_for_the_average() {
        let mut policy = Mysql56::new(RATES, 3);
        assert_eq!(policy.round(&at(0, 0)).pages, 0, "the first time it only looks");
        // f = 40: 33 % of 200 = 66; (66 + 0) / 2.
        assert_eq!(policy.round(&at(1, 0)).pages, 33);
        assert_eq!(policy.round(&at(2, 33)).pages, 33);
        // 33 + 33 of three rounds: 66 / 3 = 22, (22 + 0) / 2 = 11; (66 + 11) / 2 = 38. Redo: 30,000 / 3 / 2 = 5000.
        let order = policy.round(&at(3, 33));
        assert_eq!((order.pages, order.limit_lsn), (38, at(3, 0).oldest_lsn.unwrap() + 5000));
    }

    #[test]
    fn what_it_did_not_get_makes_it_reach_further() {
        let mut policy = Mysql56::new(RATES, 1);
        policy.round(&at(0, 0));
        policy.round(&at(1, 0));
        // One page of 33 was old enough: 33 / 2 = 16 times further; redo averages (5000 + 10,000) / 2.
        let order = policy.round(&at(2, 1));
        assert_eq!(order.limit_lsn, at(2, 0).oldest_lsn.unwrap() + 7500 * 17);
    }

    #[test]
    fn io_capacity_max_is_the_most_and_an_idle_server_flushes_at_its_capacity() {
        let mut policy = Mysql56::new(RATES, 30);
        policy.round(&view(9_000_000, 1_000_000, 10));
        // f = 8,000,000 / 7,000,000 = 114: 162 % of 200 = 324, and half of it.
        assert_eq!(policy.round(&view(9_000_001, 1_000_001, 10)).pages, 162);
        let mut policy = Mysql56::new(Rates { io_capacity_max: 1000, ..RATES }, 30);
        policy.round(&view(9_000_000, 1_000_000, 10));
        // Ratio 5: 811 % of 200 = 1622, half of it 811.
        assert_eq!(policy.round(&view(9_000_001, 1_000_001, 10)).pages, 811);
        let mut policy = Mysql56::new(Rates { io_capacity: 100, io_capacity_max: 1000, ..RATES }, 30);
        policy.round(&view(17_000_000, 1_000_000, 10));
        assert_eq!(policy.round(&view(17_000_001, 1_000_001, 10)).pages, 1000);
        assert_eq!(policy.round(&View { idle: true, ..view(17_000_001, 1_000_001, 10) }), Order::pages(100));
    }

    #[test]
    fn dirty_pages_count_over_the_limit() {
        let policy = Mysql56::new(RATES, 30);
        assert_eq!([policy.pct_for_dirty(75.9), policy.pct_for_dirty(76.0)], [0, 100]);
        let policy = Mysql56::new(Rates { dirty_lwm_pct: 10.0, ..RATES }, 30);
        assert_eq!([policy.pct_for_dirty(10.9), policy.pct_for_dirty(30.5)], [0, 39]);
    }
}
