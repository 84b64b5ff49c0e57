//! The journal of a cache that serves: it takes records and gives out pages to be written.
//!
//! The ring keeps the records that must be replayed over either checkpoint, so recovery succeeds if one of them is
//! damaged. A checkpoint begins when a third of the ring was written since the last one began. It is written in the
//! background, so its pages show the slots at different moments. A replay of all records from before the first page to
//! after the last makes them agree. The header is written last, when everything that it refers to is durable. A page of
//! the journal is never written twice.

mod checkpoint;
mod pages;
mod ring;

use checkpoint::{Checkpoints, Settling};
use ring::{Position, Ring};

use super::page::{INTENT_BYTES, Life, RECORD_BYTES};
use super::recovery::{Recovered, Start};
use super::superblock::{Pair, Superblock};
use super::{Entry, Geometry, PAIR_BYTES, Record, Table, What};
use crate::cache::journal::layout::SUPERBLOCK_OFFSETS;
use crate::cache::{BufferId, Memory, Slot};

/// Bytes of the longest record.
const RECORD_BYTES_MAX: u64 = 17;

/// Writes of a checkpoint in flight at once: enough to keep a fast device busy, and too few to slow users down.
const RUNS_AT_ONCE: u32 = 4;

/// A write to the fast device that the journal wants. The caller issues it and gives the buffer back when it has ended.
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

/// What a sync of the fast device makes durable. It is taken when the sync is issued and handed back when the sync has
/// ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Records that it makes durable: `Journal::written` when it was issued.
    pub up_to: u64,
    position: Position,
    ended: u64,
}

/// The step that the checkpoint under way, or the stop, has reached.
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
    /// The write of the header is in flight.
    HeaderWrite,
    /// The header is written, and must become durable.
    HeaderSettle,
    /// A copy of the last superblock is to be written; then it is in flight; then it must become durable.
    Stop(usize),
    StopWrite(usize),
    StopSettle(usize),
    Stopped,
}

/// The journal of a cache that serves.
pub struct Journal {
    geometry: Geometry,
    superblock: Superblock,
    pair: Pair,
    /// Pages are counted but not made, because nobody will read them.
    blank: bool,
    ring: Ring,
    intents: Box<[u8; INTENT_BYTES]>,
    checkpoints: Checkpoints,
    settling: Settling,
    step: Step,
    tickets: u32,
    stopping: bool,
    failed: bool,
    bytes_written: u64,
}

impl Journal {
    /// The journal of a cache that was recovered.
    pub fn new(recovered: &Recovered) -> Self {
        let Start { superblock, pair, first_record } = recovered.start.clone();
        Self {
            geometry: recovered.geometry,
            superblock,
            pair,
            blank: recovered.blank,
            ring: Ring::new(first_record - 1),
            intents: Box::new([0; INTENT_BYTES]),
            checkpoints: Checkpoints::new(recovered.geometry.checkpoint_pages, first_record),
            settling: Settling::default(),
            step: Step::Rest,
            tickets: 0,
            stopping: false,
            failed: false,
            bytes_written: 0,
        }
    }

    /// Adds a record. Returns its sequence number, counted from 1. For `Holds` the data write must have ended.
    #[inline]
    pub fn record(&mut self, record: Record) -> u64 {
        if let What::Intent { region, set } = record.what {
            let (byte, bit) = (region as usize / 8, 1 << (region % 8));
            self.intents[byte] = if set { self.intents[byte] | bit } else { self.intents[byte] & !bit };
        }
        self.ring.record(record)
    }

    /// The last record's sequence number; 0: none was ever made.
    pub fn recorded(&self) -> u64 {
        self.ring.recorded()
    }

    /// What lies where.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// All records up to this one are in pages whose writes ended.
    pub fn written(&self) -> u64 {
        self.ring.written().record
    }

    /// All records up to this one are durable.
    pub fn durable(&self) -> u64 {
        self.ring.durable().record
    }

