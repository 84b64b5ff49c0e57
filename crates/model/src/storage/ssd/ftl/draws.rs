//! Numbers drawn at random, the same on every machine.

use flatwater_core::seed::Rng;
use rand::RngCore as _;

/// A whole number below `bound`, all alike.
#[inline]
pub(crate) fn below(random: &mut Rng, bound: u32) -> u32 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u32
}

/// A number from 0 up to but not 1.
pub(super) fn uniform(random: &mut Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}
