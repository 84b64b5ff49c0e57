//! The write buffer: a ring of pages, from their arrival until flash has them.

use std::collections::VecDeque;

use super::ftl::Lpn;
use super::requests::RequestId;

/// The parts of a page that a write covers: a bit for each of 32 equal parts.
pub type Cover = u32;
/// The whole page.
pub const WHOLE: Cover = u32::MAX;

/// The cover of `bytes` from `offset` in a page of 1 << `page_shift` bytes; only parts that are covered completely count.
pub fn cover(offset: u64, bytes: u64, page_shift: u32) -> Cover {
    let part = |at: u64| at * 32 / (1 << page_shift);
    let first = (offset * 32).div_ceil(1 << page_shift);
    let end = part(offset + bytes);
    let up_to = |end: u64| if end >= 32 { WHOLE } else { (1 << end) - 1 };
    if end > first { up_to(end) & !up_to(first) } else { 0 }
}

/// A page that waits for flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The page; `Lpn::NONE` if it was trimmed while it waited.
    pub lpn: Lpn,
    /// The request that ends when flash has the page. None if the buffer holds writes, which then end earlier.
    pub request: Option<RequestId>,
    /// Bytes of the host's writes to it.
    pub bytes: u32,
    /// The parts of it that are new.
    pub cover: Cover,
}

/// A page that is being written to flash.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    lpn: Lpn,
    /// The number of its entry.
    entry: u64,
    at_ns: u64,
}

/// Pages on their way to flash. Room becomes free in the order in which pages began to leave. Pages that wait for an erase
/// are an exception: they hold up only each other.
#[derive(Debug)]
pub struct Buffer {
    /// Pages of room; 0: pages only pass through.
    pages: u64,
    waiting: VecDeque<Entry>,
    /// Pages that are being written to flash: those that need not wait for an erase, and those that wait for one.
    leaving: [VecDeque<Leaving>; 2],
    /// How many entries have come, have begun to leave, and have left so far.
    entered: u64,
    begun: u64,
    left: u64,
    index: Index,
}

impl Buffer {
    /// An empty buffer.
    pub fn new(pages: u64) -> Self {
        let index = Index::new(pages);
        let leaving = [VecDeque::new(), VecDeque::new()];
        Self { pages, waiting: VecDeque::new(), leaving, entered: 0, begun: 0, left: 0, index }
    }

    /// Whether a write ends when the buffer has it.
    pub fn holds(&self) -> bool {
        self.pages > 0
    }

    /// Pages in it.
    pub fn len(&self) -> u64 {
        self.entered - self.left
    }

