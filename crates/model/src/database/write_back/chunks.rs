//! The way of a chunk: when the log is durable up to its pages, to the doublewrite buffer, to its places, and the syncs
//! after both.

use super::super::events::{Event, Tag};
use super::super::generation::FrameAfterWrite;
use super::super::host::Host;
use super::super::ids::{BatchId, Lsn, WriterId};
use super::super::pool::Pool;
use super::WriteBack;
use super::doublewrite::buffer_writes;
use super::file_syncs::{Answer, LOOK_NS};
use super::kind::{Ended, Kind, Owner, Progress};
use super::writers::{Life, Stage};
use crate::storage::Operation;

/// What the end of a page's write needs is prefetched so many pages before.
const WRITES_AHEAD: usize = 4;

impl WriteBack {
    /// The pages of a chunk are in it: they may go out when the log is durable up to them. Returns how far it has to be,
    /// when it is not: then `begin_chunk`.
    pub(in super::super) fn end_posting(
        &mut self,
        id: WriterId,
        durable: Lsn,
        pool: &mut Pool,
        host: &mut Host,
    ) -> Option<Lsn> {
        let writer = self.writers.get(id);
        if writer.newest_lsn > durable {
            writer.stage = Stage::Wal;
            return Some(writer.newest_lsn);
        }
        self.begin_chunk(id, pool, host);
        None
    }

    /// The log is durable up to a chunk's pages: they go out.
    pub(in super::super) fn begin_chunk(&mut self, id: WriterId, pool: &mut Pool, host: &mut Host) {
        if !self.writers.take_part(id) {
            return;
        }
        let writer = self.writers.get(id);
        let Some(place) = writer.place else { return self.begin_straight(id, pool, host) };
        let pages = writer.chunk.len();
        (writer.stage, writer.outstanding) = (Stage::Doublewrite, 0);
        for (offset, bytes) in buffer_writes(place, pages) {
            host.submit(self.device, Tag::Writer { writer: id }, Operation::Write, offset, bytes);
            self.writers.get(id).outstanding += 1;
        }
        if self.doublewrite.is_synced() {
            host.note_unsynced(pages as u64);
        }
        self.counts.doublewrite_pages += pages as u64;
        self.counts.doublewrite_writes += 1;
    }

    /// The page of a batch goes straight to its place, and the thread of the batch takes the next one meanwhile.
    fn begin_straight(&mut self, id: WriterId, pool: &mut Pool, host: &mut Host) {
        if self.writers.get(id).life == Life::Queue {
            let page = self.writers.insert_page(id);
            self.write_pages(page, pool, host);
            self.free_writer(id, pool, host);
        } else {
            self.write_pages(id, pool, host);
        }
    }

    /// A checkpoint needs all that was written straight to be durable. True: these files are being synced, and an end of
    /// `Owner::Checkpoint` follows.
    pub(in super::super) fn sync_for_checkpoint(&mut self, pool: &mut Pool, host: &mut Host) -> bool {
        let files = std::mem::take(&mut self.unsynced_files);
        if files != 0 {
            let id = self.writers.insert_checkpoint(files);
            self.sync_next(id, pool, host);
        }
        files != 0
    }

    fn write_pages(&mut self, id: WriterId, pool: &Pool, host: &mut Host) {
        let writer = self.writers.get(id);
        if let Some(syncs) = &mut self.file_syncs {
            syncs.begin_pages(writer.chunk.len() as u64);
        }
        for (at, (_, frame)) in writer.chunk.iter().enumerate() {
            host.write_page(pool.page(*frame), Tag::Page { writer: id, at: at as u32 });
        }
        (writer.stage, writer.outstanding) = (Stage::Pages, writer.chunk.len() as u32);
    }

    /// A page is in its place: threads that wait for it go on.
    pub(in super::super) fn end_page(&mut self, id: WriterId, at: u32, pool: &mut Pool, host: &mut Host) {
        let writer = self.writers.get(id);
        let (batch, frame) = writer.chunk[at as usize];
        // Writes end mostly in the order of the chunk.
        if let Some((_, soon)) = writer.chunk.get(at as usize + 2 * WRITES_AHEAD) {
            pool.prefetch_write(*soon);
        }
        if let Some((_, sooner)) = writer.chunk.get(at as usize + WRITES_AHEAD) {
            pool.prefetch_write_neighbours(*sooner);
        }
        writer.outstanding -= 1;
        host.book(self.end_ns);
        let (over, syncs, lasts) = (writer.outstanding == 0, writer.doubles(), writer.life == Life::Queue);
        pool.end_write(frame);
        host.note_unsynced(1);
        self.batches.note_written(batch);
        if self.wakes_after_writes {
            self.batches.wake_after_writes(batch, host);
        }
        let kind = self.batches.kind(batch);
        self.counts.count(kind);
        if matches!(kind, Kind::Lru | Kind::Single(_)) {
            match self.frame_after_write {
                FrameAfterWrite::InPlace => {}
                FrameAfterWrite::Oldest => pool.make_oldest(frame),
                FrameAfterWrite::Free => {
                    pool.make_oldest(frame);
                    pool.evict_one(pool.instance_of(pool.page(frame)), 1);
                }
            }
        }
        host.wake_last_first(pool.take_waiters(frame));
        let quiet = match &mut self.file_syncs {
            Some(syncs) => syncs.end_page(u32::from(host.placement().file_of(pool.page(frame)) % 64)),
            None => Vec::new(),
        };
        if over && syncs && lasts && !self.doublewrite.waits_for_sync() {
            let sync = self.writers.insert_sync(id);
            self.end_chunk(id, pool, host);
            self.sync_next(sync, pool, host);
        } else if over && syncs {
            self.sync_next(id, pool, host);
        } else if over {
            self.end_chunk(id, pool, host);
        }
        quiet.into_iter().for_each(|writer| self.sync_next(writer, pool, host));
    }

