//! What lies where on the cache device.

use super::PAGE_BYTES;
use crate::cache::{Block, Slot};

/// Where the two copies of the superblock lie: far enough apart that one torn or failing write hits one of them.
pub const SUPERBLOCK_OFFSETS: [u64; 2] = [0, 64 << 10];

/// The first byte behind the superblocks.
const HEADER_BYTES: u64 = 128 << 10;

/// Slots on a page of a checkpoint: 13 bytes each behind the page's header.
pub const SLOTS_PER_PAGE: u32 = 310;

/// Regions of the slow device that have an intent each: as many bits as fit in a sector.
pub const REGIONS_MAX: u32 = 4096;

/// How a cache is laid out, fixed when it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The cache's identity.
    pub uuid: [u8; 16],
    /// Bytes of the cache device that are used.
    pub fast_bytes: u64,
    /// Bytes of the backing device, all of which are served.
    pub slow_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
}

/// What follows from the layout: where the journal, the checkpoints and the slots lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Bytes of the backing device.
    pub slow_bytes: u64,
    /// First byte of the journal.
    pub journal_offset: u64,
    /// Pages of the journal, used in a ring.
    pub journal_pages: u32,
    /// First byte of each checkpoint: one page of header, then its pages.
    pub checkpoint_offsets: [u64; 2],
    /// Pages of a checkpoint behind its header.
    pub checkpoint_pages: u32,
    /// First byte of slot 0, a multiple of the block.
    pub slots_offset: u64,
    /// Slots.
    pub slots: u32,
    /// Bytes of a region of the slow device that has one intent.
    pub region_bytes: u64,
}

/// Sizes that the maker of a cache may choose. 0: a size that fits is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of the journal.
    pub journal_bytes: u64,
    /// Bytes of a region with one intent.
    pub region_bytes: u64,
}

impl Geometry {
    /// Lays a cache out.
    ///
    /// # Errors
    /// Why the layout is impossible.
    pub fn new(layout: &Layout, sizes: Sizes) -> Result<Self, String> {
        let page = u64::from(PAGE_BYTES);
        let block = u64::from(layout.block_bytes);
        if !layout.block_bytes.is_power_of_two() || !(4096..=65536).contains(&layout.block_bytes) {
            return Err(format!("a block of {block} bytes: it must be a power of two from 4 KiB to 64 KiB"));
        }
        if layout.slow_bytes == 0 || !layout.slow_bytes.is_multiple_of(512) {
            return Err(format!("the backing device has {} bytes, which is no multiple of 512", layout.slow_bytes));
        }
        if layout.slow_bytes.div_ceil(block) >= u64::from(u32::MAX) {
            return Err(format!("the backing device has more than 2^32 blocks of {block} bytes: use larger blocks"));
        }
        let most = layout.fast_bytes.saturating_sub(HEADER_BYTES) / block;
        let most = u32::try_from(most).unwrap_or(u32::MAX).min(u32::MAX - 1);
        let checkpoint_pages = most.div_ceil(SLOTS_PER_PAGE);
        let checkpoint_bytes = u64::from(checkpoint_pages) * page;
        let journal_bytes = match sizes.journal_bytes {
            // A checkpoint is written for each half of the ring. The ring is long enough that checkpoints are the
            // smaller part of the writes.
            0 => (checkpoint_bytes * 4).clamp(256 << 10, 512 << 20),
            bytes => bytes.clamp(JOURNAL_PAGES_MIN * page, 1 << 40),
        };
        let journal_pages = (journal_bytes / page) as u32;
        let journal_offset = HEADER_BYTES;
        let first = journal_offset + u64::from(journal_pages) * page;
        let second = first + page + checkpoint_bytes;
        let slots_offset = (second + page + checkpoint_bytes).next_multiple_of(block.max(page));
        let slots = (layout.fast_bytes.saturating_sub(slots_offset) / block).min(u64::from(most)) as u32;
        if slots < SLOTS_MIN {
            return Err(format!(
                "a cache of {} bytes leaves room for {slots} blocks of {block} bytes: it needs at least {}",
                layout.fast_bytes,
                slots_offset + u64::from(SLOTS_MIN) * block
            ));
        }
        let region_bytes = match sizes.region_bytes {
            0 => 1 << 20,
            bytes => bytes,
        };
        let region_bytes = region_bytes
            .max(layout.slow_bytes.div_ceil(u64::from(REGIONS_MAX)))
            .max(block)
            .checked_next_power_of_two()
            .ok_or_else(|| format!("a region of {region_bytes} bytes"))?;
        Ok(Self {
            block_bytes: layout.block_bytes,
            slow_bytes: layout.slow_bytes,
            journal_offset,
            journal_pages,
            checkpoint_offsets: [first, second],
            checkpoint_pages,
            slots_offset,
            slots,
            region_bytes,
        })
    }

