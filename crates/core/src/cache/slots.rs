//! The state of each slot: few bytes, because there are many slots.

use super::journal::{Entry, Holding, Table};
use super::{Block, Slot};

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Nothing, and it may be written (or is being written, and nothing is recorded of it yet).
    Free = 0,
    /// Nothing any more, but until the journal says so durably it must not be written over.
    Limbo = 1,
    /// What the slow device holds too.
    Clean = 2,
    /// The only copy.
    Dirty = 3,
}

/// Bits of a slot beside its state (two bits) and its passes (two bits).
const STATE: u16 = 0b11;
/// How many passes of the fallow hand went by since the block was touched: two bits from here.
const PASSES_SHIFT: u16 = 2;
const PASSES: u16 = 0b11 << PASSES_SHIFT;
/// Never evicted.
pub const PINNED: u16 = 1 << 4;
/// A write-back of its block, of this version or of an older one, is under way.
pub const DESTAGING: u16 = 1 << 5;
/// The write-back that a user asked for waits for it.
pub const WANTED: u16 = 1 << 6;
/// The only copy, and it can not be read: EIO until it is written over.
pub const LOST: u16 = 1 << 7;
/// Its last write-back failed: the next one takes it alone.
pub const ALONE: u16 = 1 << 8;
/// The medium under it failed: it is never used again.
pub const BAD: u16 = 1 << 9;
/// Its record is durable, so it is free as soon as its last reader has gone.
pub const LEAVING: u16 = 1 << 10;
/// Its block stands in the queue of what became dirty.
pub const QUEUED: u16 = 1 << 11;

/// An older version of its block is being written back, not this one (which may lie in the same slot by now).
pub const NEWER: u16 = 1 << 12;

/// A newer version of its block lies elsewhere, but this one is still to be written back before that (`ordered`).
pub const SUPERSEDED: u16 = 1 << 13;
/// What it holds is being written back (`ordered`).
pub const WRITING: u16 = 1 << 14;
/// The record that says that it is dirty is not known to be durable.
pub const FRESH: u16 = 1 << 15;

/// Which block is in which slot: what the index and the policies look into.
pub trait Blocks {
    /// The block of a slot; Block::NONE, or any, if it holds none.
    fn block(&self, slot: Slot) -> Block;

    /// How many slots there are.
    fn slots(&self) -> u32;
}

impl Blocks for [Block] {
    #[inline]
    fn block(&self, slot: Slot) -> Block {
        self[slot.index()]
    }

    fn slots(&self) -> u32 {
        self.len() as u32
    }
}

impl Blocks for Vec<Block> {
    #[inline]
    fn block(&self, slot: Slot) -> Block {
        self[slot.index()]
    }

    fn slots(&self) -> u32 {
        self.len() as u32
    }
}

impl Blocks for Slots {
    #[inline]
    fn block(&self, slot: Slot) -> Block {
        self.slots[slot.index()].block
    }

    fn slots(&self) -> u32 {
        self.len()
    }
}

/// The slots. Each is in one of four states; its block, its checksum and since when it is dirty mean something in the
/// states Clean and Dirty only.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    slots: Vec<Held>,
}

/// A slot. Its fields are used together, so they never lie across two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Held {
    block: Block,
    crc: u32,
    since: u32,
    flags: u16,
    readers: u16,
}

impl Default for Held {
    fn default() -> Self {
        Self { block: Block::NONE, crc: 0, since: 0, flags: 0, readers: 0 }
    }
}

