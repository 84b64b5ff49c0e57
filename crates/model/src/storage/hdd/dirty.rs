//! What a disk's write-back cache holds and the platter does not.

use std::collections::BTreeMap;

/// Ranges of sectors, apart from each other.
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

    /// Adds a range: what touches it becomes one with it.
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

    /// Whether all of a range is in here.
    pub fn covers(&self, first: u64, sectors: u64) -> bool {
        self.ranges.range(..=first).next_back().is_some_and(|(at, length)| at + length >= first + sectors)
    }

    /// Takes a range out, at most `most` sectors of it.
    pub fn take(&mut self, first: u64, most: u64) -> u64 {
        let Some(length) = self.ranges.remove(&first) else { return 0 };
        let taken = length.min(most);
        if taken < length {
            self.ranges.insert(first + taken, length - taken);
        }
        self.sectors -= taken;
        taken
    }

    /// The first sectors of some ranges on either side of a sector.
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
