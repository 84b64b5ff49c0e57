//! LRU: the least recently used block is evicted.

use super::list::{Links, List, Note, last_not_held};
use super::replacement::Policy;
use crate::cache::slots::Blocks;
use crate::cache::{Block, Slot};

/// One list in the order of use.
pub struct Lru {
    links: Links,
    notes: Vec<Note>,
    list: List,
}

impl Lru {
    /// For so many slots.
    pub fn new(slots: u32) -> Self {
        Self { links: Links::new(slots), notes: vec![Note::default(); slots as usize], list: List::default() }
    }
}

impl Policy for Lru {
    #[inline]
    fn insert(&mut self, slot: Slot, _block: Block) {
        self.notes[slot.index()] = Note::default();
        self.links.push_first(&mut self.list, slot);
    }

    #[inline]
    fn hit(&mut self, slot: Slot, _block: Block) {
        let note = &mut self.notes[slot.index()];
        if note.passed() {
            *note = note.used();
        } else {
            self.links.bring_first(&mut self.list, slot);
        }
    }

    fn remove(&mut self, slot: Slot, _block: Block) {
        if !self.notes[slot.index()].passed() {
            self.links.unlink(&mut self.list, slot);
        }
    }

    fn hold(&mut self, slot: Slot) {
        let note = &mut self.notes[slot.index()];
        *note = note.with_held(true);
    }

    fn release(&mut self, slot: Slot, _block: Block) {
        match std::mem::take(&mut self.notes[slot.index()]) {
            note if !note.passed() => {}
            note if note.uses() > 0 => self.links.push_first(&mut self.list, slot),
            _ => self.links.push_last(&mut self.list, slot),
        }
    }

    #[inline]
    fn victim(&mut self, _block: Block, _blocks: &(impl Blocks + ?Sized)) -> Option<Slot> {
        last_not_held(&mut self.links, &mut self.notes, &mut self.list)
    }

    fn moved(&mut self, from: Slot, to: Slot, _block: Block) {
        let note = std::mem::take(&mut self.notes[from.index()]);
        self.notes[to.index()] = note;
        if !note.passed() {
            self.links.substitute(&mut self.list, from, to);
        }
    }

    #[inline]
    fn prefetch_slot(&self, slot: Slot) {
        self.links.prefetch(slot);
    }

    #[inline]
    fn next(&self) -> Option<Slot> {
        self.list.last()
    }

    fn resize(&mut self, slots: u32, _blocks: &(impl Blocks + ?Sized)) {
        self.links.resize(slots);
        self.notes.resize(slots as usize, Note::default());
        self.notes.shrink_to_fit();
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.notes.capacity()
    }
}
