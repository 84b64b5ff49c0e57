//! The metadata with which a cache survives a crash: superblocks, a journal of what each slot holds, two checkpoints in
//! turn, and recovery.
//!
//! `runtime.rs` is the journal of a cache that serves. `layout.rs` says what lies where. `superblock.rs` and `page.rs`
//! are the bytes on the device. `witness.rs` distinguishes the backing device from another one. `foreign.rs` recognises
//! what else a device may hold. `recovery.rs` makes, recovers, inspects and drains a cache.

mod device;
pub mod foreign;
pub mod layout;
mod page;
pub mod recovery;
pub mod runtime;
pub mod superblock;
pub mod witness;

pub use layout::{Geometry, Layout};
pub use runtime::{Journal, Mark, PageWrite};
pub use witness::Witness;

use super::{Block, Slot};

/// Length of the pairing record.
pub const PAIR_BYTES: u64 = 4096;

/// Length of every page of metadata on the cache device.
pub const PAGE_BYTES: u32 = 4096;

/// A record of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The slot that it is about; for `Intent` it means nothing.
    pub slot: Slot,
    /// What happened to the slot.
    pub what: What,
}

/// What happened to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The slot holds a version of a block from now on, and its data write has ended. This record frees every other
    /// slot that holds the block; no `Freed` is needed. With `keeps` it does not: those slots are `Superseded` until a
    /// record of their own frees them.
    Holds {
        /// Which block.
        block: Block,
        /// CRC-32C of the whole block as it lies in the slot.
        crc: u32,
        /// It is the only copy.
        dirty: bool,
        /// The version before stays in its slot, because it is still to be written back before this one (`ordered`).
        keeps: bool,
        /// Since when the block is dirty, or its epoch. Recovery returns it unchanged. The lowest is the oldest.
        stamp: u32,
    },
    /// The slow device holds it too, durably.
    Cleaned,
    /// The slot holds nothing any more. The slow device has the block's current version.
    Freed,
    /// A user may be about to write to a region of the slow device (`set`), or the region is at rest and synced again.
    /// After an unclean stop all clean blocks of a region whose intent is set are forgotten.
    Intent {
        /// Which: `Geometry::region_of` a block.
        region: u32,
        /// Set, or taken back.
        set: bool,
    },
}

/// The kind of version that a slot holds, as a checkpoint stores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holding {
    /// Nothing.
    #[default]
    Nothing,
    /// A version that the slow device holds too.
    Clean,
    /// The only copy of the block's value.
    Dirty,
    /// An older version of a block whose newer one is in another slot, not yet written back (`ordered`).
    Superseded,
}

/// The content of a slot, as a checkpoint stores it and recovery finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The kind of version.
    pub holding: Holding,
    /// The block.
    pub block: Block,
    /// Its CRC-32C.
    pub crc: u32,
    /// The record's stamp.
    pub stamp: u32,
}

/// The state of the slots in memory, for checkpoints. It must agree with all records made so far.
pub trait Table {
    /// What the slot holds; a slot in limbo holds nothing.
    fn entry(&self, slot: Slot) -> Entry;
}
