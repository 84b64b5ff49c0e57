//! Where each logical page is, whose each physical page is, and which physical pages are valid.

use flatwater_core::seed::Rng;

use super::draws::{AHEAD, shuffle};
use super::ids::{Lpn, Ppn};
use crate::large::{self, near};

/// Physical pages of one word of the bitmap.
const WORD_PAGES: u32 = u64::BITS;

/// Both directions of the mapping. It takes 4 bytes for a logical page, and 4 bytes and 1 bit for a physical page.
pub(super) struct Mapping {
    /// By logical page, the number of its physical page with all bits inverted. Thus `Ppn::NONE` is 0, and pages that were
    /// never written take no memory.
    places: Vec<u32>,
    /// By physical page, the number of the logical page that was written to it last.
    owners: Vec<u32>,
    /// By physical page a bit: whether it is valid.
    valid: Vec<u64>,
}

/// The word of the bitmap in which a page is, and its bit there.
#[inline]
fn bit_of(ppn: Ppn) -> (usize, u64) {
    (ppn.index() / WORD_PAGES as usize, 1 << (ppn.number() % WORD_PAGES))
}

impl Mapping {
    /// A mapping in which no page was written.
    pub(super) fn new(logical_pages: u32, physical_pages: usize) -> Self {
        Self {
            places: large::zeros(vec![!Ppn::NONE.number(); logical_pages as usize]),
            owners: large::zeros(vec![0; physical_pages]),
            valid: vec![0; physical_pages.div_ceil(WORD_PAGES as usize)],
        }
    }

    /// The physical page of a logical one; None: it was never written, or was trimmed.
    #[inline]
    pub(super) fn find(&self, lpn: Lpn) -> Option<Ppn> {
        Ppn::new(!self.places[lpn.index()]).some()
    }

    /// The logical page that was written last to a physical one, which was written.
    #[inline]
    pub(super) fn owner(&self, ppn: Ppn) -> Lpn {
        Lpn::new(self.owners[ppn.index()])
    }

    /// Whether a physical page is valid.
    #[cfg(test)]
    pub(super) fn is_valid(&self, ppn: Ppn) -> bool {
        let (word, bit) = bit_of(ppn);
        self.valid[word] & bit != 0
    }

    /// Writes a logical page to a physical one.
    #[inline]
    pub(super) fn put(&mut self, lpn: Lpn, ppn: Ppn) {
        self.places[lpn.index()] = !ppn.number();
        self.owners[ppn.index()] = lpn.number();
        let (word, bit) = bit_of(ppn);
        self.valid[word] |= bit;
    }

    /// Unmaps a logical page. Its physical page stays valid until `invalidate`.
    pub(super) fn unmap(&mut self, lpn: Lpn) {
        self.places[lpn.index()] = !Ppn::NONE.number();
    }

    /// The content of a physical page is out of date.
    #[inline]
    pub(super) fn invalidate(&mut self, ppn: Ppn) {
        let (word, bit) = bit_of(ppn);
        self.valid[word] &= !bit;
    }

    /// The first valid page from `ppn` on. There must be one.
    #[inline]
    pub(super) fn next_valid(&self, ppn: Ppn) -> Ppn {
        let mut word = bit_of(ppn).0;
        let mut bits = self.valid[word] & (u64::MAX << (ppn.number() % WORD_PAGES));
        while bits == 0 {
            word += 1;
            bits = self.valid[word];
        }
        Ppn::new(word as u32 * WORD_PAGES + bits.trailing_zeros())
    }

    /// The first valid page from `ppn` on, if the bitmap has one in a word that begins before `end`. It may be at or behind
    /// `end`, in the same word.
    #[inline]
    pub(super) fn next_valid_before(&self, ppn: Ppn, end: Ppn) -> Option<Ppn> {
        let mut from = ppn;
        while from < end {
            let in_word = from.number() % WORD_PAGES;
            let bits = self.valid[bit_of(from).0] >> in_word;
            if bits != 0 {
                return Some(from + bits.trailing_zeros());
            }
            from = from + (WORD_PAGES - in_word);
        }
        None
    }

    /// Gives a logical page a valid physical page, for the time until `deal_out`.
    #[inline]
    pub(super) fn lay_out(&mut self, lpn: Lpn, ppn: Ppn) {
        self.places[lpn.index()] = !ppn.number();
        let (word, bit) = bit_of(ppn);
        self.valid[word] |= bit;
    }

