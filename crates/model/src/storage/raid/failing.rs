//! What an array does when a command of a member ends, and when a member fails or is replaced.

use super::Raid;
use super::ids::{MemberNo, RequestId};
use super::layout::{Chunk, Level};
use super::members::Settled;
use super::op::{Op, Owner};
use super::work::Task;
use crate::storage::{Command, Failure, Operation};

impl Raid {
    /// Sends a command to a member as soon as the member takes one. The caller counts it in the owner's `pending`.
    pub(super) fn send(
        &mut self,
        owner: Owner,
        member: MemberNo,
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
        let mut from = MemberNo::new(0);
        while let Some(member) = self.members.next_due(from, now_ns) {
            from = MemberNo::new(member.number() + 1);
            self.members.advance(member, now_ns, &mut ended);
            for end in ended.drain(..) {
                if let Some(settled) = self.members.end(now_ns, member, end) {
                    self.settle(settled);
                }
            }
        }
        self.ended = ended;
    }

    /// Goes on with the owner of a command that ended.
    fn settle(&mut self, (op, mut result): Settled) {
        if op.command.operation == Operation::Write
            && let Err(failure) = result
        {
            let why =
                if failure == Failure::ReadOnly { "only reads any more: it is worn out" } else { "failed to write" };
            self.fail(op.member, why);
            // The other members hold the data that this one did not take.
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
            // The failure of a member is an incident of its own.
            Owner::Work(work) => self.work_part_ended(work, result.is_err() && !self.members.has_failed(op.member)),
        }
    }

    /// Keeps the lines of a chunk that was read in the memory.
    fn keep(&mut self, chunk: &Chunk) {
        for line in self.lines(chunk).iter() {
            self.cache.fill(line);
        }
    }

    /// Reads a chunk that a member could not read from its mirror, or from all other members.
    fn read_elsewhere(&mut self, request: RequestId, chunk: Chunk, member: MemberNo) {
        let mut homes = self.layout.homes(chunk.row, chunk.unit);
        let at = self.layout.offset(chunk.row) + chunk.from;
        let mirror = homes.find(|other| *other != member && !self.members.is_absent(*other, chunk.row));
        match mirror {
            Some(mirror) => {
                self.requests[request].pending += 1;
                self.send(Owner::Request(request), mirror, Operation::Read, at, chunk.bytes(), None);
            }
            None => self.reconstruct(request, chunk, member),
        }
    }

    /// Fails a member: its commands end, and the array may be lost with it.
    pub(super) fn fail(&mut self, member: MemberNo, why: &str) {
        if self.members.has_failed(member) {
            return;
        }
        self.members.fail(member);
        self.report(format!("member {member} {why}"));
        self.works.end_of_member(member);
        if !self.lost && self.is_lost() {
            self.lost = true;
            self.report("the array is lost: it needs more members than are left".into());
        }
        for settled in self.members.orphans(member) {
            self.settle(settled);
        }
        if self.lost {
            self.take_in();
        }
    }

    /// Whether the members that work do not have all data.
    fn is_lost(&self) -> bool {
        let gone: Vec<bool> = self.members.numbers().map(|member| !self.members.works(member)).collect();
        match self.layout.level {
            Level::Raid0 => gone.contains(&true),
            Level::Raid1 => !gone.contains(&false),
            Level::Raid10 => gone.chunks(2).any(|pair| pair == [true, true]),
            Level::Raid5 => gone.iter().filter(|gone| **gone).count() > 1,
        }
    }

    /// Puts a new device in the place of a failed member, and begins to rebuild it.
    pub(super) fn replace(&mut self, member: MemberNo) {
        self.replaced += 1;
        match self.spec.open_member(self.opening, member, self.replaced) {
            Ok(device) => {
                self.members.replace(self.now_ns, member, device);
                self.begin_work(Task::Rebuild, member, None);
            }
            Err(why) => self.report(format!("member {member} could not be replaced: {why}")),
        }
    }
}
