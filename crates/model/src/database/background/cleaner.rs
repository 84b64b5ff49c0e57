//! The page cleaner of MySQL 5.6 and later, and of MariaDB: a round a second that first sees to free pages, then writes what
//! its policy wants. Several cleaner threads share the instances of a pool; here they are one.
//!
//! - MySQL 5.6: a thread that finds no free page writes one itself, a thread that finds the log at its synchronous age
//!   writes pages itself (`innodb/pages.rs`).
//! - MySQL 5.7, 8.0: no free page as before; at the log's limit threads wait and the cleaner goes on without pauses
//!   (innodb_flush_sync), in 8.0 already before they have to wait.
//! - MariaDB (buf_flush_page_cleaner): threads wait for the cleaner in both cases. It sees to free pages when fewer than half
//!   of innodb_lru_scan_depth are free (need_LRU_eviction): then to nothing else, unless the log is near its limit. After
//!   each batch of the list it sees to them, too. Its policy is asked when a second has passed since it last woke:
//!   whoever wakes it puts that off, and a batch that takes longer than a second does not.

use super::super::events::Alarm;
use super::super::flushing::Order;
use super::super::generation::CleanerGeneration;
use super::super::ids::Lsn;
use super::super::log::Ages;
use super::super::settings::Settings;
use super::master::SECOND_NS;

/// A cleaner that could do nothing, for threads that wait or for frames of which few are free, looks again after this.
const PAUSE_NS: u64 = 1_000_000;
/// Seconds between checkpoints of MySQL 5.6's and 5.7's master thread, and of a busy MySQL since 8.0.20
/// (SRV_MASTER_CHECKPOINT_INTERVAL, log_busy_checkpoint_interval).
const CHECKPOINT_SECONDS: u64 = 7;

/// Where its round is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Asleep,
    Free,
    /// `ordered`: its policy wanted pages, and not because threads wait for room in the log.
    List {
        ordered: bool,
    },
    /// MariaDB: it makes a checkpoint before it sleeps.
    Checkpoint,
}

/// What the page cleaner sees of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Sight {
    pub(in super::super) now_ns: u64,
    /// The newest change.
    pub(in super::super) lsn: Lsn,
    /// Distances of the oldest change and of the last checkpoint to the newest change.
    pub(in super::super) age: u64,
    pub(in super::super) checkpoint_age: u64,
    /// Free frames, and whether threads wait for one.
    pub(in super::super) free: u64,
    pub(in super::super) free_waiters: bool,
    /// Threads wait for room in the log.
    pub(in super::super) room_waiters: bool,
}

/// What the page cleaner does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Task {
    /// Free frames: clean pages at the ends of the LRU lists are evicted, dirty ones written. `end_stage` follows.
    Free,
    /// Ask the policy, for the time until the next round or (`sync`) for the moment. `take_order` follows.
    Ask { sync: bool },
    /// The round is over. `sleep` follows.
    Sleep,
}

/// The page cleaner.
#[derive(Debug)]
pub(in super::super) struct Cleaner {
    generation: CleanerGeneration,
    ages: Ages,
    scan_depth: u64,
    io_capacity: u64,
    /// innodb_flush_sync, of a server whose cleaner serves the log.
    flush_sync: bool,
    /// MariaDB: it goes on without pauses until the oldest change is this one or a later one (buf_flush_sync_lsn).
    sync_lsn: Lsn,
    /// How many instances it writes from at a time.
    width: u32,
    stage: Stage,
    round_ns: u64,
    /// Time between two rounds of its policy.
    period_ns: u64,
    /// When the policy is to be asked next; a round before, because a thread woke it, only sees to free pages.
    due_ns: u64,
    /// MariaDB: the next round follows at once, so that the time until the policy is asked does not begin anew.
    goes_on: bool,
    alarm: Alarm,
    seconds: u64,
}

