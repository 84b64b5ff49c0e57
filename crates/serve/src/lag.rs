//! How much later than in the model answers were sent. It says whether an emulation can be trusted.

use flatwater_core::histogram::Histogram;

/// An answer is late if it is behind by more than this share of the time that the request takes in the model ...
pub const LATE_SHARE: f64 = 0.05;
/// ... and by more than this, which is about the time to wake a thread.
pub const LATE_NS: u64 = 50_000;
/// If a larger share of the answers was late, the emulation could not keep up. Its median may still be right, but its 95th
/// percentile is that of the machine and not that of the model.
pub const KEPT_UP_SHARE: f64 = 0.05;

/// Lags of the answers of some time.
#[derive(Clone, Debug, Default)]
pub struct Lag {
    behind: Histogram,
    late: u64,
}

impl Lag {
    /// Counts an answer that the model gave after `latency_ns` and that went out `behind_ns` later than that.
    pub fn record(&mut self, latency_ns: u64, behind_ns: u64) {
        self.behind.record_ns(behind_ns);
        self.late += u64::from(behind_ns > LATE_NS.max((latency_ns as f64 * LATE_SHARE) as u64));
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        self.behind.merge(&other.behind);
        self.late += other.late;
    }

    /// Answers counted.
    pub fn answers(&self) -> u64 {
        self.behind.count()
    }

    /// Share of the answers that were late, 0..=1; 0 when there are none.
    pub fn late_share(&self) -> f64 {
        if self.answers() == 0 { 0.0 } else { self.late as f64 / self.answers() as f64 }
    }

    /// Whether so few answers were late that the emulation can be trusted.
    pub fn kept_up(&self) -> bool {
        self.late_share() <= KEPT_UP_SHARE
    }

    /// The series (name without its layer, value); none without answers.
    pub fn series(&self) -> Vec<(String, f64)> {
        if self.answers() == 0 {
            return Vec::new();
        }
        let us = |ns: u64| ns as f64 / 1e3;
        [
            ("lag_p50_us", us(self.behind.quantile_ns(0.5))),
            ("lag_p95_us", us(self.behind.quantile_ns(0.95))),
            ("lag_p99_us", us(self.behind.quantile_ns(0.99))),
            ("lag_max_us", us(self.behind.max_ns())),
            ("lag_late_pct", self.late_share() * 100.0),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_is_what_is_behind_by_more_than_a_wake_up_and_a_share_of_the_latency() {
        let mut lag = Lag::default();
        lag.record(100_000, 50_000); // a wake-up behind
        lag.record(10_000_000, 500_000); // 5 % of 10 ms
        assert_eq!(lag.late_share(), 0.0);
        lag.record(100_000, 50_001);
        lag.record(10_000_000, 500_001);
        assert_eq!(lag.late_share(), 0.5);
        assert!(!lag.kept_up());
    }

    #[test]
    fn lags_of_two_times_add_up() {
        let (mut one, mut other) = (Lag::default(), Lag::default());
        (0..19).for_each(|_| one.record(0, 0));
        other.record(0, 60_000);
        one.merge(&other);
        assert_eq!((one.answers(), one.late_share()), (20, 0.05));
        assert!(one.kept_up());
        assert_eq!(Lag::default().series(), []);
    }
}
