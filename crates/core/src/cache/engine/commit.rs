//! Durability: journal pages and syncs of both devices, shared by all that wait for them.

use std::collections::VecDeque;

use super::{AskedId, DestageId, Engine, Health, Job, PastId, Turn};
use crate::cache::journal::{Mark, Record, What};

use crate::cache::{BufferId, Failure, IoKind, Memory, Place, Side};

/// Who waits for something to be durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    /// A request, to be answered.
    Asked(AskedId),
    /// A write past the cache, whose region's intent it is.
    Past(PastId),
    /// A write-back, whose blocks' records they are.
    Destage(DestageId),
    /// A write-back, whose writes they are.
    Destaged(DestageId),
}

/// Waiters, by what they wait for: each number only grows, so the first in the queue is served first.
#[derive(Default)]
pub(super) struct Waits {
    records: VecDeque<(u64, Waiter)>,
    /// Those that wait until records are written, durable or not: they survive the death of the process.
    written: VecDeque<(u64, Waiter)>,
    /// Those that also wait for records after it.
    slow: VecDeque<(u64, u64, Waiter)>,
}

impl Waits {
    pub(super) fn len(&self) -> usize {
        self.records.len() + self.written.len() + self.slow.len()
    }

    fn push_records(&mut self, records: u64, waiter: Waiter) {
        insert(&mut self.records, records, waiter);
    }

    /// Whether somebody waits for records that are not written.
    fn wants_written(&self, written: u64) -> bool {
        self.written.back().is_some_and(|(records, _)| *records > written)
    }
}

/// Into a queue in order of what is waited for: nearly always at its end.
#[inline]
fn insert(queue: &mut VecDeque<(u64, Waiter)>, number: u64, waiter: Waiter) {
    if queue.back().is_none_or(|last| last.0 <= number) {
        return queue.push_back((number, waiter));
    }
    let mut at = queue.len();
    while at > 0 && queue[at - 1].0 > number {
        at -= 1;
    }
    queue.insert(at, (number, waiter));
}

impl Engine {
    /// Tells the journal something.
    #[inline]
    pub(super) fn record(&mut self, record: Record) -> u64 {
        if self.degraded() {
            return self.journal.recorded();
        }
        match record.what {
            What::Holds { dirty: true, .. } => self.counts.metadata_dirties += 1,
            What::Cleaned => self.counts.metadata_cleans += 1,
            _ => {}
        }
        self.journal_due = true;
        self.due = true;
        self.journal.record(record)
    }

    /// Has `waiter` told when all records up to one are durable, and all writes to the slow device up to one.
    pub(super) fn wait_durable(&mut self, records: u64, slow: u64, waiter: Waiter) {
        self.due = true;
        if !self.degraded() {
            self.want_records = self.want_records.max(records);
        }
        self.want_slow = self.want_slow.max(slow);
        if slow > self.slow_synced {
            let mut at = self.waits.slow.len();
            while at > 0 && self.waits.slow[at - 1].0 > slow {
                at -= 1;
            }
            self.waits.slow.insert(at, (slow, records, waiter));
        } else {
            self.waits.push_records(records, waiter);
        }
    }

    /// Has `waiter` told when all records up to one are written: the death of this process does not undo them.
    pub(super) fn wait_written(&mut self, records: u64, waiter: Waiter) {
        self.due = true;
        insert(&mut self.waits.written, records, waiter);
    }

    /// Has a request answered when all that was answered before it is durable (`flush`), or it itself is.
    pub(super) fn wait_for_user(&mut self, asked: AskedId, flush: bool) {
        let records = match (self.degraded(), flush) {
            (false, _) => self.must_records,
            // What is dirty lies on a device that is not believed any more: it must get to the other one.
            (true, true) => u64::MAX,
            (true, false) => 0,
        };
        // What is being written back is still durable in the cache.
        let slow = if self.degraded() || self.ordered() { self.slow_ended } else { self.must_slow };
        self.wait_durable(records, slow, Waiter::Asked(asked));
    }

