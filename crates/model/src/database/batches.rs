//! Which pages are written: batches, each from one instance's flush list or from the end of its LRU list; and passes,
//! which go over the instances batch by batch.

use super::pool::AREA_PAGES;
use super::{Event, Innodb};

/// How much of the LRU list's end a batch searches for dirty pages.
const LRU_DEPTH: u32 = 2048;
/// A thread for which nothing could be written tries again after this.
const PAUSE_NS: u64 = 1_000_000;

/// Which pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Those whose first change is the oldest, before an LSN.
    List {
        /// The LSN.
        limit_lsn: u64,
        /// The log is near its limit.
        sync: bool,
    },
    /// Those at the end of the LRU list.
    Lru,
    /// One page at the end of the LRU list, which its thread writes by itself, past the batches.
    Single,
}

/// Who waits for the end of a batch or a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Nobody,
    Master,
    Cleaner,
    Thread(u32),
    Pass(u32),
}

/// Pages of one instance.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) kind: Kind,
    pub(super) instance: usize,
    /// Pages that it may still choose.
    pub(super) left: u64,
    /// Pages of an area that are to be looked at still.
    area: std::ops::Range<u32>,
    /// Pages that are chosen and not written.
    pub(super) under_way: u32,
    pub(super) written: u64,
    /// It has no page left to choose.
    pub(super) chosen: bool,
    /// Files that it has written straight and that are not synced, a bit each.
    pub(super) unsynced: u64,
    /// When its thread has done with the pages that it has chosen.
    pub(super) posted_ns: u64,
    owner: Owner,
}

/// A batch in one instance after another, as buf_flush_list goes over them; or in several at a time.
#[derive(Debug)]
pub(super) struct Pass {
    kind: Kind,
    /// Pages of each instance.
    each: u64,
    next: usize,
    /// How many instances at a time; and how many are under way.
    width: u32,
    under_way: u32,
    written: u64,
    /// Another batch was in an instance's list, so that it was left out.
    skipped: bool,
    owner: Owner,
}

/// Which batches an instance has under way, and who waits for them.
#[derive(Debug, Default)]
pub(super) struct Flushing {
    pub(super) list: Option<u32>,
    pub(super) lru: Option<u32>,
    /// Threads that wait until nobody writes from the flush list.
    list_waiters: Vec<u32>,
    /// Threads that wait for a free page.
    pub(super) free_waiters: Vec<u32>,
}

/// Pages of one area, a bit each.
const fn bits(pages: &std::ops::Range<u32>) -> u64 {
    if pages.start == pages.end {
        return 0;
    }
    let (first, last) = (pages.start % AREA_PAGES, (pages.end - 1) % AREA_PAGES);
    u64::MAX << first & u64::MAX >> (AREA_PAGES - 1 - last)
}

impl Innodb {
    /// Starts a pass over all instances. Its owner hears of its end, never before this returns.
    pub(super) fn start_pass(&mut self, kind: Kind, each: u64, width: u32, owner: Owner) {
        let pass = Pass { kind, each, next: 0, width: width.max(1), under_way: 0, written: 0, skipped: false, owner };
        let number = self.passes.insert(pass);
        self.run_pass(number);
    }

    /// Starts as many batches of a pass as it may have; ends it after the last.
    fn run_pass(&mut self, number: u32) {
        loop {
            let pass = self.passes.get(number);
            if pass.under_way == pass.width {
                return;
            }
            if pass.next == self.flushing.len() {
                if pass.under_way == 0 {
                    let pass = self.passes.remove(number);
                    self.over.push_back((pass.owner, pass.written, pass.skipped));
                }
                return;
            }
            let (instance, kind, each) = (pass.next, pass.kind, pass.each);
            pass.next += 1;
            let own = &self.flushing[instance];
            if if kind == Kind::Lru { own.lru } else { own.list }.is_some() {
                pass.skipped = true;
                continue;
            }
            let pages = if kind == Kind::Lru { self.lru_pages_wanted(instance, each) } else { each };
            if pages > 0 {
                self.passes.get(number).under_way += 1;
                self.start_batch(instance, kind, pages, Owner::Pass(number));
            }
        }
    }

    /// Starts a batch; its instance must have none of its kind (but of single pages).
    pub(super) fn start_batch(&mut self, instance: usize, kind: Kind, pages: u64, owner: Owner) {
        let batch = Batch {
            kind,
            instance,
            left: pages,
            area: 0..0,
            under_way: 0,
            written: 0,
            chosen: false,
            unsynced: 0,
            posted_ns: 0,
            owner,
        };
        let number = self.batches.insert(batch);
        match kind {
            Kind::List { .. } => self.flushing[instance].list = Some(number),
            Kind::Lru => self.flushing[instance].lru = Some(number),
            Kind::Single => {}
        }
        self.enqueue(number);
    }

