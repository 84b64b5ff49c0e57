//! The queue of what became dirty: numbers of blocks in pieces, so that it takes no more memory than it must.

use crate::cache::Block;
use std::collections::VecDeque;

/// Numbers in a piece.
const PIECE: usize = 4096;

/// How far ahead `ahead` looks.
const AHEAD: usize = 8;

/// First in, first out.
#[derive(Default)]
pub(super) struct Queue {
    /// What was put back to the front, the first one last.
    front: Vec<Block>,
    pieces: VecDeque<VecDeque<Block>>,
    len: usize,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push_back(&mut self, block: Block) {
        if self.pieces.back().is_none_or(|piece| piece.len() == PIECE) {
            // Short queues stay small; a piece that is followed by another is full or was.
            let piece = if self.pieces.is_empty() { VecDeque::new() } else { VecDeque::with_capacity(PIECE) };
            self.pieces.push_back(piece);
        }
        if let Some(piece) = self.pieces.back_mut() {
            piece.push_back(block);
        }
        self.len += 1;
    }

    pub(super) fn push_front(&mut self, block: Block) {
        self.front.push(block);
        self.len += 1;
    }

    pub(super) fn pop_front(&mut self) -> Option<Block> {
        let block = self.front.pop().or_else(|| self.pieces.front_mut().and_then(VecDeque::pop_front))?;
        self.len -= 1;
        if self.pieces.front().is_some_and(VecDeque::is_empty) {
            self.pieces.pop_front();
        }
        Some(block)
    }

    /// One that comes out soon: enough before its turn that what is known of it comes from memory meanwhile.
    pub(super) fn ahead(&self) -> Option<Block> {
        self.pieces.front().and_then(|piece| piece.get(AHEAD)).copied()
    }

    /// In order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Block> {
        self.front.iter().rev().chain(self.pieces.iter().flatten())
    }

    /// Memory, bytes.
    pub(super) fn bytes(&self) -> usize {
        let pieces: usize = self.pieces.iter().map(VecDeque::capacity).sum();
        (self.front.capacity() + pieces) * size_of::<Block>()
    }
}

impl FromIterator<Block> for Queue {
    fn from_iter<T: IntoIterator<Item = Block>>(blocks: T) -> Self {
        let mut queue = Self::default();
        blocks.into_iter().for_each(|block| queue.push_back(block));
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_a_queue(steps in prop::collection::vec(0u32..5, 1..300)) {
            let (mut queue, mut known) = (Queue::default(), VecDeque::new());
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    0 => {
                        queue.push_front(Block(number as u32));
                        known.push_front(Block(number as u32));
                    }
                    1 => prop_assert_eq!(queue.pop_front(), known.pop_front()),
                    _ => for more in 0..500 {
                        queue.push_back(Block(more));
                        known.push_back(Block(more));
                    }
                }
                prop_assert_eq!(queue.len(), known.len());
                prop_assert!(queue.iter().eq(known.iter()));
            }
        }
    }
}
