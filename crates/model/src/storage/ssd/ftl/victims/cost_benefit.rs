//! The unit with the best ratio of benefit to cost: age x (1 - u) / (2 u), after Kawaguchi, Nishioka and Motoda (1995).

use super::super::ids::UnitNo;
use super::super::units::Units;
use super::buckets::Buckets;
use super::choose::Choose;

/// Closed units by valid pages. The first unit of a list is the oldest, and thus the best of the list. The best of all is
/// the first of some list.
pub(in super::super) struct CostBenefit {
    buckets: Buckets,
    /// By unit, when it changed last.
    changed_at: Vec<u64>,
    pages: u32,
}

impl CostBenefit {
    pub(in super::super) fn new(units: u32, pages: u32) -> Self {
        Self { buckets: Buckets::new(units, pages + 1), changed_at: vec![0; units as usize], pages }
    }
}

impl Choose for CostBenefit {
    fn closed(&mut self, unit: UnitNo, valid: u32, now: u64) {
        self.buckets.join(unit, valid);
        self.changed_at[unit.index()] = now;
    }

    #[inline]
    fn changed(&mut self, unit: UnitNo, valid: u32, now: u64) {
        self.buckets.leave(unit);
        self.closed(unit, valid, now);
    }

    #[inline]
    fn prefetch(&self, unit: UnitNo) {
        self.buckets.prefetch(unit);
    }

    fn taken(&mut self, unit: UnitNo, _valid: u32) {
        self.buckets.leave(unit);
    }

    fn choose(&mut self, _units: &Units, now: u64) -> UnitNo {
        if let Some(empty) = self.buckets.first(0) {
            return empty;
        }
        let firsts = (1..=self.pages).filter_map(|valid| self.buckets.first(valid).map(|unit| (unit, valid)));
        let mut best = None;
        for (unit, valid) in firsts {
            // One more than the age, so that units that changed just now are ordered too.
            let age = (now - self.changed_at[unit.index()] + 1) as f64;
            let score = age * f64::from(self.pages - valid) / f64::from(2 * valid);
            if best.is_none_or(|(_, highest)| score > highest) {
                best = Some((unit, score));
            }
        }
        best.expect("there is a closed unit").0
    }
}
