//! The journal at work: records in, pages to be written out.
//!
//! The ring keeps what must be replayed over either checkpoint, so that one of them may rot. A checkpoint is made when a
//! third of the ring was written since the last one began, in the background: its pages show the slots at different
//! moments, and replaying all records from before the first page to after the last makes them agree. Its header comes
//! last, when everything that it stands on is durable. A page of the journal is never written twice.

use std::collections::VecDeque;

use super::page::{self, CheckpointHead, INTENT_BYTES, JournalHead, Life, PAGE, RECORD_BYTES};
use super::recovery::{Recovered, Start};
use super::superblock::{Pair, State, Superblock};
use super::{Entry, Geometry, PAGE_BYTES, PAIR_BYTES, Record, Table, What};
use crate::cache::journal::layout::{SLOTS_PER_PAGE, SUPERBLOCK_OFFSETS};
use crate::cache::{BufferId, Memory, Place, Slot};

/// Pages of a checkpoint in one write.
const RUN_PAGES: u32 = 16;

/// Bytes of the longest record.
const RECORD_BYTES_MAX: u64 = 17;

/// Writes of a checkpoint under way at once: enough to keep a fast device busy, few enough not to be felt.
const RUNS_AT_ONCE: u32 = 4;

/// A write to the fast device that the journal wants. Whoever does it gives the buffer back when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageWrite {
    /// The journal's name for it.
    pub ticket: u32,
    /// First byte on the fast device.
    pub offset: u64,
    /// A buffer of `Memory::take`, filled.
    pub buffer: BufferId,
    /// Length: one page or a run of them.
    pub bytes: u32,
}

/// What a sync of the fast device makes durable: taken when the sync is asked for, handed back when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Records that it makes durable: `Journal::written` of then.
    pub up_to: u64,
    page: u64,
    ended: u64,
}

/// A page of the journal whose write has not ended, or not before all earlier ones.
#[derive(Clone, Copy, Debug)]
struct Flight {
    ticket: u32,
    page: u64,
    last_record: u64,
    ended: bool,
}

/// How far the checkpoint in the making, or the stop, has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing to do.
    Rest,
    /// Its pages are being written.
    Pages,
    /// Pages and the journal's records up to `cover` are being written, then made durable.
    Settle,
    /// The header is to be written.
    Header,
    /// Its write is under way.
    HeaderWrite,
    /// It is written, and must become durable.
    HeaderSettle,
    /// A copy of the last superblock is to be written, is being written, must become durable.
    Stop(usize),
    StopWrite(usize),
    StopSettle(usize),
    Stopped,
}

/// A checkpoint in the making.
#[derive(Clone, Debug)]
struct Checkpoint {
    number: u64,
    start: u64,
    before_crc: u32,
    first_record: u64,
    next_page: u32,
    runs: u32,
    crcs: Vec<u32>,
    /// The last record that its pages may show.
    cover: u64,
}

/// The journal of a cache at work.
pub struct Journal {
    geometry: Geometry,
    superblock: Superblock,
    pair: Pair,
    blank: bool,
    recorded: u64,
    pending: VecDeque<Record>,
    pending_bytes: usize,
    next_page: u64,
    before_crc: u32,
    flights: VecDeque<Flight>,
    written: u64,
    written_page: u64,
    durable: u64,
    durable_page: u64,
    intents: Box<[u8; INTENT_BYTES]>,
    /// From which page each area's checkpoint is replayed.
    starts: [u64; 2],
    latest: usize,
    latest_number: u64,
    step: Step,
    checkpoint: Checkpoint,
    /// Writes of checkpoints and superblocks that ended, how many must be durable to go on, how many are, and how many a
    /// sync that was asked for covers.
    ended: u64,
    settle: u64,
    settled: u64,
    marked: u64,
    marked_up_to: u64,
    tickets: u32,
    checkpoint_tickets: Vec<u32>,
    stopping: bool,
    failed: bool,
    bytes_written: u64,
    /// Where pages of the journal are made.
    page: Option<Box<[u8; PAGE]>>,
}

impl Journal {
    /// The journal of a cache as recovery found it.
    pub fn new(recovered: &Recovered) -> Self {
        let Start { superblock, pair, first_record } = recovered.start.clone();
        let before = first_record - 1;
        Self {
            geometry: recovered.geometry,
            superblock,
            pair,
            blank: recovered.blank,
            recorded: before,
            pending: VecDeque::new(),
            pending_bytes: 0,
            next_page: 1,
            before_crc: 0,
            flights: VecDeque::new(),
            written: before,
            written_page: 0,
            durable: before,
            durable_page: 0,
            intents: Box::new([0; INTENT_BYTES]),
            starts: [1, 1],
            latest: 1,
            latest_number: 1,
            step: Step::Rest,
            checkpoint: Checkpoint {
                number: 1,
                start: 1,
                before_crc: 0,
                first_record,
                next_page: 0,
                runs: 0,
                crcs: Vec::new(),
                cover: 0,
            },
            ended: 0,
            settle: 0,
            settled: 0,
            marked: 0,
            marked_up_to: before,
            tickets: 0,
            checkpoint_tickets: Vec::new(),
            stopping: false,
            failed: false,
            bytes_written: 0,
            page: None,
        }
    }