    /// Checks a geometry that was read from a device: all parts lie inside the device, in order, without overlap. The
    /// bytes may be anything.
    pub(super) fn check(&self, fast_bytes: u64) -> Result<(), String> {
        let page = u64::from(PAGE_BYTES);
        let block = u64::from(self.block_bytes);
        let [first, second] = self.checkpoint_offsets;
        let checkpoint = (u64::from(self.checkpoint_pages) + 1) * page;
        let sizes = self.block_bytes.is_power_of_two()
            && (4096..=65536).contains(&self.block_bytes)
            && self.slow_bytes > 0
            && self.slow_bytes.is_multiple_of(512)
            && self.slow_bytes.div_ceil(block) < u64::from(u32::MAX)
            && u64::from(self.journal_pages) >= JOURNAL_PAGES_MIN
            && self.slots >= SLOTS_MIN
            && self.region_bytes.is_power_of_two()
            && self.region_bytes >= block
            && self.slow_bytes.div_ceil(self.region_bytes) <= u64::from(REGIONS_MAX);
        let ends = |from: u64, bytes: u64| from.checked_add(bytes).filter(|_| from.is_multiple_of(page));
        let ordered = self.journal_offset >= HEADER_BYTES
            && ends(self.journal_offset, u64::from(self.journal_pages) * page).is_some_and(|end| end <= first)
            && ends(first, checkpoint).is_some_and(|end| end <= second)
            && ends(second, checkpoint).is_some_and(|end| end <= self.slots_offset)
            && ends(self.slots_offset, u64::from(self.slots) * block).is_some_and(|end| end <= fast_bytes)
            && u64::from(self.checkpoint_pages) * u64::from(SLOTS_PER_PAGE) >= u64::from(self.slots);
        if sizes && ordered { Ok(()) } else { Err("its layout is impossible".into()) }
    }

    /// Where a slot lies on the cache device.
    pub fn slot_offset(&self, slot: Slot) -> u64 {
        self.slots_offset + u64::from(slot.0) * u64::from(self.block_bytes)
    }

    /// Where the journal's page of this number lies.
    pub(super) fn journal_page_offset(&self, number: u64) -> u64 {
        self.journal_offset + number % u64::from(self.journal_pages) * u64::from(PAGE_BYTES)
    }

    /// Blocks of the backing device; the last may be short.
    pub fn blocks(&self) -> u32 {
        self.slow_bytes.div_ceil(u64::from(self.block_bytes)) as u32
    }

    /// Whether a byte of the cache device lies in the journal's ring.
    pub fn is_in_ring(&self, offset: u64) -> bool {
        (self.journal_offset..self.checkpoint_offsets[0]).contains(&offset)
    }

    /// The region of the backing device that a block lies in.
    pub fn region_of(&self, block: Block) -> u32 {
        (u64::from(block.0) * u64::from(self.block_bytes) / self.region_bytes) as u32
    }

    /// Regions of the backing device.
    pub fn regions(&self) -> u32 {
        self.slow_bytes.div_ceil(self.region_bytes) as u32
    }
}

/// The smallest ring with which a checkpoint is always finished before the journal is full.
const JOURNAL_PAGES_MIN: u64 = 64;

/// With fewer slots all of them would be reserve.
const SLOTS_MIN: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(fast_bytes: u64, slow_bytes: u64, block_bytes: u32) -> Layout {
        Layout { uuid: [0; 16], fast_bytes, slow_bytes, block_bytes }
    }

    #[test]
    fn what_is_laid_out_is_inside_and_in_order() {
        for fast in [1 << 20, 5_000_000, 64 << 20, 1 << 34, 1 << 42] {
            for block in [4096, 16384, 65536] {
                if let Ok(geometry) = Geometry::new(&layout(fast, 1 << 40, block), Sizes::default()) {
                    geometry.check(fast).unwrap();
                    assert!(geometry.check(geometry.slot_offset(Slot(geometry.slots)) - 1).is_err());
                    assert!(geometry.regions() <= REGIONS_MAX);
                    assert_eq!(geometry.region_of(Block(geometry.blocks() - 1)), geometry.regions() - 1);
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (fast, slow, block, what) in [
            (64 << 20, 1 << 30, 5000, "power of two"),
            (64 << 20, 0, 4096, "multiple of 512"),
            (64 << 20, 1 << 60, 4096, "larger blocks"),
            (1 << 18, 1 << 30, 16384, "at least"),
        ] {
            assert!(Geometry::new(&layout(fast, slow, block), Sizes::default()).unwrap_err().contains(what));
        }
    }
}
