//! The page cleaner of MySQL 5.6 and later, and of MariaDB: a round a second that first sees to free pages, then writes what
//! its policy wants. Several cleaner threads share the instances of a pool; here they are one.
//!
//! - MySQL 5.6: a thread that finds no free page writes one itself, a thread that finds the log at its synchronous age
//!   writes pages itself (`threads.rs`).
//! - MySQL 5.7, 8.0: no free page as before; at the log's limit threads wait and the cleaner goes on without pauses
//!   (innodb_flush_sync), in 8.0 already before they have to wait.
//! - MariaDB: threads wait for the cleaner in both cases. It sees to free pages after its policy's pages, and only to
//!   them when few are free and the log is not near its limit.

use super::batches::{Kind, Owner};
use super::log::Waiter;
use super::settings::Generation;
use super::{Event, Innodb, SECOND_NS};

/// How much of the LRU list's end a thread searches for a clean page (BUF_LRU_SEARCH_SCAN_THRESHOLD).
const SEARCHED: u32 = 100;
/// A cleaner that could do nothing for those who wait looks again after this.
const PAUSE_NS: u64 = 1_000_000;
/// Seconds between checkpoints of MySQL 5.6's and 5.7's master thread (SRV_MASTER_CHECKPOINT_INTERVAL).
const CHECKPOINT_SECONDS: u64 = 7;

/// Where its round is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Asleep,
    Free,
    List,
}

/// What it remembers.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    stage: Stage,
    round_ns: u64,
    /// When the policy is to be asked next; a round before, because somebody woke it, only sees to free pages.
    due_ns: u64,
    /// Only the last alarm that was set counts.
    alarm: u32,
    seconds: u64,
}

impl Innodb {
    /// An alarm rang.
    pub(super) fn ring_cleaner(&mut self, alarm: u32) {
        if alarm == self.cleaner.alarm && self.cleaner.stage == Stage::Asleep {
            self.run_cleaner();
        }
    }

    /// Once a second: the log is made durable, and checkpoints are made.
    pub(super) fn tick(&mut self) {
        if self.redo.lsn > self.redo.durable {
            self.want_log(self.redo.lsn, Waiter::Nobody);
        }
        self.merge_in_background(false);
        self.cleaner.seconds += 1;
        let every = match self.spec.generation {
            Generation::Mysql56 | Generation::Mysql57 => CHECKPOINT_SECONDS,
            _ => 1,
        };
        if self.cleaner.seconds.is_multiple_of(every) {
            self.make_checkpoint();
        }
        self.events.push(self.now_ns + SECOND_NS, Event::Tick);
    }

    /// Somebody needs it now.
    pub(super) fn wake_cleaner(&mut self) {
        if self.cleaner.stage == Stage::Asleep {
            self.sleep_cleaner(self.now_ns + 1);
        }
    }

    fn sleep_cleaner(&mut self, until_ns: u64) {
        self.cleaner.stage = Stage::Asleep;
        self.cleaner.alarm = self.cleaner.alarm.wrapping_add(1);
        self.events.push(until_ns.max(self.now_ns + 1), Event::Cleaner(self.cleaner.alarm));
    }

    /// A round begins.
    fn run_cleaner(&mut self) {
        self.cleaner.round_ns = self.now_ns;
        if self.spec.generation == Generation::Mariadb1011 {
            let waited_for = self.flushing.iter().any(|own| !own.free_waiters.is_empty());
            let few = self.pool.free() < self.spec.settings.innodb_lru_scan_depth / 2 || waited_for;
            if few && self.age() <= self.ages.modified_async {
                self.clean_free();
            } else {
                self.clean_list();
            }
        } else {
            self.clean_free();
        }
    }

    /// Sees to free pages: clean ones at the ends of the LRU lists are evicted, dirty ones written.
    fn clean_free(&mut self) {
        self.cleaner.stage = Stage::Free;
        let depth = self.spec.settings.innodb_lru_scan_depth;
        self.start_pass(Kind::Lru, depth, self.cleaner_width(), Owner::Cleaner);
    }

    /// How many instances are written from at a time.
    fn cleaner_width(&self) -> u32 {
        if self.spec.generation == Generation::Mysql56 { 1 } else { self.spec.settings.innodb_page_cleaners }
    }

