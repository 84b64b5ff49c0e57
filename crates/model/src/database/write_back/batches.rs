//! Which pages are written: batches, each from one instance's flush list or from the end of its LRU list.

use std::ops::Range;

use flatwater_core::slab::Slab;

use super::super::events::Event;
use super::super::host::Host;
use super::super::ids::{BatchId, FrameId, PageNo, ThreadNo};
use super::super::pool::Pool;
use super::areas::{NO_PAGES, bits, neighbours};
use super::kind::{Ended, Kind, LruWay, Owner, Progress};

/// How much of the LRU list's end a batch searches for dirty pages.
const LRU_DEPTH: u32 = 2048;
/// How long a thread keeps its core at most, if others want it, too (Linux, sched_min_granularity_ns of eight cores); and
/// the pages for which a batch's thread takes it first, as it may soon have no page left.
const SLICE_NS: u64 = 3_000_000;
const FIRST_SLICE_PAGES: u64 = 8;
/// A thread for which nothing could be written tries again after this.
const PAUSE_NS: u64 = 1_000_000;

/// Pages of one instance.
#[derive(Debug)]
struct Batch {
    kind: Kind,
    instance: usize,
    /// Pages that it may still choose.
    left: u64,
    /// Of one for free frames that evicts clean pages itself: how it goes over the list.
    way: Option<LruWay>,
    /// Pages of an area that are to be looked at still.
    area: Range<PageNo>,
    /// Pages that are chosen and not written.
    under_way: u32,
    /// Pages that it has chosen, and those of them that are in their places.
    begun: u64,
    written: u64,
    /// It has no page left to choose.
    chosen: bool,
    /// Files that it has written straight and that are not synced, a bit each.
    unsynced: u64,
    /// When its thread has put all pages that it has chosen into chunks.
    posted_ns: u64,
    /// Of a batch whose pages go out one by one: pages for which its thread has the core still, and for how many it takes
    /// it next.
    in_slice: u64,
    slice_pages: u64,
    owner: Owner,
}

/// Which batches an instance has under way, and who waits for them.
#[derive(Debug, Default)]
struct Instance {
    list: Option<BatchId>,
    lru: Option<BatchId>,
    /// Threads that wait until nobody writes from the flush list.
    list_waiters: Vec<ThreadNo>,
    /// Threads that wait for a free page.
    free_waiters: Vec<ThreadNo>,
    /// A thread that searched the end of the LRU list found no clean page, and no batch has chosen its pages since
    /// (try_LRU_scan is false).
    none_clean: bool,
}

/// The batches of all instances.
#[derive(Debug)]
pub(super) struct Batches {
    batches: Slab<Batch, BatchId>,
    instances: Vec<Instance>,
    /// innodb_flush_neighbors.
    neighbours: u8,
    /// The LSN limit of a batch is for the last page of the flush list, which may be on its way, and not for the page that
    /// is chosen.
    limit_at_tail: bool,
}

impl Batches {
    /// No batches yet, in so many instances. `limit_at_tail`: `Generation::limits_batches_at_the_tail`.
    pub(super) fn new(instances: usize, neighbours: u8, limit_at_tail: bool) -> Self {
        let instances = (0..instances).map(|_| Instance::default()).collect();
        Self { batches: Slab::new(), instances, neighbours, limit_at_tail }
    }

    /// How many instances there are.
    pub(super) fn instances(&self) -> usize {
        self.instances.len()
    }

    /// Whether a batch of this kind is under way in an instance.
    pub(super) fn is_under_way(&self, instance: usize, kind: Kind) -> bool {
        let under_way = &self.instances[instance];
        if kind == Kind::Lru { under_way.lru.is_some() } else { under_way.list.is_some() }
    }

    /// Whether a batch for free frames has pages of an instance to choose still (init_flush).
    pub(super) fn is_choosing(&self, instance: usize) -> bool {
        self.instances[instance].lru.is_some_and(|id| !self.batches[id].chosen)
    }

    /// Starts a batch of at most so many pages; its instance must have none of its kind (but of single pages). `way`: of one
    /// for free frames that evicts clean pages itself.
    pub(super) fn start(
        &mut self,
        instance: usize,
        kind: Kind,
        pages: u64,
        way: Option<LruWay>,
        owner: Owner,
    ) -> BatchId {
        let id = self.batches.insert(Batch {
            kind,
            instance,
            left: pages,
            way,
            area: NO_PAGES,
            under_way: 0,
            begun: 0,
            written: 0,
            chosen: false,
            unsynced: 0,
            posted_ns: 0,
            in_slice: 0,
            slice_pages: FIRST_SLICE_PAGES,
            owner,
        });
        match kind {
            Kind::List { .. } => self.instances[instance].list = Some(id),
            Kind::Lru => self.instances[instance].lru = Some(id),
            Kind::Single(_) => {}
        }
        id
    }

