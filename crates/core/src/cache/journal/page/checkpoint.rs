//! Pages of a checkpoint: its header, and the pages with the entry of each slot.

use super::{COUNTS, HEAD, Life, PAGE, begin, believed, get32, get64, put32, put64, seal};
use crate::cache::Block;
use crate::cache::journal::layout::{REGIONS_MAX, SLOTS_PER_PAGE};
use crate::cache::journal::{Entry, Holding};

/// Bytes of a slot in a checkpoint: holding, block, crc, stamp.
const ENTRY: usize = 13;

const HEADER_MAGIC: &[u8; 4] = b"fwC1";
const ENTRIES_MAGIC: &[u8; 4] = b"fwK1";

/// Bytes of the intents' bits in a checkpoint's header.
pub(in super::super) const INTENT_BYTES: usize = REGIONS_MAX as usize / 8;

/// The header of a checkpoint. It is written when the pages behind it, and the journal up to `durable`, are durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct CheckpointHead {
    /// Counts a life's checkpoints.
    pub number: u64,
    /// The journal's page from which records are replayed over it.
    pub start: u64,
    /// Checksum of the page before that one.
    pub before_crc: u32,
    /// The sequence number of the first record on that page.
    pub first_record: u64,
    /// Recovery needs all of the journal's pages up to this one.
    pub durable: u64,
    /// Checksum of the checksums of its pages.
    pub digest: u32,
    /// Which regions' intents are set, a bit each.
    pub intents: Box<[u8; INTENT_BYTES]>,
}

/// The checksum of a checkpoint's pages' checksums.
pub(in super::super) fn digest(crcs: &[u32]) -> u32 {
    crcs.iter().fold(0, |digest, crc| crc32c::crc32c_append(digest, &crc.to_le_bytes()))
}

/// Makes the header of a checkpoint.
pub(in super::super) fn checkpoint_header(life: Life, head: &CheckpointHead) -> [u8; PAGE] {
    let mut page = [0; PAGE];
    begin(&mut page, HEADER_MAGIC, life);
    put64(&mut page, 32, head.number);
    put64(&mut page, 40, head.start);
    put64(&mut page, 48, head.first_record);
    put64(&mut page, 56, head.durable);
    put32(&mut page, 64, head.before_crc);
    put32(&mut page, 68, head.digest);
    page[128..128 + INTENT_BYTES].copy_from_slice(&head.intents[..]);
    seal(&mut page);
    page
}

/// Reads the header of a checkpoint. None: it is no intact header of this life.
pub(in super::super) fn read_checkpoint_header(life: Life, page: &[u8]) -> Option<CheckpointHead> {
    if !believed(HEADER_MAGIC, life, page) {
        return None;
    }
    let head = CheckpointHead {
        number: get64(page, 32),
        start: get64(page, 40),
        first_record: get64(page, 48),
        durable: get64(page, 56),
        before_crc: get32(page, 64),
        digest: get32(page, 68),
        intents: Box::new(page[128..128 + INTENT_BYTES].try_into().expect("its length")),
    };
    let counts = [head.number, head.start, head.first_record].iter().all(|count| COUNTS.contains(count));
    (counts && head.durable <= *COUNTS.end()).then_some(head)
}

/// Makes a page of a checkpoint, with the slots from `index * SLOTS_PER_PAGE` on. Returns the page and its checksum.
pub(in super::super) fn entries_page(
    life: Life,
    number: u64,
    index: u32,
    entries: impl Iterator<Item = Entry>,
) -> ([u8; PAGE], u32) {
    let mut page = [0; PAGE];
    begin(&mut page, ENTRIES_MAGIC, life);
    put64(&mut page, 32, number);
    put32(&mut page, 40, index);
    for (place, entry) in page[HEAD..].chunks_exact_mut(ENTRY).zip(entries.take(SLOTS_PER_PAGE as usize)) {
        place[0] = entry.holding as u8;
        place[1..5].copy_from_slice(&entry.block.0.to_le_bytes());
        place[5..9].copy_from_slice(&entry.crc.to_le_bytes());
        place[9..13].copy_from_slice(&entry.stamp.to_le_bytes());
    }
    let crc = seal(&mut page);
    (page, crc)
}

/// Reads a page of checkpoint `number` and puts each slot's entry into `into`. Returns its checksum. None: it is not
/// that page.
pub(in super::super) fn read_entries(
    life: Life,
    number: u64,
    index: u32,
    blocks: u32,
    page: &[u8],
    into: &mut [Entry],
) -> Option<u32> {
    if !believed(ENTRIES_MAGIC, life, page) || get64(page, 32) != number || get32(page, 40) != index {
        return None;
    }
    for (nth, entry) in into.iter_mut().enumerate() {
        let at = HEAD + nth * ENTRY;
        let holding = match page[at] {
            0 => Holding::Nothing,
            1 => Holding::Clean,
            2 => Holding::Dirty,
            3 => Holding::Superseded,
            _ => return None,
        };
        *entry =
            Entry { holding, block: Block(get32(page, at + 1)), crc: get32(page, at + 5), stamp: get32(page, at + 9) };
        if holding != Holding::Nothing && entry.block.0 >= blocks {
            return None;
        }
    }
    Some(get32(page, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Life = Life { uuid: [7; 16], number: 3 };

    #[test]
    fn a_checkpoint_comes_back() {
        let entry = |slot: u32| Entry { holding: Holding::Dirty, block: Block(slot + 1), crc: slot * 3, stamp: slot };
        let (page, crc) = entries_page(LIFE, 2, 1, (0..400).map(entry));
        let mut back = vec![Entry::default(); SLOTS_PER_PAGE as usize];
        assert_eq!(read_entries(LIFE, 2, 1, 1000, &page, &mut back), Some(crc));
        assert!(back.iter().enumerate().all(|(slot, &found)| found == entry(slot as u32)));
        assert_eq!(read_entries(LIFE, 2, 0, 1000, &page, &mut back), None, "another page's place");
        assert_eq!(read_entries(LIFE, 3, 1, 1000, &page, &mut back), None, "another checkpoint's");
        assert_eq!(read_entries(LIFE, 2, 1, 100, &page, &mut back), None, "a block that is not there");
        let head = CheckpointHead {
            number: 2,
            start: 3,
            before_crc: 4,
            first_record: 5,
            durable: 6,
            digest: 7,
            intents: Box::new([0xa5; INTENT_BYTES]),
        };
        assert_eq!(read_checkpoint_header(LIFE, &checkpoint_header(LIFE, &head)), Some(head));
    }

    #[test]
    fn counts_that_cannot_be_are_not_believed() {
        // Recovery computes with them: a checkpoint that starts at page 0 was a panic.
        let of = |number, start, first_record, durable| {
            let (before_crc, digest, intents) = (4, 7, Box::new([0; INTENT_BYTES]));
            let head = CheckpointHead { number, start, before_crc, first_record, durable, digest, intents };
            read_checkpoint_header(LIFE, &checkpoint_header(LIFE, &head)).is_some()
        };
        assert!(of(1, 1, 1, 0));
        for bad in [0, u64::MAX, 1 << 63] {
            assert!(!of(bad, 1, 1, 0) && !of(1, bad, 1, 0) && !of(1, 1, bad, 0));
            assert!(bad == 0 || !of(1, 1, 1, bad));
        }
    }
}
