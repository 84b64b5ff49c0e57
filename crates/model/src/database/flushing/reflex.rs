//! XtraDB's first adaptive checkpoint, `reflex`.

use super::policy::{Order, Policy, View};

/// Two steps of the oldest change's age: a tenth of innodb_io_capacity from half of the log on, all of it from three quarters
/// on, and then no sleep before the next round.
pub(super) struct Reflex {
    io_capacity: u64,
}

impl Reflex {
    pub(super) const fn new(io_capacity: u64) -> Self {
        Self { io_capacity }
    }
}

impl Policy for Reflex {
    fn round(&mut self, view: &View) -> Order {
        let Some(oldest_lsn) = view.oldest_lsn else { return Order::NONE };
        let (age, most) = (view.lsn - oldest_lsn, view.ages.checkpoint_max);
        let pages = if age > most - most / 8 || age <= most / 2 {
            return Order::NONE;
        } else if age > most - most / 4 {
            self.io_capacity
        } else {
            self.io_capacity / 10
        };
        Order { at_once: true, ..Order::pages(pages) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::view;
    use super::*;

    #[test]
    fn it_has_two_steps() {
        let mut policy = Reflex::new(200);
        // The checkpoint may be further back than the oldest change: that is none of its affair.
        let mut pages = |age: u64| policy.round(&View { checkpoint_age: 7_500_000, ..view(age + 1, 1, 10) }).pages;
        assert_eq!([pages(4_000_000), pages(4_000_001), pages(6_000_000)], [0, 20, 20]);
        assert_eq!([pages(6_000_001), pages(7_000_000), pages(7_000_001)], [200, 200, 0]);
    }
}
