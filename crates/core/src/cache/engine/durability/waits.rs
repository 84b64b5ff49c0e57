//! The waiters for durability.

use std::collections::VecDeque;

use super::slow::SlowSeq;
use crate::cache::Lsn;
use crate::cache::engine::keys::{BypassId, RequestId, WriteBackId};

/// A waiter for something to become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Waiter {
    /// A request, to be answered.
    Request(RequestId),
    /// A write past the cache, whose region's intent it is.
    Bypass(BypassId),
    /// A write-back, whose blocks' records they are.
    WriteBack(WriteBackId),
    /// A write-back, whose writes they are.
    WrittenBack(WriteBackId),
}

/// The waiters, in the order of what they wait for. Every number they wait for only grows, so the first waiter of a
/// queue is served first.
#[derive(Default)]
pub(super) struct Waits {
    durable: VecDeque<(Lsn, Waiter)>,
    /// These wait until records are written, durable or not: written records survive the death of the process.
    written: VecDeque<(Lsn, Waiter)>,
    /// These wait for the slow device, and for records after that.
    slow: VecDeque<(SlowSeq, Lsn, Waiter)>,
}

/// Inserts in the order of what is waited for, which is nearly always at the end.
#[inline]
fn insert(queue: &mut VecDeque<(Lsn, Waiter)>, lsn: Lsn, waiter: Waiter) {
    if queue.back().is_none_or(|last| last.0 <= lsn) {
        return queue.push_back((lsn, waiter));
    }
    let mut at = queue.len();
    while at > 0 && queue[at - 1].0 > lsn {
        at -= 1;
    }
    queue.insert(at, (lsn, waiter));
}

#[inline]
fn pop(queue: &mut VecDeque<(Lsn, Waiter)>, up_to: Lsn) -> Option<(Lsn, Waiter)> {
    queue.front().is_some_and(|(lsn, _)| *lsn <= up_to).then(|| queue.pop_front()).flatten()
}

impl Waits {
    pub(super) fn len(&self) -> usize {
        self.durable.len() + self.written.len() + self.slow.len()
    }

    #[inline]
    pub(super) fn for_durable(&mut self, lsn: Lsn, waiter: Waiter) {
        insert(&mut self.durable, lsn, waiter);
    }

    #[inline]
    pub(super) fn for_written(&mut self, lsn: Lsn, waiter: Waiter) {
        insert(&mut self.written, lsn, waiter);
    }

    #[inline]
    pub(super) fn for_slow(&mut self, slow: SlowSeq, lsn: Lsn, waiter: Waiter) {
        let mut at = self.slow.len();
        while at > 0 && self.slow[at - 1].0 > slow {
            at -= 1;
        }
        self.slow.insert(at, (slow, lsn, waiter));
    }

    /// Whether a waiter wants records that are not written yet.
    #[inline]
    pub(super) fn want_written(&self, written: Lsn) -> bool {
        self.written.back().is_some_and(|(lsn, _)| *lsn > written)
    }

    /// The lowest record above `durable` that a waiter wants durable.
    #[inline]
    pub(super) fn first_above(&self, durable: Lsn) -> Option<Lsn> {
        let first = self.durable.front().map(|(lsn, _)| *lsn).filter(|lsn| *lsn > durable);
        let slow = self.slow.front().map(|(_, lsn, _)| *lsn).filter(|lsn| *lsn > durable);
        first.into_iter().chain(slow).min()
    }

    /// The slow device is durable up to `synced`: those that waited for it now wait for their records only.
    #[inline]
    pub(super) fn slow_is_durable(&mut self, synced: SlowSeq) {
        while let Some((slow, lsn, waiter)) = self.slow.front().copied()
            && slow <= synced
        {
            self.slow.pop_front();
            self.for_durable(lsn, waiter);
        }
    }

    /// Takes a waiter whose records are written.
    #[inline]
    pub(super) fn pop_written(&mut self, written: Lsn) -> Option<(Lsn, Waiter)> {
        pop(&mut self.written, written)
    }

    /// Takes a waiter whose records are durable.
    #[inline]
    pub(super) fn pop_durable(&mut self, durable: Lsn) -> Option<(Lsn, Waiter)> {
        pop(&mut self.durable, durable)
    }

    /// Puts back those that `pop_durable` gave and that wait on. No other waits for records any more.
    pub(super) fn put_back(&mut self, waiting: VecDeque<(Lsn, Waiter)>) {
        debug_assert!(self.durable.is_empty());
        self.durable = waiting;
    }

    /// Those that wait for a sync of the slow device up to `slow`.
    pub(super) fn wait_for_slow(&self, slow: SlowSeq) -> Vec<Waiter> {
        self.slow.iter().filter(|wait| wait.0 <= slow).map(|wait| wait.2).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Key;

    fn request(number: u32) -> Waiter {
        Waiter::Request(RequestId::from_number(number))
    }

    #[test]
    fn waiters_are_served_in_the_order_of_what_they_wait_for() {
        let mut waits = Waits::default();
        for (lsn, number) in [(5, 0), (9, 1), (7, 2), (5, 3)] {
            waits.for_durable(Lsn(lsn), request(number));
        }
        let served: Vec<_> = std::iter::from_fn(|| waits.pop_durable(Lsn(7))).map(|(_, waiter)| waiter).collect();
        assert_eq!(served, [0, 3, 2].map(request));
        assert_eq!((waits.len(), waits.first_above(Lsn(7))), (1, Some(Lsn(9))));
    }

    #[test]
    fn who_waits_for_the_slow_device_waits_for_records_after_it() {
        let mut waits = Waits::default();
        waits.for_slow(SlowSeq(4), Lsn(20), request(0));
        waits.for_slow(SlowSeq(3), Lsn(2), request(1));
        assert_eq!(waits.wait_for_slow(SlowSeq(3)), [request(1)]);
        waits.slow_is_durable(SlowSeq(3));
        assert_eq!(waits.pop_durable(Lsn(10)), Some((Lsn(2), request(1))));
        assert_eq!(waits.first_above(Lsn(10)), Some(Lsn(20)));
        waits.slow_is_durable(SlowSeq(9));
        assert_eq!(waits.pop_durable(Lsn(10)), None);
        assert_eq!(waits.pop_durable(Lsn(20)), Some((Lsn(20), request(0))));
    }

    #[test]
    fn written_is_less_than_durable() {
        let mut waits = Waits::default();
        waits.for_written(Lsn(3), request(0));
        assert!(waits.want_written(Lsn(2)) && !waits.want_written(Lsn(3)));
        assert_eq!((waits.pop_durable(Lsn(9)), waits.pop_written(Lsn(2))), (None, None));
        assert_eq!(waits.pop_written(Lsn(3)), Some((Lsn(3), request(0))));
    }
}
