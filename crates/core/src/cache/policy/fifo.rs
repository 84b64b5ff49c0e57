//! FIFO: the oldest block is evicted, however often it was used.

use super::lru::Lru;
use super::replacement::Policy;
use crate::cache::slots::Blocks;
use crate::cache::{Block, Slot};

/// One list in the order of arrival. It is an LRU list that ignores uses.
pub struct Fifo(Lru);

impl Fifo {
    /// For so many slots.
    pub fn new(slots: u32) -> Self {
        Self(Lru::new(slots))
    }
}

impl Policy for Fifo {
    #[inline]
    fn insert(&mut self, slot: Slot, block: Block) {
        self.0.insert(slot, block);
    }

    #[inline]
    fn hit(&mut self, _slot: Slot, _block: Block) {}

    fn remove(&mut self, slot: Slot, block: Block) {
        self.0.remove(slot, block);
    }

    fn hold(&mut self, slot: Slot) {
        self.0.hold(slot);
    }

    fn release(&mut self, slot: Slot, block: Block) {
        self.0.release(slot, block);
    }

    #[inline]
    fn victim(&mut self, block: Block, blocks: &(impl Blocks + ?Sized)) -> Option<Slot> {
        self.0.victim(block, blocks)
    }

    fn moved(&mut self, from: Slot, to: Slot, block: Block) {
        self.0.moved(from, to, block);
    }

    #[inline]
    fn prefetch_slot(&self, slot: Slot) {
        self.0.prefetch_slot(slot);
    }

    #[inline]
    fn next(&self) -> Option<Slot> {
        self.0.next()
    }

    fn resize(&mut self, slots: u32, blocks: &(impl Blocks + ?Sized)) {
        self.0.resize(slots, blocks);
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}
