//! The memory that requests and IOs go to and come from, and the requests under way that it belongs to.

use std::slice;

use flatwater_core::cache::{BufferId, Memory, Place};
use flatwater_core::slab::Key;

use super::pool::{Buffer, Pool, Region};
use super::ring::Ring;

/// Whose a request is and what it has.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The source's number; `NOBODY` for the reactor's own.
    pub source: u8,
    /// The source's name for it.
    pub key: u64,
    /// Its memory.
    pub memory: Region,
    /// Of the reactor's own: what it is a step of.
    pub step: u32,
}

/// Requests under way by tag, and the buffers. The ring is dropped first: while it is there, the kernel may still write
/// to the buffers.
pub struct Requests {
    ring: Ring,
    pool: Pool,
    held: Vec<Held>,
    free: Vec<u32>,
}

impl Requests {
    /// None yet.
    pub fn new(ring: Ring) -> Self {
        let pool = Pool::new(Some(ring.io_uring()));
        Self { ring, pool, held: Vec::new(), free: Vec::new() }
    }

    /// The ring.
    #[inline]
    pub fn ring(&mut self) -> &mut Ring {
        &mut self.ring
    }

    /// A tag for a request.
    pub fn hold(&mut self, held: Held) -> u64 {
        if let Some(tag) = self.free.pop() {
            self.held[tag as usize] = held;
            return tag.into();
        }
        self.held.push(held);
        self.held.len() as u64 - 1
    }

    /// The request with this tag.
    #[inline]
    pub fn get(&self, tag: u64) -> Held {
        self.held[tag as usize]
    }

    /// Ends a request: its tag may be used again.
    pub fn let_go(&mut self, tag: u64) -> Held {
        self.free.push(tag as u32);
        self.held[tag as usize]
    }

    /// How many are under way.
    pub fn under_way(&self) -> usize {
        self.held.len() - self.free.len()
    }

    /// Takes a buffer.
    pub fn take_buffer(&mut self, bytes: u32) -> Buffer {
        self.pool.take(bytes, Some(self.ring.io_uring()))
    }

    /// Gives it back.
    pub fn give_buffer(&mut self, number: u32) {
        self.pool.give(number);
    }

    /// The memory of a place.
    ///
    /// # Panics
    /// If it ends beyond what it is a part of.
    #[inline]
    pub fn region(&self, place: Place, bytes: u32) -> Region {
        match place {
            Place::Request { tag, at } => self.held[tag as usize].memory.part(at, bytes),
            Place::Buffer { buffer, at } => self.pool.region(buffer.number()).part(at, bytes),
            Place::Nowhere => Region::NONE,
        }
    }

    fn bytes_mut(&mut self, place: Place, bytes: u32) -> &mut [u8] {
        let region = self.region(place, bytes);
        if region.pointer.is_null() {
            return &mut [];
        }
        // SAFETY: `region` checked the length; the owner of a request does not touch its memory before the answer, and
        // a buffer is the engine's from take to give.
        unsafe { slice::from_raw_parts_mut(region.pointer, region.bytes as usize) }
    }
}

impl Memory for Requests {
    fn take(&mut self, bytes: u32) -> BufferId {
        BufferId::from_number(self.take_buffer(bytes).number)
    }

    fn give(&mut self, buffer: BufferId) {
        self.give_buffer(buffer.number());
    }

    fn copy(&mut self, from: Place, to: Place, bytes: u32) {
        let (from, to) = (self.region(from, bytes), self.region(to, bytes));
        // SAFETY: `region` checked both lengths; `copy` allows that they overlap.
        unsafe { std::ptr::copy(from.pointer, to.pointer, bytes as usize) }
    }

    fn zero(&mut self, at: Place, bytes: u32) {
        self.bytes_mut(at, bytes).fill(0);
    }

    fn checksum(&mut self, at: Place, bytes: u32) -> u32 {
        crc32c::crc32c(self.bytes_mut(at, bytes))
    }

    fn store(&mut self, at: Place, bytes: &[u8]) {
        self.bytes_mut(at, bytes.len() as u32).copy_from_slice(bytes);
    }
}
