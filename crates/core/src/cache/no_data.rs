//! Memory in which nothing is: for models, which move no data, and for measuring the engine alone.

use super::{BufferId, Memory, Place};
use crate::slab::Slab;

/// Numbers of buffers, given out and taken back.
#[derive(Debug, Default)]
pub struct NoData {
    buffers: Slab<(), BufferId>,
}

impl Memory for NoData {
    fn take(&mut self, _bytes: u32) -> BufferId {
        self.buffers.insert(())
    }

    fn give(&mut self, buffer: BufferId) {
        self.buffers.remove(buffer);
    }

    fn copy(&mut self, _from: Place, _to: Place, _bytes: u32) {}

    fn zero(&mut self, _at: Place, _bytes: u32) {}

    /// All data are alike, so what was written is what is read.
    fn checksum(&mut self, _at: Place, _bytes: u32) -> u32 {
        0
    }

    fn store(&mut self, _at: Place, _bytes: &[u8]) {}
}