    /// Asks for the pages and syncs that somebody waits for, and wakes whose wait is over.
    pub(super) fn commit<M: Memory>(&mut self, turn: &mut Turn<M>) {
        self.wake(turn);
        if self.want_slow > self.slow_synced && !self.slow_syncing {
            self.slow_syncing = true;
            self.counts.slow_syncs += 1;
            let job = Job::SlowSync { ended: self.slow_ended };
            self.io(job, Side::Slow, IoKind::Sync, (0, 0), Place::Nowhere, turn);
        }
        if self.degraded() {
            return;
        }
        let written = self.journal.written();
        if self.journal_due || self.want_records > written || self.waits.wants_written(written) {
            self.journal_due = false;
            loop {
                // A part-filled page goes out when the one before it is written: until then more records gather.
                let written = self.journal.written();
                let wanted = self.want_records > written || self.waits.wants_written(written);
                let all = wanted && self.pages == 0;
                let Some(page) = self.journal.next_write(&self.slots, all, turn.memory) else { break };
                self.counts.metadata_writes += 1;
                let place = Place::Buffer { buffer: page.buffer, at: 0 };
                let ring = self.geometry.journal_offset..self.geometry.checkpoint_offsets[0];
                let journal = ring.contains(&page.offset);
                self.pages += u32::from(journal);
                let job = Job::Page { ticket: page.ticket, buffer: page.buffer, journal };
                self.io(job, Side::Fast, IoKind::Write, (page.offset, page.bytes), place, turn);
            }
        }
        let durable = self.journal.durable();
        let due = self.want_records > durable && self.journal.written() > durable && self.first_wait_written(durable);
        if !self.fast_syncing && (due || self.journal.wants_sync()) {
            self.fast_syncing = true;
            self.counts.fast_syncs += 1;
            let job = Job::FastSync { mark: self.journal.mark() };
            self.io(job, Side::Fast, IoKind::Sync, (0, 0), Place::Nowhere, turn);
        }
    }

    /// Whether a sync now would help the one who waits longest.
    fn first_wait_written(&self, durable: u64) -> bool {
        let written = self.journal.written();
        let first = self.waits.records.front().map(|(records, _)| *records).filter(|records| *records > durable);
        let slow = self.waits.slow.front().map(|(_, records, _)| *records).filter(|records| *records > durable);
        match (first, slow) {
            (None, None) => written >= self.want_records,
            (first, slow) => written >= first.unwrap_or(u64::MAX).min(slow.unwrap_or(u64::MAX)),
        }
    }

    /// Wakes whose wait is over.
    fn wake<M: Memory>(&mut self, turn: &mut Turn<M>) {
        while let Some((slow, records, waiter)) = self.waits.slow.front().copied()
            && slow <= self.slow_synced
        {
            self.waits.slow.pop_front();
            self.waits.push_records(records, waiter);
        }
        let written = if self.degraded() { u64::MAX } else { self.journal.written() };
        while let Some((records, waiter)) = self.waits.written.front().copied()
            && records <= written
        {
            self.waits.written.pop_front();
            if self.degraded() {
                // It is on a device that is not believed any more.
                self.waits.push_records(records, waiter);
            } else {
                self.wake_one(waiter, turn);
            }
        }
        while let Some((records, waiter)) = self.waits.records.front().copied()
            && records <= self.journal.durable()
        {
            self.waits.records.pop_front();
            self.wake_one(waiter, turn);
        }
        if self.degraded() {
            self.wake_degraded(turn);
        }
    }

    /// Nothing becomes durable on the fast device any more. Users wait until the slow one has what was dirty; what goes there
    /// and waited for the journal waits for the pairing record instead: until it says that the fast device failed, a crash
    /// would find its older clean blocks believed.
    fn wake_degraded<M: Memory>(&mut self, turn: &mut Turn<M>) {
        let safe = self.health == Health::Failed && self.dirty == self.lost;
        let mut waiting = VecDeque::new();
        while let Some((records, waiter)) = self.waits.records.pop_front() {
            match waiter {
                Waiter::Asked(asked) if safe => {
                    if self.lost > 0 {
                        self.asked[asked].failure = Some(Failure::Medium);
                    }
                    self.answer(asked, turn);
                }
                Waiter::Asked(_) => waiting.push_back((records, waiter)),
                Waiter::Destage(_) | Waiter::Past(_) if self.health == Health::Failing => {
                    waiting.push_back((records, waiter));
                }
                _ => self.wake_one(waiter, turn),
            }
        }
        self.waits.records = waiting;
    }

