//! Write amplification of uniform random writes in theory, and the state that it comes from.
//!
//! A device has many units, and each write goes to a logical page that is drawn at random. Then the valid pages of units
//! have a stationary distribution (a mean field). u is the valid share of the *usable* pages, which are those outside the
//! collector's reserve and the open frontiers.
//!
//! Sources: Desnoyers, "Analytic modeling of SSD write performance" (SYSTOR 2012), and Xiang and Kurkoski (2012) for FIFO;
//! Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based SSDs" (SIGMETRICS 2013) for
//! d choices, of which random is d = 1 and greedy the limit; greedy and cost-benefit are worked out below.

use super::victims::Policy;

/// Steps of a bisection. After 60 steps a double has no bits left.
const BISECTIONS: u32 = 60;

/// Flash pages programmed for each page that the host writes at random, at utilisation `u` (0 < u < 1) of the usable
/// pages. At least 1.
pub fn write_amplification(policy: Policy, u: f64, pages_per_unit: u32) -> f64 {
    match policy {
        Policy::Fifo => fifo_amplification(u),
        // These two have closed forms. The general way gives the same.
        Policy::Random => 1.0 / (1.0 - u),
        _ => stationary(policy, u, pages_per_unit).amplification,
    }
}

/// The state that uniform random writes lead to.
#[derive(Clone, Debug, PartialEq)]
pub struct Stationary {
    /// By number of valid pages, 0 to B: the share of closed units that have that many.
    pub shares: Vec<f64>,
    /// By number of valid pages: how long a unit may stay unchanged before it is collected, in units of the time in
    /// which the host writes as many pages as are valid. Empty if the policy uses no age.
    pub patience: Vec<f64>,
    /// Flash pages programmed for each of the host's.
    pub amplification: f64,
}

/// The state that uniform random writes at utilisation `u` (0 < u < 1) lead to.
pub fn stationary(policy: Policy, u: f64, pages_per_unit: u32) -> Stationary {
    match policy {
        Policy::Greedy => greedy(u, pages_per_unit),
        Policy::Fifo => fifo(u, pages_per_unit),
        Policy::Random => d_choices(1, u, pages_per_unit),
        Policy::DChoices { choices } => d_choices(choices, u, pages_per_unit),
        Policy::CostBenefit => cost_benefit(u, pages_per_unit),
    }
}

/// Lambert's W on its main branch, for x from -1/e to 0: the w >= -1 with w e^w = x. It is found by Halley's iteration.
fn lambert_w0(x: f64) -> f64 {
    let e = std::f64::consts::E;
    // It begins near the branch point with the series in p = sqrt(2 (e x + 1)), elsewhere with x.
    let p = libm::sqrt((2.0 * (e * x + 1.0)).max(0.0));
    let mut w = if x < -0.25 { -1.0 + p - p * p / 3.0 } else { x };
    for _ in 0..50 {
        let exp = libm::exp(w);
        let error = w * exp - x;
        let slope = exp * (w + 1.0);
        if slope == 0.0 {
            break;
        }
        let step = error / (slope - (w + 2.0) * error / (2.0 * w + 2.0));
        w -= step;
        if libm::fabs(step) <= 1e-15 * (1.0 + libm::fabs(w)) {
            break;
        }
    }
    w
}

/// Desnoyers: A = alpha / (alpha + W0(-alpha e^-alpha)), alpha = 1/u.
fn fifo_amplification(u: f64) -> f64 {
    let alpha = 1.0 / u;
    alpha / (alpha + lambert_w0(-alpha * libm::exp(-alpha)))
}

/// Share of a unit's pages that are still valid when FIFO collects it.
pub(super) fn fifo_valid_at_end(u: f64) -> f64 {
    1.0 - 1.0 / fifo_amplification(u)
}

/// Each page of a unit of age x (0 new, 1 about to be collected) is valid with probability p^x, where p is the probability
/// at the collection. Ages are uniform. So the shares are binomial, averaged over the ages by the midpoint rule.
fn fifo(u: f64, pages: u32) -> Stationary {
    const AGES: u32 = 1024;
    let end = libm::log(fifo_valid_at_end(u).max(f64::MIN_POSITIVE));
    let mut shares = vec![0.0; pages as usize + 1];
    for age in 0..AGES {
        let log_valid = end * (f64::from(age) + 0.5) / f64::from(AGES);
        add_binomial(&mut shares, log_valid, 1.0 / f64::from(AGES));
    }
    Stationary { shares, patience: Vec::new(), amplification: fifo_amplification(u) }
}

/// Adds `weight` times the binomial distribution over `shares.len() - 1` pages, each valid with probability e^log_valid.
fn add_binomial(shares: &mut [f64], log_valid: f64, weight: f64) {
    let pages = (shares.len() - 1) as f64;
    let log_dead = libm::log(-libm::expm1(log_valid));
    let log_factorial = |n: f64| libm::lgamma(n + 1.0);
    for (valid, share) in shares.iter_mut().enumerate() {
        let valid = valid as f64;
        let ways = log_factorial(pages) - log_factorial(valid) - log_factorial(pages - valid);
        *share += weight * libm::exp(ways + valid * log_valid + (pages - valid) * log_dead);
    }
}

