//! Devices that are slow or that fail on purpose: for tests, and to try out what a cache does then.

use std::collections::BTreeMap;

use flatwater_core::cache::{IoKind, Side};
use schemars::JsonSchema;
use serde::Deserialize;

/// How the IOs of one device are delayed or fail.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Adversity {
    /// Reads fail with this errno; 0: they do not fail.
    pub read_errno: i32,
    /// Writes, syncs and discards fail with this errno; 0: they do not fail.
    pub write_errno: i32,
    /// Each read or write takes at least so long, µs.
    pub latency_us: u64,
    /// Each sync takes at least so long, µs.
    pub sync_us: u64,
    /// How many IOs the device serves at once; 0: any number. A disk serves 1.
    pub at_once: u32,
}

impl Adversity {
    /// The errno with which an IO of this kind fails.
    pub fn errno(&self, kind: IoKind) -> Option<i32> {
        let errno = if kind == IoKind::Read { self.read_errno } else { self.write_errno };
        (errno != 0).then_some(errno)
    }
}

/// The adversities of the three devices, and the IOs that are delayed.
#[derive(Debug, Default)]
pub struct Adversities {
    of: [Adversity; 3],
    /// When each of a device's servers is free again.
    free_ns: [Vec<u64>; 3],
    /// Delayed IOs by the time at which they end. The second number keeps the order of those that end at the same time.
    waiting: BTreeMap<(u64, u64), (u32, i32)>,
    counted: u64,
    any: bool,
}

impl Adversities {
    /// Sets the adversity of a device.
    pub fn set(&mut self, side: Side, adversity: Adversity) {
        self.of[side as usize] = adversity;
        self.free_ns[side as usize] = vec![0; adversity.at_once as usize];
        self.any = self.of.iter().any(|adversity| *adversity != Adversity::default());
    }

    /// Whether there is no adversity, and no IO is delayed: the usual case.
    #[inline]
    pub fn none(&self) -> bool {
        !self.any && self.waiting.is_empty()
    }

    /// The errno with which an IO fails.
    pub fn errno(&self, side: Side, kind: IoKind) -> Option<i32> {
        self.of[side as usize].errno(kind)
    }

    /// Delays an IO that ended. Returns false if it is not delayed.
    pub fn hold(&mut self, now_ns: u64, side: Side, kind: IoKind, id: u32, result: i32) -> bool {
        let Adversity { latency_us, sync_us, .. } = self.of[side as usize];
        let latency_ns = 1000 * if kind == IoKind::Sync { sync_us } else { latency_us };
        if latency_ns == 0 {
            return false;
        }
        let begin_ns = self.free_ns[side as usize].iter_mut().min();
        let end_ns = match begin_ns {
            Some(free_ns) => {
                *free_ns = now_ns.max(*free_ns) + latency_ns;
                *free_ns
            }
            None => now_ns + latency_ns,
        };
        self.counted += 1;
        self.waiting.insert((end_ns, self.counted), (id, result));
        true
    }

    /// When the next delayed IO ends.
    pub fn next_ns(&self) -> Option<u64> {
        self.waiting.keys().next().map(|(at_ns, _)| *at_ns)
    }

    /// Takes a delayed IO that has ended by `now_ns`.
    pub fn due(&mut self, now_ns: u64) -> Option<(u32, i32)> {
        let first = self.waiting.first_entry()?;
        (first.key().0 <= now_ns).then(|| first.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_disk_serves_one_after_the_other() {
        let mut all = Adversities::default();
        assert!(all.none() && !all.hold(0, Side::Slow, IoKind::Read, 0, 1));
        all.set(Side::Slow, Adversity { latency_us: 10, at_once: 1, ..Adversity::default() });
        assert!(all.hold(0, Side::Slow, IoKind::Read, 1, 1) && all.hold(0, Side::Slow, IoKind::Write, 2, 2));
        assert!(!all.hold(0, Side::Fast, IoKind::Read, 3, 3));
        assert_eq!(all.next_ns(), Some(10_000));
        assert_eq!((all.due(9_999), all.due(15_000), all.due(15_000)), (None, Some((1, 1)), None));
        assert_eq!(all.due(20_000), Some((2, 2)));
    }

    #[test]
    fn an_io_fails_with_the_errno_of_its_device_and_kind() {
        let mut all = Adversities::default();
        all.set(Side::Fast, Adversity { write_errno: 5, ..Adversity::default() });
        assert_eq!(all.errno(Side::Fast, IoKind::Sync), Some(5));
        assert_eq!(all.errno(Side::Fast, IoKind::Read), None);
        assert!(!all.none());
    }
}
