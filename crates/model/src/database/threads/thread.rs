//! One thread: its transaction, how far it is, and what it owes its core.

use super::super::ids::{FrameId, Lsn, ThreadNo};
use super::super::log::Log;
use super::super::pool::Pool;
use super::super::spec::Cpu;
use super::super::touches::Touch;
use super::ahead::Ahead;
use super::bursts::{Burst, BurstEnd, Holds};

/// A thread's work since it last used a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// CPU time, how long it holds the mutexes that all threads share, and how long its client has it.
    pub(super) cpu_ns: u64,
    pub(super) mutex_ns: u64,
    pub(super) away_ns: u64,
}

/// What a transaction was that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transaction {
    pub(super) kind: usize,
    pub(super) started_ns: u64,
}

/// A thread.
#[derive(Debug, Default)]
pub(in super::super) struct Thread {
    touches: Vec<Touch>,
    ahead: Ahead,
    at: usize,
    /// How much of that it has committed.
    committed: usize,
    /// Its transaction; None: it has none.
    transaction: Option<Transaction>,
    /// Its client keys and thinks: the transaction has not begun.
    paused: bool,
    /// The think time after its transaction, ns.
    think_ns: u64,
    work: Work,
    burst: Burst,
    /// End of its own changes in the log; ZERO: it has made none.
    lsn: Lsn,
    /// How often it has looked for the frame that it wants.
    searches: u32,
    /// The instance of which it has to look at the margin of free pages.
    check_margin: Option<usize>,
    /// It has made room in the log already, or tried to.
    preflushed: bool,
    /// It writes pages because the log is at its synchronous age.
    in_sync: bool,
    /// It waits until the oldest change that is in no file is this one or a later one; ZERO: it does not.
    awaited_lsn: Lsn,
}

impl Thread {
    /// What the thread does next with a page; None: nothing more in this transaction.
    pub(in super::super) fn touch(&self) -> Option<Touch> {
        self.touches.get(self.at).copied()
    }

    /// The thread has done what it had to do with a page.
    pub(in super::super) const fn advance(&mut self) {
        self.at += 1;
    }

    /// The thread does these before what it waits for.
    pub(in super::super) fn insert_before(&mut self, touches: &[Touch]) {
        self.touches.splice(self.at..self.at, touches.iter().copied());
    }

    /// The thread does these after what it does now.
    pub(in super::super) fn insert_behind(&mut self, touches: impl IntoIterator<Item = Touch>) {
        self.touches.splice(self.at + 1..self.at + 1, touches);
    }

    /// The thread does these after all that it has to do.
    pub(in super::super) fn append(&mut self, touches: &[Touch]) {
        self.touches.drain(..std::mem::take(&mut self.at));
        self.touches.extend(touches);
    }

    /// Changes a page: in the log, and in its frame.
    #[inline]
    pub(in super::super) fn change(&mut self, pool: &mut Pool, log: &mut Log, frame: FrameId, touch: Touch) {
        let (from, to) = log.append(u64::from(touch.redo));
        pool.change(frame, from, to);
        self.lsn = to;
        self.burst.note_change();
        self.preflushed = false;
    }

    /// End of its changes in the log that are not committed, and their redo; None: it has no transaction.
    pub(in super::super) fn uncommitted(&self) -> Option<(Lsn, u64)> {
        self.transaction?;
        Some((self.lsn, self.touches[self.committed..self.at].iter().map(|touch| u64::from(touch.redo)).sum()))
    }

    /// The changes of its transaction that are not committed.
    pub(in super::super) fn uncommitted_changes(&self) -> impl Iterator<Item = &Touch> {
        let own = if self.transaction.is_some() { self.committed..self.at } else { 0..0 };
        self.touches[own].iter().filter(|touch| touch.changes())
    }

    /// The pages that it uses next, and how many it has used of them. `end_run` gives them back.
    pub(super) fn begin_run(&mut self) -> (Vec<Touch>, usize) {
        (std::mem::take(&mut self.touches), self.at)
    }

