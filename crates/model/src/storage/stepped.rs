//! How a device lets time pass that does one thing at a time.

use super::device::Ended;

/// A device that does one thing at a time.
pub(super) trait Stepped {
    /// The present time of the device.
    fn now_ns(&self) -> u64;

    /// When its next event is due, which may be before now; `u64::MAX`: there is none.
    fn due_ns(&self) -> u64;

    /// Advances to `now_ns` and handles one event that is due. Appends the commands that ended.
    fn step(&mut self, now_ns: u64, ended: &mut Vec<Ended>);
}

/// `Device::next_ns` of such a device.
pub(super) fn next_ns(device: &impl Stepped) -> Option<u64> {
    match device.due_ns() {
        u64::MAX => None,
        due_ns => Some(due_ns.max(device.now_ns())),
    }
}

/// `Device::advance` of such a device.
#[inline]
pub(super) fn advance(device: &mut impl Stepped, until_ns: u64, ended: &mut Vec<Ended>) {
    let before = ended.len();
    loop {
        let (due_ns, now_ns) = (device.due_ns(), device.now_ns());
        if due_ns > until_ns || due_ns == u64::MAX || (ended.len() > before && due_ns > now_ns) {
            return;
        }
        device.step(now_ns.max(due_ns), ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands that end at given times, one in each step.
    struct Line {
        now_ns: u64,
        ends_ns: Vec<u64>,
    }

    impl Stepped for Line {
        fn now_ns(&self) -> u64 {
            self.now_ns
        }

        fn due_ns(&self) -> u64 {
            self.ends_ns.first().copied().unwrap_or(u64::MAX)
        }

        fn step(&mut self, now_ns: u64, ended: &mut Vec<Ended>) {
            self.now_ns = now_ns;
            let tag = self.ends_ns.remove(0);
            ended.push(Ended { tag, at_ns: now_ns, result: Ok(()) });
        }
    }

    fn ended_until(line: &mut Line, until_ns: u64) -> Vec<(u64, u64)> {
        let mut ended = Vec::new();
        advance(line, until_ns, &mut ended);
        ended.iter().map(|end| (end.tag, end.at_ns)).collect()
    }

    #[test]
    fn all_of_the_first_moment_ends_and_nothing_after_it() {
        let mut line = Line { now_ns: 5, ends_ns: vec![3, 10, 10, 12] };
        assert_eq!(next_ns(&line), Some(5), "an event that is overdue is due now");
        assert_eq!(ended_until(&mut line, 100), [(3, 5)]);
        assert_eq!(ended_until(&mut line, 9), []);
        assert_eq!(ended_until(&mut line, 100), [(10, 10), (10, 10)]);
        assert_eq!(ended_until(&mut line, 100), [(12, 12)]);
        assert_eq!((ended_until(&mut line, u64::MAX), next_ns(&line)), (vec![], None));
    }
}
