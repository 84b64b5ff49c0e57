//! A set of pages in the order of their numbers: a bit a page, and above them bits that tell which words have any.

/// Pages below a number.
///
/// What it is asked costs a look at a word a level, three or four of them, and those of the lowest level that are in use
/// fit into the processor's caches: a tree of as many pages does not.
#[derive(Debug)]
pub(super) struct PageSet {
    /// From the pages up; the highest level is one word.
    levels: Vec<Vec<u64>>,
    len: u64,
}

const WORD: u32 = u64::BITS;

impl PageSet {
    /// An empty set of pages below `pages`.
    pub(super) fn new(pages: u32) -> Self {
        let (mut levels, mut bits) = (Vec::new(), pages.max(1) as usize);
        loop {
            let words = bits.div_ceil(WORD as usize);
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels, len: 0 };
            }
            bits = words;
        }
    }

    /// How many there are.
    #[inline]
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// Whether a page is in it.
    #[inline]
    pub(super) fn contains(&self, page: u32) -> bool {
        self.levels[0][(page / WORD) as usize] >> (page % WORD) & 1 == 1
    }

    /// Adds a page, which may be there.
    #[inline]
    pub(super) fn insert(&mut self, page: u32) {
        let mut at = page;
        for (height, level) in self.levels.iter_mut().enumerate() {
            let word = &mut level[(at / WORD) as usize];
            let before = std::mem::replace(word, *word | 1 << (at % WORD));
            if height == 0 {
                self.len += u64::from(before >> (at % WORD) & 1 == 0);
            }
            if before != 0 {
                return;
            }
            at /= WORD;
        }
    }

    /// Takes a page out, which must be there.
    #[inline]
    pub(super) fn remove(&mut self, page: u32) {
        self.len -= 1;
        let mut at = page;
        for level in &mut self.levels {
            let word = &mut level[(at / WORD) as usize];
            *word &= !(1 << (at % WORD));
            if *word != 0 {
                return;
            }
            at /= WORD;
        }
    }

    /// The first page from `from` on.
    #[inline]
    pub(super) fn first_from(&self, from: u32) -> Option<u32> {
        let mut at = u64::from(from);
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get((at / u64::from(WORD)) as usize)? & u64::MAX << (at % u64::from(WORD));
            if word != 0 {
                let mut found = at as u32 / WORD * WORD + word.trailing_zeros();
                for below in self.levels[..height].iter().rev() {
                    found = found * WORD + below[found as usize].trailing_zeros();
                }
                return Some(found);
            }
            // From the next word on.
            at = at / u64::from(WORD) + 1;
        }
        None
    }

    /// The last page up to `to`, which is one that could be in it.
    #[inline]
    pub(super) fn last_to(&self, to: u32) -> Option<u32> {
        let mut at = to;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level[(at / WORD) as usize] & u64::MAX >> (WORD - 1 - at % WORD);
            if word != 0 {
                let mut found = at / WORD * WORD + word.ilog2();
                for below in self.levels[..height].iter().rev() {
                    found = found * WORD + below[found as usize].ilog2();
                }
                return Some(found);
            }
            // Up to the word before.
            at = (at / WORD).checked_sub(1)?;
        }
        None
    }

    /// The pages from `from` on.
    pub(super) fn iter_from(&self, from: u32) -> impl Iterator<Item = u32> {
        let mut next = self.first_from(from);
        std::iter::from_fn(move || {
            let page = next?;
            next = self.first_from(page + 1);
            Some(page)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set_in_order(
            pages in 1u32..20_000, near in 1u32..300,
            steps in prop::collection::vec((any::<u32>(), any::<bool>(), any::<u32>()), 0..300),
        ) {
            let (mut set, mut plain) = (PageSet::new(pages), BTreeSet::new());
            for (page, is_near, asked) in steps {
                // Many steps are about the same few pages.
                let page = if is_near { page % near.min(pages) } else { page % pages };
                if plain.remove(&page) {
                    set.remove(page);
                } else {
                    plain.insert(page);
                    set.insert(page);
                    set.insert(page);
                }
                let asked = asked % pages;
                prop_assert_eq!((set.len(), set.contains(asked)), (plain.len() as u64, plain.contains(&asked)));
                prop_assert_eq!(set.first_from(asked), plain.range(asked..).next().copied());
                prop_assert_eq!(set.last_to(asked), plain.range(..=asked).next_back().copied());
                prop_assert_eq!(set.first_from(pages), None);
            }
            prop_assert!(set.iter_from(near).eq(plain.range(near..).copied()));
        }
    }
}
