//! What the cache knows of each of its slots: few bytes a block, because there are many.

use super::journal::{Entry, Holding, Table};

/// No block, no slot.
pub const NONE: u32 = u32::MAX;

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
/// In limbo no more, as far as the journal goes: free as soon as its last reader has gone.
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
    /// The block of a slot; NONE, or any, if it holds none.
    fn block(&self, slot: u32) -> u32;

    /// How many slots there are.
    fn slots(&self) -> u32;
}

impl Blocks for [u32] {
    #[inline]
    fn block(&self, slot: u32) -> u32 {
        self[slot as usize]
    }

    fn slots(&self) -> u32 {
        self.len() as u32
    }
}

impl Blocks for Vec<u32> {
    #[inline]
    fn block(&self, slot: u32) -> u32 {
        self[slot as usize]
    }

    fn slots(&self) -> u32 {
        self.len() as u32
    }
}

impl Blocks for Slots {
    #[inline]
    fn block(&self, slot: u32) -> u32 {
        self.slots[slot as usize].block
    }

    fn slots(&self) -> u32 {
        self.len()
    }
}

/// The slots. Each is in one of four states; its block, its checksum and since when it is dirty mean something in the
/// states Clean and Dirty only.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    slots: Vec<Slot>,
}

/// A slot: what is used together, never across two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Slot {
    block: u32,
    crc: u32,
    since: u32,
    flags: u16,
    readers: u16,
}

impl Default for Slot {
    fn default() -> Self {
        Self { block: NONE, crc: 0, since: 0, flags: 0, readers: 0 }
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

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// More slots, free ones, or fewer: those that go must hold nothing.
    pub fn resize(&mut self, count: u32) {
        self.slots.resize(count as usize, Slot::default());
    }

    /// Each slot's block: what the index looks into.
    #[inline]
    pub fn blocks(&self) -> &Self {
        self
    }

    /// Has a slot brought nearer, for who will ask for it soon.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        super::bucket::prefetch(&self.slots, slot as usize);
    }

    /// What a slot holds.
    #[inline]
    pub fn state(&self, slot: u32) -> State {
        match self.slots[slot as usize].flags & STATE {
            0 => State::Free,
            1 => State::Limbo,
            2 => State::Clean,
            _ => State::Dirty,
        }
    }

    /// The block that a clean or dirty slot holds.
    #[inline]
    pub fn block(&self, slot: u32) -> u32 {
        self.slots[slot as usize].block
    }

    /// CRC-32C of what it holds.
    #[inline]
    pub fn crc(&self, slot: u32) -> u32 {
        self.slots[slot as usize].crc
    }

    /// When its block became dirty, in the engine's own units.
    #[inline]
    pub fn since(&self, slot: u32) -> u32 {
        self.slots[slot as usize].since
    }

    /// True when it is the only copy.
    #[inline]
    pub fn dirty(&self, slot: u32) -> bool {
        self.state(slot) == State::Dirty
    }

    /// Readers of the fast device that are under way: it must not be written over.
    #[inline]
    pub fn readers(&self, slot: u32) -> u16 {
        self.slots[slot as usize].readers
    }

    /// True when one of these bits is set.
    #[inline]
    pub fn has(&self, slot: u32, bits: u16) -> bool {
        self.slots[slot as usize].flags & bits != 0
    }

    /// All bits, for tests that fail.
    pub fn bits(&self, slot: u32) -> u16 {
        self.slots[slot as usize].flags
    }

    /// Sets bits.
    #[inline]
    pub fn mark(&mut self, slot: u32, bits: u16) {
        self.slots[slot as usize].flags |= bits;
    }

    /// Clears bits.
    #[inline]
    pub fn unmark(&mut self, slot: u32, bits: u16) {
        self.slots[slot as usize].flags &= !bits;
    }

    /// Fills a slot; its bits are cleared.
    #[inline]
    pub fn hold(&mut self, slot: u32, block: u32, crc: u32, state: State) {
        let slot = &mut self.slots[slot as usize];
        slot.block = block;
        slot.crc = crc;
        slot.flags = state as u16;
    }

    /// Says what will be in a slot that is being written.
    #[inline]
    pub fn set_crc(&mut self, slot: u32, crc: u32) {
        self.slots[slot as usize].crc = crc;
    }

    /// Changes what a slot is, and nothing else.
    #[inline]
    pub fn set_state(&mut self, slot: u32, state: State) {
        let flags = &mut self.slots[slot as usize].flags;
        *flags = *flags & !STATE | state as u16;
    }

    /// Says when its block became dirty.
    #[inline]
    pub fn set_since(&mut self, slot: u32, since: u32) {
        self.slots[slot as usize].since = since;
    }

    /// One reader more.
    #[inline]
    pub fn read_begins(&mut self, slot: u32) {
        self.slots[slot as usize].readers += 1;
    }

    /// One reader less.
    #[inline]
    pub fn read_ends(&mut self, slot: u32) -> u16 {
        let readers = &mut self.slots[slot as usize].readers;
        *readers -= 1;
        *readers
    }

    /// The block was used: the fallow hand begins to count again.
    #[inline]
    pub fn touch(&mut self, slot: u32) {
        self.slots[slot as usize].flags &= !PASSES;
    }

    /// The fallow hand goes by; how often it did since the block was touched, at most 3.
    #[inline]
    pub fn pass(&mut self, slot: u32) -> u16 {
        let flags = &mut self.slots[slot as usize].flags;
        let passes = (((*flags & PASSES) >> PASSES_SHIFT) + 1).min(3);
        *flags = *flags & !PASSES | passes << PASSES_SHIFT;
        passes
    }

    /// The bits that a block keeps when a new version of it goes to another slot.
    pub fn kept(&self, slot: u32) -> u16 {
        self.slots[slot as usize].flags & (PINNED | DESTAGING | NEWER | WANTED | QUEUED | ALONE)
    }

    /// Bytes of memory a slot.
    pub fn bytes_per_slot() -> usize {
        size_of::<Slot>()
    }
}

impl Table for Slots {
    fn entry(&self, slot: u32) -> Entry {
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
        assert_eq!((slots.len(), slots.state(1)), (3, State::Free));
        slots.hold(1, 77, 0xabcd, State::Dirty);
        slots.mark(1, PINNED | WANTED);
        assert_eq!((slots.block(1), slots.crc(1), slots.state(1)), (77, 0xabcd, State::Dirty));
        slots.set_state(1, State::Clean);
        assert!(slots.has(1, PINNED) && slots.has(1, WANTED) && !slots.has(1, LOST));
        slots.unmark(1, WANTED);
        assert!(slots.has(1, PINNED) && !slots.has(1, WANTED) && slots.state(1) == State::Clean);
        assert_eq!(slots.state(0), State::Free);
    }

    #[test]
    fn the_fallow_hand_counts_to_three_and_a_touch_begins_anew() {
        let mut slots = Slots::new(1);
        slots.hold(0, 5, 0, State::Dirty);
        assert_eq!([slots.pass(0), slots.pass(0), slots.pass(0), slots.pass(0)], [1, 2, 3, 3]);
        slots.touch(0);
        assert_eq!(slots.pass(0), 1);
        assert!(slots.dirty(0));
    }

    #[test]
    fn readers_are_counted() {
        let mut slots = Slots::new(1);
        slots.read_begins(0);
        slots.read_begins(0);
        assert_eq!(slots.read_ends(0), 1);
        assert_eq!((slots.readers(0), slots.read_ends(0)), (1, 0));
    }
}
