//! The controller's memory: lines that were read or written, the least recently used blocks of them leave first; lines
//! that only it has (dirty) stay until they are on the members.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use flatwater_core::seed::splitmix;

/// Spreads a line's number; nothing ever walks through the map, so its order matters to nobody.
#[derive(Default)]
pub struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = splitmix(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = splitmix(number);
    }
}

/// Lines of one block of memory, one bit each.
#[derive(Clone, Copy, Debug)]
struct Block {
    key: u64,
    /// Lines that are here.
    valid: u64,
    /// Lines that only the memory has.
    dirty: u64,
    /// Lines on their way to the members; those that are dirty too were overwritten meanwhile.
    leaving: u64,
    /// Neighbours among blocks by use, of those that may be given up.
    newer: u32,
    older: u32,
}

impl Block {
    const fn new(key: u64) -> Self {
        Self { key, valid: 0, dirty: 0, leaving: 0, newer: NONE, older: NONE }
    }

    const fn is_held(&self) -> bool {
        self.dirty | self.leaving != 0
    }
}

const NONE: u32 = u32::MAX;

/// The memory. It is given out in blocks of several lines: a block with one line in use takes as much as a full one.
#[derive(Debug)]
pub struct Cache {
    block_lines: u64,
    blocks_max: usize,
    held_max: usize,
    places: HashMap<u64, u32, BuildHasherDefault<Spread>>,
    blocks: Vec<Block>,
    newest: u32,
    oldest: u32,
    held: usize,
    dirty: usize,
    /// Lines that can be written to the members, by row.
    rows: BTreeMap<u64, u32>,
}

impl Cache {
    /// An empty memory of `blocks_max` blocks of `block_lines` lines (64 at most); dirty lines may be in `held_max` of them.
    pub fn new(block_lines: u64, blocks_max: usize, held_max: usize) -> Self {
        Self {
            block_lines,
            blocks_max,
            held_max: held_max.min(blocks_max),
            places: HashMap::default(),
            blocks: Vec::new(),
            newest: NONE,
            oldest: NONE,
            held: 0,
            dirty: 0,
            rows: BTreeMap::new(),
        }
    }

    /// Lines that only the memory has.
    pub fn dirty(&self) -> usize {
        self.dirty
    }

    /// Blocks with lines that only the memory has.
    pub fn held(&self) -> usize {
        self.held
    }

    /// How many those may be.
    pub fn held_max(&self) -> usize {
        self.held_max
    }

    /// Rows with lines that can be written to the members.
    pub fn dirty_rows(&self) -> usize {
        self.rows.len()
    }

    fn find(&self, key: u64) -> Option<(&Block, u64)> {
        let place = self.places.get(&(key / self.block_lines))?;
        Some((&self.blocks[*place as usize], 1 << (key % self.block_lines)))
    }

    /// Whether a line is here, which counts as a use of its block.
    pub fn touch(&mut self, key: u64) -> bool {
        let Some(&place) = self.places.get(&(key / self.block_lines)) else { return false };
        let block = self.blocks[place as usize];
        let here = block.valid >> (key % self.block_lines) & 1 == 1;
        if here && !block.is_held() && self.newest != place {
            self.unlink(place);
            self.link(place);
        }
        here
    }

    /// Whether a line is here as the members have it.
    pub fn is_clean(&self, key: u64) -> bool {
        self.find(key).is_some_and(|(block, bit)| block.valid & !block.dirty & !block.leaving & bit != 0)
    }

    /// Whether a line's newest form is only here and not on its way.
    pub fn is_dirty(&self, key: u64) -> bool {
        self.find(key).is_some_and(|(block, bit)| block.dirty & bit != 0)
    }

    /// Takes a line in as the members have it; where all blocks are held it is not kept.
    pub fn fill(&mut self, key: u64) {
        if !self.touch(key)
            && let Some(place) = self.admit(key / self.block_lines)
        {
            self.blocks[place as usize].valid |= 1 << (key % self.block_lines);
        }
    }

    /// How many blocks these lines, in their order, would hold that are not held.
    pub fn needed(&self, keys: std::ops::Range<u64>) -> usize {
        let blocks = keys.start / self.block_lines..keys.end.div_ceil(self.block_lines);
        let held = |key: &u64| self.places.get(key).is_some_and(|place| self.blocks[*place as usize].is_held());
        blocks.filter(|key| !held(key)).count()
    }

    /// Writes a line of a row into the memory. The caller has asked whether it is `needed` and fits.
    pub fn write(&mut self, key: u64, row: u64) {
        let Some(place) = self.admit(key / self.block_lines) else { return };
        let (block, bit) = (&mut self.blocks[place as usize], 1 << (key % self.block_lines));
        let (was_held, was_dirty) = (block.is_held(), block.dirty & bit != 0);
        let was_counted = was_dirty || block.leaving & bit != 0;
        block.valid |= bit;
        block.dirty |= bit;
        if !was_held {
            self.held += 1;
            self.unlink(place);
        }
        self.dirty += usize::from(!was_counted);
        if !was_dirty {
            *self.rows.entry(row).or_default() += 1;
        }
    }

