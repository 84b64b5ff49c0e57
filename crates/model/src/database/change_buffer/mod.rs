//! The change buffer (insert buffer before 5.5): changes to leaf pages of secondary indexes that are not in memory wait in
//! a B-tree of their own (`tree.rs`), by page, until the page is read for another reason, or in the background.
//!
//! Its leaves are pages as others are, in the room behind all tables (the system tablespace), few and much used. Pages
//! above them and the bitmap pages are not touched. What purge would buffer is not modelled. The change buffer knows
//! no time and does no IO.

use flatwater_core::seed::splitmix;

use super::generation::Generation;
use super::ids::{PAGE_BYTES, PageNo, ThreadNo};
use super::settings::ChangeBuffering;
use super::spec::Spec;
use super::touches::{Entry, Touch, Touches};

mod page_set;
mod records;
mod room;
mod tree;

use records::{BYTES, ROOM_UNIT, VOLUME, VOLUME_MAX, record_bytes, redo_of, volume_of};
pub(super) use room::TABLE;
use room::WithRoom;
use tree::{LEAF_BYTES_MIN, Tree};

/// So many pages over its limit, a thread that adds a change merges others and waits; and so many over, nothing is added
/// (IBUF_CONTRACT_ON_INSERT_SYNC, IBUF_CONTRACT_DO_NOT_INSERT).
const OVER_SYNC: u64 = 5;
const OVER_STOP: u64 = 10;
/// Of all pages, the share that what may wait for pages of secondary indexes takes at most: 15 % of TPC-C's pages and 8 % of
/// sysbench's are of these, and hold up to `VOLUME_MAX` of entries, which is not half a page of records.
const SHARE_OF_PAGES: u32 = 16;
/// io_capacity's share, in percent, that is merged in the background (PCT_IO(5) of srv0srv.c).
const BACKGROUND_PCT: u64 = 5;

/// What the change buffer did in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Changes that went there, and pages that were merged.
    pub(super) buffered: u64,
    pub(super) merged: u64,
}

/// What follows when a change was put into the change buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Added {
    /// The new leaf, when one was split.
    pub(super) split: Option<Touch>,
    /// Pages that are to be merged, because there are too many leaves.
    pub(super) merge: Vec<PageNo>,
    /// The thread waits for their reads.
    pub(super) waits: bool,
}

/// The change buffer.
#[derive(Debug)]
pub(super) struct ChangeBuffer {
    inserts: bool,
    marks: bool,
    tree: Tree,
    /// The first of its pages, and how many it may have.
    first: u32,
    most: u64,
    seed: u64,
    merger: Merger,
    counts: Counts,
}

/// What merges pages for which nobody waits: InnoDB's IO threads, and the master thread.
#[derive(Debug)]
struct Merger {
    /// The thread that does it, and whether it has nothing to do.
    thread: ThreadNo,
    idle: bool,
    generation: Generation,
    io_capacity: u64,
    /// Requests to devices up to the last second.
    ios_at_second: u64,
}

impl ChangeBuffer {
    /// The change buffer of a server with so many frames in its pool; None when the server has none.
    pub(super) fn of_server(spec: &Spec, pages: u32, frames: u32) -> Option<Self> {
        let settings = &spec.settings;
        let most = u64::from(frames) * settings.innodb_change_buffer_max_size / 100;
        let most = most.min(u64::from(pages / SHARE_OF_PAGES));
        let merger = Merger {
            thread: ThreadNo::new(spec.connections),
            idle: true,
            generation: spec.generation,
            io_capacity: settings.innodb_io_capacity,
            ios_at_second: 0,
        };
        Self::new(settings.innodb_change_buffering, pages, most, spec.seed, merger)
    }

    /// An empty one for the pages below `first`, of `most` pages; None when it takes nothing.
    fn new(mode: ChangeBuffering, first: u32, most: u64, seed: u64, merger: Merger) -> Option<Self> {
        use ChangeBuffering::{All, Changes, Deletes, Inserts};
        let (inserts, marks) = (matches!(mode, Inserts | Changes | All), matches!(mode, Deletes | Changes | All));
        let seed = splitmix(seed ^ 0x6962_7566);
        let tree = || Tree::new(first, seed);
        let counts = Counts::default();
        (most > 0 && (inserts || marks)).then(|| Self {
            inserts,
            marks,
            tree: tree(),
            first,
            most,
            seed,
            merger,
            counts,
        })
    }

    /// The workload's touches, with room for the change buffer behind all tables.
    pub(super) fn behind(&self, touches: Box<dyn Touches>) -> Box<dyn Touches> {
        Box::new(WithRoom::new(touches, self.first, (self.most + OVER_STOP) as u32 + 1))
    }

    /// Pages that it has.
    pub(super) fn size(&self) -> u64 {
        self.tree.size()
    }

