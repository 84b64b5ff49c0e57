//! A table of ghosts: blocks that are not cached but remembered, because a policy evicted them or they were missed
//! once.
//!
//! An entry takes four bytes: 20 bits of the block's hash, and the generation in which the block was put in. The table
//! takes two blocks in 40,000 for remembered ones by mistake (two buckets of sixteen, 2^-20 each). A mistake admits one
//! block too many. Blocks are forgotten in the order in which they were put in, one generation (`1 / GENERATIONS` of
//! all) at a time.

use super::bucket::{Bucket, WAYS, prefetch};
use crate::seed::splitmix;

use super::Block;

/// Share of the entries that are used. With two buckets of sixteen to choose from, a bucket overflows so rarely that it
/// does not show. The oldest entry of a bucket that overflows is forgotten early.
const LOAD: f64 = 0.85;
/// Generations that are remembered at once.
const GENERATIONS: u32 = 1024;
/// Numbers of generations. They are many more, so that entries of forgotten generations are wiped long before their
/// number is used again.
const AGES: u32 = 1 << 12;
/// An empty entry: no generation has the number 0.
const EMPTY: u32 = 0;

/// Which blocks are remembered.
pub struct Ghost {
    buckets: Vec<Bucket>,
    /// Remembered entries, by generation modulo `AGES`.
    alive: Vec<u32>,
    total: u32,
    capacity: u32,
    /// The current generation, and the oldest one that is remembered: 1..AGES, in a circle.
    now: u32,
    oldest: u32,
    /// The bucket up to which forgotten entries were wiped.
    swept: usize,
}

impl Ghost {
    /// Remembers `capacity` blocks.
    pub fn new(capacity: u32) -> Self {
        // With few buckets, one is easily fuller than the mean: two more are made.
        let buckets = (f64::from(capacity) / LOAD / WAYS as f64).ceil() as usize + 2;
        Self {
            buckets: vec![Bucket([EMPTY; WAYS]); buckets],
            alive: vec![0; AGES as usize],
            total: 0,
            capacity,
            now: 1,
            oldest: 1,
            swept: 0,
        }
    }

    #[inline]
    fn home(&self, block: Block) -> ([usize; 2], u32) {
        // The hash differs from the index's, so that blocks which share a bucket there do not share one here.
        let hash = splitmix(u64::from(block.0) ^ 0x6768_6f73_7400_0000);
        let n = self.buckets.len() as u64;
        let (first, second) = (((hash >> 32) * n) >> 32, ((hash & 0xffff_ffff) * n) >> 32);
        let print = ((hash >> 32) as u32 ^ (hash as u32)).rotate_left(13) & !(AGES - 1);
        ([first as usize, second as usize], print)
    }

    /// How many generations ago an entry was put in.
    #[inline]
    fn age(&self, entry: u32) -> u32 {
        let generation = entry & (AGES - 1);
        let circle = if generation > self.now { AGES - 1 } else { 0 };
        if generation == 0 { u32::MAX } else { self.now + circle - generation }
    }

    #[inline]
    fn oldest_age(&self) -> u32 {
        self.age(self.oldest)
    }

    /// Which entries of a bucket are remembered: a bit each.
    #[inline]
    fn alive(&self, at: usize) -> u32 {
        self.buckets[at].within(AGES - 1, self.oldest, self.now.wrapping_sub(self.oldest) & (AGES - 1))
    }

    #[inline]
    fn find(&self, block: Block) -> Option<(usize, usize)> {
        let (homes, print) = self.home(block);
        // Both buckets are read at once, so that neither read waits for the other one's cache line.
        let alike = |nth: usize| self.buckets[homes[nth]].alike(print, !(AGES - 1));
        let mut alike = alike(0) | alike(1) << WAYS;
        while alike != 0 {
            let bit = alike.trailing_zeros() as usize;
            let (at, way) = (homes[bit / WAYS], bit % WAYS);
            if self.age(self.buckets[at].0[way]) <= self.oldest_age() {
                return Some((at, way));
            }
            alike &= alike - 1;
        }
        None
    }

    /// Prefetches the entries of a block, for a caller that will look for it soon.
    #[inline]
    pub fn prefetch(&self, block: Block) {
        for at in self.home(block).0 {
            prefetch(&self.buckets, at);
        }
    }

    /// Whether a block is remembered.
    pub fn contains(&self, block: Block) -> bool {
        self.find(block).is_some()
    }

    /// Forgets a block. Returns whether it was remembered.
    pub fn take(&mut self, block: Block) -> bool {
        let Some((at, way)) = self.find(block) else { return false };
        let entry = std::mem::replace(&mut self.buckets[at].0[way], EMPTY);
        self.alive[(entry & (AGES - 1)) as usize] -= 1;
        self.total -= 1;
        true
    }

