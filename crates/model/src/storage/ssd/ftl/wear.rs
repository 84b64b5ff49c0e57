//! Erase counts: how many erases each unit stands, when a unit is worn out, and which unit was erased too rarely.

use flatwater_core::seed::{Rng, stream};
use schemars::JsonSchema;
use serde::Deserialize;

use super::draws::{below, uniform};
use super::ids::UnitNo;
use super::units::{State, Units};

/// At least so many collections lie between two of static wear levelling, so that levelling cannot take the whole device.
const COLLECTIONS_BETWEEN_LEVELLING: u32 = 4;
/// Relative spread of the erase counts in a used device (`life_used`): levelling does not make them equal. This is an
/// assumption; the spread of the endurance matters more.
const LIFE_USED_SPREAD: f64 = 0.01;

/// How units wear.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Wear {
    /// Erases that a unit stands on average; 0: any number.
    pub rated_cycles: u32,
    /// Share of `rated_cycles` that the device has already used.
    pub life_used: f64,
    /// Coefficient of variation of the endurance among units (lognormal).
    pub spread: f64,
    /// The least worn unit is collected if the highest and the lowest erase count differ by more than this; 0: never.
    pub static_threshold_cycles: u32,
    /// Share of units that are bad from the beginning.
    pub initial_bad_share: f64,
}

impl Wear {
    /// Units that never wear out, none of them bad.
    pub const NONE: Self =
        Self { rated_cycles: 0, life_used: 0.0, spread: 0.0, static_threshold_cycles: 0, initial_bad_share: 0.0 };

    fn check(&self) -> Result<(), String> {
        let shares = [("life_used", self.life_used), ("initial_bad_share", self.initial_bad_share)];
        for (name, share) in shares {
            if !(0.0..1.0).contains(&share) {
                return Err(format!("{name} must be at least 0 and below 1, not {share}"));
            }
        }
        if !(0.0..=1.0).contains(&self.spread) {
            return Err(format!("spread must be from 0 to 1, not {}", self.spread));
        }
        Ok(())
    }
}

/// The erase counts of all units.
#[derive(Debug)]
pub(super) struct Cycles {
    erases: Vec<u32>,
    /// By unit, the erases that it stands.
    endurance: Vec<u32>,
    /// Good units by erase count.
    levels: Vec<u32>,
    lowest: u32,
    highest: u32,
    good: u32,
    /// Sum over good units.
    sum: u64,
    threshold: u32,
    since_levelling: u32,
    /// Units that the last search found to be erased too rarely. The least worn one is last.
    spared: Vec<UnitNo>,
}

impl Cycles {
    /// The counts of `units` units, and the units that are bad from the beginning.
    pub(super) fn new(units: u32, wear: &Wear, seed: u64) -> Result<(Self, Vec<UnitNo>), String> {
        wear.check()?;
        let mut random = stream(seed, "ftl wear", 0);
        let rated = f64::from(wear.rated_cycles);
        let sigma = libm::sqrt(libm::log1p(wear.spread * wear.spread));
        let mut endurance = |_| {
            if wear.rated_cycles == 0 {
                return u32::MAX;
            }
            let stands = rated * libm::exp(sigma * normal(&mut random) - sigma * sigma / 2.0);
            (libm::round(stands) as u32).max(1)
        };
        let endurance: Vec<u32> = (0..units).map(&mut endurance).collect();
        let mut random = stream(seed, "ftl life used", 0);
        let used = rated * wear.life_used;
        // Levelling has kept the counts within its threshold: 3 standard deviations to either side.
        let most = match wear.static_threshold_cycles {
            0 => used,
            threshold => f64::from(threshold) / 2.0,
        };
        let deviation = (used * LIFE_USED_SPREAD).min(most / 3.0);
        let mut count = |_| {
            let off = (deviation * normal(&mut random)).clamp(-most, most);
            libm::floor((used + off).max(0.0)) as u32
        };
        let erases: Vec<u32> = (0..units).map(&mut count).collect();
        let mut bad = chosen(units, libm::round(wear.initial_bad_share * f64::from(units)) as u32, seed);
        let worn = |unit: &UnitNo| erases[unit.index()] >= endurance[unit.index()];
        bad.extend(UnitNo::first(units).filter(worn));
        bad.sort_unstable();
        bad.dedup();
        let mut cycles = Self {
            endurance,
            levels: Vec::new(),
            lowest: 0,
            highest: 0,
            good: 0,
            sum: 0,
            threshold: wear.static_threshold_cycles,
            since_levelling: 0,
            spared: Vec::new(),
            erases,
        };
        cycles.count(&bad);
        Ok((cycles, bad))
    }

