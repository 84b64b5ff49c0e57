//! The master thread of 5.1 and 5.5: a round a second (or as often as its policy wants), and more every ten seconds.

use std::collections::VecDeque;

use super::batches::{Kind, Owner};
use super::flushing::Order;
use super::log::Waiter;
use super::{Event, Innodb, SECOND_NS};

/// What it remembers between rounds.
#[derive(Debug, Default)]
pub(super) struct Master {
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

impl Innodb {
    /// A round.
    pub(super) fn run_master(&mut self) {
        let (now_ns, totals) = (self.now_ns, self.counts.totals);
        let capacity = self.spec.settings.innodb_io_capacity;
        let dirty_pct = self.pool.dirty_pct();
        let period_ns = self.rounds.period_ns();
        let order = self.ask_policy(false);
        let master = &mut self.master;
        let over = dirty_pct > self.spec.settings.innodb_max_dirty_pages_pct;
        // Over the dirty limit it writes io_capacity pages and sleeps for a second, whatever the policy says.
        (master.round_ns, master.period_ns) = (now_ns, if over { SECOND_NS } else { period_ns });
        master.at_once = order.at_once && !over;
        master.orders.push_back(if over { Order::pages(capacity) } else { order });
        let second = now_ns - master.second_ns >= SECOND_NS;
        if second {
            master.second_ns = now_ns;
            master.seconds += 1;
        }
        // Ten of its seconds, however long they took it (srv0srv.c, the loop of srv_master_thread).
        let ten = master.seconds == 10;
        if ten {
            master.seconds = 0;
            if totals.ios - master.ios_at_ten < 2 * capacity {
                master.orders.push_back(Order::pages(capacity));
            }
            master.ios_at_ten = totals.ios;
            master.orders.push_back(Order::pages(if dirty_pct > 70.0 { capacity } else { capacity / 10 }));
            self.make_checkpoint();
        }
        if second && self.redo.lsn > self.redo.durable {
            self.want_log(self.redo.lsn, Waiter::Nobody);
        }
        if second {
            self.merge_in_background(ten);
        }
        self.run_orders();
    }

    /// Starts the next batch that was asked for, or sleeps until the next round.
    fn run_orders(&mut self) {
        while let Some(order) = self.master.orders.pop_front() {
            if order.pages > 0 {
                // Instances from which somebody writes already are left out (buf_flush_start).
                let each = order.pages.div_ceil(self.flushing.len() as u64);
                self.start_pass(Kind::List { limit_lsn: order.limit_lsn, sync: false }, each, 1, Owner::Master);
                return;
            }
        }
        let next_ns = self.master.round_ns + self.master.period_ns;
        // A round that asks for the next one at once has at least done something, or waits a millisecond.
        let next_ns = if self.master.at_once { self.now_ns + 1_000_000 } else { next_ns.max(self.now_ns) };
        self.events.push(next_ns.max(self.now_ns + 1), Event::Master);
    }

    /// What was asked for is written.
    pub(super) fn go_on_as_master(&mut self) {
        self.run_orders();
    }
}
