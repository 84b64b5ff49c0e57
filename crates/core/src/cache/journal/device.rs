//! A device, for the work on a cache that does not serve.

use std::io;

/// A device that one caller reads and writes synchronously. Making, recovery, `check` and `drain` use it.
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