    /// A batch that was written straight is in its places: its files are synced.
    pub(super) fn sync_batch(&mut self, id: WriterId, batch: BatchId, files: u64, pool: &mut Pool, host: &mut Host) {
        let writer = self.writers.get(id);
        (writer.ending, writer.files) = (Some(batch), files);
        writer.stage = Stage::Sync;
        if self.file_syncs.as_mut().is_none_or(|syncs| syncs.is_quiet(id)) {
            self.sync_next(id, pool, host);
        }
    }

    /// Syncs the next file; the chunk, or the batch, ends when all are.
    fn sync_next(&mut self, id: WriterId, pool: &mut Pool, host: &mut Host) {
        let writer = self.writers.get(id);
        if let Some(file) = writer.take_file() {
            writer.stage = Stage::Sync;
            writer.wanted = self.file_syncs.as_ref().map_or(0, |syncs| syncs.wanted(file));
            self.sync_file(id, pool, host);
        } else if let Some(batch) = writer.ending.take() {
            self.end_batch(batch, host);
            self.free_writer(id, pool, host);
        } else if writer.life == Life::Checkpoint {
            self.end_checkpoint_sync(id, pool, host);
        } else {
            self.end_chunk(id, pool, host);
        }
    }

    /// A writer's file is synced, unless another thread does that, or has done it.
    pub(in super::super) fn sync_file(&mut self, id: WriterId, pool: &mut Pool, host: &mut Host) {
        let writer = self.writers.get(id);
        match self.file_syncs.as_mut().map_or(Answer::Sync, |syncs| syncs.begin(writer.file, writer.wanted)) {
            Answer::Sync => host.begin_sync(Event::Sync(id)),
            Answer::Busy => host.schedule(host.now_ns() + LOOK_NS, Event::SyncAgain(id)),
            Answer::Durable => self.sync_next(id, pool, host),
        }
    }

    /// The host has done its part of a sync: now the devices.
    pub(in super::super) fn sync_devices(&mut self, id: WriterId, host: &mut Host) {
        let writer = self.writers.get(id);
        let devices = match writer.stage {
            Stage::Sync => host.placement().devices_of_file(writer.file),
            _ => 1 << self.device,
        };
        self.writers.get(id).outstanding = host.sync_devices(devices, Tag::Writer { writer: id });
    }

    /// A write to the doublewrite buffer, or a sync, ended.
    pub(in super::super) fn end_step(&mut self, id: WriterId, pool: &mut Pool, host: &mut Host) {
        let writer = self.writers.get(id);
        writer.outstanding -= 1;
        match writer.stage {
            _ if writer.outstanding > 0 => {}
            Stage::Doublewrite if !self.doublewrite.is_synced() => self.write_pages(id, pool, host),
            Stage::Doublewrite => {
                writer.stage = Stage::DoublewriteSync;
                host.begin_sync(Event::Sync(id));
            }
            Stage::DoublewriteSync => self.write_pages(id, pool, host),
            Stage::Sync => {
                let file = writer.file;
                if let Some(syncs) = &mut self.file_syncs {
                    syncs.end(file);
                }
                self.sync_next(id, pool, host);
            }
            Stage::Idle | Stage::Posting | Stage::Wal | Stage::Part | Stage::Pages => {
                unreachable!("nothing of the writer is under way")
            }
        }
    }

    /// A chunk is in its places: its batches go on.
    fn end_chunk(&mut self, id: WriterId, pool: &mut Pool, host: &mut Host) {
        let mut chunk = std::mem::take(&mut self.writers.get(id).chunk);
        let mut to_sync = None;
        for (batch, _) in chunk.drain(..) {
            let (kind, instance) = (self.batches.kind(batch), self.batches.instance_of(batch));
            match self.batches.end_page(batch) {
                Progress::UnderWay => {}
                Progress::Unsynced(files) => to_sync = Some((batch, files)),
                Progress::Done => self.end_batch(batch, host),
            }
            if kind == Kind::Lru && !self.wakes_after_writes {
                self.batches.wake_free_waiters(instance, host);
            }
        }
        self.writers.get(id).chunk = chunk;
        match to_sync {
            Some((batch, files)) => self.sync_batch(id, batch, files, pool, host),
            None => self.free_writer(id, pool, host),
        }
    }

    /// All files that a checkpoint has waited for are synced.
    fn end_checkpoint_sync(&mut self, id: WriterId, pool: &mut Pool, host: &mut Host) {
        self.ended.push_back(Ended { owner: Owner::Checkpoint, written: 0, skipped: false });
        self.free_writer(id, pool, host);
    }

    /// The next chunk begins: of this writer, and of the one that has waited for its part of the doublewrite buffer.
    fn free_writer(&mut self, id: WriterId, pool: &mut Pool, host: &mut Host) {
        let writer = self.writers.get(id);
        let (queue, life) = (writer.queue, writer.life);
        if let Some(next) = self.writers.release(id) {
            self.begin_chunk(next, pool, host);
        }
        if life == Life::Queue {
            self.fill_queue(queue, pool, host);
        }
    }
}
