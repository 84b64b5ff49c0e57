//! The progress of offline work.

/// The progress of offline work, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Done.
    pub done: u64,
    /// To be done in all.
    pub total: u64,
}
