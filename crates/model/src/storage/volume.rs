//! A network volume, as clouds rent them out. It has a latency with a spread, and limits of requests and of bytes a second.
//! Each limit may have credits for bursts.

use flatwater_core::seed::{Rng, stream};
use rand::Rng as _;
use schemars::JsonSchema;
use serde::Deserialize;

use super::device::Answers;
use super::{Command, Device, Ended, Failure, Opening, Operation};

/// The figures of a volume.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Bytes that the host can use.
    pub capacity_bytes: u64,
    /// Median time of a read that is not delayed by a limit.
    pub read_ns: u64,
    /// Median time of a write that is not delayed by a limit.
    pub write_ns: u64,
    /// Time of a flush; 0 if written data is already durable, because the volume keeps copies before it answers.
    #[serde(default)]
    pub flush_ns: u64,
    /// Spread of the times: the standard deviation of their logarithm.
    pub spread: f64,
    /// Requests a second.
    pub requests: Limit,
    /// A request counts as one for each started unit of so many bytes; 0: it always counts as one.
    pub request_bytes: u64,
    /// Bytes a second.
    pub bytes: Limit,
}

/// A limit with credits: a bucket that fills at the baseline rate and that bursts empty.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The rate in the long run, a second.
    pub baseline_per_s: f64,
    /// The rate while there are credits, a second. Equal to the baseline if there are no bursts.
    pub burst_per_s: f64,
    /// The most credits that it can have.
    pub credits_max: f64,
    /// Credits at the beginning.
    pub credits: f64,
}

/// The state of a limit: the credits at a time, and when all that it has let in so far has passed.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    limit: Limit,
    credits: f64,
    at_ns: f64,
    free_ns: f64,
}

impl Bucket {
    fn new(limit: Limit) -> Self {
        Self { limit, credits: limit.credits.min(limit.credits_max), at_ns: 0.0, free_ns: 0.0 }
    }

    fn credits_at(&self, at_ns: f64) -> f64 {
        let earned = (at_ns - self.at_ns).max(0.0) / 1e9 * self.limit.baseline_per_s;
        (self.credits + earned).min(self.limit.credits_max)
    }

    /// Lets `amount` in, at `now_ns` at the earliest. Returns when it has passed, ns.
    fn pass(&mut self, now_ns: f64, amount: f64) -> f64 {
        let begin_ns = self.free_ns.max(now_ns);
        let has_bursts = self.limit.burst_per_s > self.limit.baseline_per_s;
        let credits = self.credits_at(begin_ns);
        let rate = if has_bursts && credits >= amount { self.limit.burst_per_s } else { self.limit.baseline_per_s };
        self.free_ns = begin_ns + amount / rate * 1e9;
        self.credits = (self.credits_at(self.free_ns) - amount).max(0.0);
        self.at_ns = self.free_ns;
        self.free_ns
    }
}

/// A volume.
pub struct Volume {
    spec: Spec,
    requests: Bucket,
    bytes: Bucket,
    latencies: Rng,
    answers: Answers,
    moved_bytes: u64,
    observed_ns: u64,
}

impl Volume {
    /// A volume with its initial credits.
    ///
    /// # Errors
    /// A rate that is not over 0, or a burst under its baseline.
    pub fn new(spec: Spec, opening: Opening) -> Result<Self, String> {
        for (name, limit) in [("iops", spec.requests), ("throughput", spec.bytes)] {
            let figures = [limit.baseline_per_s, limit.burst_per_s, limit.credits_max, limit.credits];
            if figures.iter().any(|figure| !figure.is_finite() || *figure < 0.0) || limit.baseline_per_s <= 0.0 {
                return Err(format!("{name}: a rate must be over 0"));
            }
            if limit.burst_per_s < limit.baseline_per_s {
                return Err(format!("{name}: the burst is under the baseline"));
            }
        }
        if !(0.0..=2.0).contains(&spec.spread) {
            return Err("spread: must be 0 to 2".into());
        }
        Ok(Self {
            requests: Bucket::new(spec.requests),
            bytes: Bucket::new(spec.bytes),
            latencies: stream(opening.seed, "latencies", 0),
            answers: Answers::new(),
            moved_bytes: 0,
            observed_ns: 0,
            spec,
        })
    }

    /// Draws a log-normal time with this median. The latencies of networks usually have this distribution.
    fn latency_ns(&mut self, median_ns: u64) -> u64 {
        // Box and Muller (1958).
        let (radius, turn) = (1.0 - self.latencies.random::<f64>(), self.latencies.random::<f64>());
        let normal = (-2.0 * libm::log(radius)).sqrt() * libm::cos(std::f64::consts::TAU * turn);
        (median_ns as f64 * libm::exp(self.spec.spread * normal)) as u64
    }
}

impl Device for Volume {
    fn capacity_bytes(&self) -> u64 {
        self.spec.capacity_bytes
    }