    fn count(&mut self, bad: &[UnitNo]) {
        let mut good: Vec<u32> = self.erases.clone();
        for unit in bad.iter().rev() {
            good.swap_remove(unit.index());
        }
        self.good = good.len() as u32;
        self.sum = good.iter().copied().map(u64::from).sum();
        self.highest = good.iter().copied().max().unwrap_or(0);
        self.levels = vec![0; self.highest as usize + 1];
        for erases in good {
            self.levels[erases as usize] += 1;
        }
        self.raise_lowest();
    }

    fn raise_lowest(&mut self) {
        while self.lowest < self.highest && self.levels[self.lowest as usize] == 0 {
            self.lowest += 1;
        }
    }

    pub(super) fn good(&self) -> u32 {
        self.good
    }

    pub(super) fn of(&self, unit: UnitNo) -> u32 {
        self.erases[unit.index()]
    }

    pub(super) fn mean(&self) -> f64 {
        if self.good == 0 { 0.0 } else { self.sum as f64 / f64::from(self.good) }
    }

    /// The lowest and the highest count. The unit with the highest one may be bad by now.
    pub(super) fn extremes(&self) -> (u32, u32) {
        (self.lowest, self.highest)
    }

    /// Counts an erase. Returns whether the unit is worn out.
    pub(super) fn erase(&mut self, unit: UnitNo) -> bool {
        let erases = self.erases[unit.index()] + 1;
        self.erases[unit.index()] = erases;
        self.sum += 1;
        if erases as usize == self.levels.len() {
            self.levels.push(0);
        }
        self.levels[erases as usize - 1] -= 1;
        self.levels[erases as usize] += 1;
        self.highest = self.highest.max(erases);
        self.raise_lowest();
        erases >= self.endurance[unit.index()]
    }

    /// Leaves a unit out of the counts from now on.
    pub(super) fn retire(&mut self, unit: UnitNo) {
        let erases = self.erases[unit.index()];
        self.levels[erases as usize] -= 1;
        self.sum -= u64::from(erases);
        self.good -= 1;
        self.raise_lowest();
    }

    /// Takes the unit that static wear levelling collects now, if there is one.
    pub(super) fn spared(&mut self, units: &Units) -> Option<UnitNo> {
        self.since_levelling = self.since_levelling.saturating_add(1);
        let uneven = self.threshold > 0 && self.highest - self.lowest > self.threshold;
        if !uneven || self.since_levelling < COLLECTIONS_BETWEEN_LEVELLING {
            return None;
        }
        self.since_levelling = 0;
        let limit = self.highest - self.threshold;
        loop {
            while let Some(unit) = self.spared.pop() {
                if units.state(unit) == State::Closed && self.of(unit) < limit {
                    return Some(unit);
                }
            }
            let candidate = |unit: &UnitNo| self.of(*unit) < limit && units.state(*unit) == State::Closed;
            self.spared = units.numbers().filter(candidate).collect();
            if self.spared.is_empty() {
                return None;
            }
            self.spared.sort_by_key(|unit| std::cmp::Reverse((self.erases[unit.index()], *unit)));
        }
    }
}

/// Draws `many` different units of `units`.
fn chosen(units: u32, many: u32, seed: u64) -> Vec<UnitNo> {
    let mut random = stream(seed, "ftl bad units", 0);
    let mut all: Vec<UnitNo> = UnitNo::first(units).collect();
    for place in 0..many.min(units) {
        let other = place + below(&mut random, units - place);
        all.swap(place as usize, other as usize);
    }
    all.truncate(many as usize);
    all
}

/// A draw of the normal distribution (Box and Muller 1958).
fn normal(random: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - uniform(random)));
    radius * libm::cos(std::f64::consts::TAU * uniform(random))
}
