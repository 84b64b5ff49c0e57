//! The master thread of 5.1 and 5.5: a round a second (or as often as its policy wants), and more every ten seconds.

use std::collections::VecDeque;

use super::super::flushing::Order;
use super::super::generation::MasterGeneration;
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
    /// `MasterGeneration::skips_sleep`.
    skips_sleep: bool,
    /// What is to be written still, before the next round.
    orders: VecDeque<Work>,
    /// What is being written.
    under_way: Option<Work>,
    /// The next alarm is for an order that is given again, and not for a round.
    retries: bool,
    /// When the round began, and how long it lasts at least.
    round_ns: u64,
    period_ns: u64,
    /// When the last second began, and how many did since the last ten.
    second_ns: u64,
    seconds: u32,
    ios_at_ten: u64,
    at_once: bool,
}

/// Pages that are to be written, and after how long the order is given again when another batch was in its way.
#[derive(Clone, Copy, Debug)]
struct Work {
    order: Order,
    retry_ns: Option<u64>,
}

impl Work {
    const fn pages(pages: u64) -> Self {
        Self { order: Order::pages(pages), retry_ns: None }
    }
}

/// What the policy of a master thread wants.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Wish {
    pub(in super::super) order: Order,
    /// `Policy::retry_ns` and `Policy::period_ns`.
    pub(in super::super) retry_ns: Option<u64>,
    pub(in super::super) period_ns: u64,
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
    pub(in super::super) const fn new(generation: MasterGeneration, settings: &Settings) -> Self {
        Self {
            io_capacity: settings.innodb_io_capacity,
            max_dirty_pct: settings.innodb_max_dirty_pages_pct,
            skips_sleep: generation.skips_sleep(),
            orders: VecDeque::new(),
            under_way: None,
            retries: false,
            round_ns: 0,
            period_ns: 0,
            second_ns: 0,
            seconds: 0,
            ios_at_ten: 0,
            at_once: false,
        }
    }

    /// A round begins, for which the policy wants this. `ios`: requests to devices since the beginning.
    pub(in super::super) fn begin_round(&mut self, now_ns: u64, wish: Wish, dirty_pct: f64, ios: u64) -> Round {
        // Over the dirty limit it writes io_capacity pages, whatever the policy says. The share of dirty pages is a whole number
        // (buf_get_modified_ratio_pct).
        let dirty_pct = dirty_pct.floor();
        let over = dirty_pct > self.max_dirty_pct;
        (self.round_ns, self.period_ns) = (now_ns, if over { SECOND_NS } else { wish.period_ns });
        let full = over || wish.order.pages >= self.io_capacity;
        self.at_once = self.skips_sleep && full || wish.order.at_once && !over;
        let Wish { order, retry_ns, .. } = wish;
        self.orders.push_back(if over { Work::pages(self.io_capacity) } else { Work { order, retry_ns } });
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
                self.orders.push_back(Work::pages(self.io_capacity));
            }
            self.ios_at_ten = ios;
            let pages = if dirty_pct > 70.0 { self.io_capacity } else { self.io_capacity / 10 };
            self.orders.push_back(Work::pages(pages));
        }
        Round { second, ten }
    }

    /// Takes what is written next in this round; None: nothing more.
    pub(in super::super) fn next_order(&mut self) -> Option<Order> {
        self.under_way = std::iter::from_fn(|| self.orders.pop_front()).find(|work| work.order.pages > 0);
        self.under_way.map(|work| work.order)
    }

    /// What it was asked for is written. `skipped`: but in some instance another batch was in its way. Returns after how long
    /// it gives the same order again; None: it goes on.
    pub(in super::super) fn end_order(&mut self, skipped: bool) -> Option<u64> {
        let work = self.under_way.take().filter(|_| skipped)?;
        let retry_ns = work.retry_ns?;
        self.orders.push_front(work);
        self.retries = true;
        Some(retry_ns)
    }

    /// Its alarm rang: whether it is for an order that is given again.
    pub(in super::super) const fn take_retry(&mut self) -> bool {
        std::mem::replace(&mut self.retries, false)
    }

    /// When the next round begins, after this one has ended.
    pub(in super::super) fn next_round_ns(&self, now_ns: u64) -> u64 {
        let next_ns = if self.at_once { now_ns + PAUSE_NS } else { self.round_ns + self.period_ns };
        next_ns.max(now_ns + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::settings::tests::settings;
    use super::*;

    fn master(generation: MasterGeneration) -> Master {
        Master::new(generation, &settings())
    }

    fn wish(order: Order, period_ns: u64) -> Wish {
        Wish { order, retry_ns: None, period_ns }
    }

    fn take(master: &mut Master) -> Vec<u64> {
        std::iter::from_fn(|| master.next_order()).map(|order| order.pages).collect()
    }

    #[test]
    fn over_the_dirty_limit_it_writes_io_capacity_whatever_the_policy_says() {
        let mut master = master(MasterGeneration::Mysql55);
        let wish = wish(Order { at_once: true, ..Order::pages(7) }, 100_000_000);
        master.begin_round(1_000, wish, 75.9, 0);
        assert_eq!(
            (take(&mut master), master.next_round_ns(5_000)),
            (vec![7], 5_000 + PAUSE_NS),
            "75 % is not over 75 %"
        );
        master.begin_round(1_000, wish, 76.0, 0);
        assert_eq!((take(&mut master), master.next_round_ns(5_000)), (vec![200], 1_000 + SECOND_NS));
        assert_eq!(master.next_round_ns(9 * SECOND_NS), 9 * SECOND_NS + 1, "a round that took long");
    }

    #[test]
    fn in_5_1_it_does_not_sleep_when_it_writes_as_much_as_it_may() {
        for (generation, pages, dirty_pct, sleeps) in [
            (MasterGeneration::Mysql51, 7, 75.0, true),
            (MasterGeneration::Mysql51, 7, 76.0, false),
            (MasterGeneration::Mysql51, 200, 0.0, false),
            (MasterGeneration::Mysql55, 200, 76.0, true),
            (MasterGeneration::Percona55, 200, 76.0, true),
        ] {
            let mut master = master(generation);
            master.begin_round(0, wish(Order::pages(pages), SECOND_NS), dirty_pct, 0);
            assert_eq!(master.next_round_ns(5_000) == SECOND_NS, sleeps, "{generation:?}, {pages}, {dirty_pct}");
        }
    }

    #[test]
    fn an_order_that_another_batch_was_in_the_way_of_is_given_again_where_the_policy_wants_it() {
        let mut master = master(MasterGeneration::Percona55);
        let own = Wish { retry_ns: Some(5), ..wish(Order::pages(7), SECOND_NS) };
        master.begin_round(0, own, 0.0, 0);
        for _ in 0..2 {
            assert_eq!(master.next_order(), Some(Order::pages(7)));
            assert_eq!((master.end_order(true), master.take_retry(), master.take_retry()), (Some(5), true, false));
        }
        assert_eq!(master.next_order(), Some(Order::pages(7)));
        assert_eq!((master.end_order(false), master.next_order(), master.take_retry()), (None, None, false));
        // The order of the dirty limit is not the policy's.
        master.begin_round(0, own, 99.0, 0);
        assert_eq!((master.next_order(), master.end_order(true)), (Some(Order::pages(200)), None));
    }

    #[test]
    fn every_tenth_second_it_writes_more() {
        let mut master = master(MasterGeneration::Mysql55);
        let mut tens = Vec::new();
        // Two rounds a second; devices are busy from the twelfth second on.
        for half in 0..50 {
            let now_ns = half * SECOND_NS / 2;
            let ios = if half < 24 { 0 } else { 100_000 * half };
            let dirty_pct = 71.0 * (half / 25) as f64;
            let round = master.begin_round(now_ns, wish(Order::pages(0), SECOND_NS / 2), dirty_pct, ios);
            assert_eq!(round.second, half > 0 && half % 2 == 0, "{half}");
            if round.ten {
                tens.push((half, take(&mut master)));
            }
            assert!(take(&mut master).is_empty());
        }
        assert_eq!(tens, [(20, vec![200, 20]), (40, vec![200])]);
    }
}
