//! The numbers by which the cache names things, each of a type of its own.

use std::fmt;
use std::ops::{Add, Sub};

use crate::slab::Key;

/// A block of the slow device, counted from its first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(pub u32);

impl Block {
    /// No block.
    pub const NONE: Self = Self(u32::MAX);

    /// So many blocks, this one first.
    #[inline]
    pub fn run(self, blocks: u32) -> impl Iterator<Item = Self> + Clone {
        (self.0..self.0 + blocks).map(Self)
    }
}

impl Add<u32> for Block {
    type Output = Self;

    #[inline]
    fn add(self, blocks: u32) -> Self {
        Self(self.0 + blocks)
    }
}

impl Sub for Block {
    type Output = u32;

    /// How many blocks lie between the beginnings of both.
    #[inline]
    fn sub(self, before: Self) -> u32 {
        self.0 - before.0
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A place for one block on the fast device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// No slot.
    pub const NONE: Self = Self(u32::MAX);

    /// Where it stands in tables of all slots.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The first slots of a device, so many.
    pub fn first(slots: u32) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..slots).map(Self)
    }
}

impl Key for Slot {
    #[inline]
    fn from_number(number: u32) -> Self {
        Self(number)
    }

    #[inline]
    fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A record of the journal, counted from 1 in the order in which records were made; 0 is before the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

crate::slab_key!(
    /// A buffer of the caller's memory.
    pub BufferId
);

crate::slab_key!(
    /// An IO that the engine wants done.
    pub IoId
);
