//! Pages of the journal: a head and records.

use super::{COUNTS, HEAD, Life, PAGE, begin, believed, get32, get64, put32, put64, seal};
use crate::cache::journal::{Record, What};
use crate::cache::{Block, Slot};

const JOURNAL_MAGIC: &[u8; 4] = b"fwJ1";

/// The head of a page of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct JournalHead {
    /// Counts a life's pages from 1; the page lies at this number modulo the ring.
    pub number: u64,
    /// The sequence number of its first record.
    pub first_record: u64,
    /// All pages up to this one were durable when this one was made.
    pub durable: u64,
    /// Checksum of the page before it.
    pub before_crc: u32,
    /// Checksum of this page.
    pub crc: u32,
}

/// Bytes of records that fit on a page.
pub(in super::super) const RECORD_BYTES: usize = PAGE - HEAD;

/// Bytes that a record takes.
pub(in super::super) fn record_bytes(record: &Record) -> usize {
    if matches!(record.what, What::Holds { .. }) { 17 } else { 5 }
}

const HOLDS: u8 = 1;
const HOLDS_DIRTY: u8 = 2;
const HOLDS_KEEPS: u8 = 4;
const CLEANED: u8 = 8;
const FREED: u8 = 9;
const INTENT_SET: u8 = 10;
const INTENT_CLEAR: u8 = 11;

/// What a page of the journal was made of.
pub(in super::super) struct Made {
    /// How many records.
    pub records: usize,
    /// The bytes that they take.
    pub bytes: usize,
    /// The page's checksum.
    pub crc: u32,
}

/// Makes a page of the journal with as many records as fit. It overwrites all of `page`.
pub(in super::super) fn journal_page<'a>(
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

/// Counts the records that fit on a page, without making it, because nobody will read it.
pub(in super::super) fn full_of<'a>(records: impl Iterator<Item = &'a Record>) -> Made {
    let mut made = Made { records: 0, bytes: 0, crc: 0 };
    for bytes in records.map(record_bytes) {
        if made.bytes + bytes > RECORD_BYTES {
            break;
        }
        (made.records, made.bytes) = (made.records + 1, made.bytes + bytes);
    }
    made
}

/// Reads the head of a page of the journal. None: it is no intact page of this life.
pub(in super::super) fn read_journal(life: Life, page: &[u8]) -> Option<JournalHead> {
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

/// Reads the records of a page that `read_journal` accepted. None: they are impossible although the checksum is right.
pub(in super::super) fn records(page: &[u8], slots: u32, blocks: u32, regions: u32) -> Option<Vec<Record>> {
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
    fn counts_that_cannot_be_are_not_believed() {
        let read = |head: JournalHead| {
            let mut page = [0; PAGE];
            journal_page(&mut page, LIFE, head, [].iter());
            read_journal(LIFE, &page).is_some()
        };
        assert!(read(JournalHead { durable: 0, ..head() }));
        for bad in [0, u64::MAX, 1 << 63] {
            assert!(!read(JournalHead { number: bad, ..head() }));
            assert!(!read(JournalHead { first_record: bad, ..head() }));
            assert!(bad == 0 || !read(JournalHead { durable: bad, ..head() }));
        }
    }
}
