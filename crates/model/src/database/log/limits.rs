//! What happens when the log is near its limits: who flushes, who waits, and when that is reported.

use super::super::generation::{Generation, RoomRule};
use super::super::ids::{Lsn, ThreadNo};
use super::super::settings::Settings;
use super::ages::Ages;
use crate::storage::Incident;

/// Threads that wait for room in the log look again after this (buf_flush_wait_flushed, log_checkpointer).
const LOOK_NS: u64 = 10_000_000;

/// The limits of a server's log, and the threads that wait at them.
#[derive(Debug)]
pub(in super::super) struct Limits {
    ages: Ages,
    /// Over this age of the oldest change, a thread that looks does something.
    first: u64,
    /// Over this age, threads that change something wait.
    stop: u64,
    rule: RoomRule,
    /// A change found the log near its limits (check_flush_or_checkpoint): the next one looks again.
    near: bool,
    /// Threads that wait for room in the log.
    waiters: Vec<ThreadNo>,
    /// When they look again.
    look_ns: u64,
    /// That threads wait was reported, and they may still do.
    reported: bool,
    incidents: Vec<Incident>,
}

/// What a thread does that found too old a change in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Remedy {
    /// The thread leaves the pages to the page cleaner, and goes on.
    Cleaner,
    /// It waits until the page cleaner has written something; `Some`: until it has written the pages whose oldest change is
    /// before this LSN.
    Wait(Option<Lsn>),
    /// It waits for a checkpoint.
    Checkpoint,
    /// The thread itself writes the pages whose oldest change is before this LSN. `sync`: all threads that change something
    /// do so.
    Flush { limit_lsn: Lsn, sync: bool },
}

impl Limits {
    /// The limits of a server with these settings.
    pub(in super::super) fn of_server(generation: Generation, settings: &Settings) -> Self {
        let ages = Ages::of_server(generation, settings);
        Self {
            ages,
            first: match generation.room_rule() {
                // Its page cleaner looks for itself, once a second, until a thread asks for a checkpoint.
                RoomRule::RequestCheckpoint => u64::MAX,
                _ if generation.has_cleaner() => ages.modified_sync,
                _ => ages.modified_async,
            },
            stop: ages.stop_age(generation),
            rule: generation.room_rule(),
            near: true,
            waiters: Vec::new(),
            look_ns: 0,
            reported: false,
            incidents: Vec::new(),
        }
    }

    /// The ages.
    pub(in super::super) const fn ages(&self) -> &Ages {
        &self.ages
    }

    /// Whether a thread that changes something looks at the log's limits first.
    #[inline]
    pub(in super::super) const fn is_near(&self) -> bool {
        self.near
    }

    /// As long as the newest change is no further than this, no thread has to look at the limits.
    pub(in super::super) fn free_until(&self, oldest_lsn: Option<Lsn>, checkpoint: Lsn) -> Lsn {
        match oldest_lsn {
            Some(oldest) => (oldest + self.ages.modified_async).min(checkpoint + self.ages.checkpoint_async),
            None => Lsn::ZERO,
        }
    }

    /// A change was appended, after which the log is near its limits (`near`) or not.
    #[inline]
    pub(in super::super) const fn note_change(&mut self, near: bool) {
        self.near |= near;
    }

    /// Whether the log is near its limits at these ages of the oldest change and the checkpoint.
    pub(in super::super) const fn are_near(&self, age: u64, checkpoint_age: u64) -> bool {
        age > self.ages.modified_async || checkpoint_age > self.ages.checkpoint_async
    }

    /// Whether the distance to the last checkpoint asks for a new one.
    pub(in super::super) const fn wants_checkpoint(&self, checkpoint_age: u64) -> bool {
        checkpoint_age > self.ages.checkpoint_async && !matches!(self.rule, RoomRule::RequestCheckpoint)
    }

    /// A thread looks: whether the log reaches so far back that it has to do something.
    pub(in super::super) const fn is_over(&mut self, age: u64, checkpoint_age: u64) -> bool {
        let over = age > self.first || self.stops(age, checkpoint_age);
        if !over {
            self.near = false;
        }
        over
    }

    /// Whether threads wait that change something.
    const fn stops(&self, age: u64, checkpoint_age: u64) -> bool {
        (if self.rule.looks_at_checkpoint() { checkpoint_age } else { age }) > self.stop
    }

