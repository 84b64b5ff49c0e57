//! The LRU list of each instance: which page leaves when a frame is needed.

use super::super::ids::{FrameId, PageNo};
use super::Pool;
use super::frames::{BUSY, DIRTY, Frame, HASHED, HERE, OLD, READING, UNUSED, WRITING};
use super::instance::Search;

/// A page that can give its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Replaceable {
    /// It was clean: its frame is free.
    Evicted,
    /// It has to be written first.
    Dirty(FrameId),
}

impl Pool {
    /// Takes a free frame for a page that comes in, to where the old sublist begins. `reading`: its read is under way, until
    /// `end_read`. None when no frame of its instance is free.
    pub(in super::super) fn admit(&mut self, page: PageNo, reading: bool) -> Option<FrameId> {
        let number = self.instance_of(page);
        let frame = FrameId::new(page.number());
        let flags = HERE | OLD | if reading { READING | UNUSED } else { 0 };
        if !self.instances[number].admit(frame, flags, &mut self.frames) {
            return None;
        }
        let searches_to_hash = self.hash.searches_of(page);
        let new = &mut self.frames[frame.index()];
        (new.instance, new.searches_to_hash) = (number as u8, searches_to_hash);
        self.free -= 1;
        if let Some(first_ms) = self.firsts_ms.get_mut(frame.index()) {
            *first_ms = 0;
        }
        Some(frame)
    }

    /// Takes a free frame for a page that is made anew: it goes to the front of the list, and was used at once
    /// (buf_page_create). None when no frame of its instance is free.
    pub(in super::super) fn admit_new(&mut self, page: PageNo, now_ms: u32) -> Option<FrameId> {
        let frame = self.admit(page, false)?;
        if let Some(first_ms) = self.firsts_ms.get_mut(frame.index()) {
            *first_ms = now_ms.max(1);
        }
        self.instances[self.frames[frame.index()].instance as usize].make_young(frame, &mut self.frames);
        Some(frame)
    }

    /// Whether a page was used and is in the youngest quarter of the young pages.
    pub(in super::super) fn is_used_and_young(&self, frame: FrameId) -> bool {
        let page = &self.frames[frame.index()];
        page.flags & UNUSED == 0 && !self.instances[page.instance as usize].is_to_move(page)
    }

    /// A page was used: it goes to the front, unless it is in the youngest quarter of the young pages already. With
    /// innodb_old_blocks_time an old page goes there with a use that comes so long after its first one, and with no other
    /// (buf_page_peek_if_too_old).
    #[inline]
    pub(in super::super) fn touch(&mut self, frame: FrameId, now_ms: u32) {
        let page = &mut self.frames[frame.index()];
        if page.searches_to_hash > 0 {
            page.searches_to_hash -= 1;
            if page.searches_to_hash == 0 {
                self.hash_page(frame);
            }
        }
        let page = &self.frames[frame.index()];
        let instance = &mut self.instances[page.instance as usize];
        let moves = if self.old_blocks_ms > 0 && page.flags & OLD != 0 {
            let first_ms = &mut self.firsts_ms[frame.index()];
            if *first_ms == 0 {
                *first_ms = now_ms.max(1);
            }
            now_ms.saturating_sub(*first_ms) >= self.old_blocks_ms
        } else {
            instance.is_to_move(page)
        };
        if moves {
            instance.make_young(frame, &mut self.frames);
        }
    }

    /// Whether a page was used since it came in, where innodb_old_blocks_time asks for it.
    pub(in super::super) fn is_used(&self, frame: FrameId) -> bool {
        self.firsts_ms.get(frame.index()).is_some_and(|first_ms| *first_ms > 0)
    }

    /// Sets innodb_old_blocks_time.
    pub(in super::super) fn set_old_blocks_ms(&mut self, old_blocks_ms: u32) {
        self.old_blocks_ms = old_blocks_ms;
        self.firsts_ms = if old_blocks_ms > 0 { vec![0; self.frames.len()] } else { Vec::new() };
    }

    /// A page that was written because frames are needed goes to the end of the list, to be evicted next.
    pub(in super::super) fn make_oldest(&mut self, frame: FrameId) {
        self.instances[self.frames[frame.index()].instance as usize].make_oldest(frame, &mut self.frames);
    }

    /// Frees a clean page's frame.
    pub(super) fn evict(&mut self, frame: FrameId) {
        if self.has(frame, HASHED) {
            self.unhash_page(frame);
        }
        self.instances[self.frames[frame.index()].instance as usize].evict(frame, &mut self.frames);
        self.free += 1;
    }

    /// The last `scan` frames of an instance's LRU list, the least recently used first.
    pub(super) fn at_end(&self, instance: usize, scan: u32) -> impl Iterator<Item = (FrameId, &Frame)> {
        self.up_from(self.instances[instance].least_recent(), scan)
    }

