//! Lists of slots. Each slot is in one list at most, so all lists run through the same array.

use crate::cache::Slot;
use crate::cache::bucket::prefetch;

/// The slots' neighbours: 8 B a slot.
pub(super) struct Links(Vec<Link>);

/// A slot's two neighbours. They lie side by side because a caller that reads one mostly reads the other.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct Link {
    /// Towards the first.
    newer: Slot,
    /// Towards the last.
    older: Slot,
}

const ALONE: Link = Link { newer: Slot::NONE, older: Slot::NONE };

/// One list: slots enter at its first end and are evicted at its last end.
#[derive(Clone, Copy)]
pub(super) struct List {
    first: Slot,
    last: Slot,
}

impl Default for List {
    fn default() -> Self {
        Self { first: Slot::NONE, last: Slot::NONE }
    }
}

impl Links {
    pub(super) fn new(slots: u32) -> Self {
        Self(vec![ALONE; slots as usize])
    }

    pub(super) fn resize(&mut self, slots: u32) {
        self.0.resize(slots as usize, ALONE);
        self.0.shrink_to_fit();
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Link>()
    }

    /// Prefetches a slot's neighbours.
    #[inline]
    pub(super) fn prefetch(&self, slot: Slot) {
        prefetch(&self.0, slot.index());
    }

    #[inline]
    pub(super) fn push_first(&mut self, list: &mut List, slot: Slot) {
        self.0[slot.index()] = Link { newer: Slot::NONE, older: list.first };
        match list.first {
            Slot::NONE => list.last = slot,
            first => self.0[first.index()].newer = slot,
        }
        list.first = slot;
    }

    pub(super) fn push_last(&mut self, list: &mut List, slot: Slot) {
        self.0[slot.index()] = Link { newer: list.last, older: Slot::NONE };
        match list.last {
            Slot::NONE => list.first = slot,
            last => self.0[last.index()].older = slot,
        }
        list.last = slot;
    }

    #[inline]
    pub(super) fn unlink(&mut self, list: &mut List, slot: Slot) {
        let Link { newer, older } = self.0[slot.index()];
        match newer {
            Slot::NONE => list.first = older,
            newer => self.0[newer.index()].older = older,
        }
        match older {
            Slot::NONE => list.last = newer,
            older => self.0[older.index()].newer = newer,
        }
    }

    /// Puts `to` in the place of `from`.
    #[inline]
    pub(super) fn substitute(&mut self, list: &mut List, from: Slot, to: Slot) {
        let link = self.0[from.index()];
        self.0[to.index()] = link;
        match link.newer {
            Slot::NONE => list.first = to,
            newer => self.0[newer.index()].older = to,
        }
        match link.older {
            Slot::NONE => list.last = to,
            older => self.0[older.index()].newer = to,
        }
    }

    #[inline]
    pub(super) fn bring_first(&mut self, list: &mut List, slot: Slot) {
        if list.first != slot {
            self.unlink(list, slot);
            self.push_first(list, slot);
        }
    }

    /// The slots of a list from the last to the first.
    pub(super) fn oldest_on(&self, list: List) -> impl Iterator<Item = Slot> + '_ {
        std::iter::successors(list.last(), |slot| Some(self.0[slot.index()].newer).filter(|slot| *slot != Slot::NONE))
    }
}

impl List {
    pub(super) fn last(self) -> Option<Slot> {
        (self.last != Slot::NONE).then_some(self.last)
    }
}

/// What a policy notes of a slot, one byte.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Note(u8);

impl Note {
    const USES: u8 = 0b11;
    const HELD: u8 = 1 << 2;
    const PASSED: u8 = 1 << 3;
    const MAIN: u8 = 1 << 4;

    /// Uses that were counted, 0..=3.
    pub(super) fn uses(self) -> u8 {
        self.0 & Self::USES
    }

    pub(super) fn with_uses(self, uses: u8) -> Self {
        Self(self.0 & !Self::USES | uses.min(Self::USES))
    }

    #[inline]
    pub(super) fn used(self) -> Self {
        self.with_uses(self.uses() + 1)
    }

    fn with(self, bit: u8, set: bool) -> Self {
        Self(if set { self.0 | bit } else { self.0 & !bit })
    }

    /// It must not be evicted.
    pub(super) fn held(self) -> bool {
        self.0 & Self::HELD != 0
    }

    pub(super) fn with_held(self, held: bool) -> Self {
        self.with(Self::HELD, held)
    }

    /// Its turn to be evicted came while it was held: it is in no list.
    pub(super) fn passed(self) -> bool {
        self.0 & Self::PASSED != 0
    }

    pub(super) fn with_passed(self, passed: bool) -> Self {
        self.with(Self::PASSED, passed)
    }

    /// It belongs to the second list of a policy that has two: main, or hot.
    pub(super) fn main(self) -> bool {
        self.0 & Self::MAIN != 0
    }

    pub(super) fn with_main(self, main: bool) -> Self {
        self.with(Self::MAIN, main)
    }
}

/// A list whose last slot is evicted unless it is held. `lru`, `fifo` and the sets of `flashcache` share it.
pub(super) fn last_not_held(links: &mut Links, notes: &mut [Note], list: &mut List) -> Option<Slot> {
    while let Some(slot) = list.last() {
        links.unlink(list, slot);
        let note = &mut notes[slot.index()];
        if !note.held() {
            return Some(slot);
        }
        *note = note.with_passed(true).with_uses(0);
    }
    None
}
