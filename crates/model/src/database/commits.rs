//! Ending a transaction: its redo as safe as `innodb_flush_log_at_trx_commit` wants, and the binary log in between.
//!
//! | value | at a commit | once a second |
//! |---|---|---|
//! | 0 | nothing | written and synced |
//! | 1 | written and synced | |
//! | 2 | written to the kernel | synced |
//!
//! With a binary log a commit has two phases: the transaction is prepared in InnoDB, written to the binary log, and committed
//! in InnoDB. Up to 5.5 that is three syncs; since 5.6, and in MariaDB since 10.0, what was prepared and is in the synced
//! binary log is committed after a crash anyway, so that the last one is left out (HA_IGNORE_DURABILITY).

use super::ids::{Lsn, ThreadNo};

/// Redo of preparing: state and name of the transaction in its undo log's header (trx_undo_write_xid: 140 bytes, and 6
/// around each of four writes).
const PREPARE_BYTES: u64 = 164;
/// Redo of the record that ends a transaction: its state in the undo log's header, and its number. A commit waits for a
/// write or a sync that begins after it, not only for one that has the changes before.
const END_BYTES: u64 = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Begun,
    /// It is prepared, before the binary log.
    Prepared,
    /// It is in the binary log, or in its queue.
    Logged,
    /// Its last redo is appended.
    Committed,
}

/// What a thread's commit needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// A record of so many bytes in the redo log: then `append`.
    Record(u64),
    /// The redo log as safe as a commit wants it, up to here: then `secure`.
    Safe(Lsn),
}

/// What follows when the redo log is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The transaction goes to the binary log.
    Binlog,
    /// It is committed.
    Done,
}

/// Where each thread's commit is.
#[derive(Debug)]
pub(super) struct Commits {
    threads: Vec<(Stage, Lsn)>,
    /// There is a binary log.
    two_phases: bool,
    /// Commits share the syncs of the binary log, which says after a crash that they are committed.
    grouped: bool,
}

impl Commits {
    /// The commits of so many threads.
    pub(super) fn new(threads: u32, two_phases: bool, grouped: bool) -> Self {
        Self { threads: vec![Default::default(); threads as usize], two_phases, grouped }
    }

    /// What a thread's commit needs next.
    pub(super) fn need(&self, thread: ThreadNo) -> Need {
        let (stage, lsn) = self.threads[thread.index()];
        match stage {
            Stage::Begun if self.two_phases => Need::Record(PREPARE_BYTES),
            Stage::Begun | Stage::Logged => Need::Record(END_BYTES),
            Stage::Prepared | Stage::Committed => Need::Safe(lsn),
        }
    }

    /// The record is appended, up to this LSN. True: the next transaction may go to the binary log.
    pub(super) fn append(&mut self, thread: ThreadNo, end: Lsn) -> bool {
        let commit = &mut self.threads[thread.index()];
        let logged = commit.0 == Stage::Logged;
        *commit = match commit.0 {
            Stage::Begun if self.two_phases => (Stage::Prepared, end),
            // Nothing more is waited for where the binary log says that it is committed.
            Stage::Logged if self.grouped => (Stage::Committed, Lsn::ZERO),
            _ => (Stage::Committed, end),
        };
        logged
    }

    /// Whether a thread's transaction is committed in memory: it holds no row locks any more, although its redo may not be
    /// safe yet. InnoDB has always given them up before it waits for the log (trx0trx.c of 5.0, trx_commit_off_kernel:
    /// lock_release_off_kernel, then log_write_up_to; MariaDB 10.11, trx_t::commit_in_memory): whoever changes the rows
    /// then ends further back in the log. But with a binary log it holds them while it is prepared and while the binary log
    /// is synced.
    pub(super) fn is_committed(&self, thread: ThreadNo) -> bool {
        self.threads[thread.index()].0 == Stage::Committed
    }

    /// The redo log is as safe as a commit wants it.
    pub(super) fn secure(&mut self, thread: ThreadNo) -> Then {
        let commit = &mut self.threads[thread.index()];
        if commit.0 == Stage::Prepared {
            commit.0 = Stage::Logged;
            Then::Binlog
        } else {
            *commit = Default::default();
            Then::Done
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadNo = ThreadNo::new(1);

    /// What a commit needs, one thing after another, when each record ends 1000 further.
    fn needs(mut commits: Commits) -> Vec<(Need, bool)> {
        let (mut needs, mut end) = (Vec::new(), 0);
        loop {
            let need = commits.need(THREAD);
            let (binlog, done) = match need {
                Need::Record(_) => {
                    end += 1000;
                    (commits.append(THREAD, Lsn::new(end)), false)
                }
                Need::Safe(_) => match commits.secure(THREAD) {
                    Then::Binlog => (true, false),
                    Then::Done => (false, true),
                },
            };
            needs.push((need, binlog));
            if done {
                assert_eq!(commits.threads, vec![Default::default(); 2], "it may begin again");
                return needs;
            }
        }
    }

    #[test]
    fn without_a_binary_log_the_end_is_logged_and_safe() {
        let (record, safe) = (Need::Record(END_BYTES), Need::Safe(Lsn::new(1000)));
        assert_eq!(needs(Commits::new(2, false, true)), [(record, false), (safe, false)]);
    }

    #[test]
    fn with_one_there_are_two_phases_and_the_last_is_waited_for_where_commits_share_no_sync() {
        let first = [(Need::Record(PREPARE_BYTES), false), (Need::Safe(Lsn::new(1000)), true)];
        let record = (Need::Record(END_BYTES), true);
        let with = |grouped| needs(Commits::new(2, true, grouped));
        assert_eq!(with(false), [first[0], first[1], record, (Need::Safe(Lsn::new(2000)), false)]);
        assert_eq!(with(true), [first[0], first[1], record, (Need::Safe(Lsn::ZERO), false)]);
    }
}
