//! The server's threads, one a connection, and one that merges the change buffer: their transactions, the work that they owe
//! their cores, and the mutexes that they share.
//!
//! What a thread does without waiting happens at the beginning of its burst of CPU time, which then passes at once.
//! Rows for which somebody has waited are locked at their moment, see `locks/`.

use flatwater_core::interval::KindInterval;

use super::change_buffer::ChangeBuffer;
use super::events::Event;
use super::host::Host;
use super::ids::ThreadNo;
use super::pool::Pool;
use super::spec::Cpu;
use super::touches::Touches;

pub(super) mod ahead;
mod bursts;
mod hits;
mod places;
mod thread;

use ahead::Recent;
use bursts::{BurstEnd, Holds};
pub(super) use hits::Shared;
pub(super) use places::Place;
use places::{Booked, Places};
pub(super) use thread::Thread;

/// What the threads did in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) statements: u64,
    /// Uses of pages, and how often a thread found no free frame for one.
    pub(super) uses: u64,
    pub(super) frame_waits: u64,
}

/// The threads.
#[derive(Debug)]
pub(super) struct Threads {
    threads: Vec<Thread>,
    cpu: Cpu,
    recent: Recent,
    holds: Holds,
    /// When nobody holds the mutexes any more that the whole server shares.
    mutex_free_ns: u64,
    /// Threads of connections that have not ended.
    active: u32,
    /// Of these, threads whose clients key or think.
    paused: u32,
    stopping: bool,
    /// Transactions that ended in this interval, by kind.
    kinds: Vec<KindInterval>,
    counts: Counts,
    places: Places,
}

impl Threads {
    /// The threads of so many connections, and `others` besides, for transactions of so many kinds.
    pub(super) fn new(connections: u32, others: u32, kinds: usize, cpu: &Cpu) -> Self {
        Self {
            threads: (0..connections + others).map(|_| Thread::default()).collect(),
            cpu: *cpu,
            recent: Recent::new(),
            holds: Holds::default(),
            mutex_free_ns: 0,
            active: connections,
            paused: 0,
            stopping: false,
            kinds: vec![KindInterval::default(); kinds],
            counts: Counts::default(),
            places: Places::new(connections),
        }
    }

    /// A thread.
    #[inline]
    pub(super) fn get(&mut self, thread: ThreadNo) -> &mut Thread {
        &mut self.threads[thread.index()]
    }

    /// Asks all threads to end after their transactions. Those whose clients key or think end now.
    pub(super) const fn stop(&mut self) {
        if !self.stopping {
            self.stopping = true;
            self.active -= self.paused;
        }
    }

    /// A thread goes on, with the transaction that its client has keyed if it did. False: it has ended meanwhile.
    #[inline]
    pub(super) fn resume(&mut self, number: ThreadNo, now_ns: u64) -> bool {
        let thread = &mut self.threads[number.index()];
        if !thread.is_paused() {
            return true;
        }
        if self.stopping {
            self.places.leave(number, now_ns);
            return false;
        }
        thread.resume();
        self.paused -= 1;
        true
    }

    /// Whether a thread of a connection has not ended.
    pub(super) const fn are_active(&self) -> bool {
        self.active > 0
    }

    /// Lets a thread spend the CPU time that it owes before it waits: it goes on when that is over. False when it owes none.
    pub(super) fn burn(&mut self, thread: ThreadNo, host: &mut Host) -> bool {
        let work = self.threads[thread.index()].take_work();
        if work.cpu_ns == 0 {
            return false;
        }
        let core_ns = host.book(work.cpu_ns);
        // The mutexes that all threads share, one thread after another.
        self.mutex_free_ns = self.mutex_free_ns.max(host.now_ns()) + work.mutex_ns;
        let done_ns = core_ns.max(self.mutex_free_ns);
        let end_ns = done_ns + work.away_ns;
        self.threads[thread.index()].begin_burst(host.now_ns(), end_ns, &self.holds);
        let booked = Booked { ends_ns: [core_ns - work.cpu_ns, core_ns, done_ns, end_ns] };
        self.places.begin_burst(thread, booked, host.now_ns());
        host.schedule(end_ns, Event::Worked(thread));
        true
    }

