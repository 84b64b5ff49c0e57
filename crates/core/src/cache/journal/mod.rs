//! What makes a cache survive: superblocks, a journal of what each slot holds, two checkpoints in turn, recovery.

pub mod recovery;

/// Length of the pairing record.
pub const PAIR_BYTES: u64 = 4096;
