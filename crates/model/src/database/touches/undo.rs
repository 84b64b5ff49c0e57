//! Undo logs: which pages transactions write their undo records on.
//!
//! Transactions take rollback segments in turn (get_next_redo_rseg, trx_assign_rseg). In a segment a transaction has an undo
//! log of its own for inserted rows, which nobody needs after its end, and one for all other changes, which stays until it
//! is purged; a server whose `merged` is true has one for both. A log of one page that is less than three quarters full is
//! kept for the segment's next transaction (TRX_UNDO_CACHED). So each transaction changes pages that were last used a whole
//! turn of segments before: in a small pool they are read again, and written again.

use super::layout::{Layout, Room};
use super::region::Region;
use super::touch::Touch;
use crate::database::ids::{PAGE_BYTES, PageNo};

/// How a server keeps its undo logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoLogs {
    /// Rollback segments that transactions take in turn.
    pub segments: u32,
    /// Whether inserts and other changes of a transaction are in one log.
    pub merged: bool,
}

impl Default for UndoLogs {
    /// Those of most servers: MySQL 5.5 and 5.6.
    fn default() -> Self {
        Self { segments: 128, merged: false }
    }
}

/// Of what an undo record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// A row was inserted.
    Insert,
    /// A row was changed or marked as deleted.
    Change,
}

/// Undo pages of a server under load: what a few seconds of purge lag keep, 16 MiB.
const UNDO_PAGES: u64 = 1024;
/// What a page holds of undo logs behind its own headers.
const UNDO_PAGE_BYTES: u32 = (PAGE_BYTES - 200) as u32;
/// A log is kept for another transaction up to this many bytes of its page (TRX_UNDO_PAGE_REUSE_LIMIT).
const REUSE_BYTES: u32 = (PAGE_BYTES * 3 / 4) as u32;
/// What a transaction's header in its log takes (TRX_UNDO_LOG_XA_HDR_SIZE: 46 bytes, and 140 for the name of XA).
const HEADER_BYTES: u32 = 186;

/// A log that is kept: its page and the bytes used of it.
#[derive(Clone, Copy, Debug)]
struct Kept {
    page: PageNo,
    used: u32,
}

/// No page yet: the first transaction makes one.
const NOTHING: Kept = Kept { page: PageNo::new(0), used: UNDO_PAGE_BYTES };

/// The logs of a transaction under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    segment: u32,
    /// Whether it has written to its log of changes.
    changes: bool,
}

/// The undo logs of a server.
#[derive(Debug)]
pub struct Undo {
    logs: UndoLogs,
    /// Pages that logs go to when one is full: purge gives old ones back, so they go round.
    room: Room,
    /// Headers of the segments.
    headers: Region,
    /// Pages of logs of inserts, and which of them were made.
    inserts: Region,
    made: Vec<bool>,
    /// Logs of changes.
    changes: Vec<Kept>,
    /// How many transactions may be in a segment at a time.
    slots: u32,
    next: u32,
    /// Of each thread.
    open: Vec<Option<Open>>,
}

impl Undo {
    /// Of so many threads.
    pub fn new(layout: &mut Layout, logs: UndoLogs, threads: u32) -> Self {
        let slots = threads.div_ceil(logs.segments).max(1);
        let kept = u64::from(slots) * u64::from(logs.segments);
        Self {
            logs,
            room: Room::new(layout.pages(UNDO_PAGES.max(2 * kept))),
            headers: layout.pages(u64::from(logs.segments)),
            inserts: layout.pages(if logs.merged { 1 } else { kept }),
            made: vec![false; kept as usize],
            changes: vec![NOTHING; kept as usize],
            slots,
            next: 0,
            open: vec![None; threads as usize],
        }
    }

    /// A transaction writes an undo record of so many bytes, whose redo is `redo`.
    pub fn touch(&mut self, thread: u32, undone: Undone, bytes: u32, redo: u16, out: &mut Vec<Touch>) {
        let mut open = self.open[thread as usize].unwrap_or_else(|| {
            self.next = (self.next + 1) % self.logs.segments;
            Open { segment: self.next, changes: false }
        });
        let at = (open.segment * self.slots + thread % self.slots) as usize;
        if undone == Undone::Insert && !self.logs.merged {
            // The log before is of no use to anyone: its page begins anew (trx_undo_insert_header_reuse), and the inserts
            // of one of our transactions fit into it.
            let page = self.inserts.first + at as u32;
            let made = std::mem::replace(&mut self.made[at], true);
            out.push(if made { Touch::change(page, redo) } else { Touch::create(page, redo) });
        } else {
            let log = &mut self.changes[at];
            let begun = if open.changes { 0 } else { HEADER_BYTES };
            let full = log.used + begun + bytes > UNDO_PAGE_BYTES || (!open.changes && log.used > REUSE_BYTES);
            if full {
                *log = Kept { page: self.room.take(), used: begun + bytes };
                out.push(Touch::create(log.page, redo));
            } else {
                log.used += begun + bytes;
                out.push(Touch::change(log.page, redo));
            }
            open.changes = true;
        }
        self.open[thread as usize] = Some(open);
    }

    /// A transaction ends, with `redo` in all: its log of changes joins the history of its segment.
    pub fn commit(&mut self, thread: u32, redo: u16, out: &mut Vec<Touch>) {
        let Some(open) = self.open[thread as usize].take() else { return };
        let at = (open.segment * self.slots + thread % self.slots) as usize;
        if !open.changes {
            out.push(Touch::change(self.inserts.first + at as u32, redo));
            return;
        }
        out.push(Touch::change(self.changes[at].page, redo - redo / 2));
        out.push(Touch::change(self.headers.first + open.segment, redo / 2));
    }
}

#[cfg(test)]
#[path = "undo_tests.rs"]
mod tests;