/// Greedy: the units with n valid pages lose pages at a rate in proportion to n f(n). No unit is collected above level j, so
/// n f(n) = c from B down to j + 1. Victims are taken at level j, and f(j) is the rest to 1. The mean is u B, which gives
/// c = (u B - j) / ((B - j) - j (H(B) - H(j))) and A = c / u. j is the level at which 0 <= f(j) <= c / j.
fn greedy(u: f64, pages: u32) -> Stationary {
    let b = f64::from(pages);
    // H(B) - H(j), kept up as j goes down; u B falls below j's mean at the level sought.
    let mut harmonic = 0.0;
    let mut level = pages;
    let (c, lowest) = loop {
        level -= 1;
        harmonic += 1.0 / f64::from(level + 1);
        let j = f64::from(level);
        // With f(j) = 0 the mean is (B - j) / (H(B) - H(j)): the least that c / n over j + 1 .. B can have.
        if level == 0 {
            break (u, 1.0 - u * harmonic);
        }
        let with_level_full = harmonic + 1.0 / j;
        if u * b >= (b - j + 1.0) / with_level_full {
            let c = (u * b - j) / ((b - j) - j * harmonic);
            break (c, 1.0 - c * harmonic);
        }
    };
    let mut shares = vec![0.0; pages as usize + 1];
    shares[level as usize] = lowest.max(0.0);
    for valid in level + 1..=pages {
        shares[valid as usize] = c / f64::from(valid);
    }
    Stationary { shares, patience: Vec::new(), amplification: c / u }
}

/// x^n by squaring: the same bits on every machine.
fn power(mut x: f64, mut n: u32) -> f64 {
    let mut product = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            product *= x;
        }
        x *= x;
        n >>= 1;
    }
    product
}

/// Van Houdt: G(m) is the share of units with at least m valid pages. A victim has fewer than m valid pages with probability
/// 1 - G(m)^d. In the stationary state as many units fall below m as are filled again: m f(m) = K (1 - G(m)^d), A = K / u.
/// For a given K this is solved from m = B down. K follows from the mean u B.
fn d_choices(choices: u32, u: f64, pages: u32) -> Stationary {
    // The worst of these policies is that of random victims, with A = 1 / (1 - u).
    let (mut low, mut high) = (0.0, 1.001 * u / (1.0 - u));
    for _ in 0..BISECTIONS {
        let k = (low + high) / 2.0;
        if mean(&d_choices_shares(choices, k, pages)) < u * f64::from(pages) {
            low = k;
        } else {
            high = k;
        }
    }
    let k = (low + high) / 2.0;
    Stationary { shares: d_choices_shares(choices, k, pages), patience: Vec::new(), amplification: (k / u).max(1.0) }
}

fn d_choices_shares(choices: u32, k: f64, pages: u32) -> Vec<f64> {
    let mut shares = vec![0.0; pages as usize + 1];
    // Share of units above the level.
    let mut above = 0.0;
    for level in (1..=pages).rev() {
        let m = f64::from(level);
        // Newton's method from the right end: m f - K (1 - (above + f)^d) rises and is convex, so no step goes too far.
        let mut f = 1.0 - above;
        for _ in 0..100 {
            let lower = power(above + f, choices - 1);
            let error = m * f - k * (1.0 - lower * (above + f));
            let step = error / (m + k * f64::from(choices) * lower);
            f -= step;
            if step <= 1e-14 * f {
                break;
            }
        }
        shares[level as usize] = f;
        above += f;
    }
    shares[0] = (1.0 - above).max(0.0);
    shares
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().enumerate().map(|(valid, share)| valid as f64 * share).sum()
}

/// Cost-benefit collects a unit once its age x (B - n) / (2 n) reaches some height C: a unit with n valid pages once it has
/// stayed unchanged for t(n) = 2 C n / (B - n). The unit of time is that in which the host writes as many pages as are valid,
/// so each page is invalidated at rate 1. A unit at level n goes down a level with probability q(n) = 1 - e^(-n t(n)), and is
/// collected otherwise. It stays at the level for q(n) / n on average. C follows from the mean u B of valid pages.
fn cost_benefit(u: f64, pages: u32) -> Stationary {
    // There is so much spare space that units become empty without collections, as with greedy.
    let emptied = greedy(u, pages);
    if emptied.amplification <= 1.0 {
        return Stationary { patience: vec![f64::INFINITY; pages as usize + 1], ..emptied };
    }
    // The search is in logarithms, because C may be very small or very large.
    let (mut low, mut high) = (-60.0, 60.0);
    for _ in 0..BISECTIONS {
        let log_height = (low + high) / 2.0;
        if mean(&cost_benefit_at(libm::exp(log_height), pages).shares) < u * f64::from(pages) {
            high = log_height;
        } else {
            low = log_height;
        }
    }
    cost_benefit_at(libm::exp((low + high) / 2.0), pages)
}

fn cost_benefit_at(height: f64, pages: u32) -> Stationary {
    let mut shares = vec![0.0; pages as usize + 1];
    let mut patience = vec![0.0; pages as usize + 1];
    // The share of filled units that reach the level.
    let mut coming = 1.0;
    let mut victims_valid = 0.0;
    for level in (1..=pages).rev() {
        let n = f64::from(level);
        let waits = if level == pages { f64::INFINITY } else { 2.0 * height * n / f64::from(pages - level) };
        let goes_down = -libm::expm1(-n * waits);
        shares[level as usize] = coming * goes_down / n;
        patience[level as usize] = waits;
        victims_valid += n * coming * (1.0 - goes_down);
        coming *= goes_down;
    }
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    let amplification = 1.0 / (1.0 - victims_valid / f64::from(pages));
    Stationary { shares, patience, amplification }
}
