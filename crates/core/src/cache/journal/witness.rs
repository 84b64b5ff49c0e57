//! The witness of a backing device: what it holds at a few places, and the kernel's name of it. With it a cache refuses
//! another device of the same size.
//!
//! It is taken when a cache is made and at each stop. While the cache serves, a place is marked as touched, durably,
//! before it is written. So the places that are not marked match at any time, after a power cut too, and the right
//! device is never refused.

use std::io;

use super::device::Blocks;
use super::layout::Layout;
use super::page::{PAGE, get32, get64, put32, put64};
use super::superblock::{SECTOR, intact, seal};

const MAGIC: &[u8; 16] = b"flatwater witns\n";

/// The format version of the page. A page of an unknown version is ignored.
const FORM: u32 = 1;

/// Where its two copies lie on the cache device: between the superblocks and behind them. Writes alternate between
/// them.
pub const WITNESS_OFFSETS: [u64; 2] = [32 << 10, 96 << 10];

/// The most places that are compared: a bit of `touched` for each.
const SAMPLES_MAX: usize = 64;

/// Bytes of a place.
const SAMPLE_BYTES: u64 = 4096;

/// The most bytes of the kernel's name of the device.
pub const IDENTITY_BYTES_MAX: usize = SECTOR - 4 - IDENTITY_AT;

const DIGESTS_AT: usize = 72;
const IDENTITY_AT: usize = DIGESTS_AT + 4 * SAMPLES_MAX;

/// What the backing device held when it was last looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    uuid: [u8; 16],
    /// Counts its writes.
    sequence: u64,
    /// The cache's start when it was written. A version of flatwater without witnesses starts the cache without a new
    /// one.
    pub generation: u64,
    slow_bytes: u64,
    /// A bit for each place that was written since then, or could not be read.
    touched: u64,
    digests: Vec<u32>,
    /// First byte of each place, ascending.
    offsets: Vec<u64>,
    /// The kernel's name of the device when the cache was made; empty: unknown.
    pub identity: String,
}

/// The result of a comparison with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Places that were compared: those that are not touched and can be read.
    pub places: u32,
    /// Places that do not match.
    pub differ: u32,
}

/// The places that a cache compares: the beginning, where file systems and partition tables have their UUIDs, the end,
/// and a random place in each of many equal parts. The random places follow from the cache's UUID.
fn places(uuid: &[u8; 16], slow_bytes: u64) -> Vec<u64> {
    let pages = slow_bytes / SAMPLE_BYTES;
    // XFS, ext4 and LVM show on the first page, btrfs behind 64 KiB.
    let mut chosen: Vec<u64> = [0, 16, pages.saturating_sub(1)].into_iter().filter(|&page| page < pages).collect();
    let parts = (SAMPLES_MAX - chosen.len()) as u64;
    let mut state = u64::from_le_bytes(uuid[..8].try_into().expect("its length"));
    for part in 0..parts {
        let (from, to) = (part * pages / parts, (part + 1) * pages / parts);
        // SplitMix64 (Steele, Lea, Flood 2014).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        if from < to {
            chosen.push(from + (mixed ^ mixed >> 31) % (to - from));
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|page| page * SAMPLE_BYTES).collect()
}

impl Witness {
    /// Reads the places of a backing device. A place that cannot be read is marked as touched.
    pub fn look(slow: &mut dyn Blocks, layout: &Layout, generation: u64, identity: &str) -> Self {
        let offsets = places(&layout.uuid, layout.slow_bytes);
        let (mut digests, mut touched) = (Vec::with_capacity(offsets.len()), 0);
        for (nth, &offset) in offsets.iter().enumerate() {
            let digest = digest(slow, offset);
            touched |= u64::from(digest.is_none()) << nth;
            digests.push(digest.unwrap_or_default());
        }
        let identity = identity
            .chars()
            .take(IDENTITY_BYTES_MAX)
            .filter(|letter| letter.is_ascii_graphic() || *letter == ' ')
            .collect();
        let (uuid, slow_bytes) = (layout.uuid, layout.slow_bytes);
        Self { uuid, sequence: 0, generation, slow_bytes, touched, digests, offsets, identity }
    }

