//! Writers: each has one chunk of pages on its way, and gets them from the batches of one queue.

use std::collections::VecDeque;

use flatwater_core::slab::Slab;

use super::super::ids::{BatchId, FrameId, Lsn, WriterId};
use super::super::settings::Settings;
use super::doublewrite::Doublewrite;
use super::kind::Kind;

/// Where a writer's chunk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Idle,
    /// The threads of its batches put their pages into it.
    Posting,
    /// It waits for the log to be durable up to its pages.
    Wal,
    /// It waits for a part of the doublewrite buffer.
    Part,
    /// Its pages go to the doublewrite buffer, which is then synced.
    Doublewrite,
    DoublewriteSync,
    /// They go to their places, which are then synced, file after file.
    Pages,
    Sync,
}

/// One chunk under way.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) queue: usize,
    pub(super) life: Life,
    /// First byte of its doublewrite buffer on the device; None: it has none, or no part of it yet.
    pub(super) place: Option<u64>,
    /// Which parts of the doublewrite buffer it takes one of for each chunk; None: it has its own place, or writes straight.
    parts: Option<usize>,
    /// Pages of a chunk.
    pub(super) room: usize,
    pub(super) stage: Stage,
    /// The pages, each with its batch.
    pub(super) chunk: Vec<(BatchId, FrameId)>,
    /// A batch written straight whose files are being synced: it ends then.
    pub(super) ending: Option<BatchId>,
    pub(super) outstanding: u32,
    /// The last change of any of its pages.
    pub(super) newest_lsn: Lsn,
    /// Files that are to be synced, a bit each.
    pub(super) files: u64,
    /// The one that is being synced, and how many pages of it have to be durable then.
    pub(super) file: u32,
    pub(super) wanted: u64,
}

/// How long a writer is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// As long as its queue.
    Queue,
    /// For one page of a batch that is in no queue.
    Single,
    /// For one page that goes straight to its place.
    Page,
    /// For the sync after a chunk of another writer.
    Sync,
    /// For the syncs that a checkpoint waits for.
    Checkpoint,
}

/// Batches that have pages still, and who writes them.
#[derive(Debug)]
struct Queue {
    batches: VecDeque<BatchId>,
    writers: Vec<WriterId>,
}

/// Parts of the doublewrite buffer that chunks take in turn.
#[derive(Debug)]
struct Parts {
    free: VecDeque<u64>,
    waiters: VecDeque<WriterId>,
}

/// All writers of a server, and the batches that have pages for them.
#[derive(Debug)]
pub(super) struct Writers {
    writers: Slab<Writer, WriterId>,
    queues: Vec<Queue>,
    /// For batches of the flush list, for those of the LRU list, and for single pages.
    parts: [Parts; 3],
}

/// The parts for single pages.
const SINGLE_PARTS: usize = 2;

impl Writer {
    const fn new(queue: usize, life: Life, room: usize) -> Self {
        Self {
            queue,
            life,
            place: None,
            parts: None,
            room,
            stage: Stage::Idle,
            chunk: Vec::new(),
            ending: None,
            outstanding: 0,
            newest_lsn: Lsn::ZERO,
            files: 0,
            file: 0,
            wanted: 0,
        }
    }

    /// Whether its pages go through the doublewrite buffer.
    pub(super) const fn doubles(&self) -> bool {
        self.place.is_some() || self.parts.is_some()
    }

    /// Takes the next file that is to be synced.
    pub(super) const fn take_file(&mut self) -> Option<u32> {
        if self.files == 0 {
            return None;
        }
        self.file = self.files.trailing_zeros();
        self.files &= self.files - 1;
        Some(self.file)
    }
}

impl Writers {
    /// The writers of a server, whose doublewrite buffers lie from `start` on.
    pub(super) fn new(kind: Doublewrite, settings: &Settings, instances: usize, start: u64) -> Self {
        let (queues, each, room) = (kind.queues(instances), kind.writers(), kind.chunk_pages(settings));
        let parts =
            kind.parts(start, instances, room).map(|free| Parts { free: free.into(), waiters: VecDeque::new() });
        let mut writers = Slab::new();
        let mut of_slot = |queue: usize, slot: usize| {
            let place = kind.place(start, queue * each + slot);
            // Queues of the flush list and of the LRU list alternate.
            let parts = (kind == Doublewrite::Files).then_some(queue % 2);
            writers.insert(Writer { place, parts, ..Writer::new(queue, Life::Queue, room) })
        };
        let queues = (0..queues).map(|queue| {
            let writers = (0..each).map(|slot| of_slot(queue, slot)).collect();
            Queue { batches: VecDeque::new(), writers }
        });
        let queues = queues.collect();
        Self { writers, queues, parts }
    }

