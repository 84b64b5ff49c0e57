//! Latency histograms: HdrHistogram in nanoseconds, three significant digits, mergeable over
//! intervals, threads and hosts, stored in the interchangeable V2+DEFLATE encoding.

use std::io::Cursor;

use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// Digits kept of every value: an error of at most 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;
/// Largest encoded histogram that is decoded (a full-range one is 500 KiB before compression).
const ENCODED_BYTES_MAX: usize = 4 << 20;

/// What is wrong with bytes that should be a histogram.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// The bytes are not a V2 histogram.
    #[error("not an HdrHistogram in V2+DEFLATE encoding: {0}")]
    Encoding(String),
}

/// Counts of latencies.
#[derive(Clone, Debug)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

impl Default for Histogram {
    fn default() -> Self {
        Self(hdrhistogram::Histogram::new(SIGNIFICANT_DIGITS).expect("three digits are valid"))
    }
}

impl Histogram {
    /// Counts one latency. 0 ns counts as 1 ns, the smallest value of the histogram.
    #[inline]
    pub fn record_ns(&mut self, value_ns: u64) {
        self.record_n_ns(value_ns, 1);
    }

    /// Counts one latency `count` times.
    pub fn record_n_ns(&mut self, value_ns: u64, count: u64) {
        // Clamped to an hour, over which nothing is told apart; the histogram grows to what it sees.
        let _ = self.0.record_n(value_ns.clamp(1, 3_600_000_000_000), count);
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Self) {
        let _ = self.0.add(&other.0);
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0.reset();
        }
    }

    /// Latencies counted.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency that a share `quantile` (0..=1) of requests did not exceed; 0 when empty.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        if self.0.is_empty() {
            return 0;
        }
        // Never above the largest one seen: the top of its bucket can be.
        self.0.value_at_quantile(quantile).min(self.max_ns())
    }

    /// The largest latency, to the histogram's three digits; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.0.max()
    }

    /// Non-empty buckets as (highest value of the bucket in ns, count).
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_since_last_iteration())).collect()
    }

    /// The interchangeable encoding.
    pub fn to_v2(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.0, &mut bytes).expect("writing to memory does not fail");
        bytes
    }

    /// Reads the interchangeable encoding.
    pub fn from_v2(bytes: &[u8]) -> Result<Self, HistogramError> {
        if bytes.len() > ENCODED_BYTES_MAX {
            return Err(HistogramError::Encoding(format!("{} bytes are too many", bytes.len())));
        }
        let mut histogram: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut Cursor::new(bytes))
            .map_err(|error| HistogramError::Encoding(error.to_string()))?;
        // What was read has a fixed range, and would refuse to add larger latencies.
        histogram.auto(true);
        Ok(Self(histogram))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_told_under_a_nanosecond_but_everything_above() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 400, 900] {
            histogram.record_ns(value);
        }
        assert_eq!(histogram.quantile_ns(0.75), 400);
        assert_eq!(histogram.max_ns(), 900);
    }

    #[test]
    fn quantiles_are_golden() {
        // Latencies of 1, 2, ... 1000 us, once each: the p-th percentile is 10 p us, to three digits.
        let mut histogram = Histogram::default();
        for latency_us in 1..=1000 {
            histogram.record_ns(latency_us * 1000);
        }
        for (quantile, latency_us) in [(0.5, 500.0), (0.9, 900.0), (0.95, 950.0), (0.99, 990.0), (0.999, 999.0)] {
            let found_us = histogram.quantile_ns(quantile) as f64 / 1000.0;
            assert!((found_us / latency_us - 1.0).abs() < 0.000_9, "{quantile}: {found_us}");
        }
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        assert!(Histogram::from_v2(b"not a histogram").is_err());
        let mut bytes = Histogram::default().to_v2();
        bytes.truncate(bytes.len() / 2);
        assert!(Histogram::from_v2(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn survives_encoding_and_merging(values in prop::collection::vec(1u64..10_000_000_000, 1..200)) {
            let mut whole = Histogram::default();
            let (mut left, mut right) = (Histogram::default(), Histogram::default());
            for (index, value) in values.iter().enumerate() {
                whole.record_ns(*value);
                if index % 2 == 0 { left.record_ns(*value) } else { right.record_ns(*value) }
            }
            // Also what was read grows to what is added.
            let mut read = Histogram::from_v2(&left.to_v2()).unwrap();
            read.merge(&right);
            prop_assert_eq!(read.buckets(), whole.buckets());
            left.merge(&Histogram::from_v2(&right.to_v2()).unwrap());
            prop_assert_eq!(left.buckets(), whole.buckets());
            let exact = *values.iter().max().unwrap() as f64;
            prop_assert!((whole.max_ns() as f64 / exact - 1.0).abs() < 0.001);
        }
    }
}
