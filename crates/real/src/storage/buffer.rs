//! Buffers that are aligned for O_DIRECT, on huge pages if the kernel has them.
//!
//! The pool of buffers with data to write is a queue and not a slab: the buffer that was unused for longest comes next.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use flatwater_core::storage::Kind;

/// An alignment that is enough for every device: the largest logical block in use, and the page size.
pub const ALIGNMENT_BYTES: usize = 4096;
/// A transparent huge page of x86-64 and of arm64 with 4 KiB pages.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The memory of all buffers of a run. It lies on huge pages, as that of a database with large pages does: the kernel
/// then pins and maps one piece a request and not one for every 4 KiB. Measured on a virtio disk with 16 KiB requests,
/// side by side with small pages: 0.9 to 1.0x the CPU time a request and 1.0 to 1.4x the IOPS.
#[derive(Debug)]
struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: only the `Buffers` cut from it use the memory, and their ranges do not overlap.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(bytes: usize) -> Self {
        let bytes = bytes.max(1).next_multiple_of(HUGE_PAGE_BYTES);
        let layout = Layout::from_size_align(bytes, HUGE_PAGE_BYTES)
            .expect("threads, depth and block size are bounded by the experiment's limits");
        // SAFETY: the layout is not of size zero.
        let start = unsafe { alloc(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        // SAFETY: the whole range was just allocated. The advice comes before the first touch, which is what makes the
        // pages; where it is refused (no huge pages here) small ones do.
        unsafe {
            libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
            start.write_bytes(0, bytes);
        }
        Self { start, layout }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// Data to write of one queue, and so how far apart two writes of the same buffer are: over the window of what devices and
/// file systems compress in (lz4 64 KiB, btrfs 128 KiB, ZFS records to 1 MiB), and little enough for the processor's cache,
/// where the device finds it fastest: with 16 MiB a virtio disk wrote 0.93x as fast, with 512 KiB no faster.
const WRITE_POOL_BYTES: usize = 2 << 20;
/// The same of all queues together, which bounds the memory of thousands.
const WRITE_POOLS_BYTES: usize = 64 << 20;
/// Most buffers with data to write for one queue: io_uring registers up to 16,384 in all.
const WRITE_BUFFERS_MAX: usize = 4096;

/// Equal buffers of one queue: one for each slot to read into, and a pool of buffers with data to write, which take turns.
#[derive(Debug)]
pub struct Buffers {
    memory: Arc<Memory>,
    /// Where the first buffer begins in the memory.
    begin: usize,
    buffer_bytes: usize,
    slots: u32,
    buffers: u32,
    /// The buffer that each slot has.
    taken: Vec<u32>,
    /// Buffers with data to write that no slot has, longest unused first.
    pool: VecDeque<u32>,
}

impl Buffers {
    /// Zeroed buffers of `bytes` each for each of `queues` queues of `slots` slots; with a pool if there are `writes`.
    pub fn for_queues(queues: u32, slots: u32, bytes: u32, writes: bool) -> Vec<Self> {
        let buffer_bytes = (bytes.max(1) as usize).next_multiple_of(ALIGNMENT_BYTES);
        let share = WRITE_POOL_BYTES.min(WRITE_POOLS_BYTES / queues as usize) / buffer_bytes;
        // Every slot may write at once, and each must find a buffer.
        let pool = if writes { share.min(WRITE_BUFFERS_MAX).max(slots as usize) } else { 0 };
        let queue_bytes = buffer_bytes * (slots as usize + pool);
        let memory = Arc::new(Memory::new(queue_bytes * queues as usize));
        (0..queues as usize)
            .map(|queue| Self {
                memory: memory.clone(),
                begin: queue * queue_bytes,
                buffer_bytes,
                slots,
                buffers: slots + pool as u32,
                taken: (0..slots).collect(),
                pool: (slots..slots + pool as u32).collect(),
            })
            .collect()
    }

    /// Number of slots.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Number of the buffer that a slot has, as registered.
    pub fn index(&self, slot: u32) -> u32 {
        self.taken[slot as usize]
    }

    /// Address of the buffer that a slot has.
    pub fn pointer(&self, slot: u32) -> *mut u8 {
        self.address(self.index(slot))
    }

    fn address(&self, buffer: u32) -> *mut u8 {
        assert!(buffer < self.buffers, "buffer {buffer} is outside the queue");
        // SAFETY: inside the allocation: `for_queues` made it for all buffers of all queues.
        unsafe { self.memory.start.as_ptr().add(self.begin + buffer as usize * self.buffer_bytes) }
    }

    fn slice(&mut self, buffer: u32) -> &mut [u8] {
        // SAFETY: initialised, inside the allocation, and no other `Buffers` reaches this range; the queues hand a buffer
        // to the kernel only between push and completion, when their callers do not touch it.
        unsafe { slice::from_raw_parts_mut(self.address(buffer), self.buffer_bytes) }
    }

    /// Gives a free slot the buffer for its next request; see `Queue::take_buffer`.
    pub fn take(&mut self, slot: u32, kind: Kind) -> &mut [u8] {
        let had = self.taken[slot as usize];
        if had >= self.slots {
            self.pool.push_back(had);
        }
        // Reads and writes have different buffers: zeros that a device returns must not be written back to it.
        let next = if kind == Kind::Write { self.pool.pop_front().unwrap_or(slot) } else { slot };
        self.taken[slot as usize] = next;
        self.slice(next)
    }

    /// The buffer that a slot has.
    pub fn slot(&mut self, slot: u32) -> &mut [u8] {
        self.slice(self.index(slot))
    }

    /// All buffers of the pool. They do not overlap; none may be taken meanwhile.
    pub fn pool(&mut self) -> Vec<&mut [u8]> {
        let bytes = self.buffer_bytes;
        let all = self.pool.iter().map(|buffer| self.address(*buffer));
        // SAFETY: as in `slice`; the numbers in the pool differ, so these are different pieces, borrowed with self.
        all.map(|start| unsafe { slice::from_raw_parts_mut(start, bytes) }).collect()
    }

    /// All buffers in the form in which the kernel registers them.
    pub fn iovecs(&self) -> Vec<libc::iovec> {
        (0..self.buffers)
            .map(|buffer| libc::iovec { iov_base: self.address(buffer).cast(), iov_len: self.buffer_bytes })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_and_slots_do_not_overlap() {
        let mut queues = Buffers::for_queues(3, 5, 5000, false);
        for (queue, buffers) in queues.iter_mut().enumerate() {
            for slot in 0..5 {
                assert!(buffers.slot(slot).iter().all(|byte| *byte == 0), "zeroed, and nobody else's");
                assert_eq!(buffers.pointer(slot) as usize % ALIGNMENT_BYTES, 0);
                buffers.slot(slot).fill((queue * 5) as u8 + slot as u8 + 1);
            }
        }
        for (queue, buffers) in queues.iter_mut().enumerate() {
            for slot in 0..5 {
                assert!(buffers.slot(slot).iter().all(|byte| *byte == (queue * 5) as u8 + slot as u8 + 1));
            }
        }
    }

    #[test]
    fn data_to_write_takes_turns_and_is_not_read_over() {
        let mut buffers = Buffers::for_queues(1, 4, 16_384, true).remove(0);
        for (number, buffer) in buffers.pool().into_iter().enumerate() {
            buffer.fill(number as u8 % 250 + 1);
        }
        let mut last = Vec::new();
        for round in 0..3000u32 {
            let slot = round % 4;
            buffers.take(slot, Kind::Read).fill(0);
            let written = buffers.take(slot, Kind::Write).as_ptr() as usize;
            assert!(buffers.slot(slot).iter().all(|byte| *byte != 0), "what was read came back as data to write");
            assert!(!last.iter().rev().take(100).any(|before| *before == written), "the same buffer too soon");
            last.push(written);
        }
    }

    #[test]
    fn every_slot_finds_a_buffer_to_write() {
        for (queues, slots, bytes) in [(1, 1, 64 << 20), (64, 128, 1 << 20), (1, 4096, 4096)] {
            let mut buffers = Buffers::for_queues(queues, slots, bytes.min(1 << 16), true).remove(0);
            let mut found: Vec<_> = (0..slots).map(|slot| buffers.take(slot, Kind::Write).as_ptr() as usize).collect();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), slots as usize);
        }
    }
}
