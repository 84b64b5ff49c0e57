//! The bytes of metadata pages: each says whose it is, of which life, and carries the CRC-32C of all of it.

use super::{Entry, Holding, PAGE_BYTES, Record, What};
use crate::cache::journal::layout::SLOTS_PER_PAGE;
use crate::cache::{Block, Slot};

/// Bytes of a page in memory.
pub(super) const PAGE: usize = PAGE_BYTES as usize;

/// Bytes before a page's records or entries.
const HEAD: usize = 64;

/// Bytes of a slot in a checkpoint: holding, block, crc, stamp.
const ENTRY: usize = 13;

const JOURNAL_MAGIC: &[u8; 4] = b"fwJ1";
const HEADER_MAGIC: &[u8; 4] = b"fwC1";
const ENTRIES_MAGIC: &[u8; 4] = b"fwK1";

/// Bytes of the intents' bits in a checkpoint's header.
pub(super) const INTENT_BYTES: usize = super::layout::REGIONS_MAX as usize / 8;

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

/// Whose pages are believed: a device's earlier contents, and what an earlier life wrote, are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    /// The cache.
    pub uuid: [u8; 16],
    /// The lives of its journal, counted.
    pub number: u64,
}

/// Magic, checksum and life at the beginning of every page; the checksum is made last.
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

/// What a page of the journal says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JournalHead {
    /// Counts a life's pages from 1; the page lies at this number modulo the ring.
    pub number: u64,
    /// The sequence number of its first record.
    pub first_record: u64,
    /// All pages up to this one were durable when this one was made.
    pub durable: u64,
    /// Checksum of the page before it.
    pub before_crc: u32,
    /// Its own.
    pub crc: u32,
}

/// Bytes of records that fit on a page.
pub(super) const RECORD_BYTES: usize = PAGE - HEAD;

/// Bytes that a record takes.
pub(super) fn record_bytes(record: &Record) -> usize {
    if matches!(record.what, What::Holds { .. }) { 17 } else { 5 }
}

const HOLDS: u8 = 1;
const HOLDS_DIRTY: u8 = 2;
const HOLDS_KEEPS: u8 = 4;
const CLEANED: u8 = 8;
const FREED: u8 = 9;
const INTENT_SET: u8 = 10;
const INTENT_CLEAR: u8 = 11;

/// What went on a page of the journal.
pub(super) struct Made {
    /// How many records.
    pub records: usize,
    /// The bytes that they take.
    pub bytes: usize,
    /// The page's checksum.
    pub crc: u32,
}

/// Makes a page of the journal of as many records as fit on it. Whatever was in `page` before is overwritten.
pub(super) fn journal_page<'a>(
    page: &mut [u8; PAGE],
    life: Life,
    head: JournalHead,
    records: impl Iterator<Item = &'a Record>,
) -> Made {
    let mut at = HEAD;
    let mut count = 0;
    for record in records {
        let Some(room) = page.get_mut(at..at + record_bytes(record)) else { break };
        let (kind, number) = match record.what {
            What::Holds { block, crc, dirty, keeps, stamp } => {
                room[5..9].copy_from_slice(&block.0.to_le_bytes());
                room[9..13].copy_from_slice(&crc.to_le_bytes());
                room[13..17].copy_from_slice(&stamp.to_le_bytes());
                (HOLDS | if dirty { HOLDS_DIRTY } else { 0 } | if keeps { HOLDS_KEEPS } else { 0 }, record.slot.0)
            }
            What::Cleaned => (CLEANED, record.slot.0),
            What::Freed => (FREED, record.slot.0),
            What::Intent { region, set } => (if set { INTENT_SET } else { INTENT_CLEAR }, region),
        };
        room[0] = kind;
        room[1..5].copy_from_slice(&number.to_le_bytes());
        at += room.len();
        count += 1;
    }
    page[at..].fill(0);
    begin(page, JOURNAL_MAGIC, life);
    put64(page, 32, head.number);
    put64(page, 40, head.first_record);
    put64(page, 48, head.durable);
    put32(page, 56, (at - HEAD) as u32);
    put32(page, 60, head.before_crc);
    Made { records: count, bytes: at - HEAD, crc: seal(page) }
}

/// As many records as fit on a page that is not made: nobody will read it.
pub(super) fn full_of<'a>(records: impl Iterator<Item = &'a Record>) -> Made {
    let mut made = Made { records: 0, bytes: 0, crc: 0 };
    for bytes in records.map(record_bytes) {
        if made.bytes + bytes > RECORD_BYTES {
            break;
        }
        (made.records, made.bytes) = (made.records + 1, made.bytes + bytes);
    }
    made
}

/// Pages, records and checkpoints are counted from 1; no cache lives to see this many, and none that is read can overflow.
const COUNTS: std::ops::RangeInclusive<u64> = 1..=1 << 62;

/// A page of the journal, if it is one of this life.
pub(super) fn read_journal(life: Life, page: &[u8]) -> Option<JournalHead> {
    if !believed(JOURNAL_MAGIC, life, page) {
        return None;
    }
    let head = JournalHead {
        number: get64(page, 32),
        first_record: get64(page, 40),
        durable: get64(page, 48),
        before_crc: get32(page, 60),
        crc: get32(page, 4),
    };
    let counts = [head.number, head.first_record].iter().all(|count| COUNTS.contains(count));
    (counts && head.durable <= *COUNTS.end()).then_some(head)
}

