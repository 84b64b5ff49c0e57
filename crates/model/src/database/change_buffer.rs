//! The change buffer (insert buffer before 5.5): changes to leaf pages of secondary indexes that are not in memory wait in
//! a B-tree of their own, by page, until the page is read for another reason, or in the background.
//!
//! Its leaves are pages as others are, in the room behind all tables (the system tablespace), few and much used. Pages
//! above them and the bitmap pages are not touched. What purge would buffer is not modelled, as purge is not.

use flatwater_core::interval::Kind;
use flatwater_core::seed::splitmix;

use super::page_set::PageSet;
use super::pool::PAGE_BYTES;
use super::settings::{ChangeBuffering, Generation};
use super::touches::{Entry, Touch, Touches};
use super::{Innodb, Spec};
use crate::large::{self, near};

/// What a leaf of it holds.
const LEAF_BYTES: u32 = PAGE_BYTES as u32 - 200;
/// A leaf with less goes to its neighbour, if both fit on one page (BTR_CUR_PAGE_COMPRESS_LIMIT).
const LEAF_BYTES_MIN: u32 = LEAF_BYTES / 2;
/// Around a record's entry: tablespace, marker, page (9), counter and types of four fields (4 + 4 x 6), its header (6) and
/// the ends of its fields, less the entry's own header (ibuf_entry_build).
const AROUND_BYTES: u64 = 50;
/// Redo of a record's insertion and of its removal, around it: as of other rows.
const REDO_ROW: u16 = 20;
/// What the bitmap counts the room of a page in (IBUF_PAGE_SIZE_PER_FREE_SPACE).
const ROOM_UNIT: u64 = PAGE_BYTES / 32;
/// Most that waits for a page, of inserted entries: the bitmap tells no more room, and one byte of the page's directory
/// goes with each.
const VOLUME_MAX: u64 = 4 * ROOM_UNIT;
const VOLUME_AROUND: u64 = 1;
/// Pages that are merged together: of eight neighbours, those for which three quarters of the most wait (IBUF_MERGE_AREA,
/// IBUF_MERGE_THRESHOLD).
const MERGE_AREA: u32 = 8;
const MERGE_VOLUME: u16 = (VOLUME_MAX / 4 * 3) as u16;
/// So many pages over its limit, a thread that adds a change merges others and waits; and so many over, nothing is added
/// (IBUF_CONTRACT_ON_INSERT_SYNC, IBUF_CONTRACT_DO_NOT_INSERT).
const OVER_SYNC: u64 = 5;
const OVER_STOP: u64 = 10;
/// Of all pages, the share that what may wait for pages of secondary indexes takes at most: 15 % of TPC-C's pages and 8 % of
/// sysbench's are of these, and hold up to `VOLUME_MAX` of entries, which is not half a page of records.
const SHARE_OF_PAGES: u32 = 16;
/// io_capacity's share, in percent, that is merged in the background (PCT_IO(5) of srv0srv.c).
const BACKGROUND_PCT: u64 = 5;

/// What waits for a page: as an array, so that those of pages for which nothing ever waited take no memory.
type Waiting = [u16; 4];
/// Records, and bytes of them in the change buffer; bytes that they will take of their page; redo of the changes to it, or
/// as much of that as a touch can have.
const RECORDS: usize = 0;
const BYTES: usize = 1;
const VOLUME: usize = 2;
const REDO: usize = 3;

/// What a page's merge does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Merge {
    /// Redo of the page itself.
    redo: u16,
    /// The change buffer's page from which the records go, and the redo of that.
    leaf: u32,
    leaf_redo: u16,
}

/// The change buffer. It knows no time and does no IO.
#[derive(Debug)]
pub(super) struct ChangeBuffer {
    inserts: bool,
    marks: bool,
    /// Its first page, and how many it may have.
    first: u32,
    most: u64,
    /// What waits for each page, and the pages for which something does.
    waiting: Vec<Waiting>,
    pages: PageSet,
    /// The first page for which changes may be in each leaf, and by that page the leaf's number.
    leaves: PageSet,
    numbers: Vec<u32>,
    /// Bytes of each leaf by its number.
    bytes: Vec<u32>,
    /// That first page of each leaf by its number; None: the page is free.
    firsts: Vec<Option<u32>>,
    free: Vec<u32>,
    seed: u64,
    draws: u64,
    /// The thread that merges what nobody waits for (InnoDB's IO threads), and whether it has nothing to do.
    merger: u32,
    idle: bool,
    ios_at_second: u64,
    /// In this interval.
    pub(super) buffered: u64,
    pub(super) merged: u64,
}

