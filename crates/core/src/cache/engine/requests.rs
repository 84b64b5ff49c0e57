//! Requests: cut into parts of one block, each answered when all its parts have ended.

use super::counts::Event;
use super::locks::Owner;
use super::{Engine, Turn, Waiter};
use crate::cache::slots::{SUPERSEDED, State};
use crate::cache::{Acknowledge, Block, Failure, Kind, Lsn, Memory, Place, Request, Slot};

/// Parts of one request under way at once: a request of any length goes through in steps.
const PARTS_MAX: u32 = 64;
/// Bytes of a run of blocks that go to the slow device as one IO.
pub(super) const RUN_BYTES: u32 = 1 << 20;

crate::slab_key!(
    /// A request under way.
    pub(super) AskedId
);

/// What a request wants of one block (or of a run of blocks, where they go past the cache together).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Whose.
    pub(super) asked: AskedId,
    /// The (first) block.
    pub(super) block: Block,
    /// First byte in it.
    pub(super) from: u32,
    /// Length.
    pub(super) bytes: u32,
    /// Where in the request's memory.
    pub(super) at: u32,
}

/// A request under way.
pub(super) struct Asked {
    pub(super) request: Request,
    pub(super) since_ns: u64,
    /// Bytes that were cut into parts.
    pub(super) cut: u32,
    /// Parts under way.
    pub(super) left: u32,
    pub(super) failure: Option<Failure>,
    /// Its misses do not come in: its process or its stream may not.
    pub(super) passes: bool,
    /// Records that must be written before the answer, or durable, as is acknowledged.
    pub(super) lsn: Lsn,
    /// `advance` is at work on it further up the stack.
    pub(super) busy: bool,
    /// All its parts ended.
    pub(super) done: bool,
}

impl Engine {
    /// Takes a request in.
    pub(super) fn ask<M: Memory>(&mut self, request: Request, turn: &mut Turn<M>) {
        // It is looked for further down: what it takes to find it comes from memory meanwhile.
        self.index.prefetch(Block((request.offset >> self.block_shift) as u32));
        self.last_request_ns = turn.now_ns;
        if self.stopping {
            return turn.out.answers.push((request.tag, Err(Failure::Stopping)));
        }
        let end = request.offset.checked_add(u64::from(request.bytes));
        if end.is_none_or(|end| end > self.bytes()) || !(request.offset | u64::from(request.bytes)).is_multiple_of(512)
        {
            return turn.out.answers.push((request.tag, Err(Failure::Outside)));
        }
        let passes = request.kind != Kind::Flush && self.passes(&request);
        let asked = self.asked.insert(Asked {
            request,
            since_ns: turn.now_ns,
            cut: 0,
            left: 0,
            failure: None,
            passes,
            lsn: Lsn(0),
            busy: false,
            done: false,
        });
        match request.kind {
            Kind::Flush => {
                self.counts.add(Event::Flush);
                self.close_epoch(turn.now_ns);
                self.durability.wait_for_user(asked, true, self.ordered());
            }
            _ => self.advance(asked, turn),
        }
    }

    /// Whether a request's misses go past the cache.
    fn passes(&mut self, request: &Request) -> bool {
        let settings = &self.settings;
        let (allow, deny) = (&settings.allow_processes, &settings.deny_processes);
        if !allow.is_empty() && !allow.contains(&request.process) || deny.contains(&request.process) {
            return true;
        }
        let threshold = settings.sequential_bytes;
        threshold != 0 && self.streams.length(request.offset, u64::from(request.bytes)) >= threshold && {
            match request.kind {
                Kind::Read => self.counts.add(Event::SequentialRead),
                _ => self.counts.add(Event::SequentialWrite),
            }
            true
        }
    }

    /// Cuts more of a request, as far as parts may be under way; answers it when nothing is left.
    pub(super) fn advance<M: Memory>(&mut self, number: AskedId, turn: &mut Turn<M>) {
        if self.asked[number].busy || self.asked[number].done {
            return;
        }
        self.asked[number].busy = true;
        loop {
            let asked = &self.asked[number];
            let Request { kind, offset, bytes, .. } = asked.request;
            if asked.cut == bytes || asked.left >= PARTS_MAX {
                break;
            }
            let place = offset + u64::from(asked.cut);
            let from = (place & self.block_mask) as u32;
            let part = Part {
                asked: number,
                block: Block((place >> self.block_shift) as u32),
                from,
                bytes: (self.block_bytes - from).min(bytes - asked.cut),
                at: asked.cut,
            };
            self.asked[number].left += 1;
            self.curve.touch(u64::from(part.block.0));
            let taken = if self.nothing_to_do(&part) {
                self.part_ended(number, Ok(()), turn);
                part.bytes
            } else if kind == Kind::Read {
                self.counts.add(Event::Read);
                self.read(part, bytes - part.at, turn)
            } else {
                self.counts.add(Event::Write);
                self.write(part, bytes - part.at, turn)
            };
            self.asked[number].cut += taken;
        }
        let asked = &mut self.asked[number];
        asked.busy = false;
        if asked.left == 0 && asked.cut == asked.request.bytes {
            self.all_parts_ended(number, turn);
        }
    }

