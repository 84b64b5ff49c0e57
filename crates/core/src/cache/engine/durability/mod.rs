//! What is durable, the waiters for it, and the pages and syncs that this needs. All waiters share the pages and syncs
//! of both devices.
//!
//! The engine asks for the IOs that are due (`begin_slow_sync`, `next_page`, `begin_fast_sync`), reports how they
//! ended, and takes the waiters whose wait is over.

mod slow;
mod waiting;
mod waits;

pub(super) use slow::SlowSeq;
pub(super) use waits::Waiter;

use slow::SlowDevice;
use waits::Waits;

use crate::cache::journal::recovery::Recovered;
use crate::cache::journal::{Journal, Mark, PAIR_BYTES, PageWrite, Record, Table};
use crate::cache::{Lsn, Memory};

/// The journal, the syncs of both devices, and the waiters.
pub(super) struct Durability {
    journal: Journal,
    /// The fast device failed: nothing is recorded any more.
    abandoned: bool,
    /// The journal may have a page to write.
    page_due: bool,
    /// Writes of journal pages under way.
    pages: u32,
    syncing: bool,
    /// Records that things under way will make.
    promised: u64,
    /// The last record that a flush of a user waits for.
    users: Lsn,
    /// Records are wanted durable up to here.
    wanted: Lsn,
    slow: SlowDevice,
    waits: Waits,
    /// When that which nobody waits for is made durable.
    commit_ns: u64,
    /// Something changed after which others may go on.
    due: bool,
}

impl Durability {
    /// Of a cache as recovery found it, at `now_ns`.
    pub(super) fn new(recovered: &Recovered, now_ns: u64) -> Self {
        Self {
            journal: Journal::new(recovered),
            abandoned: false,
            page_due: true,
            pages: 0,
            syncing: false,
            promised: 0,
            users: Lsn(0),
            wanted: Lsn(0),
            slow: SlowDevice::default(),
            waits: Waits::default(),
            commit_ns: now_ns,
            due: true,
        }
    }

    /// Whether something changed after which others may go on.
    #[inline]
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// How many wait.
    pub(super) fn waiters(&self) -> usize {
        self.waits.len()
    }

    /// Records something, unless the fast device failed. Returns the last record.
    #[inline]
    pub(super) fn record(&mut self, record: Record) -> Lsn {
        if self.abandoned {
            return self.recorded();
        }
        self.page_due = true;
        self.due = true;
        Lsn(self.journal.record(record))
    }

    /// The last record.
    #[inline]
    pub(super) fn recorded(&self) -> Lsn {
        Lsn(self.journal.recorded())
    }

    /// All records up to this one are written, durable or not.
    #[inline]
    pub(super) fn written(&self) -> Lsn {
        Lsn(self.journal.written())
    }

    /// All records up to this one are durable.
    #[inline]
    pub(super) fn durable(&self) -> Lsn {
        Lsn(self.journal.durable())
    }

    /// The last record that a flush of a user waits for.
    pub(super) fn users(&self) -> Lsn {
        self.users
    }

    /// A flush of a user waits for all records up to this one from now on.
    pub(super) fn users_wait_for(&mut self, lsn: Lsn) {
        self.users = lsn;
    }

    /// Something begins that will make so many records.
    #[inline]
    pub(super) fn promise(&mut self, records: u32) {
        self.promised += u64::from(records);
    }

    /// What was promised was recorded, or will not be.
    #[inline]
    pub(super) fn keep_promise(&mut self, records: u32) {
        self.promised -= u64::from(records);
    }

    /// Whether the records of everything under way and of one thing more find room. The journal counts a page for each
    /// record, as if every one were committed alone. Of things that are under way together some end together, and the
    /// journal keeps an eighth of its ring for those that do not.
    #[inline]
    pub(super) fn room_to_record(&self) -> bool {
        self.journal.room() > 4 + self.promised / 16
    }

    /// Wants records durable up to this one.
    pub(super) fn want(&mut self, lsn: Lsn) {
        if self.wanted < lsn {
            self.wanted = lsn;
            self.due = true;
        }
    }

    /// A write waits for room in the journal, or for a slot in limbo: both come with the journal's next sync.
    pub(super) fn want_room(&mut self) {
        self.wanted = self.wanted.max(self.recorded());
        self.page_due = true;
        self.due = true;
    }

    /// A write to the slow device ended, by a user or in write-back.
    pub(super) fn slow_write_ended(&mut self, by_user: bool) -> SlowSeq {
        self.slow.write_ended(by_user)
    }

    /// So many writes to the slow device have ended.
    #[inline]
    pub(super) fn slow_ended(&self) -> SlowSeq {
        self.slow.ended()
    }

    /// All writes to the slow device up to this one are durable.
    #[inline]
    pub(super) fn slow_synced(&self) -> SlowSeq {
        self.slow.synced()
    }

    /// Wants writes to the slow device durable up to this one.
    #[inline]
    pub(super) fn want_slow(&mut self, seq: SlowSeq) {
        self.due |= self.slow.want(seq);
    }

    /// Up to where the slow device must be synced so that nothing waits for it. Write-backs count only if `all`: those
    /// that failed need no sync.
    #[inline]
    fn slow_needed(&self, all: bool) -> SlowSeq {
        if all { self.slow.ended() } else { self.slow.users() }
    }

    /// Asks for the sync of the slow device that is still needed; false: none is.
    pub(super) fn want_slow_synced(&mut self, all: bool) -> bool {
        let needed = self.slow_needed(all);
        let behind = self.slow.synced() < needed;
        if behind {
            self.want_slow(needed);
        }
        behind
    }

