//! Who writes the pages of batches, and how: through a doublewrite buffer, so that a page that a crash tears is still whole
//! somewhere, or straight to their places.
//!
//! Batches put their pages one by one into the chunk of a writer. The chunk goes out when it is full, or as soon as one
//! of its batches has no page left: what others have put in it by then goes along (buf_flush_buffered_writes). Until the
//! chunk is in its places and synced, nobody puts another page into it. So batches that share one buffer cut each other's
//! chunks short.

use std::collections::VecDeque;

use super::batches::Kind;
use super::log::Waiter;
use super::settings::{Generation, Settings};
use super::{Event, Innodb, PAGE_BYTES, Tag};
use crate::slab::Slab;
use crate::storage::Operation;

/// Pages of the shared buffer: two extents of the system tablespace (TRX_SYS_DOUBLEWRITE_BLOCK_SIZE = 64, twice); and of
/// each of MariaDB's two slots.
pub(super) const SHARED_PAGES: usize = 128;
/// Pages of one of its writes.
const BLOCK_PAGES: u64 = 64;
/// Pages of a chunk without doublewrite: the slots of one IO thread.
const DIRECT_PAGES: usize = 256;
/// Pages of a chunk of MySQL 8.0.20 and later where innodb_doublewrite_pages is 0 or absent: innodb_write_io_threads.
const FILE_PAGES: usize = 4;

/// What the end of a page's write needs is brought nearer so many pages before.
const WRITES_AHEAD: usize = 4;

/// How pages are made safe from being torn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doublewrite {
    /// Not at all.
    Off,
    /// One buffer for the whole server, held by one chunk from its first write to the sync of the data files: up to
    /// MySQL 8.0.19.
    Shared,
    /// Two buffers, one being filled while the other is written: MariaDB since 10.5.
    TwoSlots,
    /// Two files an instance, one for each kind of batch: MySQL since 8.0.20.
    Files,
}

impl Doublewrite {
    /// That of a server.
    pub(super) const fn of(generation: Generation, settings: &Settings) -> Self {
        match generation {
            _ if !settings.innodb_doublewrite => Self::Off,
            Generation::Mariadb1011 => Self::TwoSlots,
            Generation::Mysql80 => Self::Files,
            _ => Self::Shared,
        }
    }
}

/// Where a writer's chunk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
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
struct Writer {
    queue: u32,
    /// First byte of its doublewrite buffer on the device; None: it writes straight.
    place: Option<u64>,
    room: usize,
    stage: Stage,
    /// The pages, each with its batch.
    chunk: Vec<(u32, u32)>,
    /// A batch written straight whose files are being synced: it ends then.
    ending: Option<u32>,
    outstanding: u32,
    /// The last change of any of its pages.
    newest_lsn: u64,
    /// Files that are to be synced, a bit each.
    files: u64,
    /// The one that is being synced.
    file: u32,
    /// For one page of one batch.
    once: bool,
}

/// All writers of a server, and the batches that have pages for them.
#[derive(Debug)]
pub(super) struct Writers {
    kind: Doublewrite,
    writers: Slab<Writer>,
    /// Batches that have pages still, by queue; and the writers of each.
    queues: Vec<VecDeque<u32>>,
    of_queue: Vec<Vec<u32>>,
}

impl Writers {
    /// Those of a server, whose doublewrite buffers lie at `start` of the device.
    pub(super) fn new(kind: Doublewrite, settings: &Settings, instances: usize, start: u64) -> Self {
        let queues = if matches!(kind, Doublewrite::Shared | Doublewrite::TwoSlots) { 1 } else { 2 * instances };
        // Without doublewrite the next chunk is put together while the last one is written.
        let each = if matches!(kind, Doublewrite::TwoSlots | Doublewrite::Off) { 2 } else { 1 };
        let room = match kind {
            Doublewrite::Off => DIRECT_PAGES,
            Doublewrite::Shared | Doublewrite::TwoSlots => SHARED_PAGES,
            Doublewrite::Files if settings.innodb_doublewrite_pages == 0 => FILE_PAGES,
            Doublewrite::Files => (settings.innodb_doublewrite_pages as usize).min(SHARED_PAGES),
        };
        let mut writers = Slab::new();
        let mut of_queue = Vec::new();
        for queue in 0..queues {
            let own = (0..each).map(|slot| {
                let place = start + (queue * each + slot) as u64 * SHARED_PAGES as u64 * PAGE_BYTES;
                let place = (kind != Doublewrite::Off).then_some(place);
                writers.insert(Writer::new(queue as u32, place, room))
            });
            of_queue.push(own.collect());
        }
        Self { kind, writers, queues: vec![VecDeque::new(); queues], of_queue }
    }

