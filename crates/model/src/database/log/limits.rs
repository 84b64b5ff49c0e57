//! What happens when the log is near its limits: who flushes, who waits, and when that is reported.

use super::super::generation::Generation;
use super::super::ids::{Lsn, ThreadNo};
use super::super::settings::Settings;
use super::ages::Ages;
use crate::storage::Incident;

/// The limits of a server's log, and the threads that wait at them.
#[derive(Debug)]
pub(in super::super) struct Limits {
    ages: Ages,
    /// Over this age of the oldest change, a thread that looks has to do something.
    first: u64,
    /// Over this age, threads that change something wait.
    stop: u64,
    /// Threads wait for the page cleaner; before, they write pages themselves.
    cleaner_serves: bool,
    /// A change found the log near its limits (check_flush_or_checkpoint): the next one looks again.
    near: bool,
    /// Threads that wait for room in the log.
    waiters: Vec<ThreadNo>,
    /// That threads wait was reported, and they may still do.
    reported: bool,
    incidents: Vec<Incident>,
}

/// What a thread does that found too old a change in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Remedy {
    /// The thread leaves the pages to the page cleaner, and waits (`true`) or goes on.
    Cleaner(bool),
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
            first: if generation.has_cleaner() { ages.modified_sync } else { ages.modified_async },
            stop: ages.stop_age(generation),
            cleaner_serves: generation.cleaner_serves_log(),
            near: true,
            waiters: Vec::new(),
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
        checkpoint_age > self.ages.checkpoint_async
    }

    /// A thread looks: whether the oldest change is so old that it has to do something.
    pub(in super::super) const fn is_over(&mut self, age: u64) -> bool {
        let over = age > self.first;
        if !over {
            self.near = false;
        }
        over
    }

    /// What a thread does about an oldest change that is too old.
    pub(in super::super) fn remedy(&mut self, oldest_lsn: Lsn, age: u64) -> Remedy {
        let sync = age > self.ages.modified_sync;
        if sync && self.cleaner_serves {
            return Remedy::Cleaner(age > self.stop);
        }
        let behind = if sync {
            2 * (age - self.ages.modified_sync)
        } else {
            // The next change that finds the log near its limits sends another thread.
            self.near = false;
            age - self.ages.modified_async
        };
        Remedy::Flush { limit_lsn: oldest_lsn + behind, sync }
    }

    /// A thread waits for room in the log.
    pub(in super::super) fn wait(&mut self, thread: ThreadNo) {
        self.waiters.push(thread);
    }

    /// Whether threads wait for room in the log.
    pub(in super::super) fn has_waiters(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Takes the threads that wait for room in the log: they look again.
    pub(in super::super) fn take_waiters(&mut self) -> Vec<ThreadNo> {
        std::mem::take(&mut self.waiters)
    }

    /// Threads wait because the oldest change has this age. One incident, however long they do.
    pub(in super::super) fn note_stall(&mut self, now_ns: u64, age: u64) {
        if !self.reported {
            self.reported = true;
            let text = format!("writers wait for room in the log: the oldest change is {} MiB behind", age >> 20);
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
        assert!(limits.is_near() && !limits.is_over(age) && !limits.is_near());
        limits.note_change(limits.are_near(age, 0));
        assert!(!limits.is_near());
        limits.note_change(limits.are_near(age + 1, 0));
        assert!(limits.is_near() && limits.is_over(age + 1) && limits.is_near());
        let far = limits.free_until(Some(OLDEST), OLDEST);
        assert_eq!((far, limits.free_until(None, OLDEST)), (OLDEST + age, Lsn::ZERO));
    }

    #[test]
    fn without_a_cleaner_one_thread_flushes_and_at_the_limit_all_do() {
        let mut limits = Limits::of_server(MYSQL55, &settings());
        let ages = limits.ages;
        let flush = |behind, sync| Remedy::Flush { limit_lsn: OLDEST + behind, sync };
        assert_eq!(limits.remedy(OLDEST, ages.modified_async + 7), flush(7, false));
        assert!(!limits.is_near(), "the next change sends another thread");
        limits.note_change(true);
        assert_eq!(limits.remedy(OLDEST, ages.modified_sync + 7), flush(14, true));
        assert!(limits.is_near());
    }

    #[test]
    fn threads_wait_for_the_cleaner_since_5_7_and_in_8_0_later() {
        let age = |limits: &Limits| limits.ages.modified_sync + 1;
        let mut limits = cleaner(CleanerGeneration::Mysql56);
        assert!(matches!(limits.remedy(OLDEST, age(&limits)), Remedy::Flush { sync: true, .. }));
        let mut limits = cleaner(CleanerGeneration::Mysql57);
        assert_eq!(limits.remedy(OLDEST, age(&limits)), Remedy::Cleaner(true));
        let mut limits = cleaner(CleanerGeneration::Mysql80);
        assert_eq!(limits.remedy(OLDEST, age(&limits)), Remedy::Cleaner(false));
        assert_eq!(limits.remedy(OLDEST, limits.ages.checkpoint_max + 1), Remedy::Cleaner(true));
    }

    #[test]
    fn a_stall_is_one_incident_until_it_is_over() {
        let mut limits = cleaner(CleanerGeneration::Mysql57);
        let stall = |limits: &mut Limits| limits.note_stall(9, 3 << 20);
        stall(&mut limits);
        limits.wait(ThreadNo::new(2));
        let told = limits.end_interval(0);
        assert_eq!((told.len(), told[0].at_ns), (1, 9));
        assert!(told[0].text.ends_with("the oldest change is 3 MiB behind"));
        stall(&mut limits);
        assert_eq!(limits.end_interval(0), [], "it goes on");
        assert_eq!((limits.take_waiters(), limits.has_waiters()), (vec![ThreadNo::new(2)], false));
        limits.end_interval(0);
        stall(&mut limits);
        assert_eq!(limits.end_interval(0).len(), 1);
    }
}
