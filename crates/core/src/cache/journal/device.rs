//! A device as the journal's offline work needs it.

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