    /// Dirty pages at the end of an instance's LRU list that should be written, after its clean ones are evicted.
    pub(super) fn lru_pages_wanted(&mut self, instance: usize, depth: u64) -> u64 {
        let depth = depth.min(self.pool.data_of(instance));
        let dirty = self.pool.evict_to(instance, depth, u32::try_from(depth).unwrap_or(u32::MAX));
        if self.pool.free_of(instance) > 0 {
            self.wake_free_waiters(instance);
        }
        let wanted = depth.saturating_sub(self.pool.free_of(instance)).min(dirty);
        if self.spec.generation == Generation::Mariadb1011 {
            wanted.min(self.spec.settings.innodb_io_capacity_max.max(1))
        } else {
            wanted
        }
    }

    /// Writes what the policy wants.
    fn clean_list(&mut self) {
        self.cleaner.stage = Stage::List;
        let serves = self.spec.generation.cleaner_serves_log() && self.spec.settings.innodb_flush_sync;
        let sync = serves && self.age() > self.ages.modified_sync;
        if !sync && self.now_ns < self.cleaner.due_ns {
            self.go_on();
            return;
        }
        let mut order = self.ask_policy(sync);
        if !self.sync_waiters.is_empty() && !sync {
            // Without innodb_flush_sync those who wait get innodb_io_capacity a round.
            order.pages = order.pages.max(self.spec.settings.innodb_io_capacity);
        }
        if !sync {
            let period_ns = if order.at_once { PAUSE_NS } else { self.rounds.period_ns() };
            self.cleaner.due_ns = self.cleaner.round_ns + period_ns;
        }
        if order.pages > 0 && self.failure.is_none() {
            let each = order.pages.div_ceil(self.flushing.len() as u64);
            let kind = Kind::List { limit_lsn: order.limit_lsn, sync };
            self.start_pass(kind, each, self.cleaner_width(), Owner::Cleaner);
        } else {
            self.go_on();
        }
    }

    /// A part of the round is over.
    pub(super) fn go_on_as_cleaner(&mut self) {
        if self.cleaner.stage == Stage::List {
            self.ready.append(&mut std::mem::take(&mut self.sync_waiters).into());
        }
        self.go_on();
    }

    /// The next part of a round, or the end of it.
    fn go_on(&mut self) {
        let mariadb = self.spec.generation == Generation::Mariadb1011;
        match self.cleaner.stage {
            Stage::Free if !mariadb => self.clean_list(),
            Stage::List if mariadb => self.clean_free(),
            _ => self.end_round(),
        }
    }

    fn end_round(&mut self) {
        if self.spec.generation != Generation::Mysql56 && self.age() < self.redo.checkpoint_age() {
            let urgent = !self.sync_waiters.is_empty() || self.redo.checkpoint_age() > self.ages.checkpoint_async;
            if urgent || self.spec.generation == Generation::Mariadb1011 {
                self.make_checkpoint();
            }
        }
        let serves = self.spec.generation.cleaner_serves_log() && self.spec.settings.innodb_flush_sync;
        let over = serves && self.age() > self.ages.modified_sync;
        let waited_for = over || self.flushing.iter().any(|own| !own.free_waiters.is_empty());
        self.sleep_cleaner(if waited_for { self.now_ns + PAUSE_NS } else { self.cleaner.due_ns });
    }

    /// A frame is wanted and none is free. True: one is free now; false: the thread waits.
    pub(super) fn reach_for_frame(&mut self, number: u32, instance: usize) -> bool {
        if self.pool.evict_one(instance, SEARCHED) {
            return true;
        }
        self.counts.free_waits += 1;
        if self.spec.generation == Generation::Mariadb1011 {
            self.flushing[instance].free_waiters.push(number);
            self.wake_cleaner();
            return false;
        }
        // The cleaner is woken since 5.7; the thread writes one page by itself all the same, with a doublewrite of its own (buf_flush_single_page_from_LRU).
        if self.spec.generation != Generation::Mysql56 {
            self.wake_cleaner();
        }
        self.start_batch(instance, Kind::Single, 1, Owner::Thread(number));
        false
    }

    /// Whether the log has room for a change, of an age over the synchronous one. False: the thread waits for the cleaner.
    pub(super) fn may_change_with_cleaner(&mut self, number: u32, age: u64) -> bool {
        if self.spec.settings.innodb_flush_sync {
            self.wake_cleaner();
        }
        if age <= self.spec.generation.stop_age(&self.ages) {
            return true;
        }
        self.note_sync();
        self.sync_waiters.push(number);
        false
    }
}
