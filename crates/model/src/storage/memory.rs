//! An appliance of memory behind a link: each command takes a fixed latency and the time of its transfer.

use schemars::JsonSchema;
use serde::Deserialize;

use super::device::Answers;
use super::{Command, Device, Ended, Failure, Operation};

/// The figures of an appliance.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Bytes that the host can use.
    pub capacity_bytes: u64,
    /// Time from a command to its answer, without the transfer.
    pub latency_ns: u64,
    /// Bytes a second of reads.
    pub read_bytes_per_s: f64,
    /// Bytes a second of writes.
    pub write_bytes_per_s: f64,
}

/// An appliance.
pub struct Memory {
    spec: Spec,
    link_free_ns: u64,
    busy_ns: u64,
    observed_ns: u64,
    answers: Answers,
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
        Ok(Self { spec, link_free_ns: 0, busy_ns: 0, observed_ns: 0, answers: Answers::new() })
    }
}

impl Device for Memory {
    fn capacity_bytes(&self) -> u64 {
        self.spec.capacity_bytes
    }

    fn submit(&mut self, now_ns: u64, tag: u64, command: Command) {
        if !command.fits(self.spec.capacity_bytes) {
            self.answers.push(now_ns, (tag, Err(Failure::Full)));
            return;
        }
        let rate = match command.operation {
            Operation::Read => self.spec.read_bytes_per_s,
            Operation::Write => self.spec.write_bytes_per_s,
            Operation::Flush | Operation::Trim => f64::INFINITY,
        };
        let transfer_ns = (command.bytes as f64 / rate * 1e9) as u64;
        self.link_free_ns = self.link_free_ns.max(now_ns) + transfer_ns;
        self.busy_ns += transfer_ns;
        self.answers.push(self.link_free_ns + self.spec.latency_ns, (tag, Ok(())));
    }

    fn next_ns(&self) -> Option<u64> {
        self.answers.next_ns()
    }

    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        self.answers.advance(until_ns, ended);
    }

    fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>) {
        series.push(("queue_depth".into(), self.answers.len() as f64));
        // Transfers that have not crossed the link yet count for the next interval.
        let ahead_ns = self.link_free_ns.saturating_sub(now_ns).min(self.busy_ns);
        let interval_ns = (now_ns - self.observed_ns).max(1) as f64;
        series.push(("link_busy_pct".into(), ((self.busy_ns - ahead_ns) as f64 / interval_ns * 100.0).min(100.0)));
        (self.busy_ns, self.observed_ns) = (ahead_ns, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        Spec { capacity_bytes: 1 << 30, latency_ns: 50_000, read_bytes_per_s: 1e9, write_bytes_per_s: 5e8 }
    }

    #[test]
    fn requests_share_the_link_and_overlap_their_latency() {
        let mut memory = Memory::new(spec()).unwrap();
        for tag in 0..10 {
            memory.submit(0, tag, Command { operation: Operation::Read, offset: 0, bytes: 10_000 });
        }
        let mut ended = Vec::new();
        while memory.next_ns().is_some() {
            memory.advance(u64::MAX, &mut ended);
        }
        let times: Vec<u64> = ended.iter().map(|end| end.at_ns).collect();
        assert_eq!(times, (1..=10).map(|number| number * 10_000 + 50_000).collect::<Vec<_>>());
        let mut series = Vec::new();
        memory.observe(200_000, &mut series);
        assert!(series.contains(&("link_busy_pct".into(), 50.0)), "{series:?}");
    }

    #[test]
    fn what_is_outside_fails_and_a_rate_of_nothing_is_refused() {
        let mut memory = Memory::new(spec()).unwrap();
        memory.submit(0, 1, Command { operation: Operation::Write, offset: 1 << 30, bytes: 1 });
        let mut ended = Vec::new();
        memory.advance(0, &mut ended);
        assert_eq!(ended[0].result, Err(Failure::Full));
        assert!(Memory::new(Spec { write_bytes_per_s: 0.0, ..spec() }).is_err());
    }
}