    fn wake_one<M: Memory>(&mut self, waiter: Waiter, turn: &mut Turn<M>) {
        match waiter {
            Waiter::Asked(asked) => self.answer(asked, turn),
            Waiter::Past(past) => self.past_may_go(past, turn),
            Waiter::Destage(destage) => self.destage_may_go(destage, turn),
            Waiter::Destaged(destage) => self.destaged(destage, turn),
        }
    }

    /// A page of the journal or of a checkpoint was written.
    pub(super) fn page_written<M: Memory>(
        &mut self,
        ticket: u32,
        buffer: BufferId,
        journal: bool,
        ok: bool,
        turn: &mut Turn<M>,
    ) {
        self.pages -= u32::from(journal);
        turn.memory.give(buffer);
        self.journal.write_ended(ticket, ok);
        self.journal_due = true;
        if !ok {
            self.counts.fast_write_errors += 1;
            self.degrade("its journal can not be written", turn);
        }
    }

    /// The fast device was synced.
    pub(super) fn fast_synced<M: Memory>(&mut self, mark: Mark, ok: bool, turn: &mut Turn<M>) {
        self.fast_syncing = false;
        if !ok {
            self.counts.fast_write_errors += 1;
            return self.degrade("it can not be synced", turn);
        }
        self.journal.synced(mark);
        self.journal_due = true;
        self.leave_limbo();
    }

    /// The slow device was synced: all that ended before it was asked for is durable.
    pub(super) fn slow_synced<M: Memory>(&mut self, ended: u64, ok: bool, turn: &mut Turn<M>) {
        self.slow_syncing = false;
        if ok {
            self.slow_synced = self.slow_synced.max(ended);
            return;
        }
        // Nobody knows what of it was written: everyone who waits is told, nothing becomes clean, and whoever comes later
        // waits for a sync that ends well, as if something had been written anew.
        self.counts.slow_write_errors += 1;
        self.tell(turn, "the slow device failed to sync".into());
        let before = self.slow_synced;
        self.slow_synced = self.slow_synced.max(ended);
        self.slow_ended += 1;
        if self.must_slow > before {
            self.must_slow = self.slow_ended;
        }
        self.unsure_regions(before);
        self.stop_fails(turn);
        let failed: Vec<_> = self.waits.slow.iter().filter(|wait| wait.0 <= ended).map(|wait| wait.2).collect();
        for waiter in failed {
            match waiter {
                Waiter::Asked(asked) => self.asked[asked].failure = Some(Failure::Medium),
                Waiter::Destaged(destage) => self.destage_sync_failed(destage),
                Waiter::Past(_) | Waiter::Destage(_) => {}
            }
        }
    }

    /// Time to make durable what nobody asked for.
    pub(super) fn commit_by_time(&mut self, now_ns: u64) {
        let interval = self.settings.commit_interval_s;
        if interval <= 0.0 || now_ns < self.commit_ns {
            return;
        }
        self.commit_ns = now_ns + (interval * 1e9) as u64;
        self.want_records = self.want_records.max(self.must_records);
        self.want_slow = self.want_slow.max(self.slow_wanted());
    }

    /// Up to where the slow device must be synced so that nothing waits for it: write-backs that failed do not.
    pub(super) fn slow_wanted(&self) -> u64 {
        if self.unsynced > 0 || self.ordered() { self.slow_ended } else { self.must_slow }
    }

    /// An IO of the background.
    pub(super) fn background<M: Memory>(
        &mut self,
        job: Job,
        side: Side,
        kind: IoKind,
        range: (u64, u32),
        place: Place,
        turn: &mut Turn<M>,
    ) {
        self.io(job, side, kind, range, place, turn);
        if let Some(io) = turn.out.ios.last_mut() {
            io.background = true;
        }
    }
}
