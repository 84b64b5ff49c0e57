//! Blocks that the slow device refused to take, and the pauses after that.

use std::collections::BTreeMap;

use crate::cache::Block;

/// The first and the longest pause after the slow device failed to take a write-back.
const PAUSE_FIRST_NS: u64 = 100_000_000;
const PAUSE_MOST_NS: u64 = 30_000_000_000;
/// Tries of a block after the first one, after which a user who asked for its write-back does not wait any more: 3 s, if
/// nothing else goes either.
const RETRIES_MAX: u32 = 5;
/// Nor does a user wait longer than this while one block or another is refused.
const REFUSED_NS_MAX: u64 = 10_000_000_000;

/// Refused blocks, since a user last asked for a write-back.
#[derive(Default)]
pub(super) struct Refusals {
    /// How often each block was refused.
    blocks: BTreeMap<Block, u32>,
    /// Since when there is one.
    since_ns: u64,
    pause_ns: u64,
    resume_ns: u64,
}

impl Refusals {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
    }

    /// A block was taken after all, or need not be any more.
    pub(super) fn forget(&mut self, block: Block) {
        if !self.blocks.is_empty() {
            self.blocks.remove(&block);
        }
    }

    /// A block was refused.
    pub(super) fn add(&mut self, block: Block, now_ns: u64) {
        if self.blocks.is_empty() {
            self.since_ns = now_ns;
        }
        *self.blocks.entry(block).or_default() += 1;
    }

    /// The slow device took something: the next failure is the first one again.
    pub(super) fn succeeded(&mut self) {
        self.pause_ns = 0;
    }

    /// Whether the last write-back that ended failed too.
    pub(super) fn is_failing(&self) -> bool {
        self.pause_ns > 0
    }

    /// A write-back failed: a pause begins. Those that were begun together fail together, which counts as one failure.
    pub(super) fn failed(&mut self, now_ns: u64) {
        if now_ns >= self.resume_ns {
            self.pause_ns = (self.pause_ns * 2).clamp(PAUSE_FIRST_NS, PAUSE_MOST_NS);
            self.resume_ns = now_ns + self.pause_ns;
        }
    }

    /// When the pause ends.
    pub(super) fn resume_ns(&self) -> u64 {
        self.resume_ns
    }

    /// Whether a user who waits should be told that it fails. What else goes back meanwhile does not count: a full file
    /// takes what it has space for, and never the rest.
    pub(super) fn is_hopeless(&self, now_ns: u64) -> bool {
        let long = now_ns.saturating_sub(self.since_ns) > REFUSED_NS_MAX;
        long || self.blocks.values().any(|&tries| tries > RETRIES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_something_goes() {
        let mut refusals = Refusals::default();
        let mut pauses = Vec::new();
        for _ in 0..3 {
            let now_ns = refusals.resume_ns();
            refusals.failed(now_ns);
            refusals.failed(now_ns + 1);
            pauses.push(refusals.resume_ns() - now_ns);
        }
        assert_eq!(pauses, [PAUSE_FIRST_NS, 2 * PAUSE_FIRST_NS, 4 * PAUSE_FIRST_NS]);
        assert!(refusals.is_failing());
        refusals.succeeded();
        let now_ns = refusals.resume_ns();
        refusals.failed(now_ns);
        assert_eq!(refusals.resume_ns() - now_ns, PAUSE_FIRST_NS);
    }

    #[test]
    fn it_is_hopeless_after_six_tries_or_ten_seconds() {
        let mut refusals = Refusals::default();
        (0..=RETRIES_MAX).for_each(|_| {
            assert!(!refusals.is_hopeless(0));
            refusals.add(Block(1), 0);
        });
        assert!(refusals.is_hopeless(0));
        refusals.forget(Block(1));
        assert!(!refusals.is_hopeless(0));
        refusals.add(Block(2), 5);
        assert!(!refusals.is_hopeless(5 + REFUSED_NS_MAX) && refusals.is_hopeless(6 + REFUSED_NS_MAX));
    }
}
