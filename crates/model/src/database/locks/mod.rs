//! Row locks: which rows the transactions under way have locked, and who waits for one.
//!
//! A row that is free is locked when the burst of work begins in which its lock falls, like all that a thread does without
//! waiting. A row for which somebody has waited once is locked at its moment: the thread spends the time first that it owes
//! (`take` leaves such a row to `request`). So runs in which nobody waits for a row pay for nothing but a map's entries, and
//! the rows that everybody wants are held for as long as a server holds them.
//!
//! Threads that wait get a row in the order in which they came. (MySQL since 8.0.20 prefers transactions for which many wait,
//! which is the same order where all wait for one row.) A wait that closes a circle is a deadlock: one of its transactions
//! is rolled back, and its client tries again.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use flatwater_core::seed::splitmix;

use super::host::Host;
use super::ids::{RowNo, ThreadNo};
use super::touches::Mode;
use queue::{Claim, Queue};

mod queue;

/// The hash of a row's number. Nothing iterates over the map, so its order does not matter.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = splitmix(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = splitmix(u64::from(number));
    }
}

/// A row that is locked, or was contended.
#[derive(Debug)]
enum Row {
    /// Held by one thread.
    Held(Claim),
    /// Anything else.
    Queue(Box<Queue>),
}

/// What a thread has of rows.
#[derive(Debug, Default)]
struct Own {
    held: Vec<RowNo>,
    /// The row for which it waits, and since when.
    waits: Option<(RowNo, u64)>,
    /// Its wait was ended by a deadlock: it has to roll back.
    is_victim: bool,
}

/// What became of a request for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The thread holds it.
    Granted,
    /// It waits, and is woken when it holds the row or is a victim.
    Waits,
    /// It is the victim of a deadlock: its transaction has to be rolled back.
    Victim,
}

/// What happened in an interval, in the words of the server's Innodb_row_lock_waits and Innodb_row_lock_time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Waits that began.
    pub(super) waits: u64,
    /// How long the waits were that ended.
    pub(super) waited_ns: u64,
    /// Transactions that were rolled back for a deadlock.
    pub(super) deadlocks: u64,
}

/// The row locks of a server.
#[derive(Debug)]
pub(super) struct RowLocks {
    rows: HashMap<RowNo, Row, BuildHasherDefault<Spread>>,
    threads: Vec<Own>,
    counts: Counts,
}

impl RowLocks {
    /// Those of so many threads: none.
    pub(super) fn new(threads: u32) -> Self {
        Self {
            rows: HashMap::default(),
            threads: (0..threads).map(|_| Own::default()).collect(),
            counts: Counts::default(),
        }
    }

    /// Locks a row for a thread, if it has it already, or if nobody stands against it or ever waited for it. False: the
    /// thread has to spend the time that it owes, and to `request` it then.
    #[inline]
    pub(super) fn take(&mut self, thread: ThreadNo, row: RowNo, mode: Mode) -> bool {
        let claim = Claim { thread, mode };
        match self.rows.entry(row) {
            Entry::Vacant(free) => {
                free.insert(Row::Held(claim));
            }
            Entry::Occupied(mut taken) => match taken.get_mut() {
                Row::Held(holder) if holder.thread == thread => {
                    holder.mode = holder.mode.max(mode);
                    return true;
                }
                Row::Held(holder) if holder.mode == Mode::Shared && mode == Mode::Shared => {
                    let mut queue = Queue::of(*holder);
                    queue.take(claim);
                    taken.insert(Row::Queue(Box::new(queue)));
                }
                Row::Held(_) => return false,
                Row::Queue(queue) => {
                    if queue.holds(claim) {
                        return true;
                    }
                    if queue.is_contended() || !queue.take(claim) {
                        return false;
                    }
                }
            },
        }
        self.threads[thread.index()].held.push(row);
        true
    }

    /// Locks a row for a thread at its moment, or lets the thread wait for it.
    pub(super) fn request(&mut self, thread: ThreadNo, row: RowNo, mode: Mode, host: &mut Host) -> Answer {
        let own = &mut self.threads[thread.index()];
        debug_assert!(own.waits.is_none(), "a thread that waits does nothing else");
        if std::mem::take(&mut own.is_victim) {
            return Answer::Victim;
        }
        let claim = Claim { thread, mode };
        let place = self.rows.entry(row).or_insert_with(|| Row::Queue(Box::default()));
        if let Row::Held(holder) = *place {
            *place = Row::Queue(Box::new(Queue::of(holder)));
        }
        let Row::Queue(queue) = place else { unreachable!("it was made one") };
        if queue.holds(claim) {
            return Answer::Granted;
        }
        if queue.take(claim) {
            self.threads[thread.index()].held.push(row);
            return Answer::Granted;
        }
        queue.wait(claim);
        self.counts.waits += 1;
        self.threads[thread.index()].waits = Some((row, host.now_ns()));
        self.resolve(thread, host)
    }