    /// Bytes that its buffers take of the device.
    pub(super) fn reserved_bytes(&self) -> u64 {
        self.of_queue.iter().map(Vec::len).sum::<usize>() as u64 * SHARED_PAGES as u64 * PAGE_BYTES
    }

    /// Whether pages are written twice.
    pub(super) fn doubles(&self) -> bool {
        self.kind != Doublewrite::Off
    }

    fn queue(&self, instance: usize, kind: Kind) -> usize {
        if self.queues.len() == 1 { 0 } else { 2 * instance + usize::from(kind == Kind::Lru) }
    }
}

impl Writer {
    const fn new(queue: u32, place: Option<u64>, room: usize) -> Self {
        Self {
            queue,
            place,
            room,
            stage: Stage::Idle,
            chunk: Vec::new(),
            ending: None,
            outstanding: 0,
            newest_lsn: 0,
            files: 0,
            file: 0,
            once: false,
        }
    }
}

/// The writes (first byte, length) that `pages` take in a buffer at `start`.
fn buffer_writes(start: u64, pages: usize) -> impl Iterator<Item = (u64, u64)> {
    let pages = pages as u64;
    (0..pages.div_ceil(BLOCK_PAGES)).map(move |block| {
        let first = block * BLOCK_PAGES;
        (start + first * PAGE_BYTES, (pages - first).min(BLOCK_PAGES) * PAGE_BYTES)
    })
}

impl Innodb {
    /// A batch has pages.
    pub(super) fn enqueue(&mut self, batch: u32) {
        let (instance, kind) = (self.batches.get(batch).instance, self.batches.get(batch).kind);
        let queue = self.writers.queue(instance, kind);
        if kind == Kind::Single {
            // It has a slot of the buffer to itself (buf_dblwr_write_single_page).
            let place = self.writers.of_queue[queue].first().and_then(|first| self.writers.writers.get(*first).place);
            let own = Writer { once: true, ..Writer::new(queue as u32, place, 1) };
            let number = self.writers.writers.insert(own);
            self.fill(number, &mut VecDeque::from([batch]));
            return;
        }
        self.writers.queues[queue].push_back(batch);
        self.fill_queue(queue);
    }

    /// Fills the idle writers of a queue.
    fn fill_queue(&mut self, queue: usize) {
        let mut batches = std::mem::take(&mut self.writers.queues[queue]);
        for slot in 0..self.writers.of_queue[queue].len() {
            let number = self.writers.of_queue[queue][slot];
            while !batches.is_empty() && self.writers.writers.get(number).stage == Stage::Idle {
                self.fill(number, &mut batches);
            }
        }
        self.writers.queues[queue] = batches;
    }

    /// Lets batches put their pages into a writer's chunk, a page each in turn, until it is full or one of them has no
    /// more; and begins to write it.
    fn fill(&mut self, number: u32, batches: &mut VecDeque<u32>) {
        let writer = self.writers.writers.get(number);
        let (room, direct, once) = (writer.room, writer.place.is_none(), writer.once);
        let mut chunk = std::mem::take(&mut writer.chunk);
        let (mut newest_lsn, mut files, mut forced, mut ending) = (0, 0, false, None);
        while chunk.len() < room && !forced {
            let Some(batch) = batches.pop_front() else { break };
            if let Some(frame) = self.next_page(batch) {
                self.pool.begin_write(frame);
                newest_lsn = newest_lsn.max(self.pool.newest_lsn(frame));
                let file = 1 << (self.file_of(self.pool.page(frame)) % 64);
                chunk.push((batch, frame));
                let own = self.batches.get(batch);
                own.under_way += 1;
                own.left -= 1;
                // Written straight, files are synced when all pages of a batch are in them.
                *if direct { &mut own.unsynced } else { &mut files } |= file;
                if !once {
                    batches.push_back(batch);
                    continue;
                }
            }
            let own = self.batches.get(batch);
            own.chosen = true;
            forced = chunk.iter().any(|(other, _)| *other == batch);
            if own.under_way == 0 && own.unsynced == 0 {
                self.end_batch(batch);
            } else if own.under_way == 0 {
                ending = Some((batch, std::mem::take(&mut own.unsynced)));
                break;
            }
        }
        let is_empty = chunk.is_empty();
        let writer = self.writers.writers.get(number);
        (writer.chunk, writer.files, writer.newest_lsn) = (chunk, files, newest_lsn);
        if let Some((batch, files)) = ending {
            debug_assert!(is_empty, "one batch at a time is written straight");
            self.sync_batch(number, batch, files);
        } else if !is_empty {
            writer.stage = Stage::Posting;
            let posted_ns = self.post(number);
            self.events.push(posted_ns, Event::Posted(number));
        } else if once {
            self.writers.writers.remove(number);
        }
    }

