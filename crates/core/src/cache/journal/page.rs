//! The bytes of metadata pages. Each page names its cache and its life, and carries a CRC-32C of all of it.

mod checkpoint;
mod journal;

pub(super) use checkpoint::{
    CheckpointHead, INTENT_BYTES, checkpoint_header, digest, entries_page, read_checkpoint_header, read_entries,
};
pub(super) use journal::{JournalHead, RECORD_BYTES, full_of, journal_page, read_journal, record_bytes, records};

use super::PAGE_BYTES;

/// Bytes of a page in memory.
pub(super) const PAGE: usize = PAGE_BYTES as usize;

/// Bytes before a page's records or entries.
const HEAD: usize = 64;

pub(super) fn put32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

pub(super) fn put64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

pub(super) fn get32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(super) fn get64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The pages that recovery trusts: those of this cache and this life of its journal. Earlier contents of the device,
/// and pages that an earlier life wrote, are ignored. A life ends with the start of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    /// The cache.
    pub uuid: [u8; 16],
    /// The number of the life, counted from the first start.
    pub number: u64,
}

/// Writes the magic number and the life at the beginning of a page. `seal` adds the checksum.
fn begin(page: &mut [u8; PAGE], magic: &[u8; 4], life: Life) {
    page[..4].copy_from_slice(magic);
    page[8..24].copy_from_slice(&life.uuid);
    put64(page, 24, life.number);
}

fn seal(page: &mut [u8; PAGE]) -> u32 {
    let crc = crc32c::crc32c(&page[8..]);
    put32(page, 4, crc);
    crc
}

fn believed(magic: &[u8; 4], life: Life, page: &[u8]) -> bool {
    page.len() == PAGE
        && &page[..4] == magic
        && page[8..24] == life.uuid
        && get64(page, 24) == life.number
        && get32(page, 4) == crc32c::crc32c(&page[8..])
}

/// Numbers of pages, records and checkpoints: they count from 1. No cache reaches the highest one, so a larger number
/// on a page is damage, and sums of valid numbers do not overflow.
const COUNTS: std::ops::RangeInclusive<u64> = 1..=1 << 62;

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Life = Life { uuid: [7; 16], number: 3 };
    const MAGIC: &[u8; 4] = b"fwT1";

    fn page() -> [u8; PAGE] {
        let mut page = [0xa5; PAGE];
        begin(&mut page, MAGIC, LIFE);
        seal(&mut page);
        page
    }

    #[test]
    fn a_page_is_believed_in_its_own_life_only() {
        assert!(believed(MAGIC, LIFE, &page()));
        assert!(!believed(MAGIC, Life { number: 4, ..LIFE }, &page()), "an older life's page");
        assert!(!believed(MAGIC, Life { uuid: [8; 16], ..LIFE }, &page()), "another cache's page");
        assert!(!believed(b"fwT2", LIFE, &page()), "a page of another kind");
        assert!(!believed(MAGIC, LIFE, &page()[1..]), "a part of a page");
    }

    #[test]
    fn a_changed_bit_is_never_believed() {
        for bit in (0..PAGE * 8).step_by(11) {
            let mut changed = page();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!believed(MAGIC, LIFE, &changed), "bit {bit}");
        }
    }
}