    fn submit(&mut self, now_ns: u64, tag: u64, command: Command) {
        if !command.fits(self.spec.capacity_bytes) {
            self.answers.push(now_ns, (tag, Err(Failure::Full)));
            return;
        }
        let median_ns = match command.operation {
            Operation::Read => self.spec.read_ns,
            Operation::Write => self.spec.write_ns,
            Operation::Flush => {
                self.answers.push(now_ns + self.spec.flush_ns, (tag, Ok(())));
                return;
            }
            Operation::Trim => {
                self.answers.push(now_ns, (tag, Ok(())));
                return;
            }
        };
        let count = command.bytes.div_ceil(self.spec.request_bytes.max(1)).max(1);
        let count = if self.spec.request_bytes == 0 { 1 } else { count };
        let requests_ns = self.requests.pass(now_ns as f64, count as f64);
        let bytes_ns = self.bytes.pass(now_ns as f64, command.bytes as f64);
        // A limit delays only what exceeds it: the first request of an idle volume takes its latency and no more.
        let alone_ns = (count as f64 / self.spec.requests.burst_per_s)
            .max(command.bytes as f64 / self.spec.bytes.burst_per_s)
            * 1e9;
        let delay_ns = (requests_ns.max(bytes_ns) - now_ns as f64 - alone_ns).max(0.0) as u64;
        let latency_ns = self.latency_ns(median_ns);
        self.moved_bytes += command.bytes;
        self.answers.push(now_ns + delay_ns + latency_ns, (tag, Ok(())));
    }

    fn next_ns(&self) -> Option<u64> {
        self.answers.next_ns()
    }

    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        self.answers.advance(until_ns, ended);
    }

    fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>) {
        series.push(("queue_depth".into(), self.answers.len() as f64));
        let interval_s = (now_ns - self.observed_ns).max(1) as f64 / 1e9;
        let share = self.moved_bytes as f64 / interval_s / self.spec.bytes.burst_per_s;
        series.push(("link_busy_pct".into(), (share * 100.0).min(100.0)));
        for (name, bucket) in [("credits", &self.requests), ("byte_credits", &self.bytes)] {
            if bucket.limit.burst_per_s > bucket.limit.baseline_per_s {
                series.push((name.into(), bucket.credits_at(now_ns as f64)));
            }
        }
        (self.moved_bytes, self.observed_ns) = (0, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        Spec {
            capacity_bytes: 100 << 30,
            read_ns: 600_000,
            write_ns: 900_000,
            flush_ns: 0,
            spread: 0.2,
            requests: Limit { baseline_per_s: 300.0, burst_per_s: 3000.0, credits_max: 27_000.0, credits: 27_000.0 },
            request_bytes: 256 << 10,
            bytes: Limit { baseline_per_s: 128e6, burst_per_s: 128e6, credits_max: 0.0, credits: 0.0 },
        }
    }

    /// Runs reads of `bytes` with `depth` outstanding for `seconds`. Returns how many ended in each second, and the mean
    /// latency.
    fn run(spec: Spec, depth: u64, bytes: u64, seconds: u64) -> (Vec<u64>, f64) {
        let mut volume = Volume::new(spec, Opening { seed: 3, used_bytes: 0 }).unwrap();
        let (mut counts, mut sum_ns, mut started) = (vec![0; seconds as usize], 0, vec![0; depth as usize]);
        let command = Command { operation: Operation::Read, offset: 0, bytes };
        for tag in 0..depth {
            volume.submit(0, tag, command);
        }
        let mut ended = Vec::new();
        loop {
            volume.advance(u64::MAX, &mut ended);
            for end in ended.drain(..) {
                let Some(count) = counts.get_mut((end.at_ns / 1_000_000_000) as usize) else {
                    return (counts.clone(), sum_ns as f64 / counts.iter().sum::<u64>() as f64);
                };
                *count += 1;
                sum_ns += end.at_ns - started[end.tag as usize];
                started[end.tag as usize] = end.at_ns;
                volume.submit(end.at_ns, end.tag, command);
            }
        }
    }

    #[test]
    fn it_bursts_while_there_are_credits_and_then_keeps_its_baseline() {
        let (counts, _) = run(spec(), 32, 16384, 20);
        // 27,000 credits last for 27,000 / (3000 - 300) = 10 s.
        for (second, count) in counts.iter().enumerate() {
            let expected = if second < 9 { 3000 } else { 300 };
            assert!(second.abs_diff(10) <= 1 || count.abs_diff(expected) < expected / 10, "{second}: {counts:?}");
        }
    }

    #[test]
    fn large_requests_meet_the_limit_of_bytes() {
        let (counts, _) = run(spec(), 32, 1 << 20, 3);
        assert!(counts[1].abs_diff(122) <= 3, "{counts:?}");
    }

    #[test]
    fn one_request_at_a_time_takes_its_latency() {
        let (_, mean_ns) = run(spec(), 1, 16384, 5);
        // The mean of a log-normal time is its median times exp(spread^2 / 2).
        assert!((mean_ns / (600_000.0 * 1.0202) - 1.0).abs() < 0.02, "{mean_ns}");
    }

    #[test]
    fn a_flush_takes_the_time_that_is_said_of_it() {
        let mut volume = Volume::new(Spec { flush_ns: 70_000, ..spec() }, Opening { seed: 1, used_bytes: 0 }).unwrap();
        volume.submit(5, 1, Command { operation: Operation::Flush, offset: 0, bytes: 0 });
        assert_eq!(volume.next_ns(), Some(70_005));
    }

    #[test]
    fn a_seed_gives_the_same_run() {
        assert_eq!(run(spec(), 4, 16384, 2), run(spec(), 4, 16384, 2));
    }

    #[test]
    fn zero_rates_and_bursts_under_the_baseline_are_refused() {
        let open = |spec| Volume::new(spec, Opening { seed: 1, used_bytes: 0 }).map(|_| ()).unwrap_err();
        let mut zero = spec();
        zero.requests.baseline_per_s = 0.0;
        assert!(open(zero).contains("iops"));
        let mut low = spec();
        low.bytes.burst_per_s = 1.0;
        assert!(open(low).contains("throughput"));
    }
}