    /// Whether a batch writes pages because frames are needed.
    pub(super) fn kind(&self, id: BatchId) -> Kind {
        self.batches[id].kind
    }

    /// The next page of a batch.
    pub(super) fn next_page(&mut self, id: BatchId, pool: &mut Pool) -> Option<FrameId> {
        let batch = &mut self.batches[id];
        while batch.left > 0 {
            if let Some(frame) = batch.next_of_area(pool) {
                return Some(frame);
            }
            let first = match (batch.kind, batch.way) {
                (Kind::Lru, Some(way)) => pool.next_of_batch(batch.instance, way.wanted, way.least),
                (Kind::Lru, None) => pool.dirty_at_end(batch.instance, LRU_DEPTH),
                (Kind::Single(frame), _) => Some(frame),
                (Kind::List { limit_lsn, .. }, _) => {
                    let tail_lsn = pool.oldest_lsn_in(batch.instance);
                    pool.oldest_dirty(batch.instance).filter(|frame| {
                        (if self.limit_at_tail { tail_lsn } else { pool.oldest_lsn_of(*frame) }) < limit_lsn
                    })
                }
            }?;
            // A single page goes alone, and a young page would not go along with itself.
            let alone = match batch.kind {
                Kind::Single(_) => true,
                Kind::Lru => !pool.is_old(first),
                Kind::List { .. } => false,
            };
            if self.neighbours == 0 || alone {
                return Some(first);
            }
            batch.area = neighbours(pool, pool.page(first), self.neighbours == 1);
        }
        // It may write no more. It goes over the list once again and evicts the pages that are written by now, up to the first
        // page that was changed again (buf_do_LRU_batch(0)).
        if let (Some(way), 0) = (batch.way, batch.left) {
            pool.begin_batch(batch.instance);
            pool.next_of_batch(batch.instance, way.wanted, way.least);
        }
        None
    }

    /// A page of a batch is on its way. `file`: the file to which it goes straight, as a bit; 0 when it does not.
    pub(super) fn begin_page(&mut self, id: BatchId, file: u64) {
        let batch = &mut self.batches[id];
        batch.under_way += 1;
        batch.begun += 1;
        batch.left -= 1;
        // Written straight, files are synced when all pages of a batch are in them.
        batch.unsynced |= file;
    }

    /// A batch has no page left to choose.
    pub(super) fn end_choice(&mut self, id: BatchId) -> Progress {
        let batch = &mut self.batches[id];
        batch.chosen = true;
        if !matches!(batch.kind, Kind::Single(_)) {
            self.instances[batch.instance].none_clean = false;
        }
        batch.progress()
    }

    /// The thread of a batch puts pages into a chunk, which takes so long and, with what its core did before, lasts to
    /// `end_ns`. Returns when they are in it.
    pub(super) fn post(&mut self, id: BatchId, work_ns: u64, end_ns: u64) -> u64 {
        let batch = &mut self.batches[id];
        batch.posted_ns = end_ns.max(batch.posted_ns + work_ns);
        batch.posted_ns
    }

    /// The thread of a batch prepares one page, which goes out alone. It has its core for several: it does not queue for it
    /// again after each page. Returns when the page is ready.
    pub(super) fn post_one(&mut self, id: BatchId, work_ns: u64, host: &mut Host) -> u64 {
        let batch = &mut self.batches[id];
        if batch.in_slice == 0 {
            let most = (SLICE_NS / work_ns.max(1)).max(1);
            // The page itself is no longer among those that are left.
            batch.in_slice = batch.slice_pages.min(most).min(batch.left.saturating_add(1));
            batch.slice_pages = (2 * batch.slice_pages).min(most);
            let end_ns = host.book(batch.in_slice * work_ns);
            batch.posted_ns = batch.posted_ns.max(end_ns - batch.in_slice * work_ns);
        }
        batch.in_slice -= 1;
        batch.posted_ns = batch.posted_ns.max(host.now_ns()) + work_ns;
        batch.posted_ns
    }

    /// A page of a batch is in its place.
    pub(super) fn note_written(&mut self, id: BatchId) {
        self.batches[id].written += 1;
    }

    /// A page of a batch is in its place, where nobody waits for the sync of another's batch: when it was the last one, those
    /// who wait for the batch go on.
    pub(super) fn wake_after_writes(&mut self, id: BatchId, host: &mut Host) {
        let batch = &self.batches[id];
        if !batch.chosen || batch.written < batch.begun {
            return;
        }
        let number = batch.instance;
        match batch.kind {
            Kind::List { .. } => {
                for thread in std::mem::take(&mut self.instances[number].list_waiters) {
                    self.wait_for_lists(thread, number + 1, host);
                }
            }
            Kind::Lru => self.wake_free_waiters(number, host),
            Kind::Single(_) => {}
        }
    }

