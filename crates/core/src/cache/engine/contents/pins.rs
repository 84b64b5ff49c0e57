//! Ranges of blocks that are never evicted.

use crate::cache::Block;

/// The ranges: each from a block to one before which it ends. They may overlap.
#[derive(Default)]
pub(super) struct Pins(Vec<(Block, Block)>);

impl Pins {
    /// Whether a block is in a range.
    #[inline]
    pub(super) fn contain(&self, block: Block) -> bool {
        !self.0.is_empty() && self.0.iter().any(|(from, to)| (*from..*to).contains(&block))
    }

    /// Blocks in all ranges; those in two count twice.
    pub(super) fn blocks(&self) -> u64 {
        self.0.iter().map(|(from, to)| u64::from(*to - *from)).sum()
    }

    /// Adds a range.
    pub(super) fn add(&mut self, from: Block, to: Block) {
        self.0.push((from, to));
    }

    /// Takes a range out of all others. What was pinned around it stays so.
    pub(super) fn remove(&mut self, from: Block, to: Block) {
        let mut rest = Vec::new();
        for (first, last) in std::mem::take(&mut self.0) {
            rest.extend([(first, last.min(from)), (first.max(to), last)].into_iter().filter(|(a, b)| a < b));
        }
        self.0 = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_around_a_range_that_is_taken_out_stays() {
        let mut pins = Pins::default();
        pins.add(Block(10), Block(20));
        pins.add(Block(15), Block(16));
        assert_eq!(pins.blocks(), 11);
        pins.remove(Block(12), Block(17));
        let left: Vec<u32> = (0..30).filter(|block| pins.contain(Block(*block))).collect();
        assert_eq!(left, [10, 11, 17, 18, 19]);
        assert_eq!(pins.blocks(), 5);
    }
}
