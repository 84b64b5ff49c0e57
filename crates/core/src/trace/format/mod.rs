//! The formats of traces: one file each. `source::Format` lists them all.

pub mod blkparse;
pub mod iolog;
pub mod msr;
pub mod oracle;
pub mod recording;

use std::collections::HashMap;

use super::Entry;
use super::position::{Input, Wrong};

/// A reader of one format.
pub trait Reader: Send {
    /// Appends the next requests, at most `most`. Returns false at the end of the trace.
    ///
    /// # Errors
    /// The input is invalid at its position.
    fn read(&mut self, input: &mut Input, most: usize, into: &mut Vec<Entry>) -> Result<bool, Wrong>;

    /// Oddities that the reader skipped, for people.
    fn note(&self) -> Option<String> {
        None
    }
}

/// Traces of several files or disks: each gets a range of its own on one device, 1 PiB apart, the first from 0 on.
#[derive(Default)]
pub(crate) struct Ranges {
    bases: HashMap<String, u64>,
}

/// Files and disks are smaller.
const RANGE_BYTES: u64 = 1 << 50;
/// So many ranges fit 64 bits.
const RANGES_MAX: usize = 1 << 13;

impl Ranges {
    /// The place of a byte of a file or disk.
    pub(crate) fn place(&mut self, name: &str, offset: u64) -> Result<u64, Wrong> {
        if offset >= RANGE_BYTES {
            return Err(Wrong::new(format!("offset {offset} is more than any device has"), ""));
        }
        let base = match self.bases.get(name) {
            Some(base) => *base,
            None if self.bases.len() >= RANGES_MAX => {
                return Err(Wrong::new(format!("more than {RANGES_MAX} files or disks"), "split the trace"));
            }
            None => {
                let base = self.bases.len() as u64 * RANGE_BYTES;
                self.bases.insert(name.to_owned(), base);
                base
            }
        };
        Ok(base + offset)
    }

    pub(crate) fn note(&self, what: &str) -> Option<String> {
        let n = self.bases.len();
        (n > 1).then(|| format!("{n} {what}: they stand 1 PiB apart on one device"))
    }
}

/// A length that a request can have.
pub(crate) fn length(bytes: u64) -> Result<u32, Wrong> {
    // Linux moves at most 2 GiB in one request; discards can be longer, up to 4 GiB.
    u32::try_from(bytes).map_err(|_| Wrong::new(format!("a request of {bytes} bytes"), "at most 4 GiB - 1"))
}
