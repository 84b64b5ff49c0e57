//! Write-backs that users asked for: begun, ended, given up.

use super::super::on_demand::Work;
use super::super::{Engine, Turn};
use crate::cache::slots::{LOST, WANTED};
use crate::cache::{Block, Failure, Memory, Slot};

impl Engine {
    /// Begins the next write-back that was asked for, if none is at work.
    pub(in super::super) fn next_on_demand(&mut self, now_ns: u64) {
        let Some((tag, range)) = self.on_demand.next() else { return };
        let work = if self.ordered() {
            let (last, versions) = self.close_all_epochs(now_ns);
            Work::Epochs { last, versions }
        } else {
            let (from, to) = range.map_or((Block(0), Block::NONE), |range| self.addresses.blocks_of(range));
            let mut blocks = Vec::new();
            for slot in self.contents.slots().all() {
                let slots = self.contents.slots();
                let block = slots.block(slot);
                if slots.dirty(slot) && (from..to).contains(&block) && !slots.has(slot, LOST) {
                    self.contents.mark(slot, WANTED);
                    blocks.push(block);
                }
            }
            blocks.sort_unstable_by(|a, b| b.cmp(a));
            Work::Blocks(blocks)
        };
        self.on_demand.begin(tag, range, work);
    }

    /// Ends the write-back that was asked for when nothing of it is left.
    pub(in super::super) fn end_on_demand<M: Memory>(&mut self, turn: &mut Turn<M>) {
        while let Some(answer) = self.on_demand.take_done() {
            turn.out.answers.push(answer);
            self.next_on_demand(turn.now_ns);
        }
    }

    /// The write-back that was asked for begins anew: what it waits for is counted in another way now.
    pub(in super::super) fn begin_on_demand_anew(&mut self, now_ns: u64) {
        if self.on_demand.begin_anew() {
            self.contents.unmark_all(WANTED);
            self.next_on_demand(now_ns);
        }
    }

    /// Ends the write-back that was asked for, which cannot be done.
    pub(in super::super) fn fail_on_demand<M: Memory>(&mut self, turn: &mut Turn<M>) {
        if let Some(tag) = self.on_demand.give_up() {
            turn.out.answers.push((tag, Err(Failure::Medium)));
            self.contents.unmark_all(WANTED);
            self.next_on_demand(turn.now_ns);
        }
    }

    /// Ends all write-backs that were asked for.
    pub(in super::super) fn stop_on_demand<M: Memory>(&mut self, turn: &mut Turn<M>) {
        if let Some(tag) = self.on_demand.give_up() {
            turn.out.answers.push((tag, Err(Failure::Busy)));
            self.contents.unmark_all(WANTED);
        }
        for tag in self.on_demand.give_up_waiting() {
            turn.out.answers.push((tag, Err(Failure::Busy)));
        }
    }

    /// A block that a user's write-back waits for was not written back, or an older version of it: once more.
    pub(in super::super) fn want_again(&mut self, block: Block, slot: Slot) {
        if self.contents.slots().has(slot, WANTED) {
            self.on_demand.once_more(block);
        }
    }

    /// A block that a user's write-back waits for is done with.
    pub(in super::super) fn wanted_no_more<M: Memory>(&mut self, slot: Slot, failed: bool, turn: &mut Turn<M>) {
        if self.contents.slots().has(slot, WANTED) {
            self.contents.unmark(slot, WANTED);
            self.on_demand.block_done(failed);
            self.end_on_demand(turn);
        }
    }
}
