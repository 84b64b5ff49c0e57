//! What goes between the log and the rest of the server: who appends, who waits, and who goes on.

use super::super::background::Background;
use super::super::events::{Event, LogStep};
use super::super::ids::{Lsn, ThreadNo, WriterId};
use super::super::log::{Effect, Remedy, Room, Waiter};
use super::super::threads::Place;
use super::super::write_back::{Kind, Owner};
use super::Innodb;

impl Innodb {
    /// Whether a thread may append a change now. False: it waits, for a writer that holds the log or for room in the buffer.
    pub(super) fn may_append(&mut self, thread: ThreadNo) -> bool {
        match self.log.room() {
            Room::Free => {}
            Room::HalfFull => {
                if self.log.may_write() {
                    self.write_log();
                }
            }
            Room::Held => {
                if !self.burn(thread) {
                    self.log.wait_for_holder(thread);
                    self.wait(thread, Place::LogBuffer);
                }
                return false;
            }
            Room::Full => {
                if !self.burn(thread) {
                    self.log.wait_for_buffer(thread);
                    self.wait(thread, Place::LogBuffer);
                    self.run_log();
                }
                return false;
            }
        }
        true
    }

    /// Whether the log has room for a change of a thread (log_free_check, log_checkpoint_margin). False: the thread waits,
    /// or writes pages itself.
    pub(super) fn may_change(&mut self, thread: ThreadNo) -> bool {
        if !self.limits.is_near() {
            return true;
        }
        if self.limits.wants_checkpoint(self.log.checkpoint_age()) {
            self.make_checkpoint();
        }
        let age = self.age();
        let oldest_lsn = self.log.lsn() - age;
        self.threads.get(thread).note_oldest(oldest_lsn);
        if !self.limits.is_over(age, self.log.checkpoint_age()) || self.threads.get(thread).has_preflushed() {
            return true;
        }
        if self.burn(thread) {
            return false;
        }
        self.wait(thread, Place::LogRoom);
        match self.limits.remedy(oldest_lsn, age, self.log.checkpoint_age()) {
            Remedy::Cleaner => {
                self.wake_cleaner_for_log();
                true
            }
            Remedy::Wait(target_lsn) => {
                self.wake_cleaner_for_log();
                if let Some(target_lsn) = target_lsn {
                    self.threads.get(thread).await_oldest(target_lsn);
                }
                self.wait_for_room(thread, age);
                false
            }
            Remedy::Checkpoint => {
                self.wake_cleaner_for_log();
                self.make_checkpoint();
                self.wait_for_room(thread, self.log.checkpoint_age());
                false
            }
            Remedy::Flush { limit_lsn, sync } => {
                if sync {
                    self.limits.note_stall(self.host.now_ns(), age);
                }
                self.threads.get(thread).begin_flush(sync);
                let Self { write_back, pool, host, .. } = self;
                let kind = Kind::List { limit_lsn, sync: true };
                write_back.start_pass(kind, u64::MAX, 1, Owner::Thread(thread), pool, host);
                false
            }
        }
    }

    /// The page cleaner is woken for the log's age, if it may be (innodb_flush_sync).
    fn wake_cleaner_for_log(&mut self) {
        if self.spec.settings.innodb_flush_sync {
            self.wake_cleaner();
        }
    }

    /// A thread waits for room in the log, which reaches so far back.
    fn wait_for_room(&mut self, thread: ThreadNo, age: u64) {
        let now_ns = self.host.now_ns();
        self.limits.note_stall(now_ns, age);
        if let Some(at_ns) = self.limits.wait(thread, now_ns) {
            self.host.schedule(at_ns, Event::Room);
        }
    }

    /// Threads that wait for room in the log look again.
    pub(super) fn look_for_room(&mut self) {
        if self.limits.wants_checkpoint(self.log.checkpoint_age()) {
            self.make_checkpoint();
        }
        self.wake_for_room();
    }

    /// Threads that wait for room in the log look whether there is some now.
    pub(super) fn wake_for_room(&mut self) {
        self.limits.take_waiters().into_iter().for_each(|thread| self.host.wake(thread));
    }

    /// A checkpoint is durable.
    pub(super) fn end_checkpoint(&mut self) {
        self.log.end_checkpoint();
        self.wake_for_room();
    }

    /// Distance between the newest change and the oldest that is in no file.
    pub(super) fn age(&self) -> u64 {
        self.log.age(self.pool.oldest_lsn())
    }

    /// Lets recovery begin at the oldest change that is in no file.
    pub(super) fn make_checkpoint(&mut self) {
        if self.log.begin_checkpoint(self.pool.oldest_lsn())
            && !self.write_back.sync_for_checkpoint(&mut self.pool, &mut self.host)
        {
            self.log.write_checkpoint(&mut self.host);
        }
    }

    /// Makes the log durable up to an LSN, for a waiter.
    pub(super) fn sync_log(&mut self, lsn: Lsn, waiter: Waiter) {
        self.log.wait_for_sync(lsn, waiter);
        self.run_log();
    }

    /// Makes the log durable as far as it is, if it is not: once a second.
    pub(super) fn sync_log_each_second(&mut self) {
        if self.log.lsn() > self.log.durable() {
            self.sync_log(self.log.lsn(), Waiter::Nobody);
        }
    }

    /// Whether the log is in its files up to an LSN, durable or not. False: the thread waits until it is.
    pub(super) fn write_log_for(&mut self, thread: ThreadNo, lsn: Lsn) -> bool {
        if self.log.written() < lsn && self.log.may_write() {
            self.write_log();
        }
        let done = self.log.written() >= lsn;
        if !done {
            self.log.wait_for_write(lsn, thread);
        }
        done
    }

    fn write_log(&mut self) {
        let effects = self.log.begin_write(&mut self.host);
        self.apply(effects);
    }

    /// Starts what can be started of what is waited for.
    fn run_log(&mut self) {
        while let Some(effects) = self.log.start_next(&mut self.host) {
            self.apply(effects);
        }
    }

    /// A device has done a step of a log, or the file system's journal is committed for which a write has waited.
    pub(super) fn end_log_step(&mut self, step: LogStep) {
        let effects = match step {
            LogStep::Write => self.log.end_write_step(),
            LogStep::Sync => self.log.end_sync_step(&mut self.host),
            LogStep::Binlog => {
                self.binlog.iter_mut().for_each(|binlog| binlog.end_step(&mut self.host));
                Vec::new()
            }
            LogStep::Writeback => Vec::new(),
        };
        self.apply(effects);
        self.run_log();
    }

    /// Lets the rest of the server know what a step of the log means for it.
    fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Hold => self.threads.hold_log(self.host.now_ns()),
                Effect::Release => self.threads.release_log(&mut self.host),
                Effect::Wake(thread) => self.host.wake(thread),
                Effect::Durable(writer) => self.write_back.begin_chunk(writer, &mut self.pool, &mut self.host),
            }
        }
    }

    /// The pages of a writer's chunk are in it: they go out when the log is durable up to them.
    pub(super) fn end_posting(&mut self, writer: WriterId) {
        let durable = self.log.durable();
        if let Some(lsn) = self.write_back.end_posting(writer, durable, &mut self.pool, &mut self.host) {
            self.sync_log(lsn, Waiter::Writer(writer));
        }
    }

    /// A thread needs the page cleaner, if there is one, now.
    pub(super) fn wake_cleaner(&mut self) {
        if let Background::Cleaner(cleaner) = &mut self.background
            && let Some((at_ns, alarm)) = cleaner.wake(self.host.now_ns())
        {
            self.host.schedule(at_ns, Event::Cleaner(alarm));
        }
    }
}
