//! The frames of a pool: places for pages in memory, which are members of an LRU list and a flush list.

use super::super::ids::{FrameId, Lsn, ThreadNo};
use super::lists::{Links, Nodes};

/// In the old part of the LRU list.
pub(super) const OLD: u8 = 1;
/// With changes that are not in its file.
pub(super) const DIRTY: u8 = 2;
/// Being read.
pub(super) const READING: u8 = 4;
/// Being written.
pub(super) const WRITING: u8 = 8;
/// Of a page that was read and not used yet.
pub(super) const UNUSED: u8 = 16;
/// Of a page that is in memory, or being read.
pub(super) const HERE: u8 = 32;
/// Of a page whose rows are in the adaptive hash index.
pub(super) const HASHED: u8 = 64;
/// Of a page that cannot be evicted at once.
pub(super) const BUSY: u8 = DIRTY | READING | WRITING;

/// A page's place in memory: what each use of the page needs, 16 bytes for a page of 16 KiB. Four of them share a line of
/// the processor's cache, so that the cache holds the frames of most pages that are used often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) lru: Links,
    /// How many pages had been evicted when it was last moved to the front (freed_page_clock).
    pub(super) moved: u32,
    pub(super) flags: u8,
    pub(super) instance: u8,
    /// Searches after which its rows go into the adaptive hash index; 0: they never do, or are there.
    pub(super) searches_to_hash: u16,
}

/// What changes, reads and writes of the page need besides: half a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Content {
    pub(super) oldest_lsn: Lsn,
    pub(super) newest_lsn: Lsn,
    pub(super) flush: Links,
    /// The thread that began last to wait for its read or write.
    pub(super) waiter: ThreadNo,
}

/// The frames, seen as the LRU list.
pub(super) struct Lru<'a>(pub(super) &'a mut [Frame]);
/// What is in them, seen as the flush list.
pub(super) struct Flush<'a>(pub(super) &'a mut [Content]);

impl Nodes for Lru<'_> {
    #[inline]
    fn links(&mut self, node: FrameId) -> &mut Links {
        &mut self.0[node.index()].lru
    }
}

impl Nodes for Flush<'_> {
    #[inline]
    fn links(&mut self, node: FrameId) -> &mut Links {
        &mut self.0[node.index()].flush
    }
}
