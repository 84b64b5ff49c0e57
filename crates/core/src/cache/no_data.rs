//! Memory in which nothing is: for models, which move no data, and for measuring the engine alone.

use super::{Memory, Place};

/// Numbers of buffers, given out and taken back.
#[derive(Debug, Default)]
pub struct NoData {
    free: Vec<u32>,
    made: u32,
}

impl Memory for NoData {
    fn take(&mut self, _bytes: u32) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            self.made - 1
        })
    }

    fn give(&mut self, buffer: u32) {
        self.free.push(buffer);
    }

    fn copy(&mut self, _from: Place, _to: Place, _bytes: u32) {}

    fn zero(&mut self, _at: Place, _bytes: u32) {}

    /// All data are alike, so what was written is what is read.
    fn checksum(&mut self, _at: Place, _bytes: u32) -> u32 {
        0
    }

    fn store(&mut self, _at: Place, _bytes: &[u8]) {}
}
