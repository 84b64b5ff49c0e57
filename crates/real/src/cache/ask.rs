//! A request of a source, and the answer to it.

use flatwater_core::cache::{Failure, Kind};
use flatwater_core::slab_key;

use super::pool::Region;

slab_key!(
    /// An unaligned request under way.
    pub UnalignedId
);

/// As the source of a request: a step of an unaligned request.
pub const STEP: u8 = 254;
/// As the source of a request: the handle, from another thread.
pub const HANDLE: u8 = 253;
/// As the source of a request: the stop of the engine at the end.
pub const STOP: u8 = 252;

/// A request of a source, at any offset and of any length. It need not consist of whole sectors.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Its kind.
    pub kind: Kind,
    /// Its first byte; 0 for a flush.
    pub offset: u64,
    /// Its length; 0 for a flush.
    pub bytes: u32,
    /// Whether it is durable before it ends (writes, zeros and trims).
    pub durable: bool,
    /// The process that requests it; 0: unknown.
    pub process: u32,
    /// The memory of a read or a write, at least `bytes` long; `Region::NONE` for others. The source does not touch it until
    /// the answer. If it is aligned to 512, whole sectors need no copy.
    pub memory: Region,
}

/// An answer for a source: the source, the key of the request, and the result.
pub type Answer = (u8, u64, Result<(), Failure>);
