//! The page cleaners of MySQL 8.0.11 to 8.0.19 (buf0flu.cc and log0chkp.cc of these releases).

use super::mysql57::{Mysql57, REQUEST_SECONDS};
use super::policy::{ORDER_LAG_BYTES, Order, Policy, View};
use super::rates::Rates;

/// As in MySQL 5.7, but the thread of the checkpoints asks for pages at the log's limit, before any user has to wait.
pub(super) struct Mysql8011(Mysql57);

impl Mysql8011 {
    pub(super) const fn new(rates: Rates, loops: u64) -> Self {
        Self(Mysql57::new(rates, loops))
    }
}

impl Policy for Mysql8011 {
    fn round(&mut self, view: &View) -> Order {
        self.0.round(view)
    }

    /// Up to the synchronous age behind the newest change (log_consider_sync_flush), the lag of the flush list further
    /// (log_preflush_pool_modified_pages), and some seconds of redo further (buf_flush_request_force).
    fn sync(&mut self, view: &View) -> Order {
        let oldest_lsn = view.oldest_lsn.unwrap_or(view.lsn);
        let limit_lsn = oldest_lsn + view.over_limit() + ORDER_LAG_BYTES + self.0.redo_per_s() * REQUEST_SECONDS;
        Order { pages: u64::MAX, limit_lsn, at_once: true }
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::view;
    use super::super::rates::tests::RATES;
    use super::*;

    #[test]
    fn at_the_limit_all_pages_up_to_the_synchronous_age_and_the_lists_lag_are_written() {
        let mut policy = Mysql8011::new(RATES, 1);
        // The synchronous age is 7,500,000: 500,000 less than the age here. No redo was averaged yet.
        let order = policy.sync(&view(20_000_000, 12_000_000, 1000));
        assert_eq!((order.pages, order.limit_lsn.bytes()), (u64::MAX, 12_500_000 + ORDER_LAG_BYTES));
    }
}
