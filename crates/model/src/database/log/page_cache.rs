//! The kernel's page cache, for log files that are written through it.
//!
//! The kernel keeps pages of 4 KiB. A write that covers only part of a page needs the rest of it: when the page is not in
//! memory it is read from the device first, and the writer waits (Linux, `__block_write_begin`). A log file goes round, so
//! its page is still there only if the kernel has kept as many pages as all files of the log have. Past the end of a file
//! nothing has to be read.

/// Bytes of a page of the kernel's.
pub(super) const KERNEL_PAGE_BYTES: u64 = 4096;
/// Largest request that a kernel makes of buffered writes (max_sectors_kb of most drivers: 512).
const REQUEST_BYTES: u64 = 512 << 10;
/// A write that begins so near before the end of the last one goes on with it: more than any unit that is filled up ahead.
const NEAR_BYTES: u64 = 64 << 10;

/// Files that are written onwards, and from their beginning again when they are full.
#[derive(Debug)]
pub(in super::super) struct PageCache {
    /// A page that was written a round ago has left memory.
    forgets: bool,
    /// End of the page that was written last.
    front: u64,
    /// Pages that are not on the device yet, in the order of their writing: first byte and end.
    dirty: Vec<(u64, u64)>,
}

impl PageCache {
    /// An empty one, for files whose old pages it has no memory for (`forgets`), or that it has, or that are new.
    pub(in super::super) const fn new(forgets: bool) -> Self {
        Self { forgets, front: 0, dirty: Vec::new() }
    }

    /// Bytes are written at `first`; appends the pages (first bytes) that must be read before.
    pub(in super::super) fn write(&mut self, first: u64, bytes: u64, reads: &mut Vec<u64>) {
        let end = first + bytes;
        let (from, to) = (first / KERNEL_PAGE_BYTES * KERNEL_PAGE_BYTES, end.next_multiple_of(KERNEL_PAGE_BYTES));
        let goes_on = (self.front.saturating_sub(NEAR_BYTES)..=self.front).contains(&from);
        if self.forgets {
            // The pages that were written just now are still there.
            let is_there = |page: u64| goes_on && page < self.front;
            if first > from && !is_there(from) {
                reads.push(from);
            }
            let last = to - KERNEL_PAGE_BYTES;
            if end < to && !is_there(last) && !(last == from && first > from) {
                reads.push(last);
            }
        }
        self.front = if goes_on { self.front.max(to) } else { to };
        match self.dirty.last_mut() {
            Some(own) if (own.0..=own.1).contains(&from) => own.1 = own.1.max(to),
            _ => self.dirty.push((from, to)),
        }
    }

    /// Takes what is not on the device yet, as requests (first byte, length).
    pub(in super::super) fn take_dirty(&mut self, requests: &mut Vec<(u64, u64)>) {
        for (mut first, end) in self.dirty.drain(..) {
            while first < end {
                let bytes = (end - first).min(REQUEST_BYTES);
                requests.push((first, bytes));
                first += bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(cache: &mut PageCache, first: u64, bytes: u64) -> Vec<u64> {
        let mut reads = Vec::new();
        cache.write(first, bytes, &mut reads);
        reads
    }

    #[test]
    fn part_of_a_page_that_was_forgotten_is_read_once() {
        let mut cache = PageCache::new(true);
        assert_eq!(reads(&mut cache, 8192, 512), [8192]);
        // Now it is in memory, until the writes have left it.
        assert!(reads(&mut cache, 8192, 1024).is_empty());
        assert!(reads(&mut cache, 8704, 3584).is_empty());
        assert_eq!(reads(&mut cache, 12288, 512), [12288]);
        assert_eq!(reads(&mut cache, 12288, 4608), [16384]);
        // Both ends of a write elsewhere; one page of which neither end is covered.
        assert_eq!(reads(&mut cache, 100_000, 8192), [98_304, 106_496]);
        assert_eq!(reads(&mut cache, 200_704 + 512, 512), [200_704]);
        // What was filled up ahead is there when it is written.
        assert!(reads(&mut cache, 204_800, 8192).is_empty());
        assert!(reads(&mut cache, 204_800, 512).is_empty());
        // Once round, all is forgotten again.
        let mut around =
            |round: u64| (0..1000).map(|at| reads(&mut cache, round + at * 1024, 1024).len()).sum::<usize>();
        assert_eq!([0, 0, 0].map(|_| around(0)), [250, 250, 250]);
    }

    #[test]
    fn whole_pages_and_pages_that_are_kept_are_never_read() {
        let mut forgets = PageCache::new(true);
        assert!(reads(&mut forgets, 4096, 4096).is_empty());
        assert!(reads(&mut forgets, 8192, 65536).is_empty());
        let mut keeps = PageCache::new(false);
        assert!(reads(&mut keeps, 512, 512).is_empty());
        assert!(reads(&mut keeps, 1 << 20, 512).is_empty());
    }

    #[test]
    fn the_device_gets_whole_pages_once() {
        let mut cache = PageCache::new(false);
        let mut requests = Vec::new();
        for at in 0..20 {
            cache.write(8192 + at * 512, 512, &mut Vec::new());
        }
        cache.take_dirty(&mut requests);
        assert_eq!(requests, [(8192, 12288)]);
        requests.clear();
        cache.take_dirty(&mut requests);
        assert!(requests.is_empty());
        // The tail is written again with what follows it; large writes go out in parts; a jump back is a range of its own.
        cache.write(8192 + 10240, 1 << 20, &mut Vec::new());
        cache.write(2048, 100, &mut Vec::new());
        cache.take_dirty(&mut requests);
        assert_eq!(
            requests,
            [(16384, 512 << 10), (16384 + (512 << 10), 512 << 10), (16384 + (1 << 20), 4096), (0, 4096)]
        );
    }
}
