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

use super::Innodb;

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
    /// Its redo is on its way, before the binary log or without one.
    Prepared,
    /// It is in the binary log's queue.
    Logged,
    /// Its last redo is on its way.
    Committed,
}

/// Where each thread's commit is.
#[derive(Debug, Default)]
pub(super) struct Commits(Vec<(Stage, u64)>);

impl Commits {
    pub(super) fn new(threads: u32) -> Self {
        Self(vec![Default::default(); threads as usize])
    }
}

impl Innodb {
    /// Commits a thread's transaction, whose changes end at `lsn` (0: there are none) and are `bytes` of redo. True: it is
    /// done. False: the thread waits, and asks again.
    pub(super) fn commit(&mut self, number: u32, lsn: u64, bytes: u64) -> bool {
        if lsn == 0 {
            return true;
        }
        let index = number as usize;
        loop {
            let (stage, own_lsn) = self.commits.0[index];
            let next = match stage {
                Stage::Begun => {
                    if !self.may_append(number) {
                        return false;
                    }
                    let two_phases = self.binlog.is_some();
                    let (_, end) = self.redo.append(if two_phases { PREPARE_BYTES } else { END_BYTES });
                    (if two_phases { Stage::Prepared } else { Stage::Committed }, end)
                }
                Stage::Prepared => {
                    if !self.secure(number, own_lsn) {
                        return false;
                    }
                    self.commits.0[index].0 = Stage::Logged;
                    if !self.log_binary(number, bytes) {
                        return false;
                    }
                    continue;
                }
                Stage::Logged => {
                    if !self.may_append(number) {
                        return false;
                    }
                    let (_, end) = self.redo.append(END_BYTES);
                    self.let_next_into_binlog();
                    // Nothing more is waited for where the binary log says that it is committed.
                    (Stage::Committed, if self.spec.generation.groups_binlog() { 0 } else { end })
                }
                Stage::Committed => {
                    if !self.secure(number, own_lsn) {
                        return false;
                    }
                    self.commits.0[index] = Default::default();
                    return true;
                }
            };
            self.commits.0[index] = next;
        }
    }

    /// Redo up to an LSN as safe as a commit wants it. True: it is. False: the thread waits.
    fn secure(&mut self, number: u32, lsn: u64) -> bool {
        match self.spec.settings.innodb_flush_log_at_trx_commit {
            0 => true,
            1 => {
                let done = self.redo.durable >= lsn;
                if !done {
                    self.want_log(lsn, super::log::Waiter::Thread(number));
                }
                done
            }
            _ => self.write_log_for(lsn, number),
        }
    }
}