impl Slots {
    /// So many free slots.
    pub fn new(count: u32) -> Self {
        let mut slots = Self::default();
        slots.resize(count);
        slots
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// All of them, in order.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = Slot> + Clone + use<> {
        Slot::first(self.len())
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// More slots, free ones, or fewer: those that go must hold nothing.
    pub fn resize(&mut self, count: u32) {
        self.slots.resize(count as usize, Held::default());
    }

    /// Each slot's block: what the index looks into.
    #[inline]
    pub fn blocks(&self) -> &Self {
        self
    }

    /// Prefetches a slot, for a caller that will read it soon.
    #[inline]
    pub fn prefetch(&self, slot: Slot) {
        super::bucket::prefetch(&self.slots, slot.index());
    }

    /// What a slot holds.
    #[inline]
    pub fn state(&self, slot: Slot) -> State {
        match self.slots[slot.index()].flags & STATE {
            0 => State::Free,
            1 => State::Limbo,
            2 => State::Clean,
            _ => State::Dirty,
        }
    }

    /// The block that a clean or dirty slot holds.
    #[inline]
    pub fn block(&self, slot: Slot) -> Block {
        self.slots[slot.index()].block
    }

    /// CRC-32C of what it holds.
    #[inline]
    pub fn crc(&self, slot: Slot) -> u32 {
        self.slots[slot.index()].crc
    }

    /// When its block became dirty, in the engine's own units.
    #[inline]
    pub fn since(&self, slot: Slot) -> u32 {
        self.slots[slot.index()].since
    }

    /// True when it is the only copy.
    #[inline]
    pub fn dirty(&self, slot: Slot) -> bool {
        self.state(slot) == State::Dirty
    }

    /// Readers of the fast device that are under way: it must not be written over.
    #[inline]
    pub fn readers(&self, slot: Slot) -> u16 {
        self.slots[slot.index()].readers
    }

    /// True when one of these bits is set.
    #[inline]
    pub fn has(&self, slot: Slot, bits: u16) -> bool {
        self.slots[slot.index()].flags & bits != 0
    }

    /// All bits, for tests that fail.
    pub fn bits(&self, slot: Slot) -> u16 {
        self.slots[slot.index()].flags
    }

    /// Sets bits.
    #[inline]
    pub fn mark(&mut self, slot: Slot, bits: u16) {
        self.slots[slot.index()].flags |= bits;
    }

    /// Clears bits.
    #[inline]
    pub fn unmark(&mut self, slot: Slot, bits: u16) {
        self.slots[slot.index()].flags &= !bits;
    }

    /// Fills a slot; its bits are cleared.
    #[inline]
    pub fn hold(&mut self, slot: Slot, block: Block, crc: u32, state: State) {
        let slot = &mut self.slots[slot.index()];
        slot.block = block;
        slot.crc = crc;
        slot.flags = state as u16;
    }

    /// Sets what a slot that is being written will hold.
    #[inline]
    pub fn set_crc(&mut self, slot: Slot, crc: u32) {
        self.slots[slot.index()].crc = crc;
    }

    /// Changes what a slot is, and nothing else.
    #[inline]
    pub fn set_state(&mut self, slot: Slot, state: State) {
        let flags = &mut self.slots[slot.index()].flags;
        *flags = *flags & !STATE | state as u16;
    }

    /// Says when its block became dirty.
    #[inline]
    pub fn set_since(&mut self, slot: Slot, since: u32) {
        self.slots[slot.index()].since = since;
    }

    /// One reader more.
    #[inline]
    pub fn read_begins(&mut self, slot: Slot) {
        self.slots[slot.index()].readers += 1;
    }

    /// One reader less.
    #[inline]
    pub fn read_ends(&mut self, slot: Slot) -> u16 {
        let readers = &mut self.slots[slot.index()].readers;
        *readers -= 1;
        *readers
    }

    /// The block was used: the fallow hand begins to count again.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        self.slots[slot.index()].flags &= !PASSES;
    }

    /// The fallow hand passes a slot. Returns how often it did since the block was used, at most 3.
    #[inline]
    pub fn pass(&mut self, slot: Slot) -> u16 {
        let flags = &mut self.slots[slot.index()].flags;
        let passes = (((*flags & PASSES) >> PASSES_SHIFT) + 1).min(3);
        *flags = *flags & !PASSES | passes << PASSES_SHIFT;
        passes
    }

    /// The bits that a block keeps when a new version of it goes to another slot.
    pub fn kept(&self, slot: Slot) -> u16 {
        self.slots[slot.index()].flags & (PINNED | DESTAGING | NEWER | WANTED | QUEUED | ALONE)
    }

    /// Bytes of memory a slot.
    pub fn bytes_per_slot() -> usize {
        size_of::<Held>()
    }
}

impl Table for Slots {
    fn entry(&self, slot: Slot) -> Entry {
        let holding = match self.state(slot) {
            State::Free | State::Limbo => return Entry::default(),
            State::Clean => Holding::Clean,
            State::Dirty if self.has(slot, SUPERSEDED) => Holding::Superseded,
            State::Dirty => Holding::Dirty,
        };
        Entry { holding, block: self.block(slot), crc: self.crc(slot), stamp: self.since(slot) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_keeps_its_state_beside_its_bits() {
        let mut slots = Slots::new(3);
        assert_eq!((slots.len(), slots.state(Slot(1))), (3, State::Free));
        slots.hold(Slot(1), Block(77), 0xabcd, State::Dirty);
        slots.mark(Slot(1), PINNED | WANTED);
        assert_eq!((slots.block(Slot(1)), slots.crc(Slot(1)), slots.state(Slot(1))), (Block(77), 0xabcd, State::Dirty));
        slots.set_state(Slot(1), State::Clean);
        assert!(slots.has(Slot(1), PINNED) && slots.has(Slot(1), WANTED) && !slots.has(Slot(1), LOST));
        slots.unmark(Slot(1), WANTED);
        assert!(slots.has(Slot(1), PINNED) && !slots.has(Slot(1), WANTED) && slots.state(Slot(1)) == State::Clean);
        assert_eq!(slots.state(Slot(0)), State::Free);
    }

    #[test]
    fn the_fallow_hand_counts_to_three_and_a_touch_begins_anew() {
        let mut slots = Slots::new(1);
        slots.hold(Slot(0), Block(5), 0, State::Dirty);
        assert_eq!([slots.pass(Slot(0)), slots.pass(Slot(0)), slots.pass(Slot(0)), slots.pass(Slot(0))], [1, 2, 3, 3]);
        slots.touch(Slot(0));
        assert_eq!(slots.pass(Slot(0)), 1);
        assert!(slots.dirty(Slot(0)));
    }

    #[test]
    fn readers_are_counted() {
        let mut slots = Slots::new(1);
        slots.read_begins(Slot(0));
        slots.read_begins(Slot(0));
        assert_eq!(slots.read_ends(Slot(0)), 1);
        assert_eq!((slots.readers(Slot(0)), slots.read_ends(Slot(0))), (1, 0));
    }
}
