//! FlashCache's sets: each block belongs to one set of 512 slots, and a block that it displaces belongs to the same
//! set.
//!
//! 512 neighbouring blocks belong to the same set. With FIFO, each set evicts its oldest block. With LRU, each set has
//! two lists in the order of use, hot and warm. A new block is warm, its second use makes it hot, at most 75 % are hot,
//! and the least recently used warm block is evicted. FlashCache's slots lie set by set on the device. Here a set only
//! bounds how many slots its blocks may have, and any slot will do.

use super::list::{Links, List, Note, last_not_held};
use super::replacement::Policy;
use crate::cache::slots::Blocks;
use crate::cache::{Block, Slot};

/// FlashCache's `assoc`.
pub const SET_SLOTS: u32 = 512;
/// FlashCache's `lru_hot_pct`.
const HOT_PCT: u32 = 75;
/// FlashCache's `lru_promote_thresh`.
const PROMOTED: u8 = 2;

#[derive(Clone, Copy, Default)]
struct Set {
    hot: List,
    warm: List,
    /// Slots of its blocks, including those that were passed over.
    len: u32,
    /// Slots in the hot list.
    hot_len: u32,
}

/// The sets.
pub struct Flashcache {
    links: Links,
    notes: Vec<Note>,
    sets: Vec<Set>,
    /// Slots of a set at most.
    ways: u32,
    lru: bool,
    /// The set that evicts next when any set may.
    next: usize,
}

/// How many sets, and of how many slots.
fn shape(slots: u32) -> (u32, u32) {
    let sets = (slots / SET_SLOTS).max(1);
    (sets, slots.div_ceil(sets))
}

impl Flashcache {
    /// For so many slots; `lru` or `fifo` within a set.
    pub fn new(slots: u32, lru: bool) -> Self {
        let (sets, ways) = shape(slots);
        Self {
            links: Links::new(slots),
            notes: vec![Note::default(); slots as usize],
            sets: vec![Set::default(); sets as usize],
            ways,
            lru,
            next: 0,
        }
    }

    fn set(&self, block: Block) -> usize {
        block.0 as usize / SET_SLOTS as usize % self.sets.len()
    }

    /// How many sets there are.
    pub fn sets(&self) -> u32 {
        self.sets.len() as u32
    }

    /// The number of a block's set: write-back bounds the write-backs of each set.
    pub fn set_of(&self, block: Block) -> u32 {
        self.set(block) as u32
    }

    /// A warm block was used often enough to become hot. If too many are hot, the coldest of them becomes warm.
    fn promote(&mut self, at: usize, slot: Slot) {
        let set = &mut self.sets[at];
        self.links.unlink(&mut set.warm, slot);
        if set.hot_len >= self.ways * HOT_PCT / 100
            && let Some(coldest) = set.hot.last()
        {
            self.links.unlink(&mut set.hot, coldest);
            self.links.push_first(&mut set.warm, coldest);
            let note = &mut self.notes[coldest.index()];
            *note = note.with_main(false).with_uses(0);
            set.hot_len -= 1;
        }
        // It enters at the cold end, as in FlashCache: only a use in the hot list makes it safe there.
        self.links.push_last(&mut set.hot, slot);
        let note = &mut self.notes[slot.index()];
        *note = note.with_main(true);
        set.hot_len += 1;
    }

    /// The slot that a set evicts: the last warm one, else the last hot one.
    fn set_victim(&mut self, at: usize) -> Option<Slot> {
        let set = &mut self.sets[at];
        let slot = last_not_held(&mut self.links, &mut self.notes, &mut set.warm).or_else(|| {
            let before = set.hot;
            let passed = self.links.oldest_on(before).take_while(|slot| self.notes[slot.index()].held()).count() as u32;
            let slot = last_not_held(&mut self.links, &mut self.notes, &mut set.hot);
            set.hot_len -= passed + u32::from(slot.is_some());
            slot
        })?;
        set.len -= 1;
        Some(slot)
    }
}

