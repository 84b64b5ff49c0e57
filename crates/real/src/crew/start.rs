//! The instant at which the lanes of a run begin, where it is chosen from outside: several hosts begin together.

use std::sync::{Condvar, Mutex};

#[derive(Default)]
struct State {
    /// Every lane is ready, and the run waits.
    waited_for: bool,
    /// The instant, ns of the run's clock.
    at_ns: Option<u64>,
    /// When the lanes were let go.
    begun_ns: Option<u64>,
}

/// The instant, once it is chosen.
#[derive(Default)]
pub(super) struct Start {
    state: Mutex<State>,
    changed: Condvar,
}

impl Start {
    /// Waits for the instant. Returns None if the run is to stop before one is chosen.
    pub(super) fn wait(&self, stopping: impl Fn() -> bool) -> Option<u64> {
        let mut state = self.state.lock().expect("nothing panics under it");
        state.waited_for = true;
        let undecided = |state: &mut State| state.at_ns.is_none() && !stopping();
        self.changed.wait_while(state, undecided).expect("nothing panics under it").at_ns
    }

    /// Chooses the instant; the first choice stays.
    pub(super) fn choose(&self, at_ns: u64) {
        self.state.lock().expect("nothing panics under it").at_ns.get_or_insert(at_ns);
        self.changed.notify_all();
    }

    /// Makes a wait look again whether the run is to stop.
    pub(super) fn wake(&self) {
        // With the lock: otherwise a wait could look before the run stops, and sleep after this call.
        let _state = self.state.lock().expect("nothing panics under it");
        self.changed.notify_all();
    }

    /// Whether the run waits for the instant.
    pub(super) fn is_waited_for(&self) -> bool {
        self.state.lock().expect("nothing panics under it").waited_for
    }

    /// Notes that the lanes were let go.
    pub(super) fn note_begun(&self, now_ns: u64) {
        self.state.lock().expect("nothing panics under it").begun_ns = Some(now_ns);
    }

    /// When the lanes were let go; None before.
    pub(super) fn begun_ns(&self) -> Option<u64> {
        self.state.lock().expect("nothing panics under it").begun_ns
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::thread;

    use super::*;

    #[test]
    fn the_first_choice_stays() {
        let start = Start::default();
        start.choose(5);
        start.choose(7);
        assert_eq!(start.wait(|| false), Some(5));
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let (start, stop) = (Arc::new(Start::default()), Arc::new(AtomicBool::new(false)));
        let waiting = {
            let (start, stop) = (start.clone(), stop.clone());
            thread::spawn(move || start.wait(|| stop.load(SeqCst)))
        };
        while !start.is_waited_for() {
            thread::yield_now();
        }
        stop.store(true, SeqCst);
        start.wake();
        assert_eq!(waiting.join().unwrap(), None);
    }
}
