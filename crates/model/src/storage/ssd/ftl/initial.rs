//! The state of a device when a run begins.

use flatwater_core::seed::{Rng, stream};
use schemars::JsonSchema;
use serde::Deserialize;

use super::draws::{below, shuffle, uniform};
use super::free::Free;
use super::ids::{Lpn, UnitNo};
use super::room::Room;
use super::theory::{fifo_valid_at_end, stationary};
use super::units::State;
use super::victims::{Choose, Policy};
use super::{Ftl, Geometry, Wear};

/// What a device holds at first. As JSON: `{"name": "preconditioned", "simulate": true}`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Initial {
    /// Nothing was ever written.
    Fresh,
    /// The used pages were written once, in order.
    Filled,
    /// The used pages were written in order, and then at random until write amplification no longer changed.
    Preconditioned {
        /// Write all these pages, instead of drawing a state from the policy's stationary distribution.
        simulate: bool,
    },
}

/// Pages whose entries of the mapping are prefetched before the pages are written.
const BATCH: usize = 32;

impl Ftl {
    /// As `new`, with data in the logical pages `held`, which are in order, instead of in the first ones. A device with data
    /// is no fresh one: then `Fresh` means that they were written once, in order.
    ///
    /// # Errors
    /// As `new`.
    pub fn holding(
        geometry: Geometry,
        policy: Policy,
        wear: Wear,
        initial: Initial,
        held: Vec<Lpn>,
        seed: u64,
    ) -> Result<Self, String> {
        let initial = if initial == Initial::Fresh { Initial::Filled } else { initial };
        let mut ftl = Self::new(geometry, policy, wear, initial, held.len() as u32, seed)?;
        ftl.mapping.renumber(held.into_iter());
        Ok(ftl)
    }

    /// Brings the device into its initial state. This wears no unit: `life_used` says how worn the device is.
    pub(super) fn become_initial(&mut self, initial: Initial, policy: Policy, used_pages: u32, seed: u64) {
        if used_pages == 0 {
            return;
        }
        match initial {
            Initial::Fresh => {}
            Initial::Filled => self.fill(used_pages),
            Initial::Preconditioned { simulate: true } => {
                self.fill(used_pages);
                self.overwrite(used_pages, seed);
            }
            Initial::Preconditioned { simulate: false } => self.jump(policy, used_pages, seed),
        }
    }

    /// Writes the used pages in their order. There is room, because there are more usable pages.
    fn fill(&mut self, used_pages: u32) {
        for lpn in Lpn::first(used_pages) {
            self.write(lpn);
        }
    }

    /// Writes used pages at random: first until the spare space is gone, then twice as many as there are usable pages. By
    /// then write amplification has settled. It takes longest with random victims and much spare space, where the valid
    /// pages of units approach the stationary state as e^(-t (1/u + A)), t in usable pages.
    fn overwrite(&mut self, used_pages: u32, seed: u64) {
        let mut random = stream(seed, "ftl overwrite", 0);
        let (mut batch, mut moved) = ([Lpn::new(0); BATCH], Vec::new());
        let mut left = 3 * u64::from(self.usable_pages()) - u64::from(used_pages);
        while left > 0 {
            let batch = &mut batch[..left.min(BATCH as u64) as usize];
            for lpn in batch.iter_mut() {
                *lpn = Lpn::new(below(&mut random, used_pages));
                self.prefetch(*lpn);
            }
            for lpn in batch.iter() {
                while self.room() == 0 {
                    self.begin_collection().expect("no unit is lost before the run");
                    moved.clear();
                    while !self.relocate(u32::MAX, &mut moved) {}
                    self.end_collection();
                }
                self.write(*lpn);
            }
            left -= batch.len() as u64;
        }
    }