    /// Whether there is room for another page.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.pages == 0 || self.len() < self.pages
    }

    /// When the next page will have left; None: no page is leaving.
    #[inline]
    pub fn leaves_ns(&self) -> Option<u64> {
        self.leaving.iter().filter_map(|queue| queue.front()).map(|first| first.at_ns).min()
    }

    /// Forgets pages that have left by `now_ns`.
    #[inline]
    pub fn settle(&mut self, now_ns: u64) {
        for queue in &mut self.leaving {
            while let Some(first) = queue.front().copied()
                && first.at_ns <= now_ns
            {
                queue.pop_front();
                if first.lpn != Lpn::NONE {
                    self.index.remove(first.lpn, first.entry);
                }
                self.left += 1;
            }
        }
    }

    /// Takes a page. If the same page waits already, the two become one. There must be room.
    #[inline]
    pub fn enter(&mut self, entry: Entry) {
        if self.pages > 0 {
            let place = self.index.insert(entry.lpn, self.entered, self.begun);
            if place != self.entered {
                let same = &mut self.waiting[(place - self.begun) as usize];
                same.bytes = same.bytes.saturating_add(entry.bytes);
                same.cover |= entry.cover;
                return;
            }
        }
        self.waiting.push_back(entry);
        self.entered += 1;
    }

    /// The entry that has waited for longest.
    #[inline]
    pub fn first(&self) -> Option<&Entry> {
        self.waiting.front()
    }

    /// The entry that has so many others before it.
    #[inline]
    pub fn after(&self, others: usize) -> Option<&Entry> {
        self.waiting.get(others)
    }

    /// Lets the first page leave. Flash will have it at `at_ns`. It waits for an erase if it is `late`.
    #[inline]
    pub fn leave(&mut self, at_ns: u64, late: bool) -> Option<Entry> {
        let first = self.waiting.pop_front()?;
        let entry = self.begun;
        self.begun += 1;
        if self.pages == 0 {
            self.left += 1;
        } else {
            // A page may be written sooner than the page before it, but keeps its room until that page has left.
            let queue = &mut self.leaving[usize::from(late)];
            let after_ns = queue.back().map_or(0, |last| last.at_ns);
            queue.push_back(Leaving { lpn: first.lpn, entry, at_ns: at_ns.max(after_ns) });
        }
        Some(first)
    }

    /// Whether a read finds the page here.
    #[inline]
    pub fn contains(&self, lpn: Lpn) -> bool {
        self.index.find(lpn).is_some()
    }

    /// Drops a page that waits. A page that is leaving still leaves.
    pub fn cancel(&mut self, lpn: Lpn) {
        if let Some(place) = self.index.find(lpn) {
            self.index.remove(lpn, place);
            if place >= self.begun {
                self.waiting[(place - self.begun) as usize].lpn = Lpn::NONE;
            }
        }
    }

    /// How many entries have come so far. A flush waits until all these are out (`is_out`).
    pub fn entered(&self) -> u64 {
        self.entered
    }

    /// Whether all of the first `entries` have left.
    pub fn is_out(&self, entries: u64) -> bool {
        let first_left = self.leaving.iter().filter_map(|queue| queue.front()).map(|first| first.entry).min();
        first_left.unwrap_or(self.begun) >= entries
    }
}

/// Which entry holds a page: a hash table of fixed size with open addressing.
#[derive(Debug)]
struct Index {
    /// (page, number of its entry); `Lpn::NONE`: free.
    slots: Vec<(Lpn, u64)>,
}

impl Index {
    fn new(pages: u64) -> Self {
        let slots = if pages == 0 { 0 } else { (pages * 2 + 2).next_power_of_two() };
        Self { slots: vec![(Lpn::NONE, 0); slots as usize] }
    }

    #[inline]
    fn home(&self, lpn: Lpn) -> usize {
        // Knuth's multiplicative hash spreads neighbours over the table.
        ((u64::from(lpn.number().wrapping_mul(2_654_435_769)) * self.slots.len() as u64) >> 32) as usize
    }

