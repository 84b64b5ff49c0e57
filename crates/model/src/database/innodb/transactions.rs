//! A thread's transactions, use of a page after use of a page, with the waits where InnoDB's threads wait.

use super::super::commits::{Need, Then};
use super::super::ids::{Lsn, RowNo, ThreadNo};
use super::super::locks::Answer;
use super::super::log::Waiter;
use super::super::threads::{Place, Shared};
use super::super::touches::{Mode, Touch, What};
use super::Innodb;

impl Innodb {
    /// Lets a thread go on until it waits.
    pub(super) fn run_thread(&mut self, thread: ThreadNo) {
        if !self.threads.resume(thread, self.host.now_ns()) {
            return;
        }
        loop {
            if let Some(instance) = self.threads.get(thread).take_margin_check()
                && self.make_margin(thread, instance)
            {
                self.wait(thread, Place::FreePage);
                return;
            }
            let Self { threads, pool, log, limits, change_buffer, host, locks, .. } = self;
            let shared = Shared { pool, log, limits, locks };
            threads.run_hits(thread, host.now_ms(), shared, change_buffer.as_ref());
            match self.threads.get(thread).touch() {
                Some(touch) if self.do_touch(thread, touch) => self.threads.get(thread).advance(),
                None if self.begin_next_transaction(thread) => {}
                _ => return,
            }
        }
    }

    /// What of a transaction `run_hits` has left: a page that is used, a row that is locked, or a commit. False: the thread
    /// waits, and tries again.
    fn do_touch(&mut self, thread: ThreadNo, touch: Touch) -> bool {
        match (touch.row(), touch.what) {
            (Some((row, mode)), _) => self.lock_row(thread, row, mode),
            (None, What::Commit) => self.commit_so_far(thread),
            (None, _) => self.use_page(thread, touch),
        }
    }

    /// Commits what a thread has done so far, in the midst of its work.
    fn commit_so_far(&mut self, thread: ThreadNo) -> bool {
        let done = !self.burn(thread) && self.end_changes(thread);
        if done {
            self.threads.get(thread).note_committed();
        }
        done
    }

    /// A row that somebody holds, or for which somebody has waited, at the moment at which a thread wants it.
    fn lock_row(&mut self, thread: ThreadNo, row: RowNo, mode: Mode) -> bool {
        if self.burn(thread) {
            return false;
        }
        match self.locks.request(thread, row, mode, &mut self.host) {
            Answer::Granted => true,
            Answer::Waits => {
                self.wait(thread, Place::RowLock);
                false
            }
            Answer::Victim => {
                // What it had changed is changed back: the redo of that is left out.
                self.locks.release(thread, &mut self.host);
                self.threads.begin_again(thread);
                self.host.wake(thread);
                false
            }
        }
    }

    /// Lets a thread spend the CPU time that it owes before it waits. False when it owes none.
    pub(super) fn burn(&mut self, thread: ThreadNo) -> bool {
        self.threads.burn(thread, &mut self.host)
    }

    /// Commits a thread's transaction and begins its next one. False: the thread waits, or has ended.
    fn begin_next_transaction(&mut self, thread: ThreadNo) -> bool {
        if self.burn(thread) || self.change_buffer.as_mut().is_some_and(|buffer| buffer.rest(thread)) {
            return false;
        }
        if self.purge.as_mut().is_some_and(|purge| purge.rest(thread)) {
            self.purge_next();
            return false;
        }
        if !self.end_changes(thread) {
            return false;
        }
        let now_ns = self.host.now_ns();
        self.threads.end_transaction(thread, now_ns);
        let Self { threads, touches, pool, change_buffer, host, .. } = self;
        threads.begin_transaction(thread, host, touches.as_mut(), pool, change_buffer.as_ref())
    }

    /// Commits what a thread has changed. False: it waits, and asks again.
    fn end_changes(&mut self, thread: ThreadNo) -> bool {
        let uncommitted = self.threads.get(thread).uncommitted();
        let done = uncommitted.is_none_or(|(lsn, bytes)| self.commit(thread, lsn, bytes));
        if done {
            // Whoever has changed nothing has had no commit.
            self.locks.release(thread, &mut self.host);
            if let Some(purge) = &mut self.purge {
                purge.add(self.host.now_ns(), self.threads.get(thread).uncommitted_changes());
            }
        }
        done
    }

    /// Lets the purge begin its next batch, if the one before is over.
    pub(super) fn purge_next(&mut self) {
        let Self { threads, host, purge, .. } = self;
        let Some(purge) = purge.as_mut().filter(|purge| purge.is_idle()) else { return };
        let placement = host.placement();
        for (thread, touches) in purge.begin_batch(threads.started_ns().min(), |page| placement.file_of(page)) {
            threads.get(thread).append(&touches);
            host.wake(thread);
        }
    }

    /// Commits a thread's transaction, whose changes end at `lsn` (ZERO: there are none) and are `bytes` of redo. True: it
    /// is done. False: the thread waits, and asks again.
    fn commit(&mut self, thread: ThreadNo, lsn: Lsn, bytes: u64) -> bool {
        if lsn == Lsn::ZERO {
            return true;
        }
        loop {
            match self.commits.need(thread) {
                Need::Record(record_bytes) => {
                    if !self.may_append(thread) {
                        return false;
                    }
                    let (_, end) = self.log.append(record_bytes);
                    if self.commits.append(thread, end)
                        && let Some(binlog) = &mut self.binlog
                    {
                        binlog.end_commit(&mut self.host);
                    }
                    if self.commits.is_committed(thread) {
                        self.locks.release(thread, &mut self.host);
                    }
                }
                Need::Safe(lsn) => {
                    if !self.secure(thread, lsn) {
                        return false;
                    }
                    match (self.commits.secure(thread), &mut self.binlog) {
                        (Then::Done, _) => return true,
                        (Then::Binlog, Some(binlog)) => {
                            binlog.commit(thread, bytes, &mut self.host);
                            self.wait(thread, Place::Commit);
                            return false;
                        }
                        (Then::Binlog, None) => {}
                    }
                }
            }
        }
    }

    /// Whether redo up to an LSN is as safe as a commit wants it (innodb_flush_log_at_trx_commit: 0 not at all, 1 written
    /// and synced, 2 written). False: the thread waits.
    fn secure(&mut self, thread: ThreadNo, lsn: Lsn) -> bool {
        let done = match self.spec.settings.innodb_flush_log_at_trx_commit {
            0 => true,
            1 => {
                let done = self.log.durable() >= lsn;
                if !done {
                    self.sync_log(lsn, Waiter::Thread(thread));
                }
                done
            }
            _ => self.write_log_for(thread, lsn),
        };
        if !done {
            self.wait(thread, Place::Commit);
        }
        done
    }

    /// A thread waits from now on.
    pub(super) fn wait(&mut self, thread: ThreadNo, place: Place) {
        self.threads.wait(thread, place, self.host.now_ns());
    }
}