    /// Continues the count of writes from the newest copy on the cache device.
    #[must_use]
    pub fn following(mut self, fast: &mut dyn Blocks, layout: &Layout) -> Self {
        self.sequence = Self::newest(fast, layout).map_or(0, |before| before.sequence);
        self
    }

    /// Reads the same places again after a stop. No place is touched any more.
    pub fn look_again(&mut self, slow: &mut dyn Blocks) {
        self.touched = 0;
        for (nth, &offset) in self.offsets.iter().enumerate() {
            let digest = digest(slow, offset);
            self.touched |= u64::from(digest.is_none()) << nth;
            self.digests[nth] = digest.unwrap_or_default();
        }
    }

    /// Compares it with a backing device.
    pub fn compare(&self, slow: &mut dyn Blocks) -> Compared {
        let mut compared = Compared { places: 0, differ: 0 };
        for (nth, &offset) in self.offsets.iter().enumerate() {
            if self.touched & 1 << nth != 0 {
                continue;
            }
            // A place that cannot be read shows a fault of the device, not another device.
            if let Some(digest) = digest(slow, offset) {
                compared.places += 1;
                compared.differ += u32::from(digest != self.digests[nth]);
            }
        }
        compared
    }

    /// A range of the backing device is about to be written. Returns whether that touches places: the caller then
    /// stores the witness before the write.
    #[inline]
    pub fn touch(&mut self, offset: u64, bytes: u64) -> bool {
        let first = self.offsets.partition_point(|&place| place + SAMPLE_BYTES <= offset);
        let before = self.touched;
        for nth in first..self.offsets.len() {
            if self.offsets[nth] >= offset + bytes {
                break;
            }
            self.touched |= 1 << nth;
        }
        self.touched != before
    }

    fn page(&self) -> [u8; PAGE] {
        let mut sector = [0; SECTOR];
        sector[..16].copy_from_slice(MAGIC);
        sector[16..32].copy_from_slice(&self.uuid);
        put32(&mut sector, 32, FORM);
        put32(&mut sector, 36, self.digests.len() as u32);
        // It lies at 40 as in a superblock. The copy with the highest number is the newest.
        for (nth, value) in [self.sequence, self.generation, self.touched, self.slow_bytes].into_iter().enumerate() {
            put64(&mut sector, 40 + nth * 8, value);
        }
        for (nth, &digest) in self.digests.iter().enumerate() {
            put32(&mut sector, DIGESTS_AT + nth * 4, digest);
        }
        sector[IDENTITY_AT..][..self.identity.len()].copy_from_slice(self.identity.as_bytes());
        seal(sector)
    }

    /// Writes it to the cache device, durably. The copy before it stays.
    ///
    /// # Errors
    /// What the device says.
    pub fn store(&mut self, fast: &mut dyn Blocks) -> io::Result<()> {
        self.sequence += 1;
        fast.write(WITNESS_OFFSETS[(self.sequence % 2) as usize], &self.page())?;
        fast.sync()
    }

    /// The newest intact copy of this cache on the cache device. None: there is none, as on a cache that an older
    /// version of flatwater made.
    pub fn newest(fast: &mut dyn Blocks, layout: &Layout) -> Option<Self> {
        let mut pages = Vec::new();
        for offset in WITNESS_OFFSETS {
            let mut page = vec![0; PAGE];
            if offset + PAGE as u64 <= fast.bytes() && fast.read(offset, &mut page).is_ok() {
                pages.push(page);
            }
        }
        let sectors = pages.iter().flat_map(|page| intact(MAGIC, page));
        let sector = sectors
            .filter(|sector| get32(sector, 32) == FORM && sector[16..32] == layout.uuid)
            .max_by_key(|sector| get64(sector, 40))?;
        let [sequence, generation, touched, slow_bytes] = [0, 1, 2, 3].map(|nth| get64(sector, 40 + nth * 8));
        let offsets = places(&layout.uuid, layout.slow_bytes);
        if slow_bytes != layout.slow_bytes || get32(sector, 36) as usize != offsets.len() || sequence > 1 << 56 {
            return None;
        }
        let digests = (0..offsets.len()).map(|nth| get32(sector, DIGESTS_AT + nth * 4)).collect();
        let text: Vec<u8> = sector[IDENTITY_AT..SECTOR - 4].iter().copied().take_while(|&byte| byte != 0).collect();
        let identity = String::from_utf8(text).unwrap_or_default();
        Some(Self { uuid: layout.uuid, sequence, generation, slow_bytes, touched, digests, offsets, identity })
    }
}

