//! What the cache knows of each of its slots, in columns: few bytes a block, because there are many.

/// No block, no slot.
pub const NONE: u32 = u32::MAX;

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Nothing, and it may be written.
    Free = 0,
    /// Nothing any more, but until the journal says so durably it must not be written over.
    Limbo = 1,
    /// What the slow device holds too.
    Clean = 2,
    /// The only copy.
    Dirty = 3,
}
