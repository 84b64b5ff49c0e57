//! The pages that the journal writes: its own, those of checkpoints, and superblocks.

use super::{Journal, PageWrite, Step};
use crate::cache::journal::layout::{SLOTS_PER_PAGE, SUPERBLOCK_OFFSETS};
use crate::cache::journal::page::{self, CheckpointHead, PAGE};
use crate::cache::journal::superblock::State;
use crate::cache::journal::{PAGE_BYTES, Table};
use crate::cache::{Memory, Place, Slot};

/// Pages of a checkpoint in one write.
const RUN_PAGES: u32 = 16;

impl Journal {
    pub(super) fn journal_page<M: Memory>(&mut self, memory: &mut M) -> PageWrite {
        let life = (!self.blank).then(|| self.life());
        let at = self.ring.make_page(life);
        let write = self.issue(self.geometry.journal_page_offset(at.page), PAGE_BYTES, memory);
        if let Some(content) = self.ring.content() {
            memory.store(Place::Buffer { buffer: write.buffer, at: 0 }, content);
        }
        self.ring.write_begins(write.ticket, at);
        write
    }

    pub(super) fn checkpoint_pages<T: Table, M: Memory>(&mut self, table: &T, memory: &mut M) -> PageWrite {
        let (life, geometry) = (self.life(), self.geometry);
        let making = self.checkpoints.making();
        let (number, first) = (making.number, making.next_page());
        let pages = RUN_PAGES.min(geometry.checkpoint_pages - first);
        let mut bytes = Vec::with_capacity(if self.blank { 0 } else { pages as usize * PAGE });
        let mut crcs = Vec::with_capacity(pages as usize);
        for index in first..first + pages {
            let slots = index * SLOTS_PER_PAGE..geometry.slots.min((index + 1) * SLOTS_PER_PAGE);
            let crc = if self.blank {
                0
            } else {
                let (page, crc) = page::entries_page(life, number, index, slots.map(|slot| table.entry(Slot(slot))));
                bytes.extend_from_slice(&page);
                crc
            };
            crcs.push(crc);
        }
        self.checkpoints.run_begins(crcs, self.ring.recorded());
        if first + pages == geometry.checkpoint_pages {
            self.step = Step::Settle;
        }
        let place = geometry.checkpoint_offsets[self.checkpoints.area()] + u64::from(first + 1) * u64::from(PAGE_BYTES);
        let content = (!self.blank).then_some(&bytes[..]);
        self.give_out_checkpoint(place, content, pages * PAGE_BYTES, memory)
    }

    pub(super) fn checkpoint_header<M: Memory>(&mut self, memory: &mut M) -> PageWrite {
        let making = self.checkpoints.making();
        let head = CheckpointHead {
            number: making.number,
            start: making.start,
            before_crc: making.before_crc,
            first_record: making.first_record,
            durable: self.ring.durable().page,
            digest: page::digest(making.crcs()),
            intents: self.intents.clone(),
        };
        let page = page::checkpoint_header(self.life(), &head);
        self.step = Step::HeaderWrite;
        let place = self.geometry.checkpoint_offsets[self.checkpoints.area()];
        self.give_out_checkpoint(place, Some(&page), PAGE_BYTES, memory)
    }

    pub(super) fn last_superblock<M: Memory>(&mut self, copy: usize, memory: &mut M) -> PageWrite {
        if copy == 0 {
            self.superblock.sequence += 1;
            self.superblock.state = State::Stopped;
            self.superblock.last_page = self.ring.next_page().0 - 1;
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
        let write = self.issue(offset, bytes, memory);
        if let Some(content) = content.filter(|_| !self.blank) {
            memory.store(Place::Buffer { buffer: write.buffer, at: 0 }, content);
        }
        self.settling.write_begins(write.ticket);
        write
    }

    /// A write of so many bytes, into a buffer that is still to be filled.
    fn issue<M: Memory>(&mut self, offset: u64, bytes: u32, memory: &mut M) -> PageWrite {
        let buffer = memory.take(bytes);
        self.tickets = self.tickets.wrapping_add(1);
        self.bytes_written += u64::from(bytes);
        PageWrite { ticket: self.tickets, offset, buffer, bytes }
    }
}
