//! XtraDB's `keep_average` (innodb_adaptive_flushing_method = 2 of Percona Server 5.5): ten small rounds a second.

use super::policy::{Order, Policy, View};
use crate::database::ids::Lsn;

/// In each round the pages that its redo makes due, less those that others wrote, and one; or none, if that leaves nothing
/// due. It knows no innodb_io_capacity.
#[derive(Default)]
pub(super) struct KeepAverage {
    lsn: Lsn,
    /// Pages that its own last round asked for.
    own: u64,
}

impl Policy for KeepAverage {
    fn period_ns(&self) -> u64 {
        100_000_000
    }

    fn round(&mut self, view: &View) -> Order {
        let redo = if self.lsn == Lsn::ZERO { 0 } else { view.lsn - self.lsn };
        self.lsn = view.lsn;
        let Some(oldest_lsn) = view.oldest_lsn else {
            self.own = 0;
            return Order::NONE;
        };
        let due = u128::from(view.dirty) * u128::from(redo) / u128::from(view.ages.modified_async.max(1));
        // What the master thread writes each ten seconds counts as others'.
        let others = view.flushed.saturating_sub(self.own.min(view.flushed_own));
        let pages = match (due as u64).saturating_sub(others) {
            0 => 0,
            due => due + 1,
        };
        self.own = pages;
        Order { pages, limit_lsn: oldest_lsn + redo, at_once: false }
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::view;
    use super::*;

    #[test]
    fn a_round_writes_what_its_redo_makes_due_and_no_further() {
        let mut policy = KeepAverage::default();
        policy.round(&view(1_000_000, 500_000, 7000));
        // 7000 x 10,000 / 7,000,000 = 10, and one.
        let order = policy.round(&view(1_010_000, 500_000, 7000));
        assert_eq!((order.pages, order.limit_lsn), (11, Lsn::new(510_000)));
        // 16 were written, 11 of them by itself: others did 5.
        let order = policy.round(&View { flushed: 16, flushed_own: 11, ..view(1_020_000, 505_000, 7000) });
        assert_eq!((order.pages, order.limit_lsn), (6, Lsn::new(515_000)));
        // It wanted 6 and wrote 2: others wrote 14, and nothing is left.
        let order = policy.round(&View { flushed: 16, flushed_own: 2, ..view(1_030_000, 505_000, 7000) });
        assert_eq!(order.pages, 0);
        assert_eq!(policy.period_ns(), 100_000_000);
    }
}