    /// Deals the physical pages of the first logical pages out among these pages, in an order drawn at random.
    pub(super) fn deal_out(&mut self, pages: u32, random: &mut Rng) {
        let places = &mut self.places[..pages as usize];
        shuffle(places, random);
        for (lpn, place) in places.iter().enumerate() {
            if let Some(later) = places.get(lpn + AHEAD) {
                near(&self.owners[!*later as usize]);
            }
            self.owners[!*place as usize] = lpn as u32;
        }
    }

    /// Moves the first logical pages, in their order, to other numbers: page i gets the number `numbers[i]`, which is not
    /// below i and below those that follow. Numbers that lose their page are unmapped.
    pub(super) fn renumber(&mut self, numbers: impl DoubleEndedIterator<Item = Lpn> + ExactSizeIterator) {
        // From the last one down, the place to which a page moves is always free.
        for (from, to) in (0..numbers.len()).zip(numbers).rev() {
            if from != to.index() {
                let place = std::mem::replace(&mut self.places[from], !Ppn::NONE.number());
                self.places[to.index()] = place;
                self.owners[!place as usize] = to.number();
            }
        }
    }

    /// Prefetches the entry of a logical page.
    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        if let Some(entry) = self.places.get(lpn.index()) {
            near(entry);
        }
    }

    /// The physical page of a logical one, or None where there is no such page at all.
    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> Option<Ppn> {
        self.places.get(lpn.index()).and_then(|place| Ppn::new(!place).some())
    }

    /// Prefetches the bit of a physical page.
    #[inline]
    pub(super) fn prefetch_bit(&self, ppn: Ppn) {
        near(&self.valid[bit_of(ppn).0]);
    }

    /// Bytes of all tables.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        4 * self.places.capacity() + 4 * self.owners.capacity() + 8 * self.valid.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_at_one_place_until_it_is_written_elsewhere() {
        let (a, b) = (Lpn::new(0), Lpn::new(1));
        let mut mapping = Mapping::new(2, 200);
        assert_eq!((mapping.find(a), mapping.get(Lpn::new(2))), (None, None));
        mapping.put(a, Ppn::new(70));
        mapping.put(b, Ppn::new(140));
        assert_eq!((mapping.find(a), mapping.owner(Ppn::new(140))), (Some(Ppn::new(70)), b));
        assert_eq!((mapping.next_valid(Ppn::new(0)), mapping.next_valid(Ppn::new(71))), (Ppn::new(70), Ppn::new(140)));
        assert_eq!(mapping.next_valid_before(Ppn::new(71), Ppn::new(128)), None);
        assert_eq!(mapping.next_valid_before(Ppn::new(71), Ppn::new(129)), Some(Ppn::new(140)), "of the same word");
        mapping.unmap(a);
        mapping.invalidate(Ppn::new(70));
        assert_eq!((mapping.find(a), mapping.is_valid(Ppn::new(70))), (None, false));
    }

    #[test]
    fn pages_move_to_other_numbers_with_their_places() {
        let mut mapping = Mapping::new(10, 100);
        for (lpn, ppn) in Lpn::first(5).zip(Ppn::first(50).skip(20)) {
            mapping.put(lpn, ppn);
        }
        mapping.renumber([0, 2, 3, 8, 9].map(Lpn::new).into_iter());
        let places: Vec<_> = Lpn::first(10).map(|lpn| mapping.find(lpn).map(|ppn| ppn.number())).collect();
        let none = None;
        assert_eq!(places, [Some(20), none, Some(21), Some(22), none, none, none, none, Some(23), Some(24)]);
        for lpn in Lpn::first(10) {
            assert!(mapping.find(lpn).is_none_or(|ppn| mapping.owner(ppn) == lpn && mapping.is_valid(ppn)));
        }
    }

    #[test]
    fn pages_are_dealt_out_one_to_one() {
        let mut mapping = Mapping::new(100, 200);
        let places: Vec<Ppn> = Ppn::first(200).step_by(2).collect();
        for (lpn, ppn) in Lpn::first(100).zip(&places) {
            mapping.lay_out(lpn, *ppn);
        }
        mapping.deal_out(100, &mut flatwater_core::seed::stream(1, "test", 0));
        assert!(Lpn::first(100).all(|lpn| mapping.find(lpn).is_some_and(|ppn| mapping.owner(ppn) == lpn)));
        assert!(places.iter().all(|ppn| mapping.is_valid(*ppn)));
        assert_ne!(Lpn::first(100).filter_map(|lpn| mapping.find(lpn)).collect::<Vec<_>>(), places);
    }
}
