//! XtraDB's first adaptive checkpoint, `reflex`.

use super::policy::{Order, Policy, View};

/// Two steps of the log's age: a tenth of innodb_io_capacity from half of it on, all of it from three quarters on, and
/// no sleep between rounds.
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
        let (age, most) = (view.checkpoint_age, view.ages.checkpoint_max);
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
        let mut pages = |age: u64| policy.round(&view(age + 1, 1, 10)).pages;
        assert_eq!([pages(4_000_000), pages(4_000_001), pages(6_000_000)], [0, 20, 20]);
        assert_eq!([pages(6_000_001), pages(7_000_000), pages(7_000_001)], [200, 200, 0]);
    }
}