impl ChangeBuffer {
    /// That of a server with a pool of so many frames; None when it has none.
    pub(super) fn of_server(spec: &Spec, pages: u32, frames: u32) -> Option<Self> {
        use ChangeBuffering::{All, Changes, Deletes, Inserts};
        let settings = &spec.settings;
        let mode = settings.innodb_change_buffering;
        let most = u64::from(frames) * settings.innodb_change_buffer_max_size / 100;
        let most = most.min(u64::from(pages / SHARE_OF_PAGES));
        let (inserts, marks) = (matches!(mode, Inserts | Changes | All), matches!(mode, Deletes | Changes | All));
        ((inserts || marks) && most > 0).then(|| Self::new(inserts, marks, pages, most, spec.seed, spec.connections))
    }

    fn new(inserts: bool, marks: bool, first: u32, most: u64, seed: u64, merger: u32) -> Self {
        let mut leaves = PageSet::new(first);
        leaves.insert(0);
        Self {
            inserts,
            marks,
            first,
            most,
            waiting: large::zeros(vec![Waiting::default(); first as usize]),
            pages: PageSet::new(first),
            leaves,
            numbers: large::zeros(vec![0; first as usize]),
            bytes: vec![0],
            firsts: vec![Some(0)],
            free: Vec::new(),
            seed: splitmix(seed ^ 0x6962_7566),
            draws: 0,
            merger,
            idle: true,
            ios_at_second: 0,
            buffered: 0,
            merged: 0,
        }
    }

    /// The workload's touches, with room for it behind all tables.
    pub(super) fn behind(&self, touches: Box<dyn Touches>) -> Box<dyn Touches> {
        let mut tables = touches.tables().to_vec();
        tables.push((TABLE.to_owned(), self.first));
        let pages = self.first.saturating_add((self.most + OVER_STOP) as u32 + 1);
        Box::new(WithRoom { touches, tables, pages })
    }

    /// Pages that it has.
    pub(super) fn size(&self) -> u64 {
        self.leaves.len()
    }

    /// Whether a change to an entry on a page that is not in memory may wait here.
    fn takes(&self, page: u32, entry: Entry) -> bool {
        if entry.inserts() && !self.inserts || entry.marks() && !self.marks || self.size() >= self.most + OVER_STOP {
            return false;
        }
        let own = if self.pages.contains(page) { self.waiting[page as usize] } else { Waiting::default() };
        let fits = u32::from(own[BYTES]) + record_bytes(entry) < LEAF_BYTES_MIN;
        fits && u64::from(own[VOLUME]) + volume_of(entry) <= self.room_of(page)
    }

    /// What the bitmap tells of a page's room: pages that entries in any order have split are from half to all full.
    fn room_of(&self, page: u32) -> u64 {
        match splitmix(self.seed ^ u64::from(page)) % (PAGE_BYTES / 2) / ROOM_UNIT {
            0 => 0,
            1 => ROOM_UNIT,
            2 | 3 => 2 * ROOM_UNIT,
            _ => VOLUME_MAX,
        }
    }

    /// The first page of the leaf in which changes to a page wait.
    #[inline]
    fn leaf_of(&self, page: u32) -> u32 {
        self.leaves.last_to(page).unwrap_or(0)
    }

    /// Bytes of a leaf by its first page.
    #[inline]
    fn bytes_of(&mut self, leaf: u32) -> &mut u32 {
        &mut self.bytes[self.numbers[leaf as usize] as usize]
    }

    /// Where changes to a page wait.
    pub(super) fn place_of(&self, page: u32) -> u32 {
        self.first + self.numbers[self.leaf_of(page) as usize]
    }

    /// Brings nearer what waits for a page, and where more of it would.
    #[inline]
    pub(super) fn bring(&self, page: u32) {
        near(&self.waiting[page as usize]);
        near(&self.numbers[self.leaf_of(page) as usize]);
    }

    /// A change to an entry, which would make so much redo on its page, waits from now on. The page that was made for it,
    /// and the bytes that went there, when a leaf had to be split.
    fn add(&mut self, page: u32, entry: Entry, redo: u16) -> Option<(u32, u32)> {
        let bytes = record_bytes(entry);
        let own = &mut self.waiting[page as usize];
        own[RECORDS] += 1 + u16::from(entry.inserts() && entry.marks());
        own[BYTES] += bytes as u16;
        own[VOLUME] += volume_of(entry) as u16;
        own[REDO] = own[REDO].saturating_add(redo);
        self.pages.insert(page);
        self.buffered += 1;
        let leaf = self.leaf_of(page);
        let used = self.bytes_of(leaf);
        *used += bytes;
        (*used > LEAF_BYTES).then(|| self.split(leaf))
    }

