//! The ranges of an emulated device that were ever trimmed.
//!
//! A page holds no data if it was trimmed once and the backing file has a hole there now. What is written later fills the hole
//! before it is acknowledged, so writes need not be noted here. This is what makes the ranges safe after a kill: the sidecar
//! may have fewer of them than there were, and never one that counts for more than the backing file says.

use std::collections::BTreeMap;

use crate::fuse::BLOCK_BYTES;

/// Ranges in whole blocks, in order, none of which touches another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// By its begin, the end of a range.
    ends: BTreeMap<u64, u64>,
}

impl Trimmed {
    /// These ranges (offset, bytes).
    pub fn of(ranges: &[(u64, u64)]) -> Self {
        let mut trimmed = Self::default();
        for (offset, bytes) in ranges {
            trimmed.add(*offset, *bytes);
        }
        trimmed
    }

    /// A range was trimmed: the blocks that it covers completely.
    pub fn add(&mut self, offset: u64, bytes: u64) {
        let block = u64::from(BLOCK_BYTES);
        let (mut begin, mut end) = (offset.div_ceil(block) * block, offset.saturating_add(bytes) / block * block);
        if begin >= end {
            return;
        }
        while let Some((&first, &last)) = self.ends.range(..=end).next_back()
            && last >= begin
        {
            (begin, end) = (begin.min(first), end.max(last));
            self.ends.remove(&first);
        }
        self.ends.insert(begin, end);
    }

    /// The ranges (offset, bytes), in order.
    pub fn ranges(&self) -> Vec<(u64, u64)> {
        self.ends.iter().map(|(begin, end)| (*begin, end - begin)).collect()
    }

    /// The ranges that hold data, of a device whose first `used_bytes` bytes held some at first: these without what was
    /// trimmed, and the `extents` of the backing file, which are in order.
    pub fn held(&self, used_bytes: u64, extents: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let (mut held, mut from) = (Self::default(), 0);
        for (begin, end) in &self.ends {
            held.join(from, (*begin).min(used_bytes));
            from = *end;
        }
        held.join(from, used_bytes);
        for (offset, bytes) in extents {
            held.join(*offset, offset + bytes);
        }
        held.ranges()
    }

    /// Adds the blocks that a range touches.
    fn join(&mut self, begin: u64, end: u64) {
        let block = u64::from(BLOCK_BYTES);
        if begin < end {
            let begin = begin / block * block;
            self.add(begin, end.div_ceil(block) * block - begin);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const K: u64 = 4096;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut trimmed = Trimmed::of(&[(8 * K, 2 * K), (0, 2 * K), (20 * K, K)]);
        assert_eq!(trimmed.ranges(), [(0, 2 * K), (8 * K, 2 * K), (20 * K, K)]);
        trimmed.add(2 * K, 6 * K);
        assert_eq!(trimmed.ranges(), [(0, 10 * K), (20 * K, K)]);
        trimmed.add(5, K);
        trimmed.add(30 * K + 1, 2 * K - 2);
        assert_eq!(trimmed.ranges(), [(0, 10 * K), (20 * K, K)], "a part of a block is not trimmed");
        trimmed.add(0, u64::MAX);
        assert_eq!(trimmed.ranges().len(), 1);
    }

    #[test]
    fn what_was_written_after_a_trim_holds_data_whatever_the_ranges_say() {
        let trimmed = Trimmed::of(&[(2 * K, 6 * K)]);
        assert_eq!(trimmed.held(10 * K, &[]), [(0, 2 * K), (8 * K, 2 * K)]);
        assert_eq!(
            trimmed.held(10 * K, &[(4 * K, K), (12 * K, K)]),
            [(0, 2 * K), (4 * K, K), (8 * K, 2 * K), (12 * K, K)]
        );
        assert_eq!(trimmed.held(0, &[(5 * K + 1, 1)]), [(5 * K, K)], "of a fresh device, what its file has");
    }

    proptest! {
        #[test]
        fn each_block_is_held_or_not(
            used in 0u64..40,
            trims in proptest::collection::vec((0u64..40, 0u64..10), 0..8),
            written in proptest::collection::btree_set(0u64..50, 0..20),
        ) {
            let bytes = |ranges: &[(u64, u64)]| ranges.iter().map(|(at, many)| (at * K, many * K)).collect::<Vec<_>>();
            let extents: Vec<_> = written.iter().map(|block| (*block, 1)).collect();
            let held = Trimmed::of(&bytes(&trims)).held(used * K, &bytes(&extents));
            for block in 0..60 {
                let is_trimmed = trims.iter().any(|(at, many)| (*at..at + many).contains(&block));
                let expected = written.contains(&block) || (block < used && !is_trimmed);
                let found = held.iter().any(|(at, many)| (*at..at + many).contains(&(block * K)));
                prop_assert_eq!(found, expected, "block {}", block);
            }
            prop_assert!(held.windows(2).all(|two| two[0].0 + two[0].1 < two[1].0), "in order and apart");
        }
    }
}
