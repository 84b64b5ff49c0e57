//! A request of a source, and the answer to it.

use flatwater_core::cache::{Failure, Kind};

use super::pool::Region;

/// As a request's source: a step of an unaligned one.
pub const STEP: u8 = 254;
/// As a request's source: the handle's, from another thread.
pub const HANDLE: u8 = 253;
/// As a request's source: the engine's stop, at the end.
pub const STOP: u8 = 252;

/// A request of a source, at any offset and of any length: what is no whole sectors is made so below.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// What.
    pub kind: Kind,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// Length; 0 for a flush.
    pub bytes: u32,
    /// Durable before it ends (writes, zeros and trims).
    pub durable: bool,
    /// The process that asks; 0: nobody knows.
    pub process: u32,
    /// Where a read goes and a write comes from, at least `bytes` long, untouched until the answer; `Region::NONE` else.
    /// Whole sectors take the direct way if it is aligned to 512.
    pub memory: Region,
}

/// An answer for a source: whose, its key, and what.
pub type Answer = (u8, u64, Result<(), Failure>);
