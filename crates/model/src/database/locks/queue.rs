//! One row for which somebody waits, or that several share: who holds it, and who waits, in the order in which they came.

use std::collections::VecDeque;

use super::super::ids::ThreadNo;
use super::super::touches::Mode;

/// A thread that holds a row or waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) thread: ThreadNo,
    pub(super) mode: Mode,
}

/// The holders of a row, and the threads that wait for it.
#[derive(Debug, Default)]
pub(super) struct Queue {
    holders: Vec<Claim>,
    waiters: VecDeque<Claim>,
    /// Somebody has waited for it.
    contended: bool,
}

impl Queue {
    /// The row of one holder.
    pub(super) fn of(holder: Claim) -> Self {
        Self { holders: vec![holder], ..Self::default() }
    }

    /// Whether somebody has waited for it, ever.
    pub(super) const fn is_contended(&self) -> bool {
        self.contended
    }

    /// Whether nobody holds it or waits.
    pub(super) fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }

    /// Who holds it.
    pub(super) fn holders(&self) -> impl Iterator<Item = ThreadNo> {
        self.holders.iter().map(|holder| holder.thread)
    }

    /// Whether a thread holds it, at least so.
    pub(super) fn holds(&self, claim: Claim) -> bool {
        self.holders.iter().any(|holder| holder.thread == claim.thread && holder.mode >= claim.mode)
    }

    /// Who waits for it first.
    pub(super) fn first_waiter(&self) -> Option<ThreadNo> {
        self.waiters.front().map(|waiter| waiter.thread)
    }

    /// Whether others leave it to a thread.
    fn is_free_for(&self, claim: Claim) -> bool {
        let shared = |holder: &Claim| holder.mode == Mode::Shared && claim.mode == Mode::Shared;
        self.holders.iter().all(|holder| holder.thread == claim.thread || shared(holder))
    }

    /// Gives it to a thread, if nobody who came before stands against that. InnoDB looks at those that wait, too: nobody is
    /// overtaken (lock_rec_other_has_conflicting). False: it is not given.
    pub(super) fn take(&mut self, claim: Claim) -> bool {
        let free = self.waiters.is_empty() && self.is_free_for(claim);
        if free {
            self.give(claim);
        }
        free
    }

    fn give(&mut self, claim: Claim) {
        match self.holders.iter_mut().find(|holder| holder.thread == claim.thread) {
            Some(holder) => holder.mode = holder.mode.max(claim.mode),
            None => self.holders.push(claim),
        }
    }

    /// A thread waits for it, behind all others.
    pub(super) fn wait(&mut self, claim: Claim) {
        self.contended = true;
        self.waiters.push_back(claim);
    }

    /// A thread holds it no more, and does not wait for it.
    pub(super) fn leave(&mut self, thread: ThreadNo) {
        self.holders.retain(|holder| holder.thread != thread);
        self.stop_waiting(thread);
    }

    /// A thread does not wait for it any more.
    pub(super) fn stop_waiting(&mut self, thread: ThreadNo) {
        self.waiters.retain(|waiter| waiter.thread != thread);
    }

    /// Gives it to the first that waits, if it is free for that one (lock_rec_dequeue_from_page).
    pub(super) fn grant(&mut self) -> Option<ThreadNo> {
        let first = *self.waiters.front()?;
        if !self.is_free_for(first) {
            return None;
        }
        self.waiters.pop_front();
        self.give(first);
        Some(first.thread)
    }
}

#[cfg(test)]
impl Queue {
    /// Whether nobody shares it who may not, and nobody waits who need not.
    pub(super) fn is_sound(&self) -> bool {
        let alone = self.holders.iter().any(|holder| holder.mode == Mode::Exclusive);
        let first_waits = self.waiters.front().is_none_or(|first| !self.is_free_for(*first));
        (!alone || self.holders.len() == 1) && first_waits
    }
}
