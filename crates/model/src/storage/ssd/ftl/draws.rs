//! Random draws that are the same on every machine.

use flatwater_core::seed::Rng;
use rand::RngCore as _;

use crate::large::near;

/// Entries at random places are prefetched so many entries before they are used.
pub(super) const AHEAD: usize = 32;

/// A whole number below `bound`, each with the same probability.
#[inline]
pub(crate) fn below(random: &mut Rng, bound: u32) -> u32 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u32
}

/// A number from 0 up to but not 1.
pub(super) fn uniform(random: &mut Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Shuffles items; each order has the same probability (Fisher and Yates).
pub(super) fn shuffle<T>(items: &mut [T], random: &mut Rng) {
    let mut drawn = [0; AHEAD];
    let mut end = items.len();
    while end > 1 {
        let first = end.saturating_sub(AHEAD).max(1);
        for (place, other) in (first..end).rev().zip(&mut drawn) {
            *other = below(random, place as u32 + 1) as usize;
            near(&items[*other]);
        }
        for (place, other) in (first..end).rev().zip(drawn) {
            items.swap(place, other);
        }
        end = first;
    }
}
