//! An appliance of memory behind a link: a fixed latency, then as many bytes a second as the link moves.

use serde::Deserialize;

use super::{Command, Device, Ended, Failure, Operation};
use crate::event::EventQueue;

/// The figures of an appliance.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Bytes that the host can use.
    pub capacity_bytes: u64,
    /// From a command to its answer, without the transfer.
    pub latency_ns: u64,
    /// Bytes a second that it reads.
    pub read_bytes_per_s: f64,
    /// Bytes a second that it writes.
    pub write_bytes_per_s: f64,
}

/// An appliance at work.
pub struct Memory {
    spec: Spec,
    link_free_ns: u64,
    events: EventQueue<(u64, Result<(), Failure>)>,
}

impl Memory {
    /// An idle appliance.
    ///
    /// # Errors
    /// A rate that is not over 0.
    pub fn new(spec: Spec) -> Result<Self, String> {
        let rates = [spec.read_bytes_per_s, spec.write_bytes_per_s];
        if rates.iter().any(|rate| !rate.is_finite() || *rate <= 0.0) {
            return Err("a rate must be over 0".into());
        }
        Ok(Self { spec, link_free_ns: 0, events: EventQueue::new() })
    }
}

impl Device for Memory {
    fn capacity_bytes(&self) -> u64 {
        self.spec.capacity_bytes
    }

    fn submit(&mut self, now_ns: u64, tag: u64, command: Command) {
        let end = command.offset.checked_add(command.bytes);
        if end.is_none_or(|end| end > self.spec.capacity_bytes) {
            self.events.push(now_ns, (tag, Err(Failure::Full)));
            return;
        }
        let rate = match command.operation {
            Operation::Read => self.spec.read_bytes_per_s,
            Operation::Write => self.spec.write_bytes_per_s,
            Operation::Flush | Operation::Trim => f64::INFINITY,
        };
        self.link_free_ns = self.link_free_ns.max(now_ns) + (command.bytes as f64 / rate * 1e9) as u64;
        self.events.push(self.link_free_ns + self.spec.latency_ns, (tag, Ok(())));
    }

    fn next_ns(&self) -> Option<u64> {
        self.events.next_ns()
    }

    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        let Some(first_ns) = self.events.next_ns() else { return };
        while let Some((at_ns, (tag, result))) = self.events.pop_until(first_ns.min(until_ns)) {
            ended.push(Ended { tag, at_ns, result });
        }
    }

    fn observe(&mut self, _now_ns: u64, series: &mut Vec<(String, f64)>) {
        series.push(("queue_depth".into(), self.events.len() as f64));
    }
}
