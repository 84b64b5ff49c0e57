//! What threads do most: they use pages that are in memory, one after another, and nothing happens besides.
//!
//! `threads.rs` has all that may happen. Here is only what of it is left when a page is there, idle and no news to
//! read-ahead, and the log has room: hundreds of uses a transaction, in a loop that asks once what holds for all of them.

use super::Innodb;
use super::ahead::STEP;
use super::touches::What;

impl Innodb {
    /// Takes a thread to the next page that it must wait for, or with which something else has to happen; or to its end.
    pub(super) fn run_hits(&mut self, number: u32) {
        let Self { threads, pool, change_buffer, redo, log, ages, counts, spec, .. } = self;
        let thread = &mut threads[number as usize];
        let touches = std::mem::take(&mut thread.touches);
        let now_ms = (self.now_ns / 1_000_000) as u32;
        // Nobody writes pages or the log meanwhile, so these stay: up to where changes may be appended, and the LSN after
        // which the next one has to look at the log's limits.
        let appends_to = if self.check_log { 0 } else { log.appends_to(redo) };
        let checks_from = match pool.oldest_lsn() {
            Some(oldest) => (oldest + ages.modified_async).min(redo.checkpoint + ages.checkpoint_async),
            None => 0,
        };
        let appends_to = appends_to.min(checks_from);
        let (mut at, mut statements, mut uses) = (thread.at, 0, 0);
        'touches: while at < touches.len() {
            if at.is_multiple_of(STEP) {
                thread.ahead.go_on(at, pool, change_buffer.as_ref());
            }
            let end = (at + 1).next_multiple_of(STEP).min(touches.len());
            for &touch in &touches[at..end] {
                if touch.what == What::Statement {
                    statements += 1;
                    at += 1;
                    continue;
                }
                let changes = matches!(touch.what, What::Change | What::Create);
                if changes && redo.lsn > appends_to {
                    break 'touches;
                }
                let Some(frame) = pool.find_idle(touch.page, changes) else { break 'touches };
                uses += 1;
                at += 1;
                if touch.what != What::Glance {
                    pool.touch(frame, now_ms);
                }
                if changes {
                    thread.change(pool, redo, frame, touch);
                    self.check_log |= redo.lsn > checks_from;
                }
            }
        }
        thread.touches = touches;
        thread.at = at;
        thread.cpu_ns += statements * spec.cpu.statement_ns + uses * spec.cpu.touch_ns;
        thread.mutex_ns += statements * spec.cpu.mutex_ns;
        thread.away_ns += statements * spec.cpu.round_trip_ns;
        counts.queries += statements;
        counts.requests += uses;
    }
}
