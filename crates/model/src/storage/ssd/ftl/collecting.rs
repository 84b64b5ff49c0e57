//! Collecting a unit: its valid pages move to another unit, then it is erased.

use super::Ftl;
use super::collection::{Collection, Erased, WornOut};
use super::ids::Ppn;
use super::units::State;
use super::victims::Choose;

/// Pages of a victim whose entries of the mapping are prefetched before the pages are moved.
const PREFETCH: u32 = 16;

impl Ftl {
    /// Whether a victim is being collected.
    pub const fn collecting(&self) -> bool {
        self.collection.is_some()
    }

    /// Chooses the next victim and returns how many valid pages it has. There may be room; no collection may be under way.
    ///
    /// # Errors
    /// The spare space is gone for ever; or, while there is room, no unit has been filled yet.
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
        let cursor_ppn = self.geometry.first_page(unit);
        let mut ahead_ppn = cursor_ppn;
        for _ in 0..PREFETCH {
            ahead_ppn = self.prefetch_next(ahead_ppn, cursor_ppn + self.geometry.pages_per_unit);
        }
        let levelling = spared.is_some();
        self.collection = Some(Collection { unit, valid_at_begin: valid, cursor_ppn, ahead_ppn, levelling });
        Ok(valid)
    }

    /// Moves up to `most` pages of the victim and appends their (from, to). Returns whether the victim is empty now.
    pub fn relocate(&mut self, most: u32, moved: &mut Vec<(Ppn, Ppn)>) -> bool {
        let Some(Collection { unit, mut cursor_ppn, mut ahead_ppn, levelling, .. }) = self.collection else {
            return true;
        };
        let many = self.units.valid(unit).min(most);
        let end_ppn = self.geometry.first_page(unit) + self.geometry.pages_per_unit;
        for _ in 0..many {
            let from = self.mapping.next_valid(cursor_ppn);
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
        // A worn unit is used once more if the pages of the next victim might not fit elsewhere.
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

    /// Prefetches the entry of the first valid page from `ppn` to `end_ppn`. Returns where the next search begins.
    #[inline]
    fn prefetch_next(&self, ppn: Ppn, end_ppn: Ppn) -> Ppn {
        let Some(next) = self.mapping.next_valid_before(ppn, end_ppn) else { return end_ppn };
        // It may be a page of the next unit, in the same word of the bitmap. To prefetch that does no harm.
        self.mapping.prefetch(self.mapping.owner(next));
        next + 1
    }

    /// Moves one page of the victim. The caller counts the valid pages of the victim.
    #[inline]
    fn relocate_page(&mut self, from: Ppn) -> Ppn {
        if self.relocation.is_full() {
            let unit = self.free.take().expect("the reserve has room for a victim");
            self.relocation = self.open(unit);
        }
        let (unit, next_ppn) = (self.relocation.unit, self.relocation.take());
        self.mapping.invalidate(from);
        self.program(unit, next_ppn, self.mapping.owner(from));
        if self.relocation.is_full() {
            self.close(unit);
        }
        next_ppn
    }

    /// Works out what the collection under way has earned so far: of the B - v pages that it will yield, the share of its v
    /// pages that are gone, and one page for each of those. A page that is gone was moved, which took a page of room, or is
    /// out of date.
    pub(super) fn earn(&mut self) {
        let Some(Collection { unit, valid_at_begin, .. }) = self.collection else { return };
        let gone = i64::from(valid_at_begin - self.units.valid(unit));
        let yields = i64::from(self.geometry.pages_per_unit - valid_at_begin);
        self.room.set_credit(if gone == 0 { 0 } else { gone + yields * gone / i64::from(valid_at_begin) });
    }
}
