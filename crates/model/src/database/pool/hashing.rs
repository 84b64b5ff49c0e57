//! The pool's frames for the adaptive hash index.

use super::super::ids::FrameId;
use super::super::touches::LookedUp;
use super::Pool;
use super::adaptive_hash::AdaptiveHash;
use super::frames::{BUSY, HASHED};

/// Pages at the end of the LRU list of which one is evicted for a frame (BUF_LRU_SEARCH_SCAN_THRESHOLD).
const SEARCHED: u32 = 100;

impl Pool {
    /// The pool has an adaptive hash index of these rows from now on.
    pub(in super::super) fn hash_rows(&mut self, looked_up: Vec<LookedUp>) {
        self.hash = AdaptiveHash::new(looked_up);
    }

    /// Frames that the adaptive hash index has.
    pub(in super::super) const fn hash_frames(&self) -> u64 {
        self.hash.frames()
    }

    /// A page was searched often enough: its rows get entries, in further frames when there is no room. When no frame is
    /// free, the one of a clean page is taken, and when there is none either, the index waits for the next page.
    #[cold]
    pub(super) fn hash_page(&mut self, frame: FrameId) {
        self.frames[frame.index()].flags |= HASHED;
        self.hash.add(self.page(frame));
        while self.hash.wants_frame() {
            let instance = self.instance_of_hash(self.hash.frames());
            if self.free_of(instance) == 0 && !self.evict_for_hash(instance, frame) {
                return;
            }
            self.instances[instance].take_free();
            self.free -= 1;
            self.hash.take_frame();
        }
    }

    /// A hashed page leaves the pool: the entries of its rows do, too.
    #[cold]
    pub(super) fn unhash_page(&mut self, frame: FrameId) {
        self.hash.remove(self.page(frame));
        while self.hash.has_spare_frame() {
            self.hash.give_frame();
            let instance = self.instance_of_hash(self.hash.frames());
            self.instances[instance].give_free();
            self.free += 1;
        }
    }

    /// Frames come from all instances in turn (buf_block_alloc).
    fn instance_of_hash(&self, number: u64) -> usize {
        (number % self.instances.len() as u64) as usize
    }

    /// Evicts a clean page, but not the one that is being used.
    fn evict_for_hash(&mut self, instance: usize, used: FrameId) -> bool {
        let clean = self.at_end(instance, SEARCHED).filter(|(_, page)| page.flags & BUSY == 0);
        let found = clean.map(|(frame, _)| frame).find(|frame| *frame != used);
        if let Some(frame) = found {
            self.evict(frame);
        }
        found.is_some()
    }
}

#[cfg(test)]
#[path = "hashing_tests.rs"]
mod tests;