    /// A thread waits: rolls back transactions until that closes no circle.
    fn resolve(&mut self, thread: ThreadNo, host: &mut Host) -> Answer {
        while let Some(last) = self.closes_circle(thread) {
            self.counts.deadlocks += 1;
            // The one that joins is rolled back unless it has done more (lock_deadlock_select_victim). A server weighs what
            // was changed, too: here each lock goes with a change.
            let weight = |of: ThreadNo| self.threads[of.index()].held.len();
            if weight(last) >= weight(thread) {
                self.stop_waiting(thread, host);
                return Answer::Victim;
            }
            self.threads[last.index()].is_victim = true;
            host.wake(last);
            self.stop_waiting(last, host);
        }
        Answer::Waits
    }

    /// The thread of a circle of waits that waits for this one; None: there is no circle.
    fn closes_circle(&self, thread: ThreadNo) -> Option<ThreadNo> {
        let (row, _) = self.threads[thread.index()].waits?;
        let queue = self.queue(row)?;
        let own = queue.holders().any(|holder| holder == thread);
        if let Some(first) = queue.first_waiter().filter(|first| own && *first != thread) {
            return Some(first);
        }
        // Those that wait for the same row wait for its holders, so holders are all that has to be looked at.
        let mut open: Vec<ThreadNo> = queue.holders().filter(|holder| *holder != thread).collect();
        let mut seen: Vec<ThreadNo> = Vec::new();
        while let Some(next) = open.pop() {
            if seen.contains(&next) {
                continue;
            }
            seen.push(next);
            let Some((row, _)) = self.threads[next.index()].waits else { continue };
            for holder in self.queue(row)?.holders().filter(|holder| *holder != next) {
                if holder == thread {
                    return Some(next);
                }
                open.push(holder);
            }
        }
        None
    }

    fn queue(&self, row: RowNo) -> Option<&Queue> {
        match self.rows.get(&row) {
            Some(Row::Queue(queue)) => Some(queue),
            _ => None,
        }
    }

    /// A thread waits no more: others may be next.
    fn stop_waiting(&mut self, thread: ThreadNo, host: &mut Host) {
        let Some((row, since_ns)) = self.threads[thread.index()].waits.take() else { return };
        self.counts.waited_ns += host.now_ns() - since_ns;
        if let Some(Row::Queue(queue)) = self.rows.get_mut(&row) {
            queue.stop_waiting(thread);
        }
        self.grant(row, host);
    }

    /// Gives a row to those that wait for it, as far as they can have it.
    fn grant(&mut self, row: RowNo, host: &mut Host) {
        let Some(Row::Queue(queue)) = self.rows.get_mut(&row) else { return };
        while let Some(thread) = queue.grant() {
            let own = &mut self.threads[thread.index()];
            own.held.push(row);
            if let Some((_, since_ns)) = own.waits.take() {
                self.counts.waited_ns += host.now_ns() - since_ns;
            }
            host.wake(thread);
        }
        if queue.is_idle() && !queue.is_contended() {
            self.rows.remove(&row);
        }
    }

    /// A thread gives up all that it has: its transaction is committed in memory, or rolled back.
    pub(super) fn release(&mut self, thread: ThreadNo, host: &mut Host) {
        let mut held = std::mem::take(&mut self.threads[thread.index()].held);
        for row in held.drain(..) {
            match self.rows.get_mut(&row) {
                Some(Row::Held(holder)) if holder.thread == thread => {
                    self.rows.remove(&row);
                }
                Some(Row::Queue(queue)) => {
                    queue.leave(thread);
                    self.grant(row, host);
                }
                Some(Row::Held(_)) | None => {}
            }
        }
        // The room is used again.
        self.threads[thread.index()].held = held;
    }

    /// What happened in this interval.
    pub(super) const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A new interval begins.
    pub(super) fn begin_interval(&mut self) {
        self.counts = Counts::default();
    }
}

#[cfg(test)]
impl RowLocks {
    /// Whether nobody holds a row or waits for one.
    pub(super) fn is_free(&self) -> bool {
        let free = |row: &Row| matches!(row, Row::Queue(queue) if queue.is_idle());
        self.rows.values().all(free)
            && self.threads.iter().all(|own| own.held.is_empty() && own.waits.is_none() && !own.is_victim)
    }
}

#[cfg(test)]
mod tests;