    /// `scan` frames of an LRU list: this one, and those that were used later.
    fn up_from(&self, first: FrameId, scan: u32) -> impl Iterator<Item = (FrameId, &Frame)> {
        let mut next = first;
        (0..scan).map_while(move |_| {
            let frame = next;
            let page = self.frames.get(frame.index())?;
            next = page.lru.newer;
            Some((frame, page))
        })
    }

    /// Evicts the clean page that is least recently used among the last `scan` of an instance's list. False when there is
    /// none.
    pub(in super::super) fn evict_one(&mut self, instance: usize, scan: u32) -> bool {
        let clean = self.at_end(instance, scan).find(|(_, page)| page.flags & BUSY == 0).map(|(frame, _)| frame);
        if let Some(frame) = clean {
            self.evict(frame);
        }
        clean.is_some()
    }

    /// Evicts the next clean page among `scan` of an instance's list, from where such a search begins (`search_from`). False
    /// when there is none.
    pub(in super::super) fn evict_next(&mut self, instance: usize, scan: u32) -> bool {
        let clean = self.search(instance, Search::Clean, scan, |flags| flags & BUSY == 0);
        if let Some(frame) = clean {
            self.evict(frame);
        }
        clean.is_some()
    }

    /// The next page of an instance's list that can give its frame, from where such a search begins: a clean page is
    /// evicted. None when all are being read or written.
    pub(in super::super) fn next_replaceable(&mut self, instance: usize) -> Option<Replaceable> {
        let frame = self.search(instance, Search::Any, u32::MAX, |flags| flags & (READING | WRITING) == 0)?;
        if self.frames[frame.index()].flags & DIRTY != 0 {
            return Some(Replaceable::Dirty(frame));
        }
        self.evict(frame);
        Some(Replaceable::Evicted)
    }

    fn search(&mut self, instance: usize, search: Search, scan: u32, wanted: impl Fn(u8) -> bool) -> Option<FrameId> {
        let mut next = self.instances[instance].search_from(search, &self.frames);
        let mut pages = self.up_from(next, scan).inspect(|(_, page)| next = page.lru.newer);
        let found = pages.find(|(_, page)| wanted(page.flags)).map(|(frame, _)| frame);
        drop(pages);
        self.instances[instance].end_search(search, next);
        found
    }

    /// A batch begins at the end of an instance's list.
    pub(in super::super) fn begin_batch(&mut self, instance: usize) {
        let tail = self.instances[instance].least_recent();
        self.instances[instance].end_search(Search::Batch, tail);
    }

    /// The next dirty page on a batch's way from the end of an instance's list. Clean pages on the way are evicted. None at
    /// its end: `wanted` frames are free, or the list is down to `least` pages, or the batch has gone over all of it.
    pub(in super::super) fn next_of_batch(&mut self, instance: usize, wanted: u64, least: u64) -> Option<FrameId> {
        while self.free_of(instance) < wanted && self.data_of(instance) > least {
            let frame = self.instances[instance].batch_from();
            let page = self.frames.get(frame.index())?;
            let flags = page.flags;
            self.instances[instance].end_search(Search::Batch, page.lru.newer);
            if flags & BUSY == DIRTY {
                return Some(frame);
            }
            if flags & BUSY == 0 {
                self.evict(frame);
            }
        }
        None
    }

    /// Evicts clean pages among the last `scan` of an instance's list until `wanted` frames are free, or it has passed
    /// `most` dirty pages. Returns how many dirty pages it passed.
    pub(in super::super) fn evict_to(&mut self, instance: usize, wanted: u64, scan: u32, most: u64) -> u64 {
        let (mut frame, mut dirty) = (self.instances[instance].least_recent(), 0);
        for _ in 0..scan {
            if frame == FrameId::NONE || self.free_of(instance) >= wanted || dirty == most {
                break;
            }
            let page = self.frames[frame.index()];
            if page.flags & BUSY == 0 {
                self.evict(frame);
            }
            dirty += u64::from(page.flags & BUSY == DIRTY);
            frame = page.lru.newer;
        }
        dirty
    }

    /// How many of the last `scan` pages of an instance's list could be evicted at once; counted up to `most`.
    pub(in super::super) fn replaceable(&self, instance: usize, scan: u32, most: u32) -> u32 {
        self.at_end(instance, scan).filter(|(_, page)| page.flags & BUSY == 0).take(most as usize).count() as u32
    }

    /// The least recently used page among the last `scan` of an instance that is dirty and not being written.
    pub(in super::super) fn dirty_at_end(&self, instance: usize, scan: u32) -> Option<FrameId> {
        self.at_end(instance, scan).find(|(_, page)| page.flags & BUSY == DIRTY).map(|(frame, _)| frame)
    }
}
