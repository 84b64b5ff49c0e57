//! S3-FIFO: "FIFO queues are all you need for cache eviction" (Yang, Zhang, Qiu, Yue and Rashmi, SOSP 2023).
//!
//! New blocks enter a small queue. At its end, blocks that were used twice move to the main queue. The others are
//! evicted, and a table of ghosts remembers them. A block that comes back while it is remembered enters the main queue
//! at once. At the end of the main queue, blocks that were used go round again with one use fewer (three are counted at
//! most), and the others are evicted. So a scan passes through the small queue and touches nothing else.
//!
//! Shares and thresholds are those of libCacheSim, which made the authors' figures.

use super::list::{Links, List, Note};
use super::replacement::Policy;
use crate::cache::ghost::Ghost;
use crate::cache::slots::Blocks;
use crate::cache::{Block, Slot};

/// Share of the small queue.
const SMALL: f64 = 0.1;
/// Blocks that the ghost remembers, as a share of the slots.
const REMEMBERED: f64 = 0.9;
/// Uses in the small queue that lead to the main one.
const PROMOTED: u8 = 2;

/// The two queues and the ghost.
pub struct S3Fifo {
    links: Links,
    notes: Vec<Note>,
    small: List,
    main: List,
    /// Slots of the main queue, including those that were passed over.
    main_len: u32,
    main_max: u32,
    ghost: Ghost,
    /// The block for which room was made, and whether it was a ghost.
    expected: Option<(Block, bool)>,
}

fn main_max(slots: u32) -> u32 {
    slots - (f64::from(slots) * SMALL) as u32
}

fn ghost(slots: u32) -> Ghost {
    Ghost::new((f64::from(slots) * REMEMBERED) as u32)
}

impl S3Fifo {
    /// For so many slots.
    pub fn new(slots: u32) -> Self {
        Self {
            links: Links::new(slots),
            notes: vec![Note::default(); slots as usize],
            small: List::default(),
            main: List::default(),
            main_len: 0,
            main_max: main_max(slots),
            ghost: ghost(slots),
            expected: None,
        }
    }

    /// Moves used blocks to the main queue until the small queue evicts a slot. None: all slots that are left are held.
    fn small_victim(&mut self, blocks: &(impl Blocks + ?Sized)) -> Option<Slot> {
        while let Some(slot) = self.small.last() {
            self.links.unlink(&mut self.small, slot);
            let note = &mut self.notes[slot.index()];
            if note.uses() >= PROMOTED {
                *note = note.with_uses(0).with_main(true);
                self.main_len += 1;
                self.links.push_first(&mut self.main, slot);
            } else if note.held() {
                *note = note.with_passed(true);
            } else {
                self.ghost.put(blocks.block(slot));
                self.next_leaves(blocks);
                return Some(slot);
            }
        }
        None
    }

    /// Prefetches the state of the slot that is most likely evicted next.
    #[inline]
    fn next_leaves(&self, blocks: &(impl Blocks + ?Sized)) {
        if let Some(next) = self.small.last() {
            self.ghost.prefetch(blocks.block(next));
        }
    }

    /// Turns the main queue until it evicts a slot. None: all slots that are left are held.
    fn main_victim(&mut self) -> Option<Slot> {
        while let Some(slot) = self.main.last() {
            let note = &mut self.notes[slot.index()];
            if note.uses() > 0 {
                *note = note.with_uses(note.uses() - 1);
                self.links.bring_first(&mut self.main, slot);
                continue;
            }
            self.links.unlink(&mut self.main, slot);
            if !note.held() {
                self.main_len -= 1;
                return Some(slot);
            }
            *note = note.with_passed(true);
        }
        None
    }
}

impl Policy for S3Fifo {
    #[inline]
    fn insert(&mut self, slot: Slot, block: Block) {
        let known = match self.expected.take() {
            Some((expected, known)) if expected == block => known,
            _ => self.ghost.take(block),
        };
        self.notes[slot.index()] = Note::default().with_main(known);
        if known {
            self.main_len += 1;
            self.links.push_first(&mut self.main, slot);
        } else {
            self.links.push_first(&mut self.small, slot);
        }
    }

    #[inline]
    fn hit(&mut self, slot: Slot, _block: Block) {
        let note = &mut self.notes[slot.index()];
        *note = note.used();
    }

    fn remove(&mut self, slot: Slot, _block: Block) {
        let note = self.notes[slot.index()];
        self.main_len -= u32::from(note.main());
        if !note.passed() {
            self.links.unlink(if note.main() { &mut self.main } else { &mut self.small }, slot);
        }
    }

    fn hold(&mut self, slot: Slot) {
        let note = &mut self.notes[slot.index()];
        *note = note.with_held(true);
    }

    fn release(&mut self, slot: Slot, _block: Block) {
        let note = &mut self.notes[slot.index()];
        let passed = note.passed();
        *note = note.with_held(false).with_passed(false);
        if passed {
            // It returns to the end. Its uses meanwhile decide when `victim` reaches it.
            let list = if note.main() { &mut self.main } else { &mut self.small };
            self.links.push_last(list, slot);
        }
    }

    fn victim(&mut self, block: Block, blocks: &(impl Blocks + ?Sized)) -> Option<Slot> {
        // This is read first: remembering another block might make the table forget the very block that comes in.
        self.expected = (block != Block::NONE).then(|| (block, self.ghost.take(block)));
        loop {
            if (self.main_len > self.main_max || self.small.last().is_none())
                && let Some(slot) = self.main_victim()
            {
                return Some(slot);
            }
            if let Some(slot) = self.small_victim(blocks) {
                return Some(slot);
            }
            // The small queue evicts nothing, but a block may have moved to the main queue.
            self.main.last()?;
        }
    }

    fn moved(&mut self, from: Slot, to: Slot, _block: Block) {
        let note = std::mem::take(&mut self.notes[from.index()]);
        self.notes[to.index()] = note;
        if !note.passed() {
            self.links.substitute(if note.main() { &mut self.main } else { &mut self.small }, from, to);
        }
    }

    #[inline]
    fn prefetch_slot(&self, slot: Slot) {
        self.links.prefetch(slot);
    }

    #[inline]
    fn prefetch_block(&self, block: Block) {
        self.ghost.prefetch(block);
    }

    #[inline]
    fn next(&self) -> Option<Slot> {
        self.small.last()
    }

    fn resize(&mut self, slots: u32, _blocks: &(impl Blocks + ?Sized)) {
        self.links.resize(slots);
        self.notes.resize(slots as usize, Note::default());
        self.notes.shrink_to_fit();
        self.main_max = main_max(slots);
        self.ghost = ghost(slots);
        self.expected = None;
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.notes.capacity() + self.ghost.bytes()
    }
}