    /// Remembers something; gives its sequence number, counted from 1. For `Holds` the data write must have ended.
    #[inline]
    pub fn record(&mut self, record: Record) -> u64 {
        if let What::Intent { region, set } = record.what {
            let (byte, bit) = (region as usize / 8, 1 << (region % 8));
            self.intents[byte] = if set { self.intents[byte] | bit } else { self.intents[byte] & !bit };
        }
        self.recorded += 1;
        self.pending_bytes += page::record_bytes(&record);
        self.pending.push_back(record);
        self.recorded
    }

    /// The last record's sequence number; 0: none was ever made.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// What lies where.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// All records up to this one are in pages whose writes ended.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// All records up to this one are durable.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// The next write that is due: a full page of records, a part-filled one if `all`, a part of a checkpoint, at the end
    /// a superblock. Call it until it gives None, after each record, ended write and ended sync.
    pub fn next_write<T: Table, M: Memory>(&mut self, table: &T, all: bool, memory: &mut M) -> Option<PageWrite> {
        // Between checkpoints, which only begin and end with a write or a sync, there is nothing to look at.
        let nothing = self.step == Step::Rest && !all && !self.stopping && self.pending_bytes < RECORD_BYTES;
        if self.failed || nothing {
            return None;
        }
        self.advance();
        let paged = self.recorded - self.pending.len() as u64;
        let needed = self.stopping || self.step == Step::Settle && paged < self.checkpoint.cover;
        let all = needed || all && self.free_pages() > self.reserve();
        if self.free_pages() > 0 && (self.pending_bytes >= RECORD_BYTES || all && self.pending_bytes > 0) {
            let page = self.journal_page(memory);
            self.advance();
            return Some(page);
        }
        match self.step {
            Step::Pages if self.page_is_due() => Some(self.checkpoint_pages(table, memory)),
            Step::Header => Some(self.checkpoint_header(memory)),
            Step::Stop(copy) => Some(self.last_superblock(copy, memory)),
            _ => None,
        }
    }

    /// A write ended. After one that failed the journal gives out no more: the cache must go on without the fast device.
    pub fn write_ended(&mut self, ticket: u32, ok: bool) {
        if !ok {
            self.failed = true;
            return;
        }
        if let Some(flight) = self.flights.iter_mut().find(|flight| flight.ticket == ticket) {
            flight.ended = true;
            while let Some(first) = self.flights.front().filter(|flight| flight.ended) {
                (self.written, self.written_page) = (first.last_record, first.page);
                self.flights.pop_front();
            }
        } else if let Some(at) = self.checkpoint_tickets.iter().position(|&known| known == ticket) {
            self.checkpoint_tickets.swap_remove(at);
            self.ended += 1;
            match self.step {
                Step::HeaderWrite => (self.step, self.settle) = (Step::HeaderSettle, self.ended),
                Step::StopWrite(copy) => (self.step, self.settle) = (Step::StopSettle(copy), self.ended),
                _ => self.checkpoint.runs -= 1,
            }
        }
        self.advance();
    }

    /// What a sync of the fast device that is asked for now will make durable.
    pub fn mark(&mut self) -> Mark {
        (self.marked, self.marked_up_to) = (self.ended, self.written);
        Mark { up_to: self.written, page: self.written_page, ended: self.ended }
    }

    /// That sync ended well.
    pub fn synced(&mut self, mark: Mark) {
        self.durable = self.durable.max(mark.up_to);
        self.durable_page = self.durable_page.max(mark.page);
        self.settled = self.settled.max(mark.ended);
        self.advance();
    }

    /// A checkpoint or a stop waits for a sync of the fast device, which nobody else may have asked for.
    pub fn wants_sync(&self) -> bool {
        match self.step {
            _ if self.failed => false,
            Step::Settle => {
                self.checkpoint.runs == 0
                    && self.written >= self.checkpoint.cover
                    && (self.marked < self.ended || self.marked_up_to < self.checkpoint.cover)
            }
            Step::HeaderSettle | Step::StopSettle(_) => self.marked < self.settle,
            _ => false,
        }
    }

