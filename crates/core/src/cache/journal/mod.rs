//! What makes a cache survive: superblocks, a journal of what each slot holds, two checkpoints in turn, recovery.
//!
//! `runtime.rs` is the journal at work; `layout.rs` says what lies where; `superblock.rs`, `page.rs` and `checkpoint.rs`
//! are the bytes of it; `witness.rs` tells the backing device from another one; `foreign.rs` knows what else a device may hold; `recovery.rs` makes, recovers, inspects and drains.

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

/// Something that the journal remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The slot that it is about; for `Intent` it means nothing.
    pub slot: Slot,
    /// What happened.
    pub what: What,
}

/// What happened to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The slot holds a version of a block from now on; its data write has ended. Every other slot that holds the block
    /// is free with this record (no `Freed` is needed), unless `keeps`: then they are `Superseded` until they are freed
    /// by a record of their own.
    Holds {
        /// Which block.
        block: Block,
        /// CRC-32C of the whole block as it lies in the slot.
        crc: u32,
        /// It is the only copy.
        dirty: bool,
        /// The version before stays in its slot, because it is still to be written back before this one (`ordered`).
        keeps: bool,
        /// Comes back as it is: since when, or which epoch; the lowest is the oldest.
        stamp: u32,
    },
    /// The slow device holds it too, durably.
    Cleaned,
    /// The slot holds nothing any more: what is on the slow device counts.
    Freed,
    /// The slow device's region `region` may be about to be written by a user (`set`), or is at rest and synced again.
    /// After an unclean stop all clean blocks of a region whose intent is set are forgotten.
    Intent {
        /// Which: `Geometry::region_of` a block.
        region: u32,
        /// Set, or taken back.
        set: bool,
    },
}

/// What a slot holds, as a checkpoint keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holding {
    /// Nothing (or nothing any more).
    #[default]
    Nothing,
    /// What the slow device holds too.
    Clean,
    /// The only copy of the block's value.
    Dirty,
    /// An older version of a block whose newer one is in another slot, not yet written back (`ordered`).
    Superseded,
}

/// One slot, as a checkpoint keeps it and recovery finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// What.
    pub holding: Holding,
    /// Of which block.
    pub block: Block,
    /// Its CRC-32C.
    pub crc: u32,
    /// As the record had it.
    pub stamp: u32,
}

/// The slots' state as the engine has it in memory, for checkpoints. It must agree with all records made so far.
pub trait Table {
    /// What the slot holds; a slot in limbo holds nothing.
    fn entry(&self, slot: Slot) -> Entry;
}
