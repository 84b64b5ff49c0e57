//! What is written in the background: rounds of the master thread and of the page cleaner, and what follows when their
//! pages, or those of a thread, are written.

use super::super::background::{Background, SECOND_NS, Sight, Task, Wish};
use super::super::events::{Alarm, Event};
use super::super::flushing::Order;
use super::super::ids::ThreadNo;
use super::super::write_back::{Kind, Owner};
use super::Innodb;

impl Innodb {
    /// Tells those who waited for batches and passes that have ended.
    pub(super) fn end_flushes(&mut self) {
        while let Some(ended) = self.write_back.next_ended(&mut self.pool, &mut self.host) {
            match ended.owner {
                Owner::Pass(_) => {}
                Owner::Master => self.end_master_batch(ended.skipped),
                Owner::Cleaner => self.end_cleaner_stage(),
                Owner::Checkpoint => self.end_checkpoint_of_files(),
                Owner::Reader(thread) => self.host.wake(thread),
                Owner::Thread(thread) => self.end_flush(thread, ended.written, ended.skipped),
            }
        }
    }

    /// The data files are synced for a checkpoint.
    fn end_checkpoint_of_files(&mut self) {
        self.log.write_checkpoint(&mut self.host);
        let sight = self.sight();
        if let Background::Cleaner(cleaner) = &mut self.background
            && let Some((at_ns, alarm)) = cleaner.end_checkpoint(&sight)
        {
            self.host.schedule(at_ns, Event::Cleaner(alarm));
        }
    }

    /// What a thread wrote itself, or let others write, for room in the log is written. At the synchronous age it waits for
    /// everybody's batches, and looks again if it could not write in all instances.
    fn end_flush(&mut self, thread: ThreadNo, written: u64, skipped: bool) {
        if self.threads.get(thread).end_flush(written, skipped) {
            self.write_back.wait_for_lists(thread, &mut self.host);
        } else {
            self.host.wake(thread);
        }
    }

    /// What the policy wants written now; `sync`: while writers wait for room in the log.
    fn ask_policy(&mut self, sync: bool) -> Order {
        let Self { rounds, pool, log, limits, write_back, host, .. } = self;
        let order = rounds.ask(sync, host.now_ns(), pool, log, limits.ages(), write_back.counts());
        if let Some(failure) = rounds.failure() {
            host.fail(failure);
        }
        order
    }

    /// Starts to write what was ordered, in `width` instances at a time.
    fn write_order(&mut self, order: Order, sync: bool, width: u32, owner: Owner) {
        let Self { write_back, pool, host, .. } = self;
        let each = order.pages.div_ceil(pool.instances() as u64);
        let kind = Kind::List { limit_lsn: order.limit_lsn, sync };
        write_back.start_pass(kind, each, width, owner, pool, host);
    }

    /// The alarm of the master thread rang: a round begins, or an order is given again.
    pub(super) fn wake_master(&mut self) {
        let Background::Master(master) = &mut self.background else { return };
        if master.take_retry() { self.run_master() } else { self.begin_master_round() }
    }

    /// What the master thread was asked for is written; `skipped`: but in some instance another batch was in its way.
    fn end_master_batch(&mut self, skipped: bool) {
        let Background::Master(master) = &mut self.background else { return };
        match master.end_order(skipped) {
            Some(retry_ns) => self.host.schedule(self.host.now_ns() + retry_ns, Event::Master),
            None => self.run_master(),
        }
    }

    fn begin_master_round(&mut self) {
        let dirty_pct = self.pool.dirty_pct();
        let (retry_ns, period_ns) = (self.rounds.retry_ns(), self.rounds.period_ns());
        let order = self.ask_policy(false);
        let Background::Master(master) = &mut self.background else { return };
        let wish = Wish { order, retry_ns, period_ns };
        let round = master.begin_round(self.host.now_ns(), wish, dirty_pct, self.host.traffic().ios);
        if round.ten {
            self.make_checkpoint();
        }
        if round.second {
            self.sync_log_each_second();
            self.merge_in_background(round.ten);
        }
        self.run_master();
    }

