//! The frames of a pool: places for pages in memory, which are members of an LRU list and a flush list.

use super::lists::{Links, Nodes};

/// In the old part of the LRU list.
pub(super) const OLD: u8 = 1;
/// With changes that are not in its file.
pub(super) const DIRTY: u8 = 2;
/// On its way in.
pub(super) const READING: u8 = 4;
/// On its way out.
pub(super) const WRITING: u8 = 8;
/// Of a page that was read and not used yet.
pub(super) const UNUSED: u8 = 16;
/// Of a page that is in memory, or on its way in.
pub(super) const HERE: u8 = 32;
/// Of a page that cannot be evicted at once.
pub(super) const BUSY: u8 = DIRTY | READING | WRITING;

/// A page's place in memory: what each use of the page asks for, 16 bytes for one of 16 KiB. Four of them share a line of
/// the processor's cache, so that it holds most of what is used much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) lru: Links,
    /// How many pages had been evicted when it was last moved to the front (freed_page_clock).
    pub(super) moved: u32,
    pub(super) flags: u8,
    pub(super) instance: u8,
}

/// The rest of it, for changes, reads and writes: half a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Content {
    pub(super) oldest_lsn: u64,
    pub(super) newest_lsn: u64,
    pub(super) flush: Links,
    /// First thread that waits for its read or write.
    pub(super) waiter: u32,
}

/// The frames, seen as the LRU list.
pub(super) struct Lru<'a>(pub(super) &'a mut [Frame]);
/// What is in them, seen as the flush list.
pub(super) struct Flush<'a>(pub(super) &'a mut [Content]);

impl Nodes for Lru<'_> {
    #[inline]
    fn links(&mut self, node: u32) -> &mut Links {
        &mut self.0[node as usize].lru
    }
}

impl Nodes for Flush<'_> {
    #[inline]
    fn links(&mut self, node: u32) -> &mut Links {
        &mut self.0[node as usize].flush
    }
}