    /// A writer.
    pub(super) fn get(&mut self, id: WriterId) -> &mut Writer {
        &mut self.writers[id]
    }

    /// The queue of batches of an instance.
    pub(super) fn queue(&self, instance: usize, kind: Kind) -> usize {
        if self.queues.len() == 1 { 0 } else { 2 * instance + usize::from(kind == Kind::Lru) }
    }

    /// A batch has pages for the writers of a queue.
    pub(super) fn enqueue(&mut self, queue: usize, batch: BatchId) {
        self.queues[queue].batches.push_back(batch);
    }

    /// Takes the batches of a queue, to be given back by `put_batches`.
    pub(super) fn take_batches(&mut self, queue: usize) -> VecDeque<BatchId> {
        std::mem::take(&mut self.queues[queue].batches)
    }

    /// Gives the batches of a queue back.
    pub(super) fn put_batches(&mut self, queue: usize, batches: VecDeque<BatchId>) {
        self.queues[queue].batches = batches;
    }

    /// The writer of a queue with this number, from 0 on.
    pub(super) fn of_queue(&self, queue: usize, slot: usize) -> Option<WriterId> {
        self.queues[queue].writers.get(slot).copied()
    }

    /// A writer for the one page of a batch, which takes a slot of the doublewrite buffer (buf_dblwr_write_single_page),
    /// or with `straight` none.
    pub(super) fn insert_single(&mut self, queue: usize, straight: bool) -> WriterId {
        let parts = (!straight).then_some(SINGLE_PARTS);
        self.writers.insert(Writer { parts, ..Writer::new(queue, Life::Single, 1) })
    }

    /// A writer for the page that is in a writer's chunk: it goes straight to its place.
    pub(super) fn insert_page(&mut self, of: WriterId) -> WriterId {
        let from = &mut self.writers[of];
        let (chunk, queue) = (std::mem::take(&mut from.chunk), from.queue);
        self.writers.insert(Writer { chunk, ..Writer::new(queue, Life::Page, 1) })
    }

    /// A writer for the syncs of these files, a bit each, for which a checkpoint waits.
    pub(super) fn insert_checkpoint(&mut self, files: u64) -> WriterId {
        self.writers.insert(Writer { files, ..Writer::new(0, Life::Checkpoint, 0) })
    }

    /// A writer for the sync after a writer's chunk, which keeps its part of the doublewrite buffer until then.
    pub(super) fn insert_sync(&mut self, of: WriterId) -> WriterId {
        let chunk = &mut self.writers[of];
        let (place, files) = (chunk.place.take(), std::mem::take(&mut chunk.files));
        let (queue, parts) = (chunk.queue, chunk.parts);
        self.writers.insert(Writer { place, files, parts, ..Writer::new(queue, Life::Sync, 0) })
    }

    /// Takes a part of the doublewrite buffer for a writer that needs one. Returns false if all are taken: then it waits
    /// for one.
    pub(super) fn take_part(&mut self, id: WriterId) -> bool {
        let writer = &mut self.writers[id];
        if let (None, Some(parts)) = (writer.place, writer.parts) {
            writer.place = self.parts[parts].free.pop_front();
            if writer.place.is_none() {
                writer.stage = Stage::Part;
                self.parts[parts].waiters.push_back(id);
                return false;
            }
        }
        true
    }

    /// What a writer was for is done: it is idle, or gone. Returns who gets its part of the doublewrite buffer now.
    pub(super) fn release(&mut self, id: WriterId) -> Option<WriterId> {
        let writer = &mut self.writers[id];
        writer.stage = Stage::Idle;
        let (life, parts) = (writer.life, writer.parts);
        let part = parts.and_then(|_| writer.place.take());
        if life != Life::Queue {
            self.writers.remove(id);
        }
        let own = &mut self.parts[parts?];
        own.free.push_back(part?);
        own.waiters.pop_front()
    }
}
