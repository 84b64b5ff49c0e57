//! What every replacement policy does.

use crate::cache::slots::Blocks;
use crate::cache::{Block, Slot};

/// How a cache chooses what it evicts. Slots are numbers below the one that `new` or `resize` was given. `block` is
/// always the block that the slot holds.
pub trait Policy {
    /// A block came into a slot.
    fn insert(&mut self, slot: Slot, block: Block);

    /// A block that is cached was used.
    fn hit(&mut self, slot: Slot, block: Block);

    /// A block was removed, but not by `victim`.
    fn remove(&mut self, slot: Slot, block: Block);

    /// The slot must not be evicted until it is released.
    fn hold(&mut self, slot: Slot);

    /// The slot may be evicted again.
    fn release(&mut self, slot: Slot, block: Block);

    /// Evicts a slot so that `block` can come in, and takes it out of the lists. None: all slots are held.
    /// `Block::NONE` means any block. `blocks` is the slots' column of blocks.
    fn victim(&mut self, block: Block, blocks: &(impl Blocks + ?Sized)) -> Option<Slot>;

    /// A write out of place moved the block of a slot to another slot, which was in no list. The block keeps its place
    /// and stays held if it was.
    fn moved(&mut self, from: Slot, to: Slot, block: Block);

    /// Whether `block` may take a free slot. False: its set is full, and it must displace a block of that set.
    fn room(&self, _block: Block) -> bool {
        true
    }

    /// A slot will be used, moved or removed soon: its state may be prefetched.
    fn prefetch_slot(&self, _slot: Slot) {}

    /// A block will soon come in: its state may be prefetched.
    fn prefetch_block(&self, _block: Block) {}

    /// The slot that is most likely evicted next, if a short look finds it.
    fn next(&self) -> Option<Slot> {
        None
    }

    /// Changes the number of slots. The caller has emptied the slots behind it. `blocks` is the column of those that
    /// remain.
    fn resize(&mut self, slots: u32, blocks: &(impl Blocks + ?Sized));

    /// Bytes of memory.
    fn bytes(&self) -> usize;
}