/// The records of a page that `read_journal` believed; None: it makes no sense although its checksum is right.
pub(super) fn records(page: &[u8], slots: u32, blocks: u32, regions: u32) -> Option<Vec<Record>> {
    let used = get32(page, 56) as usize;
    let bytes = page[HEAD..].get(..used)?;
    let mut found = Vec::with_capacity(used / 5);
    let mut at = 0;
    while at < used {
        if at + 5 > used {
            return None;
        }
        let (kind, number) = (bytes[at], get32(bytes, at + 1));
        let what = match kind {
            CLEANED => What::Cleaned,
            FREED => What::Freed,
            INTENT_SET | INTENT_CLEAR => What::Intent { region: number, set: kind == INTENT_SET },
            1 | 3 | 5 | 7 if at + 17 <= used => What::Holds {
                block: Block(get32(bytes, at + 5)),
                crc: get32(bytes, at + 9),
                dirty: kind & HOLDS_DIRTY != 0,
                keeps: kind & HOLDS_KEEPS != 0,
                stamp: get32(bytes, at + 13),
            },
            _ => return None,
        };
        let sane = match what {
            What::Holds { block, .. } => number < slots && block.0 < blocks,
            What::Cleaned | What::Freed => number < slots,
            What::Intent { .. } => number < regions,
        };
        if !sane {
            return None;
        }
        let slot = Slot(if matches!(what, What::Intent { .. }) { 0 } else { number });
        let record = Record { slot, what };
        at += record_bytes(&record);
        found.push(record);
    }
    Some(found)
}

/// The header of a checkpoint. It is written when the pages behind it, and the journal up to `durable`, are durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckpointHead {
    /// Counts a life's checkpoints.
    pub number: u64,
    /// The journal's page from which records are replayed over it.
    pub start: u64,
    /// Checksum of the page before that one.
    pub before_crc: u32,
    /// The sequence number of the first record on that page.
    pub first_record: u64,
    /// The journal's pages up to this one must be there.
    pub durable: u64,
    /// Checksum of the checksums of its pages.
    pub digest: u32,
    /// Which regions' intents are set, a bit each.
    pub intents: Box<[u8; INTENT_BYTES]>,
}

/// The checksum of a checkpoint's pages' checksums.
pub(super) fn digest(crcs: &[u32]) -> u32 {
    crcs.iter().fold(0, |digest, crc| crc32c::crc32c_append(digest, &crc.to_le_bytes()))
}

/// Makes the header of a checkpoint.
pub(super) fn checkpoint_header(life: Life, head: &CheckpointHead) -> [u8; PAGE] {
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

/// The header of a checkpoint, if it is one of this life.
pub(super) fn read_checkpoint_header(life: Life, page: &[u8]) -> Option<CheckpointHead> {
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

/// Makes a page of a checkpoint: the slots from `index * SLOTS_PER_PAGE` on. Gives its checksum with it.
pub(super) fn entries_page(
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

/// A page of checkpoint `number`, read: each slot's entry goes to `into`. Gives its checksum; None: it is not that page.
pub(super) fn read_entries(
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

    fn head() -> JournalHead {
        JournalHead { number: 9, first_record: 100, durable: 7, before_crc: 5, crc: 0 }
    }

    #[test]
    fn a_page_of_records_comes_back() {
        let made = [
            Record {
                slot: Slot(3),
                what: What::Holds { block: Block(8), crc: 1, dirty: true, keeps: false, stamp: 4 },
            },
            Record {
                slot: Slot(4),
                what: What::Holds { block: Block(9), crc: 2, dirty: false, keeps: true, stamp: 5 },
            },
            Record { slot: Slot(3), what: What::Cleaned },
            Record { slot: Slot(4), what: What::Freed },
            Record { slot: Slot(0), what: What::Intent { region: 1, set: true } },
            Record { slot: Slot(0), what: What::Intent { region: 1, set: false } },
        ];
        let mut page = [0xa5; PAGE];
        let crc = journal_page(&mut page, LIFE, head(), made.iter()).crc;
        assert_eq!(read_journal(LIFE, &page), Some(JournalHead { crc, ..head() }));
        assert_eq!(records(&page, 5, 10, 2).unwrap(), made);
        assert_eq!(records(&page, 4, 10, 2), None, "a slot that is not there");
        assert_eq!(read_journal(Life { number: 4, ..LIFE }, &page), None, "an older life's page");
        assert_eq!(read_journal(Life { uuid: [8; 16], ..LIFE }, &page), None, "another cache's page");
    }

    #[test]
    fn a_changed_bit_is_never_believed() {
        let mut page = [0xa5; PAGE];
        journal_page(&mut page, LIFE, head(), [].iter());
        for bit in (0..PAGE * 8).step_by(11) {
            let mut changed = page;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_journal(LIFE, &changed), None, "bit {bit}");
        }
    }

    #[test]
    fn counts_that_cannot_be_are_not_believed() {
        // Recovery computes with them: a checkpoint that starts at page 0 was a panic.
        let read = |head: JournalHead| {
            let mut page = [0; PAGE];
            journal_page(&mut page, LIFE, head, [].iter());
            read_journal(LIFE, &page).is_some()
        };
        let of = |number, start, first_record, durable| {
            let (before_crc, digest, intents) = (4, 7, Box::new([0; INTENT_BYTES]));
            let head = CheckpointHead { number, start, before_crc, first_record, durable, digest, intents };
            read_checkpoint_header(LIFE, &checkpoint_header(LIFE, &head)).is_some()
        };
        assert!(read(JournalHead { durable: 0, ..head() }) && of(1, 1, 1, 0));
        for bad in [0, u64::MAX, 1 << 63] {
            assert!(!read(JournalHead { number: bad, ..head() }));
            assert!(!read(JournalHead { first_record: bad, ..head() }));
            assert!(!of(bad, 1, 1, 0) && !of(1, bad, 1, 0) && !of(1, 1, bad, 0));
            assert!(bad == 0 || !read(JournalHead { durable: bad, ..head() }) && !of(1, 1, 1, bad));
        }
    }

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
}
