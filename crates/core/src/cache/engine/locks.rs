//! Locks of blocks: each block has one owner at a time, and the parts behind it wait in the order in which they came.

use super::keys::{BypassId, FillId, WriteId};
use super::requests::Part;
use crate::cache::Block;
use crate::seed::splitmix;
use crate::slab::Slab;

/// The owner of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A fill.
    Fill(FillId),
    /// A write into the cache.
    Write(WriteId),
    /// A write that bypasses the cache.
    Bypass(BypassId),
    /// No owner just now: the lock passes from one to the next.
    Nobody,
}

#[derive(Clone, Copy)]
struct Lock {
    block: Block,
    owner: Owner,
    first: Option<WaitingId>,
    last: Option<WaitingId>,
}

const EMPTY: Lock = Lock { block: Block::NONE, owner: Owner::Nobody, first: None, last: None };

crate::slab_key!(WaitingId);

struct Waiting {
    part: Part,
    next: Option<WaitingId>,
}

/// The table of locks. It uses open addressing with linear probing. A removal moves the locks behind it back.
pub(super) struct Locks {
    table: Vec<Lock>,
    used: usize,
    waiting: Slab<Waiting, WaitingId>,
}

impl Locks {
    pub(super) fn new() -> Self {
        Self { table: vec![EMPTY; 64], used: 0, waiting: Slab::default() }
    }

    #[inline]
    fn home(&self, block: Block) -> usize {
        (splitmix(u64::from(block.0)) as usize) & (self.table.len() - 1)
    }

    #[inline]
    fn find(&self, block: Block) -> Option<usize> {
        self.look(block).ok()
    }

    /// The place of a block, or (Err) the place where it would be put.
    #[inline]
    fn look(&self, block: Block) -> Result<usize, usize> {
        let mut at = self.home(block);
        loop {
            let lock = &self.table[at];
            if lock.block == block {
                return Ok(at);
            }
            if lock.block == Block::NONE {
                return Err(at);
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    /// Whether the block is locked.
    #[inline]
    pub(super) fn held(&self, block: Block) -> bool {
        self.find(block).is_some()
    }

    /// The owner of a block; None: the block is not locked.
    pub(super) fn owner(&self, block: Block) -> Option<Owner> {
        self.find(block).map(|at| self.table[at].owner)
    }

    /// Locks a block, or changes its owner.
    pub(super) fn hold(&mut self, block: Block, owner: Owner) {
        let at = match self.look(block) {
            Ok(at) => {
                self.table[at].owner = owner;
                return;
            }
            Err(at) => at,
        };
        let lock = Lock { block, owner, ..EMPTY };
        self.used += 1;
        if self.used * 2 <= self.table.len() {
            self.table[at] = lock;
        } else {
            let doubled = vec![EMPTY; self.table.len() * 2];
            for lock in std::mem::replace(&mut self.table, doubled) {
                if lock.block != Block::NONE {
                    self.place(lock);
                }
            }
            self.place(lock);
        }
    }

    fn place(&mut self, lock: Lock) {
        let mut at = self.home(lock.block);
        while self.table[at].block != Block::NONE {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = lock;
    }

    /// A part waits for a locked block.
    pub(super) fn wait(&mut self, block: Block, part: Part) {
        let at = self.find(block).expect("somebody holds it");
        let waiting = self.waiting.insert(Waiting { part, next: None });
        let lock = &mut self.table[at];
        match lock.last.replace(waiting) {
            None => lock.first = Some(waiting),
            Some(last) => self.waiting[last].next = Some(waiting),
        }
    }

    /// The part that has waited longest for a block.
    pub(super) fn first(&self, block: Block) -> Option<Part> {
        self.table[self.find(block)?].first.map(|first| self.waiting[first].part)
    }

    /// Takes the part that has waited longest for a block.
    pub(super) fn pop(&mut self, block: Block) -> Option<Part> {
        let at = self.find(block)?;
        let lock = &mut self.table[at];
        let waiting = self.waiting.remove(lock.first?);
        lock.first = waiting.next;
        if lock.first.is_none() {
            lock.last = None;
        }
        Some(waiting.part)
    }

    /// Unlocks a block if no part waits for it. Returns whether it did.
    #[inline]
    pub(super) fn release_if_last(&mut self, block: Block) -> bool {
        match self.find(block) {
            Some(at) if self.table[at].first.is_some() => return false,
            Some(at) => self.close_up(at),
            None => {}
        }
        true
    }

    /// Unlocks a block for which no part waits.
    pub(super) fn release(&mut self, block: Block) {
        let released = self.release_if_last(block);
        debug_assert!(released);
    }

    /// Removes a lock from the table.
    fn close_up(&mut self, mut hole: usize) {
        self.used -= 1;
        let mask = self.table.len() - 1;
        let mut at = (hole + 1) & mask;
        while self.table[at].block != Block::NONE {
            // A lock may move back unless its home lies behind the hole.
            let home = self.home(self.table[at].block);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.table[hole] = self.table[at];
                hole = at;
            }
            at = (at + 1) & mask;
        }
        self.table[hole] = EMPTY;
    }

    /// How many blocks are locked.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::engine::keys::RequestId;
    use crate::slab::Key;
    use proptest::prelude::*;

    #[test]
    fn parts_that_wait_are_served_in_order() {
        let mut locks = Locks::new();
        locks.hold(Block(5), Owner::Write(WriteId::from_number(1)));
        let part = |at| Part { request: RequestId::from_number(0), block: Block(5), from: 0, bytes: 512, at };
        for at in 0..3 {
            locks.wait(Block(5), part(at));
        }
        assert_eq!(locks.first(Block(5)), Some(part(0)));
        assert_eq!(
            [locks.pop(Block(5)), locks.pop(Block(5)), locks.pop(Block(5)), locks.pop(Block(5))],
            [Some(part(0)), Some(part(1)), Some(part(2)), None]
        );
        locks.release(Block(5));
        assert!(!locks.held(Block(5)));
    }

    proptest! {
        #[test]
        fn is_a_map(steps in prop::collection::vec((0u32..200, any::<bool>()), 1..800)) {
            let mut locks = Locks::new();
            let mut known = std::collections::BTreeMap::new();
            for (number, (block, hold)) in steps.into_iter().enumerate() {
                let block = Block(block);
                if hold {
                    locks.hold(block, Owner::Fill(FillId::from_number(number as u32)));
                    known.insert(block, Owner::Fill(FillId::from_number(number as u32)));
                } else {
                    locks.release(block);
                    known.remove(&block);
                }
                prop_assert_eq!(locks.len(), known.len());
                for block in Block(0).run(200) {
                    prop_assert_eq!(locks.owner(block), known.get(&block).copied());
                }
            }
        }
    }
}
