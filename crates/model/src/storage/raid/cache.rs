//! The memory of the controller. It holds lines that were read or written, and evicts the least recently used block of lines
//! first. Dirty lines, which only the memory has, stay until the members have them.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use flatwater_core::seed::splitmix;

use super::ids::{LineNo, Lines, RowNo};

/// The hash of a block's number. Nothing iterates over the map, so its order does not matter.
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

/// A block of memory. The sets of lines have one bit for each line.
#[derive(Clone, Copy, Debug)]
struct Block {
    number: u64,
    /// Lines that are here.
    valid: u64,
    /// Lines that only the memory has.
    dirty: u64,
    /// Lines that are being written to the members. Those that are dirty too were overwritten since.
    leaving: u64,
    /// Neighbours in the list of blocks that may be evicted, by last use.
    newer: u32,
    older: u32,
}

impl Block {
    const fn new(number: u64) -> Self {
        Self { number, valid: 0, dirty: 0, leaving: 0, newer: NONE, older: NONE }
    }

    const fn is_held(&self) -> bool {
        self.dirty | self.leaving != 0
    }
}

const NONE: u32 = u32::MAX;

/// The memory. It is given out in blocks of several lines: a block with one line takes as much memory as a full one.
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
    /// By row, how many lines are dirty and not being written.
    rows: BTreeMap<RowNo, u32>,
}

impl Cache {
    /// An empty memory of `blocks_max` blocks of `block_lines` lines (64 at most). At most `held_max` blocks may have dirty
    /// lines.
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

    /// Blocks with lines that only the memory has: they are held, and cannot be evicted.
    pub fn held(&self) -> usize {
        self.held
    }

    /// How many blocks may be held.
    pub fn held_max(&self) -> usize {
        self.held_max
    }

    /// Rows with lines that can be written to the members.
    pub fn dirty_rows(&self) -> usize {
        self.rows.len()
    }

    /// The number of the block of a line, and the line's bit in it.
    fn split(&self, line: LineNo) -> (u64, u64) {
        (line.number() / self.block_lines, 1 << (line.number() % self.block_lines))
    }

    fn find(&self, line: LineNo) -> Option<(&Block, u64)> {
        let (number, bit) = self.split(line);
        let place = self.places.get(&number)?;
        Some((&self.blocks[*place as usize], bit))
    }

    /// Returns whether a line is here. If so, that counts as a use of its block.
    pub fn touch(&mut self, line: LineNo) -> bool {
        let (number, bit) = self.split(line);
        let Some(&place) = self.places.get(&number) else { return false };
        let block = self.blocks[place as usize];
        let here = block.valid & bit != 0;
        if here && !block.is_held() && self.newest != place {
            self.unlink(place);
            self.link(place);
        }
        here
    }

    /// Whether a line is here with the same content as on the members.
    pub fn is_clean(&self, line: LineNo) -> bool {
        self.find(line).is_some_and(|(block, bit)| block.valid & !block.dirty & !block.leaving & bit != 0)
    }

    /// Whether the newest content of a line is only here and is not being written.
    pub fn is_dirty(&self, line: LineNo) -> bool {
        self.find(line).is_some_and(|(block, bit)| block.dirty & bit != 0)
    }

    /// Takes in a line that the members have. If all blocks are held, the line is not kept.
    pub fn fill(&mut self, line: LineNo) {
        let (number, bit) = self.split(line);
        if !self.touch(line)
            && let Some(place) = self.admit(number)
        {
            self.blocks[place as usize].valid |= bit;
        }
    }

    /// How many more blocks would be held if these lines were written.
    pub fn needed(&self, lines: Lines) -> usize {
        let blocks = lines.first.number() / self.block_lines..lines.end.number().div_ceil(self.block_lines);
        let held = |number: &u64| self.places.get(number).is_some_and(|place| self.blocks[*place as usize].is_held());
        blocks.filter(|number| !held(number)).count()
    }

    /// Writes a line of a row into the memory. The caller has checked with `needed` that it fits.
    pub fn write(&mut self, line: LineNo, row: RowNo) {
        let (number, bit) = self.split(line);
        let Some(place) = self.admit(number) else { return };
        let block = &mut self.blocks[place as usize];
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

    /// A write of a dirty line to the members begins.
    pub fn leave(&mut self, line: LineNo, row: RowNo) {
        let (number, bit) = self.split(line);
        let block = &mut self.blocks[self.places[&number] as usize];
        block.dirty &= !bit;
        block.leaving |= bit;
        let left = self.rows.get_mut(&row).expect("a dirty line's row");
        *left -= 1;
        if *left == 0 {
            self.rows.remove(&row);
        }
    }

    /// The members have a line for which `leave` was called.
    pub fn arrive(&mut self, line: LineNo) {
        let (number, bit) = self.split(line);
        let place = self.places[&number];
        let block = &mut self.blocks[place as usize];
        block.leaving &= !bit;
        self.dirty -= usize::from(block.dirty & bit == 0);
        if !block.is_held() {
            self.held -= 1;
            self.link(place);
        }
    }

    /// The rows with dirty lines in the order of an elevator: from `row` to the last, then from the first.
    pub fn rows_from(&self, row: RowNo) -> impl Iterator<Item = RowNo> + '_ {
        self.rows.range(row..).chain(self.rows.range(..row)).map(|(row, _)| *row)
    }

