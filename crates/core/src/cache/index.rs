//! Which slot holds a block: an open hash table of slot numbers. The blocks' numbers stand in the slots.
//!
//! A block has two buckets of sixteen entries, one cache line each, and is put into the emptier one (Azar, Broder,
//! Karlin and Upfal 1994: the fullest bucket is then hardly fuller than the mean). What leaves leaves nothing behind.
//! The bits that slot numbers do not need hold a part of the block's hash, so that a search looks at hardly any slot
//! but the right one.

use crate::seed::splitmix;

use super::bucket::{Bucket, WAYS, prefetch};
use super::slots::Blocks;
use super::{Block, Slot};

/// Share of the entries that are used when all slots are: an entry costs 4 B / 0.8 = 5 B a slot. Both buckets of one
/// block in some 10,000 are then full, and somebody in them is moved to his other one.
const LOAD: f64 = 0.8;

/// An empty entry.
const NONE: u32 = u32::MAX;

/// Which slot holds a block.
pub struct Index {
    buckets: Vec<Bucket>,
    /// What found no place in either of its buckets.
    overflow: Vec<Slot>,
    slot_mask: u32,
}

/// The two buckets and the tag of a block.
struct Home {
    buckets: [usize; 2],
    tag: u32,
}

/// The first of the entries that `Index::alike` found: bucket and way.
#[inline]
fn place(home: &Home, alike: u32) -> (usize, usize) {
    let bit = alike.trailing_zeros() as usize;
    (home.buckets[bit / WAYS], bit % WAYS)
}

impl Index {
    /// An empty index for slots 0..`slots`.
    pub fn new(slots: u32) -> Self {
        let buckets = (f64::from(slots) / LOAD / WAYS as f64).ceil().max(1.0) as usize;
        // One pattern more than there are slots: all ones, under an all-ones tag, is the empty entry.
        let bits = u64::BITS - u64::from(slots).leading_zeros();
        let slot_mask = ((1u64 << bits) - 1) as u32;
        Self { buckets: vec![Bucket([NONE; WAYS]); buckets], overflow: Vec::new(), slot_mask }
    }

    #[inline]
    fn home(&self, block: Block) -> Home {
        let hash = splitmix(u64::from(block.0));
        let n = self.buckets.len() as u64;
        let first = ((hash >> 32) * n) >> 32;
        let second = ((hash & 0xffff_ffff) * n) >> 32;
        // The middle bits decide little about either bucket: those use the upper ones of their halves.
        let tag = ((hash >> 32) as u32 ^ (hash as u32)).rotate_left(13) & !self.slot_mask;
        Home { buckets: [first as usize, second as usize], tag }
    }

    /// Prefetches the entries of `block`, for a caller that will search for it soon.
    #[inline]
    pub fn prefetch(&self, block: Block) {
        for at in self.home(block).buckets {
            prefetch(&self.buckets, at);
        }
    }

    /// The slot that holds `block`; `blocks` is the slots' column of blocks.
    #[inline]
    pub fn find(&self, block: Block, blocks: &(impl Blocks + ?Sized)) -> Option<Slot> {
        self.entry(block, blocks).map(|(slot, _)| slot)
    }

    /// The slot, and where its entry is: bucket and way, or the place in the overflow.
    #[inline]
    fn entry(&self, block: Block, blocks: &(impl Blocks + ?Sized)) -> Option<(Slot, (usize, usize))> {
        let home = self.home(block);
        // Both at once: neither waits for the other one's line to come from memory.
        let mut alike = self.alike(&home, home.tag, !self.slot_mask);
        while alike != 0 {
            let (at, way) = place(&home, alike);
            let entry = self.buckets[at].0[way];
            let slot = Slot(entry & self.slot_mask);
            if entry != NONE && blocks.block(slot) == block {
                return Some((slot, (at, way)));
            }
            alike &= alike - 1;
        }
        if self.overflow.is_empty() {
            return None;
        }
        let place = self.overflow.iter().position(|slot| blocks.block(*slot) == block)?;
        Some((self.overflow[place], (usize::MAX, place)))
    }

    /// Which entries of both buckets are `value` in the bits of `mask`: the first bucket's in the lower half.
    #[inline]
    fn alike(&self, home: &Home, value: u32, mask: u32) -> u32 {
        let [first, second] = home.buckets;
        self.buckets[first].alike(value, mask) | self.buckets[second].alike(value, mask) << WAYS
    }

    /// The place of a block's entry if its slot is known. The search then does not read the slots.
    #[inline]
    fn find_known(&self, block: Block, slot: Slot) -> Option<(usize, usize)> {
        let home = self.home(block);
        let alike = self.alike(&home, home.tag | slot.0, NONE);
        if alike != 0 {
            return Some(place(&home, alike));
        }
        self.overflow.iter().position(|other| *other == slot).map(|place| (usize::MAX, place))
    }

    /// Puts a block in, which must not be in already.
    pub fn insert(&mut self, block: Block, slot: Slot, blocks: &(impl Blocks + ?Sized)) {
        debug_assert!(slot.0 < self.slot_mask || self.slot_mask == NONE, "slot {slot} is none of this index");
        let home = self.home(block);
        let [first, second] = home.buckets;
        let (free, other) = (self.buckets[first].alike(NONE, NONE), self.buckets[second].alike(NONE, NONE));
        let (at, free) = if free.count_ones() >= other.count_ones() { (first, free) } else { (second, other) };
        if free != 0 {
            self.buckets[at].0[free.trailing_zeros() as usize] = home.tag | slot.0;
        } else if !self.put_for_another(home, slot, blocks) {
            self.overflow.push(slot);
        }
    }

