//! Which slot holds a block: an open hash table of slot numbers. The blocks' numbers stand in the slots.
//!
//! A block has two buckets of sixteen entries, one cache line each, and is put into the emptier one (Azar, Broder, Karlin
//! and Upfal 1994: the fullest bucket is then hardly fuller than the mean). What leaves leaves nothing behind. The bits that slot numbers do not need hold a part of the block's hash, so that a search
//! looks at hardly any slot but the right one.

use crate::seed::splitmix;

use super::slots::NONE;

const WAYS: usize = 16;
/// Share of the entries that are used when all slots are: an entry costs 4 B / 0.8 = 5 B a slot. Both buckets of one block
/// in some 10,000 are then full, and somebody in them is moved to his other one.
const LOAD: f64 = 0.8;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bucket([u32; WAYS]);

/// Which slot holds a block.
pub struct Index {
    buckets: Vec<Bucket>,
    /// What found no place in either of its buckets.
    overflow: Vec<u32>,
    slot_mask: u32,
}

/// The two buckets and the tag of a block.
struct Home {
    buckets: [usize; 2],
    tag: u32,
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
    fn home(&self, block: u32) -> Home {
        let hash = splitmix(u64::from(block));
        let n = self.buckets.len() as u64;
        let first = ((hash >> 32) * n) >> 32;
        let second = ((hash & 0xffff_ffff) * n) >> 32;
        // The middle bits decide little about either bucket: those use the upper ones of their halves.
        let tag = ((hash >> 32) as u32 ^ (hash as u32)).rotate_left(13) & !self.slot_mask;
        Home { buckets: [first as usize, second as usize], tag }
    }

    /// The slot that holds `block`; `blocks` is the slots' column of blocks.
    #[inline]
    pub fn find(&self, block: u32, blocks: &[u32]) -> Option<u32> {
        self.entry(block, blocks).map(|(slot, _)| slot)
    }

    /// The slot, and where its entry is: bucket and way, or the place in the overflow.
    #[inline]
    fn entry(&self, block: u32, blocks: &[u32]) -> Option<(u32, (usize, usize))> {
        let home = self.home(block);
        for at in home.buckets {
            let bucket = &self.buckets[at].0;
            let mut alike = 0u32;
            for (way, entry) in bucket.iter().enumerate() {
                alike |= u32::from((entry ^ home.tag) & !self.slot_mask == 0) << way;
            }
            while alike != 0 {
                let way = alike.trailing_zeros() as usize;
                let slot = bucket[way] & self.slot_mask;
                if bucket[way] != NONE && blocks[slot as usize] == block {
                    return Some((slot, (at, way)));
                }
                alike &= alike - 1;
            }
        }
        if self.overflow.is_empty() {
            return None;
        }
        let place = self.overflow.iter().position(|slot| blocks[*slot as usize] == block)?;
        Some((self.overflow[place], (usize::MAX, place)))
    }

    /// Puts a block in, which must not be in already.
    pub fn insert(&mut self, block: u32, slot: u32, blocks: &[u32]) {
        debug_assert!(slot < self.slot_mask || self.slot_mask == NONE, "slot {slot} is none of this index");
        let home = self.home(block);
        let used = |at: usize| self.buckets[at].0.iter().filter(|entry| **entry != NONE).count();
        let [first, second] = home.buckets;
        let at = if used(first) <= used(second) { first } else { second };
        if !self.put(at, home.tag | slot) && !self.put_for_another(home, slot, blocks) {
            self.overflow.push(slot);
        }
    }

    /// Puts an entry into a bucket that has room.
    fn put(&mut self, bucket: usize, entry: u32) -> bool {
        let free = self.buckets[bucket].0.iter_mut().find(|entry| **entry == NONE);
        free.map(|free| *free = entry).is_some()
    }

