//! What every replacement policy does.

use crate::cache::slots::Blocks;
use crate::cache::{Block, Slot};

/// How a cache chooses what leaves. Slots are numbers below the one that `new` or `resize` was given; `block` is always
/// the one that the slot holds.
pub trait Policy {
    /// A block came into a slot.
    fn insert(&mut self, slot: Slot, block: Block);

    /// A block that is cached was used.
    fn hit(&mut self, slot: Slot, block: Block);

    /// A block left by other means than `victim`.
    fn remove(&mut self, slot: Slot, block: Block);

    /// The slot is not to leave until it is released.
    fn hold(&mut self, slot: Slot);

    /// The slot may leave again.
    fn release(&mut self, slot: Slot, block: Block);

    /// The slot that leaves so that `block` can come in. It is out of the lists already. None: all are held. `Block::NONE`
    /// as block means any: somewhere there should be room. `blocks` is the slots' column of blocks.
    fn victim(&mut self, block: Block, blocks: &(impl Blocks + ?Sized)) -> Option<Slot>;

    /// The block of a slot moved to another one, which was in no list: out-of-place writes. It keeps its place and is
    /// held as it was.
    fn moved(&mut self, from: Slot, to: Slot, block: Block);

    /// False: `block` must displace another one though there are free slots, because its set is full.
    fn room(&self, _block: Block) -> bool {
        true
    }

    /// A slot will be used, moved or taken out soon: what is known of it may be brought nearer.
    fn ahead(&self, _slot: Slot) {}

    /// A block will soon come in: what is known of it may be brought nearer.
    fn comes(&self, _block: Block) {}

    /// What most likely leaves next, if that is known without looking far.
    fn next(&self) -> Option<Slot> {
        None
    }

    /// So many slots from now on. Slots from there on must have left; `blocks` is the column of those that remain.
    fn resize(&mut self, slots: u32, blocks: &(impl Blocks + ?Sized));

    /// Bytes of memory.
    fn bytes(&self) -> usize;
}
