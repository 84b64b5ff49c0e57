//! Writes of rows to the members: which are under way, and which wait for another.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};

use flatwater_core::slab::Slab;

use super::ids::{RequestId, RowNo, UpdateId};
use super::layout::Chunk;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Reading,
    Writing,
    Parity,
}

/// A write of one row.
#[derive(Debug)]
pub(super) struct Update {
    /// The request of the host that waits for it; None: it comes from the memory.
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
    pub(super) fn row(&self) -> RowNo {
        self.chunks[0].row
    }

    /// The range within the stripe units that its chunks cover together.
    pub(super) fn span(&self) -> (u64, u64) {
        let from = self.chunks.iter().map(|chunk| chunk.from).min().unwrap_or(0);
        (from, self.chunks.iter().map(|chunk| chunk.to).max().unwrap_or(0))
    }
}

/// The updates. Of those that lock their row, one at a time is under way in each row.
#[derive(Debug, Default)]
pub(super) struct Updates {
    all: Slab<Update, UpdateId>,
    /// Locked rows, each with the updates that wait for it.
    locked: BTreeMap<RowNo, VecDeque<UpdateId>>,
    /// Of the updates that lock their row: how many are under way, and which may begin.
    running: u32,
    ready: VecDeque<UpdateId>,
}

impl Updates {
    /// Adds an update that waits for no other.
    pub(super) fn insert(&mut self, update: Update) -> UpdateId {
        self.all.insert(update)
    }

    /// Adds an update that locks its row. Returns whether it is ready; otherwise it waits for another update of its row.
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

    /// Takes a ready update, unless `at_once` are under way.
    pub(super) fn start(&mut self, at_once: u32) -> Option<UpdateId> {
        let id = if self.running < at_once { self.ready.pop_front()? } else { return None };
        self.running += 1;
        Some(id)
    }

    /// Removes an update that has ended.
    pub(super) fn remove(&mut self, id: UpdateId) -> Update {
        self.all.remove(id)
    }

    /// Unlocks the row of an update that has ended. The next update of the row becomes ready.
    pub(super) fn unlock(&mut self, row: RowNo) {
        self.running -= 1;
        match self.locked.get_mut(&row).and_then(VecDeque::pop_front) {
            Some(next) => self.ready.push_back(next),
            None => _ = self.locked.remove(&row),
        }
    }

    /// Whether an update of a row is ready or under way.
    pub(super) fn is_locked(&self, row: RowNo) -> bool {
        self.locked.contains_key(&row)
    }

    /// Whether a ready update was not started yet.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// How many of the updates that lock their row are under way.
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
        Update::new(None, vec![Chunk { row: RowNo::new(row), unit: 0, from: 0, to: 512 }])
    }

    #[test]
    fn updates_of_a_row_come_one_after_the_other() {
        let (one, mut updates) = (RowNo::new(1), Updates::default());
        assert!(updates.lock(of_row(1)));
        assert!(!updates.lock(of_row(1)));
        assert!(updates.lock(of_row(2)));
        let first = updates.start(8).unwrap();
        assert_eq!(updates.start(8).map(|id| updates[id].row()), Some(RowNo::new(2)));
        assert_eq!((updates.start(8), updates.running()), (None, 2));
        assert_eq!(updates.remove(first).row(), one);
        updates.unlock(one);
        assert!(updates.has_ready() && updates.is_locked(one));
        let second = updates.start(8).unwrap();
        assert_eq!(updates.remove(second).row(), one);
        updates.unlock(one);
        assert!(!updates.is_locked(one) && updates.is_locked(RowNo::new(2)) && !updates.has_ready());
    }

    #[test]
    fn no_more_run_at_once_than_allowed() {
        let mut updates = Updates::default();
        assert!((0..3).all(|row| updates.lock(of_row(row))));
        assert!(updates.start(2).is_some() && updates.start(2).is_some() && updates.start(2).is_none());
        updates.unlock(RowNo::new(0));
        assert!(updates.start(2).is_some());
    }

    #[test]
    fn the_span_covers_all_chunks() {
        let chunk = |from, to| Chunk { row: RowNo::new(0), unit: 0, from, to };
        assert_eq!(Update::new(None, vec![chunk(512, 1024), chunk(2048, 4096)]).span(), (512, 4096));
    }
}
