//! How dirty pages get into their files: batches choose them, passes go over the instances batch by batch, and writers
//! write them, through a doublewrite buffer or straight to their places.
//!
//! Batches put their pages one by one into the chunk of a writer. The chunk goes out when it is full, or as soon as one
//! of its batches has no page left: what others have put in it by then goes along (buf_flush_buffered_writes). Until the
//! chunk is in its places and synced, nobody puts another page into it. So batches that share one buffer cut each other's
//! chunks short.
//!
//! Without a doublewrite buffer there are no chunks: a page goes to its place as soon as its thread has prepared it, while
//! the thread takes the next one (buf_flush_write_block_low).

use std::collections::VecDeque;

use super::events::Event;
use super::generation::FrameAfterWrite;
use super::host::Host;
use super::ids::{BatchId, Lsn, PAGE_BYTES, PassId, ThreadNo, WriterId};
use super::pool::Pool;
use super::spec::Spec;

mod areas;
mod batches;
mod chunks;
mod doublewrite;
mod file_syncs;
mod kind;
mod passes;
mod writers;

use batches::Batches;
pub(super) use doublewrite::{Doublewrite, SHARED_PAGES};
use file_syncs::FileSyncs;
pub(super) use kind::{Ended, Kind, Owner};
use kind::{LruWay, Progress};
use passes::{Next, Passes};
use writers::{Life, Stage, Writers};

/// Of the CPU time of a page written, the share of the thread that writes the batch (checksum, copy, the way into the
/// kernel); the threads that end requests have the rest, beside it. Measured on a MySQL 5.5.9, thread by thread: 23 of
/// 44 us.
const WRITER_SHARE: (u64, u64) = (23, 44);

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Pages since the beginning; of these, those for free frames, and those that a policy asked for.
    pub(super) flushed: u64,
    pub(super) flushed_lru: u64,
    pub(super) flushed_background: u64,
    /// Pages of this interval: for a policy, because the log was at its limit, and for free frames.
    pub(super) adaptive: u64,
    pub(super) sync: u64,
    pub(super) lru: u64,
    /// Pages that went to the doublewrite buffer in this interval, and the chunks in which they did.
    pub(super) doublewrite_pages: u64,
    pub(super) doublewrite_writes: u64,
}

impl Counts {
    const fn count(&mut self, kind: Kind) {
        self.flushed += 1;
        match kind {
            Kind::List { sync: false, .. } => {
                self.flushed_background += 1;
                self.adaptive += 1;
            }
            Kind::List { sync: true, .. } => self.sync += 1,
            Kind::Lru | Kind::Single(_) => {
                self.flushed_lru += 1;
                self.lru += 1;
            }
        }
    }
}

/// Batches for free frames leave a list of so many pages alone (BUF_LRU_MIN_LEN). MariaDB: or of a twentieth of a small pool.
const LRU_MIN_LEN: u64 = 256;

/// The length of an LRU list that batches for free frames leave alone.
fn lru_least(spec: &Spec) -> u64 {
    let frames = spec.settings.innodb_buffer_pool_size / PAGE_BYTES;
    if spec.generation.is_mariadb() { LRU_MIN_LEN.min((frames / 20).saturating_sub(1)) } else { LRU_MIN_LEN }
}

/// The write-back of a server.
#[derive(Debug)]
pub(super) struct WriteBack {
    batches: Batches,
    passes: Passes,
    writers: Writers,
    doublewrite: Doublewrite,
    /// The device of the doublewrite buffer.
    device: usize,
    /// Files that were written straight since the last checkpoint began to sync them, a bit each.
    unsynced_files: u64,
    /// CPU time of a page, ns: of the thread that writes its batch, and of those that end requests.
    writer_ns: u64,
    end_ns: u64,
    /// The length under which batches for free frames leave an LRU list alone.
    lru_least: u64,
    /// Most pages of such a batch, in servers where it evicts clean pages on its way over the list. Elsewhere it does so before
    /// its first page is written.
    lru_most: Option<u64>,
    /// Pages of one of the batches in which it goes over the list.
    lru_chunk: u64,
    /// What becomes of a page that was written for its frame.
    frame_after_write: FrameAfterWrite,
    /// The data files, in servers whose threads sync them in turn.
    file_syncs: Option<FileSyncs>,
    /// Those who wait for a batch wait for the writes of all its pages, and not for their sync.
    wakes_after_writes: bool,
    /// Batches and passes that have ended, whose owners are to be told.
    ended: VecDeque<Ended>,
    counts: Counts,
}

