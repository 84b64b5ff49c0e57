//! Write-backs that users asked for: one at a time, in the order in which they came.

use std::collections::VecDeque;

use crate::cache::{Block, Failure};

/// A range of bytes; None: everything.
pub(super) type Range = Option<(u64, u64)>;

/// What a write-back waits for.
pub(super) enum Work {
    /// These blocks, by address, the next one last.
    Blocks(Vec<Block>),
    /// With `ordered`: so many versions of all epochs up to this one.
    Epochs {
        /// The last epoch.
        last: u32,
        /// Versions of all of them.
        versions: u32,
    },
}

/// The write-back at work.
struct Current {
    tag: u64,
    range: Range,
    /// Blocks still to be begun.
    blocks: Vec<Block>,
    /// How many there were, and how many are left.
    total: u32,
    left: u32,
    failed: bool,
    /// With `ordered`: the last epoch that it waits for.
    epoch: u32,
}

/// Write-backs that users asked for.
#[derive(Default)]
pub(super) struct OnDemand {
    waiting: VecDeque<(u64, Range)>,
    current: Option<Current>,
    /// How many were begun.
    begun: u64,
    due: bool,
}

impl OnDemand {
    /// Whether something changed after which others may go on.
    #[inline]
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// Whether one is at work.
    #[inline]
    pub(super) fn is_at_work(&self) -> bool {
        self.current.is_some()
    }

    /// Those that were asked for and have not begun.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many were begun: which one is at work.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Blocks of the one at work, in all and left.
    pub(super) fn progress(&self) -> (u32, u32) {
        self.current.as_ref().map_or((0, 0), |current| (current.total, current.left))
    }

    /// A user asks for one.
    pub(super) fn ask(&mut self, tag: u64, range: Range) {
        self.waiting.push_back((tag, range));
    }

    /// Takes the next one that is to begin, if none is at work.
    pub(super) fn next(&mut self) -> Option<(u64, Range)> {
        if self.current.is_some() { None } else { self.waiting.pop_front() }
    }

    /// Begins the one that `next` gave.
    pub(super) fn begin(&mut self, tag: u64, range: Range, work: Work) {
        let (blocks, total, epoch) = match work {
            Work::Blocks(blocks) => {
                let total = blocks.len() as u32;
                (blocks, total, 0)
            }
            Work::Epochs { last, versions } => (Vec::new(), versions, last),
        };
        self.begun += 1;
        self.current = Some(Current { tag, range, blocks, total, left: total, failed: false, epoch });
    }

    /// The next block to be begun.
    pub(super) fn next_block(&mut self) -> Option<Block> {
        self.current.as_mut()?.blocks.pop()
    }

    /// A block was not written back, or an older version of it: once more, after all others, which may go.
    pub(super) fn once_more(&mut self, block: Block) {
        if let Some(current) = &mut self.current {
            current.blocks.insert(0, block);
        }
    }

    /// A block is done with.
    pub(super) fn block_done(&mut self, failed: bool) {
        if let Some(current) = &mut self.current {
            current.left -= 1;
            current.failed |= failed;
        }
    }

    /// With `ordered`: a version of an epoch went back, or never will.
    pub(super) fn version_done(&mut self, epoch: u32) {
        if let Some(current) = &mut self.current
            && epoch <= current.epoch
        {
            current.left -= 1;
            self.due = true;
        }
    }

    /// A version cannot be read: the one at work fails when it ends.
    pub(super) fn will_fail(&mut self) {
        if let Some(current) = &mut self.current {
            current.failed = true;
        }
    }

    /// Takes the one at work if nothing of it is left: whose it is, and how it ended.
    pub(super) fn take_done(&mut self) -> Option<(u64, Result<(), Failure>)> {
        let done = self.current.take_if(|current| current.left == 0)?;
        Some((done.tag, if done.failed { Err(Failure::Medium) } else { Ok(()) }))
    }

    /// The one at work begins anew; false: there is none.
    pub(super) fn begin_anew(&mut self) -> bool {
        let Some(current) = self.current.take() else { return false };
        self.waiting.push_front((current.tag, current.range));
        self.due = true;
        true
    }

    /// Gives up the one at work. Returns whose it is.
    pub(super) fn give_up(&mut self) -> Option<u64> {
        self.current.take().map(|current| current.tag)
    }

    /// Gives up those that have not begun. Returns whose they are.
    pub(super) fn give_up_waiting(&mut self) -> impl Iterator<Item = u64> + use<> {
        std::mem::take(&mut self.waiting).into_iter().map(|(tag, _)| tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_at_work_at_a_time() {
        let mut on_demand = OnDemand::default();
        on_demand.ask(1, None);
        on_demand.ask(2, Some((0, 4096)));
        assert_eq!((on_demand.next(), on_demand.waiting()), (Some((1, None)), 1));
        on_demand.begin(1, None, Work::Blocks(vec![Block(9), Block(4)]));
        assert_eq!((on_demand.next(), on_demand.next_block()), (None, Some(Block(4))));
        on_demand.once_more(Block(4));
        assert_eq!([on_demand.next_block(), on_demand.next_block()], [Some(Block(9)), Some(Block(4))]);
        on_demand.block_done(false);
        assert_eq!((on_demand.progress(), on_demand.take_done()), ((2, 1), None));
        on_demand.block_done(true);
        assert_eq!(on_demand.take_done(), Some((1, Err(Failure::Medium))));
        assert_eq!(on_demand.next(), Some((2, Some((0, 4096)))));
    }

    #[test]
    fn with_epochs_later_ones_do_not_count() {
        let mut on_demand = OnDemand::default();
        on_demand.begin(1, None, Work::Epochs { last: 5, versions: 1 });
        on_demand.version_done(6);
        assert_eq!((on_demand.take_done(), on_demand.take_due()), (None, false));
        on_demand.version_done(5);
        assert_eq!((on_demand.take_due(), on_demand.take_done()), (true, Some((1, Ok(())))));
    }

    #[test]
    fn one_that_begins_anew_comes_before_those_that_wait() {
        let mut on_demand = OnDemand::default();
        on_demand.ask(2, None);
        assert!(!on_demand.begin_anew());
        on_demand.begin(1, None, Work::Blocks(Vec::new()));
        assert!(on_demand.begin_anew() && on_demand.next() == Some((1, None)) && on_demand.begun() == 1);
        assert_eq!((on_demand.give_up(), on_demand.give_up_waiting().collect::<Vec<_>>()), (None, vec![2]));
    }
}
