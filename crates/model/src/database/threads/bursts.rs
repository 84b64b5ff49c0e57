//! Work while the log is held.
//!
//! A burst of a thread's work makes all its changes when it begins. In a server they lie spread over the burst, and the
//! first one that meets a log which another thread holds waits until it is released. So a burst ends later by what its
//! changes would have waited.

use super::super::ids::ThreadNo;

/// How often the log was held, and for how long in all.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    holds: u64,
    held_ns: u64,
}

/// A thread's burst.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    /// Changes that it makes.
    changes: u32,
    /// Time between two of them.
    gap_ns: u64,
    end_ns: u64,
    /// What there was when it began, or when it was last looked at.
    seen: Total,
}

/// When the log is held.
#[derive(Debug, Default)]
pub(super) struct Holds {
    total: Total,
    since_ns: Option<u64>,
    /// Threads whose burst would be over.
    frozen: Vec<ThreadNo>,
}

/// How a burst stands at the moment at which it should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BurstEnd {
    /// It is over.
    Over,
    /// It ends later.
    Later(u64),
    /// It waits until the log is released.
    Frozen,
}

/// What changes that come every `gap_ns` wait on average for a hold of so many ns: those within it wait for its end, the
/// first of them holds up all others.
fn wait_ns(hold_ns: u64, gap_ns: u64) -> u64 {
    if hold_ns < gap_ns { hold_ns * hold_ns / (2 * gap_ns) } else { hold_ns - gap_ns / 2 }
}

impl Burst {
    /// A change is made.
    #[inline]
    pub(super) const fn note_change(&mut self) {
        self.changes += 1;
    }

    /// It begins, and ends at `end_ns` if nobody holds the log meanwhile.
    pub(super) fn begin(&mut self, now_ns: u64, end_ns: u64, holds: &Holds) {
        self.gap_ns = (end_ns - now_ns) / u64::from(self.changes + 1);
        self.end_ns = end_ns;
        self.seen = holds.total;
    }

    /// It would be over: it is, or is longer by what its changes have waited.
    pub(super) fn end(&mut self, thread: ThreadNo, now_ns: u64, holds: &mut Holds) -> BurstEnd {
        if self.changes > 0 && holds.since_ns.is_some() {
            holds.frozen.push(thread);
            return BurstEnd::Frozen;
        }
        self.end_ns += self.waited_ns(holds.total);
        self.seen = holds.total;
        if self.end_ns > now_ns {
            return BurstEnd::Later(self.end_ns);
        }
        self.changes = 0;
        BurstEnd::Over
    }

    /// What its changes have waited since it was last looked at.
    fn waited_ns(&self, total: Total) -> u64 {
        let holds = total.holds - self.seen.holds;
        if holds == 0 || self.changes == 0 {
            return 0;
        }
        holds * wait_ns((total.held_ns - self.seen.held_ns) / holds, self.gap_ns)
    }
}

impl Holds {
    /// A writer holds the log from now on.
    pub(super) const fn begin(&mut self, now_ns: u64) {
        self.since_ns = Some(now_ns);
    }

    /// The log is released, if it was held. Returns the threads whose burst would be over.
    pub(super) fn end(&mut self, now_ns: u64) -> Vec<ThreadNo> {
        let Some(since_ns) = self.since_ns.take() else { return Vec::new() };
        self.total.holds += 1;
        self.total.held_ns += now_ns - since_ns;
        std::mem::take(&mut self.frozen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_waits_for_a_hold_in_which_it_falls() {
        // One in ten holds of 100 us meets one of the changes that come each 1,000 us, and half of it is left on average.
        assert_eq!(wait_ns(100, 1000), 5);
        assert_eq!(wait_ns(1000, 1000), 500);
        // The first of many comes soon, and all wait for the rest.
        assert_eq!(wait_ns(1000, 100), 950);
    }

    #[test]
    fn only_holds_since_the_last_look_count_and_only_for_a_burst_with_changes() {
        let seen = Total { holds: 3, held_ns: 600 };
        let burst = Burst { changes: 4, gap_ns: 100, end_ns: 0, seen };
        assert_eq!(burst.waited_ns(seen), 0);
        assert_eq!(burst.waited_ns(Total { holds: 5, held_ns: 1000 }), 2 * 150);
        assert_eq!(Burst { changes: 0, ..burst }.waited_ns(Total { holds: 5, held_ns: 1000 }), 0);
    }

    #[test]
    fn a_burst_with_changes_waits_for_the_holder_and_ends_later() {
        let (mut holds, mut burst, thread) = (Holds::default(), Burst::default(), ThreadNo::new(3));
        burst.note_change();
        burst.begin(0, 1000, &holds);
        holds.begin(800);
        assert_eq!(burst.end(thread, 1000, &mut holds), BurstEnd::Frozen);
        assert_eq!(holds.end(1800), [thread]);
        // A gap of 500 and a hold of 1000: 750 later.
        assert_eq!(burst.end(thread, 1800, &mut holds), BurstEnd::Over, "750 have passed meanwhile");
        burst.note_change();
        burst.begin(2000, 3000, &holds);
        holds.begin(2100);
        assert!(holds.end(2300).is_empty());
        assert_eq!(burst.end(thread, 3000, &mut holds), BurstEnd::Later(3040));
        assert!(holds.end(3000).is_empty(), "nobody holds it");
    }
}
