//! The memory into which requests are read. The length of a request is not known before it is read.

use std::ptr::NonNull;

use flatwater_core::slab::{Key as _, Slab};
use flatwater_core::slab_key;
use flatwater_real::cache::Region;

use super::wire::WRITE_HEADER_BYTES;

slab_key!(
    /// A place for one request.
    pub PlaceId
);

/// Places that are mapped together.
const GROUP: usize = 64;
/// Room beyond the data of a write, for other requests: the longest, with names and lists of nodes, need less.
const SLACK_BYTES: usize = 4096;

/// Places for requests. Each has a header and as much aligned memory as the longest write needs. The kernel provides the
/// memory when it is first written to. The place that was freed last is used again first.
pub struct Payloads {
    place_bytes: usize,
    groups: Vec<NonNull<u8>>,
    headers: Vec<[u8; WRITE_HEADER_BYTES]>,
    places: Slab<(), PlaceId>,
}

// SAFETY: it owns the mappings.
unsafe impl Send for Payloads {}

impl Payloads {
    /// Places for writes of up to `write_bytes_max`.
    pub fn new(write_bytes_max: u32) -> Self {
        let place_bytes = (write_bytes_max as usize).next_multiple_of(4096) + SLACK_BYTES;
        Self { place_bytes, groups: Vec::new(), headers: Vec::new(), places: Slab::new() }
    }

    /// Takes a place.
    pub fn take(&mut self) -> PlaceId {
        let place = self.places.insert(());
        if place.number() as usize == self.headers.len() {
            self.map();
        }
        place
    }

    /// Gives a place back.
    pub fn give(&mut self, place: PlaceId) {
        self.places.remove(place);
    }

    /// The memory of the header.
    pub fn header(&mut self, place: PlaceId) -> &mut [u8; WRITE_HEADER_BYTES] {
        &mut self.headers[place.number() as usize]
    }

    /// The memory of what follows the header.
    pub fn region(&self, place: PlaceId) -> Region {
        let place = place.number() as usize;
        let start = self.groups[place / GROUP].as_ptr();
        let pointer = start.wrapping_add(place % GROUP * self.place_bytes);
        Region { pointer, bytes: self.place_bytes as u32, fixed: None }
    }

    /// Maps the next group of places.
    fn map(&mut self) {
        let bytes = self.place_bytes * GROUP;
        let (read_write, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping; nothing is replaced.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, read_write, private, -1, 0) };
        assert!(start != libc::MAP_FAILED, "no memory for requests");
        // With huge pages the first 16 KiB of a place would take a whole one.
        // SAFETY: the mapping was just made. Refused advice changes nothing.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        self.groups.push(NonNull::new(start.cast()).expect("the kernel does not map at 0"));
        self.headers.resize(self.headers.len() + GROUP, [0; WRITE_HEADER_BYTES]);
    }
}

impl Drop for Payloads {
    fn drop(&mut self) {
        for group in self.groups.drain(..) {
            // SAFETY: it was mapped with this length.
            unsafe { libc::munmap(group.as_ptr().cast(), self.place_bytes * GROUP) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_aligned_and_do_not_overlap() {
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
