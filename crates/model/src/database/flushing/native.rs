//! InnoDB's own adaptive flushing, of the 1.0.4 plugin for MySQL 5.1 and of MySQL 5.5 (buf_flush_get_desired_flush_rate).

use super::policy::{Order, Policy, View};
use crate::database::ids::Lsn;

/// Rounds whose averages are kept (BUF_FLUSH_STAT_N_INTERVAL).
const SAMPLES: usize = 20;

/// Dirty pages are to be gone by the time the log comes round: their number, times the share of the log that a second
/// fills, less what is written for free pages anyway; at most innodb_io_capacity.
pub(super) struct Native {
    io_capacity: u64,
    /// (redo, pages written for free pages) of the last rounds.
    samples: [(u64, u64); SAMPLES],
    at: usize,
    lsn: Lsn,
}

impl Native {
    pub(super) const fn new(io_capacity: u64) -> Self {
        Self { io_capacity, samples: [(0, 0); SAMPLES], at: 0, lsn: Lsn::ZERO }
    }
}

impl Policy for Native {
    fn round(&mut self, view: &View) -> Order {
        let redo = if self.lsn == Lsn::ZERO { 0 } else { view.lsn - self.lsn };
        self.lsn = view.lsn;
        let count = SAMPLES as u64;
        let mean = |of: fn(&(u64, u64)) -> u64| self.samples.iter().map(of).sum::<u64>() / count;
        let redo_avg = mean(|sample| sample.0) + redo;
        let lru_avg = mean(|sample| sample.1) + view.flushed_lru;
        self.samples[self.at] = (redo, view.flushed_lru);
        self.at = (self.at + 1) % SAMPLES;
        let wanted = u128::from(view.dirty) * u128::from(redo_avg) / u128::from(view.ages.group_capacity.max(1));
        Order::pages((wanted as u64).saturating_sub(lru_avg).min(self.io_capacity))
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::view;
    use super::*;

    #[test]
    fn a_round_is_the_share_of_the_log_that_it_filled() {
        let mut policy = Native::new(1000);
        assert_eq!(policy.round(&view(1_000_000, 900_000, 5000)).pages, 0);
        // 100,000 B of a log of 10,000,000: a hundredth of 5000 pages; the twenty samples are empty so far.
        assert_eq!(policy.round(&view(1_100_000, 900_000, 5000)).pages, 50);
        // The mean of the samples is 100,000 / 20 = 5000 now: 5000 x 105,000 / 10,000,000 = 52.5.
        assert_eq!(policy.round(&view(1_200_000, 900_000, 5000)).pages, 52);
        // What is written for free pages counts against it: 5000 x 110,000 / 10,000,000 = 55, less 40.
        assert_eq!(policy.round(&View { flushed_lru: 40, ..view(1_300_000, 900_000, 5000) }).pages, 15);
        assert_eq!(policy.round(&view(9_000_000, 900_000, 5000)).pages, 1000, "innodb_io_capacity is the most");
    }
}
