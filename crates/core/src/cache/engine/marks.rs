//! FlashCache's dirty threshold, which counts in each set by itself: a set of which more is dirty is cleaned down to the low
//! mark, however clean the others are, in the order of addresses and a few blocks at a time. So what is written most is
//! written back most.

use std::collections::VecDeque;

use super::{Engine, Turn};
use crate::cache::policy::{Policies, SET_SLOTS};
use crate::cache::slots::SUPERSEDED;
use crate::cache::{Block, Memory};

/// Sets over their mark that are looked at for one write-back.
const LOOKS_MAX: usize = 16;

/// What is dirty in each set.
#[derive(Default)]
pub(super) struct Marks {
    /// None: the policy has no sets, or the order of flushes decides.
    sets: Vec<Set>,
    /// Sets that are being cleaned.
    over: VecDeque<u32>,
}

#[derive(Default)]
struct Set {
    dirty: u32,
    is_over: bool,
    /// The block from which its cleaning goes on.
    hand: Block,
}

impl Marks {
    /// Whether each set has a threshold of its own.
    #[inline]
    pub(super) fn on(&self) -> bool {
        !self.sets.is_empty()
    }

    /// Whether some set is over it.
    pub(super) fn wants(&self) -> bool {
        !self.over.is_empty()
    }

    /// Memory, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.sets.capacity() * size_of::<Set>() + self.over.capacity() * size_of::<u32>()
    }
}

impl Engine {
    /// Counts anew what is dirty in each set.
    pub(super) fn count_sets(&mut self) {
        self.marks = Marks::default();
        let Policies::Flashcache(policy) = &self.policy else { return };
        if !self.epochs.is_empty() {
            return;
        }
        let set = |number| Set { hand: Block(number * SET_SLOTS), ..Set::default() };
        self.marks.sets = (0..policy.sets()).map(set).collect();
        for slot in self.slots.all() {
            if self.slots.dirty(slot) && !self.slots.has(slot, SUPERSEDED) {
                self.set_has_dirty(self.slots.block(slot));
            }
        }
    }

    /// The blocks of a set that a mark stands for.
    fn set_mark(&self, percent: f64) -> u32 {
        (f64::from(self.space.limit) / self.marks.sets.len() as f64 * percent / 100.0) as u32
    }

    /// A block of its set is dirty that was not.
    pub(super) fn set_has_dirty(&mut self, block: Block) {
        let Some(at) = self.marks.on().then(|| self.set_of(block)).flatten() else { return };
        let most = self.set_mark(self.settings.dirty_high_pct);
        let set = &mut self.marks.sets[at as usize];
        set.dirty += 1;
        if set.dirty > most && !set.is_over {
            set.is_over = true;
            self.marks.over.push_back(at);
        }
    }

    /// A block of its set is not dirty any more.
    pub(super) fn set_has_clean(&mut self, block: Block) {
        if let Some(at) = self.marks.on().then(|| self.set_of(block)).flatten() {
            self.marks.sets[at as usize].dirty -= 1;
        }
    }

    /// Begins a write-back in a set that is over its mark; false: none can be begun now.
    pub(super) fn clean_sets<M: Memory>(&mut self, turn: &mut Turn<M>) -> bool {
        for _ in 0..self.marks.over.len().min(LOOKS_MAX) {
            let Some(number) = self.marks.over.pop_front() else { return false };
            let set = &mut self.marks.sets[number as usize];
            let (dirty, hand) = (set.dirty, set.hand);
            if dirty <= self.set_mark(self.settings.dirty_low_pct) {
                self.marks.sets[number as usize].is_over = false;
                continue;
            }
            self.marks.over.push_back(number);
            if self.set_is_full(number) {
                continue;
            }
            // Ahead of its hand, then from its first block.
            for from in [hand, Block(number * SET_SLOTS)] {
                if let Some(next) = self.clean_set(from, turn) {
                    self.marks.sets[number as usize].hand = next;
                    return true;
                }
            }
        }
        false
    }

    /// Begins a write-back of the first block from `from` on, in its set, that can go. Returns the block after it.
    fn clean_set<M: Memory>(&mut self, from: Block, turn: &mut Turn<M>) -> Option<Block> {
        let stride = (self.marks.sets.len() as u32).saturating_mul(SET_SLOTS);
        let mut block = from;
        while block.0 < self.whole_blocks {
            let begin = block.0 / SET_SLOTS * SET_SLOTS;
            let end = begin.saturating_add(SET_SLOTS).min(self.whole_blocks);
            loop {
                let dirty = self.first_dirty(block, Block(end));
                if dirty == Block::NONE {
                    break;
                }
                if let Some((_, last)) = self.destage(dirty, turn) {
                    // Not past the set's own blocks, where its neighbours' begin.
                    return Some((last + 1).min(Block(end - 1)));
                }
                block = dirty + 1;
            }
            block = Block(begin.checked_add(stride)?);
        }
        None
    }
}
