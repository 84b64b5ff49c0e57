//! The unit in which slots remember since when they are dirty.

/// A unit of the slots' `since`: 2^27 ns are 134 ms, and 32 bits of them 18 years.
pub(super) const UNIT_SHIFT: u32 = 27;

/// The unit, seconds.
pub(in super::super) const UNIT_S: f64 = (1u64 << UNIT_SHIFT) as f64 / 1e9;

/// A time in the slots' units.
#[inline]
pub(in super::super) fn units(ns: u64) -> u32 {
    (ns >> UNIT_SHIFT) as u32
}
