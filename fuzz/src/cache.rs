//! A small cache in memory, that an input changes.

use std::io;

use flatwater_core::cache::journal::recovery::{self, Blocks, Devices, Layout, Sizes};
use flatwater_core::cache::journal::{Entry, Holding, Journal, PAIR_BYTES, PageWrite, Record, Table, What};
use flatwater_core::cache::{Block, BufferId, Memory, Place, Slot};
use flatwater_core::slab::Key;

use super::Outcome;

/// Bytes of a page of metadata.
pub const PAGE: usize = 4096;

const FAST_BYTES: u64 = 1 << 20;
const SLOW_BYTES: u64 = 1 << 20;
const BLOCK_BYTES: u32 = 4096;

/// A device in memory.
#[derive(Clone)]
pub struct Bytes(pub Vec<u8>);

impl Blocks for Bytes {
    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let from = self.0.get(offset as usize..).and_then(|rest| rest.get(..into.len()));
        into.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        let into = self.0.get_mut(offset as usize..).and_then(|rest| rest.get_mut(..from.len()));
        into.ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(from);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A cache with some blocks in it, that was not stopped.
#[derive(Clone)]
pub struct Cache {
    /// The cache device.
    pub fast: Bytes,
    /// The backing device.
    pub slow: Bytes,
    /// The pairing record.
    pub pair: Bytes,
}

/// Buffers of the journal's pages.
#[derive(Default)]
struct Buffers(Vec<Vec<u8>>);

impl Memory for Buffers {
    fn take(&mut self, bytes: u32) -> BufferId {
        self.0.push(vec![0; bytes as usize]);
        BufferId::from_number(self.0.len() as u32 - 1)
    }

    fn give(&mut self, _buffer: BufferId) {}

    fn copy(&mut self, _from: Place, _to: Place, _bytes: u32) {}

    fn zero(&mut self, _at: Place, _bytes: u32) {}

    fn checksum(&mut self, _at: Place, _bytes: u32) -> u32 {
        0
    }

    fn store(&mut self, at: Place, bytes: &[u8]) {
        if let Place::Buffer { buffer, at } = at {
            self.0[buffer.number() as usize][at as usize..][..bytes.len()].copy_from_slice(bytes);
        }
    }
}

struct Slots(Vec<Entry>);

impl Table for Slots {
    fn entry(&self, slot: Slot) -> Entry {
        self.0[slot.index()]
    }
}

impl Cache {
    /// Makes it, and writes pages of the journal.
    pub fn new() -> Self {
        let zeros = |bytes: u64| Bytes(vec![0; bytes as usize]);
        let mut cache = Self { fast: zeros(FAST_BYTES), slow: zeros(SLOW_BYTES), pair: zeros(PAIR_BYTES) };
        let layout = Layout { uuid: [7; 16], fast_bytes: FAST_BYTES, slow_bytes: SLOW_BYTES, block_bytes: BLOCK_BYTES };
        recovery::format(cache.devices(), &layout, Sizes { journal_bytes: 1, region_bytes: 0 }, false).expect("made");
        let recovered = recovery::recover(cache.devices(), false).expect("started");
        let geometry = recovered.geometry;
        let mut journal = Journal::new(&recovered);
        let mut slots = Slots(vec![Entry::default(); geometry.slots as usize]);
        let crc = crc32c::crc32c(&[0; BLOCK_BYTES as usize]);
        let mut memory = Buffers::default();
        for nth in 0..100_u32 {
            let (slot, block) = (Slot(nth % geometry.slots), Block(nth % 17));
            for entry in slots.0.iter_mut().filter(|entry| entry.block == block) {
                *entry = Entry::default();
            }
            let dirty = nth % 3 > 0;
            let holding = if dirty { Holding::Dirty } else { Holding::Clean };
            slots.0[slot.index()] = Entry { holding, block, crc, stamp: nth };
            journal.record(Record { slot, what: What::Holds { block, crc, dirty, keeps: false, stamp: nth } });
            while let Some(PageWrite { ticket, offset, buffer, .. }) = journal.next_write(&slots, true, &mut memory) {
                cache.fast.write(offset, &memory.0[buffer.number() as usize]).expect("inside");
                journal.write_ended(ticket, true);
            }
            if nth % 5 == 0 || journal.wants_sync() {
                let mark = journal.mark();
                journal.synced(mark);
            }
        }
        cache
    }

    fn devices(&mut self) -> Devices<'_> {
        Devices { fast: &mut self.fast, slow: &mut self.slow, pair: &mut self.pair }
    }

    /// Looks at it, empties it and starts it: an error or not, but no panic and no end of memory. What came of it.
    pub fn try_all(mut self) -> Outcome {
        let mut outcome = Outcome::default();
        let inspected = recovery::inspect(&mut self.fast, Some((&mut self.pair, &mut self.slow)), true, &mut |_| true);
        outcome.add(&inspected.map(|_| ()).map_err(|error| error.to_string()));
        let drained = recovery::drain(self.clone().devices(), &mut |_| true);
        outcome.add(&drained.map(|_| ()).map_err(|error| error.to_string()));
        let recovered = recovery::recover(self.devices(), false);
        outcome.add(&recovered.map(|_| ()).map_err(|error| error.to_string()));
        outcome
    }

    /// Gives a page of the journal or of a checkpoint its right checksum, so that what is in it is looked at.
    pub fn seal_page(&mut self, page: usize) {
        let page = &mut self.fast.0[page * PAGE..][..PAGE];
        let crc = crc32c::crc32c(&page[8..]);
        page[4..8].copy_from_slice(&crc.to_le_bytes());
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}