    /// The next write that is due: a full page of records, a part-filled one if `all`, a part of a checkpoint, or at
    /// the end a superblock. Call it until it returns None, after each record, each write that ended and each sync that
    /// ended.
    pub fn next_write<T: Table, M: Memory>(&mut self, table: &T, all: bool, memory: &mut M) -> Option<PageWrite> {
        // A checkpoint begins and ends only with a write or a sync, so between checkpoints only full pages are due.
        let nothing = self.step == Step::Rest && !all && !self.stopping && !self.ring.has_full_page();
        if self.failed || nothing {
            return None;
        }
        self.advance();
        let cover = self.checkpoints.making().cover();
        let needed = self.stopping || self.step == Step::Settle && self.ring.paged() < cover;
        let all = needed || all && self.free_pages() > self.reserve();
        if self.free_pages() > 0 && (self.ring.has_full_page() || all && self.ring.pending() > 0) {
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

    /// A write ended. After a failed write the journal gives out no more pages: the cache continues without the fast
    /// device.
    pub fn write_ended(&mut self, ticket: u32, ok: bool) {
        if !ok {
            self.failed = true;
            return;
        }
        if !self.ring.write_ended(ticket) && self.settling.write_ended(ticket) {
            match self.step {
                Step::HeaderWrite => self.settle(Step::HeaderSettle),
                Step::StopWrite(copy) => self.settle(Step::StopSettle(copy)),
                _ => self.checkpoints.run_ended(),
            }
        }
        self.advance();
    }

    /// What a sync of the fast device makes durable if it is issued now.
    pub fn mark(&mut self) -> Mark {
        let position = self.ring.mark();
        Mark { up_to: position.record, position, ended: self.settling.mark() }
    }

    /// The sync with this mark succeeded.
    pub fn synced(&mut self, mark: Mark) {
        self.ring.synced(mark.position);
        self.settling.synced(mark.ended);
        self.advance();
    }

    /// Whether a checkpoint or a stop waits for a sync of the fast device that is not issued yet.
    pub fn wants_sync(&self) -> bool {
        match self.step {
            _ if self.failed => false,
            Step::Settle => {
                let making = self.checkpoints.making();
                making.runs() == 0
                    && self.written() >= making.cover()
                    && (!self.settling.is_marked() || self.ring.marked() < making.cover())
            }
            Step::HeaderSettle | Step::StopSettle(_) => !self.settling.needed_is_marked(),
            _ => false,
        }
    }

    /// Records that surely find room. Each operation in flight (a write to a slot whose record is still to come) needs
    /// room for its records. Without enough room nothing more may begin until a checkpoint has freed pages. Above the
    /// reserve each record may take a page of its own. Within the reserve pages wait until they are full or the
    /// checkpoint needs them.
    pub fn room(&self) -> u64 {
        let (free, reserve) = (self.free_pages(), self.reserve());
        let packed = free.min(reserve) * (RECORD_BYTES as u64 / RECORD_BYTES_MAX);
        (free.saturating_sub(reserve) + packed).saturating_sub(self.ring.pending())
    }

    /// Pages that are kept for operations in flight when the ring is nearly full, so that a checkpoint can always end.
    fn reserve(&self) -> u64 {
        u64::from(self.geometry.journal_pages / 8)
    }

    /// Ends the journal. `next_write` then gives out the last pages, a checkpoint, and the superblocks that say that
    /// the cache was stopped cleanly. No record may follow. The caller syncs the slow device before.
    pub fn stop(&mut self) {
        self.stopping = true;
        self.advance();
    }

    /// Whether the end of the journal is durable: the cache may be closed.
    pub fn stopped(&self) -> bool {
        self.step == Step::Stopped
    }

    /// Whether a write failed: nothing can be recorded any more.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Bytes of metadata written so far.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    /// The pairing record that says that the fast device failed. It is written to `Side::Pair` at offset 0 and synced
    /// before the first write bypasses the fast device. `dirty_blocks` have their only copy on it.
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
                self.checkpoints.first_start()
            }
            // The other area is being overwritten.
            _ => self.checkpoints.latest_start(),
        }
    }

    fn free_pages(&self) -> u64 {
        u64::from(self.geometry.journal_pages).saturating_sub(self.ring.next_page().0 - self.kept_from())
    }

    /// Takes the steps that need no write.
    fn advance(&mut self) {
        let ring = u64::from(self.geometry.journal_pages);
        match self.step {
            Step::Rest => {
                let since = self.ring.next_page().0 - self.checkpoints.latest_start();
                let all_paged = self.ring.pending() == 0;
                if self.stopping && since == 0 && all_paged {
                    self.step = Step::Stop(0);
                } else if since >= ring / 3 || self.free_pages() < ring / 4 || self.stopping && all_paged {
                    self.begin_checkpoint();
                }
            }
            // The pages, and the records that they show, must be durable before the header refers to them.
            Step::Settle => {
                let making = self.checkpoints.making();
                if making.runs() == 0 && self.durable() >= making.cover() && self.settling.has_all() {
                    self.step = Step::Header;
                }
            }
            Step::HeaderSettle if self.settling.has_needed() => {
                self.checkpoints.end();
                self.step = Step::Rest;
                self.advance();
            }
            Step::StopSettle(copy) if self.settling.has_needed() => {
                self.step = if copy + 1 < SUPERBLOCK_OFFSETS.len() { Step::Stop(copy + 1) } else { Step::Stopped };
            }
            _ => {}
        }
    }

    /// The next step waits until all writes so far are durable.
    fn settle(&mut self, step: Step) {
        self.step = step;
        self.settling.need_all();
    }

    fn begin_checkpoint(&mut self) {
        let (start, before_crc) = self.ring.next_page();
        self.checkpoints.begin(start, before_crc, self.ring.paged() + 1);
        self.step = Step::Pages;
    }

    /// Whether the next page of the checkpoint is due. The pace completes a checkpoint while a sixth of the ring is
    /// written. There is no pace while the ring is nearly full.
    fn page_is_due(&self) -> bool {
        let ring = u64::from(self.geometry.journal_pages);
        let making = self.checkpoints.making();
        let since = self.ring.next_page().0 - making.start + 1;
        let due = u64::from(self.geometry.checkpoint_pages) * since / (ring / 6);
        let urgent = self.stopping || self.free_pages() < ring / 2;
        making.runs() < RUNS_AT_ONCE && (urgent || u64::from(making.next_page()) < due)
    }
}

/// Empty slots: the first checkpoint of a new cache shows them.
impl Table for () {
    fn entry(&self, _slot: Slot) -> Entry {
        Entry::default()
    }
}