    /// A dirty line begins its way to the members.
    pub fn leave(&mut self, key: u64, row: u64) {
        let place = self.places[&(key / self.block_lines)];
        let (block, bit) = (&mut self.blocks[place as usize], 1 << (key % self.block_lines));
        block.dirty &= !bit;
        block.leaving |= bit;
        let left = self.rows.get_mut(&row).expect("a dirty line's row");
        *left -= 1;
        if *left == 0 {
            self.rows.remove(&row);
        }
    }

    /// A line that left has arrived.
    pub fn arrived(&mut self, key: u64) {
        let place = self.places[&(key / self.block_lines)];
        let (block, bit) = (&mut self.blocks[place as usize], 1 << (key % self.block_lines));
        block.leaving &= !bit;
        self.dirty -= usize::from(block.dirty & bit == 0);
        if !block.is_held() {
            self.held -= 1;
            self.link(place);
        }
    }

    /// The rows with dirty lines from a row on, in the elevator's order, around.
    pub fn rows_from(&self, row: u64) -> impl Iterator<Item = u64> + '_ {
        self.rows.range(row..).chain(self.rows.range(..row)).map(|(row, _)| *row)
    }

    /// The place of a block, which it is given if it has none; None where all are held.
    fn admit(&mut self, key: u64) -> Option<u32> {
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        let place = if self.blocks.len() < self.blocks_max {
            self.blocks.push(Block::new(key));
            self.blocks.len() as u32 - 1
        } else if self.oldest != NONE {
            let place = self.oldest;
            self.unlink(place);
            self.places.remove(&self.blocks[place as usize].key);
            self.blocks[place as usize] = Block::new(key);
            place
        } else {
            return None;
        };
        self.places.insert(key, place);
        self.link(place);
        Some(place)
    }

    fn link(&mut self, place: u32) {
        self.blocks[place as usize].older = self.newest;
        self.blocks[place as usize].newer = NONE;
        match self.newest {
            NONE => self.oldest = place,
            newest => self.blocks[newest as usize].newer = place,
        }
        self.newest = place;
    }

    fn unlink(&mut self, place: u32) {
        let Block { newer, older, .. } = self.blocks[place as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.blocks[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.blocks[older as usize].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_least_recently_used_block_leaves_first() {
        let mut cache = Cache::new(1, 3, 2);
        for key in [1, 2, 3] {
            cache.fill(key);
        }
        assert!(cache.touch(1));
        cache.fill(4);
        assert!(cache.is_clean(1) && !cache.is_clean(2) && cache.is_clean(3) && cache.is_clean(4));
        cache.write(3, 0);
        cache.fill(5);
        cache.fill(6);
        assert!(cache.is_dirty(3) && cache.is_clean(5) && cache.is_clean(6));
    }

    #[test]
    fn a_block_takes_its_room_whole() {
        let mut cache = Cache::new(4, 2, 2);
        for key in [0, 1, 4, 8] {
            cache.fill(key);
        }
        assert!(!cache.touch(0) && !cache.touch(1) && cache.touch(4) && cache.touch(8) && !cache.touch(9));
        assert_eq!(cache.needed(4..12), 2);
        cache.write(5, 0);
        assert_eq!((cache.needed(4..12), cache.held(), cache.is_clean(4)), (1, 1, true));
    }

    #[test]
    fn a_line_that_is_overwritten_on_its_way_stays_dirty() {
        let mut cache = Cache::new(2, 4, 4);
        cache.write(7, 1);
        assert_eq!((cache.dirty(), cache.dirty_rows()), (1, 1));
        cache.leave(7, 1);
        assert_eq!((cache.dirty(), cache.dirty_rows(), cache.held()), (1, 0, 1));
        cache.write(7, 1);
        cache.arrived(7);
        assert_eq!((cache.dirty(), cache.dirty_rows(), cache.held()), (1, 1, 1));
        cache.leave(7, 1);
        cache.arrived(7);
        assert_eq!((cache.dirty(), cache.held(), cache.is_clean(7)), (0, 0, true));
    }

    #[test]
    fn rows_come_in_the_order_of_an_elevator() {
        let mut cache = Cache::new(1, 9, 9);
        for row in [5, 1, 8] {
            cache.write(row, row);
        }
        assert_eq!(cache.rows_from(4).collect::<Vec<_>>(), [5, 8, 1]);
    }

    proptest! {
        #[test]
        fn nothing_dirty_is_ever_lost(steps in prop::collection::vec((0u8..3, 0u64..40), 0..300)) {
            let (mut cache, mut dirty, mut leaving) = (Cache::new(4, 6, 5), BTreeSet::new(), BTreeSet::new());
            for (what, key) in steps {
                match what {
                    0 => cache.fill(key),
                    1 if cache.held() + cache.needed(key..key + 1) <= cache.held_max() => {
                        cache.write(key, key / 8);
                        dirty.insert(key);
                    }
                    _ if leaving.remove(&key) => cache.arrived(key),
                    _ if dirty.remove(&key) => {
                        cache.leave(key, key / 8);
                        leaving.insert(key);
                    }
                    _ => {}
                }
                prop_assert!(dirty.iter().all(|key| cache.is_dirty(*key)));
                prop_assert_eq!(cache.dirty(), dirty.union(&leaving).count());
                let rows: BTreeSet<u64> = dirty.iter().map(|key| key / 8).collect();
                prop_assert_eq!(cache.rows_from(0).collect::<BTreeSet<_>>(), rows);
            }
        }
    }
}
