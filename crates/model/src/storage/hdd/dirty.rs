//! The dirty sectors in the write cache of a disk, which the platter does not have yet.

use std::collections::BTreeMap;

/// Ranges of sectors that do not touch each other.
#[derive(Debug, Default)]
pub struct Dirty {
    ranges: BTreeMap<u64, u64>,
    sectors: u64,
}

impl Dirty {
    /// Sectors in all ranges.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Adds a range. Ranges that touch it are merged with it.
    pub fn insert(&mut self, first: u64, sectors: u64) {
        let (mut start, mut end) = (first, first + sectors);
        while let Some((&at, &length)) = self.ranges.range(..=end).next_back()
            && at + length >= start
        {
            self.ranges.remove(&at);
            self.sectors -= length;
            start = start.min(at);
            end = end.max(at + length);
        }
        self.ranges.insert(start, end - start);
        self.sectors += end - start;
    }

    /// Whether all sectors of a range are dirty.
    pub fn covers(&self, first: u64, sectors: u64) -> bool {
        self.ranges.range(..=first).next_back().is_some_and(|(at, length)| at + length >= first + sectors)
    }

    /// Removes at most `most` sectors of the range that begins at `first`. Returns how many.
    pub fn take(&mut self, first: u64, most: u64) -> u64 {
        let Some(length) = self.ranges.remove(&first) else { return 0 };
        let taken = length.min(most);
        if taken < length {
            self.ranges.insert(first + taken, length - taken);
        }
        self.sectors -= taken;
        taken
    }

    /// The first sectors of the nearest ranges on each side of a sector, `each_side` on each.
    pub fn near(&self, sector: u64, each_side: usize) -> impl Iterator<Item = u64> + '_ {
        let above = self.ranges.range(sector..).take(each_side);
        above.chain(self.ranges.range(..sector).rev().take(each_side)).map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn holds_what_was_put_in(steps in prop::collection::vec((0u64..60, 1u64..9, any::<bool>()), 0..80)) {
            let (mut dirty, mut plain) = (Dirty::default(), BTreeSet::new());
            for (first, sectors, takes) in steps {
                if takes {
                    let Some(first) = dirty.near(first, 1).next() else { continue };
                    for sector in first..first + dirty.take(first, sectors) {
                        prop_assert!(plain.remove(&sector));
                    }
                } else {
                    dirty.insert(first, sectors);
                    plain.extend(first..first + sectors);
                    prop_assert!(dirty.covers(first, sectors));
                }
                prop_assert_eq!(dirty.sectors(), plain.len() as u64);
            }
        }
    }
}