    /// The next page of a batch.
    pub(super) fn next_page(&mut self, number: u32) -> Option<u32> {
        let batch = self.batches.get(number);
        while batch.left > 0 {
            // Of those that are still to be looked at, the pages that are dirty now.
            let (area, asked) = (batch.area.start / AREA_PAGES, bits(&batch.area));
            let dirty = if asked == 0 { 0 } else { self.pool.dirty_of_area(area) & asked };
            if dirty != 0 {
                let page = area * AREA_PAGES + dirty.trailing_zeros();
                batch.area.start = page + 1;
                // Other batches come first: the one after this one can be brought meanwhile.
                let next = dirty & (dirty - 1);
                if next != 0 {
                    self.pool.bring_write(area * AREA_PAGES + next.trailing_zeros());
                }
                // What is written for its frame's sake is evicted soon: young neighbours stay as they are
                // (buf_flush_try_neighbors).
                match self.pool.find(page) {
                    Some(frame) if batch.kind != Kind::Lru || self.pool.is_old(frame) => return Some(frame),
                    _ => continue,
                }
            }
            batch.area = 0..0;
            let first = match batch.kind {
                Kind::Lru => self.pool.dirty_at_end(batch.instance, LRU_DEPTH),
                Kind::Single => self.pool.dirty_at_end(batch.instance, u32::MAX),
                Kind::List { limit_lsn, .. } => {
                    let oldest = self.pool.oldest_dirty(batch.instance);
                    oldest.filter(|frame| self.pool.oldest_lsn_of(*frame) < limit_lsn)
                }
            }?;
            let page = self.pool.page(first);
            let from = page / AREA_PAGES * AREA_PAGES;
            match self.spec.settings.innodb_flush_neighbors {
                0 => return Some(first),
                _ if batch.kind == Kind::Single => return Some(first),
                // A young page would not go along with itself.
                _ if batch.kind == Kind::Lru && !self.pool.is_old(first) => return Some(first),
                1 => {
                    // Those on both sides without a gap (innodb_flush_neighbors since 5.6).
                    let (dirty, at) = (self.pool.dirty_of_area(from / AREA_PAGES), page - from);
                    let below = (!dirty & bits(&(0..at))).checked_ilog2().map_or(0, |gap| gap + 1);
                    let above = (!dirty & !bits(&(0..at))).trailing_zeros();
                    batch.area = from + below..from.saturating_add(above);
                }
                _ => batch.area = from..from.saturating_add(AREA_PAGES),
            }
        }
        None
    }

    /// All pages of a batch are written, and synced.
    pub(super) fn end_batch(&mut self, number: u32) {
        let batch = self.batches.remove(number);
        let own = &mut self.flushing[batch.instance];
        match batch.kind {
            Kind::List { .. } => {
                own.list = None;
                let waiters = std::mem::take(&mut own.list_waiters);
                for thread in waiters {
                    self.wait_for_lists(thread, batch.instance + 1);
                }
            }
            Kind::Lru => {
                own.lru = None;
                let waiters = std::mem::take(&mut own.free_waiters);
                for thread in waiters {
                    self.go_on_after(thread, batch.written > 0);
                }
            }
            Kind::Single => {}
        }
        self.over.push_back((batch.owner, batch.written, false));
    }

    /// Tells those who waited for batches and passes that have ended.
    pub(super) fn tell_owners(&mut self) {
        while let Some((owner, written, skipped)) = self.over.pop_front() {
            match owner {
                Owner::Nobody => {}
                Owner::Master => self.go_on_as_master(),
                Owner::Cleaner => self.go_on_as_cleaner(),
                Owner::Thread(thread) => self.after_flushing(thread, written, skipped),
                Owner::Pass(pass) => {
                    let own = self.passes.get(pass);
                    own.under_way -= 1;
                    own.written += written;
                    self.run_pass(pass);
                }
            }
        }
    }

    /// A thread goes on, after a while if nothing was done for it.
    pub(super) fn go_on_after(&mut self, thread: u32, done: bool) {
        if done {
            self.ready.push_back(thread);
        } else {
            self.events.push(self.now_ns + PAUSE_NS, Event::Ready(thread));
        }
    }

    /// A thread waits until it has seen each instance from `first` on without a batch in its flush list
    /// (buf_flush_wait_batch_end).
    pub(super) fn wait_for_lists(&mut self, thread: u32, first: usize) {
        match self.flushing[first..].iter_mut().find(|own| own.list.is_some()) {
            Some(own) => own.list_waiters.push(thread),
            None => self.go_on_after(thread, first > 0),
        }
    }

    /// Pages have become free: those that want one look again.
    pub(super) fn wake_free_waiters(&mut self, instance: usize) {
        self.ready.extend(self.flushing[instance].free_waiters.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_a_page() {
        for (first, end) in [(0, 0), (0, 64), (64, 128), (67, 71), (127, 128), (128, 128), (130, 191)] {
            let expected: u64 = (first..end).map(|page| 1 << (page % AREA_PAGES)).sum();
            assert_eq!(bits(&(first..end)), expected, "{first}..{end}");
        }
    }
}