    /// Records that surely find room. With fewer than are under way (a write to a slot whose record is still to come),
    /// nothing more may begin until it has grown again: a checkpoint is being made meanwhile. Above the reserve each
    /// record may take a page of its own; in it pages wait until they are full, or until the checkpoint needs them.
    pub fn room(&self) -> u64 {
        let (free, reserve) = (self.free_pages(), self.reserve());
        let packed = free.min(reserve) * (RECORD_BYTES as u64 / RECORD_BYTES_MAX);
        (free.saturating_sub(reserve) + packed).saturating_sub(self.pending.len() as u64)
    }

    /// Pages that are only for what is under way when the ring is nearly full, so that a checkpoint can always be ended.
    fn reserve(&self) -> u64 {
        u64::from(self.geometry.journal_pages / 8)
    }

    /// Ends the journal: what follows from `next_write` is the last pages, a checkpoint and the superblocks that say that
    /// the cache was cleanly stopped. No record may follow. The slow device must be synced before.
    pub fn stop(&mut self) {
        self.stopping = true;
        self.advance();
    }

    /// All that is durable: the cache may be closed.
    pub fn stopped(&self) -> bool {
        self.step == Step::Stopped
    }

    /// A write failed: nothing can be recorded any more.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Bytes of metadata written so far.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    /// The pairing record that says that the fast device failed: what is written to `Side::Pair` at offset 0, and synced,
    /// before the first write goes past the fast device. `dirty_blocks` were on it only.
    pub fn degraded_pair(&self, dirty_blocks: u64) -> [u8; PAIR_BYTES as usize] {
        Pair { sequence: self.pair.sequence + 1, degraded: true, dirty_blocks, ..self.pair }.page()
    }

    fn life(&self) -> Life {
        self.superblock.life()
    }

    /// The first page that may still have to be replayed.
    fn kept_from(&self) -> u64 {
        match self.step {
            Step::Rest | Step::Stop(_) | Step::StopWrite(_) | Step::StopSettle(_) | Step::Stopped => {
                self.starts[0].min(self.starts[1])
            }
            // The other area is being written over.
            _ => self.starts[self.latest],
        }
    }

    fn free_pages(&self) -> u64 {
        u64::from(self.geometry.journal_pages).saturating_sub(self.next_page - self.kept_from())
    }

    /// Takes all steps for which nothing has to be written.
    fn advance(&mut self) {
        let ring = u64::from(self.geometry.journal_pages);
        match self.step {
            Step::Rest => {
                let since = self.next_page - self.starts[self.latest];
                if self.stopping && since == 0 && self.pending.is_empty() {
                    self.step = Step::Stop(0);
                } else if since >= ring / 3 || self.free_pages() < ring / 4 || self.stopping && self.pending.is_empty()
                {
                    self.begin_checkpoint();
                }
            }
            // What the pages show must be durable in the journal, and they themselves, before the header says so.
            Step::Settle
                if self.checkpoint.runs == 0 && self.durable >= self.checkpoint.cover && self.settled == self.ended =>
            {
                self.step = Step::Header;
            }
            Step::HeaderSettle if self.settled >= self.settle => {
                self.latest = 1 - self.latest;
                self.latest_number = self.checkpoint.number;
                self.starts[self.latest] = self.checkpoint.start;
                self.step = Step::Rest;
                self.advance();
            }
            Step::StopSettle(copy) if self.settled >= self.settle => {
                self.step = if copy + 1 < SUPERBLOCK_OFFSETS.len() { Step::Stop(copy + 1) } else { Step::Stopped };
            }
            _ => {}
        }
    }

    fn begin_checkpoint(&mut self) {
        self.checkpoint = Checkpoint {
            number: self.latest_number + 1,
            start: self.next_page,
            before_crc: self.before_crc,
            first_record: self.recorded + 1 - self.pending.len() as u64,
            next_page: 0,
            runs: 0,
            crcs: Vec::with_capacity(self.geometry.checkpoint_pages as usize),
            cover: 0,
        };
        self.step = Step::Pages;
    }

    /// Paced so that the checkpoint is done when a sixth of the ring was written meanwhile; at once if the ring is full.
    fn page_is_due(&self) -> bool {
        let ring = u64::from(self.geometry.journal_pages);
        let since = self.next_page - self.checkpoint.start + 1;
        let due = u64::from(self.geometry.checkpoint_pages) * since / (ring / 6);
        let urgent = self.stopping || self.free_pages() < ring / 2;
        self.checkpoint.runs < RUNS_AT_ONCE && (urgent || u64::from(self.checkpoint.next_page) < due)
    }

