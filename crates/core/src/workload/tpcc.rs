//! TPC-C: scale, names, the non-uniform random numbers of the specification (revision 5.11) and its constants.
//!
//! `inputs` draws the next transaction of a terminal, and `population` the initial rows of a database. Both are
//! functions of a seed alone.

pub mod inputs;
pub mod population;
mod variant;

use rand::Rng as _;

use crate::seed::{Rng, stream};

pub use variant::Variant;

/// Items, the same for every scale (clause 1.2.1).
pub const ITEMS: u32 = 100_000;
/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;
/// Customers of a district.
pub const CUSTOMERS: u32 = 3000;
/// Orders of a district right after loading.
pub const ORDERS: u32 = 3000;
/// The first order that is not delivered right after loading; the 900 from here on are new (clause 4.3.3.1).
pub const FIRST_NEW_ORDER: u32 = 2101;
/// Lines of an order: at least and at most.
pub const ORDER_LINES: (u32, u32) = (5, 15);
/// Warehouses that tpcc-mysql's SMALLINT columns can count.
pub const WAREHOUSES_MAX: u32 = 32_767;

/// The five transactions. All other tables and indexes use this order.
pub const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];
/// Cards of each kind in a deck of 23 (clause 5.2.4.2).
pub const DECK: [usize; 5] = [10, 10, 1, 1, 1];
/// Keying times, s (clause 5.2.5.7).
pub const KEYING_S: [f64; 5] = [18.0, 3.0, 2.0, 2.0, 2.0];
/// Means of the think times, s (clause 5.2.5.7).
pub const THINK_MEAN_S: [f64; 5] = [12.0, 12.0, 10.0, 5.0, 5.0];
/// A think time is cut at this many times its mean (clause 5.2.5.4).
pub const THINK_CUT: f64 = 10.0;
/// C of the last names while loading. A constant of all data sets and not a draw of their seed, because a run's C must
/// keep its distance from it (clause 2.1.6.1) whatever seed the data was loaded with.
pub const C_LAST_LOAD: u32 = 123;

/// The syllables of last names (clause 4.3.2.3).
const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Text of at most `N` bytes without allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    length: u16,
}

impl<const N: usize> Text<N> {
    /// No text.
    pub const EMPTY: Self = Self { bytes: [0; N], length: 0 };

    /// Its bytes, all of them ASCII.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Appends what fits.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        let at = usize::from(self.length);
        let n = bytes.len().min(N - at);
        self.bytes[at..at + n].copy_from_slice(&bytes[..n]);
        self.length += n as u16;
    }
}

impl<const N: usize> std::fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

/// The last name of a number 0..1000 (clause 4.3.2.3).
pub fn last_name(number: u32) -> Text<16> {
    let mut name = Text::EMPTY;
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        name.push(SYLLABLES[digit as usize].as_bytes());
    }
    name
}

/// A whole number from `low` to `high`, both included.
#[inline]
pub fn uniform(rng: &mut Rng, low: u32, high: u32) -> u32 {
    rng.random_range(low..=high)
}

/// The non-uniform random number NURand(A, x, y) with its constant C (clause 2.1.6).
#[inline]
pub fn nurand(rng: &mut Rng, a: u32, c: u32, low: u32, high: u32) -> u32 {
    ((uniform(rng, 0, a) | uniform(rng, low, high)) + c) % (high - low + 1) + low
}

/// The constants C of one run: the same for all of its terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Of the items, 0..=8191.
    pub item: u32,
    /// Of the customers' numbers, 0..=1023.
    pub customer: u32,
    /// Of the last names, 0..=255, at an allowed distance from the one of loading.
    pub last: u32,
}

impl Constants {
    /// Those of a seed.
    pub fn of(seed: u64) -> Self {
        let mut rng = stream(seed, "tpcc constants", 0);
        let item = uniform(&mut rng, 0, 8191);
        let customer = uniform(&mut rng, 0, 1023);
        let last = loop {
            let c = uniform(&mut rng, 0, 255);
            if allowed(C_LAST_LOAD, c) {
                break c;
            }
        };
        Self { item, customer, last }
    }

    /// An item's number.
    #[inline]
    pub fn item(&self, rng: &mut Rng) -> u32 {
        nurand(rng, 8191, self.item, 1, ITEMS)
    }

    /// A customer's number within its district.
    #[inline]
    pub fn customer(&self, rng: &mut Rng) -> u32 {
        nurand(rng, 1023, self.customer, 1, CUSTOMERS)
    }

    /// The number of a last name, 0..1000.
    #[inline]
    pub fn last(&self, rng: &mut Rng) -> u32 {
        nurand(rng, 255, self.last, 0, 999)
    }
}

/// Whether a run may use C `run` for last names that were loaded with C `load` (clause 2.1.6.1).
pub fn allowed(load: u32, run: u32) -> bool {
    let distance = load.abs_diff(run);
    (65..=119).contains(&distance) && distance != 96 && distance != 112
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_the_specifications() {
        assert_eq!(last_name(371).as_bytes(), b"PRICALLYOUGHT");
        assert_eq!(last_name(40).as_bytes(), b"BARPRESBAR");
        assert_eq!(last_name(0).as_bytes(), b"BARBARBAR");
        assert_eq!(last_name(999).as_bytes(), b"EINGEINGEING");
        assert!((0..1000).all(|number| last_name(number).as_bytes().len() <= 15));
    }

    #[test]
    fn constants_keep_their_distance() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..2000 {
            let constants = Constants::of(seed);
            assert!(allowed(C_LAST_LOAD, constants.last), "seed {seed}: {constants:?}");
            assert!(constants.item <= 8191 && constants.customer <= 1023 && constants.last <= 255, "seed {seed}");
            assert_eq!(constants, Constants::of(seed));
            seen.insert(constants.last);
        }
        assert!(seen.len() > 80, "{} values of C for last names", seen.len());
        assert!(!allowed(0, 64) && allowed(0, 65) && !allowed(0, 96) && !allowed(0, 112) && allowed(119, 0));
        assert!(!allowed(0, 120));
    }

    #[test]
    fn nurand_covers_its_range_and_is_skewed() {
        let constants = Constants::of(5);
        let mut rng = stream(5, "test", 0);
        let mut counts = vec![0_u32; CUSTOMERS as usize + 1];
        for _ in 0..600_000 {
            counts[constants.customer(&mut rng) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().filter(|n| **n > 0).count() > 2900);
        // By enumeration of all pairs of the OR: a bit of its result is one in three of four, so that the hottest tenth
        // of the customers takes 0.613 of the accesses.
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hot = f64::from(counts[..300].iter().sum::<u32>()) / 600_000.0;
        assert!((hot - 0.613).abs() < 0.01, "the hottest tenth got {hot}");
        for _ in 0..10_000 {
            assert!((1..=ITEMS).contains(&constants.item(&mut rng)));
            assert!(constants.last(&mut rng) <= 999);
        }
    }

    #[test]
    fn text_takes_what_fits() {
        let mut text = Text::<4>::EMPTY;
        text.push(b"abc");
        text.push(b"def");
        assert_eq!(text.as_bytes(), b"abcd");
        assert_eq!(format!("{text:?}"), "\"abcd\"");
    }
}
