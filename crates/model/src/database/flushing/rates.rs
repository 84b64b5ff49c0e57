//! What the page cleaners since MySQL 5.6 compute alike (buf0flu.cc): shares of innodb_io_capacity for the log's age and for
//! dirty pages, and averages over innodb_flushing_avg_loops rounds.

use super::policy::{Order, View};
use crate::database::ids::Lsn;
use crate::database::settings::{LsnAgeFactor, Settings};

/// A target for the oldest change is so many times what a second changes (buf_flush_lsn_scan_factor).
pub(super) const SCAN_FACTOR: u64 = 3;

/// Settings of all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    pub(super) io_capacity: u64,
    pub(super) io_capacity_max: u64,
    pub(super) adaptive: bool,
    /// innodb_adaptive_flushing_lwm, % of the log.
    pub(super) age_lwm_pct: f64,
    /// innodb_max_dirty_pages_pct and its _lwm.
    pub(super) dirty_max_pct: f64,
    pub(super) dirty_lwm_pct: f64,
    /// innodb_cleaner_lsn_age_factor.
    pub(super) age_factor: LsnAgeFactor,
}

impl Rates {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            io_capacity: settings.innodb_io_capacity,
            io_capacity_max: settings.innodb_io_capacity_max,
            adaptive: settings.innodb_adaptive_flushing,
            age_lwm_pct: settings.innodb_adaptive_flushing_lwm,
            dirty_max_pct: settings.innodb_max_dirty_pages_pct,
            dirty_lwm_pct: settings.innodb_max_dirty_pages_pct_lwm,
            age_factor: settings.innodb_cleaner_lsn_age_factor,
        }
    }

    /// So many % of innodb_io_capacity (PCT_IO).
    pub(super) fn pct_io(&self, pct: u64) -> u64 {
        (self.io_capacity as f64 * (pct as f64 / 100.0)) as u64
    }

    /// Whether the log's age asks for flushing: over innodb_adaptive_flushing_lwm, or near its limit.
    pub(super) fn is_old(&self, age: u64, log_capacity: u64, modified_async: u64) -> bool {
        age >= (self.age_lwm_pct * log_capacity as f64 / 100.0) as u64 && (self.adaptive || age >= modified_async)
    }

    /// af_get_pct_for_lsn: % of innodb_io_capacity for an age; the factor is a whole number up to MySQL 5.7 and in MariaDB.
    pub(super) fn pct_for_lsn(&self, age: u64, view: &View) -> u64 {
        if !self.is_old(age, view.ages.group_capacity, view.ages.modified_async) {
            return 0;
        }
        self.pct_for_factor((u128::from(age) * 100 / u128::from(view.ages.modified_async.max(1))) as f64)
    }

    /// The same of the age as % of where everything is to be flushed. Percona Server has a formula of its own
    /// (innodb_cleaner_lsn_age_factor; buf0flu.cc of its 5.6 to 8.4).
    pub(super) fn pct_for_factor(&self, factor: f64) -> u64 {
        let ratio = (self.io_capacity_max / self.io_capacity.max(1)) as f64;
        match self.age_factor {
            LsnAgeFactor::Legacy => (ratio * (factor * factor.sqrt()) / 7.5) as u64,
            LsnAgeFactor::HighCheckpoint => (ratio * (factor * factor * factor.sqrt()) / 700.5) as u64,
        }
    }

    /// af_get_pct_for_dirty since 5.7: % of innodb_io_capacity for a share of dirty pages.
    pub(super) fn pct_for_dirty(&self, dirty_pct: f64) -> u64 {
        if self.dirty_lwm_pct == 0.0 {
            return if dirty_pct >= self.dirty_max_pct { 100 } else { 0 };
        }
        if dirty_pct < self.dirty_lwm_pct {
            return 0;
        }
        (dirty_pct * 100.0 / (self.dirty_max_pct + 1.0)) as u64
    }

    /// What a round writes that asks nothing of a policy: all that innodb_io_capacity allows of an idle server, and nothing
    /// when averages begin.
    pub(super) fn opening(&self, averages: &mut Averages, view: &View) -> Option<Order> {
        if view.idle {
            return Some(Order::pages(self.pct_io(100)));
        }
        if averages.is_new() {
            averages.begin(view);
            return Some(Order::NONE);
        }
        None
    }

    /// What MySQL writes since 5.7: a third each of `pct` % of innodb_io_capacity, of what was written lately, and of the
    /// pages that hold the log's end back for the next second.
    pub(super) fn a_third_each(&self, averages: &Averages, pct: u64, oldest_lsn: Lsn, view: &View) -> Order {
        let target_lsn = oldest_lsn + averages.redo * SCAN_FACTOR;
        // More than twice innodb_io_capacity_max is never asked for: the list need not be counted further.
        let most = self.io_capacity_max * 2;
        let for_lsn = (view.list.pages_until(target_lsn, most * SCAN_FACTOR) / SCAN_FACTOR).clamp(1, most.max(1));
        let pages = (self.pct_io(pct) + averages.pages + for_lsn) / 3;
        Order::pages(pages.min(self.io_capacity_max))
    }
}

