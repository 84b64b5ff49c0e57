//! An interval as another process sends it: the figures of one host, to be added to those of others.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::{CpuNs, Interval, Kind, KindInterval};
use crate::histogram::{Histogram, HistogramError};

/// Everything that an interval holds. Histograms are in their interchangeable encoding, so nothing is rounded.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoded {
    start_ns: u64,
    end_ns: u64,
    kinds: Vec<EncodedKind>,
    counters: Vec<(String, u64)>,
    in_flight: u64,
    oldest_ns: u64,
    /// CPU time in user and system mode.
    cpu_ns: Option<(u64, u64)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedKind {
    name: String,
    moves_bytes: bool,
    counts: bool,
    operations: u64,
    bytes: u64,
    errors: u64,
    /// Hexadecimal; empty without latencies.
    latency: String,
}

impl Encoded {
    /// The interval again.
    ///
    /// # Errors
    /// A histogram that is none.
    pub fn decode(self) -> Result<Interval, HistogramError> {
        let reported = kept(&self.kinds);
        let kinds = self.kinds.iter().map(EncodedKind::decode).collect::<Result<_, _>>()?;
        let cpu = self.cpu_ns.map(|(user, system)| CpuNs { user, system });
        let Self { start_ns, end_ns, counters, in_flight, oldest_ns, .. } = self;
        Ok(Interval { start_ns, end_ns, reported, kinds, counters, in_flight, oldest_ns, cpu })
    }
}

impl From<&Interval> for Encoded {
    fn from(interval: &Interval) -> Self {
        let kinds = interval.reported.iter().zip(&interval.kinds).map(EncodedKind::new).collect();
        Self {
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            kinds,
            counters: interval.counters.clone(),
            in_flight: interval.in_flight,
            oldest_ns: interval.oldest_ns,
            cpu_ns: interval.cpu.map(|cpu| (cpu.user, cpu.system)),
        }
    }
}

impl EncodedKind {
    fn new((kind, own): (&Kind, &KindInterval)) -> Self {
        let bytes = if own.latency.count() > 0 { own.latency.to_v2() } else { Vec::new() };
        Self {
            name: kind.name.to_owned(),
            moves_bytes: kind.moves_bytes,
            counts: kind.counts,
            operations: own.operations,
            bytes: own.bytes,
            errors: own.errors,
            latency: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }

    fn decode(&self) -> Result<KindInterval, HistogramError> {
        let latency = if self.latency.is_empty() {
            Histogram::default()
        } else {
            let bytes = from_hex(&self.latency)
                .ok_or_else(|| HistogramError::Encoding("the bytes are not hexadecimal".into()))?;
            Histogram::from_v2(&bytes)?
        };
        Ok(KindInterval { operations: self.operations, bytes: self.bytes, errors: self.errors, latency })
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    digits.chunks(2).map(|pair| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
}

/// Kinds that came from elsewhere, kept for the life of the process: one set for each workload that it sees.
static SETS: Mutex<Vec<&'static [Kind]>> = Mutex::new(Vec::new());

fn kept(kinds: &[EncodedKind]) -> &'static [Kind] {
    let mut sets = SETS.lock().expect("nothing panics under it");
    let same = |set: &&&'static [Kind]| {
        set.len() == kinds.len()
            && set.iter().zip(kinds).all(|(one, other)| {
                (one.name, one.moves_bytes, one.counts) == (other.name.as_str(), other.moves_bytes, other.counts)
            })
    };
    if let Some(set) = sets.iter().find(same) {
        return set;
    }
    let fresh = |kind: &EncodedKind| Kind {
        name: Box::leak(kind.name.clone().into_boxed_str()),
        moves_bytes: kind.moves_bytes,
        counts: kind.counts,
    };
    let set: &'static [Kind] = Box::leak(kinds.iter().map(fresh).collect());
    sets.push(set);
    set
}

#[cfg(test)]
mod tests {
    use super::super::{Flights, Recorder};
    use super::*;
    use crate::storage;

    fn interval(latencies_ns: &[u64]) -> Interval {
        let recorder = Recorder::new(&storage::Kind::REPORTED, vec!["retries".into()], vec![Flights::new(1, 0)]);
        for latency_ns in latencies_ns {
            recorder.shard(0).lock().unwrap()[0].finished(4096, Some(*latency_ns));
        }
        recorder.shard(0).lock().unwrap()[1].failed();
        recorder.count(0, 3);
        recorder.flights(0).begin(0, 400);
        let mut interval = recorder.collect(1_000_000_000);
        interval.cpu = Some(CpuNs { user: 7, system: 8 });
        interval
    }

    fn same(one: &Interval, other: &Interval) {
        assert_eq!(one.metrics(), other.metrics());
        assert_eq!(one.reported, other.reported);
        for (own, others) in one.kinds.iter().zip(&other.kinds) {
            assert_eq!(own.latency.to_v2(), others.latency.to_v2());
            assert_eq!((own.operations, own.bytes, own.errors), (others.operations, others.bytes, others.errors));
        }
    }

    #[test]
    fn nothing_is_lost_on_the_way() {
        let sent = interval(&[1000, 2000, 987_654_321]);
        same(&sent, &Encoded::from(&sent).decode().unwrap());
        let empty = interval(&[]);
        same(&empty, &Encoded::from(&empty).decode().unwrap());
    }

    #[test]
    fn hosts_add_up_to_one_that_did_it_all() {
        let mut left = interval(&[1000, 5_000_000]);
        left.add(&interval(&[2000, 3000]));
        let mut whole = interval(&[1000, 2000, 3000, 5_000_000]);
        // Both hosts failed once, counted three retries and had one request outstanding.
        whole.kinds[1].errors = 2;
        whole.counters[0].1 = 6;
        whole.in_flight = 2;
        whole.cpu = Some(CpuNs { user: 14, system: 16 });
        same(&left, &whole);
    }

    #[test]
    fn what_follows_has_the_last_requests_outstanding() {
        let mut first = interval(&[1000]);
        let mut second = interval(&[2000]);
        (second.start_ns, second.end_ns, second.in_flight) = (first.end_ns, 3_000_000_000, 0);
        second.oldest_ns = 0;
        first.follow(&second);
        assert_eq!((first.start_ns, first.end_ns, first.in_flight), (0, 3_000_000_000, 0));
        assert_eq!(first.kinds[0].operations, 2);
        assert_eq!(first.kinds[0].latency.count(), 2);
    }

    #[test]
    fn damaged_histograms_are_an_error() {
        for damaged in ["zz", "0", "00"] {
            let mut encoded = Encoded::from(&interval(&[1000]));
            encoded.kinds[0].latency = damaged.into();
            assert!(encoded.decode().is_err(), "{damaged}");
        }
    }

    #[test]
    fn a_set_of_kinds_is_kept_once() {
        let one = Encoded::from(&interval(&[1])).decode().unwrap().reported;
        let other = Encoded::from(&interval(&[2])).decode().unwrap().reported;
        assert!(std::ptr::eq(one, other));
    }
}
