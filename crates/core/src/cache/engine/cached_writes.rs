//! New versions of blocks on their way to slots of their own. The blocks are locked.

use super::keys::WriteId;
use super::requests::Part;
use crate::cache::{Block, BufferId, Slot};
use crate::slab::Slab;

/// Slots that are tried for one write before the fast device counts as failed.
const TRIES_MAX: u8 = 3;

/// A block's new version.
pub(super) struct CachedWrite {
    pub(super) block: Block,
    /// Where it goes.
    pub(super) slot: Slot,
    /// Where the block was when the write began.
    pub(super) old: Slot,
    /// The whole block, unless it is the request's own memory.
    pub(super) buffer: Option<BufferId>,
    /// The write that began it.
    pub(super) part: Part,
    /// Writes that it took along.
    merged: Vec<Part>,
    tries: u8,
    /// From where the rest of the block is read: a slot, or NONE for the slow device.
    source: Slot,
}

impl CachedWrite {
    /// The writes that it does.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        std::iter::once(self.part).chain(self.merged.iter().copied())
    }

    /// The writes that it took along.
    pub(super) fn merged(&self) -> &[Part] {
        &self.merged
    }

    /// From where the rest of the block is read: a slot, or NONE for the slow device.
    pub(super) fn source(&self) -> Slot {
        self.source
    }
}

/// Writes into the cache under way.
#[derive(Default)]
pub(super) struct CachedWrites(Slab<CachedWrite, WriteId>);

impl CachedWrites {
    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A part of a write goes to `slot`; its block was in `old`.
    #[inline]
    pub(super) fn begin(&mut self, part: Part, slot: Slot, old: Slot) -> WriteId {
        let (block, merged) = (part.block, Vec::new());
        self.0.insert(CachedWrite { block, slot, old, buffer: None, part, merged, tries: 0, source: Slot::NONE })
    }

    /// One that is under way.
    #[inline]
    pub(super) fn get(&self, id: WriteId) -> &CachedWrite {
        &self.0[id]
    }

    /// The whole block is put together in this buffer.
    pub(super) fn put_together_in(&mut self, id: WriteId, buffer: BufferId) {
        self.0[id].buffer = Some(buffer);
    }

    /// The rest of the block is read from here.
    pub(super) fn reads_from(&mut self, id: WriteId, source: Slot) {
        self.0[id].source = source;
    }

    /// Takes another write of its block along.
    pub(super) fn merge(&mut self, id: WriteId, part: Part) {
        self.0[id].merged.push(part);
    }

    /// Its slot did not take the data. Returns whether another one may be tried.
    pub(super) fn slot_failed(&mut self, id: WriteId) -> bool {
        let write = &mut self.0[id];
        write.slot = Slot::NONE;
        write.tries += 1;
        write.tries < TRIES_MAX
    }

    /// Another slot is tried.
    pub(super) fn try_slot(&mut self, id: WriteId, slot: Slot) {
        self.0[id].slot = slot;
    }

    /// One that is over.
    #[inline]
    pub(super) fn end(&mut self, id: WriteId) -> CachedWrite {
        self.0.remove(id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::RequestId;
    use super::*;
    use crate::slab::Key;

    #[test]
    fn three_slots_are_tried() {
        let part = |at| Part { request: RequestId::from_number(0), block: Block(5), from: 0, bytes: 512, at };
        let mut writes = CachedWrites::default();
        let id = writes.begin(part(0), Slot(1), Slot::NONE);
        writes.merge(id, part(512));
        let tries: Vec<bool> = (0..3).map(|_| writes.slot_failed(id)).collect();
        assert_eq!(tries, [true, true, false]);
        assert_eq!(writes.get(id).parts().collect::<Vec<_>>(), [part(0), part(512)]);
        assert_eq!((writes.end(id).slot, writes.len()), (Slot::NONE, 0));
    }
}
