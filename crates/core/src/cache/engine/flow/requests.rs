//! Requests: taken, cut into parts, answered; and parts that wait for their block.

use super::super::admission::Passage;
use super::super::counts::Event;
use super::super::durability::Waiter;
use super::super::keys::RequestId;
use super::super::locks::Owner;
use super::super::requests::Part;
use super::super::{Engine, Turn};
use crate::cache::{Acknowledge, Block, Failure, Kind, Memory, Request};

impl Engine {
    /// Takes a request in.
    pub(in super::super) fn ask<M: Memory>(&mut self, request: Request, turn: &mut Turn<M>) {
        // It is looked for further down: what it takes to find it comes from memory meanwhile.
        self.contents.prefetch(self.addresses.block_at(request.offset));
        self.write_back.user_asks(turn.now_ns);
        if self.commands.is_closed() {
            return turn.out.answers.push((request.tag, Err(Failure::Stopping)));
        }
        let end = request.offset.checked_add(u64::from(request.bytes));
        if end.is_none_or(|end| end > self.bytes()) || !(request.offset | u64::from(request.bytes)).is_multiple_of(512)
        {
            return turn.out.answers.push((request.tag, Err(Failure::Outside)));
        }
        if request.kind == Kind::Flush {
            let id = self.requests.accept(request, false, turn.now_ns);
            self.counts.add(Event::Flush);
            self.close_epoch(turn.now_ns);
            return self.durability.wait_for_user(id, true, self.ordered());
        }
        let passage = self.admission.passage(&self.settings, &request);
        if passage == Passage::Streams {
            let read = request.kind == Kind::Read;
            self.counts.add(if read { Event::SequentialRead } else { Event::SequentialWrite });
        }
        let id = self.requests.accept(request, passage != Passage::ComesIn, turn.now_ns);
        self.advance(id, turn);
    }

    /// Cuts more of a request, as far as parts may be under way; answers it when nothing is left.
    pub(in super::super) fn advance<M: Memory>(&mut self, id: RequestId, turn: &mut Turn<M>) {
        if !self.requests.begin_cutting(id) {
            return;
        }
        while let Some((part, rest)) = self.requests.next_part(id, &self.addresses) {
            self.counts.touch(part.block);
            let kind = self.requests.kind(&part);
            let taken = if kind == Kind::Trim && self.ordered() {
                // A trim may leave all as it was, and going past the cache would be out of order.
                self.part_ended(id, Ok(()), turn);
                part.bytes
            } else if kind == Kind::Read {
                self.counts.add(Event::Read);
                self.read(part, rest, turn)
            } else {
                self.counts.add(Event::Write);
                self.write(part, rest, turn)
            };
            self.requests.cut(id, taken);
        }
        if self.requests.end_cutting(id).is_some() {
            self.all_parts_ended(id, turn);
        }
    }

    /// A part of a request ended.
    #[inline]
    pub(in super::super) fn part_ended<M: Memory>(
        &mut self,
        id: RequestId,
        result: Result<(), Failure>,
        turn: &mut Turn<M>,
    ) {
        if self.requests.part_ended(id, result).is_some() {
            self.all_parts_ended(id, turn);
        }
    }

    /// All of a request was done; it may still have to become durable.
    fn all_parts_ended<M: Memory>(&mut self, id: RequestId, turn: &mut Turn<M>) {
        if let Some((request, lsn)) = self.requests.done(id) {
            if request.durable {
                return self.durability.wait_for_user(id, false, self.ordered());
            }
            let waiter = Waiter::Request(id);
            if lsn > self.durability.durable() && self.settings.acknowledge == Acknowledge::Journaled {
                return self.durability.wait_recorded(lsn, waiter);
            }
            if lsn > self.durability.written() {
                return self.durability.wait_written(lsn, waiter);
            }
        }
        self.answer(id, turn);
    }

    /// Answers a request.
    pub(in super::super) fn answer<M: Memory>(&mut self, id: RequestId, turn: &mut Turn<M>) {
        let answer = self.requests.answer(id);
        self.counts.latency(answer.kind, turn.now_ns - answer.since_ns);
        turn.out.answers.push((answer.tag, answer.result));
    }

    /// A part whose block has an owner waits, if it cannot be served out of the owner's buffer.
    pub(in super::super) fn wait<M: Memory>(&mut self, part: Part, turn: &mut Turn<M>) {
        if let Some(Owner::Fill(fill)) = self.locks.owner(part.block)
            && self.locks.first(part.block).is_none()
            && self.requests.kind(&part) == Kind::Read
            && let Some(from) = self.fills.data(fill, part.block, part.from, self.addresses.block_bytes())
        {
            turn.memory.copy(from, self.requests.place(&part), part.bytes);
            self.counts.add(Event::ReadHit);
            return self.part_ended(part.request, Ok(()), turn);
        }
        self.counts.add(Event::PendingEnqueue);
        self.locks.wait(part.block, part);
    }

    /// Holds a block no more: those that wait for it go on.
    pub(in super::super) fn unlock<M: Memory>(&mut self, block: Block, turn: &mut Turn<M>) {
        if self.locks.release_if_last(block) {
            return;
        }
        self.locks.hold(block, Owner::Nobody);
        while let Some(part) = self.locks.pop(block) {
            let took = match self.requests.kind(&part) {
                Kind::Read => self.read_now(part, turn),
                _ => self.write_now(part, turn),
            };
            if took {
                return;
            }
        }
        self.locks.release(block);
    }

    /// Whether a block can be cached at all, as things stand.
    #[inline]
    pub(in super::super) fn may_cache(&self, block: Block) -> bool {
        block.0 < self.addresses.whole_blocks() && !self.degraded()
    }
}
