//! The data of writes: data of a chosen compressibility, and blocks whose header proves where and when they were
//! written.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rand_xoshiro::rand_core::RngCore;

use crate::seed::{splitmix, stream};

/// Data is made in chunks of this size, each partly random and partly zero, so that a device that compresses sees
/// the chosen ratio whatever unit it works in. 4 KiB is the unit of today's compressing and deduplicating devices.
const CHUNK_BYTES: usize = 4096;
/// Bytes of each chunk that differ in every write.
const STAMP_BYTES: usize = 16;

/// The magic number of a verified block.
const MAGIC: [u8; 8] = *b"FLATWATR";
/// Bytes of a verified block's header: magic, run id, offset, file, generation, length, CRC-32C.
pub const HEADER_BYTES: usize = 40;

/// Makes the data of writes.
#[derive(Clone, Debug)]
pub struct Payload {
    seed: u64,
    compressible_pct: f64,
    words: u64,
}

impl Payload {
    /// Data of which `compressible_pct` % compresses away. Every `user` (a lane, a writer of a preparation) of a seed
    /// makes other data.
    pub fn new(seed: u64, user: &str, index: u64, compressible_pct: f64) -> Self {
        let seed = stream(seed, user, index).next_u64();
        Self { seed, compressible_pct, words: seed }
    }

    /// Fills a buffer once; each write from it then only stamps it.
    pub fn fill(&self, buffer: &mut [u8], index: u64) {
        let mut rng = stream(self.seed, "buffer", index);
        for chunk in buffer.chunks_mut(CHUNK_BYTES) {
            let random = (chunk.len() as f64 * (1.0 - self.compressible_pct / 100.0)).round() as usize;
            rng.fill_bytes(&mut chunk[..random]);
            chunk[random..].fill(0);
        }
    }

    /// Makes each chunk of this write differ from every other chunk, so that a device cannot deduplicate it. The
    /// buffers take turns, and there are many, so a device cannot compress a write against those around it either.
    #[inline]
    pub fn stamp(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(CHUNK_BYTES) {
            self.words = self.words.wrapping_add(0x9e37_79b9_7f4a_7c15);
            // At the chunk's end: its beginning may hold a header.
            let at = chunk.len().saturating_sub(STAMP_BYTES);
            if let Some(stamp) = chunk[at..].first_chunk_mut::<STAMP_BYTES>() {
                stamp[..8].copy_from_slice(&self.words.to_le_bytes());
                stamp[8..].copy_from_slice(&splitmix(self.words).to_le_bytes());
            }
        }
    }
}

/// The header of a verified block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which prepared set of files it belongs to.
    pub set_id: u64,
    /// Index of the file.
    pub file: u32,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// How many times the block was written.
    pub generation: u32,
}

/// Writes the header and the checksum of the whole block into it.
pub fn seal(block: &mut [u8], header: Header) {
    let bytes = block.len() as u32;
    block[0..8].copy_from_slice(&MAGIC);
    block[8..16].copy_from_slice(&header.set_id.to_le_bytes());
    block[16..24].copy_from_slice(&header.offset.to_le_bytes());
    block[24..28].copy_from_slice(&header.file.to_le_bytes());
    block[28..32].copy_from_slice(&header.generation.to_le_bytes());
    block[32..36].copy_from_slice(&bytes.to_le_bytes());
    let sum = checksum(block);
    block[36..40].copy_from_slice(&sum.to_le_bytes());
}

fn checksum(block: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&block[..36]), &block[HEADER_BYTES..])
}

/// Why a block that was read is not the one that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// There is no header: the block was never written, or another program overwrote it.
    NotOurs {
        /// Whether it is all zeros, as a block never written or trimmed is.
        zeros: bool,
    },
    /// Another block's data.
    Misplaced(Header),
    /// An older version: a write that was acknowledged got lost.
    Stale {
        /// The generation found.
        found: u32,
    },
    /// The checksum does not match: damaged or torn.
    Damaged,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOurs { zeros: true } => write!(f, "all zeros: never written, or trimmed"),
            Self::NotOurs { zeros: false } => write!(f, "not a block of this run: overwritten by someone else"),
            Self::Misplaced(other) => write!(
                f,
                "misplaced: it holds the block of file {} offset {} (generation {})",
                other.file, other.offset, other.generation
            ),
            Self::Stale { found } => write!(f, "stale: it holds generation {found}; a finished write was lost"),
            Self::Damaged => write!(f, "damaged: its checksum does not match (corrupt or torn)"),
        }
    }
}

