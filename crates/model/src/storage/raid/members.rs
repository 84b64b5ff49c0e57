//! The members of an array: what they are given, what they answer, and when they fail.

use std::collections::VecDeque;

use super::background::Task;
use super::layout::{Chunk, Level};
use super::{Op, Owner, Raid};
use crate::storage::{Command, Device, Failure, Operation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Working,
    Failed,
    /// New, and as it should be up to a row.
    Rebuilding {
        row: u64,
    },
}

/// A member.
pub struct Member {
    /// What it is.
    pub device: Box<dyn Device>,
    state: State,
    waiting: VecDeque<u32>,
    in_flight: Vec<u32>,
    /// Where its last command was.
    offset: u64,
    /// Commands that it was given.
    #[cfg(test)]
    given: u64,
}

impl Member {
    /// A member that works and has nothing to do.
    pub fn new(device: Box<dyn Device>) -> Self {
        Self {
            device,
            state: State::Working,
            waiting: VecDeque::new(),
            in_flight: Vec::new(),
            offset: 0,
            #[cfg(test)]
            given: 0,
        }
    }

    /// Whether it has all of its data.
    pub fn works(&self) -> bool {
        self.state == State::Working
    }

    /// When something happens to it next; `u64::MAX`: nothing.
    pub fn due_ns(&self) -> u64 {
        if self.state == State::Failed { u64::MAX } else { self.device.next_ns().unwrap_or(u64::MAX) }
    }

    /// Commands that it was given so far.
    #[cfg(test)]
    pub const fn given(&self) -> u64 {
        self.given
    }

    /// How far it is from reading at an offset: by what waits for it, then by where it is.
    pub fn distance(&self, offset: u64) -> (usize, u64) {
        (self.waiting.len() + self.in_flight.len(), self.offset.abs_diff(offset))
    }
}

impl Raid {
    /// Whether a member does not have a row.
    pub(super) fn is_absent(&self, member: u32, row: u64) -> bool {
        match self.members[member as usize].state {
            State::Working => false,
            State::Failed => true,
            State::Rebuilding { row: up_to } => row >= up_to,
        }
    }