impl WriteBack {
    /// The write-back of a server with so many instances of the pool, whose doublewrite buffer is at this place of a device.
    pub(super) fn new(spec: &Spec, instances: usize, (device, start): (usize, u64)) -> Self {
        let (generation, settings) = (spec.generation, &spec.settings);
        let doublewrite = Doublewrite::of_server(generation, settings);
        let writer_ns = spec.cpu.write_ns * WRITER_SHARE.0 / WRITER_SHARE.1;
        Self {
            batches: Batches::new(instances, settings.innodb_flush_neighbors, generation.limits_batches_at_the_tail()),
            passes: Passes::new(),
            writers: Writers::new(doublewrite, settings, instances, start),
            doublewrite,
            device,
            unsynced_files: 0,
            writer_ns,
            end_ns: spec.cpu.write_ns - writer_ns,
            lru_least: lru_least(spec),
            lru_most: generation.is_mariadb().then(|| settings.innodb_io_capacity_max.max(1)),
            lru_chunk: generation.lru_chunk_pages(),
            frame_after_write: generation.frame_after_write(),
            file_syncs: generation.syncs_files_in_turn().then(FileSyncs::new),
            wakes_after_writes: generation.waits_for_writes_only(),
            ended: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// Whether pages are written twice.
    pub(super) const fn doubles(&self) -> bool {
        self.doublewrite.doubles()
    }

    /// Whether a batch for free frames is under way in an instance.
    pub(super) fn is_freeing(&self, instance: usize) -> bool {
        self.batches.is_under_way(instance, Kind::Lru)
    }

    /// Whether a batch for free frames has pages of an instance to choose still.
    pub(super) fn is_choosing(&self, instance: usize) -> bool {
        self.batches.is_choosing(instance)
    }

    /// Whether a clean page may be at the end of an instance's LRU list.
    pub(super) fn may_be_clean(&self, instance: usize) -> bool {
        self.batches.may_be_clean(instance)
    }

    /// A thread has searched the end of an instance's LRU list and found no clean page.
    pub(super) fn note_none_clean(&mut self, instance: usize) {
        self.batches.set_may_be_clean(instance, false);
    }

    /// A thread waits until a frame of an instance is free.
    pub(super) fn wait_for_free(&mut self, thread: ThreadNo, instance: usize) {
        self.batches.wait_for_free(thread, instance);
    }

    /// Whether threads wait for free frames.
    pub(super) fn has_free_waiters(&self) -> bool {
        self.batches.has_free_waiters()
    }

    /// A thread waits until no batch is in any flush list.
    pub(super) fn wait_for_lists(&mut self, thread: ThreadNo, host: &mut Host) {
        self.batches.wait_for_lists(thread, 0, host);
    }

    /// Starts a pass over all instances, `width` at a time, of `each` pages of every instance. Its end is told by
    /// `next_ended`, never before this returns.
    pub(super) fn start_pass(
        &mut self,
        kind: Kind,
        each: u64,
        width: u32,
        owner: Owner,
        pool: &mut Pool,
        host: &mut Host,
    ) {
        let rounds = if kind == Kind::Lru { each.div_ceil(self.lru_chunk).max(1) } else { 1 };
        let pass = self.passes.start(kind, each, rounds, width, owner);
        self.run_pass(pass, pool, host);
    }

    /// Starts as many batches of a pass as it may have; ends it after the last.
    fn run_pass(&mut self, pass: PassId, pool: &mut Pool, host: &mut Host) {
        loop {
            let (instance, kind, each) = match self.passes.next(pass, self.batches.instances()) {
                Next::Wait => return,
                Next::End(ended) => return self.ended.push_back(ended),
                Next::Start { instance, kind, each } => (instance, kind, each),
            };
            if self.batches.is_under_way(instance, kind) {
                self.passes.skip(pass);
                continue;
            }
            let pages = if kind == Kind::Lru && self.lru_most.is_none() {
                self.free_frames(instance, each, pool, host)
            } else {
                each
            };
            if pages > 0 {
                self.passes.begin_batch(pass);
                self.start_batch(instance, kind, pages, Owner::Pass(pass), pool, host);
            } else {
                self.batches.set_may_be_clean(instance, true);
            }
        }
    }

    /// Goes over the pages at the end of an instance's LRU list: it evicts clean ones until `depth` frames are free. Returns
    /// how many dirty ones it passed, a chunk at most. All of these are written, and not only as many as are still wanted:
    /// the server starts their writes while it goes (buf_flush_LRU_list_batch).
    fn free_frames(&mut self, instance: usize, depth: u64, pool: &mut Pool, host: &mut Host) -> u64 {
        let above_least = pool.data_of(instance).saturating_sub(self.lru_least);
        let scan = u32::try_from(above_least.min(depth)).unwrap_or(u32::MAX);
        let dirty = pool.evict_to(instance, depth, scan, self.lru_chunk);
        if pool.free_of(instance) > 0 {
            self.batches.wake_free_waiters(instance, host);
        }
        dirty
    }

    /// Starts a batch of so many pages; its instance must have none of its kind (but of single pages). A batch for free frames
    /// that evicts clean pages itself ends when so many frames are free.
    pub(super) fn start_batch(
        &mut self,
        instance: usize,
        kind: Kind,
        pages: u64,
        owner: Owner,
        pool: &mut Pool,
        host: &mut Host,
    ) {
        let (way, most) = match self.lru_most {
            Some(most) if kind == Kind::Lru => {
                pool.begin_batch(instance);
                (Some(LruWay { wanted: pages, least: self.lru_least }), most)
            }
            _ => (None, pages),
        };
        let batch = self.batches.start(instance, kind, most, way, owner);
        let queue = self.writers.queue(instance, kind);
        if matches!(kind, Kind::Single(_)) {
            let writer = self.writers.insert_single(queue, !self.doubles());
            self.fill(writer, &mut VecDeque::from([batch]), pool, host);
        } else {
            self.writers.enqueue(queue, batch);
            self.fill_queue(queue, pool, host);
        }
    }

    /// Fills the idle writers of a queue.
    fn fill_queue(&mut self, queue: usize, pool: &mut Pool, host: &mut Host) {
        let mut batches = self.writers.take_batches(queue);
        let mut slot = 0;
        while let Some(writer) = self.writers.of_queue(queue, slot) {
            while !batches.is_empty() && self.writers.get(writer).stage == Stage::Idle {
                self.fill(writer, &mut batches, pool, host);
            }
            slot += 1;
        }
        self.writers.put_batches(queue, batches);
    }

    /// Lets batches put their pages into a writer's chunk, a page each in turn, until it is full or one of them has no
    /// more; and begins to write it.
    fn fill(&mut self, id: WriterId, batches: &mut VecDeque<BatchId>, pool: &mut Pool, host: &mut Host) {
        let writer = self.writers.get(id);
        let (room, direct, single) = (writer.room, !writer.doubles(), writer.life == Life::Single);
        let at_end = self.doublewrite == Doublewrite::Off;
        let mut chunk = std::mem::take(&mut writer.chunk);
        let (mut newest_lsn, mut files, mut forced, mut ending) = (Lsn::ZERO, 0, false, None);
        while chunk.len() < room && !forced {
            let Some(batch) = batches.pop_front() else { break };
            let next = self.batches.next_page(batch, pool);
            self.wake_for_evicted(batch, pool, host);
            if let Some(frame) = next {
                pool.begin_write(frame);
                newest_lsn = newest_lsn.max(pool.newest_lsn(frame));
                let file = 1 << (host.placement().file_of(pool.page(frame)) % 64);
                chunk.push((batch, frame));
                self.batches.begin_page(batch, if at_end { file } else { 0 });
                self.unsynced_files |= if direct && !at_end { file } else { 0 };
                files |= if direct { 0 } else { file };
                if !single {
                    batches.push_back(batch);
                    continue;
                }
            }
            forced = chunk.iter().any(|(other, _)| *other == batch);
            match self.batches.end_choice(batch) {
                Progress::UnderWay => {}
                Progress::Done => self.end_batch(batch, host),
                Progress::Unsynced(files) => {
                    ending = Some((batch, files));
                    break;
                }
            }
        }
        let is_empty = chunk.is_empty();
        let writer = self.writers.get(id);
        (writer.chunk, writer.files, writer.newest_lsn) = (chunk, files, newest_lsn);
        if let Some((batch, files)) = ending {
            debug_assert!(is_empty, "one batch at a time is written straight");
            self.sync_batch(id, batch, files, pool, host);
        } else if !is_empty {
            writer.stage = Stage::Posting;
            let posted_ns = self.post(id, host);
            host.schedule(posted_ns, Event::Posted(id));
        } else {
            self.writers.release(id);
        }
    }

    /// Threads that wait for a frame go on, if a batch has evicted pages on its way (buf_LRU_block_free_non_file_page).
    fn wake_for_evicted(&mut self, batch: BatchId, pool: &Pool, host: &mut Host) {
        let instance = self.batches.instance_of(batch);
        if self.lru_most.is_some() && pool.free_of(instance) > 0 {
            self.batches.wake_free_waiters(instance, host);
        }
    }

    /// When the pages of a chunk are in it, with their checksums: each batch has a thread, which takes one after another.
    fn post(&mut self, id: WriterId, host: &mut Host) -> u64 {
        let one_by_one = !self.doubles();
        let chunk = &mut self.writers.get(id).chunk;
        if one_by_one {
            return self.batches.post_one(chunk[0].0, self.writer_ns, host);
        }
        chunk.sort_by_key(|(batch, _)| *batch);
        let mut posted_ns = host.now_ns();
        for pages in chunk.chunk_by(|one, next| one.0 == next.0) {
            let work_ns = self.writer_ns * pages.len() as u64;
            posted_ns = posted_ns.max(self.batches.post(pages[0].0, work_ns, host.book(work_ns)));
        }
        posted_ns
    }

    /// All pages of a batch are written, and synced.
    fn end_batch(&mut self, batch: BatchId, host: &mut Host) {
        let ended = self.batches.end(batch, host);
        self.ended.push_back(ended);
    }

    /// Takes the next batch or pass that has ended, whose owner is no pass.
    pub(super) fn next_ended(&mut self, pool: &mut Pool, host: &mut Host) -> Option<Ended> {
        loop {
            let ended = self.ended.pop_front()?;
            let Owner::Pass(pass) = ended.owner else { return Some(ended) };
            self.passes.end_batch(pass, ended.written);
            self.run_pass(pass, pool, host);
        }
    }

    /// A page was written in the warm-up. Returns how many were before it.
    pub(super) const fn note_warm_write(&mut self) -> u64 {
        self.counts.flushed += 1;
        self.counts.flushed - 1
    }

    /// What was written.
    pub(super) const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A new interval begins.
    pub(super) fn begin_interval(&mut self) {
        let Counts { flushed, flushed_lru, flushed_background, .. } = self.counts;
        self.counts = Counts { flushed, flushed_lru, flushed_background, ..Counts::default() };
    }
}

#[cfg(test)]
mod tests;
