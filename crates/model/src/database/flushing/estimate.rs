//! XtraDB's `estimate`, the default of Percona Server 5.5 (innodb_adaptive_flushing_method = 1).

use super::policy::{Order, Policy, View};
use crate::database::ids::Lsn;

/// When another batch is in its way it tries again after so long (retry_flush_batch of srv_master_thread).
const RETRY_NS: u64 = 5_000_000;

/// From a quarter of the log on: as many pages as keep the age where it is, were all dirty pages as old as their mean.
/// As long as the oldest change is no further on than the redo of a loop. It knows no innodb_io_capacity.
pub(super) struct Estimate {
    doublewrite: bool,
    lsn: Lsn,
}

impl Estimate {
    pub(super) const fn new(doublewrite: bool) -> Self {
        Self { doublewrite, lsn: Lsn::ZERO }
    }
}

impl Policy for Estimate {
    fn retry_ns(&self) -> Option<u64> {
        Some(RETRY_NS)
    }

    fn round(&mut self, view: &View) -> Order {
        let redo = if self.lsn == Lsn::ZERO { 0 } else { view.lsn - self.lsn };
        self.lsn = view.lsn;
        let most = view.ages.checkpoint_max;
        let Some(oldest_lsn) = view.oldest_lsn else { return Order::NONE };
        let age = view.lsn - oldest_lsn;
        if age <= most / 4 || age > most - most / 8 {
            return Order::NONE;
        }
        // What is left until each page's change would be lost, of all pages together.
        let level = (u128::from(most) * u128::from(view.dirty)).saturating_sub(view.ages_sum);
        let pages = u128::from(view.dirty) * u128::from(view.dirty) * u128::from(redo) / level.max(1);
        let pages = pages.min(u128::from(view.dirty)) as u64;
        let pages = if self.doublewrite { pages } else { pages * 7 / 8 };
        Order { limit_lsn: oldest_lsn + redo, ..Order::pages(pages) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::view;
    use super::*;

    #[test]
    fn pages_are_as_many_as_the_redo_of_a_loop_makes_due() {
        // M = 8,000,000, 1000 pages whose ages are 3,000,000 in the mean: level = 1000 x 5,000,000.
        // n = 1000^2 x 100,000 / 5,000,000,000 = 20.
        let at = |lsn| View { ages_sum: 3_000_000_000, ..view(lsn, 1_000_000, 1000) };
        let mut policy = Estimate::new(true);
        policy.round(&at(4_900_000));
        let order = policy.round(&at(5_000_000));
        assert_eq!(
            (order.pages, order.limit_lsn),
            (20, Lsn::new(1_100_000)),
            "up to the oldest change and the redo of a loop"
        );
        let mut policy = Estimate::new(false);
        policy.round(&at(4_900_000));
        assert_eq!(policy.round(&at(5_000_000)).pages, 17, "7/8 of it without doublewrite");
    }

    #[test]
    fn it_sleeps_under_a_quarter_and_leaves_the_last_eighth_to_the_foreground() {
        let mut policy = Estimate::new(true);
        policy.round(&view(1_000_000, 1, 1000));
        assert_eq!(policy.round(&view(2_000_001, 1, 1000)).pages, 0);
        assert!(policy.round(&view(2_100_002, 1, 1000)).pages > 0);
        assert_eq!(policy.round(&view(7_000_002, 1, 1000)).pages, 0);
    }
}
