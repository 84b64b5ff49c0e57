//! FlashCache's sets. Its dirty threshold counts in each set by itself: a set of which more is dirty is cleaned down to the
//! low mark, however clean the others are, in the order of addresses and a few blocks at a time. So what is written most is
//! written back most.

use std::collections::{BTreeMap, VecDeque};

use super::run::Run;
use super::sweep::Sweep;
use crate::cache::engine::contents::Contents;
use crate::cache::policy::SET_SLOTS;
use crate::cache::slots::SUPERSEDED;
use crate::cache::{Block, Settings};

/// Sets over their mark that are looked at for one write-back.
const LOOKS_MAX: usize = 16;

/// What is dirty in each set, and write-backs under way in each.
#[derive(Default)]
pub(super) struct Sets {
    /// None: the policy has no sets, or the order of flushes decides.
    sets: Vec<Set>,
    /// Sets that are being cleaned.
    over: VecDeque<u32>,
    /// Write-backs whose IOs are under way, by set.
    busy: BTreeMap<u32, u32>,
}

#[derive(Default)]
struct Set {
    dirty: u32,
    is_over: bool,
    /// The block from which its cleaning goes on.
    hand: Block,
}

impl Sets {
    /// Whether each set has a threshold of its own.
    #[inline]
    pub(super) fn have_marks(&self) -> bool {
        !self.sets.is_empty()
    }

    /// Whether some set is over it.
    pub(super) fn want(&self) -> bool {
        !self.over.is_empty()
    }

    /// Memory, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.sets.capacity() * size_of::<Set>() + self.over.capacity() * size_of::<u32>()
    }

    /// Counts anew what is dirty in each set; not if the order of flushes decides.
    pub(super) fn count(&mut self, contents: &Contents, settings: &Settings, ordered: bool) {
        (self.sets, self.over) = (Vec::new(), VecDeque::new());
        let Some(sets) = contents.sets().filter(|_| !ordered) else { return };
        let set = |number| Set { hand: Block(number * SET_SLOTS), ..Set::default() };
        self.sets = (0..sets).map(set).collect();
        let slots = contents.slots();
        for slot in slots.all() {
            if slots.dirty(slot) && !slots.has(slot, SUPERSEDED) {
                self.became_dirty(slots.block(slot), contents, settings);
            }
        }
    }

    /// The blocks of a set that a mark stands for.
    fn mark(&self, limit: u32, percent: f64) -> u32 {
        (f64::from(limit) / self.sets.len() as f64 * percent / 100.0) as u32
    }

    /// A block became dirty.
    pub(super) fn became_dirty(&mut self, block: Block, contents: &Contents, settings: &Settings) {
        let Some(at) = self.have_marks().then(|| contents.set_of(block)).flatten() else { return };
        let most = self.mark(contents.limit(), settings.dirty_high_pct);
        let set = &mut self.sets[at as usize];
        set.dirty += 1;
        if set.dirty > most && !set.is_over {
            set.is_over = true;
            self.over.push_back(at);
        }
    }

    /// A block is not dirty any more.
    pub(super) fn became_clean(&mut self, block: Block, contents: &Contents) {
        if let Some(at) = self.have_marks().then(|| contents.set_of(block)).flatten() {
            self.sets[at as usize].dirty -= 1;
        }
    }

    /// A write-back in a set begins.
    pub(super) fn begin(&mut self, set: u32) {
        *self.busy.entry(set).or_default() += 1;
    }

    /// The IOs of a write-back in a set are over.
    pub(super) fn end(&mut self, set: u32) {
        if let Some(busy) = self.busy.get_mut(&set) {
            *busy -= 1;
            if *busy == 0 {
                self.busy.remove(&set);
            }
        }
    }

    /// Whether as many write-backs of a set are under way as may be.
    pub(super) fn is_full(&self, set: u32, settings: &Settings) -> bool {
        let most = settings.write_back_depth_per_set;
        most > 0 && self.busy.get(&set).is_some_and(|busy| *busy >= most)
    }

    /// The next run of a set that is over its mark. None: none can be begun now.
    pub(super) fn next(
        &mut self,
        sweep: &mut Sweep,
        contents: &Contents,
        settings: &Settings,
        blocks_max: u32,
    ) -> Option<Run> {
        for _ in 0..self.over.len().min(LOOKS_MAX) {
            let number = self.over.pop_front()?;
            let low = self.mark(contents.limit(), settings.dirty_low_pct);
            let set = &mut self.sets[number as usize];
            if set.dirty <= low {
                set.is_over = false;
                continue;
            }
            let hand = set.hand;
            self.over.push_back(number);
            if self.is_full(number, settings) {
                continue;
            }
            // Ahead of its hand, then from its first block.
            for from in [hand, Block(number * SET_SLOTS)] {
                if let Some((run, next)) = self.next_of_set(from, sweep, contents, blocks_max) {
                    self.sets[number as usize].hand = next;
                    return Some(run);
                }
            }
        }
        None
    }

    /// The first run from `from` on, in its set, that can go, and the block after it.
    fn next_of_set(
        &self,
        from: Block,
        sweep: &mut Sweep,
        contents: &Contents,
        blocks_max: u32,
    ) -> Option<(Run, Block)> {
        let stride = (self.sets.len() as u32).saturating_mul(SET_SLOTS);
        let mut block = from;
        while block.0 < sweep.blocks() {
            let begin = block.0 / SET_SLOTS * SET_SLOTS;
            let end = begin.saturating_add(SET_SLOTS).min(sweep.blocks());
            while let Some(dirty) = sweep.first_dirty(block, Block(end), contents) {
                if let Some(run) = Run::around(dirty, contents, blocks_max) {
                    // Not past the set's own blocks, where its neighbours' begin.
                    let next = run.end().min(Block(end - 1));
                    return Some((run, next));
                }
                block = dirty + 1;
            }
            block = Block(begin.checked_add(stride)?);
        }
        None
    }
}