    /// Starts the next batch that the master thread was asked for, or lets it sleep until the next round.
    fn run_master(&mut self) {
        let Background::Master(master) = &mut self.background else { return };
        match master.next_order() {
            // Instances from which somebody writes already are left out (buf_flush_start).
            Some(order) => self.write_order(order, false, 1, Owner::Master),
            None => self.host.schedule(master.next_round_ns(self.host.now_ns()), Event::Master),
        }
    }

    /// A second of a server with a page cleaner: the log is made durable, and checkpoints are made.
    pub(super) fn tick(&mut self) {
        self.sync_log_each_second();
        self.merge_in_background(false);
        self.purge_next();
        if let Background::Cleaner(cleaner) = &mut self.background
            && cleaner.tick()
        {
            self.make_checkpoint();
        }
        self.host.schedule(self.host.now_ns() + SECOND_NS, Event::Tick);
    }

    /// What the page cleaner sees of the server.
    fn sight(&self) -> Sight {
        Sight {
            now_ns: self.host.now_ns(),
            lsn: self.log.lsn(),
            age: self.age(),
            checkpoint_age: self.log.checkpoint_age(),
            free: self.pool.free(),
            free_waiters: self.write_back.has_free_waiters(),
            room_waiters: self.limits.has_waiters(),
        }
    }

    /// An alarm of the page cleaner rang.
    pub(super) fn begin_cleaner_round(&mut self, alarm: Alarm) {
        let sight = self.sight();
        let Background::Cleaner(cleaner) = &mut self.background else { return };
        if let Some(task) = cleaner.begin_round(alarm, &sight) {
            self.run_cleaner(task);
        }
    }

    /// A part of the page cleaner's round is over.
    fn end_cleaner_stage(&mut self) {
        let Background::Cleaner(cleaner) = &mut self.background else { return };
        if cleaner.has_written_list() && self.limits.await_cleaner() {
            self.wake_for_room();
        }
        let sight = self.sight();
        let Background::Cleaner(cleaner) = &mut self.background else { return };
        let task = cleaner.end_stage(&sight);
        self.run_cleaner(task);
    }

    /// Lets the page cleaner do this, and what follows, until it waits for pages to be written or sleeps.
    fn run_cleaner(&mut self, task: Task) {
        let Background::Cleaner(cleaner) = &mut self.background else { return };
        let width = cleaner.width();
        match task {
            Task::Free => {
                let depth = cleaner.scan_depth();
                let Self { write_back, pool, host, .. } = self;
                write_back.start_pass(Kind::Lru, depth, width, Owner::Cleaner, pool, host);
            }
            Task::Ask { sync } => {
                let order = self.ask_policy(sync);
                let (period_ns, sight) = (self.rounds.period_ns(), self.sight());
                let Background::Cleaner(cleaner) = &mut self.background else { return };
                let order = cleaner.take_order(order, sync, period_ns, &sight);
                if order.pages > 0 && self.host.failure().is_none() {
                    self.write_order(order, sync, width, Owner::Cleaner);
                } else {
                    let task = cleaner.end_stage(&sight);
                    self.run_cleaner(task);
                }
            }
            Task::Sleep => {
                let sight = self.sight();
                let Background::Cleaner(cleaner) = &mut self.background else { return };
                if cleaner.wants_checkpoint(&sight) {
                    self.make_checkpoint();
                }
                let checkpointing = self.log.is_checkpointing();
                let Background::Cleaner(cleaner) = &mut self.background else { return };
                if let Some((at_ns, alarm)) = cleaner.sleep(&sight, checkpointing) {
                    self.host.schedule(at_ns, Event::Cleaner(alarm));
                }
            }
        }
    }
}
