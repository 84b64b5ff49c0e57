//! Where blocks and slots lie on their devices.

use crate::cache::journal::recovery::Geometry;
use crate::cache::{Block, Slot};

/// Bytes of a run of blocks that go to the slow device as one IO.
const RUN_BYTES: u32 = 1 << 20;

/// The geometry, and what follows from it.
pub(super) struct Addresses {
    geometry: Geometry,
    block_shift: u32,
}

impl Addresses {
    /// Of a cache of this geometry.
    pub(super) fn new(geometry: Geometry) -> Self {
        Self { geometry, block_shift: geometry.block_bytes.trailing_zeros() }
    }

    /// Bytes of the slow device.
    pub(super) fn slow_bytes(&self) -> u64 {
        self.geometry.slow_bytes
    }

    /// Bytes of a block.
    #[inline]
    pub(super) fn block_bytes(&self) -> u32 {
        self.geometry.block_bytes
    }

    /// Blocks that can be cached: a short last one cannot.
    #[inline]
    pub(super) fn whole_blocks(&self) -> u32 {
        (self.geometry.slow_bytes >> self.block_shift) as u32
    }

    /// Slots of the fast device.
    pub(super) fn slots(&self) -> u32 {
        self.geometry.slots
    }

    /// Slots that fit on so many bytes of the fast device.
    pub(super) fn slots_in(&self, fast_bytes: u64) -> u64 {
        fast_bytes.saturating_sub(self.geometry.slots_offset) >> self.block_shift
    }

    /// Bytes of the fast device that so many slots take, with all that lies before them.
    pub(super) fn fast_bytes(&self, slots: u64) -> u64 {
        self.geometry.slots_offset + (slots << self.block_shift)
    }

    /// The block that a byte of the slow device lies in.
    #[inline]
    pub(super) fn block_at(&self, offset: u64) -> Block {
        Block((offset >> self.block_shift) as u32)
    }

    /// Where in its block a byte of the slow device lies.
    #[inline]
    pub(super) fn within_block(&self, offset: u64) -> u32 {
        (offset & u64::from(self.geometry.block_bytes - 1)) as u32
    }

    /// The blocks of a range of bytes: the first one, and the first one behind it.
    pub(super) fn blocks_of(&self, (offset, bytes): (u64, u64)) -> (Block, Block) {
        let end = offset.saturating_add(bytes).min(self.slow_bytes());
        let behind = end.div_ceil(u64::from(self.block_bytes())) as u32;
        (self.block_at(offset.min(end)), Block(behind))
    }

    /// The first byte of a block on the slow device.
    #[inline]
    pub(super) fn offset(&self, block: Block) -> u64 {
        u64::from(block.0) << self.block_shift
    }

    /// Offset and length of a slot on the fast device.
    #[inline]
    pub(super) fn slot(&self, slot: Slot) -> (u64, u32) {
        (self.geometry.slot_offset(slot), self.geometry.block_bytes)
    }

    /// Blocks of a run at most.
    pub(super) fn run_blocks(&self) -> u32 {
        (RUN_BYTES / self.block_bytes()).max(1)
    }

    /// How many of the `rest` bytes, which begin at byte `from` of a block, lie in so many blocks.
    pub(super) fn run_bytes(&self, from: u32, blocks: u32, rest: u32) -> u32 {
        (blocks * self.block_bytes() - from).min(rest)
    }

    /// The regions of the slow device that a run of blocks lies in.
    pub(super) fn regions_of(&self, block: Block, blocks: u32) -> std::ops::RangeInclusive<u32> {
        self.geometry.region_of(block)..=self.geometry.region_of(Block(block.0 + blocks - 1))
    }

    /// Regions of the slow device.
    pub(super) fn regions(&self) -> u32 {
        self.geometry.regions()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::journal::recovery::{Layout, Recovered};

    #[test]
    fn ranges_are_cut_at_the_end_of_the_device() {
        let layout = Layout { uuid: [1; 16], fast_bytes: 4 << 20, slow_bytes: 10 * 4096 + 512, block_bytes: 4096 };
        let addresses = Addresses::new(Recovered::fresh(layout).geometry);
        assert_eq!(
            (addresses.whole_blocks(), addresses.block_at(8191), addresses.within_block(8191)),
            (10, Block(1), 4095)
        );
        assert_eq!(addresses.blocks_of((4095, 2)), (Block(0), Block(2)));
        assert_eq!(addresses.blocks_of((1 << 40, 512)), (Block(10), Block(11)));
        assert_eq!((addresses.run_blocks(), addresses.run_bytes(512, 2, 1 << 20)), (256, 7680));
        assert_eq!(addresses.slots_in(addresses.fast_bytes(7)), 7);
    }
}