    /// Makes durable what nobody asked for, when it is time.
    pub(super) fn commit_by_time(&mut self, now_ns: u64, interval_s: f64, all_slow: bool) {
        if interval_s <= 0.0 || now_ns < self.commit_ns {
            return;
        }
        self.commit_ns = now_ns + (interval_s * 1e9) as u64;
        self.wanted = self.wanted.max(self.users);
        self.slow.want(self.slow_needed(all_slow));
    }

    /// When `commit_by_time` has something to do next.
    #[inline]
    pub(super) fn commit_next_ns(&self, interval_s: f64, all_slow: bool) -> Option<u64> {
        let unsafe_yet = self.users > self.durable() || self.slow_needed(all_slow) > self.slow.synced();
        (unsafe_yet && interval_s > 0.0 && !self.abandoned).then_some(self.commit_ns)
    }

    /// Begins a sync of the slow device if one is wanted. Returns what to hand to `slow_sync_ended`.
    #[inline]
    pub(super) fn begin_slow_sync(&mut self) -> Option<SlowSeq> {
        self.slow.begin_sync()
    }

    /// The slow device was synced.
    pub(super) fn slow_sync_ended(&mut self, ended: SlowSeq) {
        self.slow.sync_ended(ended);
    }

    /// The sync of the slow device failed. Returns up to where all is surely durable, and who waited for the sync: they
    /// are woken all the same.
    pub(super) fn slow_sync_failed(&mut self, ended: SlowSeq) -> (SlowSeq, Vec<Waiter>) {
        (self.slow.sync_failed(ended), self.waits.wait_for_slow(ended))
    }

    /// Whether there are records that are wanted but not written.
    #[inline]
    fn wants_written(&self) -> bool {
        self.wanted > self.written() || self.waits.want_written(self.written())
    }

    /// Whether a page of the journal may be due since this was asked last.
    #[inline]
    pub(super) fn take_page_due(&mut self) -> bool {
        let due = !self.abandoned && (self.page_due || self.wants_written());
        if due {
            self.page_due = false;
        }
        due
    }

    /// The next page of the journal, a checkpoint or a superblock to be written. `table` is what the slots hold.
    pub(super) fn next_page<T: Table, M: Memory>(&mut self, table: &T, memory: &mut M) -> Option<Page> {
        // A part-filled page goes out when the one before it is written: until then more records gather.
        let all = self.pages == 0 && self.wants_written();
        let write = self.journal.next_write(table, all, memory)?;
        let of_journal = self.journal.geometry().is_in_ring(write.offset);
        self.pages += u32::from(of_journal);
        Some(Page { write, of_journal })
    }

    /// The write of a page ended.
    pub(super) fn page_ended(&mut self, ticket: u32, of_journal: bool, ok: bool) {
        self.pages -= u32::from(of_journal);
        self.journal.write_ended(ticket, ok);
        self.page_due = true;
    }

    /// Begins a sync of the fast device if one is wanted and helps. Returns what to hand to `fast_sync_ended`.
    #[inline]
    pub(super) fn begin_fast_sync(&mut self) -> Option<Mark> {
        let (durable, written) = (self.durable(), self.written());
        let due = self.wanted > durable
            && written > durable
            && written >= self.waits.first_above(durable).unwrap_or(self.wanted);
        if self.abandoned || self.syncing || !(due || self.journal.wants_sync()) {
            return None;
        }
        self.syncing = true;
        Some(self.journal.mark())
    }

    /// The fast device was synced, or that failed (None).
    pub(super) fn fast_sync_ended(&mut self, mark: Option<Mark>) {
        self.syncing = false;
        if let Some(mark) = mark {
            self.journal.synced(mark);
            self.page_due = true;
        }
    }

    /// The fast device failed: nothing is recorded any more.
    pub(super) fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// The pairing record that says that the fast device failed, with so many dirty blocks.
    pub(super) fn degraded_pair(&self, dirty_blocks: u32) -> [u8; PAIR_BYTES as usize] {
        self.journal.degraded_pair(u64::from(dirty_blocks))
    }

    /// Ends the journal: its last pages, a checkpoint and the superblocks that say that the cache was cleanly stopped
    /// follow.
    pub(super) fn stop(&mut self) {
        self.journal.stop();
        self.page_due = true;
        self.due = true;
    }

    /// Whether the journal has ended, or never will because the fast device failed.
    pub(super) fn stopped(&self) -> bool {
        self.journal.stopped() || self.abandoned
    }

    /// Bytes of metadata written.
    pub(super) fn bytes_written(&self) -> u64 {
        self.journal.bytes_written()
    }
}

impl std::fmt::Display for Durability {
    /// Where it stands, for tests that fail.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "waits {} promised {} room {} pages {} syncing {} recorded {:?} written {:?} durable {:?} wanted {:?} slow \
             {:?}/{:?} wanted {:?}",
            self.waits.len(),
            self.promised,
            self.journal.room(),
            self.pages,
            self.syncing,
            self.recorded(),
            self.written(),
            self.durable(),
            self.wanted,
            self.slow.synced(),
            self.slow.ended(),
            self.slow.wanted(),
        )
    }
}

/// A write to the fast device that the journal wants.
pub(super) struct Page {
    pub(super) write: PageWrite,
    /// It is a page of the journal itself, not of a checkpoint or a superblock.
    pub(super) of_journal: bool,
}

#[cfg(test)]
mod tests;
