//! Write-back of what has been dirty longest, a batch at a time, each batch in the order of addresses.

use super::queue::Queue;
use super::run::{BATCH, Run};
use crate::cache::engine::contents::Contents;
use crate::cache::slots::{DESTAGING, LOST, QUEUED};
use crate::cache::{Block, Slot};

/// Dirty blocks in the order in which they became so; some left meanwhile.
#[derive(Default)]
pub(super) struct ByAge {
    queue: Queue,
    /// Blocks to be written back next, by address, the next one last.
    batch: Vec<Block>,
}

impl ByAge {
    /// Blocks in the queue.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Memory, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.queue.bytes() + self.batch.capacity() * size_of::<Block>()
    }

    /// Forgets what it holds, and takes dirty blocks, the oldest first.
    pub(super) fn restart(&mut self, oldest_first: impl IntoIterator<Item = Block>, contents: &mut Contents) {
        self.batch.clear();
        contents.unmark_all(QUEUED);
        self.queue = oldest_first
            .into_iter()
            .inspect(|block| {
                let slot = contents.find(*block);
                contents.mark(slot, QUEUED);
            })
            .collect();
    }

    /// A block is dirty, or still is.
    pub(super) fn push(&mut self, block: Block, slot: Slot, contents: &mut Contents) {
        if contents.slots().dirty(slot) && !contents.slots().has(slot, QUEUED) {
            contents.mark(slot, QUEUED);
            self.queue.push_back(block);
            self.tidy(contents);
        }
    }

    /// Takes out of the queue what is not dirty any more, when that is most of it.
    fn tidy(&mut self, contents: &mut Contents) {
        if self.queue.len() < contents.dirty() as usize * 5 / 4 + 4 * BATCH {
            return;
        }
        let blocks: Vec<Block> = self.queue.iter().copied().collect();
        let mut kept = Vec::with_capacity(contents.dirty() as usize);
        for block in blocks {
            let slot = contents.find(block);
            if slot != Slot::NONE && contents.slots().has(slot, QUEUED) {
                // The first time only: a block can stand in it twice.
                contents.unmark(slot, QUEUED);
                if contents.slots().dirty(slot) {
                    kept.push((block, slot));
                }
            }
        }
        for (_, slot) in &kept {
            contents.mark(*slot, QUEUED);
        }
        self.queue = kept.into_iter().map(|(block, _)| block).collect();
    }

    /// What was taken out to be written back goes to the front of the queue again.
    pub(super) fn give_up_batch(&mut self, contents: &mut Contents) {
        while let Some(block) = self.batch.pop() {
            let slot = contents.find(block);
            if slot != Slot::NONE && contents.slots().dirty(slot) && !contents.slots().has(slot, QUEUED) {
                contents.mark(slot, QUEUED);
                self.queue.push_front(block);
            }
        }
    }

    /// The blocks that are dirty for longest, sorted by address.
    fn take_batch(&mut self, many: usize, contents: &mut Contents) {
        let mut tries = self.queue.len();
        while self.batch.len() < many && tries > 0 {
            tries -= 1;
            let Some(block) = self.queue.pop_front() else { break };
            self.queue.ahead().inspect(|ahead| contents.prefetch(*ahead));
            let slot = contents.find(block);
            if slot == Slot::NONE {
                continue;
            }
            if contents.slots().dirty(slot) && contents.slots().has(slot, DESTAGING) {
                // Its older version is on the way.
                self.queue.push_back(block);
                continue;
            }
            contents.unmark(slot, QUEUED);
            if contents.slots().dirty(slot) && !contents.slots().has(slot, LOST) {
                self.batch.push(block);
            }
        }
        self.batch.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// The next run, out of a batch of so many blocks.
    pub(super) fn next(&mut self, batch: usize, contents: &mut Contents, blocks_max: u32) -> Option<Run> {
        if self.batch.is_empty() {
            self.take_batch(batch, contents);
        }
        if let [.., next, _] = self.batch[..] {
            contents.prefetch_neighbours(next);
        }
        while let Some(block) = self.batch.pop() {
            if let Some(run) = Run::around(block, contents, blocks_max) {
                return Some(run);
            }
            let slot = contents.find(block);
            let slots = contents.slots();
            if slot != Slot::NONE && slots.dirty(slot) && !slots.has(slot, DESTAGING | LOST | QUEUED) {
                contents.mark(slot, QUEUED);
                self.queue.push_back(block);
            }
        }
        None
    }
}
