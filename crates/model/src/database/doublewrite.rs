//! The doublewrite buffer: each batch of pages is written to one place in sequence before it goes to its own places, so
//! that a page that a crash tears is still whole somewhere.

use super::pool::PAGE_BYTES;

/// Pages of the buffer: two extents of the system tablespace (TRX_SYS_DOUBLEWRITE_BLOCK_SIZE = 64, twice).
pub const BUFFER_PAGES: usize = 128;
/// Pages of one of its writes.
const BLOCK_PAGES: u64 = 64;

/// One area for the whole server, held by one batch at a time: up to MySQL 8.0.19.
#[derive(Debug)]
pub struct Doublewrite {
    /// First byte on the device.
    start: u64,
    on: bool,
    /// The batch that holds it, and those that wait for it, in their order.
    holder: Option<u32>,
    waiting: std::collections::VecDeque<u32>,
}

impl Doublewrite {
    /// An area at `start` of the device.
    pub const fn new(start: u64, on: bool) -> Self {
        Self { start, on, holder: None, waiting: std::collections::VecDeque::new() }
    }

    /// Bytes that it takes of the device.
    pub const BYTES: u64 = BUFFER_PAGES as u64 * PAGE_BYTES;

    /// Whether it is used at all.
    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// A batch asks for it. True: it has it; false: it waits.
    pub fn acquire(&mut self, batch: u32) -> bool {
        if self.holder.is_none() {
            self.holder = Some(batch);
            return true;
        }
        self.waiting.push_back(batch);
        false
    }

    /// A batch lets it go; the one that has it now.
    pub fn release(&mut self, batch: u32) -> Option<u32> {
        debug_assert_eq!(self.holder, Some(batch));
        self.holder = self.waiting.pop_front();
        self.holder
    }

    /// The writes (first byte, length) that `pages` of a batch take.
    pub fn writes(&self, pages: usize) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (start, pages) = (self.start, pages as u64);
        (0..pages.div_ceil(BLOCK_PAGES)).map(move |block| {
            let first = block * BLOCK_PAGES;
            (start + first * PAGE_BYTES, (pages - first).min(BLOCK_PAGES) * PAGE_BYTES)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_out_in_two_blocks() {
        let own = Doublewrite::new(1 << 20, true);
        assert_eq!(own.writes(1).collect::<Vec<_>>(), [(1 << 20, 16 << 10)]);
        assert_eq!(own.writes(64).collect::<Vec<_>>(), [(1 << 20, 1 << 20)]);
        assert_eq!(own.writes(100).collect::<Vec<_>>(), [(1 << 20, 1 << 20), (2 << 20, 36 * (16 << 10))]);
        assert_eq!(own.writes(128).map(|(_, bytes)| bytes).sum::<u64>(), Doublewrite::BYTES);
    }

    #[test]
    fn batches_have_it_one_after_another() {
        let mut own = Doublewrite::new(0, true);
        assert!(own.acquire(7));
        assert!(!own.acquire(8) && !own.acquire(9));
        assert_eq!(own.release(7), Some(8));
        assert_eq!(own.release(8), Some(9));
        assert_eq!(own.release(9), None);
        assert!(own.acquire(7));
    }
}
