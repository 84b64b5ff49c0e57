//! The page cleaner of MariaDB 10.5 and later (buf_flush_page_cleaner and page_cleaner_flush_pages_recommendation of
//! 10.11's buf0flu.cc).

use super::policy::{Order, Policy, View};
use super::rates::{Averages, Rates, SCAN_FACTOR};
use crate::database::ids::Lsn;

/// Nothing while few pages are dirty and the log is young; a third each as MySQL 5.7's, of fewer pages; over the
/// asynchronous age innodb_io_capacity_max a second; at the limit innodb_io_capacity_max back to back.
///
/// Without a low water mark of dirty pages (the default), a cleaner that had nothing to write sleeps until it is woken: for
/// free frames, at the limit of dirty pages, or at a limit of the log (page_cleaner_wakeup). So a log fills up to its
/// asynchronous age first. Seen on 10.11.19, 11.4.5 and 11.8.9: no page was written before it.
pub(super) struct Mariadb {
    rates: Rates,
    averages: Averages,
    asleep: bool,
    /// Pages written since it last computed what to write: for frames, and by that order (last_pages).
    last_pages: u64,
    /// Its last order was computed, and not given for the log's age alone.
    computed: bool,
}

impl Mariadb {
    pub(super) const fn new(rates: Rates, loops: u64) -> Self {
        Self { rates, averages: Averages::new(loops, true), asleep: true, last_pages: 0, computed: false }
    }

    fn recommend(&mut self, view: &View, oldest_lsn: Lsn, over_lwm: bool) -> u64 {
        let rates = self.rates;
        self.computed = true;
        let last_pages = std::mem::take(&mut self.last_pages);
        let pct_for_lsn = rates.pct_for_lsn(view.lsn - oldest_lsn, view);
        let max_pct = rates.dirty_max_pct;
        if self.averages.is_new() || pct_for_lsn == 0 {
            self.averages.begin(view);
            if rates.io_capacity >= view.dirty {
                return view.dirty;
            }
            // As it stands there: a percentage, not a share, where the limit is 1 % or less.
            let share = if max_pct > 1.0 { view.dirty_pct / max_pct } else { view.dirty_pct };
            let wanted = (share * rates.io_capacity as f64) as u64;
            return if wanted < view.dirty { rates.io_capacity } else { rates.io_capacity_max.min(view.dirty) };
        }
        self.averages.count(view, last_pages);
        // Without a low water mark over which the pages are, the whole of innodb_io_capacity.
        let ratio =
            if !over_lwm || max_pct == 0.0 { 1.0 } else { (pct_for_lsn as f64 / 100.0).max(view.dirty_pct / max_pct) };
        let target_lsn = oldest_lsn + self.averages.redo * SCAN_FACTOR;
        let for_lsn = (view.list.pages_until(target_lsn, rates.io_capacity_max) / SCAN_FACTOR).max(1);
        let pages = ((rates.io_capacity as f64 * ratio) as u64 + self.averages.pages + for_lsn) / 3;
        pages.min(rates.io_capacity_max)
    }
}

impl Policy for Mariadb {
    fn round(&mut self, view: &View) -> Order {
        let Some(oldest_lsn) = view.oldest_lsn else { return Order::NONE };
        let age = view.lsn - oldest_lsn;
        let rates = &self.rates;
        let own = if std::mem::take(&mut self.computed) { view.flushed_own } else { 0 };
        self.last_pages += view.flushed_lru + own;
        if age > view.ages.modified_async {
            self.asleep = false;
            let limit_lsn = view.lsn - view.ages.modified_async;
            return Order { limit_lsn, ..Order::pages(rates.io_capacity_max) };
        }
        if view.idle && rates.dirty_lwm_pct > 0.0 {
            return Order::pages(rates.io_capacity);
        }
        let over_lwm = rates.dirty_lwm_pct > 0.0 && view.dirty_pct >= rates.dirty_lwm_pct;
        let over_max = rates.dirty_lwm_pct == 0.0 && view.dirty_pct >= rates.dirty_max_pct;
        self.asleep &= rates.dirty_lwm_pct == 0.0 && !over_max && view.flushed_lru == 0;
        let old = age as f64 > rates.age_lwm_pct * view.ages.group_capacity as f64 / 100.0;
        if self.asleep || !over_lwm && !over_max && !old {
            self.asleep = true;
            return Order::NONE;
        }
        if !rates.adaptive {
            return Order::pages(rates.io_capacity);
        }
        Order::pages(self.recommend(view, oldest_lsn, over_lwm))
    }

