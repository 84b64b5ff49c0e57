//! The journal at work: records in, pages to be written out.
//!
//! The ring keeps what must be replayed over either checkpoint, so that one of them may rot. A checkpoint is made when a
//! third of the ring was written since the last one began, in the background: its pages show the slots at different
//! moments, and replaying all records from before the first page to after the last makes them agree. Its header comes
//! last, when everything that it stands on is durable. A page of the journal is never written twice.

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
    position: Position,
    ended: u64,
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

/// The journal of a cache at work.
pub struct Journal {
    geometry: Geometry,
    superblock: Superblock,
    pair: Pair,
    /// Nothing is kept of what is written: pages are counted, and not made.
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
    /// The journal of a cache as recovery found it.
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

    /// Remembers something; gives its sequence number, counted from 1. For `Holds` the data write must have ended.
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

    /// The next write that is due: a full page of records, a part-filled one if `all`, a part of a checkpoint, at the end
    /// a superblock. Call it until it gives None, after each record, ended write and ended sync.
    pub fn next_write<T: Table, M: Memory>(&mut self, table: &T, all: bool, memory: &mut M) -> Option<PageWrite> {
        // Between checkpoints, which only begin and end with a write or a sync, there is nothing to look at.
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

    /// A write ended. After one that failed the journal gives out no more: the cache must go on without the fast device.
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

    /// What a sync of the fast device that is asked for now will make durable.
    pub fn mark(&mut self) -> Mark {
        let position = self.ring.mark();
        Mark { up_to: position.record, position, ended: self.settling.mark() }
    }

    /// That sync ended well.
    pub fn synced(&mut self, mark: Mark) {
        self.ring.synced(mark.position);
        self.settling.synced(mark.ended);
        self.advance();
    }

    /// A checkpoint or a stop waits for a sync of the fast device, which nobody else may have asked for.
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

    /// Records that surely find room. With fewer than are under way (a write to a slot whose record is still to come),
    /// nothing more may begin until it has grown again: a checkpoint is being made meanwhile. Above the reserve each
    /// record may take a page of its own; in it pages wait until they are full, or until the checkpoint needs them.
    pub fn room(&self) -> u64 {
        let (free, reserve) = (self.free_pages(), self.reserve());
        let packed = free.min(reserve) * (RECORD_BYTES as u64 / RECORD_BYTES_MAX);
        (free.saturating_sub(reserve) + packed).saturating_sub(self.ring.pending())
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
                self.checkpoints.first_start()
            }
            // The other area is being written over.
            _ => self.checkpoints.latest_start(),
        }
    }

    fn free_pages(&self) -> u64 {
        u64::from(self.geometry.journal_pages).saturating_sub(self.ring.next_page().0 - self.kept_from())
    }

    /// Takes all steps for which nothing has to be written.
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
            // What the pages show must be durable in the journal, and they themselves, before the header says so.
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

    /// What was written must be durable before the next step.
    fn settle(&mut self, step: Step) {
        self.step = step;
        self.settling.need_all();
    }

    fn begin_checkpoint(&mut self) {
        let (start, before_crc) = self.ring.next_page();
        self.checkpoints.begin(start, before_crc, self.ring.paged() + 1);
        self.step = Step::Pages;
    }

    /// Paced so that the checkpoint is done when a sixth of the ring was written meanwhile; at once if the ring is full.
    fn page_is_due(&self) -> bool {
        let ring = u64::from(self.geometry.journal_pages);
        let making = self.checkpoints.making();
        let since = self.ring.next_page().0 - making.start + 1;
        let due = u64::from(self.geometry.checkpoint_pages) * since / (ring / 6);
        let urgent = self.stopping || self.free_pages() < ring / 2;
        making.runs() < RUNS_AT_ONCE && (urgent || u64::from(making.next_page()) < due)
    }
}

/// Slots that hold nothing: what a new cache's first checkpoint shows.
impl Table for () {
    fn entry(&self, _slot: Slot) -> Entry {
        Entry::default()
    }
}