    #[inline]
    fn slot(&self, lpn: Lpn) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let mut slot = self.home(lpn);
        loop {
            match self.slots[slot].0 {
                found if found == lpn => return Some(slot),
                Lpn::NONE => return None,
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    #[inline]
    fn find(&self, lpn: Lpn) -> Option<u64> {
        self.slot(lpn).map(|slot| self.slots[slot].1)
    }

    /// Enters a page, and returns the number of the entry that holds it from now on. That is the entry that holds it
    /// already, if its number is `from` or more, or else `entry`.
    #[inline]
    fn insert(&mut self, lpn: Lpn, entry: u64, from: u64) -> u64 {
        let mut slot = self.home(lpn);
        while self.slots[slot].0 != Lpn::NONE && self.slots[slot].0 != lpn {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        let held = &mut self.slots[slot];
        if held.0 == lpn && held.1 >= from {
            return held.1;
        }
        *held = (lpn, entry);
        entry
    }

    /// Forgets a page, if this entry holds it.
    #[inline]
    fn remove(&mut self, lpn: Lpn, entry: u64) {
        let Some(mut hole) = self.slot(lpn).filter(|slot| self.slots[*slot].1 == entry) else { return };
        // Entries behind the hole whose home is at or before it move up (Knuth's algorithm R). So no marks are needed.
        let mask = self.slots.len() - 1;
        let mut next = hole;
        loop {
            next = (next + 1) & mask;
            if self.slots[next].0 == Lpn::NONE {
                break;
            }
            let home = self.home(self.slots[next].0);
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
        }
        self.slots[hole] = (Lpn::NONE, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn entry(lpn: u32) -> Entry {
        Entry { lpn: Lpn::new(lpn), request: None, bytes: 4096, cover: WHOLE }
    }

    proptest! {
        #[test]
        fn the_index_is_a_map(steps in prop::collection::vec((0u32..60, any::<bool>()), 0..400)) {
            let (mut index, mut plain) = (Index::new(60), BTreeMap::new());
            for (number, (lpn, inserts)) in steps.into_iter().enumerate() {
                let lpn = Lpn::new(lpn);
                if inserts {
                    let from = number as u64 / 2;
                    let expected = plain.get(&lpn).copied().filter(|entry| *entry >= from).unwrap_or(number as u64);
                    prop_assert_eq!(index.insert(lpn, number as u64, from), expected);
                    plain.insert(lpn, expected);
                } else if let Some(entry) = plain.remove(&lpn) {
                    index.remove(lpn, entry + 1);
                    prop_assert_eq!(index.find(lpn), Some(entry));
                    index.remove(lpn, entry);
                }
                for lpn in Lpn::first(60) {
                    prop_assert_eq!(index.find(lpn), plain.get(&lpn).copied());
                }
            }
        }
    }

    #[test]
    fn room_comes_back_in_order() {
        let mut buffer = Buffer::new(2);
        buffer.enter(entry(1));
        buffer.enter(entry(2));
        assert!(!buffer.has_room());
        buffer.leave(100, false);
        buffer.leave(50, false);
        buffer.settle(99);
        assert_eq!((buffer.len(), buffer.contains(Lpn::new(2))), (2, true));
        buffer.settle(100);
        assert_eq!((buffer.len(), buffer.contains(Lpn::new(2))), (0, false));
        assert!(buffer.is_out(2) && !buffer.is_out(3));
    }

    #[test]
    fn pages_that_wait_for_an_erase_hold_up_only_each_other() {
        let mut buffer = Buffer::new(4);
        for (lpn, at_ns, late) in [(1, 1000, true), (2, 100, false), (3, 900, true), (4, 110, false)] {
            buffer.enter(entry(lpn));
            buffer.leave(at_ns, late);
        }
        assert_eq!(buffer.leaves_ns(), Some(100));
        buffer.settle(110);
        assert_eq!((buffer.len(), buffer.contains(Lpn::new(3)), buffer.is_out(1)), (2, true, false));
        buffer.settle(1000);
        assert_eq!((buffer.len(), buffer.is_out(4)), (0, true));
    }

    #[test]
    fn a_page_that_waits_is_written_over_in_place() {
        let mut buffer = Buffer::new(4);
        buffer.enter(Entry { cover: 1, ..entry(1) });
        buffer.enter(Entry { cover: 2, ..entry(1) });
        assert_eq!(buffer.len(), 1);
        assert_eq!(buffer.leave(10, false), Some(Entry { bytes: 8192, cover: 3, ..entry(1) }));
        buffer.enter(entry(1));
        assert_eq!(buffer.len(), 2, "one that is leaving is not");
        buffer.settle(10);
        assert!(buffer.contains(Lpn::new(1)));
    }

    #[test]
    fn what_is_trimmed_while_it_waits_goes_nowhere() {
        let mut buffer = Buffer::new(4);
        buffer.enter(entry(1));
        buffer.cancel(Lpn::new(1));
        assert!(!buffer.contains(Lpn::new(1)));
        assert_eq!(buffer.first().map(|entry| entry.lpn), Some(Lpn::NONE));
    }

    #[test]
    fn covers() {
        assert_eq!(cover(0, 16_384, 14), WHOLE);
        assert_eq!(cover(0, 512, 14), 1);
        assert_eq!(cover(8192, 8192, 14), 0xffff_0000);
        assert_eq!(cover(100, 100, 14), 0);
        assert_eq!(cover(0, 512, 9), WHOLE);
    }
}
