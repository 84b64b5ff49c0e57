//! Waiting until something is durable, and the end of the wait.

use std::collections::VecDeque;

use super::{Durability, SlowSeq, Waiter};
use crate::cache::Lsn;
use crate::cache::engine::keys::RequestId;

impl Durability {
    /// Has `waiter` woken when all records up to `lsn` and all writes to the slow device up to `slow` are durable.
    #[inline]
    pub(in super::super) fn wait_durable(&mut self, lsn: Lsn, slow: SlowSeq, waiter: Waiter) {
        self.due = true;
        if !self.abandoned {
            self.wanted = self.wanted.max(lsn);
        }
        self.slow.want(slow);
        if slow > self.slow.synced() {
            self.waits.for_slow(slow, lsn, waiter);
        } else {
            self.waits.for_durable(lsn, waiter);
        }
    }

    /// Has `waiter` woken when all records up to `lsn` are durable.
    #[inline]
    pub(in super::super) fn wait_recorded(&mut self, lsn: Lsn, waiter: Waiter) {
        self.wait_durable(lsn, SlowSeq::default(), waiter);
    }

    /// Has `waiter` woken when all records up to `lsn` are written: the death of this process does not undo them.
    pub(in super::super) fn wait_written(&mut self, lsn: Lsn, waiter: Waiter) {
        self.due = true;
        self.waits.for_written(lsn, waiter);
    }

    /// Has `waiter` woken by the next sync of the slow device that someone else asks for.
    #[inline]
    pub(in super::super) fn wait_for_next_slow_sync(&mut self, waiter: Waiter) {
        self.due = true;
        let ended = self.slow.ended();
        if ended > self.slow.synced() {
            self.waits.for_slow(ended, Lsn(0), waiter);
        } else {
            self.waits.for_durable(Lsn(0), waiter);
        }
    }

    /// Has a request answered when all that was answered before it is durable (`flush`), or it itself is. With `ordered`,
    /// what was written back counts as a write of users.
    pub(in super::super) fn wait_for_user(&mut self, request: RequestId, flush: bool, ordered: bool) {
        let lsn = match (self.abandoned, flush) {
            (false, _) => self.users,
            // What is dirty lies on a device that is not believed any more: it must get to the other one.
            (true, true) => Lsn(u64::MAX),
            (true, false) => Lsn(0),
        };
        // What is being written back is still durable in the cache.
        let slow = if self.abandoned || ordered { self.slow.ended() } else { self.slow.users() };
        self.wait_durable(lsn, slow, Waiter::Request(request));
    }

    /// Those that waited for the slow device, and got it, now wait for their records only.
    #[inline]
    pub(in super::super) fn slow_waits_end(&mut self) {
        self.waits.slow_is_durable(self.slow.synced());
    }

    /// Takes a waiter whose records are written. Once the fast device failed these are on a device that is not believed
    /// any more, and must become durable elsewhere: there is none then.
    #[inline]
    pub(in super::super) fn next_written(&mut self) -> Option<Waiter> {
        if self.abandoned {
            while let Some((lsn, waiter)) = self.waits.pop_written(Lsn(u64::MAX)) {
                self.waits.for_durable(lsn, waiter);
            }
            return None;
        }
        self.waits.pop_written(self.written()).map(|(_, waiter)| waiter)
    }

    /// Takes a waiter whose records are durable.
    #[inline]
    pub(in super::super) fn next_durable(&mut self) -> Option<Waiter> {
        self.waits.pop_durable(self.durable()).map(|(_, waiter)| waiter)
    }

    /// Takes the next waiter whether its records are durable or not: on a fast device that failed they never will be.
    pub(in super::super) fn next_waiter(&mut self) -> Option<(Lsn, Waiter)> {
        self.waits.pop_durable(Lsn(u64::MAX))
    }

    /// Puts back those of `next_waiter` that wait on, when it has given all.
    pub(in super::super) fn put_back(&mut self, waiting: VecDeque<(Lsn, Waiter)>) {
        self.waits.put_back(waiting);
    }
}
