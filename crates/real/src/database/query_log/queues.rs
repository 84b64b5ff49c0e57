//! What was read of the log and not sent: a queue for each session, and an end to the memory of all.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use flatwater_core::workload::query_log::Entry;

/// So much of the log waits in memory: a statement that took long stands in a slow log behind those that began after it,
/// and is found in time only if enough is read ahead.
const AHEAD_BYTES_MAX: usize = 256 << 20;
/// What an entry takes besides its text.
const ENTRY_BYTES: usize = 128;
/// A thread looks at least so often whether the run is to end.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Default)]
struct State {
    waiting: Vec<VecDeque<Entry>>,
    /// How many statements of a recorded connection are among them.
    of_connection: HashMap<u64, usize>,
    bytes: usize,
    over: bool,
    /// The time of the first entry, microseconds of the log.
    first_us: Option<i64>,
}

/// The statements that were read and not taken.
pub(super) struct Queues {
    state: Mutex<State>,
    changed: Condvar,
}

/// What a session finds in its queue.
pub(super) enum Found {
    Entry(Entry),
    /// Nothing for now.
    Nothing,
    /// The log is over.
    Over,
}

impl Queues {
    pub(super) fn new(sessions: usize) -> Self {
        let waiting = (0..sessions).map(|_| VecDeque::new()).collect();
        Self { state: Mutex::new(State { waiting, ..State::default() }), changed: Condvar::new() }
    }

    /// The next statement of a session: waits a little for one.
    pub(super) fn take(&self, session: usize) -> Found {
        let mut state = self.state.lock().expect("nothing panics under it");
        if state.waiting[session].is_empty() && !state.over {
            state = self.changed.wait_timeout(state, LOOK).expect("nothing panics under it").0;
        }
        match state.waiting[session].pop_front() {
            Some(entry) => {
                let full = state.bytes > AHEAD_BYTES_MAX;
                state.bytes -= entry.sql.len() + ENTRY_BYTES;
                if !entry.ends
                    && let Some(left) = state.of_connection.get_mut(&entry.session)
                {
                    *left -= 1;
                    if *left == 0 {
                        state.of_connection.remove(&entry.session);
                    }
                }
                drop(state);
                if full {
                    self.changed.notify_all();
                }
                Found::Entry(entry)
            }
            None if state.over => Found::Over,
            None => Found::Nothing,
        }
    }

    /// Keeps of some recorded connections those of which statements wait. The others are over, as far as the log was read.
    pub(super) fn keep_waiting(&self, connections: &mut Vec<u64>) {
        let state = self.state.lock().expect("nothing panics under it");
        connections.retain(|connection| state.of_connection.contains_key(connection));
    }

    /// How long after the log's first statement this one began, microseconds; 0 for one that began before.
    pub(super) fn since_first_us(&self, at_us: i64) -> u64 {
        let first_us = self.state.lock().expect("nothing panics under it").first_us.unwrap_or(at_us);
        u64::try_from(at_us.saturating_sub(first_us)).unwrap_or(0)
    }

    /// Adds a statement; false when the run is to end before there is room.
    pub(super) fn add(&self, session: usize, entry: Entry, stopping: impl Fn() -> bool) -> bool {
        let mut state = self.state.lock().expect("nothing panics under it");
        while state.bytes > AHEAD_BYTES_MAX {
            if stopping() {
                return false;
            }
            state = self.changed.wait_timeout(state, LOOK).expect("nothing panics under it").0;
        }
        state.first_us.get_or_insert(entry.at_us);
        state.bytes += entry.sql.len() + ENTRY_BYTES;
        if !entry.ends {
            *state.of_connection.entry(entry.session).or_default() += 1;
        }
        let first = state.waiting[session].is_empty();
        state.waiting[session].push_back(entry);
        drop(state);
        if first {
            self.changed.notify_all();
        }
        !stopping()
    }

    /// No more will come.
    pub(super) fn end(&self) {
        self.state.lock().expect("nothing panics under it").over = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at_us: i64) -> Entry {
        Entry { at_us, session: 1, sql: b"SELECT 1".to_vec(), ..Entry::default() }
    }

    #[test]
    fn a_session_gets_its_own_in_order_and_the_end() {
        let queues = Queues::new(2);
        for at_us in [50, 70] {
            assert!(queues.add(1, entry(at_us), || false));
        }
        assert!(matches!(queues.take(0), Found::Nothing));
        queues.end();
        for at_us in [50, 70] {
            assert!(matches!(queues.take(1), Found::Entry(one) if one.at_us == at_us));
        }
        assert!(matches!(queues.take(1), Found::Over) && matches!(queues.take(0), Found::Over));
        assert_eq!((queues.since_first_us(70), queues.since_first_us(20)), (20, 0));
    }

    #[test]
    fn a_recorded_connection_waits_as_long_as_its_statements() {
        let queues = Queues::new(1);
        for session in [7, 8, 7] {
            assert!(queues.add(0, Entry { session, ..entry(1) }, || false));
        }
        // An end waits for nothing.
        assert!(queues.add(0, Entry { session: 9, ends: true, ..entry(1) }, || false));
        for left in [&[7, 8][..], &[7], &[]] {
            assert!(matches!(queues.take(0), Found::Entry(_)));
            let mut connections = vec![7, 8, 9];
            queues.keep_waiting(&mut connections);
            assert_eq!(connections, left);
        }
    }

    #[test]
    fn memory_has_an_end_and_so_has_the_wait_for_it() {
        let queues = Queues::new(1);
        let large = Entry { sql: vec![b'x'; AHEAD_BYTES_MAX + 1], ..entry(1) };
        assert!(queues.add(0, large, || false));
        assert!(!queues.add(0, entry(2), || true), "the run ends meanwhile");
        assert!(matches!(queues.take(0), Found::Entry(_)));
        assert!(queues.add(0, entry(2), || false));
    }
}