    /// What a thread does when the log reaches too far back.
    pub(in super::super) fn remedy(&mut self, oldest_lsn: Lsn, age: u64, checkpoint_age: u64) -> Remedy {
        let sync = age > self.ages.modified_sync;
        match self.rule {
            RoomRule::AwaitPages if sync => Remedy::Wait(Some(oldest_lsn + (age - self.ages.modified_sync))),
            RoomRule::AwaitCleaner if self.stops(age, checkpoint_age) => Remedy::Wait(None),
            RoomRule::AwaitCheckpoint | RoomRule::RequestCheckpoint if self.stops(age, checkpoint_age) => {
                Remedy::Checkpoint
            }
            RoomRule::Write => {
                let behind = if sync {
                    2 * (age - self.ages.modified_sync)
                } else {
                    // The next change that finds the log near its limits sends another thread.
                    self.near = false;
                    age - self.ages.modified_async
                };
                Remedy::Flush { limit_lsn: oldest_lsn + behind, sync }
            }
            _ => Remedy::Cleaner,
        }
    }

    /// A thread waits for room in the log. Returns when it is to look again, unless that is settled, or it is told.
    pub(in super::super) fn wait(&mut self, thread: ThreadNo, now_ns: u64) -> Option<u64> {
        self.waiters.push(thread);
        let looks = matches!(self.rule, RoomRule::AwaitPages | RoomRule::AwaitCheckpoint) && self.look_ns <= now_ns;
        if looks {
            self.look_ns = now_ns + LOOK_NS;
        }
        looks.then_some(self.look_ns)
    }

    /// Whether those who wait look when the page cleaner has written what it wanted.
    pub(in super::super) const fn await_cleaner(&self) -> bool {
        matches!(self.rule, RoomRule::AwaitCleaner)
    }

