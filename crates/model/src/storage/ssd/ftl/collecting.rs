//! Collecting a unit: its valid pages move to another one, then it is erased.

use super::Ftl;
use super::collection::{Collection, Erased, WornOut};
use super::units::State;
use super::victims::Choose;

/// Pages of a victim whose places are asked for before they are moved.
const PREFETCH: u32 = 16;

impl Ftl {
    /// Whether a victim is on its way.
    pub const fn collecting(&self) -> bool {
        self.collection.is_some()
    }

    /// Chooses the next victim and tells how many valid pages it has. May be called while there is room, too; not while
    /// a collection is under way.
    ///
    /// # Errors
    /// The spare space is gone, and stays so. Or, while there is room, no unit has been filled yet.
    pub fn begin_collection(&mut self) -> Result<u32, WornOut> {
        debug_assert!(self.collection.is_none(), "one victim at a time");
        let needed = u64::from(self.valid_pages) + self.geometry.spare_pages_min();
        self.worn_out |= self.geometry.usable_pages(self.cycles.good()) < needed;
        if self.worn_out || self.units.closed() == 0 {
            return Err(WornOut);
        }
        let spared = if self.settling { None } else { self.cycles.spared(&self.units) };
        let unit = spared.unwrap_or_else(|| self.victims.choose(&self.units, self.now));
        let valid = self.units.valid(unit);
        self.victims.taken(unit, valid);
        self.units.set(unit, State::Victim);
        let cursor_ppn = unit * self.geometry.pages_per_unit;
        let mut ahead_ppn = cursor_ppn;
        for _ in 0..PREFETCH {
            ahead_ppn = self.prefetch_next(ahead_ppn, cursor_ppn + self.geometry.pages_per_unit);
        }
        let levelling = spared.is_some();
        self.collection = Some(Collection { unit, valid_at_begin: valid, cursor_ppn, ahead_ppn, levelling });
        Ok(valid)
    }

    /// Moves up to `most` pages of the victim and appends them, (from, to); true: the victim holds no valid page now.
    pub fn relocate(&mut self, most: u32, moved: &mut Vec<(u32, u32)>) -> bool {
        let Some(Collection { unit, mut cursor_ppn, mut ahead_ppn, levelling, .. }) = self.collection else {
            return true;
        };
        let many = self.units.valid(unit).min(most);
        let end_ppn = (unit + 1) * self.geometry.pages_per_unit;
        for _ in 0..many {
            let from = self.next_live(cursor_ppn);
            cursor_ppn = from + 1;
            ahead_ppn = self.prefetch_next(ahead_ppn, end_ppn);
            let to = self.relocate_page(from);
            moved.push((from, to));
        }
        let left = self.units.valid(unit) - many;
        self.units.set_valid(unit, left);
        self.counted.relocated_pages += u64::from(many);
        self.counted.levelled_pages += if levelling { u64::from(many) } else { 0 };
        if let Some(collection) = &mut self.collection {
            collection.cursor_ppn = cursor_ppn;
            collection.ahead_ppn = ahead_ppn;
        }
        self.earn();
        left == 0
    }

    /// Erases the victim, which must be empty.
    pub fn end_collection(&mut self) -> Erased {
        let Collection { unit, .. } = self.collection.take().expect("a collection must be under way");
        debug_assert_eq!(self.units.valid(unit), 0, "the victim must be empty");
        self.counted.erases += 1;
        self.room.set_credit(0);
        let worn = !self.settling && self.cycles.erase(unit);
        // A worn unit is kept for another round when the next victim's pages might find no place without it.
        let retired = worn && self.room.over_reserve() >= -i64::from(self.geometry.pages_per_unit);
        if retired {
            self.cycles.retire(unit);
            self.units.set(unit, State::Bad);
            self.bad_units += 1;
        } else {
            self.units.set(unit, State::Free);
            self.free.put(unit, self.cycles.of(unit));
            self.room.gain(self.geometry.pages_per_unit);
        }
        Erased { unit, retired }
    }

    /// The first valid page from `ppn` on; there is one.
    #[inline]
    fn next_live(&self, ppn: u32) -> u32 {
        let mut word = ppn as usize / 64;
        let mut bits = self.live[word] & (u64::MAX << (ppn % 64));
        while bits == 0 {
            word += 1;
            bits = self.live[word];
        }
        word as u32 * 64 + bits.trailing_zeros()
    }

    /// Asks for the place of the first valid page from `ppn` on that is before `end_ppn`; tells where to go on.
    #[inline]
    fn prefetch_next(&self, ppn: u32, end_ppn: u32) -> u32 {
        let mut from_ppn = ppn;
        while from_ppn < end_ppn {
            let bits = self.live[from_ppn as usize / 64] >> (from_ppn % 64);
            if bits != 0 {
                let next = from_ppn + bits.trailing_zeros();
                // In the last word may be another unit's pages, which is as well.
                self.prefetch(self.p2l[next as usize]);
                return next + 1;
            }
            from_ppn = (from_ppn / 64 + 1) * 64;
        }
        end_ppn
    }

    /// Moves one page of the victim, whose valid pages the caller counts.
    #[inline]
    fn relocate_page(&mut self, from: u32) -> u32 {
        if self.relocation.is_full() {
            let unit = self.free.take().expect("the reserve has room for a victim");
            self.relocation = self.open(unit);
        }
        let (unit, next_ppn) = (self.relocation.unit, self.relocation.take());
        self.live[from as usize / 64] &= !(1 << (from % 64));
        self.program(unit, next_ppn, self.p2l[from as usize]);
        if self.relocation.is_full() {
            self.close(unit);
        }
        next_ppn
    }

    /// Works out what the collection under way has earned: of B - v, the share of its v pages that are gone; and a page
    /// for each of those, which was paid for when it moved, or died by itself.
    pub(super) fn earn(&mut self) {
        let Some(Collection { unit, valid_at_begin, .. }) = self.collection else { return };
        let gone = i64::from(valid_at_begin - self.units.valid(unit));
        let yields = i64::from(self.geometry.pages_per_unit - valid_at_begin);
        self.room.set_credit(if gone == 0 { 0 } else { gone + yields * gone / i64::from(valid_at_begin) });
    }
}
