//! Making a cache, and finding out what it holds.

use std::io;

/// A device read and written by one caller who waits: what making, recovery, `check` and `drain` need.
pub trait Blocks {
    /// Its length.
    fn bytes(&self) -> u64;

    /// Fills `into` from `offset`.
    ///
    /// # Errors
    /// What the device says.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes.
    ///
    /// # Errors
    /// What the device says.
    fn write(&mut self, offset: u64, from: &[u8]) -> io::Result<()>;

    /// Makes durable what was written.
    ///
    /// # Errors
    /// What the device says.
    fn sync(&mut self) -> io::Result<()>;
}

/// How a cache is laid out, fixed when it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Who it is.
    pub uuid: [u8; 16],
    /// Bytes of the cache device that are used.
    pub fast_bytes: u64,
    /// Bytes of the backing device, all of which are served.
    pub slow_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
}

/// What a cache holds, as recovery found it.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Bytes of the backing device.
    pub slow_bytes: u64,
}

impl Recovered {
    /// An empty cache on devices that need no recovery: for virtual time.
    pub fn fresh(layout: Layout) -> Self {
        Self { slow_bytes: layout.slow_bytes }
    }
}
