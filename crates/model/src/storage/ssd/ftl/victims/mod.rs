//! Which unit is collected next. Each policy has its file, and `Victims` lists them all.

use schemars::JsonSchema;
use serde::Deserialize;

use super::ids::UnitNo;
use super::units::Units;

mod buckets;
mod choose;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;

pub(super) use choose::Choose;
pub(super) use cost_benefit::CostBenefit;
pub(super) use d_choices::DChoices;
pub(super) use fifo::Fifo;
pub(super) use greedy::Greedy;

/// How the collector chooses its victim. As JSON: `{"name": "d-choices", "choices": 10}`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Policy {
    /// The unit with the fewest valid pages. Among equal units, the one that changed least recently.
    Greedy,
    /// The unit that was filled first, whatever it holds.
    Fifo,
    /// A unit drawn at random.
    Random,
    /// The best of a few drawn at random (Van Houdt 2013).
    DChoices {
        /// How many are drawn.
        choices: u32,
    },
    /// The unit with the highest age x (1 - u) / (2 u). u is its valid share, and age the time since it changed
    /// (Kawaguchi, Nishioka and Motoda 1995).
    CostBenefit,
}

/// The policies at work.
pub(super) enum Victims {
    Greedy(Greedy),
    Fifo(Fifo),
    DChoices(DChoices),
    CostBenefit(CostBenefit),
}

impl Victims {
    /// Over `units` units of `pages` pages.
    pub(super) fn new(policy: Policy, units: u32, pages: u32, seed: u64) -> Result<Self, String> {
        Ok(match policy {
            Policy::Greedy => Self::Greedy(Greedy::new(units, pages)),
            Policy::Fifo => Self::Fifo(Fifo::new(units)),
            Policy::Random => Self::DChoices(DChoices::new(1, seed)),
            Policy::DChoices { choices: 0 } => return Err("d-choices: choices must be over 0".into()),
            Policy::DChoices { choices } => Self::DChoices(DChoices::new(choices, seed)),
            Policy::CostBenefit => Self::CostBenefit(CostBenefit::new(units, pages)),
        })
    }
}

impl Choose for Victims {
    fn closed(&mut self, unit: UnitNo, valid: u32, now: u64) {
        match self {
            Self::Greedy(policy) => policy.closed(unit, valid, now),
            Self::Fifo(policy) => policy.closed(unit, valid, now),
            Self::DChoices(policy) => policy.closed(unit, valid, now),
            Self::CostBenefit(policy) => policy.closed(unit, valid, now),
        }
    }

    #[inline]
    fn changed(&mut self, unit: UnitNo, valid: u32, now: u64) {
        match self {
            Self::Greedy(policy) => policy.changed(unit, valid, now),
            Self::Fifo(policy) => policy.changed(unit, valid, now),
            Self::DChoices(policy) => policy.changed(unit, valid, now),
            Self::CostBenefit(policy) => policy.changed(unit, valid, now),
        }
    }

    fn taken(&mut self, unit: UnitNo, valid: u32) {
        match self {
            Self::Greedy(policy) => policy.taken(unit, valid),
            Self::Fifo(policy) => policy.taken(unit, valid),
            Self::DChoices(policy) => policy.taken(unit, valid),
            Self::CostBenefit(policy) => policy.taken(unit, valid),
        }
    }

    #[inline]
    fn prefetch(&self, unit: UnitNo) {
        match self {
            Self::Greedy(policy) => policy.prefetch(unit),
            Self::Fifo(policy) => policy.prefetch(unit),
            Self::DChoices(policy) => policy.prefetch(unit),
            Self::CostBenefit(policy) => policy.prefetch(unit),
        }
    }

    #[inline]
    fn prefetch_neighbours(&self, unit: UnitNo) {
        if let Self::Greedy(policy) = self {
            policy.prefetch_neighbours(unit);
        }
    }

    fn choose(&mut self, units: &Units, now: u64) -> UnitNo {
        match self {
            Self::Greedy(policy) => policy.choose(units, now),
            Self::Fifo(policy) => policy.choose(units, now),
            Self::DChoices(policy) => policy.choose(units, now),
            Self::CostBenefit(policy) => policy.choose(units, now),
        }
    }
}
