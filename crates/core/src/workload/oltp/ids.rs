//! sysbench's distributions of ids: which row is requested next.

use rand::Rng as _;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::seed::Rng;

/// How ids are spread over 1..=rows, with sysbench's parameters. The shapes are sysbench 1.0.20's to the last row,
/// oddities too, apart from `Zipfian`, which only its next version has.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Distribution {
    /// All ids with the same probability.
    Uniform,
    /// The mean of some uniform numbers: a bell around the middle id. With 12 of them, its standard deviation is a
    /// twelfth of the ids, and the 1 % in the middle get 4.7 %.
    Gaussian {
        /// How many uniform numbers (--rand-spec-iter, 12).
        iterations: u32,
    },
    /// sysbench's default. `res` % of the draws go evenly to a strip near the middle, the others to `Gaussian`. The
    /// strip ought to be `pct` % of the ids, but the number that chooses between the two also places the id, so that
    /// only the strip's upper `res` % are drawn: with the usual parameters 75 % of the draws go to 0.75 % of the ids.
    Special {
        /// --rand-spec-iter, 12.
        iterations: u32,
        /// Width of the strip, % of the ids (--rand-spec-pct, 1).
        pct: f64,
        /// Share of the draws that go there, % (--rand-spec-res, 75).
        res: f64,
    },
    /// The lowest ids are the hottest: a share `h` of them gets a share 1 - h of the draws, at every scale. With 0.2,
    /// the first 1 % get 52.8 %.
    Pareto {
        /// --rand-pareto-h, 0.2.
        h: f64,
    },
    /// Id n in proportion to 1 / n^exponent. With 0.8 and a million rows, the first 1 % get 36 %.
    Zipfian {
        /// --rand-zipfian-exp, 0.8.
        exponent: f64,
    },
}

impl Distribution {
    /// Whether its parameters are in range.
    ///
    /// # Errors
    /// The parameter, one line.
    pub fn validate(&self) -> Result<(), String> {
        let good = match *self {
            Self::Uniform => Ok(()),
            Self::Gaussian { iterations } | Self::Special { iterations, .. } if iterations == 0 => {
                Err("spec_iter must be at least 1")
            }
            Self::Gaussian { .. } => Ok(()),
            Self::Special { pct, .. } if !(0.0..=100.0).contains(&pct) => Err("spec_pct must be between 0 and 100"),
            Self::Special { res, .. } if !(0.0..=100.0).contains(&res) => Err("spec_res must be between 0 and 100"),
            Self::Special { .. } => Ok(()),
            Self::Pareto { h } if h > 0.0 && h < 1.0 => Ok(()),
            Self::Pareto { .. } => Err("pareto_h must be over 0 and under 1"),
            Self::Zipfian { exponent } if exponent >= 0.0 && exponent.is_finite() => Ok(()),
            Self::Zipfian { .. } => Err("zipfian_exp must be at least 0"),
        };
        good.map_err(|what| format!("workload.{what}"))
    }
}

/// Draws ids from 1..=rows.
#[derive(Clone, Debug)]
pub struct Ids {
    rows: u64,
    shape: Shape,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Uniform,
    Gaussian { iterations: u32 },
    Special { iterations: u32, bell: f64, strip_from: f64, strip_width: f64 },
    Pareto { power: f64 },
    Zipfian(Zipfian),
}

impl Ids {
    /// Ids from 1..=rows (at least one). Parameters that `Distribution::validate` refuses give some id of the range.
    pub fn new(distribution: Distribution, rows: u64) -> Self {
        let rows = rows.max(1);
        let shape = match distribution {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Gaussian { iterations } => Shape::Gaussian { iterations: iterations.max(1) },
            Distribution::Special { iterations, pct, res } => {
                let span = (rows - 1) as f64;
                let width = span * pct / 100.0;
                Shape::Special {
                    iterations: iterations.max(1),
                    bell: (100.0 - res) / 100.0,
                    strip_from: span / 2.0 - width / 2.0,
                    strip_width: width + 1.0,
                }
            }
            Distribution::Pareto { h } => Shape::Pareto { power: h.ln() / (1.0 - h).ln() },
            Distribution::Zipfian { exponent } => Shape::Zipfian(Zipfian::new(exponent, rows)),
        };
        Self { rows, shape }
    }

