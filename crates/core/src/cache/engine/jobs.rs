//! What each IO under way is for.

use super::durability::SlowSeq;
use super::keys::{BypassId, FillId, WriteBackId, WriteId};
use super::requests::Part;
use crate::cache::journal::Mark;
use crate::cache::{Block, BufferId, IoId, Slot};
use crate::slab::Slab;

/// What an IO that is under way is for.
#[derive(Clone, Copy)]
pub(super) enum Job {
    /// A part of a read, from its slot; into the buffer if its checksum is looked at.
    Hit { part: Part, slot: Slot, buffer: Option<BufferId> },
    /// A part of a read past the cache.
    BypassRead { part: Part },
    /// What a fill reads from the slow device.
    FillRead { fill: FillId },
    /// A block of a fill, to its slot.
    FillWrite { fill: FillId, block: Block, slot: Slot },
    /// What a part-block write does not write.
    WriteRead { write: WriteId },
    /// A block's new version, to its slot.
    WriteData { write: WriteId },
    /// A write past the cache.
    BypassWrite { bypass: BypassId },
    /// A block of it, to a slot.
    BypassCopy { bypass: BypassId, block: Block, slot: Slot },
    /// A version that is written back, from its slot.
    BackRead { back: WriteBackId, nth: u32 },
    /// Versions that are written back, to the slow device.
    BackWrite { back: WriteBackId },
    /// A page of the journal (`of_journal`), a checkpoint or a superblock.
    Page { ticket: u32, buffer: BufferId, of_journal: bool },
    /// A sync of the fast device.
    FastSync { mark: Mark },
    /// A sync of the slow device.
    SlowSync { ended: SlowSeq },
    /// The pairing record.
    PairWrite { buffer: BufferId },
    /// Its sync.
    PairSync,
}

/// IOs under way.
pub(super) type Jobs = Slab<Job, IoId>;
