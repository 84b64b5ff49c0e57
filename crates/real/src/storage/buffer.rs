//! Buffers aligned for O_DIRECT.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::slice;

/// Enough for any device: the largest logical block in use, and the page size.
pub const ALIGNMENT_BYTES: usize = 4096;

/// Equal buffers for the slots of one queue.
#[derive(Debug)]
pub struct Buffers {
    start: NonNull<u8>,
    slot_bytes: usize,
    layout: Layout,
}

// SAFETY: the memory is owned and only reached through &mut self, or by the kernel on behalf of the owning queue.
unsafe impl Send for Buffers {}

impl Buffers {
    /// `slots` zeroed buffers of `bytes` each.
    pub fn new(slots: u32, bytes: u32) -> Self {
        let slot_bytes = (bytes.max(1) as usize).next_multiple_of(ALIGNMENT_BYTES);
        let layout = Layout::from_size_align(slot_bytes * slots.max(1) as usize, ALIGNMENT_BYTES)
            .expect("slots and block sizes are bounded by the experiment's limits");
        // SAFETY: the layout is not of size zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Self { start, slot_bytes, layout }
    }

    /// Address of a slot's buffer.
    pub fn pointer(&self, slot: u32) -> *mut u8 {
        let at = slot as usize * self.slot_bytes;
        assert!(at < self.layout.size(), "slot {slot} is outside the queue");
        // SAFETY: inside the allocation, as just checked.
        unsafe { self.start.as_ptr().add(at) }
    }

    /// A slot's buffer.
    pub fn slot(&mut self, slot: u32) -> &mut [u8] {
        // SAFETY: initialised, inside the allocation, and not shared while &mut self is held; the queues hand a
        // slot to the kernel only between push and completion, when their callers do not touch it.
        unsafe { slice::from_raw_parts_mut(self.pointer(slot), self.slot_bytes) }
    }

    /// All buffers as the kernel wants them registered.
    pub fn iovecs(&self, slots: u32) -> Vec<libc::iovec> {
        (0..slots).map(|slot| libc::iovec { iov_base: self.pointer(slot).cast(), iov_len: self.slot_bytes }).collect()
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