    /// The place of a block, which gets one if it has none. None if all blocks are held.
    fn admit(&mut self, number: u64) -> Option<u32> {
        if let Some(place) = self.places.get(&number) {
            return Some(*place);
        }
        let place = if self.blocks.len() < self.blocks_max {
            self.blocks.push(Block::new(number));
            self.blocks.len() as u32 - 1
        } else if self.oldest != NONE {
            let place = self.oldest;
            self.unlink(place);
            self.places.remove(&self.blocks[place as usize].number);
            self.blocks[place as usize] = Block::new(number);
            place
        } else {
            return None;
        };
        self.places.insert(number, place);
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

    fn line(number: u64) -> LineNo {
        LineNo::new(number)
    }

    fn row(number: u64) -> RowNo {
        RowNo::new(number)
    }

    fn lines(first: u64, end: u64) -> Lines {
        Lines { first: line(first), end: line(end) }
    }

    #[test]
    fn the_least_recently_used_block_leaves_first() {
        let mut cache = Cache::new(1, 3, 2);
        for key in [1, 2, 3] {
            cache.fill(line(key));
        }
        assert!(cache.touch(line(1)));
        cache.fill(line(4));
        assert!(
            cache.is_clean(line(1)) && !cache.is_clean(line(2)) && cache.is_clean(line(3)) && cache.is_clean(line(4))
        );
        cache.write(line(3), row(0));
        cache.fill(line(5));
        cache.fill(line(6));
        assert!(cache.is_dirty(line(3)) && cache.is_clean(line(5)) && cache.is_clean(line(6)));
    }

    #[test]
    fn a_block_takes_its_room_whole() {
        let mut cache = Cache::new(4, 2, 2);
        for key in [0, 1, 4, 8] {
            cache.fill(line(key));
        }
        assert!(
            !cache.touch(line(0))
                && !cache.touch(line(1))
                && cache.touch(line(4))
                && cache.touch(line(8))
                && !cache.touch(line(9))
        );
        assert_eq!(cache.needed(lines(4, 12)), 2);
        cache.write(line(5), row(0));
        assert_eq!((cache.needed(lines(4, 12)), cache.held(), cache.is_clean(line(4))), (1, 1, true));
    }

    #[test]
    fn a_line_that_is_overwritten_on_its_way_stays_dirty() {
        let mut cache = Cache::new(2, 4, 4);
        cache.write(line(7), row(1));
        assert_eq!((cache.dirty(), cache.dirty_rows()), (1, 1));
        cache.leave(line(7), row(1));
        assert_eq!((cache.dirty(), cache.dirty_rows(), cache.held()), (1, 0, 1));
        cache.write(line(7), row(1));
        cache.arrive(line(7));
        assert_eq!((cache.dirty(), cache.dirty_rows(), cache.held()), (1, 1, 1));
        cache.leave(line(7), row(1));
        cache.arrive(line(7));
        assert_eq!((cache.dirty(), cache.held(), cache.is_clean(line(7))), (0, 0, true));
    }

    #[test]
    fn rows_come_in_the_order_of_an_elevator() {
        let mut cache = Cache::new(1, 9, 9);
        for number in [5, 1, 8] {
            cache.write(line(number), row(number));
        }
        assert_eq!(cache.rows_from(row(4)).collect::<Vec<_>>(), [5, 8, 1].map(row));
    }

    proptest! {
        #[test]
        fn nothing_dirty_is_ever_lost(steps in prop::collection::vec((0u8..3, 0u64..40), 0..300)) {
            let (mut cache, mut dirty, mut leaving) = (Cache::new(4, 6, 5), BTreeSet::new(), BTreeSet::new());
            for (what, key) in steps {
                match what {
                    0 => cache.fill(line(key)),
                    1 if cache.held() + cache.needed(lines(key, key + 1)) <= cache.held_max() => {
                        cache.write(line(key), row(key / 8));
                        dirty.insert(key);
                    }
                    _ if leaving.remove(&key) => cache.arrive(line(key)),
                    _ if dirty.remove(&key) => {
                        cache.leave(line(key), row(key / 8));
                        leaving.insert(key);
                    }
                    _ => {}
                }
                prop_assert!(dirty.iter().all(|key| cache.is_dirty(line(*key))));
                prop_assert_eq!(cache.dirty(), dirty.union(&leaving).count());
                let rows: BTreeSet<RowNo> = dirty.iter().map(|key| row(key / 8)).collect();
                prop_assert_eq!(cache.rows_from(row(0)).collect::<BTreeSet<_>>(), rows);
            }
        }
    }
}