    /// The next id.
    #[inline]
    pub fn next(&self, rng: &mut Rng) -> u64 {
        let rows = self.rows as f64;
        let before = match self.shape {
            Shape::Uniform => rng.random::<f64>() * rows,
            Shape::Gaussian { iterations } => mean(rng, iterations) * rows,
            Shape::Special { iterations, bell, strip_from, strip_width } => {
                let place = rng.random::<f64>();
                if place < bell { mean(rng, iterations) * (rows - 1.0) } else { strip_from + place * strip_width }
            }
            Shape::Pareto { power } => rng.random::<f64>().powf(power) * rows,
            Shape::Zipfian(zipfian) => return zipfian.next(rng),
        };
        (before as u64).min(self.rows - 1) + 1
    }
}

/// The mean of some uniform numbers.
#[inline]
fn mean(rng: &mut Rng, iterations: u32) -> f64 {
    (0..iterations).map(|_| rng.random::<f64>()).sum::<f64>() / f64::from(iterations)
}

/// Rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6.3, 1996, algorithm ZRI with v = 0): draws from a
/// continuous hat over the law, whose integral H can be inverted, and rejects what the steps under it do not cover.
#[derive(Clone, Copy, Debug)]
struct Zipfian {
    rows: f64,
    exponent: f64,
    /// H at the hat's beginning, where the first step's whole area is under it.
    from: f64,
    /// H at its end.
    to: f64,
    /// Points this near above a step's middle need no test.
    sure: f64,
}

impl Zipfian {
    fn new(exponent: f64, rows: u64) -> Self {
        let exponent = if exponent.is_finite() { exponent.max(0.0) } else { 0.0 };
        let mut zipfian = Self { rows: rows as f64, exponent, from: 0.0, to: 0.0, sure: 0.0 };
        zipfian.from = zipfian.integral(1.5) - 1.0;
        zipfian.to = zipfian.integral(zipfian.rows + 0.5);
        zipfian.sure = 2.0 - zipfian.inverse(zipfian.integral(2.5) - zipfian.law(2.0));
        zipfian
    }

    fn next(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.to + rng.random::<f64>() * (self.from - self.to);
            let point = self.inverse(area);
            let id = (point + 0.5).floor().clamp(1.0, self.rows);
            if id - point <= self.sure || area >= self.integral(id + 0.5) - self.law(id) {
                return id as u64;
            }
        }
    }

    /// x^-exponent.
    fn law(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// H(x) = (x^(1 - exponent) - 1) / (1 - exponent), the law's integral from 1; ln x where the exponent is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let grown = (1.0 - self.exponent) * log;
        if grown.abs() > NEAR_ZERO { grown.exp_m1() / grown * log } else { (1.0 + grown / 2.0) * log }
    }

    /// The x whose H is this.
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may take it below -1, where the logarithm ends.
        let grown = ((1.0 - self.exponent) * area).max(-1.0);
        let log = if grown.abs() > NEAR_ZERO { grown.ln_1p() / grown * area } else { (1.0 - grown / 2.0) * area };
        log.exp()
    }
}

