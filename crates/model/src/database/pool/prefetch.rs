//! What the processor is told to bring into its caches before the pool asks for it: pages are anywhere in memory.
//!
//! Where a thing stands is written in another one: a page's neighbours in the LRU list in its frame. So each is asked for
//! some time after the one before. Nothing that a run tells depends on any of it.

use super::super::ids::{FrameId, PageNo};
use super::Pool;
use super::lists::Links;
use crate::large::near;

impl Pool {
    /// Prefetches a page's frame.
    #[inline]
    pub(in super::super) fn prefetch_frame(&self, page: PageNo) {
        near(&self.frames[page.index()]);
    }

    /// Prefetches what a change of a page needs besides its frame, or the way of the page into memory.
    #[inline]
    pub(in super::super) fn prefetch_change(&self, page: PageNo) {
        near(&self.contents[page.index()]);
        near(&self.dirty_pages[page.area().index()]);
    }

    /// Then, prefetches the neighbours of a page in memory in the LRU list, whose links change when it moves to the front.
    #[inline]
    pub(in super::super) fn prefetch_neighbours(&self, page: PageNo) {
        let frame = &self.frames[page.index()];
        if self.instances[frame.instance as usize].is_to_move(frame) {
            for neighbour in [frame.lru.newer, frame.lru.older] {
                if let Some(neighbour) = self.frames.get(neighbour.index()) {
                    near(neighbour);
                }
            }
        }
    }

    /// Prefetches what the end of a frame's write changes.
    #[inline]
    pub(in super::super) fn prefetch_write(&self, frame: FrameId) {
        near(&self.frames[frame.index()]);
        near(&self.contents[frame.index()]);
    }

    /// Then, prefetches its neighbours in the flush list, whose links change.
    #[inline]
    pub(in super::super) fn prefetch_write_neighbours(&self, frame: FrameId) {
        let Links { newer, older } = self.contents[frame.index()].flush;
        for neighbour in [newer, older] {
            if let Some(neighbour) = self.contents.get(neighbour.index()) {
                near(neighbour);
            }
        }
    }
}
