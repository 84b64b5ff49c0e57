//! Aligned buffers of many lengths, cut from huge pages that are registered with the ring.
//!
//! The pool keeps a list of free buffers for each class of lengths, and not a slab: a chunk adds many free buffers at once,
//! and a buffer keeps its memory while it is free.

use std::io;
use std::ptr::NonNull;

use io_uring::IoUring;

use crate::storage::buffer::ALIGNMENT_BYTES;

/// A transparent huge page of x86-64 and of arm64 with 4 KiB pages. The kernel pins and maps it as one piece for all its
/// buffers.
const CHUNK_BYTES: usize = 2 << 20;
/// Buffers come in powers of two, from 4 KiB to a whole chunk.
const CLASSES: usize = 10;
/// Chunks for which the ring has places: 2 GiB. Further chunks work too, but are not registered.
const CHUNKS_MAX: u32 = 1024;

/// The memory of an IO: its place, its length, and its registered buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first byte; aligned to 512 for direct IO.
    pub pointer: *mut u8,
    /// Its length.
    pub bytes: u32,
    /// The registered buffer of the ring in which it is.
    pub fixed: Option<u16>,
}

// SAFETY: it is only an address. The code that reads or writes the memory must make sure that it may.
unsafe impl Send for Region {}

impl Region {
    /// No memory, for a flush or a trim.
    pub const NONE: Self = Self { pointer: std::ptr::null_mut(), bytes: 0, fixed: None };

    /// `bytes` bytes of it, from `at` on.
    ///
    /// # Panics
    /// If it is shorter.
    #[inline]
    pub fn part(self, at: u32, bytes: u32) -> Self {
        assert!(u64::from(at) + u64::from(bytes) <= u64::from(self.bytes), "a part of memory ends beyond it");
        // SAFETY: within the region, as was just checked.
        Self { pointer: unsafe { self.pointer.add(at as usize) }, bytes, fixed: self.fixed }
    }
}

/// A buffer that was taken from the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its number in the pool.
    pub number: u32,
    /// Its memory, at least as long as requested.
    pub region: Region,
}

struct Piece {
    region: Region,
    class: u8,
    taken: bool,
}

/// Buffers that are longer than a chunk. Each has its own mapping, which is freed when the buffer is given back.
const HUGE_CLASS: u8 = u8::MAX;

/// The buffers. The one that was given back last is taken first: it may still be in the processor's cache.
pub struct Pool {
    mappings: Vec<(NonNull<u8>, usize)>,
    pieces: Vec<Piece>,
    free: [Vec<u32>; CLASSES],
    /// Free numbers of huge buffers.
    vacant: Vec<u32>,
    /// Whether new chunks are registered with the ring, and how many chunks are.
    registers: bool,
    registered: u32,
    taken: u32,
}

// SAFETY: the pool owns the mappings, and only its buffers point to them.
unsafe impl Send for Pool {}

fn class_of(bytes: u32) -> u8 {
    let class = bytes.max(1).next_power_of_two().trailing_zeros().saturating_sub(ALIGNMENT_BYTES.trailing_zeros());
    if (class as usize) < CLASSES { class as u8 } else { HUGE_CLASS }
}

fn map(bytes: usize, alignment: usize) -> (NonNull<u8>, usize, *mut u8) {
    let whole = bytes + alignment;
    let (read_write, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new anonymous mapping; nothing is replaced.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), whole, read_write, private, -1, 0) };
    assert!(start != libc::MAP_FAILED, "no memory for buffers of {bytes} B");
    let start = start.cast::<u8>();
    let aligned = start.wrapping_add(start.align_offset(alignment));
    // SAFETY: the range is within the mapping. Refused advice changes nothing.
    unsafe { libc::madvise(aligned.cast(), bytes, libc::MADV_HUGEPAGE) };
    (NonNull::new(start).expect("the kernel does not map at 0"), whole, aligned)
}

impl Pool {
    /// An empty pool. With a ring, its chunks are registered there.
    pub fn new(ring: Option<&IoUring>) -> Self {
        let registers = ring.is_some_and(|ring| ring.submitter().register_buffers_sparse(CHUNKS_MAX).is_ok());
        Self {
            mappings: Vec::new(),
            pieces: Vec::new(),
            free: Default::default(),
            vacant: Vec::new(),
            registers,
            registered: 0,
            taken: 0,
        }
    }

    /// Buffers that were taken and not given back.
    pub fn taken(&self) -> u32 {
        self.taken
    }

    /// Takes a buffer of at least `bytes`. Its content is arbitrary.
    pub fn take(&mut self, bytes: u32, ring: Option<&IoUring>) -> Buffer {
        let class = class_of(bytes);
        self.taken += 1;
        if class == HUGE_CLASS {
            return self.take_huge(bytes);
        }
        if self.free[class as usize].is_empty() {
            self.cut_chunk(class, ring);
        }
        let number = self.free[class as usize].pop().expect("a chunk was just cut");
        self.pieces[number as usize].taken = true;
        Buffer { number, region: self.pieces[number as usize].region }
    }

