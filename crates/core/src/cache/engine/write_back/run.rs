//! A run of neighbouring versions that are written back as one IO.

use crate::cache::engine::contents::Contents;
use crate::cache::slots::{ALONE, DESTAGING, LOST};
use crate::cache::{Block, Slot};

/// Blocks that are sorted by address before they are written back.
pub(super) const BATCH: usize = 256;

/// Versions of neighbouring blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Run {
    /// The first block.
    pub(in super::super) block: Block,
    /// The slot of each.
    pub(in super::super) slots: Vec<Slot>,
}

impl Run {
    /// How many blocks.
    pub(super) fn blocks(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The first block behind it.
    pub(super) fn end(&self) -> Block {
        self.block + self.blocks()
    }

    /// A block and its neighbours that are dirty too, at most so many. None: the block cannot be written back now.
    pub(super) fn around(block: Block, contents: &Contents, blocks_max: u32) -> Option<Self> {
        let slot = to_write_back(block, contents)?;
        let mut run = Self { block, slots: vec![slot] };
        if !contents.slots().has(slot, ALONE) {
            contents.prefetch_neighbours(block);
            let neighbour = |block| to_write_back(block, contents).filter(|slot| !contents.slots().has(*slot, ALONE));
            while run.blocks() < blocks_max
                && let Some(slot) = neighbour(run.end())
            {
                run.slots.push(slot);
            }
            let after = run.blocks();
            while run.blocks() < blocks_max
                && run.block.0 > 0
                && let Some(slot) = neighbour(Block(run.block.0 - 1))
            {
                run.block = Block(run.block.0 - 1);
                run.slots.push(slot);
            }
            // Those before the block were found backwards.
            run.slots.rotate_left(after as usize);
            let before = run.blocks() - after;
            run.slots[..before as usize].reverse();
        }
        Some(run)
    }
}

/// The slot of a block that can be written back now.
pub(in super::super) fn to_write_back(block: Block, contents: &Contents) -> Option<Slot> {
    let slot = contents.find(block);
    let goes = slot != Slot::NONE && contents.slots().dirty(slot) && !contents.slots().has(slot, DESTAGING | LOST);
    goes.then_some(slot)
}
