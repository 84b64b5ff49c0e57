//! Writers: each has one chunk of pages on its way, and gets them from the batches of one queue.

use std::collections::VecDeque;

use flatwater_core::slab::Slab;

use super::super::ids::{BatchId, FrameId, Lsn, WriterId};
use super::super::settings::Settings;
use super::batches::Kind;
use super::doublewrite::Doublewrite;

/// Where a writer's chunk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Idle,
    /// The threads of its batches put their pages into it.
    Posting,
    /// It waits for the log to be durable up to its pages.
    Wal,
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
    /// First byte of its doublewrite buffer on the device; None: it writes straight.
    pub(super) place: Option<u64>,
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
    /// The one that is being synced.
    pub(super) file: u32,
    /// For one page of one batch.
    pub(super) once: bool,
}

/// All writers of a server, and the batches that have pages for them.
#[derive(Debug)]
pub(super) struct Writers {
    writers: Slab<Writer, WriterId>,
    /// Batches that have pages still, by queue; and the writers of each.
    queues: Vec<VecDeque<BatchId>>,
    of_queue: Vec<Vec<WriterId>>,
}

impl Writer {
    const fn new(queue: usize, place: Option<u64>, room: usize) -> Self {
        Self {
            queue,
            place,
            room,
            stage: Stage::Idle,
            chunk: Vec::new(),
            ending: None,
            outstanding: 0,
            newest_lsn: Lsn::ZERO,
            files: 0,
            file: 0,
            once: false,
        }
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
        let mut writers = Slab::new();
        let of_queue = (0..queues).map(|queue| {
            let of_slot = |slot| writers.insert(Writer::new(queue, kind.place(start, queue * each + slot), room));
            (0..each).map(of_slot).collect()
        });
        let of_queue = of_queue.collect();
        Self { writers, queues: vec![VecDeque::new(); queues], of_queue }
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
        self.queues[queue].push_back(batch);
    }

    /// Takes the batches of a queue, to be given back by `put_batches`.
    pub(super) fn take_batches(&mut self, queue: usize) -> VecDeque<BatchId> {
        std::mem::take(&mut self.queues[queue])
    }

    /// Gives the batches of a queue back.
    pub(super) fn put_batches(&mut self, queue: usize, batches: VecDeque<BatchId>) {
        self.queues[queue] = batches;
    }

    /// The writer of a queue with this number, from 0 on.
    pub(super) fn of_queue(&self, queue: usize, slot: usize) -> Option<WriterId> {
        self.of_queue[queue].get(slot).copied()
    }

    /// A writer for one page of one batch, which has a slot of a queue's buffer to itself (buf_dblwr_write_single_page).
    pub(super) fn insert_once(&mut self, queue: usize) -> WriterId {
        let place = self.of_queue[queue].first().and_then(|first| self.writers[*first].place);
        self.writers.insert(Writer { once: true, ..Writer::new(queue, place, 1) })
    }

    /// A writer for one page is done.
    pub(super) fn remove_once(&mut self, id: WriterId) {
        self.writers.remove(id);
    }
}
