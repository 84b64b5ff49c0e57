//! The best of benefit to cost: age x (1 - u) / (2 u), as Kawaguchi, Nishioka and Motoda (1995) have it.

use super::super::units::Units;
use super::buckets::Buckets;
use super::choose::Choose;

/// Closed units by valid pages: in each list the first is the oldest, so the best of a list, and the best of all is one
/// of the firsts.
pub(in super::super) struct CostBenefit {
    buckets: Buckets,
    /// By unit: when it changed.
    changed_at: Vec<u64>,
    pages: u32,
}

impl CostBenefit {
    pub(in super::super) fn new(units: u32, pages: u32) -> Self {
        Self { buckets: Buckets::new(units, pages + 1), changed_at: vec![0; units as usize], pages }
    }
}

impl Choose for CostBenefit {
    fn closed(&mut self, unit: u32, valid: u32, now: u64) {
        self.buckets.join(unit, valid);
        self.changed_at[unit as usize] = now;
    }

    #[inline]
    fn changed(&mut self, unit: u32, valid: u32, now: u64) {
        self.buckets.leave(unit);
        self.closed(unit, valid, now);
    }

    #[inline]
    fn prefetch(&self, unit: u32) {
        self.buckets.prefetch(unit);
    }

    fn taken(&mut self, unit: u32, _valid: u32) {
        self.buckets.leave(unit);
    }

    fn choose(&mut self, _units: &Units, now: u64) -> u32 {
        if let Some(empty) = self.buckets.first(0) {
            return empty;
        }
        let firsts = (1..=self.pages).filter_map(|valid| self.buckets.first(valid).map(|unit| (unit, valid)));
        let mut best = None;
        for (unit, valid) in firsts {
            // One more than its age, so that what changed just now still has an order.
            let age = (now - self.changed_at[unit as usize] + 1) as f64;
            let score = age * f64::from(self.pages - valid) / f64::from(2 * valid);
            if best.is_none_or(|(_, highest)| score > highest) {
                best = Some((unit, score));
            }
        }
        best.expect("there is a closed unit").0
    }
}