impl Cleaner {
    /// The page cleaner of a server whose log has these limits.
    pub(in super::super) fn new(generation: CleanerGeneration, settings: &Settings, ages: &Ages) -> Self {
        Self {
            generation,
            ages: *ages,
            scan_depth: settings.innodb_lru_scan_depth,
            io_capacity: settings.innodb_io_capacity,
            sync_lsn: Lsn::ZERO,
            flush_sync: generation.serves_log() && settings.innodb_flush_sync,
            width: if generation == CleanerGeneration::Mysql56 { 1 } else { settings.innodb_page_cleaners },
            stage: Stage::Asleep,
            round_ns: 0,
            period_ns: SECOND_NS,
            due_ns: 0,
            goes_on: false,
            alarm: Alarm::default(),
            seconds: 0,
        }
    }

    /// How many instances it writes from at a time.
    pub(in super::super) const fn width(&self) -> u32 {
        self.width
    }

    /// How many frames of each instance should be free.
    pub(in super::super) const fn scan_depth(&self) -> u64 {
        self.scan_depth
    }

    /// A thread needs it now. Returns the alarm to be set, if it sleeps, and when that rings.
    pub(in super::super) fn wake(&mut self, now_ns: u64) -> Option<(u64, Alarm)> {
        (self.stage == Stage::Asleep).then(|| self.set_alarm(now_ns + 1))
    }

    fn set_alarm(&mut self, at_ns: u64) -> (u64, Alarm) {
        self.stage = Stage::Asleep;
        self.alarm = self.alarm.next();
        (at_ns, self.alarm)
    }

    /// A second has passed. True: a checkpoint is made.
    pub(in super::super) fn tick(&mut self) -> bool {
        self.seconds += 1;
        let every = match self.generation {
            CleanerGeneration::Mysql56 | CleanerGeneration::Mysql57 | CleanerGeneration::Mysql80 => CHECKPOINT_SECONDS,
            CleanerGeneration::Mysql8011 | CleanerGeneration::Mariadb1011 => 1,
        };
        self.seconds.is_multiple_of(every)
    }

    /// An alarm rang: a round begins, if it is the last one that was set.
    pub(in super::super) fn begin_round(&mut self, alarm: Alarm, sight: &Sight) -> Option<Task> {
        if alarm != self.alarm || self.stage != Stage::Asleep {
            return None;
        }
        self.round_ns = sight.now_ns;
        Some(if self.is_mariadb() { self.begin_round_of_mariadb(sight) } else { self.begin_free() })
    }

    fn begin_round_of_mariadb(&mut self, sight: &Sight) -> Task {
        let is_due = sight.now_ns >= self.due_ns;
        if !std::mem::take(&mut self.goes_on) {
            self.due_ns = sight.now_ns + self.period_ns;
        }
        let (sync, is_old) = (self.is_urgent(sight), sight.age > self.ages.modified_async);
        if !sync && !is_old && self.has_few(sight) {
            return self.begin_free();
        }
        self.begin_list(sight, sync, is_old || is_due)
    }

    /// Whether so few frames are free that the thread that takes one wakes it: in MariaDB (MDEV-33053, buf_LRU_get_free_block).
    pub(in super::super) fn is_wanted(&self, free: u64) -> bool {
        self.is_mariadb() && self.are_few(free)
    }

    const fn are_few(&self, free: u64) -> bool {
        free < self.scan_depth / 2
    }

    /// Whether too few frames are free (need_LRU_eviction of MariaDB's buf0flu.cc).
    const fn has_few(&self, sight: &Sight) -> bool {
        self.are_few(sight.free) || sight.free_waiters
    }

    fn is_mariadb(&self) -> bool {
        self.generation == CleanerGeneration::Mariadb1011
    }

    /// Whether the oldest change is so old that it goes on without pauses: until it is not, or in MariaDB until it is not
    /// over the asynchronous age of the time when it was (buf_flush_sync_for_checkpoint).
    fn is_urgent(&mut self, sight: &Sight) -> bool {
        let over = self.flush_sync && sight.age > self.ages.modified_sync;
        if over && self.is_mariadb() {
            self.sync_lsn = self.sync_lsn.max(sight.lsn - self.ages.modified_async);
        }
        let goes_on = over || self.sync_lsn != Lsn::ZERO && self.sync_lsn + sight.age > sight.lsn;
        if !goes_on {
            self.sync_lsn = Lsn::ZERO;
        }
        goes_on
    }

