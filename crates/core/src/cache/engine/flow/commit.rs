//! Issues the pages and syncs that somebody waits for, and wakes those whose wait is over.

use std::collections::VecDeque;

use super::super::counts::Event;
use super::super::durability::{SlowSeq, Waiter};
use super::super::jobs::Job;
use super::super::{Engine, Turn};
use crate::cache::journal::{Mark, Record, What};
use crate::cache::{BufferId, IoKind, Lsn, Memory, Place, Side};

impl Engine {
    /// Records something in the journal. Returns the last record.
    #[inline]
    pub(in super::super) fn record(&mut self, record: Record) -> Lsn {
        if !self.degraded() {
            match record.what {
                What::Holds { dirty: true, .. } => self.counts.add(Event::MetadataDirty),
                What::Cleaned => self.counts.add(Event::MetadataClean),
                _ => {}
            }
        }
        self.durability.record(record)
    }

    /// Asks for the pages and syncs that somebody waits for, and wakes whose wait is over.
    pub(in super::super) fn commit<M: Memory>(&mut self, turn: &mut Turn<M>) {
        self.wake(turn);
        if let Some(ended) = self.durability.begin_slow_sync() {
            self.io(Job::SlowSync { ended }, Side::Slow, IoKind::Sync, (0, 0), Place::Nowhere, turn);
        }
        if self.durability.take_page_due() {
            while let Some(page) = self.durability.next_page(self.contents.slots(), turn.memory) {
                let (write, of_journal) = (page.write, page.of_journal);
                let place = Place::Buffer { buffer: write.buffer, at: 0 };
                let job = Job::Page { ticket: write.ticket, buffer: write.buffer, of_journal };
                self.io(job, Side::Fast, IoKind::Write, (write.offset, write.bytes), place, turn);
            }
        }
        if let Some(mark) = self.durability.begin_fast_sync() {
            self.io(Job::FastSync { mark }, Side::Fast, IoKind::Sync, (0, 0), Place::Nowhere, turn);
        }
    }

    /// Wakes whose wait is over.
    fn wake<M: Memory>(&mut self, turn: &mut Turn<M>) {
        self.durability.slow_waits_end();
        while let Some(waiter) = self.durability.next_written() {
            self.wake_one(waiter, turn);
        }
        while let Some(waiter) = self.durability.next_durable() {
            self.wake_one(waiter, turn);
        }
        if self.degraded() {
            self.wake_degraded(turn);
        }
    }

    /// Nothing becomes durable on the fast device any more. Users wait until the slow one has what was dirty. What goes
    /// there and waited for the journal waits for the pairing record instead: until that says that the fast device
    /// failed, a crash would find the older clean blocks of the fast device believed.
    fn wake_degraded<M: Memory>(&mut self, turn: &mut Turn<M>) {
        let failing = self.pairing.failing();
        let safe = !failing && !self.contents.can_write_back();
        let mut waiting = VecDeque::new();
        while let Some((lsn, waiter)) = self.durability.next_waiter() {
            match waiter {
                Waiter::Request(request) if safe => {
                    if self.contents.lost() > 0 {
                        self.requests.fail(request);
                    }
                    self.answer(request, turn);
                }
                Waiter::Request(_) => waiting.push_back((lsn, waiter)),
                Waiter::WriteBack(_) | Waiter::Bypass(_) if failing => waiting.push_back((lsn, waiter)),
                _ => self.wake_one(waiter, turn),
            }
        }
        self.durability.put_back(waiting);
    }

    fn wake_one<M: Memory>(&mut self, waiter: Waiter, turn: &mut Turn<M>) {
        match waiter {
            Waiter::Request(request) => self.answer(request, turn),
            Waiter::Bypass(bypass) => self.bypass_may_go(bypass, turn),
            Waiter::WriteBack(back) => self.write_back_may_go(back, turn),
            Waiter::WrittenBack(back) => self.written_back(back, turn),
        }
    }

    /// A page of the journal or of a checkpoint was written.
    pub(in super::super) fn page_written<M: Memory>(
        &mut self,
        (ticket, buffer, of_journal): (u32, BufferId, bool),
        ok: bool,
        turn: &mut Turn<M>,
    ) {
        turn.memory.give(buffer);
        self.durability.page_ended(ticket, of_journal, ok);
        if !ok {
            self.counts.add(Event::FastWriteError);
            self.degrade("its journal can not be written", turn);
        }
    }

    /// The fast device was synced.
    pub(in super::super) fn fast_synced<M: Memory>(&mut self, mark: Mark, ok: bool, turn: &mut Turn<M>) {
        self.durability.fast_sync_ended(ok.then_some(mark));
        if !ok {
            self.counts.add(Event::FastWriteError);
            return self.degrade("it can not be synced", turn);
        }
        self.leave_limbo();
    }

    /// The slow device was synced: all that ended before the sync was issued is durable.
    pub(in super::super) fn slow_synced<M: Memory>(&mut self, ended: SlowSeq, ok: bool, turn: &mut Turn<M>) {
        if ok {
            return self.durability.slow_sync_ended(ended);
        }
        // Nothing becomes clean, and all waiters get an error.
        self.counts.add(Event::SlowWriteError);
        self.notify(turn, "the slow device failed to sync".into());
        let (sure, waiters) = self.durability.slow_sync_failed(ended);
        self.unsure_regions(sure);
        self.stop_fails(turn);
        for waiter in waiters {
            match waiter {
                Waiter::Request(request) => self.requests.fail(request),
                Waiter::WrittenBack(back) => self.write_back.sync_failed(back),
                Waiter::Bypass(_) | Waiter::WriteBack(_) => {}
            }
        }
    }
}
