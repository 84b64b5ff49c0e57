//! The members of an array: what each is given, what it answers, and whether it works.

use std::collections::VecDeque;

use flatwater_core::slab::{Key as _, Slab};

use super::op::{Op, OpId};
use crate::storage::{Device, Ended, Failure, Incident, Operation};

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
struct Member {
    device: Box<dyn Device>,
    state: State,
    waiting: VecDeque<OpId>,
    in_flight: Vec<OpId>,
    /// Where its last command was.
    offset: u64,
    /// Commands that it was given.
    #[cfg(test)]
    given: u64,
}

impl Member {
    /// A member that works and has nothing to do.
    fn new(device: Box<dyn Device>) -> Self {
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

    /// When something happens to it next; `u64::MAX`: nothing.
    fn due_ns(&self) -> u64 {
        if self.state == State::Failed { u64::MAX } else { self.device.next_ns().unwrap_or(u64::MAX) }
    }
}

/// How a member's command ended.
pub(super) type Settled = (Op, Result<(), Failure>);

/// The members, and the commands that they have.
pub(super) struct Members {
    list: Vec<Member>,
    ops: Slab<Op, OpId>,
    /// Commands that a member is given at once.
    queue_depth: usize,
    /// When something happens to each of them next (`u64::MAX`: nothing), and the first of these times. Whatever may
    /// change one of them calls `note_due`, so that nobody has to ask all members at each step.
    dues_ns: Vec<u64>,
    due_ns: u64,
}

impl Members {
    /// Members that work and have nothing to do.
    pub(super) fn new(devices: Vec<Box<dyn Device>>, queue_depth: usize) -> Self {
        let list: Vec<Member> = devices.into_iter().map(Member::new).collect();
        let dues_ns: Vec<u64> = list.iter().map(Member::due_ns).collect();
        let due_ns = dues_ns.iter().copied().min().unwrap_or(u64::MAX);
        Self { list, ops: Slab::new(), queue_depth, dues_ns, due_ns }
    }

    /// Their numbers.
    pub(super) fn numbers(&self) -> std::ops::Range<u32> {
        0..self.list.len() as u32
    }

    /// When something happens to the first of them; `u64::MAX`: nothing.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Whether a member has all of its data.
    pub(super) fn works(&self, member: u32) -> bool {
        self.list[member as usize].state == State::Working
    }

    /// Whether a member does not have a row.
    pub(super) fn is_absent(&self, member: u32, row: u64) -> bool {
        match self.list[member as usize].state {
            State::Working => false,
            State::Failed => true,
            State::Rebuilding { row: up_to } => row >= up_to,
        }
    }

    /// Whether a member has failed and was not replaced.
    pub(super) fn has_failed(&self, member: u32) -> bool {
        self.list[member as usize].state == State::Failed
    }

    /// How far a member is from reading at an offset: by what waits for it, then by where it is.
    pub(super) fn distance(&self, member: u32, offset: u64) -> (usize, u64) {
        let own = &self.list[member as usize];
        (own.waiting.len() + own.in_flight.len(), own.offset.abs_diff(offset))
    }

    /// Gives a member a command as soon as it takes one. A command to a member that has failed ends at once: it failed
    /// after this was planned, and the others hold what it does not take.
    #[must_use]
    pub(super) fn send(&mut self, now_ns: u64, op: Op) -> Option<Settled> {
        if self.has_failed(op.member) {
            return Some((op, lost(op)));
        }
        let id = self.ops.insert(op);
        self.list[op.member as usize].waiting.push_back(id);
        self.feed(now_ns, op.member);
        None
    }

    fn feed(&mut self, now_ns: u64, member: u32) {
        let own = &mut self.list[member as usize];
        while own.in_flight.len() < self.queue_depth
            && let Some(id) = own.waiting.pop_front()
        {
            let command = self.ops[id].command;
            own.in_flight.push(id);
            #[cfg(test)]
            {
                own.given += 1;
            }
            own.offset = command.offset + command.bytes;
            own.device.submit(now_ns, u64::from(id.number()), command);
        }
        self.note_due(member);
    }

    /// Something was done with a member: when something happens to it next.
    fn note_due(&mut self, member: u32) {
        self.dues_ns[member as usize] = self.list[member as usize].due_ns();
        self.due_ns = self.dues_ns.iter().fold(u64::MAX, |first_ns, due_ns| first_ns.min(*due_ns));
    }

    /// Lets time pass to `now_ns` for a member; appends what its device says has ended. Each of these is told of to
    /// `end` before another member is asked.
    pub(super) fn advance(&mut self, member: u32, now_ns: u64, ended: &mut Vec<Ended>) {
        if self.dues_ns[member as usize] > now_ns {
            return;
        }
        self.list[member as usize].device.advance(now_ns, ended);
        self.note_due(member);
    }

    /// A command of a member's device has ended, and the member takes the next. None where the member failed a moment
    /// ago: then it has nothing in flight any more.
    pub(super) fn end(&mut self, now_ns: u64, member: u32, ended: Ended) -> Option<Settled> {
        let id = OpId::from_number(ended.tag as u32);
        let own = &mut self.list[member as usize];
        let place = own.in_flight.iter().position(|other| *other == id)?;
        own.in_flight.swap_remove(place);
        self.feed(now_ns, member);
        Some((self.ops.remove(id), ended.result))
    }

    /// A member is gone.
    pub(super) fn fail(&mut self, member: u32) {
        self.list[member as usize].state = State::Failed;
        self.note_due(member);
    }

