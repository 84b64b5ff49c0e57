//! innodb_adaptive_flushing = OFF of MySQL 5.5, and servers before it.

use super::policy::{Order, Policy, View};

/// Nothing by itself: only the dirty limit and the log's limits flush.
pub(super) struct Nothing;

impl Policy for Nothing {
    fn round(&mut self, _: &View) -> Order {
        Order::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::view;
    use super::*;

    #[test]
    fn nothing_is_asked_for_however_old_the_changes_are() {
        assert_eq!(Nothing.round(&view(7_999_999, 1, 1000)), Order::pages(0));
        assert_eq!(Nothing.period_ns(), 1_000_000_000);
    }
}
