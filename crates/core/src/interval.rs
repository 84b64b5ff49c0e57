//! What is recorded while a workload runs: lanes (threads) write into shards, a ticker collects them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::histogram::Histogram;

mod encoded;
mod error_numbers;
mod flights;

pub use encoded::Encoded;
use error_numbers::{ErrorNumbers, add_counters, named};
pub use flights::{Flights, Waiting};

/// Most shards that lanes record into: enough that their locks are never contended by more than a few lanes,
/// few enough that 4,096 lanes do not hold gigabytes of histograms.
pub const SHARDS_MAX: usize = 64;

/// A kind of request (a read) or of transaction (a Payment) with figures of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name used in series.
    pub name: &'static str,
    /// Whether bytes are counted.
    pub moves_bytes: bool,
    /// Whether it is an operation of the workload, whose rate and latency count (an fsync only serves others).
    pub counts: bool,
}

/// Counts and latencies of one kind.
#[derive(Clone, Debug, Default)]
pub struct KindInterval {
    /// Requests that finished well.
    pub operations: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Latencies of those that finished well.
    pub latency: Histogram,
}

impl KindInterval {
    /// Counts a request that finished well. Without a latency only its end is counted.
    #[inline]
    pub fn finished(&mut self, bytes: u32, latency_ns: Option<u64>) {
        self.operations += 1;
        self.bytes += u64::from(bytes);
        if let Some(latency_ns) = latency_ns {
            self.latency.record_ns(latency_ns);
        }
    }

    /// Counts a request that failed.
    #[inline]
    pub fn failed(&mut self) {
        self.errors += 1;
    }

    fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.latency.merge(&other.latency);
    }

    fn take_into(&mut self, total: &mut Self) {
        total.operations += std::mem::take(&mut self.operations);
        total.bytes += std::mem::take(&mut self.bytes);
        total.errors += std::mem::take(&mut self.errors);
        if self.latency.count() > 0 {
            total.latency.merge(&self.latency);
            self.latency.clear();
        }
    }
}

/// Counts and latencies by kind.
pub type Kinds = Box<[KindInterval]>;

/// CPU time of a process, ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuNs {
    /// In its own code.
    pub user: u64,
    /// In the kernel.
    pub system: u64,
}

/// Everything that was recorded in one interval.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Start, ns of the run's clock.
    pub start_ns: u64,
    /// End, ns of the run's clock.
    pub end_ns: u64,
    /// The kinds of requests with figures.
    pub reported: &'static [Kind],
    /// The figures of each kind, in the same order.
    pub kinds: Kinds,
    /// Other counters, by name.
    pub counters: Vec<(String, u64)>,
    /// Requests outstanding (and overdue) at its end.
    pub in_flight: u64,
    /// Age of the oldest of them, ns.
    pub oldest_ns: u64,
    /// CPU time of this process in the interval, ns; None where time is virtual.
    pub cpu: Option<CpuNs>,
}

impl Interval {
    /// Adds what another host recorded in the same time.
    pub fn add(&mut self, other: &Self) {
        self.count(other);
        self.in_flight += other.in_flight;
        self.oldest_ns = self.oldest_ns.max(other.oldest_ns);
    }

    /// Adds the interval of the same host that came next.
    pub fn follow(&mut self, next: &Self) {
        self.count(next);
        self.end_ns = next.end_ns;
        (self.in_flight, self.oldest_ns) = (next.in_flight, next.oldest_ns);
    }

    fn count(&mut self, other: &Self) {
        for (own, others) in self.kinds.iter_mut().zip(&other.kinds) {
            own.add(others);
        }
        add_counters(&mut self.counters, &other.counters);
        self.cpu = match (self.cpu, other.cpu) {
            (Some(own), Some(others)) => {
                Some(CpuNs { user: own.user + others.user, system: own.system + others.system })
            }
            _ => None,
        };
    }

    /// Whether another one has the same kinds and counters, so that they can be added. Each may have errors of its own.
    pub fn is_like(&self, other: &Self) -> bool {
        self.reported == other.reported && named(&self.counters).eq(named(&other.counters))
    }
}

/// Percentiles that every interval tells, as (name, quantile).
pub const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