    /// Batch after batch of innodb_io_capacity_max, up to the asynchronous age (buf_flush_sync_for_checkpoint).
    fn sync(&mut self, view: &View) -> Order {
        self.asleep = false;
        (self.last_pages, self.computed) = (0, false);
        let limit_lsn = view.lsn - view.ages.modified_async;
        Order { pages: self.rates.io_capacity_max, limit_lsn, at_once: true }
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::{Firsts, view};
    use super::super::rates::tests::RATES;
    use super::*;

    const TEN: Rates = Rates { io_capacity_max: 2000, dirty_max_pct: 90.0, ..RATES };

    /// One that something has woken.
    fn awake(rates: Rates, loops: u64) -> Mariadb {
        Mariadb { asleep: false, ..Mariadb::new(rates, loops) }
    }

    #[test]
    fn without_a_low_water_mark_it_sleeps_until_it_is_woken() {
        // The asynchronous age is 7,000,000, and a tenth of the log 1,000,000.
        let old = view(9_000_000, 2_000_001, 5000);
        let mut policy = Mariadb::new(TEN, 30);
        assert_eq!(policy.round(&old), Order::NONE);
        policy.round(&view(9_000_002, 2_000_001, 5000));
        assert_ne!(policy.round(&old), Order::NONE, "the log was at its asynchronous age");
        assert_eq!(policy.round(&view(9_000_000, 8_000_000, 5000)), Order::NONE);
        assert_eq!(policy.round(&old), Order::NONE, "nothing was to be done, and it sleeps again");
        assert_ne!(policy.round(&View { flushed_lru: 1, ..old }), Order::NONE, "frames were wanted");
        let mut policy = Mariadb::new(TEN, 30);
        assert_ne!(policy.round(&View { dirty_pct: 90.0, ..old }), Order::NONE);
        let mut policy = Mariadb::new(Rates { dirty_lwm_pct: 60.0, ..TEN }, 30);
        assert_ne!(policy.round(&old), Order::NONE, "with a mark it looks each second");
    }

    #[test]
    fn a_young_log_with_few_dirty_pages_is_left_alone() {
        let mut policy = awake(TEN, 30);
        assert_eq!(policy.round(&view(9_000_000, 8_000_000, 5000)), Order::NONE, "a tenth of the log: not over it");
        let mut policy = awake(TEN, 30);
        assert_ne!(policy.round(&view(9_000_001, 8_000_000, 5000)), Order::NONE);
        let full = View { dirty_pct: 90.0, ..view(9_000_000, 8_900_000, 5000) };
        // Too young for a percentage: 90 / 90 x 200 is less than is dirty, so innodb_io_capacity.
        assert_eq!(policy.round(&full).pages, 200);
        assert_eq!(policy.round(&View { dirty: 150, ..full }).pages, 150, "all, when that is less");
    }

    #[test]
    fn a_third_each_and_a_low_water_mark_counts_the_ratio() {
        let list = Firsts(vec![1; 600]);
        let at = |second: u64, own: u64| View {
            now_ns: second * 1_000_000_000,
            flushed_own: own,
            list: &list,
            ..view(9_000_000 + second, 6_200_000 + second, 5000)
        };
        let mut policy = awake(TEN, 1);
        assert_eq!(policy.round(&at(0, 0)).pages, 200, "the first time");
        // 200 x 1; 100 pages of the last round: 50; 600 / 3 = 200. (200 + 50 + 200) / 3 = 150.
        assert_eq!(policy.round(&at(1, 100)).pages, 150);
        // With a mark that 50 % of dirty pages are over: f = 40 at ten times the maximum is 337 %, against 50 / 90.
        let mut policy = Mariadb::new(Rates { dirty_lwm_pct: 10.0, ..TEN }, 1);
        policy.round(&at(0, 0));
        // 200 x 3.37 = 674: (674 + 50 + 200) / 3 = 308.
        assert_eq!(policy.round(&at(1, 100)).pages, 308);
        let mut policy = awake(Rates { adaptive: false, ..TEN }, 1);
        assert_eq!(policy.round(&at(1, 100)).pages, 200, "not adaptive: innodb_io_capacity");
    }

    #[test]
    fn pages_for_frames_count_and_those_for_the_logs_age_do_not() {
        let at = |second: u64, oldest_lsn: u64, flushed_lru: u64, flushed_own: u64| View {
            now_ns: second * 1_000_000_000,
            flushed_lru,
            flushed_own,
            ..view(9_000_000 + second, oldest_lsn, 5000)
        };
        let mut policy = awake(TEN, 1);
        policy.round(&at(0, 6_200_000, 0, 0));
        policy.round(&at(1, 1_000_000, 70, 200));
        // 30 + 70 for frames and 200 of the computed order in two seconds, and the mean before was 0: 75. Not the 900.
        assert_eq!(policy.round(&at(2, 6_200_000, 30, 900)).pages, (200 + 75 + 1) / 3);
        policy.sync(&at(2, 1_000_000, 0, 0));
        assert_eq!(policy.last_pages, 0);
    }

    #[test]
    fn over_the_asynchronous_age_it_goes_at_the_maximum_and_at_the_limit_without_a_pause() {
        let mut policy = Mariadb::new(TEN, 30);
        let order = policy.round(&view(9_000_000, 1_999_999, 5000));
        assert_eq!(order, Order { pages: 2000, limit_lsn: Lsn::new(2_000_000), at_once: false });
        let order = policy.sync(&view(9_100_000, 1_000_000, 5000));
        assert_eq!(order, Order { pages: 2000, limit_lsn: Lsn::new(2_100_000), at_once: true });
        assert_eq!(policy.round(&View { oldest_lsn: None, ..view(9_000_000, 1, 0) }), Order::NONE);
    }

    #[test]
    fn an_idle_server_flushes_when_it_has_a_low_water_mark() {
        let idle = View { idle: true, ..view(9_000_000, 8_900_000, 5000) };
        assert_eq!(Mariadb::new(TEN, 30).round(&idle), Order::NONE);
        assert_eq!(Mariadb::new(Rates { dirty_lwm_pct: 60.0, ..TEN }, 30).round(&idle).pages, 200);
    }
}
