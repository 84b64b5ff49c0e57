//! Commands that end soon, each with the time of its end.

use std::collections::VecDeque;

use super::requests::RequestId;

/// Commands with times, in the order of time.
pub(super) type Timed = VecDeque<(u64, RequestId)>;

/// When the first command of a queue is due; `u64::MAX`: never.
#[inline]
pub(super) fn due_ns(queue: &Timed) -> u64 {
    queue.front().map_or(u64::MAX, |(at_ns, _)| *at_ns)
}

/// Takes the first command of a queue, if it is due by `now_ns`.
#[inline]
pub(super) fn take(queue: &mut Timed, now_ns: u64) -> Option<RequestId> {
    match queue.front() {
        Some((at_ns, _)) if *at_ns <= now_ns => queue.pop_front().map(|(_, request)| request),
        _ => None,
    }
}

/// Commands that end.
#[derive(Debug)]
pub(super) struct Ends {
    /// Added to the time of each command.
    latency_ns: u64,
    /// Reads. Their data crosses the link in their order.
    sent: Timed,
    /// All other commands.
    done: Timed,
}

impl Ends {
    /// No command yet.
    pub(super) fn new(latency_ns: u64) -> Self {
        Self { latency_ns, sent: Timed::new(), done: Timed::new() }
    }

    /// Adds a read whose last byte crosses the link at `at_ns`.
    pub(super) fn push_sent(&mut self, at_ns: u64, request: RequestId) {
        self.sent.push_back((at_ns + self.latency_ns, request));
    }

    /// Adds a command for which all work is done at `at_ns`.
    pub(super) fn push_done(&mut self, at_ns: u64, request: RequestId) {
        self.done.push_back((at_ns + self.latency_ns, request));
    }

    /// When the first command ends; `u64::MAX`: never.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        due_ns(&self.sent).min(due_ns(&self.done))
    }

    /// Takes a command that ends by `now_ns`; reads come last.
    #[inline]
    pub(super) fn take(&mut self, now_ns: u64) -> Option<RequestId> {
        take(&mut self.done, now_ns).or_else(|| take(&mut self.sent, now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ends_after_the_latency_and_reads_come_last() {
        let [a, b, c] = [1, 2, 3].map(RequestId::of_tag);
        let mut ends = Ends::new(10);
        assert_eq!((ends.due_ns(), ends.take(u64::MAX)), (u64::MAX, None));
        ends.push_sent(5, a);
        ends.push_done(5, b);
        ends.push_done(6, c);
        assert_eq!((ends.due_ns(), ends.take(14)), (15, None));
        assert_eq!([(); 3].map(|()| ends.take(15)), [Some(b), Some(a), None]);
        assert_eq!((ends.due_ns(), ends.take(16)), (16, Some(c)));
    }
}
