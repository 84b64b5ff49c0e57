//! Free pages that the host may write to: those over the collector's reserve.

/// The room of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Free pages over the reserve. Below 0 while a collection is under way, or when a unit was lost.
    over_reserve: i64,
    /// Pages that the collection under way has earned so far.
    credit: i64,
}

impl Room {
    /// That many pages over the reserve, and no collection under way.
    pub(super) fn new(over_reserve: i64) -> Self {
        Self { over_reserve, credit: 0 }
    }

    /// Pages that can be written now.
    #[inline]
    pub(super) fn pages(&self) -> u32 {
        (self.over_reserve + self.credit).max(0) as u32
    }

    /// Free pages over the reserve. Below 0, pages of the reserve are missing.
    pub(super) fn over_reserve(&self) -> i64 {
        self.over_reserve
    }

    /// A page is written.
    #[inline]
    pub(super) fn take(&mut self) {
        self.over_reserve -= 1;
    }

    /// A unit with that many pages was erased.
    pub(super) fn gain(&mut self, pages: u32) {
        self.over_reserve += i64::from(pages);
    }

    /// Sets what the collection under way has earned, in pages; 0 when it is over.
    #[inline]
    pub(super) fn set_credit(&mut self, pages: i64) {
        self.credit = pages;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_lends_what_it_will_gain() {
        let mut room = Room::new(1);
        room.take();
        room.take();
        assert_eq!((room.pages(), room.over_reserve()), (0, -1));
        room.set_credit(3);
        assert_eq!(room.pages(), 2);
        room.set_credit(0);
        room.gain(4);
        assert_eq!((room.pages(), room.over_reserve()), (3, 3));
    }
}