/// Below this, two terms of a series are exact to a double's last bit (the third is under 1e-16).
const NEAR_ZERO: f64 = 1e-8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::stream;
    use proptest::prelude::*;

    const ROWS: u64 = 10_000;
    const DRAWS: u64 = 400_000;
    const SPECIAL: Distribution = Distribution::Special { iterations: 12, pct: 1.0, res: 75.0 };
    const GAUSSIAN: Distribution = Distribution::Gaussian { iterations: 12 };
    const PARETO: Distribution = Distribution::Pareto { h: 0.2 };
    const ZIPFIAN: Distribution = Distribution::Zipfian { exponent: 0.8 };

    fn counts(distribution: Distribution) -> Vec<u64> {
        let ids = Ids::new(distribution, ROWS);
        let mut rng = stream(17, "test", 0);
        let mut counts = vec![0; ROWS as usize];
        for _ in 0..DRAWS {
            counts[ids.next(&mut rng) as usize - 1] += 1;
        }
        counts
    }

    /// Chance that the mean of 12 uniform numbers is below `x` (Irwin 1927, Hall 1927).
    fn bell_below(x: f64) -> f64 {
        if x > 0.5 {
            return 1.0 - bell_below(1.0 - x);
        }
        let (mut sum, mut choose) = (0.0, 1.0);
        for k in 0..12 {
            let left = 12.0 * x - f64::from(k);
            if left <= 0.0 {
                break;
            }
            sum += if k % 2 == 0 { choose } else { -choose } * left.powi(12);
            choose = choose * f64::from(12 - k) / f64::from(k + 1);
        }
        sum / 479_001_600.0
    }

    /// Chance that an id is at most `id`, computed from the law and not from draws.
    fn at_most(distribution: Distribution, id: f64) -> f64 {
        let rows = ROWS as f64;
        match distribution {
            Distribution::Uniform => id / rows,
            Distribution::Gaussian { .. } => bell_below(id / rows),
            Distribution::Special { .. } => {
                // The strip: 1 % of the ids and one more around the middle, of which the first quarter is left out.
                let span = rows - 1.0;
                let width = span / 100.0 + 1.0;
                let from = span / 2.0 - span / 200.0 + 0.25 * width;
                0.25 * bell_below((id / span).min(1.0)) + 0.75 * ((id - from) / (0.75 * width)).clamp(0.0, 1.0)
            }
            Distribution::Pareto { h } => (id / rows).powf((1.0 - h).ln() / h.ln()),
            Distribution::Zipfian { exponent } => {
                let sum = |to: u64| (1..=to).map(|n| (n as f64).powf(-exponent)).sum::<f64>();
                sum(id as u64) / sum(ROWS)
            }
        }
    }

    fn piece(counts: &[u64], pieces: usize, index: usize) -> u64 {
        let size = counts.len() / pieces;
        counts[index * size..(index + 1) * size].iter().sum()
    }

    #[test]
    fn every_distribution_follows_its_law() {
        for distribution in
            [Distribution::Uniform, SPECIAL, GAUSSIAN, PARETO, ZIPFIAN, Distribution::Zipfian { exponent: 1.0 }]
        {
            let counts = counts(distribution);
            // Chi-square over 100 pieces and over single ids, the first and the middle ones; what expects few draws is
            // left out.
            let pieces = (0..100).map(|piece| (piece * 100, piece * 100 + 100));
            let ids = (0..100).chain(4_970..5_060).map(|id| (id, id + 1));
            let (mut chi, mut freedom) = (0.0, 0.0);
            for (from, to) in pieces.chain(ids) {
                let share = at_most(distribution, to as f64) - at_most(distribution, from as f64);
                let expected = share * DRAWS as f64;
                if expected > 10.0 {
                    let seen = counts[from..to].iter().sum::<u64>() as f64;
                    chi += (seen - expected).powi(2) / expected;
                    freedom += 1.0;
                }
            }
            // Mean and five standard deviations of chi-square.
            let most = freedom + 5.0 * f64::sqrt(2.0 * freedom);
            assert!(chi < most, "{distribution:?}: chi-square {chi:.0} of {freedom}");
        }
    }

    /// Shares of 20 equal pieces of 1..=10000, drawn 10^7 times with sysbench 1.0.20 itself (`sysbench.rand.default`
    /// in a script of its own, --rand-seed=5); zipfian with the formula of its master branch.
    #[test]
    fn shapes_are_sysbenchs() {
        const DRAWN_THERE: f64 = 1e7;
        #[rustfmt::skip]
        let shapes = [
            (Distribution::Uniform, [
                0.05002, 0.04998, 0.04994, 0.05003, 0.05001, 0.05000, 0.04987, 0.05003, 0.05011, 0.04998,
                0.04999, 0.04997, 0.04998, 0.04995, 0.05006, 0.04998, 0.04992, 0.05008, 0.05000, 0.05009,
            ]),
            (SPECIAL, [
                0.00000, 0.00000, 0.00000, 0.00002, 0.00024, 0.00163, 0.00706, 0.02018, 0.03987, 0.30596,
                0.55586, 0.03998, 0.02025, 0.00708, 0.00163, 0.00024, 0.00002, 0.00000, 0.00000, 0.00000,
            ]),
            (PARETO, [
                0.66001, 0.06656, 0.04214, 0.03120, 0.02509, 0.02112, 0.01828, 0.01617, 0.01453, 0.01322,
                0.01206, 0.01119, 0.01038, 0.00971, 0.00915, 0.00863, 0.00825, 0.00781, 0.00740, 0.00712,
            ]),
            (GAUSSIAN, [
                0.00000, 0.00000, 0.00000, 0.00007, 0.00094, 0.00652, 0.02820, 0.08084, 0.15976, 0.22361,
                0.22365, 0.15989, 0.08066, 0.02834, 0.00652, 0.00092, 0.00007, 0.00000, 0.00000, 0.00000,
            ]),
            (ZIPFIAN, [
                0.47535, 0.09506, 0.06204, 0.04725, 0.03848, 0.03277, 0.02862, 0.02545, 0.02316, 0.02120,
                0.01955, 0.01812, 0.01694, 0.01596, 0.01506, 0.01426, 0.01360, 0.01292, 0.01232, 0.01189,
            ]),
        ];
        for (distribution, shares) in shapes {
            let counts = counts(distribution);
            for (index, theirs) in shares.into_iter().enumerate() {
                let ours = piece(&counts, 20, index) as f64 / DRAWS as f64;
                // Five standard deviations of both draws, and the rounding of what is written above.
                let most = 5.0 * f64::sqrt(theirs * (1.0 / DRAWS as f64 + 1.0 / DRAWN_THERE)) + 2e-5;
                assert!((ours - theirs).abs() < most, "{distribution:?}, piece {index}: {ours:.5}, not {theirs}");
            }
        }
    }

    /// What the hottest 1 % of 10,000 rows get, as sysbench draws it: uniform 1.00 %, special 75.71 % and gaussian
    /// 4.73 % (ids 4951 to 5050), pareto 52.80 % and zipfian 29.98 % (ids 1 to 100).
    #[test]
    fn the_hottest_percent_is_as_hot_as_sysbenchs() {
        for (distribution, place, share) in [
            (Distribution::Uniform, 4_950, 0.00998),
            (SPECIAL, 4_950, 0.75713),
            (GAUSSIAN, 4_950, 0.04729),
            (PARETO, 0, 0.52804),
            (ZIPFIAN, 0, 0.29979),
        ] {
            let hot = counts(distribution)[place..place + 100].iter().sum::<u64>() as f64 / DRAWS as f64;
            assert!((hot - share).abs() < 5.0 * f64::sqrt(share / DRAWS as f64), "{distribution:?}: {hot:.5}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        for (distribution, name) in [
            (Distribution::Gaussian { iterations: 0 }, "spec_iter"),
            (Distribution::Special { iterations: 0, pct: 1.0, res: 75.0 }, "spec_iter"),
            (Distribution::Special { iterations: 12, pct: 101.0, res: 75.0 }, "spec_pct"),
            (Distribution::Special { iterations: 12, pct: 1.0, res: f64::NAN }, "spec_res"),
            (Distribution::Pareto { h: 1.0 }, "pareto_h"),
            (Distribution::Zipfian { exponent: -0.1 }, "zipfian_exp"),
        ] {
            assert!(distribution.validate().unwrap_err().contains(name), "{distribution:?}");
        }
        for distribution in [Distribution::Uniform, SPECIAL, GAUSSIAN, PARETO, ZIPFIAN] {
            distribution.validate().unwrap();
        }
    }

    proptest! {
        #[test]
        fn never_outside(
            rows in 1u64..=2_147_483_647, seed: u64, exponent in 0.0f64..5.0, h in 0.01f64..0.99,
            pct in 0.0f64..=100.0, res in 0.0f64..=100.0, iterations in 1u32..20,
        ) {
            let mut rng = stream(seed, "test", 0);
            for distribution in [
                Distribution::Uniform, Distribution::Gaussian { iterations }, Distribution::Pareto { h },
                Distribution::Special { iterations, pct, res }, Distribution::Zipfian { exponent },
            ] {
                for rows in [rows, rows % 3 + 1] {
                    let ids = Ids::new(distribution, rows);
                    for _ in 0..20 {
                        prop_assert!((1..=rows).contains(&ids.next(&mut rng)));
                    }
                }
            }
        }
    }
}