fn digest(slow: &mut dyn Blocks, offset: u64) -> Option<u32> {
    let mut page = [0; SAMPLE_BYTES as usize];
    slow.read(offset, &mut page).ok()?;
    Some(crc32c::crc32c(&page))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Memory(Vec<u8>);

    impl Blocks for Memory {
        fn bytes(&self) -> u64 {
            self.0.len() as u64
        }

        fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
            let from = offset as usize;
            let found = self.0.get(from..from + into.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
            into.copy_from_slice(found);
            Ok(())
        }

        fn write(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
            self.0[offset as usize..][..from.len()].copy_from_slice(from);
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn layout() -> Layout {
        Layout { uuid: [7; 16], fast_bytes: 1 << 20, slow_bytes: 8 << 20, block_bytes: 4096 }
    }

    #[test]
    fn places_are_spread_and_follow_from_the_uuid() {
        for slow_bytes in [512, 4096, 65536, 300 << 10, 8 << 20, 1 << 44] {
            let found = places(&[7; 16], slow_bytes);
            assert!(found.len() <= SAMPLES_MAX && found.is_sorted() && found == places(&[7; 16], slow_bytes));
            assert!(found.iter().all(|place| place + SAMPLE_BYTES <= slow_bytes), "{slow_bytes}");
        }
        assert_eq!(places(&[7; 16], 65536).len(), 16, "of a small device, all");
        let (one, other) = (places(&[7; 16], 1 << 40), places(&[8; 16], 1 << 40));
        assert!(one.len() > 60 && one.iter().filter(|place| other.contains(place)).count() < 8);
        assert!(one.contains(&0) && one.contains(&65536) && one.contains(&((1 << 40) - 4096)));
    }

    #[test]
    fn what_was_not_touched_must_match() {
        let (mut slow, mut fast) = (Memory(vec![1; 8 << 20]), Memory(vec![0; 1 << 20]));
        let mut seen = Witness::look(&mut slow, &layout(), 3, "wwid:0123 part:4567");
        seen.store(&mut fast).unwrap();
        assert_eq!(Witness::newest(&mut fast, &layout()), Some(seen.clone()));
        let whole = seen.compare(&mut slow);
        assert!(whole.places > 60 && whole.differ == 0);
        // All places of the other device differ. Of this device only the places differ that were written, and these are
        // marked.
        assert_eq!(seen.compare(&mut Memory(vec![2; 8 << 20])).differ, whole.places);
        let place = seen.offsets[5];
        assert!(seen.touch(place + 4095, 1) && !seen.touch(place, 4096) && !seen.touch(place + 4096, 0));
        slow.write(place, &[9; 4096]).unwrap();
        assert_eq!(seen.compare(&mut slow), Compared { places: whole.places - 1, differ: 0 });
        seen.store(&mut fast).unwrap();
        assert_eq!(Witness::newest(&mut fast, &layout()), Some(seen.clone()), "the newer of two copies counts");
        seen.look_again(&mut slow);
        assert_eq!(seen.compare(&mut slow), whole);
        assert!(seen.touch(0, 8 << 20));
        assert_eq!(seen.compare(&mut slow).places, 0);
    }

    #[test]
    fn another_caches_and_a_damaged_one_say_nothing() {
        let (mut slow, mut fast) = (Memory(vec![1; 8 << 20]), Memory(vec![0; 1 << 20]));
        assert_eq!(Witness::newest(&mut fast, &layout()), None);
        Witness::look(&mut slow, &layout(), 1, "").store(&mut fast).unwrap();
        assert_eq!(Witness::newest(&mut fast, &Layout { uuid: [8; 16], ..layout() }), None);
        assert_eq!(Witness::newest(&mut fast, &Layout { slow_bytes: 4 << 20, ..layout() }), None);
        for copy in 0..8 {
            fast.0[WITNESS_OFFSETS[1] as usize + copy * SECTOR + 100] ^= 1;
        }
        assert_eq!(Witness::newest(&mut fast, &layout()), None);
    }
}