    /// Puts an entry into a bucket that has room.
    fn put(&mut self, bucket: usize, entry: u32) -> bool {
        let free = self.buckets[bucket].0.iter_mut().find(|entry| **entry == NONE);
        free.map(|free| *free = entry).is_some()
    }

    /// Puts a slot in the place of one that finds room in its other bucket.
    fn put_for_another(&mut self, home: Home, slot: Slot, blocks: &(impl Blocks + ?Sized)) -> bool {
        for at in home.buckets {
            for way in 0..WAYS {
                let entry = self.buckets[at].0[way];
                let [first, second] = self.home(blocks.block(Slot(entry & self.slot_mask))).buckets;
                if self.put(if first == at { second } else { first }, entry) {
                    self.buckets[at].0[way] = home.tag | slot.0;
                    return true;
                }
            }
        }
        false
    }

    /// Takes a block out, which is in `slot`; whether it was in.
    pub fn remove(&mut self, block: Block, slot: Slot) -> bool {
        match self.find_known(block, slot) {
            None => return false,
            Some((usize::MAX, place)) => _ = self.overflow.swap_remove(place),
            Some((at, way)) => self.buckets[at].0[way] = NONE,
        }
        true
    }

    /// Moves a block from slot `old` to another one; whether it was in.
    pub fn replace(&mut self, block: Block, old: Slot, slot: Slot) -> bool {
        match self.find_known(block, old) {
            None => return false,
            Some((usize::MAX, place)) => self.overflow[place] = slot,
            Some((at, way)) => {
                let entry = &mut self.buckets[at].0[way];
                *entry = (*entry & !self.slot_mask) | slot.0;
            }
        }
        true
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>() + self.overflow.capacity() * size_of::<Slot>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::stream;
    use proptest::prelude::*;
    use rand::Rng as _;

    #[test]
    fn overflow_is_rare() {
        let slots = 1 << 18;
        let mut index = Index::new(slots);
        let mut rng = stream(1, "index", 0);
        let mut blocks: Vec<Block> = (0..slots).map(|slot| Block(slot * 3)).collect();
        for (slot, block) in blocks.iter().enumerate() {
            index.insert(*block, Slot(slot as u32), &blocks);
        }
        // Ten lives of the whole cache: what leaves and comes must not crowd buckets over time.
        for turn in 0..8 * slots {
            let slot = Slot(rng.random_range(0..slots));
            assert!(index.remove(blocks[slot.index()], slot));
            blocks[slot.index()] = Block(3 * slots + turn);
            index.insert(blocks[slot.index()], slot, &blocks);
        }
        assert!(index.overflow.is_empty(), "{} overflowed", index.overflow.len());
        assert!(index.bytes() as f64 <= 5.001 * f64::from(slots));
    }

    #[test]
    fn a_full_bucket_loses_nothing() {
        let mut index = Index::new(1);
        index.slot_mask = 0xff;
        let blocks: Vec<Block> = (0..40).map(Block).collect();
        for block in &blocks {
            index.insert(*block, Slot(block.0), &blocks);
        }
        assert!(!index.overflow.is_empty());
        for block in &blocks {
            assert_eq!(index.find(*block, &blocks), Some(Slot(block.0)));
        }
        for block in blocks.iter().rev() {
            assert!(index.remove(*block, Slot(block.0)));
        }
        assert_eq!(index.find(Block(3), &blocks), None);
    }

    proptest! {
        #[test]
        fn is_a_map(slots in 1u32..300, steps in prop::collection::vec((0u32..600, any::<bool>()), 1..600)) {
            let mut index = Index::new(slots);
            let mut blocks = vec![Block::NONE; slots as usize];
            let mut free: Vec<Slot> = Slot::first(slots).collect();
            let mut known = std::collections::BTreeMap::new();
            for (block, put) in steps.into_iter().map(|(block, put)| (Block(block), put)) {
                prop_assert_eq!(index.find(block, &blocks), known.get(&block).copied());
                match (put, known.get(&block).copied()) {
                    (true, None) => if let Some(slot) = free.pop() {
                        blocks[slot.index()] = block;
                        index.insert(block, slot, &blocks);
                        known.insert(block, slot);
                    },
                    (true, Some(old)) => if let Some(slot) = free.pop() {
                        prop_assert!(index.replace(block, old, slot));
                        prop_assert!(!index.replace(block, old, slot));
                        blocks[old.index()] = Block::NONE;
                        blocks[slot.index()] = block;
                        free.push(old);
                        known.insert(block, slot);
                    },
                    (false, None) => for slot in Slot::first(slots) {
                        prop_assert!(!index.remove(block, slot));
                    },
                    (false, Some(slot)) => {
                        prop_assert!(index.remove(block, slot));
                        if let Some(slot) = known.remove(&block) {
                            blocks[slot.index()] = Block::NONE;
                            free.push(slot);
                        }
                    }
                }
            }
        }
    }
}