    /// A thread's burst would be over: it is, or is longer by what its changes have waited for the log.
    pub(super) fn end_burst(&mut self, thread: ThreadNo, host: &mut Host) {
        match self.threads[thread.index()].end_burst(thread, host.now_ns(), &mut self.holds) {
            BurstEnd::Over => host.wake(thread),
            BurstEnd::Later(end_ns) => host.schedule(end_ns, Event::Worked(thread)),
            BurstEnd::Frozen => {}
        }
    }

    /// A writer holds the log from now on.
    pub(super) const fn hold_log(&mut self, now_ns: u64) {
        self.holds.begin(now_ns);
    }

    /// No writer holds the log any more.
    pub(super) fn release_log(&mut self, host: &mut Host) {
        for thread in self.holds.end(host.now_ns()) {
            self.end_burst(thread, host);
        }
    }

    /// A thread's transaction is rolled back, which takes its client a statement, and begins again.
    pub(super) fn begin_again(&mut self, thread: ThreadNo) {
        self.counts.statements += 1;
        self.threads[thread.index()].begin_again(&self.cpu);
    }

    /// A thread has committed its transaction.
    pub(super) fn end_transaction(&mut self, thread: ThreadNo, now_ns: u64) {
        if let Some(ended) = self.threads[thread.index()].end_transaction() {
            let kind = &mut self.kinds[ended.kind];
            kind.operations += 1;
            kind.latency.record_ns(now_ns - ended.started_ns);
        }
    }

    /// A thread begins its next transaction. False: it begins later, when its client has keyed it, or ends instead.
    pub(super) fn begin_transaction(
        &mut self,
        thread: ThreadNo,
        host: &mut Host,
        touches: &mut dyn Touches,
        pool: &Pool,
        buffer: Option<&ChangeBuffer>,
    ) -> bool {
        if self.stopping {
            self.active -= 1;
            self.places.leave(thread, host.now_ns());
            return false;
        }
        let recent = &mut self.recent;
        let own = &mut self.threads[thread.index()];
        let kind = own.begin_transaction(host.now_ns(), |out, ahead| {
            let kind = touches.next(thread.number(), out);
            ahead.begin(out, recent, pool, buffer);
            kind
        });
        let (keying_ns, think_ns) = touches.times_ns(thread.number(), kind);
        let Some(at_ns) = own.pause(keying_ns, think_ns) else { return true };
        self.paused += 1;
        self.places.enter(thread, Place::Thinking, host.now_ns());
        host.schedule(at_ns, Event::Ready(thread));
        false
    }

    /// Pages that were asked for lately.
    pub(super) const fn recent(&mut self) -> &mut Recent {
        &mut self.recent
    }

    /// When each transaction under way began.
    pub(super) fn started_ns(&self) -> impl Iterator<Item = u64> {
        self.threads.iter().filter_map(Thread::started_ns)
    }

    /// A page was used that had to be waited for.
    pub(super) const fn note_use(&mut self) {
        self.counts.uses += 1;
    }

    /// A thread waits from now on.
    pub(super) fn wait(&mut self, thread: ThreadNo, place: Place, now_ns: u64) {
        self.places.enter(thread, place, now_ns);
    }

    /// Where the sessions were on average in the interval from then to now, with the names of their series.
    pub(super) fn take_places(
        &mut self,
        from_ns: u64,
        now_ns: u64,
    ) -> impl Iterator<Item = (&'static str, f64)> + use<> {
        self.places.take(from_ns, now_ns).into_iter()
    }

    /// A thread found no free frame.
    pub(super) const fn note_frame_wait(&mut self) {
        self.counts.frame_waits += 1;
    }

    /// What they did in this interval.
    pub(super) const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes the transactions that ended in this interval. A new one begins.
    pub(super) fn begin_interval(&mut self) -> Vec<KindInterval> {
        self.counts = Counts::default();
        let none = vec![KindInterval::default(); self.kinds.len()];
        std::mem::replace(&mut self.kinds, none)
    }

    /// Transactions that ended in this interval.
    #[cfg(test)]
    pub(super) fn ended(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.operations).sum()
    }
}

#[cfg(test)]
mod tests;