    /// Whether a member has failed and was not replaced.
    pub(super) fn has_failed(&self, member: u32) -> bool {
        self.members[member as usize].state == State::Failed
    }

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
        let id = self.ops.insert(op);
        if self.has_failed(member) {
            // It failed after this was planned.
            self.settle(id, if operation == Operation::Read { Err(Failure::Medium) } else { Ok(()) });
            return;
        }
        self.members[member as usize].waiting.push_back(id);
        self.feed(member);
    }

    fn feed(&mut self, member: u32) {
        let (now_ns, depth) = (self.now_ns, self.spec.controller.member_queue_depth as usize);
        let own = &mut self.members[member as usize];
        while own.in_flight.len() < depth
            && let Some(id) = own.waiting.pop_front()
        {
            let command = self.ops.get(id).command;
            own.in_flight.push(id);
            #[cfg(test)]
            {
                own.given += 1;
            }
            own.offset = command.offset + command.bytes;
            own.device.submit(now_ns, u64::from(id), command);
        }
        self.note_due(member);
    }

    /// Something was done with a member: when something happens to it next.
    fn note_due(&mut self, member: u32) {
        self.dues_ns[member as usize] = self.members[member as usize].due_ns();
        self.due_ns = self.dues_ns.iter().fold(u64::MAX, |first_ns, due_ns| first_ns.min(*due_ns));
    }

    /// Lets time pass to `now_ns` for all members.
    pub(super) fn advance_members(&mut self, now_ns: u64) {
        let mut ended = std::mem::take(&mut self.ended);
        for member in 0..self.layout.members {
            if self.dues_ns[member as usize] > now_ns {
                continue;
            }
            self.members[member as usize].device.advance(now_ns, &mut ended);
            self.note_due(member);
            for one in ended.drain(..) {
                let own = &mut self.members[member as usize];
                let id = one.tag as u32;
                // A member that failed a moment ago has nothing in flight any more.
                let Some(place) = own.in_flight.iter().position(|other| *other == id) else { continue };
                own.in_flight.swap_remove(place);
                self.feed(member);
                self.settle(id, one.result);
            }
        }
        self.ended = ended;
    }

    /// A member's command is over.
    fn settle(&mut self, id: u32, mut result: Result<(), Failure>) {
        let op = self.ops.remove(id);
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
            Owner::Work(work) => self.work_part_ended(work, result.is_err() && !self.has_failed(op.member)),
        }
    }

    /// A chunk that was read stays in the memory.
    fn keep(&mut self, chunk: &Chunk) {
        for line in self.lines(chunk) {
            self.cache.fill(line);
        }
    }

    /// A member could not read: its mirror can, or all others together.
    fn read_elsewhere(&mut self, request: u32, chunk: Chunk, member: u32) {
        let (first, count) = self.layout.homes(chunk.row, chunk.unit);
        let at = chunk.row * self.layout.unit_bytes + chunk.from;
        let mirror = (first..first + count).find(|other| *other != member && !self.is_absent(*other, chunk.row));
        match mirror {
            Some(mirror) => {
                self.requests.get(request).pending += 1;
                let bytes = chunk.to - chunk.from;
                self.send(Owner::Request(request), mirror, Operation::Read, at, bytes, None);
            }
            None => self.reconstruct(request, chunk, member),
        }
    }

    /// A member is gone.
    pub(super) fn fail(&mut self, member: u32, why: &str) {
        if self.has_failed(member) {
            return;
        }
        self.members[member as usize].state = State::Failed;
        self.note_due(member);
        self.tell(format!("member {member} {why}"));
        for work in &mut self.works {
            // What was done on that member ends with it.
            *work = work.filter(|work| work.task == Task::Check || work.member != member);
        }
        if !self.lost && self.is_lost() {
            self.lost = true;
            self.tell("the array is lost: it needs more members than are left".into());
        }
        let own = &mut self.members[member as usize];
        let mut orphans: Vec<u32> = own.in_flight.drain(..).collect();
        orphans.extend(own.waiting.drain(..));
        for id in orphans {
            let reads = self.ops.get(id).command.operation == Operation::Read;
            self.settle(id, if reads { Err(Failure::Medium) } else { Ok(()) });
        }
        if self.lost {
            self.take_in();
        }
    }

    fn is_lost(&self) -> bool {
        let gone: Vec<bool> = self.members.iter().map(|member| !member.works()).collect();
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
            Ok(mut new) => {
                // Its first interval begins now, not with the array's.
                new.device.observe(self.now_ns, &mut Vec::new());
                self.members[member as usize] = Member { state: State::Rebuilding { row: 0 }, ..new };
                self.note_due(member);
                self.begin_work(Task::Rebuild, member, None);
            }
            Err(why) => self.tell(format!("member {member} could not be replaced: {why}")),
        }
    }

    /// A member was rebuilt up to a row.
    pub(super) fn rebuilt(&mut self, member: u32, row: u64) {
        let all = row >= self.layout.rows;
        self.members[member as usize].state = if all { State::Working } else { State::Rebuilding { row } };
    }

    /// Appends the series of the members that matter to an array.
    pub(super) fn observe_members(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>) {
        let mut own = Vec::new();
        for (number, member) in self.members.iter_mut().enumerate() {
            if member.state == State::Failed {
                continue;
            }
            member.device.observe(now_ns, &mut own);
            for (name, value) in own.drain(..) {
                if ["busy_pct", "dies_busy_pct", "media_wearout", "available_reserve_pct"].contains(&name.as_str()) {
                    series.push((format!("member{number}_{name}"), value));
                }
            }
            for incident in member.device.incidents() {
                let text = format!("member {number}: {}", incident.text);
                self.told.push(crate::storage::Incident { at_ns: incident.at_ns, text });
            }
        }
        // To be asked may settle what had happened by then.
        (0..self.layout.members).for_each(|member| self.note_due(member));
    }
}
