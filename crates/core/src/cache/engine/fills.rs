//! Blocks that are read from the slow device into the cache. Each is locked until it is in its slot.

use super::keys::FillId;
use super::requests::Part;
use crate::cache::{Block, BufferId, Place};
use crate::slab::Slab;

/// A run of blocks on its way in.
struct Fill {
    block: Block,
    blocks: u32,
    buffer: BufferId,
    /// The data are in the buffer.
    read: bool,
    /// The part of a request that waits for them; None: a command requested them.
    part: Option<Part>,
    /// IOs under way.
    ios: u32,
    /// A command asked for it.
    loading: bool,
}

/// What a fill read.
pub(super) struct FillRead {
    pub(super) block: Block,
    pub(super) blocks: u32,
    pub(super) buffer: BufferId,
    /// The part of a request that waits for it.
    pub(super) part: Option<Part>,
}

/// A fill that ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FillEnded {
    pub(super) buffer: BufferId,
    /// A command asked for it.
    pub(super) loading: bool,
    /// It could be read.
    pub(super) read: bool,
}

/// Fills under way.
#[derive(Default)]
pub(super) struct Fills(Slab<Fill, FillId>);

impl Fills {
    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Blocks are about to be read into a buffer, for a part of a request or (None) for a command.
    pub(super) fn begin(&mut self, block: Block, blocks: u32, buffer: BufferId, part: Option<Part>) -> FillId {
        self.0.insert(Fill { block, blocks, buffer, read: false, part, ios: 1, loading: part.is_none() })
    }

    /// Whether a command asked for it.
    pub(super) fn is_loading(&self, id: FillId) -> bool {
        self.0[id].loading
    }

    /// The read ended. It stays under way until `io_ended` says so.
    pub(super) fn read(&mut self, id: FillId, ok: bool) -> FillRead {
        let fill = &mut self.0[id];
        fill.read = ok;
        FillRead { block: fill.block, blocks: fill.blocks, buffer: fill.buffer, part: fill.part.take() }
    }

    /// Where the data of a block are, if they came already.
    pub(super) fn data(&self, id: FillId, block: Block, from: u32, block_bytes: u32) -> Option<Place> {
        let fill = &self.0[id];
        let at = (block - fill.block) * block_bytes + from;
        fill.read.then_some(Place::Buffer { buffer: fill.buffer, at })
    }

    /// A block is written to its slot.
    pub(super) fn write_begins(&mut self, id: FillId) {
        self.0[id].ios += 1;
    }

    /// One of its IOs ended, with all that follows from it.
    pub(super) fn io_ended(&mut self, id: FillId) -> Option<FillEnded> {
        self.0[id].ios -= 1;
        if self.0[id].ios > 0 {
            return None;
        }
        let Fill { buffer, loading, read, .. } = self.0.remove(id);
        Some(FillEnded { buffer, loading, read })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Key;

    #[test]
    fn a_fill_ends_with_its_last_write() {
        let mut fills = Fills::default();
        let buffer = BufferId::from_number(3);
        let id = fills.begin(Block(10), 2, buffer, None);
        assert!(fills.is_loading(id) && fills.data(id, Block(11), 512, 4096).is_none());
        assert_eq!(fills.read(id, true).blocks, 2);
        assert_eq!(fills.data(id, Block(11), 512, 4096), Some(Place::Buffer { buffer, at: 4608 }));
        fills.write_begins(id);
        assert_eq!(fills.io_ended(id), None);
        assert_eq!(fills.io_ended(id), Some(FillEnded { buffer, loading: true, read: true }));
        assert_eq!(fills.len(), 0);
    }
}
