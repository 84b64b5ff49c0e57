//! Slots that hold nothing. A slot whose block left is in limbo until the journal says so durably and its last reader has
//! gone; a reserve of free ones is kept ahead, so that a full cache still takes writes.

use std::collections::VecDeque;

use crate::cache::{Lsn, Slot};

/// Slots that hold nothing.
pub(super) struct Space {
    free: Vec<Slot>,
    /// Slots from here on were never used.
    next: u32,
    /// Slots in use, from the first one on.
    limit: u32,
    limbo: VecDeque<(Lsn, Slot)>,
    /// Free slots that are kept ahead.
    reserve: u32,
    /// Slots behind the limit that hold something still.
    outside: u32,
}

/// The reserve of a cache of so many slots: a 64th, as one commit of the journal frees it again; at most 64 MiB of 16 KiB
/// blocks.
fn reserve(slots: u32) -> u32 {
    (slots / 64).clamp(slots.div_ceil(8).min(8), 4096)
}

impl Space {
    /// `used` says which slots hold something.
    pub(super) fn new(limit: u32, used: impl Fn(Slot) -> bool) -> Self {
        let next = Slot::first(limit).rev().find(|slot| used(*slot)).map_or(0, |last| last.0 + 1);
        let free = Slot::first(next).rev().filter(|slot| !used(*slot)).collect();
        Self { free, next, limit, limbo: VecDeque::new(), reserve: reserve(limit), outside: 0 }
    }

    /// Slots that can be written now.
    #[inline]
    pub(super) fn free(&self) -> u32 {
        self.free.len() as u32 + self.unused()
    }

    /// Slots that were never used.
    #[inline]
    pub(super) fn unused(&self) -> u32 {
        self.limit.saturating_sub(self.next)
    }

    /// Slots in use, from the first one on.
    #[inline]
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Free slots that are kept ahead.
    #[inline]
    pub(super) fn reserve(&self) -> u32 {
        self.reserve
    }

    /// Slots behind the limit that hold something still.
    pub(super) fn outside(&self) -> u32 {
        self.outside
    }

    /// Slots in limbo.
    #[inline]
    pub(super) fn limbo(&self) -> u32 {
        self.limbo.len() as u32
    }

    /// The record that frees the slot that came into limbo last.
    pub(super) fn last_limbo(&self) -> Lsn {
        self.limbo.back().map_or(Lsn(0), |(lsn, _)| *lsn)
    }

    /// Memory, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.free.capacity() * size_of::<Slot>() + self.limbo.capacity() * size_of::<(Lsn, Slot)>()
    }

    /// A free slot; NONE: there is none.
    pub(super) fn take(&mut self) -> Slot {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        if self.next < self.limit {
            self.next += 1;
            return Slot(self.next - 1);
        }
        Slot::NONE
    }

    /// Gives a slot back; one behind the limit is gone, as is a bad one.
    pub(super) fn give(&mut self, slot: Slot, good: bool) {
        if slot.0 >= self.limit {
            self.outside -= 1;
        } else if good {
            self.free.push(slot);
        }
    }

    /// A slot's block left with record `lsn`.
    pub(super) fn put_in_limbo(&mut self, slot: Slot, lsn: Lsn) {
        self.limbo.push_back((lsn, slot));
    }

    /// Takes a slot out of limbo whose record is durable.
    pub(super) fn take_from_limbo(&mut self, durable: Lsn) -> Option<Slot> {
        let (lsn, slot) = *self.limbo.front()?;
        (lsn <= durable).then(|| {
            self.limbo.pop_front();
            slot
        })
    }

    /// Another number of slots. The caller empties those behind it. `bad` says which slots are not used although they hold
    /// nothing.
    pub(super) fn set_limit(&mut self, limit: u32, bad: impl Fn(Slot) -> bool) {
        let old = self.limit;
        self.limit = limit;
        self.reserve = reserve(limit);
        if limit < old {
            let before = self.free.len();
            self.free.retain(|slot| slot.0 < limit);
            let free = before - self.free.len();
            self.outside += self.next.saturating_sub(limit) - free as u32;
            self.next = self.next.min(limit);
        }
        self.outside -= (limit..old).map(Slot).filter(|slot| bad(*slot)).count() as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_in_limbo_until_its_record_is_durable() {
        let mut space = Space::new(4, |slot| slot.0 == 1);
        assert_eq!((space.free(), space.unused()), (3, 2));
        assert_eq!([space.take(), space.take(), space.take(), space.take()], [Slot(0), Slot(2), Slot(3), Slot::NONE]);
        space.put_in_limbo(Slot(2), Lsn(7));
        assert_eq!((space.take_from_limbo(Lsn(6)), space.limbo(), space.last_limbo()), (None, 1, Lsn(7)));
        assert_eq!(space.take_from_limbo(Lsn(7)), Some(Slot(2)));
        space.give(Slot(2), true);
        space.give(Slot(3), false);
        assert_eq!((space.free(), space.take(), space.take()), (1, Slot(2), Slot::NONE));
    }

    #[test]
    fn what_lies_behind_the_limit_is_gone_when_it_is_given_back() {
        let mut space = Space::new(100, |slot| slot.0 < 50);
        space.set_limit(30, |_| false);
        assert_eq!((space.limit(), space.free(), space.outside()), (30, 0, 20));
        (30..50).for_each(|slot| space.give(Slot(slot), true));
        assert_eq!((space.outside(), space.take()), (0, Slot::NONE));
        space.set_limit(100, |_| false);
        assert_eq!((space.free(), space.take()), (70, Slot(30)));
    }
}
