//! Memory for the engine's IOs: plain vectors. A sector's content says which write put it there.

use std::collections::BTreeMap;

use flatwater_core::cache::{BufferId, Memory, Place};
use flatwater_core::slab::{Key, Slab};

use crate::disk::SECTOR;

#[derive(Default)]
pub struct Plain {
    pub requests: BTreeMap<u64, Vec<u8>>,
    buffers: Slab<(), BufferId>,
    contents: Vec<Vec<u8>>,
}

impl Plain {
    pub fn bytes(&mut self, at: Place, bytes: u32) -> &mut [u8] {
        let (memory, at) = match at {
            Place::Request { tag, at } => (self.requests.get_mut(&tag).expect("a request under way"), at),
            Place::Buffer { buffer, at } => (&mut self.contents[buffer.number() as usize], at),
            Place::Nowhere => panic!("no memory"),
        };
        &mut memory[at as usize..(at + bytes) as usize]
    }

    pub fn taken(&self) -> usize {
        self.buffers.len()
    }
}

impl Memory for Plain {
    fn take(&mut self, bytes: u32) -> BufferId {
        let buffer = self.buffers.insert(());
        let place = buffer.number() as usize;
        self.contents.resize(self.contents.len().max(place + 1), Vec::new());
        // What was in it before must not matter.
        self.contents[place] = vec![0xee; bytes as usize];
        buffer
    }

    fn give(&mut self, buffer: BufferId) {
        self.buffers.remove(buffer);
        self.contents[buffer.number() as usize].clear();
    }

    fn copy(&mut self, from: Place, to: Place, bytes: u32) {
        let copied = self.bytes(from, bytes).to_vec();
        self.bytes(to, bytes).copy_from_slice(&copied);
    }

    fn zero(&mut self, at: Place, bytes: u32) {
        self.bytes(at, bytes).fill(0);
    }

    fn checksum(&mut self, at: Place, bytes: u32) -> u32 {
        crc32c::crc32c(self.bytes(at, bytes))
    }

    fn store(&mut self, at: Place, bytes: &[u8]) {
        self.bytes(at, bytes.len() as u32).copy_from_slice(bytes);
    }
}

/// Puts a version into a sector; 0 is zeros.
pub fn stamp(sector: &mut [u8], number: u32, value: u64) {
    sector.fill(0);
    if value != 0 {
        for at in [0, SECTOR - 16] {
            sector[at..at + 8].copy_from_slice(&value.to_le_bytes());
            sector[at + 8..at + 16].copy_from_slice(&u64::from(number).to_le_bytes());
        }
    }
}

/// The version in a sector.
pub fn stamped(sector: &[u8], number: u32) -> Result<u64, String> {
    let at = |at: usize| u64::from_le_bytes(sector[at..at + 8].try_into().unwrap());
    let (value, place) = (at(0), at(8));
    if (value, place) != (at(SECTOR - 16), at(SECTOR - 8)) {
        return Err(format!("sector {number} is a mixture"));
    }
    if value == 0 && place == 0 {
        return Ok(0);
    }
    if place != u64::from(number) {
        return Err(format!("sector {number} holds what belongs to sector {place}"));
    }
    Ok(value)
}
