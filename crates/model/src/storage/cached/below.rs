//! A device below the cache, and when its next event is due.

use crate::storage::{Command, Device, Ended, Incident};

/// A device below the cache. It is asked when its next event is due only after a call that may have changed that, and it is
/// advanced only when an event is due.
pub(super) struct Below {
    device: Box<dyn Device>,
    /// `u64::MAX`: there is no event.
    due_ns: u64,
}

impl Below {
    /// A device that the cache uses from now on.
    pub(super) fn new(device: Box<dyn Device>) -> Self {
        let mut below = Self { device, due_ns: u64::MAX };
        below.update_due();
        below
    }

    fn update_due(&mut self) {
        self.due_ns = self.device.next_ns().unwrap_or(u64::MAX);
    }

    /// When its next event is due; `u64::MAX`: there is none.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// `Device::submit`.
    #[inline]
    pub(super) fn submit(&mut self, now_ns: u64, tag: u64, command: Command) {
        self.device.submit(now_ns, tag, command);
        self.update_due();
    }

    /// `Device::advance`.
    #[inline]
    pub(super) fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        if self.due_ns <= until_ns {
            self.device.advance(until_ns, ended);
            self.update_due();
        }
    }

    /// `Device::observe`.
    pub(super) fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>) {
        self.device.observe(now_ns, series);
        // To observe a device may change its state up to now.
        self.update_due();
    }

    /// `Device::incidents`.
    pub(super) fn incidents(&mut self) -> Vec<Incident> {
        self.device.incidents()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Operation;
    use crate::storage::memory::{Memory, Spec};

    #[test]
    fn it_is_due_when_its_device_is() {
        let spec = Spec { capacity_bytes: 1 << 20, latency_ns: 10, read_bytes_per_s: 1e15, write_bytes_per_s: 1e15 };
        let mut below = Below::new(Box::new(Memory::new(spec).unwrap()));
        assert_eq!(below.due_ns(), u64::MAX);
        below.submit(5, 1, Command { operation: Operation::Read, offset: 0, bytes: 512 });
        assert_eq!(below.due_ns(), 15);
        let mut ended = Vec::new();
        below.advance(14, &mut ended);
        assert_eq!((ended.len(), below.due_ns()), (0, 15));
        below.advance(15, &mut ended);
        assert_eq!((ended, below.due_ns()), (vec![Ended { tag: 1, at_ns: 15, result: Ok(()) }], u64::MAX));
    }
}