    /// It has used so many of these pages, with the work for that.
    pub(super) fn end_run(&mut self, touches: Vec<Touch>, at: usize, work: Work) {
        (self.touches, self.at) = (touches, at);
        self.work.cpu_ns += work.cpu_ns;
        self.work.mutex_ns += work.mutex_ns;
        self.work.away_ns += work.away_ns;
    }

    /// What it looks ahead at.
    pub(super) const fn ahead(&mut self) -> &mut Ahead {
        &mut self.ahead
    }

    /// Its last transaction is over. Returns it.
    pub(super) fn end_transaction(&mut self) -> Option<Transaction> {
        self.touches.clear();
        (self.at, self.committed) = (0, 0);
        self.lsn = Lsn::ZERO;
        self.transaction.take()
    }

    /// What it has done so far is committed.
    pub(in super::super) const fn note_committed(&mut self) {
        self.committed = self.at;
        self.lsn = Lsn::ZERO;
    }

    /// Its transaction is rolled back by a statement, and begins again behind what is committed.
    pub(super) const fn begin_again(&mut self, cpu: &Cpu) {
        self.at = self.committed;
        self.work.cpu_ns += cpu.statement_ns;
        self.work.mutex_ns += cpu.mutex_ns;
        self.work.away_ns += cpu.round_trip_ns;
    }

    /// It begins a transaction, which `fill` puts together and looks ahead at. Returns its kind.
    pub(super) fn begin_transaction(
        &mut self,
        started_ns: u64,
        fill: impl FnOnce(&mut Vec<Touch>, &mut Ahead) -> usize,
    ) -> usize {
        let kind = fill(&mut self.touches, &mut self.ahead);
        self.transaction = Some(Transaction { kind, started_ns });
        kind
    }

    /// Its client thinks after the transaction before, and keys this one, which begins so much later. Returns when; None: at
    /// once.
    pub(super) fn pause(&mut self, keying_ns: u64, think_ns: u64) -> Option<u64> {
        let pause_ns = std::mem::replace(&mut self.think_ns, think_ns) + keying_ns;
        let transaction = self.transaction.as_mut().filter(|_| pause_ns > 0)?;
        transaction.started_ns += pause_ns;
        self.paused = true;
        Some(transaction.started_ns)
    }

    /// Whether its client keys or thinks.
    pub(super) const fn is_paused(&self) -> bool {
        self.paused
    }

    /// Its client is done with that.
    pub(super) const fn resume(&mut self) {
        self.paused = false;
    }

    /// When its transaction began; None: it has none under way.
    pub(super) fn started_ns(&self) -> Option<u64> {
        self.transaction.filter(|_| !self.paused).map(|transaction| transaction.started_ns)
    }

    /// It has used a page that it had to wait for.
    pub(in super::super) const fn charge_touch(&mut self, cpu: &Cpu) {
        self.work.cpu_ns += cpu.touch_ns;
    }

    /// The thread reads a page of an instance of the pool. Then it looks at the margin of free pages there (buf_read_page).
    pub(in super::super) fn charge_read(&mut self, cpu: &Cpu, instance: usize) {
        self.work.cpu_ns += cpu.read_ns;
        self.work.mutex_ns += cpu.read_mutex_ns;
        self.check_margin = Some(instance);
    }

    /// Takes the work that it owes its core.
    pub(super) const fn take_work(&mut self) -> Work {
        std::mem::replace(&mut self.work, Work { cpu_ns: 0, mutex_ns: 0, away_ns: 0 })
    }

    /// Its burst begins, and ends at `end_ns` if nobody holds the log meanwhile.
    pub(super) fn begin_burst(&mut self, now_ns: u64, end_ns: u64, holds: &Holds) {
        self.burst.begin(now_ns, end_ns, holds);
    }

    /// Its burst would be over.
    pub(super) fn end_burst(&mut self, own: ThreadNo, now_ns: u64, holds: &mut Holds) -> BurstEnd {
        self.burst.end(own, now_ns, holds)
    }

    /// Takes the instance of which it has to look at the margin of free pages.
    pub(in super::super) const fn take_margin_check(&mut self) -> Option<usize> {
        self.check_margin.take()
    }