    /// The change to the change buffer in place of a change to a page that is not in memory; None when it takes none.
    #[inline]
    pub(super) fn divert(&self, touch: Touch) -> Option<Touch> {
        let takes = touch.entry != Entry::NONE && self.takes(touch.page.number(), touch.entry);
        takes.then(|| Touch::change(self.place_of(touch.page), redo_of(touch.entry)))
    }

    fn takes(&self, page: u32, entry: Entry) -> bool {
        if entry.inserts() && !self.inserts || entry.marks() && !self.marks || self.size() >= self.most + OVER_STOP {
            return false;
        }
        let waiting = self.tree.waiting_for(page);
        let fits = u32::from(waiting[BYTES]) + record_bytes(entry) < LEAF_BYTES_MIN;
        fits && u64::from(waiting[VOLUME]) + volume_of(entry) <= self.room_of(page)
    }

    /// The room of a page in the bitmap: pages that entries in any order have split are from half to all full.
    fn room_of(&self, page: u32) -> u64 {
        match splitmix(self.seed ^ u64::from(page)) % (PAGE_BYTES / 2) / ROOM_UNIT {
            0 => 0,
            1 => ROOM_UNIT,
            2 | 3 => 2 * ROOM_UNIT,
            _ => VOLUME_MAX,
        }
    }

    /// Its page where changes to a page wait.
    pub(super) fn place_of(&self, page: PageNo) -> PageNo {
        PageNo::new(self.tree.place_of(page.number()))
    }

    /// Prefetches what waits for a page, and where more of it would.
    #[inline]
    pub(super) fn prefetch(&self, page: PageNo) {
        self.tree.prefetch(page.number());
    }

    /// A thread has put the change of a touch into it.
    pub(super) fn add(&mut self, touch: Touch) -> Added {
        self.counts.buffered += 1;
        let split = self.tree.add(touch.page.number(), touch.entry, touch.redo);
        let split = split.map(|(page, moved)| Touch::create(PageNo::new(page), moved as u16));
        if self.size() < self.most {
            return Added { split, ..Added::default() };
        }
        let waits = self.size() >= self.most + OVER_SYNC;
        Added { split, merge: self.pick(), waits }
    }

    /// A page is in memory: the changes that waited for it, to the page and to the change buffer; None when none did.
    pub(super) fn merge(&mut self, page: PageNo) -> Option<[Touch; 2]> {
        let merge = self.tree.take(page.number())?;
        self.counts.merged += 1;
        Some([Touch::change(page, merge.redo), Touch::change(PageNo::new(merge.leaf), merge.leaf_redo)])
    }

    /// Pages that are to be merged next.
    pub(super) fn pick(&mut self) -> Vec<PageNo> {
        self.tree.pick().into_iter().map(PageNo::new).collect()
    }

    /// The thread that merges what nobody waits for.
    pub(super) const fn merger(&self) -> ThreadNo {
        self.merger.thread
    }

    /// There is something to merge for that thread. True: it had nothing to do before.
    pub(super) fn wake_merger(&mut self) -> bool {
        std::mem::take(&mut self.merger.idle)
    }

    /// A thread has done all that it had to do. True: it is the one that merges, and waits for more.
    pub(super) fn rest(&mut self, thread: ThreadNo) -> bool {
        let merges = thread == self.merger.thread;
        self.merger.idle |= merges;
        merges
    }

    /// Pages to be merged in the background in a second of the master thread, after so many requests to devices: 5.1 and
    /// 5.5 merge when hardly anything is read or written, and every ten seconds; 5.6 to 8.0 always, and more when it is half
    /// full (ibuf_merge_in_background). MariaDB 10.5 and later never do (MDEV-19514).
    pub(super) fn background_pages(&mut self, ten: bool, ios: u64) -> u64 {
        let (size, most) = (self.size(), self.most);
        self.merger.background_pages(ten, ios, size, most)
    }

    /// What the change buffer did in this interval.
    pub(super) const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A new interval begins.
    pub(super) fn begin_interval(&mut self) {
        self.counts = Counts::default();
    }
}

impl Merger {
    fn background_pages(&mut self, ten: bool, ios: u64, size: u64, most: u64) -> u64 {
        let done = ios - std::mem::replace(&mut self.ios_at_second, ios);
        let percent = if self.generation.is_mariadb() {
            0
        } else if self.generation.has_cleaner() {
            BACKGROUND_PCT + size.saturating_sub(most / 2) * 100 / (most + 1)
        } else if done == 0 {
            100
        } else if ten || done < self.io_capacity * BACKGROUND_PCT / 100 {
            BACKGROUND_PCT
        } else {
            0
        };
        self.io_capacity * percent / 100
    }
}

#[cfg(test)]
mod tests;
