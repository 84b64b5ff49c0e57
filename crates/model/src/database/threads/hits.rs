//! What threads do most: they use pages that are in memory, one after another, and nothing happens besides.
//!
//! Here is only what of a use is left when a page is there, idle and no news to read-ahead, and the log has room: hundreds
//! of uses a transaction, in a loop that asks once what holds for all of them.

use super::super::change_buffer::ChangeBuffer;
use super::super::ids::{Lsn, ThreadNo};
use super::super::locks::RowLocks;
use super::super::log::{Limits, Log};
use super::super::pool::Pool;
use super::super::touches::What;
use super::Threads;
use super::ahead::STEP;
use super::thread::Work;

/// What all threads of a server share.
pub(in super::super) struct Shared<'a> {
    pub(in super::super) pool: &'a mut Pool,
    pub(in super::super) log: &'a mut Log,
    pub(in super::super) limits: &'a mut Limits,
    pub(in super::super) locks: &'a mut RowLocks,
}

impl Threads {
    /// Takes a thread to the next page or row that it must wait for, or with which something else has to happen; or to its
    /// end.
    pub(in super::super) fn run_hits(
        &mut self,
        number: ThreadNo,
        now_ms: u32,
        shared: Shared,
        buffer: Option<&ChangeBuffer>,
    ) {
        let Shared { pool, log, limits, locks } = shared;
        let thread = &mut self.threads[number.index()];
        let (touches, mut at) = thread.begin_run();
        // Nobody writes pages or the log meanwhile, so these stay: up to where changes may be appended, and the LSN after
        // which the next one has to look at the log's limits.
        let checks_from = limits.free_until(pool.oldest_lsn(), log.checkpoint());
        let appends_to = if limits.is_near() { Lsn::ZERO } else { log.free_until().min(checks_from) };
        let (mut statements, mut answers, mut uses) = (0, 0, 0);
        'touches: while at < touches.len() {
            if at.is_multiple_of(STEP) {
                thread.ahead().advance(at, pool, buffer);
            }
            let end = (at + 1).next_multiple_of(STEP).min(touches.len());
            for &touch in &touches[at..end] {
                if !touch.uses_page() {
                    match touch.row() {
                        Some((row, mode)) if !locks.take(number, row, mode) => break 'touches,
                        None if touch.what == What::Commit => break 'touches,
                        None => {
                            statements += 1;
                            answers += u64::from(touch.what == What::Statement);
                        }
                        Some(_) => {}
                    }
                    at += 1;
                    continue;
                }
                let changes = touch.changes();
                if changes && log.lsn() > appends_to {
                    break 'touches;
                }
                let Some(frame) = pool.find_idle(touch.page, changes) else { break 'touches };
                uses += 1;
                at += 1;
                if touch.what != What::Glance {
                    pool.touch(frame, now_ms);
                }
                if changes {
                    thread.change(pool, log, frame, touch);
                    limits.note_change(log.lsn() > checks_from);
                }
            }
        }
        let cpu = &self.cpu;
        let work = Work {
            cpu_ns: statements * cpu.statement_ns + uses * cpu.touch_ns,
            mutex_ns: statements * cpu.mutex_ns,
            away_ns: answers * cpu.round_trip_ns,
        };
        thread.end_run(touches, at, work);
        self.counts.statements += answers;
        self.counts.uses += uses;
    }
}