/// Checks a block that was read. Returns the generation that it holds.
///
/// `header.generation` is that of the last write that completed, or 0 if it is unknown.
pub fn check(block: &[u8], header: Header) -> Result<u32, Mismatch> {
    let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"));
    if block[..8] != MAGIC || long(8) != header.set_id {
        return Err(Mismatch::NotOurs { zeros: block.iter().all(|byte| *byte == 0) });
    }
    if word(32) as usize != block.len() || word(36) != checksum(block) {
        return Err(Mismatch::Damaged);
    }
    let found = Header { set_id: long(8), file: word(24), offset: long(16), generation: word(28) };
    if (found.file, found.offset) != (header.file, header.offset) {
        return Err(Mismatch::Misplaced(found));
    }
    if header.generation != 0 && found.generation != header.generation {
        return Err(Mismatch::Stale { found: found.generation });
    }
    Ok(found.generation)
}

/// The expected generation of every block, and which of them have a request under way (two at once would race).
#[derive(Debug)]
pub struct Generations(Box<[AtomicU32]>);

const BUSY: u32 = 1 << 31;

impl Generations {
    /// `n` blocks of unknown generation.
    pub fn new(n: usize) -> Self {
        Self((0..n).map(|_| AtomicU32::new(0)).collect())
    }

    /// Takes a block for one request. Returns its generation (0: unknown), or None if another request has it.
    pub fn take(&self, block: u64) -> Option<u32> {
        let cell = &self.0[block as usize];
        let now = cell.load(Relaxed);
        let free = now & BUSY == 0;
        (free && cell.compare_exchange(now, now | BUSY, Relaxed, Relaxed).is_ok()).then_some(now)
    }

    /// Gives a block back with the generation it now has.
    pub fn give_back(&self, block: u64, generation: u32) {
        self.0[block as usize].store(generation & !BUSY, Relaxed);
    }

    /// Number of blocks.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: Header = Header { set_id: 9, file: 1, offset: 65_536, generation: 3 };

    fn block() -> Vec<u8> {
        let mut block = vec![0; 8192];
        Payload::new(1, "test", 0, 0.0).fill(&mut block, 0);
        seal(&mut block, HEADER);
        block
    }

    #[test]
    fn names_what_is_wrong() {
        assert_eq!(check(&block(), HEADER), Ok(3));
        assert_eq!(check(&block(), Header { generation: 0, ..HEADER }), Ok(3));
        assert_eq!(check(&block(), Header { generation: 4, ..HEADER }), Err(Mismatch::Stale { found: 3 }));
        assert_eq!(check(&block(), Header { offset: 0, ..HEADER }), Err(Mismatch::Misplaced(HEADER)));
        assert_eq!(check(&block(), Header { set_id: 8, ..HEADER }), Err(Mismatch::NotOurs { zeros: false }));
        assert_eq!(check(&[0; 4096], HEADER), Err(Mismatch::NotOurs { zeros: true }));
    }

    proptest! {
        #[test]
        fn every_flipped_bit_is_found(byte in 0usize..8192, bit in 0u8..8) {
            let mut damaged = block();
            damaged[byte] ^= 1 << bit;
            prop_assert!(check(&damaged, HEADER).is_err());
        }
    }

    #[test]
    fn compressibility_is_as_asked_and_writes_differ() {
        for pct in [0.0, 25.0, 100.0] {
            let mut payload = Payload::new(5, "test", 0, pct);
            let mut buffer = vec![0xAA; 16_384];
            payload.fill(&mut buffer, 0);
            let zeros = buffer.iter().filter(|byte| **byte == 0).count() as f64 / buffer.len() as f64;
            assert!((zeros - pct / 100.0).abs() < 0.01, "{pct} %: {zeros}");
            payload.stamp(&mut buffer);
            let first = buffer.clone();
            payload.stamp(&mut buffer);
            for (old, new) in first.chunks(CHUNK_BYTES).zip(buffer.chunks(CHUNK_BYTES)) {
                assert_ne!(old, new);
            }
        }
    }

    #[test]
    fn users_of_one_seed_make_other_data() {
        let first = |user, index| {
            let mut buffer = [0; 64];
            Payload::new(3, user, index, 0.0).fill(&mut buffer, 0);
            buffer
        };
        assert_eq!(first("lane", 0), first("lane", 0));
        assert_ne!(first("lane", 0), first("lane", 1));
        assert_ne!(first("lane", 0), first("prepare", 0));
    }

    #[test]
    fn a_block_belongs_to_one_request_at_a_time() {
        let generations = Generations::new(2);
        assert_eq!(generations.take(1), Some(0));
        assert_eq!(generations.take(1), None);
        generations.give_back(1, 7);
        assert_eq!(generations.take(1), Some(7));
    }
}