    /// Whether threads wait for room in the log.
    pub(in super::super) fn has_waiters(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Takes the threads that wait for room in the log: they look again.
    pub(in super::super) fn take_waiters(&mut self) -> Vec<ThreadNo> {
        std::mem::take(&mut self.waiters)
    }

    /// Threads wait because the log reaches so far back. One incident, however long they do.
    pub(in super::super) fn note_stall(&mut self, now_ns: u64, age: u64) {
        if !self.reported {
            self.reported = true;
            let text = format!("writers wait for room in the log: the log reaches {} MiB back", age >> 20);
            self.incidents.push(Incident { at_ns: now_ns, text });
        }
    }

    /// Ends an interval, at whose end the oldest change has this age. Returns its incidents.
    pub(in super::super) fn end_interval(&mut self, age: u64) -> Vec<Incident> {
        // Up to 5.6 those who wait write pages themselves: only the age tells whether they still do.
        self.reported &= self.has_waiters() || age > self.stop;
        std::mem::take(&mut self.incidents)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::generation::{CleanerGeneration, MasterGeneration};
    use super::super::super::settings::tests::settings;
    use super::*;

    const MYSQL55: Generation = Generation::Master(MasterGeneration::Mysql55);
    const OLDEST: Lsn = Lsn::new(1 << 30);

    fn cleaner(generation: CleanerGeneration) -> Limits {
        let settings = Settings { innodb_redo_log_capacity: 1 << 30, ..settings() };
        Limits::of_server(Generation::Cleaner(generation), &settings)
    }

    #[test]
    fn a_thread_looks_once_until_a_change_comes_near_again() {
        let mut limits = Limits::of_server(MYSQL55, &settings());
        let age = limits.ages.modified_async;
        assert!(limits.is_near() && !limits.is_over(age, 0) && !limits.is_near());
        limits.note_change(limits.are_near(age, 0));
        assert!(!limits.is_near());
        limits.note_change(limits.are_near(age + 1, 0));
        assert!(limits.is_near() && limits.is_over(age + 1, 0) && limits.is_near());
        let far = limits.free_until(Some(OLDEST), OLDEST);
        assert_eq!((far, limits.free_until(None, OLDEST)), (OLDEST + age, Lsn::ZERO));
    }

    #[test]
    fn without_a_cleaner_one_thread_flushes_and_at_the_limit_all_do() {
        let mut limits = Limits::of_server(MYSQL55, &settings());
        let ages = limits.ages;
        let flush = |behind, sync| Remedy::Flush { limit_lsn: OLDEST + behind, sync };
        assert_eq!(limits.remedy(OLDEST, ages.modified_async + 7, 0), flush(7, false));
        assert!(!limits.is_near(), "the next change sends another thread");
        limits.note_change(true);
        assert_eq!(limits.remedy(OLDEST, ages.modified_sync + 7, 0), flush(14, true));
        assert!(limits.is_near());
    }

    #[test]
    fn a_thread_of_5_6_writes_pages_itself() {
        let mut limits = cleaner(CleanerGeneration::Mysql56);
        let age = limits.ages.modified_sync + 1;
        assert!(matches!(limits.remedy(OLDEST, age, age), Remedy::Flush { sync: true, .. }));
    }

    #[test]
    fn a_thread_of_5_7_waits_for_the_pages_that_are_too_old() {
        let mut limits = cleaner(CleanerGeneration::Mysql57);
        let age = limits.ages.modified_sync + 7;
        assert_eq!(limits.remedy(OLDEST, age, age), Remedy::Wait(Some(OLDEST + 7)));
        // It and others look again together, each 10 ms.
        assert_eq!(limits.wait(ThreadNo::new(1), 5), Some(5 + LOOK_NS));
        assert_eq!(limits.wait(ThreadNo::new(2), 6), None);
        assert_eq!(limits.take_waiters().len(), 2);
        assert_eq!(limits.wait(ThreadNo::new(1), 5 + LOOK_NS), Some(5 + 2 * LOOK_NS));
    }

    #[test]
    fn a_thread_of_8_0_waits_for_a_checkpoint() {
        for generation in [CleanerGeneration::Mysql8011, CleanerGeneration::Mysql80] {
            let mut limits = cleaner(generation);
            let (sync, stop) = (limits.ages.modified_sync, limits.ages.checkpoint_max);
            assert_eq!(limits.remedy(OLDEST, sync + 1, sync + 1), Remedy::Cleaner, "{generation:?}");
            assert_eq!(limits.remedy(OLDEST, 0, stop + 1), Remedy::Checkpoint, "{generation:?}");
            assert!(limits.is_over(0, stop + 1) && !limits.is_over(0, stop), "{generation:?}");
        }
    }

    #[test]
    fn checkpoints_are_made_near_the_limit_until_8_0_20_and_then_when_they_are_asked_for() {
        let mut early = cleaner(CleanerGeneration::Mysql8011);
        let age = early.ages.checkpoint_async + 1;
        assert!(early.wants_checkpoint(age) && !early.wants_checkpoint(age - 1));
        assert!(early.wait(ThreadNo::new(1), 5).is_some(), "it looks");
        let mut late = cleaner(CleanerGeneration::Mysql80);
        assert!(!late.wants_checkpoint(u64::MAX));
        assert!(!late.is_over(late.ages.modified_sync + 1, 0), "its threads do not wake the cleaner");
        assert_eq!(late.wait(ThreadNo::new(1), 5), None, "it is told");
    }

    #[test]
    fn a_thread_of_mariadb_waits_for_the_cleaner_at_the_last_limit() {
        let mut limits = cleaner(CleanerGeneration::Mariadb1011);
        let age = limits.ages.checkpoint_max + 1;
        assert_eq!(limits.remedy(OLDEST, age, age), Remedy::Wait(None));
        assert!(limits.await_cleaner());
    }

    #[test]
    fn a_stall_is_one_incident_until_it_is_over() {
        let mut limits = cleaner(CleanerGeneration::Mysql57);
        let stall = |limits: &mut Limits| limits.note_stall(9, 3 << 20);
        stall(&mut limits);
        limits.wait(ThreadNo::new(2), 0);
        let told = limits.end_interval(0);
        assert_eq!((told.len(), told[0].at_ns), (1, 9));
        assert!(told[0].text.ends_with("the log reaches 3 MiB back"));
        stall(&mut limits);
        assert_eq!(limits.end_interval(0), [], "it goes on");
        assert_eq!((limits.take_waiters(), limits.has_waiters()), (vec![ThreadNo::new(2)], false));
        limits.end_interval(0);
        stall(&mut limits);
        assert_eq!(limits.end_interval(0).len(), 1);
    }
}