    /// How often it has looked for the frame that it wants.
    pub(in super::super) const fn searches(&self) -> u32 {
        self.searches
    }

    /// It has found no frame, and looks further the next time, `most` times at most.
    pub(in super::super) fn search_further(&mut self, most: u32) {
        self.searches = (self.searches + 1).min(most);
    }

    /// It has found a frame.
    pub(in super::super) const fn end_search(&mut self) {
        self.searches = 0;
    }

    /// Whether it has made room in the log, so that its next change is appended in any case.
    pub(in super::super) const fn has_preflushed(&self) -> bool {
        self.preflushed
    }

    /// It has done its part for room in the log when the oldest change that is in no file is as far as this.
    pub(in super::super) const fn await_oldest(&mut self, lsn: Lsn) {
        self.awaited_lsn = lsn;
    }

    /// The oldest change that is in no file is this one: if it has waited for it, its next change is appended in any case.
    pub(in super::super) fn note_oldest(&mut self, oldest_lsn: Lsn) {
        if self.awaited_lsn != Lsn::ZERO && oldest_lsn >= self.awaited_lsn {
            (self.awaited_lsn, self.preflushed) = (Lsn::ZERO, true);
        }
    }

    /// It writes pages for room in the log; `sync`: as every thread does that changes something.
    pub(in super::super) const fn begin_flush(&mut self, sync: bool) {
        self.in_sync = sync;
    }

    /// The pages that it wrote, or let others write, are written: so many; `skipped`: it could not write in all instances.
    /// True: it waits for other threads' batches too.
    pub(in super::super) const fn end_flush(&mut self, written: u64, skipped: bool) -> bool {
        let sync = std::mem::replace(&mut self.in_sync, false);
        self.preflushed = !sync || !skipped && written > 0;
        sync
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::ids::PageNo;

    fn touches(pages: impl IntoIterator<Item = u32>) -> Vec<Touch> {
        pages.into_iter().map(|page| Touch::read(PageNo::new(page))).collect()
    }

    #[test]
    fn what_comes_between_is_done_in_its_place() {
        let mut thread = Thread::default();
        thread.begin_transaction(5, |out, _| {
            out.extend(touches([1, 2]));
            3
        });
        thread.advance();
        thread.insert_before(&touches([7]));
        thread.insert_behind(touches([8, 9]));
        assert_eq!(thread.touch(), touches([7]).pop());
        thread.append(&touches([10]));
        assert_eq!(thread.touches, touches([7, 8, 9, 2, 10]), "what is done is forgotten");
        assert_eq!(thread.started_ns(), Some(5));
        assert_eq!(thread.end_transaction(), Some(Transaction { kind: 3, started_ns: 5 }));
        assert_eq!((thread.touch(), thread.uncommitted()), (None, None));
    }

    #[test]
    fn a_thread_that_flushed_in_vain_looks_again() {
        let mut thread = Thread::default();
        thread.begin_flush(false);
        assert!(!thread.end_flush(0, true) && thread.has_preflushed());
        for (written, skipped, done) in [(3, false, true), (0, false, false), (3, true, false)] {
            thread.begin_flush(true);
            assert!(thread.end_flush(written, skipped));
            assert_eq!(thread.has_preflushed(), done, "{written} pages, an instance left out: {skipped}");
        }
    }

    #[test]
    fn a_thread_goes_on_when_the_oldest_change_is_as_far_as_it_has_asked_for() {
        let mut thread = Thread::default();
        thread.note_oldest(Lsn::new(9));
        assert!(!thread.has_preflushed(), "it has asked for nothing");
        thread.await_oldest(Lsn::new(20));
        thread.note_oldest(Lsn::new(19));
        assert!(!thread.has_preflushed());
        thread.note_oldest(Lsn::new(20));
        assert!(thread.has_preflushed());
    }

    #[test]
    fn a_reader_looks_at_the_margin_once_after_each_page() {
        let mut thread = Thread::default();
        for instance in [3, 0] {
            thread.charge_read(&Cpu::default(), instance);
            assert_eq!((thread.take_margin_check(), thread.take_margin_check()), (Some(instance), None));
        }
    }
}
