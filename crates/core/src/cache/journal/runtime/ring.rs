//! The ring of journal pages: records that wait for a page, pages in flight, and how far the journal is written and
//! durable.

use std::collections::VecDeque;

use crate::cache::journal::Record;
use crate::cache::journal::page::{self, JournalHead, Life, PAGE, RECORD_BYTES};

/// A page in flight, or one whose write ended before that of an earlier page.
#[derive(Clone, Copy, Debug)]
struct Flight {
    ticket: u32,
    at: Position,
    ended: bool,
}

/// A place in the journal: a record, and the page that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Position {
    /// The record's number.
    pub(in super::super) record: u64,
    /// The page's number.
    pub(in super::super) page: u64,
}

/// Records and pages.
pub(super) struct Ring {
    recorded: u64,
    pending: VecDeque<Record>,
    pending_bytes: usize,
    next_page: u64,
    before_crc: u32,
    flights: VecDeque<Flight>,
    written: Position,
    durable: Position,
    /// The last record that an issued sync covers.
    marked: u64,
    /// Where pages are made.
    page: Option<Box<[u8; PAGE]>>,
}

impl Ring {
    /// An empty ring, after record `before`.
    pub(super) fn new(before: u64) -> Self {
        let begin = Position { record: before, page: 0 };
        Self {
            recorded: before,
            pending: VecDeque::new(),
            pending_bytes: 0,
            next_page: 1,
            before_crc: 0,
            flights: VecDeque::new(),
            written: begin,
            durable: begin,
            marked: before,
            page: None,
        }
    }

    /// Adds a record. Returns its number.
    #[inline]
    pub(super) fn record(&mut self, record: Record) -> u64 {
        self.recorded += 1;
        self.pending_bytes += page::record_bytes(&record);
        self.pending.push_back(record);
        self.recorded
    }

    /// The last record.
    pub(super) fn recorded(&self) -> u64 {
        self.recorded
    }

    /// How many records are in no page yet.
    pub(super) fn pending(&self) -> u64 {
        self.pending.len() as u64
    }

    /// Whether the records that are in no page fill one.
    #[inline]
    pub(super) fn has_full_page(&self) -> bool {
        self.pending_bytes >= RECORD_BYTES
    }

    /// The last record that is in a page.
    pub(super) fn paged(&self) -> u64 {
        self.recorded - self.pending()
    }

    /// The number of the next page, and the checksum of the one before.
    pub(super) fn next_page(&self) -> (u64, u32) {
        (self.next_page, self.before_crc)
    }

    /// All records up to here are in pages whose writes ended.
    pub(super) fn written(&self) -> Position {
        self.written
    }

    /// All records up to here are durable.
    pub(super) fn durable(&self) -> Position {
        self.durable
    }

    /// A sync is issued. Returns what it makes durable.
    pub(super) fn mark(&mut self) -> Position {
        self.marked = self.written.record;
        self.written
    }

    /// The last record that an issued sync covers.
    pub(super) fn marked(&self) -> u64 {
        self.marked
    }

    /// A sync that covers all records up to `mark` succeeded.
    pub(super) fn synced(&mut self, mark: Position) {
        self.durable.record = self.durable.record.max(mark.record);
        self.durable.page = self.durable.page.max(mark.page);
    }

    /// Makes the next page (`content`), or without a life only counts the records that it would have. Returns its last
    /// record.
    pub(super) fn make_page(&mut self, life: Option<Life>) -> Position {
        let (number, first_record) = (self.next_page, self.paged() + 1);
        let (durable, before_crc) = (self.durable.page, self.before_crc);
        let made = match life {
            None => page::full_of(self.pending.iter()),
            Some(life) => {
                let head = JournalHead { number, first_record, durable, before_crc, crc: 0 };
                let page = self.page.get_or_insert_with(|| Box::new([0; PAGE]));
                page::journal_page(page, life, head, self.pending.iter())
            }
        };
        self.pending.drain(..made.records);
        self.pending_bytes -= made.bytes;
        self.next_page += 1;
        self.before_crc = made.crc;
        Position { record: first_record + made.records as u64 - 1, page: number }
    }

    /// The page that was made last.
    pub(super) fn content(&self) -> Option<&[u8]> {
        self.page.as_ref().map(|page| &page[..])
    }

    /// The page that ends at a position is being written.
    pub(super) fn write_begins(&mut self, ticket: u32, at: Position) {
        self.flights.push_back(Flight { ticket, at, ended: false });
    }

    /// A write ended. Returns false if it is not a write of a page of the ring.
    pub(super) fn write_ended(&mut self, ticket: u32) -> bool {
        let Some(flight) = self.flights.iter_mut().find(|flight| flight.ticket == ticket) else { return false };
        flight.ended = true;
        while let Some(first) = self.flights.front().filter(|flight| flight.ended) {
            self.written = first.at;
            self.flights.pop_front();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Slot;
    use crate::cache::journal::What;

    #[test]
    fn what_is_written_ends_before_the_first_page_whose_write_has_not_ended() {
        let mut ring = Ring::new(10);
        let mut ends = Vec::new();
        for ticket in 1..4 {
            ring.record(Record { slot: Slot(1), what: What::Freed });
            let at = ring.make_page(None);
            ring.write_begins(ticket, at);
            ends.push(at);
        }
        assert_eq!(ends.iter().map(|at| (at.record, at.page)).collect::<Vec<_>>(), [(11, 1), (12, 2), (13, 3)]);
        assert!(ring.write_ended(2) && !ring.write_ended(9));
        assert_eq!((ring.written().record, ring.pending(), ring.paged()), (10, 0, 13));
        assert!(ring.write_ended(1));
        assert_eq!(ring.written(), ends[1]);
        let mark = ring.mark();
        assert!(ring.write_ended(3));
        ring.synced(mark);
        assert_eq!((ring.durable(), ring.marked(), ring.written()), (ends[1], 12, ends[2]));
    }

    #[test]
    fn a_page_is_full_before_all_records_are_in_it() {
        let mut ring = Ring::new(0);
        while !ring.has_full_page() {
            ring.record(Record { slot: Slot(1), what: What::Cleaned });
        }
        let all = ring.recorded();
        let at = ring.make_page(Some(Life { uuid: [1; 16], number: 1 }));
        assert!(at.record <= all && at.record + 1 >= all && ring.content().is_some());
        assert_eq!((ring.paged(), ring.next_page().0), (at.record, 2));
    }
}
