//! What an array does when a member's command is over, and when a member fails or is replaced.

use super::Raid;
use super::layout::{Chunk, Level};
use super::members::Settled;
use super::op::{Op, Owner, RequestId};
use super::work::Task;
use crate::storage::{Command, Failure, Operation};

impl Raid {
    /// Gives a member a command as soon as it takes one. The owner's `pending` is the caller's matter.
    pub(super) fn send(
        &mut self,
        owner: Owner,
        member: u32,
        operation: Operation,
        offset: u64,
        bytes: u64,
        chunk: Option<Chunk>,
    ) {
        let op = Op { owner, member, command: Command { operation, offset, bytes }, chunk };
        if let Some(settled) = self.members.send(self.now_ns, op) {
            self.settle(settled);
        }
    }

    /// Lets time pass to `now_ns` for all members.
    pub(super) fn advance_members(&mut self, now_ns: u64) {
        let mut ended = std::mem::take(&mut self.ended);
        for member in self.members.numbers() {
            self.members.advance(member, now_ns, &mut ended);
            for one in ended.drain(..) {
                if let Some(settled) = self.members.end(now_ns, member, one) {
                    self.settle(settled);
                }
            }
        }
        self.ended = ended;
    }

    /// A member's command is over.
    fn settle(&mut self, (op, mut result): Settled) {
        if op.command.operation == Operation::Write
            && let Err(failure) = result
        {
            let why =
                if failure == Failure::ReadOnly { "only reads any more: it is worn out" } else { "failed to write" };
            self.fail(op.member, why);
            // The others hold what this one did not take.
            result = Ok(());
        }
        match op.owner {
            Owner::Request(id) => {
                if let Some(chunk) = op.chunk {
                    match result {
                        Ok(()) => self.keep(&chunk),
                        Err(_) if !self.lost => {
                            self.read_elsewhere(id, chunk, op.member);
                            result = Ok(());
                        }
                        Err(_) => {}
                    }
                }
                self.part_ended(id, result);
            }
            Owner::Update(update) => self.update_part_ended(update),
            // Of a member that fails, that is told already.
            Owner::Work(work) => self.work_part_ended(work, result.is_err() && !self.members.has_failed(op.member)),
        }
    }

    /// A chunk that was read stays in the memory.
    fn keep(&mut self, chunk: &Chunk) {
        for line in self.lines(chunk) {
            self.cache.fill(line);
        }
    }

    /// A member could not read: its mirror can, or all others together.
    fn read_elsewhere(&mut self, request: RequestId, chunk: Chunk, member: u32) {
        let (first, count) = self.layout.homes(chunk.row, chunk.unit);
        let at = chunk.row * self.layout.unit_bytes + chunk.from;
        let mirror =
            (first..first + count).find(|other| *other != member && !self.members.is_absent(*other, chunk.row));
        match mirror {
            Some(mirror) => {
                self.requests[request].pending += 1;
                let bytes = chunk.to - chunk.from;
                self.send(Owner::Request(request), mirror, Operation::Read, at, bytes, None);
            }
            None => self.reconstruct(request, chunk, member),
        }
    }

    /// A member is gone.
    pub(super) fn fail(&mut self, member: u32, why: &str) {
        if self.members.has_failed(member) {
            return;
        }
        self.members.fail(member);
        self.tell(format!("member {member} {why}"));
        for work in &mut self.works {
            // What was done on that member ends with it.
            *work = work.filter(|work| work.task == Task::Check || work.member != member);
        }
        if !self.lost && self.is_lost() {
            self.lost = true;
            self.tell("the array is lost: it needs more members than are left".into());
        }
        for settled in self.members.orphans(member) {
            self.settle(settled);
        }
        if self.lost {
            self.take_in();
        }
    }

    fn is_lost(&self) -> bool {
        let gone: Vec<bool> = self.members.numbers().map(|member| !self.members.works(member)).collect();
        match self.layout.level {
            Level::Raid0 => gone.contains(&true),
            Level::Raid1 => !gone.contains(&false),
            Level::Raid10 => gone.chunks(2).any(|pair| pair == [true, true]),
            Level::Raid5 => gone.iter().filter(|gone| **gone).count() > 1,
        }
    }

    /// A new device comes into a failed member's place.
    pub(super) fn replace(&mut self, member: u32) {
        self.replaced += 1;
        match self.spec.open_member(self.opening, member, self.replaced) {
            Ok(device) => {
                self.members.replace(self.now_ns, member, device);
                self.begin_work(Task::Rebuild, member, None);
            }
            Err(why) => self.tell(format!("member {member} could not be replaced: {why}")),
        }
    }
}
