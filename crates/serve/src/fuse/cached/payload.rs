//! The memory that requests arrive in: before it is read, nobody knows how long the next one is.

use std::ptr::NonNull;

use super::wire::WRITE_HEADER_BYTES;
use flatwater_real::cache::Region;

/// Places that are mapped together.
const GROUP: usize = 64;
/// What stands beyond a request's data: the longest of all, names and lists of nodes, needs less.
const SLACK_BYTES: usize = 4096;

/// Places for requests: a header each, and as much aligned memory as the longest write has. Of the memory only what was
/// once written to is there; those used last are used again first.
pub struct Payloads {
    place_bytes: usize,
    groups: Vec<NonNull<u8>>,
    headers: Vec<[u8; WRITE_HEADER_BYTES]>,
    free: Vec<u32>,
}

// SAFETY: the mappings are its own.
unsafe impl Send for Payloads {}

impl Payloads {
    /// Places for writes of up to `write_bytes_max`.
    pub fn new(write_bytes_max: u32) -> Self {
        let place_bytes = (write_bytes_max as usize).next_multiple_of(4096) + SLACK_BYTES;
        Self { place_bytes, groups: Vec::new(), headers: Vec::new(), free: Vec::new() }
    }

    /// Takes a place.
    pub fn take(&mut self) -> u32 {
        if self.free.is_empty() {
            self.map();
        }
        self.free.pop().expect("a group was just mapped")
    }

    /// Gives it back.
    pub fn give(&mut self, place: u32) {
        self.free.push(place);
    }

    /// The header's memory.
    pub fn header(&mut self, place: u32) -> &mut [u8; WRITE_HEADER_BYTES] {
        &mut self.headers[place as usize]
    }

    /// What follows the header.
    pub fn region(&self, place: u32) -> Region {
        let start = self.groups[place as usize / GROUP].as_ptr();
        let pointer = start.wrapping_add(place as usize % GROUP * self.place_bytes);
        Region { pointer, bytes: self.place_bytes as u32, fixed: None }
    }

    fn map(&mut self) {
        let bytes = self.place_bytes * GROUP;
        let (read_write, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping; nothing is replaced.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, read_write, private, -1, 0) };
        assert!(start != libc::MAP_FAILED, "no memory for requests");
        // A huge page would be there whole for the first 16 KiB of a place.
        // SAFETY: the mapping was just made; advice that is refused changes nothing.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        let first = self.headers.len() as u32;
        self.groups.push(NonNull::new(start.cast()).expect("the kernel does not map at 0"));
        self.headers.resize(self.headers.len() + GROUP, [0; WRITE_HEADER_BYTES]);
        self.free.extend((first..first + GROUP as u32).rev());
    }
}

impl Drop for Payloads {
    fn drop(&mut self) {
        for group in self.groups.drain(..) {
            // SAFETY: mapped with this length.
            unsafe { libc::munmap(group.as_ptr().cast(), self.place_bytes * GROUP) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_aligned_and_apart() {
        let mut payloads = Payloads::new(1 << 20);
        let taken: Vec<_> = (0..GROUP + 3).map(|_| payloads.take()).collect();
        let mut starts: Vec<_> = taken.iter().map(|place| payloads.region(*place).pointer as usize).collect();
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= (1 << 20) + SLACK_BYTES));
        assert!(starts.iter().all(|start| start % 4096 == 0));
        payloads.give(taken[5]);
        assert_eq!(payloads.take(), taken[5]);
    }
}