    fn journal_page<M: Memory>(&mut self, memory: &mut M) -> PageWrite {
        let first_record = self.recorded + 1 - self.pending.len() as u64;
        let number = self.next_page;
        let head =
            JournalHead { number, first_record, durable: self.durable_page, before_crc: self.before_crc, crc: 0 };
        let (life, mut page) = (self.life(), std::mem::take(&mut self.page));
        let made = if self.blank {
            page::full_of(self.pending.iter())
        } else {
            page::journal_page(page.get_or_insert_with(|| Box::new([0; PAGE])), life, head, self.pending.iter())
        };
        self.pending.drain(..made.records);
        self.pending_bytes -= made.bytes;
        self.next_page += 1;
        self.before_crc = made.crc;
        let place = self.geometry.journal_page_offset(number);
        let write = self.give_out(place, page.as_ref().map(|page| &page[..]), PAGE_BYTES, memory);
        self.page = page;
        let last_record = first_record + made.records as u64 - 1;
        self.flights.push_back(Flight { ticket: write.ticket, page: number, last_record, ended: false });
        write
    }

    fn checkpoint_pages<T: Table, M: Memory>(&mut self, table: &T, memory: &mut M) -> PageWrite {
        let (life, geometry) = (self.life(), self.geometry);
        let checkpoint = &mut self.checkpoint;
        let first = checkpoint.next_page;
        let pages = RUN_PAGES.min(geometry.checkpoint_pages - first);
        let mut bytes = Vec::with_capacity(if self.blank { 0 } else { pages as usize * PAGE });
        for index in first..first + pages {
            let slots = index * SLOTS_PER_PAGE..geometry.slots.min((index + 1) * SLOTS_PER_PAGE);
            let crc = if self.blank {
                0
            } else {
                let (page, crc) =
                    page::entries_page(life, checkpoint.number, index, slots.map(|slot| table.entry(Slot(slot))));
                bytes.extend_from_slice(&page);
                crc
            };
            checkpoint.crcs.push(crc);
        }
        checkpoint.next_page += pages;
        checkpoint.runs += 1;
        checkpoint.cover = self.recorded;
        if checkpoint.next_page == geometry.checkpoint_pages {
            self.step = Step::Settle;
        }
        let place = geometry.checkpoint_offsets[1 - self.latest] + u64::from(first + 1) * u64::from(PAGE_BYTES);
        let content = (!self.blank).then_some(&bytes[..]);
        self.give_out_checkpoint(place, content, pages * PAGE_BYTES, memory)
    }

    fn checkpoint_header<M: Memory>(&mut self, memory: &mut M) -> PageWrite {
        let checkpoint = &self.checkpoint;
        let head = CheckpointHead {
            number: checkpoint.number,
            start: checkpoint.start,
            before_crc: checkpoint.before_crc,
            first_record: checkpoint.first_record,
            durable: self.durable_page,
            digest: page::digest(&checkpoint.crcs),
            intents: self.intents.clone(),
        };
        let page = page::checkpoint_header(self.life(), &head);
        self.step = Step::HeaderWrite;
        let place = self.geometry.checkpoint_offsets[1 - self.latest];
        self.give_out_checkpoint(place, Some(&page), PAGE_BYTES, memory)
    }

    fn last_superblock<M: Memory>(&mut self, copy: usize, memory: &mut M) -> PageWrite {
        if copy == 0 {
            self.superblock.sequence += 1;
            self.superblock.state = State::Stopped;
            self.superblock.last_page = self.next_page - 1;
        }
        let page = self.superblock.page();
        self.step = Step::StopWrite(copy);
        self.give_out_checkpoint(SUPERBLOCK_OFFSETS[copy], Some(&page), PAGE_BYTES, memory)
    }

    fn give_out_checkpoint<M: Memory>(
        &mut self,
        offset: u64,
        content: Option<&[u8]>,
        bytes: u32,
        memory: &mut M,
    ) -> PageWrite {
        let write = self.give_out(offset, content, bytes, memory);
        self.checkpoint_tickets.push(write.ticket);
        write
    }

    fn give_out<M: Memory>(&mut self, offset: u64, content: Option<&[u8]>, bytes: u32, memory: &mut M) -> PageWrite {
        let buffer = memory.take(bytes);
        if let Some(content) = content.filter(|_| !self.blank) {
            memory.store(Place::Buffer { buffer, at: 0 }, content);
        }
        self.tickets = self.tickets.wrapping_add(1);
        self.bytes_written += u64::from(bytes);
        PageWrite { ticket: self.tickets, offset, buffer, bytes }
    }
}

/// Slots that hold nothing: what a new cache's first checkpoint shows.
impl Table for () {
    fn entry(&self, _slot: Slot) -> Entry {
        Entry::default()
    }
}