impl Interval {
    /// The workload's series of this interval as (metric, value). What did not happen has no latency, with one
    /// exception: when nothing at all finished and something is outstanding, its age stands for every percentile,
    /// so that a dead second is drawn as the worst one and not as the best.
    pub fn metrics(&self) -> Vec<(String, f64)> {
        let seconds = (self.end_ns - self.start_ns).max(1) as f64 / 1e9;
        let mut out = Vec::with_capacity(40);
        let mut requests = KindInterval::default();
        let moves_bytes = self.reported.iter().any(|kind| kind.moves_bytes);
        for (kind, own) in self.reported.iter().zip(&self.kinds) {
            let name = kind.name;
            if kind.counts {
                requests.operations += own.operations;
                requests.bytes += own.bytes;
                requests.latency.merge(&own.latency);
            }
            if kind.moves_bytes {
                out.push((format!("{name}_bytes_per_s"), own.bytes as f64 / seconds));
            }
            requests.errors += own.errors;
            out.push((format!("{name}_ops_per_s"), own.operations as f64 / seconds));
            push_latency(&mut out, &format!("{name}_latency"), &own.latency);
        }
        out.push(("ops_per_s".into(), requests.operations as f64 / seconds));
        if moves_bytes {
            out.push(("bytes_per_s".into(), requests.bytes as f64 / seconds));
        }
        out.push(("errors_per_s".into(), requests.errors as f64 / seconds));
        for (name, count) in &self.counters {
            out.push((format!("{name}_per_s"), *count as f64 / seconds));
        }
        out.push(("in_flight".into(), self.in_flight as f64));
        if self.in_flight > 0 {
            out.push(("oldest_in_flight_us".into(), self.oldest_ns as f64 / 1e3));
        }
        let dead = self.in_flight > 0 && self.kinds.iter().all(|kind| kind.operations == 0);
        if dead {
            requests.latency.record_ns(self.oldest_ns);
        }
        push_latency(&mut out, "latency", &requests.latency);
        if let Some(cpu) = self.cpu {
            out.push(("client_cpu_user_pct".into(), cpu.user as f64 / seconds / 1e7));
            out.push(("client_cpu_system_pct".into(), cpu.system as f64 / seconds / 1e7));
        }
        out
    }
}

fn push_latency(out: &mut Vec<(String, f64)>, prefix: &str, latency: &Histogram) {
    if latency.count() == 0 {
        return;
    }
    for (name, quantile) in PERCENTILES {
        out.push((format!("{prefix}_{name}_us"), latency.quantile_ns(quantile) as f64 / 1e3));
    }
    out.push((format!("{prefix}_max_us"), latency.max_ns() as f64 / 1e3));
}

/// Where lanes record and the ticker collects.
#[derive(Debug)]
pub struct Recorder {
    reported: &'static [Kind],
    shards: Vec<Mutex<Kinds>>,
    flights: Vec<Flights>,
    counters: Vec<(String, AtomicU64)>,
    errors: ErrorNumbers,
    collected_ns: Mutex<u64>,
}

impl Recorder {
    /// A recorder of these kinds and counters, for one `Flights` a lane.
    pub fn new(reported: &'static [Kind], counters: Vec<String>, flights: Vec<Flights>) -> Self {
        let shards = flights.len().clamp(1, SHARDS_MAX);
        Self {
            reported,
            shards: (0..shards).map(|_| Mutex::new(no_kinds(reported))).collect(),
            flights,
            counters: counters.into_iter().map(|name| (name, AtomicU64::new(0))).collect(),
            errors: ErrorNumbers::default(),
            collected_ns: Mutex::new(0),
        }
    }

    /// Adds to a counter, by its place.
    #[inline]
    pub fn count(&self, counter: usize, by: u64) {
        self.counters[counter].1.fetch_add(by, Relaxed);
    }

    /// Counts an error of a lane, and its number: it becomes a counter `error_NUMBER` of the same interval.
    ///
    /// # Panics
    /// If another thread panicked while it recorded.
    pub fn count_error(&self, lane: usize, kind: usize, number: u16) {
        let mut numbers = self.errors.lock();
        numbers.count(number);
        self.shard(lane).lock().expect("no lane panics while it records")[kind].errors += 1;
    }

    /// The outstanding requests of a lane.
    pub fn flights(&self, lane: usize) -> &Flights {
        &self.flights[lane]
    }

    /// Where a lane records; lock it once a batch.
    pub fn shard(&self, lane: usize) -> &Mutex<Kinds> {
        &self.shards[lane % self.shards.len()]
    }

    /// The first interval begins at `now_ns`. What lanes have recorded by then belongs to it: nothing is dropped.
    pub fn begin(&self, now_ns: u64) {
        *self.collected_ns.lock().expect("one ticker") = now_ns;
    }

