//! The open loop: when each request ought to start, whatever became of those before it.

use flatwater_core::seed::Rng;
use rand::Rng as _;

use super::Spec;

/// The arrivals of one lane.
pub(super) struct Arrivals {
    next_ns: f64,
    period_ns: f64,
    poisson: bool,
    rng: Rng,
}

impl Arrivals {
    /// Mean time between the arrivals of one lane; 0 in a closed loop.
    pub(super) fn period_ns(spec: &Spec) -> f64 {
        if spec.rate_per_s > 0.0 { f64::from(spec.threads) / spec.rate_per_s * 1e9 } else { 0.0 }
    }

    /// Arrivals from `begin_ns` on; None in a closed loop. Lanes are staggered over one period.
    pub(super) fn new(spec: &Spec, lane: usize, begin_ns: u64, rng: Rng) -> Option<Self> {
        let period_ns = Self::period_ns(spec);
        if period_ns == 0.0 {
            return None;
        }
        let next_ns = begin_ns as f64 + period_ns * lane as f64 / f64::from(spec.threads);
        Some(Self { next_ns, period_ns, poisson: spec.poisson, rng })
    }

    /// The next intended start, ns of the run's clock.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// Takes the next intended start and moves on.
    pub(super) fn take(&mut self) -> u64 {
        let now = self.next_ns();
        // The inverse of the exponential distribution's function; 1 - u is never 0.
        let share = if self.poisson { -(1.0 - self.rng.random::<f64>()).ln() } else { 1.0 };
        self.next_ns += self.period_ns * share;
        now
    }
}
