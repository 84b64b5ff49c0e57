//! A unit that is being collected, and what becomes of it.

/// No unit can be gained any more: the device only reads from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WornOut;

/// What became of a collected unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erased {
    /// Which one.
    pub unit: u32,
    /// It was worn out and is used no more.
    pub retired: bool,
}

/// A victim on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collection {
    pub(super) unit: u32,
    pub(super) valid_at_begin: u32,
    /// No page before this one is valid.
    pub(super) cursor_ppn: u32,
    /// Before this one, the places of those that are valid have been asked for.
    pub(super) ahead_ppn: u32,
    pub(super) levelling: bool,
}