impl Policy for Flashcache {
    fn insert(&mut self, slot: Slot, block: Block) {
        let at = self.set(block);
        let set = &mut self.sets[at];
        self.notes[slot.index()] = Note::default();
        self.links.push_first(&mut set.warm, slot);
        set.len += 1;
    }

    fn hit(&mut self, slot: Slot, block: Block) {
        if !self.lru {
            return;
        }
        let at = self.set(block);
        let note = self.notes[slot.index()].used();
        self.notes[slot.index()] = note;
        let set = &mut self.sets[at];
        if note.passed() {
            // It gets its place when it is released.
        } else if note.main() {
            self.links.bring_first(&mut set.hot, slot);
        } else if note.uses() >= PROMOTED {
            self.promote(at, slot);
        } else {
            self.links.bring_first(&mut set.warm, slot);
        }
    }

    fn remove(&mut self, slot: Slot, block: Block) {
        let at = self.set(block);
        let set = &mut self.sets[at];
        let note = self.notes[slot.index()];
        set.len -= 1;
        if note.passed() {
        } else if note.main() {
            set.hot_len -= 1;
            self.links.unlink(&mut set.hot, slot);
        } else {
            self.links.unlink(&mut set.warm, slot);
        }
    }

    fn hold(&mut self, slot: Slot) {
        let note = &mut self.notes[slot.index()];
        *note = note.with_held(true);
    }

    fn release(&mut self, slot: Slot, block: Block) {
        let note = self.notes[slot.index()].with_held(false);
        self.notes[slot.index()] = note.with_passed(false);
        if note.passed() {
            self.notes[slot.index()] = Note::default().with_uses(note.uses());
            let at = self.set(block);
            let set = &mut self.sets[at];
            if note.uses() > 0 {
                self.links.push_first(&mut set.warm, slot);
            } else {
                self.links.push_last(&mut set.warm, slot);
            }
        }
    }

    fn victim(&mut self, block: Block, _blocks: &(impl Blocks + ?Sized)) -> Option<Slot> {
        if block != Block::NONE {
            let at = self.set(block);
            return self.set_victim(at);
        }
        (0..self.sets.len()).find_map(|_| {
            self.next = (self.next + 1) % self.sets.len();
            self.set_victim(self.next)
        })
    }

    fn moved(&mut self, from: Slot, to: Slot, block: Block) {
        let note = std::mem::take(&mut self.notes[from.index()]);
        self.notes[to.index()] = note;
        let at = self.set(block);
        let set = &mut self.sets[at];
        if !note.passed() {
            self.links.substitute(if note.main() { &mut set.hot } else { &mut set.warm }, from, to);
        }
    }

    fn room(&self, block: Block) -> bool {
        self.sets[self.set(block)].len < self.ways
    }

    #[inline]
    fn prefetch_slot(&self, slot: Slot) {
        self.links.prefetch(slot);
    }

    /// The set of every block changes with the number of sets. Slots that were passed over are found by their note.
    fn resize(&mut self, slots: u32, blocks: &(impl Blocks + ?Sized)) {
        let (sets, ways) = shape(slots);
        let old = std::mem::replace(&mut self.sets, vec![Set::default(); sets as usize]);
        let order: Vec<Slot> =
            old.iter().flat_map(|set| self.links.oldest_on(set.warm).chain(self.links.oldest_on(set.hot))).collect();
        self.links.resize(slots);
        self.notes.resize(slots as usize, Note::default());
        self.notes.shrink_to_fit();
        self.ways = ways;
        self.next = 0;
        for slot in order {
            let held = self.notes[slot.index()].held();
            self.insert(slot, blocks.block(slot));
            self.notes[slot.index()] = Note::default().with_held(held);
        }
        for slot in Slot::first(slots.min(blocks.slots())) {
            let block = blocks.block(slot);
            if self.notes[slot.index()].passed() && block != Block::NONE {
                let at = self.set(block);
                self.sets[at].len += 1;
            }
        }
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.notes.capacity() + self.sets.capacity() * size_of::<Set>()
    }
}
