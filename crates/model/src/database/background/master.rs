//! The master thread of 5.1 and 5.5: a round a second (or as often as its policy wants), and more every ten seconds.

use std::collections::VecDeque;

use super::super::flushing::Order;
use super::super::settings::Settings;

/// A second.
pub(in super::super) const SECOND_NS: u64 = 1_000_000_000;
/// A round that asks for the next one at once waits this long: at least it has done something.
const PAUSE_NS: u64 = 1_000_000;

/// The master thread.
#[derive(Debug)]
pub(in super::super) struct Master {
    io_capacity: u64,
    max_dirty_pct: f64,
    /// What is to be written still, before the next round.
    orders: VecDeque<Order>,
    /// When the round began, and how long it lasts at least.
    round_ns: u64,
    period_ns: u64,
    /// When the last second began, and how many did since the last ten.
    second_ns: u64,
    seconds: u32,
    ios_at_ten: u64,
    at_once: bool,
}

/// What a round does besides writing pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Round {
    /// The round is the first one of a second: the log is made durable, and the change buffer merged.
    pub(in super::super) second: bool,
    /// The round is the first one of ten seconds: a checkpoint is made.
    pub(in super::super) ten: bool,
}

impl Master {
    /// The master thread of a server with these settings.
    pub(in super::super) const fn new(settings: &Settings) -> Self {
        Self {
            io_capacity: settings.innodb_io_capacity,
            max_dirty_pct: settings.innodb_max_dirty_pages_pct,
            orders: VecDeque::new(),
            round_ns: 0,
            period_ns: 0,
            second_ns: 0,
            seconds: 0,
            ios_at_ten: 0,
            at_once: false,
        }
    }

    /// A round begins, for which the policy wants this, and the next one after this time. `ios`: requests to devices since
    /// the beginning.
    pub(in super::super) fn begin_round(
        &mut self,
        now_ns: u64,
        order: Order,
        period_ns: u64,
        dirty_pct: f64,
        ios: u64,
    ) -> Round {
        // Over the dirty limit it writes io_capacity pages and sleeps for a second, whatever the policy says.
        let over = dirty_pct > self.max_dirty_pct;
        (self.round_ns, self.period_ns) = (now_ns, if over { SECOND_NS } else { period_ns });
        self.at_once = order.at_once && !over;
        self.orders.push_back(if over { Order::pages(self.io_capacity) } else { order });
        let second = now_ns - self.second_ns >= SECOND_NS;
        if second {
            self.second_ns = now_ns;
            self.seconds += 1;
        }
        // Ten of its seconds, however long they took it (srv0srv.c, the loop of srv_master_thread).
        let ten = self.seconds == 10;
        if ten {
            self.seconds = 0;
            if ios - self.ios_at_ten < 2 * self.io_capacity {
                self.orders.push_back(Order::pages(self.io_capacity));
            }
            self.ios_at_ten = ios;
            let pages = if dirty_pct > 70.0 { self.io_capacity } else { self.io_capacity / 10 };
            self.orders.push_back(Order::pages(pages));
        }
        Round { second, ten }
    }

    /// Takes what is written next in this round; None: nothing more.
    pub(in super::super) fn next_order(&mut self) -> Option<Order> {
        std::iter::from_fn(|| self.orders.pop_front()).find(|order| order.pages > 0)
    }

    /// When the next round begins, after this one has ended.
    pub(in super::super) fn next_round_ns(&self, now_ns: u64) -> u64 {
        let next_ns = if self.at_once { now_ns + PAUSE_NS } else { self.round_ns + self.period_ns };
        next_ns.max(now_ns + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn master() -> Master {
        Master {
            io_capacity: 200,
            max_dirty_pct: 75.0,
            orders: VecDeque::new(),
            round_ns: 0,
            period_ns: 0,
            second_ns: 0,
            seconds: 0,
            ios_at_ten: 0,
            at_once: false,
        }
    }

    fn take(master: &mut Master) -> Vec<u64> {
        std::iter::from_fn(|| master.next_order()).map(|order| order.pages).collect()
    }

    #[test]
    fn over_the_dirty_limit_it_writes_io_capacity_whatever_the_policy_says() {
        let mut master = master();
        let order = Order { at_once: true, ..Order::pages(7) };
        master.begin_round(1_000, order, 100_000_000, 75.0, 0);
        assert_eq!((take(&mut master), master.next_round_ns(5_000)), (vec![7], 5_000 + PAUSE_NS));
        master.begin_round(1_000, order, 100_000_000, 75.1, 0);
        assert_eq!((take(&mut master), master.next_round_ns(5_000)), (vec![200], 1_000 + SECOND_NS));
        assert_eq!(master.next_round_ns(9 * SECOND_NS), 9 * SECOND_NS + 1, "a round that took long");
    }

    #[test]
    fn every_tenth_second_it_writes_more() {
        let mut master = master();
        let mut tens = Vec::new();
        // Two rounds a second; devices are busy from the twelfth second on.
        for half in 0..50 {
            let now_ns = half * SECOND_NS / 2;
            let ios = if half < 24 { 0 } else { 100_000 * half };
            let round = master.begin_round(now_ns, Order::pages(0), SECOND_NS / 2, 71.0 * (half / 25) as f64, ios);
            assert_eq!(round.second, half > 0 && half % 2 == 0, "{half}");
            if round.ten {
                tens.push((half, take(&mut master)));
            }
            assert!(take(&mut master).is_empty());
        }
        assert_eq!(tens, [(20, vec![200, 20]), (40, vec![200])]);
    }
}