    /// The upper half of a leaf goes to a new one.
    fn split(&mut self, leaf: u32) -> (u32, u32) {
        let bytes = *self.bytes_of(leaf);
        let (mut below, mut middle) = (0, leaf);
        for page in self.pages.iter_from(leaf) {
            middle = page;
            // What waits for one page is less than half a leaf: there is one before the middle.
            if below + u32::from(self.waiting[page as usize][BYTES]) > bytes / 2 && below > 0 {
                break;
            }
            below += u32::from(self.waiting[page as usize][BYTES]);
        }
        let new = self.free.pop().unwrap_or(self.firsts.len() as u32);
        if new as usize == self.firsts.len() {
            self.firsts.push(None);
            self.bytes.push(0);
        }
        self.firsts[new as usize] = Some(middle);
        self.leaves.insert(middle);
        self.numbers[middle as usize] = new;
        *self.bytes_of(leaf) = below;
        *self.bytes_of(middle) = bytes - below;
        (self.first + new, bytes - below)
    }

    /// A page is in memory: what waits for it, which waits no longer.
    fn take(&mut self, page: u32) -> Option<Merge> {
        // Its own pages come in too.
        if page >= self.first || !self.pages.contains(page) {
            return None;
        }
        let own = std::mem::take(&mut self.waiting[page as usize]);
        self.pages.remove(page);
        let leaf = self.leaf_of(page);
        let number = self.numbers[leaf as usize];
        self.merged += 1;
        let left = self.bytes_of(leaf);
        *left -= u32::from(own[BYTES]);
        if *left < LEAF_BYTES_MIN {
            self.join(leaf);
        }
        Some(Merge { redo: own[REDO], leaf: self.first + number, leaf_redo: own[RECORDS].saturating_mul(REDO_ROW) })
    }

    /// A leaf that is half empty takes the next one in, or goes to the one before it.
    fn join(&mut self, leaf: u32) {
        let next = self.leaves.first_from(leaf + 1).map(|next| (leaf, next));
        let before = leaf.checked_sub(1).and_then(|to| self.leaves.last_to(to)).map(|before| (before, leaf));
        for (lower, upper) in [next, before].into_iter().flatten() {
            let gone = *self.bytes_of(upper);
            if *self.bytes_of(lower) + gone <= LEAF_BYTES / 8 * 7 {
                *self.bytes_of(lower) += gone;
                self.leaves.remove(upper);
                let number = self.numbers[upper as usize];
                self.firsts[number as usize] = None;
                self.free.push(number);
                return;
            }
        }
    }

    /// Pages to be merged together, from a place by chance (btr_pcur_open_at_rnd_pos, ibuf_get_merge_page_nos).
    fn pick(&mut self) -> Vec<u32> {
        let mut draw = |below: u64| {
            self.draws += 1;
            splitmix(self.seed ^ self.draws) % below.max(1)
        };
        let mut at = draw(self.firsts.len() as u64) as usize;
        while self.firsts[at].is_none() {
            at = (at + 1) % self.firsts.len();
        }
        let leaf = self.firsts[at].unwrap_or(0);
        // The last page that may wait in it.
        let last = self.leaves.first_from(leaf + 1).unwrap_or(self.first) - 1;
        let low = self.pages.first_from(leaf).filter(|low| *low <= last);
        let (Some(low), Some(high)) = (low, self.pages.last_to(last)) else { return Vec::new() };
        let chosen = low + draw(u64::from(high - low) + 1) as u32;
        let Some(chosen) = self.pages.first_from(chosen) else { return Vec::new() };
        let area = chosen / MERGE_AREA * MERGE_AREA;
        let near = self.pages.iter_from(area).take_while(|page| page - area < MERGE_AREA);
        near.filter(|page| *page == chosen || self.waiting[*page as usize][VOLUME] > MERGE_VOLUME).collect()
    }
}

/// Bytes of a change's records: an entry that is marked and another that is inserted are two.
fn record_bytes(entry: Entry) -> u32 {
    ((entry.bytes() + AROUND_BYTES) << u32::from(entry.inserts() && entry.marks())) as u32
}

/// What a change takes of its page.
fn volume_of(entry: Entry) -> u64 {
    if entry.inserts() { entry.bytes() + VOLUME_AROUND } else { 0 }
}

/// What a change's way into the change buffer logs.
fn redo_of(entry: Entry) -> u16 {
    record_bytes(entry) as u16 + REDO_ROW
}

