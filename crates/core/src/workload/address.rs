//! The address distributions: which block is requested next.

use rand::Rng as _;
use rand::distr::Distribution as _;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::seed::Rng;

/// How random addresses are spread.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Distribution {
    /// All blocks with the same probability.
    Uniform,
    /// The block of rank k is requested in proportion to 1 / k^theta (Zipf 1949; Hörmann and Derflinger 1996 to draw
    /// it).
    Zipf {
        /// The exponent, over 0.
        theta: f64,
    },
    /// A share `h` of the blocks gets a share 1 - h of the requests, at every scale (the power rule that sysbench and
    /// fio call pareto; h = 0.2 is the 80/20 rule).
    Pareto {
        /// Share of the blocks, between 0 and 1; 0.5 is uniform.
        h: f64,
    },
    /// The first `data_pct` % of the blocks gets `access_pct` % of the requests, evenly inside and outside.
    Hotspot {
        /// Share of requests, %.
        access_pct: f64,
        /// Share of blocks, %.
        data_pct: f64,
    },
}

/// Draws blocks 0..n by a distribution.
#[derive(Clone, Debug)]
pub struct Addresses {
    n: u64,
    draw: Draw,
    /// Multiplier that scatters hot ranks over the whole space (coprime with n, so each block is one rank's).
    scatter: u64,
}

#[derive(Clone, Debug)]
enum Draw {
    Uniform,
    Zipf(rand_distr::Zipf<f64>),
    Pareto { power: f64 },
    Hotspot { access: f64, hot: u64 },
}

impl Addresses {
    /// Addresses over `n` blocks (at least 1).
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn new(distribution: Distribution, n: u64) -> Result<Self, String> {
        if n == 0 {
            return Err("there is no block to address".into());
        }
        let draw = match distribution {
            Distribution::Uniform => Draw::Uniform,
            Distribution::Zipf { theta } => {
                Draw::Zipf(rand_distr::Zipf::new(n as f64, theta).map_err(|error| format!("zipf_theta: {error}"))?)
            }
            Distribution::Pareto { h } if h > 0.0 && h < 1.0 => {
                Draw::Pareto { power: libm::log(h) / libm::log(1.0 - h) }
            }
            Distribution::Pareto { .. } => return Err("pareto_h must be between 0 and 1".into()),
            Distribution::Hotspot { access_pct, data_pct } => {
                if !(0.0..=100.0).contains(&access_pct) || !(0.0..=100.0).contains(&data_pct) {
                    return Err("hotspot percentages must be between 0 and 100".into());
                }
                let hot = ((n as f64 * data_pct / 100.0).round() as u64).clamp(1, n);
                Draw::Hotspot { access: access_pct / 100.0, hot }
            }
        };
        Ok(Self { n, draw, scatter: coprime_near_golden(n) })
    }

    /// The next block.
    #[inline]
    pub fn next(&self, rng: &mut Rng) -> u64 {
        let last = self.n - 1;
        match &self.draw {
            Draw::Uniform => rng.random_range(0..self.n),
            Draw::Zipf(zipf) => self.scattered((zipf.sample(rng) as u64).saturating_sub(1).min(last)),
            Draw::Pareto { power } => {
                let share = libm::pow(rng.random::<f64>(), *power);
                self.scattered(((share * self.n as f64) as u64).min(last))
            }
            Draw::Hotspot { access, hot } => {
                if *hot == self.n || rng.random::<f64>() < *access {
                    rng.random_range(0..*hot)
                } else {
                    rng.random_range(*hot..self.n)
                }
            }
        }
    }

    fn scattered(&self, rank: u64) -> u64 {
        (u128::from(rank) * u128::from(self.scatter) % u128::from(self.n)) as u64
    }
}

/// The number nearest above n / golden ratio that shares no factor with n: its multiples modulo n are a permutation
/// in which neighbours land far apart (Knuth, TAOCP 3, 6.4).
pub(crate) fn coprime_near_golden(n: u64) -> u64 {
    let mut candidate = ((n as f64 * 0.618_033_988_749_895) as u64).max(1);
    while gcd(candidate, n) != 1 {
        candidate += 1;
    }
    candidate
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::stream;
    use proptest::prelude::*;

    fn counts(distribution: Distribution, n: u64, draws: u64) -> Vec<u64> {
        let addresses = Addresses::new(distribution, n).unwrap();
        let mut rng = stream(11, "test", 0);
        let mut counts = vec![0; n as usize];
        for _ in 0..draws {
            counts[addresses.next(&mut rng) as usize] += 1;
        }
        counts
    }

    #[test]
    fn uniform_reaches_all_alike() {
        let counts = counts(Distribution::Uniform, 100, 200_000);
        assert!(counts.iter().all(|count| (1_700..2_300).contains(count)), "{counts:?}");
    }

    #[test]
    fn zipf_follows_its_law() {
        let mut counts = counts(Distribution::Zipf { theta: 1.0 }, 1000, 400_000);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let ratio = counts[0] as f64 / counts[9] as f64;
        assert!((9.0..11.0).contains(&ratio), "rank 1 over rank 10 is {ratio}, not 10");
    }

    #[test]
    fn pareto_gives_80_percent_to_20_percent() {
        let mut counts = counts(Distribution::Pareto { h: 0.2 }, 1000, 400_000);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hot: u64 = counts[..200].iter().sum();
        let share = hot as f64 / 400_000.0;
        assert!((0.78..0.82).contains(&share), "the hottest fifth got {share}");
    }

    #[test]
    fn hotspot_is_the_first_blocks() {
        let counts = counts(Distribution::Hotspot { access_pct: 90.0, data_pct: 10.0 }, 100, 100_000);
        let hot: u64 = counts[..10].iter().sum();
        assert!((89_000..91_000).contains(&hot), "{hot}");
    }

    proptest! {
        #[test]
        fn scattering_is_a_permutation(n in 1u64..5_000) {
            let addresses = Addresses::new(Distribution::Uniform, n).unwrap();
            let mut seen: Vec<u64> = (0..n).map(|rank| addresses.scattered(rank)).collect();
            seen.sort_unstable();
            prop_assert!(seen.into_iter().eq(0..n));
        }

        #[test]
        fn never_outside(n in 1u64..1_000_000_000_000, seed: u64, theta in 0.01f64..5.0, h in 0.01f64..0.5) {
            let mut rng = stream(seed, "test", 0);
            for distribution in [Distribution::Zipf { theta }, Distribution::Pareto { h }, Distribution::Uniform,
                                 Distribution::Hotspot { access_pct: 80.0, data_pct: 0.0 }] {
                let addresses = Addresses::new(distribution, n).unwrap();
                for _ in 0..20 {
                    prop_assert!(addresses.next(&mut rng) < n);
                }
            }
        }
    }
}