    /// Puts a slot in the place of one that finds room in its other bucket.
    fn put_for_another(&mut self, home: Home, slot: u32, blocks: &[u32]) -> bool {
        for at in home.buckets {
            for way in 0..WAYS {
                let entry = self.buckets[at].0[way];
                let [first, second] = self.home(blocks[(entry & self.slot_mask) as usize]).buckets;
                if self.put(if first == at { second } else { first }, entry) {
                    self.buckets[at].0[way] = home.tag | slot;
                    return true;
                }
            }
        }
        false
    }

    /// Takes a block out; `blocks` must still say which slot it is in. Returns the slot.
    pub fn remove(&mut self, block: u32, blocks: &[u32]) -> Option<u32> {
        let (slot, (at, way)) = self.entry(block, blocks)?;
        if at == usize::MAX {
            self.overflow.swap_remove(way);
        } else {
            self.buckets[at].0[way] = NONE;
        }
        Some(slot)
    }

    /// Moves a block to another slot; `blocks` must still say the old one, which is returned. None: it was not in.
    pub fn replace(&mut self, block: u32, slot: u32, blocks: &[u32]) -> Option<u32> {
        let (old, (at, way)) = self.entry(block, blocks)?;
        if at == usize::MAX {
            self.overflow[way] = slot;
        } else {
            let entry = &mut self.buckets[at].0[way];
            *entry = (*entry & !self.slot_mask) | slot;
        }
        Some(old)
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>() + self.overflow.capacity() * size_of::<u32>()
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
        let mut blocks: Vec<u32> = (0..slots).map(|slot| slot * 3).collect();
        for (slot, block) in blocks.iter().enumerate() {
            index.insert(*block, slot as u32, &blocks);
        }
        // Ten lives of the whole cache: what leaves and comes must not crowd buckets over time.
        for turn in 0..8 * slots {
            let slot = rng.random_range(0..slots);
            assert_eq!(index.remove(blocks[slot as usize], &blocks), Some(slot));
            blocks[slot as usize] = 3 * slots + turn;
            index.insert(blocks[slot as usize], slot, &blocks);
        }
        assert!(index.overflow.is_empty(), "{} overflowed", index.overflow.len());
        assert!(index.bytes() as f64 <= 5.001 * f64::from(slots));
    }

    #[test]
    fn a_full_bucket_loses_nothing() {
        let mut index = Index::new(1);
        index.slot_mask = 0xff;
        let blocks: Vec<u32> = (0..40).collect();
        for block in &blocks {
            index.insert(*block, *block, &blocks);
        }
        assert!(!index.overflow.is_empty());
        for block in &blocks {
            assert_eq!(index.find(*block, &blocks), Some(*block));
        }
        for block in blocks.iter().rev() {
            assert_eq!(index.remove(*block, &blocks), Some(*block));
        }
        assert_eq!(index.find(3, &blocks), None);
    }

    proptest! {
        #[test]
        fn is_a_map(slots in 1u32..300, steps in prop::collection::vec((0u32..600, any::<bool>()), 1..600)) {
            let mut index = Index::new(slots);
            let mut blocks = vec![NONE; slots as usize];
            let mut free: Vec<u32> = (0..slots).collect();
            let mut known = std::collections::BTreeMap::new();
            for (block, put) in steps {
                prop_assert_eq!(index.find(block, &blocks), known.get(&block).copied());
                match (put, known.get(&block).copied()) {
                    (true, None) => if let Some(slot) = free.pop() {
                        blocks[slot as usize] = block;
                        index.insert(block, slot, &blocks);
                        known.insert(block, slot);
                    },
                    (true, Some(old)) => if let Some(slot) = free.pop() {
                        prop_assert_eq!(index.replace(block, slot, &blocks), Some(old));
                        blocks[old as usize] = NONE;
                        blocks[slot as usize] = block;
                        free.push(old);
                        known.insert(block, slot);
                    },
                    (false, at) => {
                        prop_assert_eq!(index.remove(block, &blocks), at);
                        if let Some(slot) = known.remove(&block) {
                            blocks[slot as usize] = NONE;
                            free.push(slot);
                        }
                    }
                }
            }
        }
    }
}
