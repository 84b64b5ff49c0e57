//! Writes of rows to the members: which of them are under way, and which wait for others.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};

use flatwater_core::slab::Slab;

use super::layout::Chunk;
use super::op::{RequestId, UpdateId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Reading,
    Writing,
    Parity,
}

/// A row that is being written.
#[derive(Debug)]
pub(super) struct Update {
    /// The host's request that waits for it; None: from the memory.
    pub(super) owner: Option<RequestId>,
    pub(super) chunks: Vec<Chunk>,
    pub(super) stage: Stage,
    pub(super) pending: u32,
}

impl Update {
    /// An update of the chunks of one row.
    pub(super) const fn new(owner: Option<RequestId>, chunks: Vec<Chunk>) -> Self {
        Self { owner, chunks, stage: Stage::Reading, pending: 0 }
    }

    /// The row.
    pub(super) fn row(&self) -> u64 {
        self.chunks[0].row
    }

    /// The range of the stripe units that its chunks touch.
    pub(super) fn span(&self) -> (u64, u64) {
        let from = self.chunks.iter().map(|chunk| chunk.from).min().unwrap_or(0);
        (from, self.chunks.iter().map(|chunk| chunk.to).max().unwrap_or(0))
    }
}

/// The updates. Of a row that is locked one is at work at a time.
#[derive(Debug, Default)]
pub(super) struct Updates {
    all: Slab<Update, UpdateId>,
    /// Rows whose parity is being changed, and updates that wait for them.
    locked: BTreeMap<u64, VecDeque<UpdateId>>,
    /// Of those that lock their row: how many are at work, and which may begin.
    running: u32,
    ready: VecDeque<UpdateId>,
}

impl Updates {
    /// An update that waits for nobody.
    pub(super) fn insert(&mut self, update: Update) -> UpdateId {
        self.all.insert(update)
    }

    /// An update that locks its row: true if it is ready, false if it waits for another of its row.
    pub(super) fn lock(&mut self, update: Update) -> bool {
        let row = update.row();
        let id = self.all.insert(update);
        if let Some(waiting) = self.locked.get_mut(&row) {
            waiting.push_back(id);
            return false;
        }
        self.locked.insert(row, VecDeque::new());
        self.ready.push_back(id);
        true
    }

    /// Takes one that is ready, unless so many are at work.
    pub(super) fn start(&mut self, at_once: u32) -> Option<UpdateId> {
        let id = if self.running < at_once { self.ready.pop_front()? } else { return None };
        self.running += 1;
        Some(id)
    }

    /// An update is over.
    pub(super) fn remove(&mut self, id: UpdateId) -> Update {
        self.all.remove(id)
    }

    /// The update that had locked a row is over: the next of the row is ready.
    pub(super) fn unlock(&mut self, row: u64) {
        self.running -= 1;
        match self.locked.get_mut(&row).and_then(VecDeque::pop_front) {
            Some(next) => self.ready.push_back(next),
            None => _ = self.locked.remove(&row),
        }
    }

    /// Whether an update of a row is ready or at work.
    pub(super) fn is_locked(&self, row: u64) -> bool {
        self.locked.contains_key(&row)
    }

    /// Whether one is ready that was not started.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// How many are at work of those that lock their row.
    pub(super) fn running(&self) -> u32 {
        self.running
    }
}

impl Index<UpdateId> for Updates {
    type Output = Update;

    #[inline]
    fn index(&self, id: UpdateId) -> &Update {
        &self.all[id]
    }
}

impl IndexMut<UpdateId> for Updates {
    #[inline]
    fn index_mut(&mut self, id: UpdateId) -> &mut Update {
        &mut self.all[id]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_row(row: u64) -> Update {
        Update::new(None, vec![Chunk { row, unit: 0, from: 0, to: 512 }])
    }

    #[test]
    fn updates_of_a_row_come_one_after_the_other() {
        let mut updates = Updates::default();
        assert!(updates.lock(of_row(1)));
        assert!(!updates.lock(of_row(1)));
        assert!(updates.lock(of_row(2)));
        let first = updates.start(8).unwrap();
        assert_eq!(updates.start(8).map(|id| updates[id].row()), Some(2));
        assert_eq!((updates.start(8), updates.running()), (None, 2));
        assert_eq!(updates.remove(first).row(), 1);
        updates.unlock(1);
        assert!(updates.has_ready() && updates.is_locked(1));
        let second = updates.start(8).unwrap();
        assert_eq!(updates.remove(second).row(), 1);
        updates.unlock(1);
        assert!(!updates.is_locked(1) && updates.is_locked(2) && !updates.has_ready());
    }

    #[test]
    fn no_more_are_at_work_than_are_let() {
        let mut updates = Updates::default();
        assert!((0..3).all(|row| updates.lock(of_row(row))));
        assert!(updates.start(2).is_some() && updates.start(2).is_some() && updates.start(2).is_none());
        updates.unlock(0);
        assert!(updates.start(2).is_some());
    }

    #[test]
    fn the_span_covers_all_chunks() {
        let chunk = |from, to| Chunk { row: 0, unit: 0, from, to };
        assert_eq!(Update::new(None, vec![chunk(512, 1024), chunk(2048, 4096)]).span(), (512, 4096));
    }
}