    /// How the commands of a member that is gone end, those in flight first.
    pub(super) fn orphans(&mut self, member: u32) -> Vec<Settled> {
        let own = &mut self.list[member as usize];
        let orphans: Vec<OpId> = own.in_flight.drain(..).chain(own.waiting.drain(..)).collect();
        let settled = |id| {
            let op = self.ops.remove(id);
            (op, lost(op))
        };
        orphans.into_iter().map(settled).collect()
    }

    /// A new device comes into a failed member's place, and has nothing yet.
    pub(super) fn replace(&mut self, now_ns: u64, member: u32, mut device: Box<dyn Device>) {
        // Its first interval begins now, not with the array's.
        device.observe(now_ns, &mut Vec::new());
        self.list[member as usize] = Member { state: State::Rebuilding { row: 0 }, ..Member::new(device) };
        self.note_due(member);
    }

    /// A member was rebuilt up to a row; with `all` it has them all.
    pub(super) fn rebuilt(&mut self, member: u32, row: u64, all: bool) {
        self.list[member as usize].state = if all { State::Working } else { State::Rebuilding { row } };
    }

    /// Appends the series of the members that matter to an array, and what happened to them.
    pub(super) fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>, told: &mut Vec<Incident>) {
        let mut own = Vec::new();
        for (number, member) in self.list.iter_mut().enumerate() {
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
                told.push(Incident { at_ns: incident.at_ns, text });
            }
        }
        // To be asked may settle what had happened by then.
        self.numbers().for_each(|member| self.note_due(member));
    }

    /// Commands that each member was given so far.
    #[cfg(test)]
    pub(super) fn given(&self) -> Vec<u64> {
        self.list.iter().map(|member| member.given).collect()
    }
}

/// How a command ends that a member did not take.
fn lost(op: Op) -> Result<(), Failure> {
    if op.command.operation == Operation::Read { Err(Failure::Medium) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::op::Owner;
    use super::*;
    use crate::storage::Command;
    use crate::storage::memory::{self, Memory};

    /// Members that answer each command after 10 ns, two commands at a time.
    fn members(count: u32) -> Members {
        let spec =
            memory::Spec { capacity_bytes: 1 << 20, latency_ns: 10, read_bytes_per_s: 1e15, write_bytes_per_s: 1e15 };
        let device = |_| Box::new(Memory::new(spec.clone()).unwrap()) as Box<dyn Device>;
        Members::new((0..count).map(device).collect(), 2)
    }

    fn op(member: u32, operation: Operation, offset: u64) -> Op {
        Op { owner: Owner::Work(0), member, command: Command { operation, offset, bytes: 512 }, chunk: None }
    }

    /// The offsets of what has ended for a member by `now_ns`.
    fn ended(members: &mut Members, member: u32, now_ns: u64) -> Vec<u64> {
        let mut ended = Vec::new();
        members.advance(member, now_ns, &mut ended);
        let settled = ended.into_iter().filter_map(|one| members.end(now_ns, member, one));
        settled.map(|(op, result)| result.map(|()| op.command.offset).unwrap()).collect()
    }

    #[test]
    fn a_member_has_its_depth_in_flight_and_the_others_wait() {
        let mut members = members(2);
        assert_eq!(members.due_ns(), u64::MAX);
        for offset in [0, 512, 1024] {
            assert!(members.send(0, op(1, Operation::Read, offset)).is_none());
        }
        assert_eq!((members.due_ns(), members.given()), (10, vec![0, 2]));
        assert_eq!((members.distance(1, 1024).0, members.distance(0, 0)), (3, (0, 0)));
        assert_eq!(ended(&mut members, 1, 10), [0, 512]);
        assert_eq!((members.due_ns(), members.given()), (20, vec![0, 3]));
        assert_eq!(ended(&mut members, 1, 20), [1024]);
    }

    #[test]
    fn of_a_failed_member_reads_fail_and_writes_are_with_the_others() {
        let mut members = members(2);
        assert!(members.send(0, op(0, Operation::Read, 0)).is_none());
        assert!(members.send(0, op(0, Operation::Write, 512)).is_none());
        assert!(members.send(0, op(0, Operation::Read, 1024)).is_none());
        members.fail(0);
        assert!(members.has_failed(0) && !members.works(0) && members.is_absent(0, 0) && members.works(1));
        let results: Vec<_> = members.orphans(0).into_iter().map(|(op, result)| (op.command.offset, result)).collect();
        assert_eq!(results, [(0, Err(Failure::Medium)), (512, Ok(())), (1024, Err(Failure::Medium))]);
        assert_eq!(members.due_ns(), u64::MAX, "nothing is asked of it any more");
        assert!(matches!(members.send(0, op(0, Operation::Write, 0)), Some((_, Ok(())))));
    }

    #[test]
    fn a_new_member_has_the_rows_that_were_rebuilt() {
        let mut members = members(2);
        members.fail(1);
        let spec =
            memory::Spec { capacity_bytes: 1 << 20, latency_ns: 10, read_bytes_per_s: 1e9, write_bytes_per_s: 1e9 };
        members.replace(5, 1, Box::new(Memory::new(spec).unwrap()));
        assert!(!members.has_failed(1) && !members.works(1) && members.is_absent(1, 0));
        members.rebuilt(1, 3, false);
        assert!(!members.is_absent(1, 2) && members.is_absent(1, 3));
        members.rebuilt(1, 4, true);
        assert!(members.works(1));
    }
}