    /// When the pages of a chunk are in it, with their checksums: each batch has a thread, which takes one after another.
    fn post(&mut self, number: u32) -> u64 {
        let mut chunk = std::mem::take(&mut self.writers.writers.get(number).chunk);
        chunk.sort_by_key(|(batch, _)| *batch);
        let mut posted_ns = self.now_ns;
        for pages in chunk.chunk_by(|one, next| one.0 == next.0) {
            let work_ns = self.spec.cpu.write_ns * pages.len() as u64;
            let end_ns = self.book(work_ns);
            let own = self.batches.get(pages[0].0);
            own.posted_ns = end_ns.max(own.posted_ns + work_ns);
            posted_ns = posted_ns.max(own.posted_ns);
        }
        self.writers.writers.get(number).chunk = chunk;
        posted_ns
    }

    /// The pages of a chunk are in it: they may go out when the log is durable up to them.
    pub(super) fn end_posting(&mut self, number: u32) {
        let writer = self.writers.writers.get(number);
        let newest_lsn = writer.newest_lsn;
        if newest_lsn > self.redo.durable {
            writer.stage = Stage::Wal;
            self.want_log(newest_lsn, Waiter::Writer(number));
        } else {
            self.write_chunk(number);
        }
    }

    /// The log is durable up to a chunk's pages.
    pub(super) fn write_chunk(&mut self, number: u32) {
        let writer = self.writers.writers.get(number);
        let pages = writer.chunk.len();
        let Some(place) = writer.place else {
            self.write_pages(number);
            return;
        };
        let mut writes = 0;
        for (offset, bytes) in buffer_writes(place, pages) {
            let device = self.placement.doublewrite.0;
            self.submit(device, Tag::Writer { writer: number }, Operation::Write, offset, bytes);
            writes += 1;
        }
        self.counts.doublewrite_pages += pages as u64;
        self.unsynced_pages += pages as u64;
        self.counts.doublewrite_writes += 1;
        let writer = self.writers.writers.get(number);
        (writer.stage, writer.outstanding) = (Stage::Doublewrite, writes);
    }

    fn write_pages(&mut self, number: u32) {
        let chunk = std::mem::take(&mut self.writers.writers.get(number).chunk);
        for (at, (_, frame)) in chunk.iter().enumerate() {
            let (device, offset) = self.placement.of_page(self.pool.page(*frame));
            self.submit(device, Tag::Page { writer: number, at: at as u32 }, Operation::Write, offset, PAGE_BYTES);
        }
        let writer = self.writers.writers.get(number);
        (writer.stage, writer.outstanding) = (Stage::Pages, chunk.len() as u32);
        writer.chunk = chunk;
    }

    /// A page is in its place.
    pub(super) fn end_page(&mut self, number: u32, at: u32) {
        let writer = self.writers.writers.get(number);
        let (batch, frame) = writer.chunk[at as usize];
        // Writes end mostly in the order of the chunk.
        if let Some((_, soon)) = writer.chunk.get(at as usize + 2 * WRITES_AHEAD) {
            self.pool.bring_write(*soon);
        }
        if let Some((_, sooner)) = writer.chunk.get(at as usize + WRITES_AHEAD) {
            self.pool.bring_write_neighbours(*sooner);
        }
        writer.outstanding -= 1;
        let (over, syncs) = (writer.outstanding == 0, writer.place.is_some());
        self.pool.end_write(frame);
        self.unsynced_pages += 1;
        let own = self.batches.get(batch);
        own.written += 1;
        let kind = own.kind;
        self.counts.count_flushed(kind);
        if matches!(kind, Kind::Lru | Kind::Single) {
            self.pool.make_oldest(frame);
            if self.spec.generation.has_cleaner() {
                self.pool.evict_one(self.pool.instance_of(self.pool.page(frame)), 1);
            }
        }
        self.wake_waiters_of(frame);
        if over && syncs {
            self.sync_next(number);
        } else if over {
            self.end_chunk(number);
        }
    }