    /// Remembers a block as the newest one. A block that is remembered already must be taken out first.
    pub fn put(&mut self, block: Block) {
        if self.capacity == 0 {
            return;
        }
        let (homes, print) = self.home(block);
        let (alive, other) = (self.alive(homes[0]), self.alive(homes[1]));
        let fewer = alive.count_ones() <= other.count_ones();
        let (at, alive) = if fewer { (homes[0], alive) } else { (homes[1], other) };
        let bucket = &self.buckets[at].0;
        let way = match alive.trailing_ones() as usize {
            WAYS => (0..WAYS).max_by_key(|way| self.age(bucket[*way])).unwrap_or(0),
            dead => dead,
        };
        let old = std::mem::replace(&mut self.buckets[at].0[way], print | self.now);
        if alive >> way & 1 == 1 {
            self.alive[(old & (AGES - 1)) as usize] -= 1;
            self.total -= 1;
        }
        self.alive[self.now as usize] += 1;
        self.total += 1;
        self.turn();
    }

    /// Begins a generation when this one is full, and forgets the oldest while there are too many.
    fn turn(&mut self) {
        if self.alive[self.now as usize] > self.capacity / GENERATIONS {
            self.now = next(self.now);
            if self.oldest_age() > AGES / 4 * 3 {
                self.forget_oldest();
            }
            self.sweep();
        }
        while self.total > self.capacity && self.oldest != self.now {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        self.total -= std::mem::take(&mut self.alive[self.oldest as usize]);
        self.oldest = next(self.oldest);
    }

    /// Wipes the forgotten entries of the next part of the table. It covers the whole table once in an eighth of the
    /// circle of ages, of which a quarter is always unused.
    fn sweep(&mut self) {
        let limit = self.oldest_age();
        for _ in 0..self.buckets.len().div_ceil(AGES as usize / 8) {
            self.swept = (self.swept + 1) % self.buckets.len();
            let mut bucket = self.buckets[self.swept];
            for entry in &mut bucket.0 {
                if self.age(*entry) > limit {
                    *entry = EMPTY;
                }
            }
            self.buckets[self.swept] = bucket;
        }
    }

    /// Blocks remembered now.
    pub fn len(&self) -> u32 {
        self.total
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>() + self.alive.capacity() * size_of::<u32>()
    }
}

/// The next generation: 1..AGES in a circle, never 0.
fn next(generation: u32) -> u32 {
    generation % (AGES - 1) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    use proptest::prelude::*;

    #[test]
    fn the_newest_are_remembered() {
        let mut ghost = Ghost::new(10_000);
        for block in 0..100_000 {
            ghost.put(Block(block));
        }
        let remembered = (0..100_000).filter(|block| ghost.contains(Block(*block))).count();
        assert!((9_950..=10_010).contains(&remembered), "{remembered}");
        assert!((90_020..100_000).filter(|block| !ghost.contains(Block(*block))).count() < 10);
        assert!(ghost.bytes() as f64 <= 10_000.0 * 4.8 + 16_384.0);
    }

    #[test]
    fn the_dead_never_come_back() {
        let mut ghost = Ghost::new(2_000);
        for block in 0..2_000 {
            ghost.put(Block(block));
        }
        // Through every age of the circle and round again, with others that are all taken out.
        let mut back = 0;
        for turn in 0..40_000u32 {
            let block = 1_000_000 + turn;
            ghost.put(Block(block));
            if turn.is_multiple_of(2) {
                ghost.take(Block(block));
            }
            if turn > 5_000 && turn.is_multiple_of(64) {
                back += (0..2_000).filter(|block| ghost.contains(Block(*block))).count();
            }
        }
        // 546 looks at 2000 blocks, of which 2.6e-5 are taken for others.
        assert!(back < 100, "{back}");
    }

    proptest! {
        #[test]
        fn is_a_queue_up_to_a_generation(steps in prop::collection::vec((0u32..400, any::<bool>()), 1..2000)) {
            // Below 1024 entries a generation is one entry, so that the order is exact.
            let capacity = 200;
            let mut ghost = Ghost::new(capacity);
            // With room in every bucket: otherwise now and then the oldest of a full one is forgotten early.
            ghost.buckets = vec![Bucket([EMPTY; WAYS]); 64];
            let mut queue = VecDeque::new();
            for (block, put) in steps {
                let known = queue.iter().position(|other| *other == block);
                if let Some(at) = known { queue.remove(at); }
                prop_assert_eq!(ghost.take(Block(block)), known.is_some());
                if put {
                    ghost.put(Block(block));
                    queue.push_back(block);
                    if queue.len() > capacity as usize { queue.pop_front(); }
                }
                prop_assert_eq!(ghost.len() as usize, queue.len());
            }
        }
    }
}