    /// Gives a buffer back.
    ///
    /// # Panics
    /// If it was not taken.
    pub fn give(&mut self, number: u32) {
        let piece = &mut self.pieces[number as usize];
        assert!(std::mem::take(&mut piece.taken), "buffer {number} is given back twice");
        self.taken -= 1;
        if piece.class != HUGE_CLASS {
            return self.free[piece.class as usize].push(number);
        }
        let region = std::mem::replace(&mut piece.region, Region::NONE);
        self.vacant.push(number);
        let holds = |(start, bytes): &(NonNull<u8>, usize)| {
            (start.as_ptr() as usize..start.as_ptr() as usize + bytes).contains(&(region.pointer as usize))
        };
        if let Some(at) = self.mappings.iter().position(holds) {
            let (start, bytes) = self.mappings.swap_remove(at);
            // SAFETY: it was mapped by `take_huge`, and nothing uses it any more.
            unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
        }
    }

    /// The memory of a buffer.
    #[inline]
    pub fn region(&self, number: u32) -> Region {
        self.pieces[number as usize].region
    }

    fn take_huge(&mut self, bytes: u32) -> Buffer {
        let (start, whole, aligned) = map(bytes as usize, ALIGNMENT_BYTES);
        self.mappings.push((start, whole));
        let region = Region { pointer: aligned, bytes, fixed: None };
        let piece = Piece { region, class: HUGE_CLASS, taken: true };
        let number = self.vacant.pop().unwrap_or(self.pieces.len() as u32);
        if number as usize == self.pieces.len() {
            self.pieces.push(piece);
        } else {
            self.pieces[number as usize] = piece;
        }
        Buffer { number, region }
    }

    fn cut_chunk(&mut self, class: u8, ring: Option<&IoUring>) {
        let (start, whole, aligned) = map(CHUNK_BYTES, CHUNK_BYTES);
        self.mappings.push((start, whole));
        let fixed = ring.and_then(|ring| self.register(ring, aligned).ok());
        let bytes = ALIGNMENT_BYTES << class;
        for at in (0..CHUNK_BYTES).step_by(bytes).rev() {
            self.free[class as usize].push(self.pieces.len() as u32);
            let region = Region { pointer: aligned.wrapping_add(at), bytes: bytes as u32, fixed };
            self.pieces.push(Piece { region, class, taken: false });
        }
    }

    fn register(&mut self, ring: &IoUring, chunk: *mut u8) -> io::Result<u16> {
        if !self.registers || self.registered == CHUNKS_MAX {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let vector = libc::iovec { iov_base: chunk.cast(), iov_len: CHUNK_BYTES };
        // SAFETY: the chunk stays mapped as long as the pool, which outlives the ring (`Requests` declares it after).
        let registered = unsafe { ring.submitter().register_buffers_update(self.registered, &[vector], None) };
        if registered.is_err() {
            // Registered memory counts against RLIMIT_MEMLOCK. Requests also work without registration.
            self.registers = false;
        }
        registered?;
        self.registered += 1;
        Ok((self.registered - 1) as u16)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for (start, bytes) in self.mappings.drain(..) {
            // SAFETY: it was mapped by `map` with this length.
            unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_do_not_overlap() {
        let mut pool = Pool::new(None);
        let mut taken: Vec<_> = [512, 4096, 4097, 16384, 1 << 20, 2 << 20, 5 << 20, 16384]
            .into_iter()
            .map(|bytes| (bytes, pool.take(bytes, None)))
            .collect();
        taken.sort_by_key(|(_, buffer)| buffer.region.pointer as usize);
        for (bytes, buffer) in &taken {
            assert!(buffer.region.bytes >= *bytes);
            assert_eq!(buffer.region.pointer as usize % ALIGNMENT_BYTES, 0);
        }
        for pair in taken.windows(2) {
            let (first, second) = (pair[0].1.region, pair[1].1.region);
            assert!(first.pointer as usize + first.bytes as usize <= second.pointer as usize);
        }
        assert_eq!(pool.taken(), 8);
        for (_, buffer) in taken {
            pool.give(buffer.number);
        }
        assert_eq!(pool.taken(), 0);
    }

    #[test]
    fn the_buffer_that_was_given_back_last_is_taken_first() {
        let mut pool = Pool::new(None);
        let (first, second) = (pool.take(4096, None), pool.take(4096, None));
        pool.give(second.number);
        pool.give(first.number);
        assert_eq!(pool.take(4096, None), first);
        let huge = pool.take(8 << 20, None);
        pool.give(huge.number);
        assert_eq!(pool.take(9 << 20, None).number, huge.number, "numbers are used again");
    }

    #[test]
    #[should_panic(expected = "twice")]
    fn nothing_is_given_back_twice() {
        let mut pool = Pool::new(None);
        let buffer = pool.take(1, None);
        pool.give(buffer.number);
        pool.give(buffer.number);
    }
}
