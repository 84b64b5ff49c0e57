//! The open loop: the intended start of each request, independent of the requests before it.

use crate::seed::Rng;
use crate::trace::replay::Cursor;
use rand::Rng as _;

/// Mean time between the arrivals of one of `lanes`, which together get `rate_per_s`; 0 in a closed loop.
pub fn period_ns(lanes: u32, rate_per_s: f64) -> f64 {
    if rate_per_s > 0.0 { f64::from(lanes) / rate_per_s * 1e9 } else { 0.0 }
}

/// The arrivals of one lane.
pub struct Arrivals(When);

enum When {
    Rate {
        next_ns: f64,
        period_ns: f64,
        poisson: bool,
        rng: Rng,
    },
    /// At their recorded times.
    Replay(Cursor),
}

impl Arrivals {
    /// Arrivals from `begin_ns` on, every `period_ns` evenly or at random; None in a closed loop (period 0). `share`
    /// (0..1) staggers the lanes over one period.
    pub fn new(period_ns: f64, poisson: bool, share: f64, begin_ns: u64, rng: Rng) -> Option<Self> {
        if period_ns == 0.0 {
            return None;
        }
        Some(Self(When::Rate { next_ns: begin_ns as f64 + period_ns * share, period_ns, poisson, rng }))
    }

    /// The arrivals of a lane that replays a trace, from `begin_ns` on; None when it does not wait for them.
    pub fn replayed(cursor: &Cursor, begin_ns: u64) -> Option<Self> {
        cursor.begin(begin_ns);
        (!cursor.is_closed_loop()).then(|| Self(When::Replay(cursor.clone())))
    }

    /// The next intended start, ns of the run's clock.
    pub fn next_ns(&self) -> u64 {
        match &self.0 {
            When::Rate { next_ns, .. } => *next_ns as u64,
            When::Replay(cursor) => cursor.next_ns(),
        }
    }

    /// Takes the next intended start. In a replay the request was taken just before, and its time with it.
    pub fn take(&mut self) -> u64 {
        match &mut self.0 {
            When::Rate { next_ns, period_ns, poisson, rng } => {
                let now = *next_ns as u64;
                // The inverse of the exponential distribution's function; 1 - u is never 0.
                let share = if *poisson { -libm::log(1.0 - rng.random::<f64>()) } else { 1.0 };
                *next_ns += *period_ns * share;
                now
            }
            When::Replay(cursor) => cursor.taken_ns(),
        }
    }
}