/// Its name among tables.
pub(super) const TABLE: &str = "change_buffer";

/// A workload's touches, with the change buffer's pages behind its own.
struct WithRoom {
    touches: Box<dyn Touches>,
    tables: Vec<(String, u32)>,
    pages: u32,
}

impl Touches for WithRoom {
    fn pages(&self) -> u32 {
        self.pages
    }

    fn tables(&self) -> &[(String, u32)] {
        &self.tables
    }

    fn told(&self) -> &'static [Kind] {
        self.touches.told()
    }

    fn next(&mut self, thread: u32, out: &mut Vec<Touch>) -> usize {
        self.touches.next(thread, out)
    }
}

impl Innodb {
    /// What is done in place of a change that goes to the change buffer; any other touch as it is.
    #[inline]
    pub(super) fn through_change_buffer(&self, touch: Touch) -> Touch {
        match &self.change_buffer {
            Some(own)
                if touch.entry != Entry::NONE
                    && self.pool.find(touch.page).is_none()
                    && own.takes(touch.page, touch.entry) =>
            {
                Touch::change(own.place_of(touch.page), redo_of(touch.entry))
            }
            _ => touch,
        }
    }

    /// A thread has put a change into the change buffer. What it does next: a leaf that was split, and pages that it merges
    /// because there are too many.
    pub(super) fn end_buffering(&mut self, touch: Touch, in_past: bool) -> Vec<Touch> {
        let Some(own) = &mut self.change_buffer else { return Vec::new() };
        let split = own.add(touch.page, touch.entry, touch.redo);
        let mut next: Vec<Touch> = split.map(|(page, moved)| Touch::create(page, moved as u16)).into_iter().collect();
        if own.size() >= own.most {
            let (waits, pages) = (own.size() >= own.most + OVER_SYNC, own.pick());
            for page in pages {
                // In the past no device answers: what is read there is read at once.
                if waits || in_past {
                    next.push(Touch::read(page));
                } else {
                    self.read_unwaited(page);
                }
            }
        }
        next
    }

    /// What is done to a page that has come in, and to the change buffer, when changes have waited for it.
    pub(super) fn merge(&mut self, page: u32) -> Option<[Touch; 2]> {
        let merge = self.change_buffer.as_mut()?.take(page)?;
        Some([Touch::change(page, merge.redo), Touch::change(merge.leaf, merge.leaf_redo)])
    }

    /// A page was read: the first one that waits for it merges it, or a thread for all that nobody waits for.
    pub(super) fn merge_read(&mut self, frame: u32, first: Option<u32>) {
        let Some(touches) = self.merge(self.pool.page(frame)) else { return };
        let Some(own) = &mut self.change_buffer else { return };
        if let Some(thread) = first {
            self.threads[thread as usize].insert_before(&touches);
            return;
        }
        self.threads[own.merger as usize].append(&touches);
        if std::mem::take(&mut own.idle) {
            self.ready.push_back(own.merger);
        }
    }

    /// Whether a thread is none of a client's, and has nothing to do now.
    pub(super) fn rest_merger(&mut self, number: u32) -> bool {
        match &mut self.change_buffer {
            Some(own) if own.merger == number => {
                own.idle = true;
                true
            }
            _ => false,
        }
    }

    /// A second of the master thread: 5.1 and 5.5 merge when hardly anything is read or written, and every ten seconds; 5.6 to
    /// 8.0 always, and more when it is half full (ibuf_merge_in_background). MariaDB 10.5 and later never (MDEV-19514).
    pub(super) fn merge_in_background(&mut self, ten: bool) {
        let (ios, capacity) = (self.counts.totals.ios, self.spec.settings.innodb_io_capacity);
        let generation = self.spec.generation;
        let Some(own) = &mut self.change_buffer else { return };
        let done = ios - std::mem::replace(&mut own.ios_at_second, ios);
        let percent = if generation == Generation::Mariadb1011 {
            0
        } else if generation.has_cleaner() {
            let over = own.size().saturating_sub(own.most / 2);
            BACKGROUND_PCT + over * 100 / (own.most + 1)
        } else if done == 0 {
            100
        } else if ten || done < capacity * BACKGROUND_PCT / 100 {
            BACKGROUND_PCT
        } else {
            0
        };
        let mut left = capacity * percent / 100;
        while left > 0 {
            let pages = self.change_buffer.as_mut().map_or_else(Vec::new, ChangeBuffer::pick);
            if pages.is_empty() {
                return;
            }
            for page in pages {
                if !self.read_unwaited(page) {
                    return;
                }
                left = left.saturating_sub(1);
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/change_buffer.rs"]
mod tests;
