//! The flash cache: a fast device in front of a slow one. It decides, others do the IO: the same engine runs over
//! io_uring, under a test that cuts the power after every IO, and in virtual time.
//!
//! `engine.rs` takes requests and says what IO they need; `slots.rs` and `index.rs` are its state of each block;
//! `policy/` chooses what is evicted; `journal/` makes the cache survive a crash; `settings.rs` has a user's settings.

use serde::{Deserialize, Serialize};

mod bucket;
pub mod curve;
pub mod engine;
pub mod ghost;
mod ids;
pub mod index;
pub mod journal;
mod no_data;
pub mod policy;
pub mod settings;
pub mod simulator;
pub mod slots;
pub mod statistics;

pub use engine::Engine;
pub use ids::{Block, BufferId, IoId, Lsn, Slot};
pub use no_data::NoData;
pub use settings::{Acknowledge, Admission, Change, Mode, Settings};
pub use statistics::Statistics;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Reads a range.
    Read,
    /// Writes a range from the caller's memory.
    Write,
    /// Writes zeros over a range.
    Zero,
    /// Gives a range back: it reads as zeros or as it was, until it is written.
    Trim,
    /// Makes every write that ended before it durable.
    Flush,
}

/// One request of a user, on the cached device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The caller's name for it, unique while it is under way.
    pub tag: u64,
    /// What.
    pub kind: Kind,
    /// First byte, a multiple of 512; 0 for a flush.
    pub offset: u64,
    /// Length, a multiple of 512; 0 for a flush.
    pub bytes: u32,
    /// Durable before it ends (writes, zeros and trims).
    pub durable: bool,
    /// The process that sent it, as the kernel reports it; 0: unknown.
    pub process: u32,
}

/// The device of an IO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The cache device: superblocks, journal, checkpoints and slots.
    Fast,
    /// The backing device: nothing but the user's blocks.
    Slow,
    /// The pairing record that lies beside the backing device, of `journal::PAIR_BYTES`: which cache it belongs to, and
    /// whether what that cache holds may still be believed.
    Pair,
}

/// The kind of an IO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoKind {
    /// Into memory.
    Read,
    /// From memory.
    Write,
    /// Makes the writes to this device durable that ended before the sync was issued.
    Sync,
    /// Gives a range back.
    Discard,
}

/// A place in the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the memory of the request with this tag, so many bytes from its beginning.
    Request {
        /// Whose.
        tag: u64,
        /// From where.
        at: u32,
    },
    /// In a buffer that `Memory::take` gave.
    Buffer {
        /// Which.
        buffer: BufferId,
        /// From where.
        at: u32,
    },
    /// None is needed.
    Nowhere,
}

/// An IO that the engine wants. Any number may be in flight, in any order. The caller reports each end to
/// `Engine::ended`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// The engine's name for it.
    pub id: IoId,
    /// Where it goes.
    pub side: Side,
    /// What it does.
    pub kind: IoKind,
    /// First byte.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
    /// The memory.
    pub place: Place,
    /// Nobody waits for it: filling, writing back, the journal before it is full.
    pub background: bool,
}

/// The memory that IOs go to and come from. The engine itself never holds data.
pub trait Memory {
    /// A buffer, aligned for direct IO; its content is arbitrary.
    fn take(&mut self, bytes: u32) -> BufferId;

    /// Gives it back.
    fn give(&mut self, buffer: BufferId);

    /// Copies bytes from one place to another.
    fn copy(&mut self, from: Place, to: Place, bytes: u32);

    /// Writes zeros.
    fn zero(&mut self, at: Place, bytes: u32);

    /// CRC-32C of bytes.
    fn checksum(&mut self, at: Place, bytes: u32) -> u32;

    /// Puts bytes of the engine's own into a place.
    fn store(&mut self, at: Place, bytes: &[u8]);
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A device failed, or the only copy of a block did not pass its checksum: EIO.
    Medium,
    /// It is outside of the device: ENOSPC for a write, EINVAL else.
    Outside,
    /// The cache is going down: ESHUTDOWN.
    Stopping,
    /// A command that another one of its kind is in the way of, or that was ended: EBUSY.
    Busy,
    /// A size that the cache cannot have.
    Size {
        /// Bytes of the cache device that it must have, and can have.
        least_bytes: u64,
        /// The same.
        most_bytes: u64,
    },
    /// More than can be pinned.
    Pins {
        /// Blocks that can be, in all.
        most_blocks: u32,
    },
    /// Not all of it came in: there is no room that is neither dirty nor pinned, or it could not be read.
    NoRoom,
    /// The cache device failed, and is not used any more.
    Degraded,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Medium => f.write_str("a device failed"),
            Self::Outside => f.write_str("it is outside of the device"),
            Self::Stopping => f.write_str("the cache is stopping"),
            Self::Busy => f.write_str("another one is under way, or it was ended"),
            Self::Size { least_bytes, most_bytes } => {
                write!(f, "the cache can use from {least_bytes} to {most_bytes} bytes of its device")
            }
            Self::Pins { most_blocks } => {
                write!(f, "{most_blocks} blocks can be pinned in all: a tenth of the cache must stay free")
            }
            Self::NoRoom => f.write_str("not all of it came in: the rest of the cache is dirty or pinned"),
            Self::Degraded => f.write_str("the cache device failed, and is not used any more"),
        }
    }
}

/// What a command asks of the engine itself. It ends as a request does, with an answer of its tag.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Changes settings, all or none. It ends at once. If a change of mode needs write-back, that runs in the
    /// background.
    Set(Vec<Change>),
    /// Writes back all that is dirty now, or that of a range of bytes. Ends when it is on the slow device, durable.
    WriteBack(Option<(u64, u64)>),
    /// Ends the write-backs that users requested: their answers are `Busy`.
    StopWriteBack,
    /// Reads a range into the cache and never evicts it (or lets it go again).
    Pin {
        /// First byte and length.
        range: (u64, u64),
        /// Pinned, or no more.
        pinned: bool,
    },
    /// Reads a range into the cache.
    Preload((u64, u64)),
    /// Changes how many bytes of the cache device are used. Shrinking ends when the slots behind the new end are empty.
    Resize(u64),
    /// Finishes what is under way, writes a checkpoint and marks the cache as cleanly stopped. With `drain`, all that
    /// is dirty is written back first.
    Stop {
        /// Write back first.
        drain: bool,
    },
}

/// An event that the user should see.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// When.
    pub at_ns: u64,
    /// What, in words, with the place.
    pub text: String,
}

/// The effects of a call: the caller takes all of them out each time.
#[derive(Debug, Default)]
pub struct Out {
    /// IOs to be done.
    pub ios: Vec<Io>,
    /// Requests and commands that ended, by tag.
    pub answers: Vec<(u64, Result<(), Failure>)>,
    /// Events for the user.
    pub told: Vec<Told>,
}
