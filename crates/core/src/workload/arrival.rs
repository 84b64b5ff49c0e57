//! The open loop: when each request ought to start, whatever became of those before it.

use crate::seed::Rng;
use rand::Rng as _;

/// Mean time between the arrivals of one of `lanes`, which together get `rate_per_s`; 0 in a closed loop.
pub fn period_ns(lanes: u32, rate_per_s: f64) -> f64 {
    if rate_per_s > 0.0 { f64::from(lanes) / rate_per_s * 1e9 } else { 0.0 }
}

/// The arrivals of one lane.
pub struct Arrivals {
    next_ns: f64,
    period_ns: f64,
    poisson: bool,
    rng: Rng,
}

impl Arrivals {
    /// Arrivals from `begin_ns` on, every `period_ns` evenly or at random; None in a closed loop (period 0). `share`
    /// (0..1) staggers the lanes over one period.
    pub fn new(period_ns: f64, poisson: bool, share: f64, begin_ns: u64, rng: Rng) -> Option<Self> {
        if period_ns == 0.0 {
            return None;
        }
        Some(Self { next_ns: begin_ns as f64 + period_ns * share, period_ns, poisson, rng })
    }

    /// The next intended start, ns of the run's clock.
    pub fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// Takes the next intended start and moves on.
    pub fn take(&mut self) -> u64 {
        let now = self.next_ns();
        // The inverse of the exponential distribution's function; 1 - u is never 0.
        let share = if self.poisson { -libm::log(1.0 - self.rng.random::<f64>()) } else { 1.0 };
        self.next_ns += self.period_ns * share;
        now
    }
}
