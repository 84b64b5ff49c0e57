//! Outstanding and overdue requests, for an observer of a lane that is stuck.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The start of a request that is not there.
const IDLE: u64 = u64::MAX;

/// The starts of the outstanding requests of one lane, for an observer of a lane that is stuck.
#[derive(Debug)]
pub struct Flights {
    /// Start of the request in each slot, ns of the run's clock; `IDLE` when free.
    started_ns: Box<[AtomicU64]>,
    /// Open loop: the intended start of the next request that was not yet sent; `IDLE` in a closed loop.
    next_intended_ns: AtomicU64,
    /// Open loop: mean time between this lane's arrivals; 0 in a closed loop.
    period_ns: u64,
}

impl Flights {
    /// A lane with `depth` slots; `period_ns` between its arrivals, 0 for a closed loop.
    pub fn new(depth: u32, period_ns: u64) -> Self {
        Self {
            started_ns: (0..depth).map(|_| AtomicU64::new(IDLE)).collect(),
            next_intended_ns: AtomicU64::new(IDLE),
            period_ns,
        }
    }

    /// Marks a slot as begun.
    #[inline]
    pub fn begin(&self, slot: u32, at_ns: u64) {
        self.started_ns[slot as usize].store(at_ns, Relaxed);
    }

    /// Frees a slot.
    #[inline]
    pub fn end(&self, slot: u32) {
        self.started_ns[slot as usize].store(IDLE, Relaxed);
    }

    /// Open loop: says when the next request ought to start.
    pub fn intend(&self, at_ns: u64) {
        self.next_intended_ns.store(at_ns, Relaxed);
    }

    /// The lane sends no more.
    pub fn close(&self) {
        self.next_intended_ns.store(IDLE, Relaxed);
    }

    /// Adds this lane's outstanding requests and, in an open loop, those overdue.
    pub(super) fn observe(&self, waiting: &mut Waiting) {
        for slot in &self.started_ns {
            let started = slot.load(Relaxed);
            if started != IDLE {
                waiting.add_started(started);
            }
        }
        waiting.add_overdue(self.next_intended_ns.load(Relaxed), self.period_ns);
    }
}

/// The requests that are outstanding or overdue at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    now_ns: u64,
    oldest_start_ns: u64,
    requests: u64,
}

impl Waiting {
    /// None yet.
    pub fn at(now_ns: u64) -> Self {
        Self { now_ns, oldest_start_ns: now_ns, requests: 0 }
    }

    /// Adds a request that is outstanding since `started_ns`.
    pub fn add_started(&mut self, started_ns: u64) {
        self.requests += 1;
        self.oldest_start_ns = self.oldest_start_ns.min(started_ns);
    }

    /// Adds the arrivals of a lane that were due from `intended_ns` on, one each `period_ns`, and were not sent.
    pub fn add_overdue(&mut self, intended_ns: u64, period_ns: u64) {
        if intended_ns < self.now_ns {
            self.requests += 1 + (self.now_ns - intended_ns).checked_div(period_ns).unwrap_or(0);
            self.oldest_start_ns = self.oldest_start_ns.min(intended_ns);
        }
    }

    /// How many there are.
    pub fn requests(self) -> u64 {
        self.requests
    }

    /// Age of the oldest, ns; 0 if there is none.
    pub fn oldest_ns(self) -> u64 {
        self.now_ns - self.oldest_start_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_the_earliest_start_of_all() {
        let mut waiting = Waiting::at(1_000);
        assert_eq!((waiting.requests(), waiting.oldest_ns()), (0, 0));
        waiting.add_started(900);
        waiting.add_started(600);
        assert_eq!((waiting.requests(), waiting.oldest_ns()), (2, 400));
    }

    #[test]
    fn every_arrival_since_the_first_overdue_one_waits() {
        let mut waiting = Waiting::at(1_000);
        waiting.add_overdue(1_000, 100);
        assert_eq!(waiting.requests(), 0, "it is due now, not overdue");
        waiting.add_overdue(750, 100);
        assert_eq!((waiting.requests(), waiting.oldest_ns()), (3, 250));
        // A replay has no period: only the next request is known.
        waiting.add_overdue(990, 0);
        assert_eq!((waiting.requests(), waiting.oldest_ns()), (4, 250));
    }
}
