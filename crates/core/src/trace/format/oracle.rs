//! libCacheSim's oracleGeneral: 24 bytes a request, little endian: time in seconds (u32), the object's name (u64), its
//! size (u32), and when it is asked for next (i64, not used here).
//!
//! Objects are neither blocks nor files: a cache keeps or drops each as a whole.

use super::Reader;
use crate::trace::position::{Input, Wrong};
use crate::trace::{Entry, Kind};

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 24;

/// Whether a file may begin as these do: times that do not fall, sizes that are not huge, next uses that are later or
/// none.
pub fn recognises(head: &[u8]) -> bool {
    let entries: Vec<&[u8; ENTRY_BYTES]> =
        head.chunks_exact(ENTRY_BYTES).take(64).filter_map(|e| e.try_into().ok()).collect();
    let field = |entry: &[u8; ENTRY_BYTES], at| u32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes"));
    let next = |entry: &[u8; ENTRY_BYTES]| i64::from_le_bytes(entry[16..].try_into().expect("eight bytes"));
    entries.len() >= 2
        && entries.windows(2).all(|pair| field(pair[0], 0) <= field(pair[1], 0))
        && entries.iter().all(|entry| field(entry, 12) < 1 << 30 && next(entry) >= -2)
        && entries.iter().any(|entry| field(entry, 12) > 0)
}

/// A reader of this format.
#[derive(Default)]
pub struct Oracle {
    first_s: Option<u32>,
    bytes: Vec<u8>,
}

impl Reader for Oracle {
    fn read(&mut self, input: &mut Input, most: usize, into: &mut Vec<Entry>) -> Result<bool, Wrong> {
        self.bytes.resize(most * ENTRY_BYTES, 0);
        let read = input.fill(&mut self.bytes)?;
        if !read.is_multiple_of(ENTRY_BYTES) {
            let what = format!("ends within a request: {} bytes are left of {ENTRY_BYTES}", read % ENTRY_BYTES);
            return Err(Wrong::new(what, "a torn copy, or another format"));
        }
        let entries = self.bytes[..read].as_chunks::<ENTRY_BYTES>().0;
        into.extend(entries.iter().map(|entry| {
            let word = |at: usize| u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]);
            let time_s = word(0);
            let first_s = *self.first_s.get_or_insert(time_s);
            Entry {
                at_ns: u64::from(time_s.saturating_sub(first_s)) * 1_000_000_000,
                kind: Kind::Read,
                offset: u64::from(word(4)) | u64::from(word(8)) << 32,
                bytes: word(12),
                process: 0,
            }
        }));
        Ok(read == self.bytes.len())
    }
}