    const fn begin_free(&mut self) -> Task {
        self.stage = Stage::Free;
        Task::Free
    }

    fn begin_list(&mut self, sight: &Sight, sync: bool, asks: bool) -> Task {
        self.stage = Stage::List { ordered: false };
        if sync || asks { Task::Ask { sync } } else { self.end_stage(sight) }
    }

    /// Its policy wants this, and the next round after this time. Returns what it writes.
    pub(in super::super) fn take_order(&mut self, order: Order, sync: bool, period_ns: u64, sight: &Sight) -> Order {
        if sync {
            if self.is_mariadb() {
                self.due_ns = sight.now_ns + period_ns;
            }
            return order;
        }
        self.stage = Stage::List { ordered: order.pages > 0 };
        self.period_ns = period_ns;
        if order.at_once {
            self.due_ns = self.round_ns + PAUSE_NS;
        } else if !self.is_mariadb() {
            self.due_ns = self.round_ns + period_ns;
        }
        // Without innodb_flush_sync threads that wait get innodb_io_capacity a round.
        let least = if sight.room_waiters { self.io_capacity } else { 0 };
        Order { pages: order.pages.max(least), ..order }
    }

    /// Whether it has written what its policy wanted: threads that wait for room in the log look again.
    pub(in super::super) const fn has_written_list(&self) -> bool {
        matches!(self.stage, Stage::List { .. })
    }

    /// A part of the round is over.
    pub(in super::super) fn end_stage(&mut self, sight: &Sight) -> Task {
        match self.stage {
            Stage::Free if !self.is_mariadb() => {
                let sync = self.is_urgent(sight);
                // Decided when the round began: one that a thread woke before its time only frees pages, however long that
                // takes (ret_sleep in buf_flush_page_cleaner_coordinator). The next one follows at once then.
                self.begin_list(sight, sync, self.round_ns >= self.due_ns)
            }
            Stage::List { ordered } if self.is_mariadb() && (ordered || self.has_few(sight)) => self.begin_free(),
            _ => Task::Sleep,
        }
    }

    /// Whether a checkpoint is made at the end of a round.
    pub(in super::super) fn wants_checkpoint(&self, sight: &Sight) -> bool {
        // MySQL since 8.0.20 waits until threads ask for one.
        let is_far = sight.checkpoint_age > self.ages.checkpoint_async && self.generation != CleanerGeneration::Mysql80;
        let urgent = sight.room_waiters || is_far;
        let serves = self.generation != CleanerGeneration::Mysql56;
        serves && sight.age < sight.checkpoint_age && (urgent || self.is_mariadb())
    }

    /// The page cleaner sleeps until the next round. Returns the alarm to be set, and when that rings. None: MariaDB's waits
    /// for the checkpoint that is under way, until `end_checkpoint`.
    pub(in super::super) fn sleep(&mut self, sight: &Sight, checkpointing: bool) -> Option<(u64, Alarm)> {
        if checkpointing && self.is_mariadb() {
            self.stage = Stage::Checkpoint;
            return None;
        }
        let urgent = self.is_urgent(sight);
        self.goes_on = self.is_mariadb() && !urgent && self.has_few(sight);
        let until_ns = match (urgent || sight.free_waiters, self.goes_on) {
            (true, _) => sight.now_ns + PAUSE_NS,
            (false, true) => sight.now_ns,
            (false, false) => self.due_ns,
        };
        // A round that found nothing to evict and nothing to write would be followed by another in each nanosecond: a pool
        // of fewer pages than innodb_lru_scan_depth can never have enough of them.
        let stuck = self.goes_on && sight.now_ns == self.round_ns;
        Some(self.set_alarm(until_ns.max(sight.now_ns + if stuck { PAUSE_NS } else { 1 })))
    }

    /// A checkpoint is made. Returns the alarm to be set if it waited for that, and when that rings.
    pub(in super::super) fn end_checkpoint(&mut self, sight: &Sight) -> Option<(u64, Alarm)> {
        if self.stage == Stage::Checkpoint { self.sleep(sight, false) } else { None }
    }
}

#[cfg(test)]
#[path = "cleaner_tests.rs"]
mod tests;
