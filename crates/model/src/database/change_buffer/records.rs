//! What a change takes of the change buffer, and of the page for which it waits.

use super::super::ids::PAGE_BYTES;
use super::super::touches::Entry;

/// Around a record's entry: tablespace, marker, page (9), counter and types of four fields (4 + 4 x 6), its header (6) and
/// the ends of its fields, less the entry's own header (ibuf_entry_build).
const AROUND_BYTES: u64 = 50;
/// Redo of a record's insertion and of its removal, around it: as of other rows.
pub(super) const REDO_ROW: u16 = 20;
/// The unit in which the bitmap counts the room of a page (IBUF_PAGE_SIZE_PER_FREE_SPACE).
pub(super) const ROOM_UNIT: u64 = PAGE_BYTES / 32;
/// Most that waits for a page, of inserted entries: the bitmap tells no more room, and one byte of the page's directory
/// goes with each.
pub(super) const VOLUME_MAX: u64 = 4 * ROOM_UNIT;
const VOLUME_AROUND: u64 = 1;

/// What waits for a page: as an array, so that the entries of pages for which nothing ever waited take no memory.
pub(super) type Waiting = [u16; 4];
/// Records, and bytes of them in the change buffer; bytes that they will take of their page; redo of the changes to it, or
/// as much of that as a touch can have.
pub(super) const RECORDS: usize = 0;
pub(super) const BYTES: usize = 1;
pub(super) const VOLUME: usize = 2;
pub(super) const REDO: usize = 3;

/// Adds a change, which would make so much redo on its page.
pub(super) fn add(waiting: &mut Waiting, entry: Entry, redo: u16) {
    waiting[RECORDS] += 1 + u16::from(entry.inserts() && entry.marks());
    waiting[BYTES] += record_bytes(entry) as u16;
    waiting[VOLUME] += volume_of(entry) as u16;
    waiting[REDO] = waiting[REDO].saturating_add(redo);
}

/// Bytes of a change's records: an entry that is marked and another that is inserted are two.
pub(super) fn record_bytes(entry: Entry) -> u32 {
    ((entry.bytes() + AROUND_BYTES) << u32::from(entry.inserts() && entry.marks())) as u32
}

/// What a change takes of its page.
pub(super) fn volume_of(entry: Entry) -> u64 {
    if entry.inserts() { entry.bytes() + VOLUME_AROUND } else { 0 }
}

/// What a change's way into the change buffer logs.
pub(super) fn redo_of(entry: Entry) -> u16 {
    record_bytes(entry) as u16 + REDO_ROW
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_entry_is_two_records_and_takes_the_room_of_one() {
        let mut waiting = Waiting::default();
        add(&mut waiting, Entry::moved(13), 70);
        assert_eq!(waiting, [2, 126, 14, 70]);
        add(&mut waiting, Entry::marked(13), u16::MAX);
        assert_eq!(waiting, [3, 189, 14, u16::MAX], "redo as far as it goes");
        assert_eq!(redo_of(Entry::inserted(20)), 90);
    }
}