    /// A part of a request ended.
    #[inline]
    pub(super) fn part_ended<M: Memory>(&mut self, number: AskedId, result: Result<(), Failure>, turn: &mut Turn<M>) {
        let asked = &mut self.asked[number];
        asked.left -= 1;
        if let Err(failure) = result {
            asked.failure = Some(failure);
        }
        if asked.left == 0 && !asked.busy && asked.cut == asked.request.bytes {
            self.all_parts_ended(number, turn);
        } else if asked.left < PARTS_MAX / 2 && asked.cut < asked.request.bytes {
            self.unfinished.push(number);
            self.due = true;
        }
    }

    /// All of a request was done; it may still have to become durable.
    fn all_parts_ended<M: Memory>(&mut self, number: AskedId, turn: &mut Turn<M>) {
        self.asked[number].done = true;
        let asked = &self.asked[number];
        let request = asked.request;
        if asked.failure.is_none() && request.kind != Kind::Read {
            if request.durable {
                return self.durability.wait_for_user(number, false, self.ordered());
            }
            let (lsn, waiter) = (asked.lsn, Waiter::Asked(number));
            if lsn > self.durability.durable() && self.settings.acknowledge == Acknowledge::Journaled {
                return self.durability.wait_recorded(lsn, waiter);
            }
            if lsn > self.durability.written() {
                return self.durability.wait_written(lsn, waiter);
            }
        }
        self.answer(number, turn);
    }

    /// Answers a request.
    pub(super) fn answer<M: Memory>(&mut self, number: AskedId, turn: &mut Turn<M>) {
        let asked = self.asked.remove(number);
        self.counts.latency(asked.request.kind, turn.now_ns - asked.since_ns);
        turn.out.answers.push((asked.request.tag, asked.failure.map_or(Ok(()), Err)));
    }

    /// The memory of a part.
    #[inline]
    pub(super) fn place(&self, part: &Part) -> Place {
        Place::Request { tag: self.asked[part.asked].request.tag, at: part.at }
    }

    /// The kind of request that a part belongs to.
    #[inline]
    pub(super) fn kind(&self, part: &Part) -> Kind {
        self.asked[part.asked].request.kind
    }

    /// Holds a block no more: who waits for it goes on.
    pub(super) fn unlock<M: Memory>(&mut self, block: Block, turn: &mut Turn<M>) {
        if self.locks.release_if_last(block) {
            return;
        }
        self.locks.hold(block, Owner::Nobody);
        while let Some(part) = self.locks.pop(block) {
            let took = match self.kind(&part) {
                Kind::Read => self.read_now(part, turn),
                _ => self.write_now(part, turn),
            };
            if took {
                return;
            }
        }
        self.locks.release(block);
    }

    /// How many of a run's bytes a part of so many blocks has, from `part.from`.
    pub(super) fn run_bytes(&self, from: u32, blocks: u32, rest: u32) -> u32 {
        (blocks * self.block_bytes - from).min(rest)
    }

    /// The blocks of a run may be so many.
    pub(super) fn run_blocks(&self) -> u32 {
        (RUN_BYTES / self.block_bytes).max(1)
    }

    /// A block and its neighbours will be looked for soon.
    #[inline]
    pub(super) fn neighbours_ahead(&self, block: Block) {
        for block in block.0.saturating_sub(1)..=block.0.saturating_add(1) {
            self.index.prefetch(Block(block));
        }
    }

    /// The slot of a block that was in `slot` (Slot::NONE: that was not cached) when its mutator began, which is still at work: it
    /// may have left meanwhile, but nobody else can have brought it in.
    #[inline]
    pub(super) fn still(&self, block: Block, slot: Slot) -> Slot {
        let held = slot != Slot::NONE
            && self.slots.block(slot) == block
            && !self.slots.has(slot, SUPERSEDED)
            && matches!(self.slots.state(slot), State::Clean | State::Dirty);
        let slot = if held { slot } else { Slot::NONE };
        debug_assert_eq!(slot, self.find(block));
        slot
    }

    /// The slot of a block that is cached.
    #[inline]
    pub(super) fn find(&self, block: Block) -> Slot {
        self.index.find(block, self.slots.blocks()).unwrap_or(Slot::NONE)
    }
}