    /// The chunk of a page is in its places. Returns where its batch is then.
    pub(super) fn end_page(&mut self, id: BatchId) -> Progress {
        let batch = &mut self.batches[id];
        batch.under_way -= 1;
        batch.progress()
    }

    /// The instance of a batch.
    pub(super) fn instance_of(&self, id: BatchId) -> usize {
        self.batches[id].instance
    }

    /// All pages of a batch are written, and synced.
    pub(super) fn end(&mut self, id: BatchId, host: &mut Host) -> Ended {
        let batch = self.batches.remove(id);
        let instance = &mut self.instances[batch.instance];
        match batch.kind {
            Kind::List { .. } => {
                instance.list = None;
                for thread in std::mem::take(&mut instance.list_waiters) {
                    self.wait_for_lists(thread, batch.instance + 1, host);
                }
            }
            Kind::Lru => {
                instance.lru = None;
                for thread in std::mem::take(&mut instance.free_waiters) {
                    go_on_after(thread, batch.written > 0, host);
                }
            }
            Kind::Single(_) => {}
        }
        Ended { owner: batch.owner, written: batch.written, skipped: false }
    }

    /// A thread waits until it has seen each instance from `first` on without a batch in its flush list
    /// (buf_flush_wait_batch_end).
    pub(super) fn wait_for_lists(&mut self, thread: ThreadNo, first: usize, host: &mut Host) {
        match self.instances[first..].iter_mut().find(|instance| instance.list.is_some()) {
            Some(instance) => instance.list_waiters.push(thread),
            None => go_on_after(thread, first > 0, host),
        }
    }

    /// A thread waits until a frame of an instance is free.
    pub(super) fn wait_for_free(&mut self, thread: ThreadNo, instance: usize) {
        self.instances[instance].free_waiters.push(thread);
    }

    /// Whether threads wait for free frames.
    pub(super) fn has_free_waiters(&self) -> bool {
        self.instances.iter().any(|instance| !instance.free_waiters.is_empty())
    }

    /// Whether a clean page may be at the end of an instance's LRU list.
    pub(super) fn may_be_clean(&self, instance: usize) -> bool {
        !self.instances[instance].none_clean
    }

    /// A thread has searched the end of an instance's LRU list and found no clean page (`clean`: false), or a batch had none
    /// to write there.
    pub(super) fn set_may_be_clean(&mut self, instance: usize, clean: bool) {
        self.instances[instance].none_clean = !clean;
    }

    /// Frames have become free: threads that want one look again.
    pub(super) fn wake_free_waiters(&mut self, instance: usize, host: &mut Host) {
        self.instances[instance].free_waiters.drain(..).for_each(|thread| host.wake(thread));
    }
}

impl Batch {
    /// The next page of its area that is dirty now.
    fn next_of_area(&mut self, pool: &Pool) -> Option<FrameId> {
        let (area, wanted) = (self.area.start.area(), bits(&self.area));
        let mut dirty = if wanted == 0 { 0 } else { pool.dirty_of_area(area) & wanted };
        while dirty != 0 {
            let page = area.page(dirty.trailing_zeros());
            self.area.start = PageNo::new(page.number() + 1);
            dirty &= dirty - 1;
            // Other batches come first: the next page can be prefetched meanwhile.
            if dirty != 0 {
                pool.prefetch_write(FrameId::new(area.page(dirty.trailing_zeros()).number()));
            }
            // A page that is written because frames are needed is evicted soon: young neighbours stay as they are
            // (buf_flush_try_neighbors).
            if let Some(frame) = pool.find(page)
                && (self.kind != Kind::Lru || pool.is_old(frame))
            {
                return Some(frame);
            }
        }
        self.area = NO_PAGES;
        None
    }

    fn progress(&mut self) -> Progress {
        if !self.chosen || self.under_way > 0 {
            Progress::UnderWay
        } else if self.unsynced > 0 {
            Progress::Unsynced(std::mem::take(&mut self.unsynced))
        } else {
            Progress::Done
        }
    }
}

/// A thread goes on, after a while if nothing was done for it.
fn go_on_after(thread: ThreadNo, done: bool, host: &mut Host) {
    if done {
        host.wake(thread);
    } else {
        host.schedule(host.now_ns() + PAUSE_NS, Event::Ready(thread));
    }
}

#[cfg(test)]
#[path = "batches_tests.rs"]
mod tests;