    /// A batch that was written straight is in its places: its files are synced.
    fn sync_batch(&mut self, number: u32, batch: u32, files: u64) {
        let writer = self.writers.writers.get(number);
        (writer.ending, writer.files) = (Some(batch), files);
        self.sync_next(number);
    }

    /// Syncs the next file; the chunk, or the batch, ends when all are.
    fn sync_next(&mut self, number: u32) {
        let writer = self.writers.writers.get(number);
        if writer.files != 0 {
            writer.file = writer.files.trailing_zeros();
            writer.files &= writer.files - 1;
            writer.stage = Stage::Sync;
            self.sync(number);
        } else if let Some(batch) = writer.ending.take() {
            self.end_batch(batch);
            self.free_writer(number);
        } else {
            self.end_chunk(number);
        }
    }

    fn sync(&mut self, number: u32) {
        // The file system's journal is committed with the data before it, one commit after another.
        let pages = std::mem::take(&mut self.unsynced_pages);
        self.journal_free_ns = self.journal_free_ns.max(self.now_ns) + pages * self.spec.cpu.sync_page_ns;
        self.events.push(self.journal_free_ns + self.spec.cpu.fsync_ns, Event::Sync(number));
    }

    /// The host has done its part of a sync: now the device's.
    pub(super) fn sync_device(&mut self, number: u32) {
        let writer = self.writers.writers.get(number);
        let devices = match writer.stage {
            Stage::Sync => self.placement.devices_of_file(writer.file),
            _ => 1 << self.placement.doublewrite.0,
        };
        writer.outstanding = devices.count_ones();
        for device in (0..self.machine.devices.len()).filter(|device| devices >> device & 1 == 1) {
            self.submit(device, Tag::Writer { writer: number }, Operation::Flush, 0, 0);
        }
    }

    /// A write to the doublewrite buffer, or a sync, ended.
    pub(super) fn end_writer_step(&mut self, number: u32) {
        let writer = self.writers.writers.get(number);
        writer.outstanding -= 1;
        match writer.stage {
            _ if writer.outstanding > 0 => {}
            Stage::Doublewrite => {
                writer.stage = Stage::DoublewriteSync;
                self.sync(number);
            }
            Stage::DoublewriteSync => self.write_pages(number),
            Stage::Sync => self.sync_next(number),
            Stage::Idle | Stage::Posting | Stage::Wal | Stage::Pages => {
                unreachable!("nothing of the writer is under way")
            }
        }
    }

    /// A chunk is in its places: its batches go on.
    fn end_chunk(&mut self, number: u32) {
        let mut chunk = std::mem::take(&mut self.writers.writers.get(number).chunk);
        let mut to_sync = None;
        for (batch, _) in chunk.drain(..) {
            let own = self.batches.get(batch);
            own.under_way -= 1;
            let (kind, instance, over) = (own.kind, own.instance, own.chosen && own.under_way == 0);
            if over && own.unsynced != 0 {
                to_sync = Some((batch, std::mem::take(&mut own.unsynced)));
            } else if over {
                self.end_batch(batch);
            }
            if kind == Kind::Lru {
                self.wake_free_waiters(instance);
            }
        }
        self.writers.writers.get(number).chunk = chunk;
        match to_sync {
            Some((batch, files)) => self.sync_batch(number, batch, files),
            None => self.free_writer(number),
        }
    }

    /// The next chunk begins.
    fn free_writer(&mut self, number: u32) {
        let writer = self.writers.writers.get(number);
        writer.stage = Stage::Idle;
        let queue = writer.queue as usize;
        if writer.once {
            self.writers.writers.remove(number);
        } else {
            self.fill_queue(queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_out_in_two_blocks() {
        let writes = |pages| buffer_writes(1 << 20, pages).collect::<Vec<_>>();
        assert_eq!(writes(1), [(1 << 20, 16 << 10)]);
        assert_eq!(writes(64), [(1 << 20, 1 << 20)]);
        assert_eq!(writes(100), [(1 << 20, 1 << 20), (2 << 20, 36 * (16 << 10))]);
        assert_eq!(writes(128).iter().map(|(_, bytes)| bytes).sum::<u64>(), SHARED_PAGES as u64 * PAGE_BYTES);
    }
}
