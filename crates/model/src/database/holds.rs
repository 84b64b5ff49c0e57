//! Work while the log is held.
//!
//! A burst of a thread's work makes all its changes when it begins (`threads.rs`). In a server they lie spread over the
//! burst, and the first one that meets a log which somebody holds waits until it is let go. So a burst ends later by what
//! its changes would have waited.

use super::{Event, Innodb};

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
    pub(super) changes: u32,
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
    frozen: Vec<u32>,
}

/// What changes that come every `gap_ns` wait on average for a hold of so many ns: those within it wait for its end, the
/// first of them holds up all others.
fn wait_ns(hold_ns: u64, gap_ns: u64) -> u64 {
    if hold_ns < gap_ns { hold_ns * hold_ns / (2 * gap_ns) } else { hold_ns - gap_ns / 2 }
}

impl Burst {
    /// What its changes have waited since it was last looked at.
    fn waited_ns(&self, total: Total) -> u64 {
        let holds = total.holds - self.seen.holds;
        if holds == 0 || self.changes == 0 {
            return 0;
        }
        holds * wait_ns((total.held_ns - self.seen.held_ns) / holds, self.gap_ns)
    }
}

impl Innodb {
    /// Somebody holds the log from now on.
    pub(super) fn hold_log(&mut self) {
        self.holds.since_ns = Some(self.now_ns);
    }

    /// Nobody holds it any more.
    pub(super) fn let_go_of_log(&mut self) {
        let Some(since_ns) = self.holds.since_ns.take() else { return };
        self.holds.total.holds += 1;
        self.holds.total.held_ns += self.now_ns - since_ns;
        let mut frozen = std::mem::take(&mut self.holds.frozen);
        for thread in frozen.drain(..) {
            self.end_burst(thread);
        }
        self.holds.frozen = frozen;
    }

    /// A thread works until `end_ns`, if nobody holds the log meanwhile.
    pub(super) fn begin_burst(&mut self, number: u32, end_ns: u64) {
        let burst = &mut self.threads[number as usize].burst;
        burst.gap_ns = (end_ns - self.now_ns) / u64::from(burst.changes + 1);
        burst.end_ns = end_ns;
        burst.seen = self.holds.total;
        self.events.push(end_ns, Event::Worked(number));
    }

    /// A thread's burst would be over: it is, or is longer by what its changes have waited.
    pub(super) fn end_burst(&mut self, number: u32) {
        let burst = &mut self.threads[number as usize].burst;
        if burst.changes > 0 && self.holds.since_ns.is_some() {
            self.holds.frozen.push(number);
            return;
        }
        burst.end_ns += burst.waited_ns(self.holds.total);
        burst.seen = self.holds.total;
        if burst.end_ns > self.now_ns {
            self.events.push(burst.end_ns, Event::Worked(number));
        } else {
            burst.changes = 0;
            self.ready.push_back(number);
        }
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
    fn only_what_came_since_counts_and_only_for_who_changes() {
        let seen = Total { holds: 3, held_ns: 600 };
        let burst = Burst { changes: 4, gap_ns: 100, end_ns: 0, seen };
        assert_eq!(burst.waited_ns(seen), 0);
        assert_eq!(burst.waited_ns(Total { holds: 5, held_ns: 1000 }), 2 * 150);
        assert_eq!(Burst { changes: 0, ..burst }.waited_ns(Total { holds: 5, held_ns: 1000 }), 0);
    }
}
