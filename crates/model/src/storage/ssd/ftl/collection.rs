//! A unit that is being collected, and what becomes of it.

use super::ids::{Ppn, UnitNo};

/// No unit can be gained any more: from now on the device is read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WornOut;

/// What became of a collected unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erased {
    /// The unit.
    pub unit: UnitNo,
    /// It was worn out and is no longer used.
    pub retired: bool,
}

/// A collection under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collection {
    pub(super) unit: UnitNo,
    pub(super) valid_at_begin: u32,
    /// No page of the unit before this one is valid.
    pub(super) cursor_ppn: Ppn,
    /// The entries of all valid pages before this one were prefetched.
    pub(super) ahead_ppn: Ppn,
    /// Static wear levelling chose the unit.
    pub(super) levelling: bool,
}