/// Averages that change every innodb_flushing_avg_loops rounds, or as many seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Averages {
    loops: u64,
    /// Since MySQL 5.7: a long round counts as many as it takes seconds, and page rates are divided as fractions.
    pub(super) timed: bool,
    /// Bytes of redo in a second.
    pub(super) redo: u64,
    /// Pages of a second, or of a round.
    pub(super) pages: u64,
    lsn: Lsn,
    at_ns: u64,
    sum_pages: u64,
    rounds: u64,
}

impl Averages {
    pub(super) const fn new(loops: u64, timed: bool) -> Self {
        Self { loops, timed, redo: 0, pages: 0, lsn: Lsn::ZERO, at_ns: 0, sum_pages: 0, rounds: 0 }
    }

    /// A period begins here.
    pub(super) const fn begin(&mut self, view: &View) {
        (self.lsn, self.at_ns) = (view.lsn, view.now_ns);
    }

    /// Whether no period has begun yet.
    pub(super) fn is_new(&self) -> bool {
        self.lsn == Lsn::ZERO
    }

    /// Whether nothing was changed since the period began.
    pub(super) fn is_still(&self, view: &View) -> bool {
        self.lsn == view.lsn
    }

    /// A round, since the last of which so many pages were written.
    pub(super) fn count(&mut self, view: &View, pages: u64) {
        self.sum_pages += pages;
        self.rounds += 1;
        let seconds = ((view.now_ns - self.at_ns) / 1_000_000_000).max(1);
        if self.rounds < self.loops && !(self.timed && seconds >= self.loops) {
            return;
        }
        let divisor = if self.timed { seconds } else { self.loops.max(1) };
        self.pages = if self.timed {
            ((self.sum_pages as f64 / divisor as f64 + self.pages as f64) / 2.0) as u64
        } else {
            (self.sum_pages / divisor + self.pages) / 2
        };
        self.redo = (self.redo + (view.lsn - self.lsn) / divisor) / 2;
        self.begin(view);
        (self.rounds, self.sum_pages) = (0, 0);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::policy::view;
    use super::*;

    pub(in super::super) const RATES: Rates = Rates {
        io_capacity: 200,
        io_capacity_max: 200,
        adaptive: true,
        age_lwm_pct: 10.0,
        dirty_max_pct: 75.0,
        dirty_lwm_pct: 0.0,
        age_factor: LsnAgeFactor::Legacy,
    };

    #[test]
    fn the_logs_age_asks_for_more_than_its_share() {
        // f x sqrt(f) / 7.5: 10 x 3.162 / 7.5 = 4.2; 20 x 4.472 / 7.5 = 11.9; 40 x 6.325 / 7.5 = 33.7;
        // 60 x 7.746 / 7.5 = 61.97; 80 x 8.944 / 7.5 = 95.4; 100 x 10 / 7.5 = 133.3.
        let pcts = [10.0, 20.0, 40.0, 60.0, 80.0, 100.0].map(|factor| RATES.pct_for_factor(factor));
        assert_eq!(pcts, [4, 11, 33, 61, 95, 133]);
        let ten = Rates { io_capacity_max: 2000, ..RATES };
        assert_eq!(ten.pct_for_factor(10.0), 42, "the ratio of the capacities multiplies");
        let most = Rates { io_capacity_max: 399, ..RATES };
        assert_eq!(most.pct_for_factor(100.0), 133, "it is a whole number");
    }

    #[test]
    fn perconas_formula_asks_for_less_of_a_young_log_and_for_more_of_an_old_one() {
        // f x f x sqrt(f) / 700.5: 100 x 3.162 / 700.5 = 0.45; 400 x 4.472 / 700.5 = 2.55; 1600 x 6.325 / 700.5 = 14.4;
        // 3600 x 7.746 / 700.5 = 39.8; 6400 x 8.944 / 700.5 = 81.7; 10,000 x 10 / 700.5 = 142.8.
        let percona = Rates { age_factor: LsnAgeFactor::HighCheckpoint, ..RATES };
        let pcts = [10.0, 20.0, 40.0, 60.0, 80.0, 100.0].map(|factor| percona.pct_for_factor(factor));
        assert_eq!(pcts, [0, 2, 14, 39, 81, 142]);
    }

    #[test]
    fn a_young_log_asks_for_nothing() {
        // The log's capacity is 10,000,000 and its asynchronous age 7,000,000: f of 999,999 would be 14.
        let at = |age| RATES.pct_for_lsn(age, &view(20_000_000, 1, 1));
        assert_eq!([at(999_999), at(1_000_000), at(2_100_000)], [0, 6, 21]);
        let off = Rates { adaptive: false, ..RATES };
        let at = |age| off.pct_for_lsn(age, &view(20_000_000, 1, 1));
        assert_eq!([at(6_999_999), at(7_000_000)], [0, 133], "adaptive or not, near the limit it flushes");
    }

    #[test]
    fn dirty_pages_ask_at_their_limit_or_from_a_low_water_mark_on() {
        assert_eq!([RATES.pct_for_dirty(74.9), RATES.pct_for_dirty(75.0)], [0, 100]);
        // 30 x 100 / 76 = 39.
        let low = Rates { dirty_lwm_pct: 10.0, ..RATES };
        assert_eq!([low.pct_for_dirty(9.9), low.pct_for_dirty(30.0), low.pct_for_dirty(80.0)], [0, 39, 105]);
    }

    #[test]
    fn shares_of_the_capacity_are_whole_pages() {
        assert_eq!(
            [RATES.pct_io(33), RATES.pct_io(133), Rates { io_capacity: 150, ..RATES }.pct_io(33)],
            [66, 266, 49]
        );
    }

    #[test]
    fn averages_are_halfway_to_the_last_period() {
        let at = |second: u64, own| View {
            now_ns: second * 1_000_000_000,
            flushed_own: own,
            ..view(1_000_000 + second * 3000, 1, 10)
        };
        let mut averages = Averages::new(2, false);
        averages.begin(&at(0, 0));
        averages.count(&at(1, 10), 10);
        assert_eq!((averages.pages, averages.redo), (0, 0));
        // 30 pages in two rounds: (15 + 0) / 2 = 7; 6000 bytes: (3000 + 0) / 2.
        averages.count(&at(2, 20), 20);
        assert_eq!((averages.pages, averages.redo), (7, 1500));
        // Two rounds of two seconds: with time they are four: 28 / 4 = 7, (7 + 0) / 2 = 3.
        let mut averages = Averages::new(2, true);
        averages.begin(&at(0, 0));
        averages.count(&at(4, 28), 28);
        assert_eq!((averages.pages, averages.redo), (3, 1500));
    }
}
