//! Whether the fast device is in use, and what the pairing record beside the slow device says of it.
//!
//! A fast device that failed must not be believed at the next start. The pairing record says so before the first write
//! goes past it, and says how many blocks are on it only; when all that can go back has gone it is written once more.

use crate::cache::BufferId;

/// The pause before the pairing record is tried again.
const RETRY_NS: u64 = 1_000_000_000;

/// How the fast device does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Well,
    /// It failed, and the pairing record is being written.
    Failing,
    /// It failed, and the pairing record says so durably.
    Failed,
}

/// The fast device's state, and the pairing record.
#[derive(Debug)]
pub(super) struct Pairing {
    state: State,
    /// The record could not be written or synced: its buffer, and when it is tried again.
    retry: Option<(BufferId, u64)>,
    /// Dirty blocks that the durable record counts. None: the record is being written, or there is none.
    durable: Option<u32>,
    /// Dirty blocks that the record counts which is being written.
    written: u32,
    due: bool,
}

impl Pairing {
    /// Of a cache whose fast device is in use.
    pub(super) const fn new() -> Self {
        Self { state: State::Well, retry: None, durable: None, written: 0, due: false }
    }

    /// Whether something changed after which others may go on.
    #[inline]
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// The fast device failed: nothing is written to it any more.
    #[inline]
    pub(super) fn degraded(&self) -> bool {
        self.state != State::Well
    }

    /// The fast device failed, and the pairing record does not say so yet: nothing may go past it.
    pub(super) fn failing(&self) -> bool {
        self.state == State::Failing
    }

    /// The fast device fails. Returns false if it had failed before.
    pub(super) fn fail(&mut self) -> bool {
        let first = self.state == State::Well;
        if first {
            self.state = State::Failing;
        }
        first
    }

    /// A record that counts so many dirty blocks is about to be written.
    pub(super) fn begin(&mut self, dirty: u32) {
        (self.written, self.durable) = (dirty, None);
    }

    /// The record is durable.
    pub(super) fn synced(&mut self) {
        self.state = State::Failed;
        self.durable = Some(self.written);
        self.due = true;
    }

    /// The record in `buffer` could not be written or synced. It is tried again until that succeeds: until then nothing
    /// may go past the fast device.
    pub(super) fn retry_later(&mut self, buffer: BufferId, now_ns: u64) {
        self.retry = Some((buffer, now_ns + RETRY_NS));
    }

    /// When the record is tried again.
    pub(super) fn retry_ns(&self) -> Option<u64> {
        self.retry.map(|(_, at_ns)| at_ns)
    }

    /// The buffer of the record that is to be tried again now.
    pub(super) fn take_retry(&mut self, now_ns: u64) -> Option<BufferId> {
        self.retry.take_if(|(_, at_ns)| now_ns >= *at_ns).map(|(buffer, _)| buffer)
    }

    /// The count that the record must be written with anew: when all that can go back has gone, so that a start gives
    /// up nothing but what is lost.
    pub(super) fn outdated(&self, dirty: u32, lost: u32) -> Option<u32> {
        (dirty == lost && self.durable.is_some_and(|durable| durable != lost)).then_some(lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Key;

    #[test]
    fn nothing_bypasses_the_cache_before_the_record_is_durable() {
        let mut pairing = Pairing::new();
        assert!(!pairing.degraded() && pairing.fail() && !pairing.fail());
        pairing.begin(3);
        assert!(pairing.degraded() && pairing.failing());
        assert_eq!(pairing.outdated(0, 0), None, "it is being written");
        pairing.synced();
        assert!(pairing.degraded() && !pairing.failing() && pairing.take_due() && !pairing.take_due());
        assert_eq!([pairing.outdated(3, 0), pairing.outdated(1, 1), pairing.outdated(0, 0)], [None, Some(1), Some(0)]);
        pairing.begin(0);
        pairing.synced();
        assert_eq!(pairing.outdated(0, 0), None);
    }

    #[test]
    fn a_record_that_fails_is_tried_again_after_a_pause() {
        let mut pairing = Pairing::new();
        pairing.fail();
        pairing.begin(3);
        let buffer = BufferId::from_number(7);
        pairing.retry_later(buffer, 50);
        let at_ns = pairing.retry_ns().expect("it waits");
        assert_eq!((pairing.take_retry(at_ns - 1), pairing.take_retry(at_ns)), (None, Some(buffer)));
        assert_eq!((pairing.retry_ns(), pairing.failing()), (None, true));
    }
}