    /// Draws a state that long random writes could lead to. No room is left, so there are as many closed units as possible.
    /// Their numbers of valid pages come from the policy's stationary distribution. The logical pages are dealt out at
    /// random.
    fn jump(&mut self, policy: Policy, used_pages: u32, seed: u64) {
        let mut random = stream(seed, "ftl jump", 0);
        let pages = self.geometry.pages_per_unit;
        let mut closed: Vec<UnitNo> =
            self.units.numbers().filter(|unit| self.units.state(*unit) == State::Free).collect();
        shuffle(&mut closed, &mut random);
        let free = closed.split_off((self.usable_pages() / pages) as usize);
        self.free = Free::new(self.geometry.frontiers);
        for unit in free {
            self.free.put(unit, self.cycles.of(unit));
        }
        self.room = Room::new(0);
        self.valid_pages = used_pages;
        let u = f64::from(used_pages) / (closed.len() as f64 * f64::from(pages));
        let state = stationary(policy, u, pages);
        let mut valid = match policy {
            Policy::Fifo => valid_by_age(closed.len(), pages, fifo_valid_at_end(u), &mut random),
            _ => valid_by_share(closed.len(), &state.shares, &mut random),
        };
        correct_sum(&mut valid, pages, used_pages, &mut random);
        self.lay_out(&closed, &valid, &mut random);
        self.close_all(&closed, &valid, &state.patience, &mut random);
    }

    /// Gives the units `valid` valid pages each, at random places in them, and deals the logical pages out over these.
    fn lay_out(&mut self, closed: &[UnitNo], valid: &[u32], random: &mut Rng) {
        let pages = self.geometry.pages_per_unit;
        let mut lpn = Lpn::new(0);
        for (&unit, &valid) in closed.iter().zip(valid) {
            self.units.set_valid(unit, valid);
            let mut missing = valid;
            let first = self.geometry.first_page(unit);
            for (place, ppn) in (0..pages).zip(first.until(first + pages)) {
                if below(random, pages - place) < missing {
                    missing -= 1;
                    self.mapping.lay_out(lpn, ppn);
                    lpn = lpn + 1;
                }
            }
        }
        self.mapping.deal_out(lpn.number(), random);
    }

    /// Closes the units in the order in which they changed last. For a policy that uses ages, the age of a unit with n valid
    /// pages has the exponential distribution with rate n, cut off at the age at which the unit would be collected.
    fn close_all(&mut self, closed: &[UnitNo], valid: &[u32], patience: &[f64], random: &mut Rng) {
        // Larger than any age.
        self.now = 1 << 48;
        let mut changed: Vec<(u64, UnitNo)> = Vec::with_capacity(closed.len());
        for (place, (&unit, &valid)) in closed.iter().zip(valid).enumerate() {
            let at = if patience.is_empty() || valid == 0 {
                place as u64
            } else {
                let n = f64::from(valid);
                let share = uniform(random) * -libm::expm1(-n * patience[valid as usize]);
                self.now - (-libm::log1p(-share) / n * f64::from(self.valid_pages)) as u64
            };
            changed.push((at, unit));
        }
        changed.sort_unstable();
        for (at, unit) in changed {
            self.units.set(unit, State::Closed);
            self.victims.closed(unit, self.units.valid(unit), at);
        }
    }
}

/// The valid pages of `units` units, distributed as in `shares`, in a random order.
fn valid_by_share(units: usize, shares: &[f64], random: &mut Rng) -> Vec<u32> {
    let (mut valid, mut sum) = (Vec::with_capacity(units), 0.0);
    for (pages, share) in shares.iter().enumerate() {
        sum += share;
        let until = libm::round(sum * units as f64) as usize;
        valid.resize(until.min(units).max(valid.len()), pages as u32);
    }
    valid.resize(units, shares.len() as u32 - 1);
    shuffle(&mut valid, random);
    valid
}

/// The valid pages of units, the oldest unit first. Each page of a unit of age x is valid with probability end^x.
fn valid_by_age(units: usize, pages: u32, end: f64, random: &mut Rng) -> Vec<u32> {
    let age = |place: usize| 1.0 - (place as f64 + 0.5) / units as f64;
    (0..units)
        .map(|place| {
            let probability = libm::pow(end, age(place));
            (0..pages).map(|_| u32::from(uniform(random) < probability)).sum()
        })
        .collect()
}

/// Adds or removes single pages at random units until the sum is `sum`.
fn correct_sum(valid: &mut [u32], pages: u32, sum: u32, random: &mut Rng) {
    let mut missing = i64::from(sum) - valid.iter().copied().map(i64::from).sum::<i64>();
    while missing != 0 {
        let entry = &mut valid[below(random, valid.len() as u32) as usize];
        if missing > 0 && *entry < pages {
            *entry += 1;
            missing -= 1;
        } else if missing < 0 && *entry > 0 {
            *entry -= 1;
            missing += 1;
        }
    }
}