    /// Ends an interval at `now_ns`: takes what was recorded since the last one.
    pub fn collect(&self, now_ns: u64) -> Interval {
        let mut errors = self.errors.lock();
        let mut kinds = no_kinds(self.reported);
        for shard in &self.shards {
            let mut shard = shard.lock().expect("no lane panics while it records");
            for (own, total) in shard.iter_mut().zip(kinds.iter_mut()) {
                own.take_into(total);
            }
        }
        let mut waiting = Waiting::at(now_ns);
        for flights in &self.flights {
            flights.observe(&mut waiting);
        }
        let mut collected = self.collected_ns.lock().expect("one ticker");
        let start_ns = std::mem::replace(&mut *collected, now_ns);
        let mut counters: Vec<(String, u64)> =
            self.counters.iter().map(|(name, count)| (name.clone(), count.swap(0, Relaxed))).collect();
        counters.extend(errors.take());
        drop(errors);
        let reported = self.reported;
        let (in_flight, oldest_ns) = (waiting.requests(), waiting.oldest_ns());
        Interval { start_ns, end_ns: now_ns, reported, kinds, counters, in_flight, oldest_ns, cpu: None }
    }
}

/// Counts of these kinds, all zero.
pub fn no_kinds(reported: &[Kind]) -> Kinds {
    reported.iter().map(|_| KindInterval::default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage;
    use std::collections::HashMap;

    const READ: usize = storage::Kind::Read as usize;
    const WRITE: usize = storage::Kind::Write as usize;
    const FSYNC: usize = storage::Kind::Fsync as usize;

    fn recorder(flights: Vec<Flights>) -> Recorder {
        Recorder::new(&storage::Kind::REPORTED, vec!["retries".into()], flights)
    }

    fn metrics(interval: &Interval) -> HashMap<String, f64> {
        interval.metrics().into_iter().collect()
    }

    #[test]
    fn a_dead_second_looks_dead() {
        // sysbench and tpcc_start print `95%: 0.000` for a second in which the server was stopped.
        let recorder = recorder(vec![Flights::new(2, 0)]);
        recorder.flights(0).begin(0, 500_000_000);
        let second = metrics(&recorder.collect(3_000_000_000));
        assert_eq!(second["ops_per_s"], 0.0);
        assert_eq!(second["in_flight"], 1.0);
        assert_eq!(second["oldest_in_flight_us"], 2_500_000.0);
        assert!((second["latency_p95_us"] / 2_500_000.0 - 1.0).abs() < 0.001);
        recorder.flights(0).end(0);
        let idle = metrics(&recorder.collect(4_000_000_000));
        assert!(!idle.contains_key("latency_p95_us"));
    }

    #[test]
    fn the_percentiles_of_an_interval_are_golden() {
        let recorder = recorder(vec![Flights::new(1, 0)]);
        let mut shard = recorder.shard(0).lock().unwrap();
        for latency_us in 1..=1000 {
            shard[READ].operations += 1;
            shard[READ].latency.record_ns(latency_us * 1000);
            // What only serves others is no request, however slow it is.
            shard[FSYNC].operations += 1;
            shard[FSYNC].latency.record_ns(1_000_000_000);
        }
        drop(shard);
        let told = metrics(&recorder.collect(2_000_000_000));
        assert_eq!(told["ops_per_s"], 500.0);
        for kind in ["latency", "read_latency"] {
            for (name, us) in [("p50", 500.0), ("p95", 950.0), ("p99", 990.0), ("p999", 999.0), ("max", 1000.0)] {
                let found = told[&format!("{kind}_{name}_us")];
                assert!((found / us - 1.0_f64).abs() < 0.000_9, "{kind} {name}: {found}");
            }
        }
    }

    #[test]
    fn an_overdue_arrival_counts_as_waiting() {
        let recorder = recorder(vec![Flights::new(1, 100)]);
        recorder.flights(0).intend(1_000);
        let interval = recorder.collect(2_000);
        assert_eq!((interval.in_flight, interval.oldest_ns), (11, 1_000));
        recorder.flights(0).close();
        assert_eq!(recorder.collect(3_000).in_flight, 0);
    }

    #[test]
    fn every_request_is_in_exactly_one_interval() {
        let recorder = recorder((0..100).map(|_| Flights::new(1, 0)).collect());
        recorder.shard(0).lock().unwrap()[WRITE].operations += 1;
        recorder.begin(500_000_000);
        for lane in 0..100 {
            let mut shard = recorder.shard(lane).lock().unwrap();
            shard[READ].operations += 1;
            shard[READ].latency.record_ns(lane as u64 + 1);
        }
        let first = recorder.collect(1_000_000_000);
        assert_eq!(first.start_ns, 500_000_000);
        assert_eq!(first.kinds[1].operations, 1, "what was recorded before the clock was read is not lost");
        assert_eq!(first.kinds[0].operations, 100);
        assert_eq!(first.kinds[0].latency.count(), 100);
        assert_eq!(recorder.collect(2_000_000_000).kinds[0].operations, 0);
        recorder.count(0, 3);
        assert_eq!(metrics(&recorder.collect(4_000_000_000))["retries_per_s"], 1.5);
        assert_eq!(metrics(&recorder.collect(5_000_000_000))["retries_per_s"], 0.0);
    }
}
