//! The memory of requests and IOs, and the requests under way to which it belongs.

use std::slice;

use flatwater_core::cache::{BufferId, Memory, Place};
use flatwater_core::slab::{Key, Slab};
use flatwater_core::slab_key;

use super::ask::UnalignedId;
use super::pool::{Buffer, Pool, Region};
use super::ring::Ring;

slab_key!(
    /// A request under way: the engine's tag of it.
    Tag
);

impl Tag {
    fn of(tag: u64) -> Self {
        Self::from_number(tag as u32)
    }
}

/// The owner and the memory of a request.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The number of the source, or one of those in `ask.rs`.
    pub source: u8,
    /// The source's key of it.
    pub key: u64,
    /// Its memory.
    pub memory: Region,
    /// The unaligned request of which it is a step.
    pub unaligned: Option<UnalignedId>,
}

/// The requests under way, and the buffers. The ring is dropped first: as long as it exists, the kernel may write to the
/// buffers.
pub struct Requests {
    ring: Ring,
    pool: Pool,
    held: Slab<Held, Tag>,
}

impl Requests {
    /// No requests yet.
    pub fn new(ring: Ring) -> Self {
        let pool = Pool::new(Some(ring.io_uring()));
        Self { ring, pool, held: Slab::new() }
    }

    /// The ring.
    #[inline]
    pub fn ring(&mut self) -> &mut Ring {
        &mut self.ring
    }

    /// Adds a request, and returns its tag.
    pub fn insert(&mut self, held: Held) -> u64 {
        self.held.insert(held).number().into()
    }

    /// Ends a request. Its tag is free from now on.
    pub fn remove(&mut self, tag: u64) -> Held {
        self.held.remove(Tag::of(tag))
    }

    /// Takes a buffer.
    pub fn take_buffer(&mut self, bytes: u32) -> Buffer {
        self.pool.take(bytes, Some(self.ring.io_uring()))
    }

    /// Gives a buffer back.
    pub fn give_buffer(&mut self, number: u32) {
        self.pool.give(number);
    }

    /// The memory of a place.
    ///
    /// # Panics
    /// If it ends beyond the memory of its request or buffer.
    #[inline]
    pub fn region(&self, place: Place, bytes: u32) -> Region {
        match place {
            Place::Request { tag, at } => self.held[Tag::of(tag)].memory.part(at, bytes),
            Place::Buffer { buffer, at } => self.pool.region(buffer.number()).part(at, bytes),
            Place::Nowhere => Region::NONE,
        }
    }

    fn bytes_mut(&mut self, place: Place, bytes: u32) -> &mut [u8] {
        let region = self.region(place, bytes);
        if region.pointer.is_null() {
            return &mut [];
        }
        // SAFETY: `region` checked the length. The source does not touch the memory of a request before the answer, and a
        // buffer belongs to the engine until it is given back.
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
        // SAFETY: `region` checked both lengths, and `copy` allows overlaps.
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
