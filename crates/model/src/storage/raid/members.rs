//! The members of an array: the commands of each, how they end, and whether the member works.

use std::collections::VecDeque;

use flatwater_core::slab::{Key as _, Slab};

use super::ids::{MemberNo, OpId, RowNo};
use super::op::Op;
use crate::storage::{Device, Ended, Failure, Incident, Operation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Working,
    Failed,
    /// New, and rebuilt up to a row.
    Rebuilding {
        row: RowNo,
    },
}

/// A member.
struct Member {
    device: Box<dyn Device>,
    state: State,
    waiting: VecDeque<OpId>,
    in_flight: Vec<OpId>,
    /// Where its last command ended.
    offset: u64,
    /// Commands that it was given so far.
    #[cfg(test)]
    given: u64,
}

impl Member {
    /// A member that works and is idle.
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

    /// When its next event is due; `u64::MAX`: there is none.
    fn due_ns(&self) -> u64 {
        if self.state == State::Failed { u64::MAX } else { self.device.next_ns().unwrap_or(u64::MAX) }
    }
}

/// How a member's command ended.
pub(super) type Settled = (Op, Result<(), Failure>);

/// The members and their commands.
pub(super) struct Members {
    list: Vec<Member>,
    ops: Slab<Op, OpId>,
    /// Commands that a member has in flight at most.
    queue_depth: usize,
    /// When the next event of each member is due (`u64::MAX`: there is none), and the first of these times. Every change of
    /// a member calls `update_due`, so that a step need not look at all members.
    dues_ns: Vec<u64>,
    due_ns: u64,
}

impl Members {
    /// Members that work and are idle.
    pub(super) fn new(devices: Vec<Box<dyn Device>>, queue_depth: usize) -> Self {
        let list: Vec<Member> = devices.into_iter().map(Member::new).collect();
        let dues_ns: Vec<u64> = list.iter().map(Member::due_ns).collect();
        let due_ns = dues_ns.iter().copied().min().unwrap_or(u64::MAX);
        Self { list, ops: Slab::new(), queue_depth, dues_ns, due_ns }
    }

    /// Their numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = MemberNo> + Clone + use<> {
        MemberNo::first(self.list.len() as u32)
    }

    /// When the first event of any member is due; `u64::MAX`: there is none.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// The first member, from `from` on, that has an event due by `now_ns`.
    #[inline]
    pub(super) fn next_due(&self, from: MemberNo, now_ns: u64) -> Option<MemberNo> {
        if self.due_ns > now_ns {
            return None;
        }
        let first = self.dues_ns[from.index()..].iter().position(|due_ns| *due_ns <= now_ns)?;
        Some(MemberNo::new(from.number() + first as u32))
    }

    /// Whether a member has all of its data.
    pub(super) fn works(&self, member: MemberNo) -> bool {
        self.list[member.index()].state == State::Working
    }

    /// Whether a member does not have a row.
    #[inline]
    pub(super) fn is_absent(&self, member: MemberNo, row: RowNo) -> bool {
        match self.list[member.index()].state {
            State::Working => false,
            State::Failed => true,
            State::Rebuilding { row: up_to } => row >= up_to,
        }
    }

    /// Whether a member has failed and was not replaced.
    #[inline]
    pub(super) fn has_failed(&self, member: MemberNo) -> bool {
        self.list[member.index()].state == State::Failed
    }

    /// How far a member is from reading at an offset: first the number of its commands, then the distance of its last one.
    pub(super) fn distance(&self, member: MemberNo, offset: u64) -> (usize, u64) {
        let member = &self.list[member.index()];
        (member.waiting.len() + member.in_flight.len(), member.offset.abs_diff(offset))
    }

    /// Sends a command to a member as soon as the member takes one. A command to a failed member ends at once: the member
    /// failed after the command was planned, and the other members hold the data.
    #[must_use]
    pub(super) fn send(&mut self, now_ns: u64, op: Op) -> Option<Settled> {
        if self.has_failed(op.member) {
            return Some((op, lost(op)));
        }
        let id = self.ops.insert(op);
        self.list[op.member.index()].waiting.push_back(id);
        self.feed(now_ns, op.member);
        None
    }

    /// Gives a member waiting commands up to its queue depth.
    fn feed(&mut self, now_ns: u64, member: MemberNo) {
        let fed = &mut self.list[member.index()];
        if fed.waiting.is_empty() {
            return;
        }
        while fed.in_flight.len() < self.queue_depth
            && let Some(id) = fed.waiting.pop_front()
        {
            let command = self.ops[id].command;
            fed.in_flight.push(id);
            #[cfg(test)]
            {
                fed.given += 1;
            }
            fed.offset = command.offset + command.bytes;
            fed.device.submit(now_ns, u64::from(id.number()), command);
        }
        self.update_due(member);
    }

    /// Updates when the next event of a member is due.
    fn update_due(&mut self, member: MemberNo) {
        let due_ns = self.list[member.index()].due_ns();
        let before_ns = std::mem::replace(&mut self.dues_ns[member.index()], due_ns);
        // All members are looked at only if this one was the first and is later now.
        if due_ns <= self.due_ns {
            self.due_ns = due_ns;
        } else if before_ns == self.due_ns {
            self.due_ns = self.dues_ns.iter().fold(u64::MAX, |first_ns, due_ns| first_ns.min(*due_ns));
        }
    }

    /// Lets time pass to `now_ns` for a member, and appends the commands of its device that ended. The caller passes each of
    /// them to `end` before it advances another member.
    pub(super) fn advance(&mut self, member: MemberNo, now_ns: u64, ended: &mut Vec<Ended>) {
        self.list[member.index()].device.advance(now_ns, ended);
        self.update_due(member);
    }

    /// Ends a command of a member's device, and gives the member its next one. None if the member failed a moment ago: then
    /// it has nothing in flight any more.
    pub(super) fn end(&mut self, now_ns: u64, member: MemberNo, ended: Ended) -> Option<Settled> {
        let id = OpId::from_number(ended.tag as u32);
        let in_flight = &mut self.list[member.index()].in_flight;
        let place = in_flight.iter().position(|other| *other == id)?;
        in_flight.swap_remove(place);
        self.feed(now_ns, member);
        Some((self.ops.remove(id), ended.result))
    }

    /// A member fails.
    pub(super) fn fail(&mut self, member: MemberNo) {
        self.list[member.index()].state = State::Failed;
        self.update_due(member);
    }

    /// Ends all commands of a failed member, those in flight first.
    pub(super) fn orphans(&mut self, member: MemberNo) -> Vec<Settled> {
        let failed = &mut self.list[member.index()];
        let orphans: Vec<OpId> = failed.in_flight.drain(..).chain(failed.waiting.drain(..)).collect();
        let settled = |id| {
            let op = self.ops.remove(id);
            (op, lost(op))
        };
        orphans.into_iter().map(settled).collect()
    }

    /// Puts a new, empty device in the place of a failed member.
    pub(super) fn replace(&mut self, now_ns: u64, member: MemberNo, mut device: Box<dyn Device>) {
        // Its first interval begins now, not with that of the array.
        device.observe(now_ns, &mut Vec::new());
        self.list[member.index()] = Member { state: State::Rebuilding { row: RowNo::new(0) }, ..Member::new(device) };
        self.update_due(member);
    }

    /// A member was rebuilt up to a row; with `all` it has all rows.
    pub(super) fn rebuilt(&mut self, member: MemberNo, row: RowNo, all: bool) {
        self.list[member.index()].state = if all { State::Working } else { State::Rebuilding { row } };
    }

    /// Appends those series of the members that an array shows, and the incidents of the members.
    pub(super) fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>, incidents: &mut Vec<Incident>) {
        let mut of_member = Vec::new();
        for (number, member) in self.list.iter_mut().enumerate() {
            if member.state == State::Failed {
                continue;
            }
            member.device.observe(now_ns, &mut of_member);
            for (name, value) in of_member.drain(..) {
                if ["busy_pct", "dies_busy_pct", "media_wearout", "available_reserve_pct"].contains(&name.as_str()) {
                    series.push((format!("member{number}_{name}"), value));
                }
            }
            for incident in member.device.incidents() {
                let text = format!("member {number}: {}", incident.text);
                incidents.push(Incident { at_ns: incident.at_ns, text });
            }
        }
        // To observe a device may change its state up to now.
        self.numbers().for_each(|member| self.update_due(member));
    }

    /// Commands that each member was given so far.
    #[cfg(test)]
    pub(super) fn given(&self) -> Vec<u64> {
        self.list.iter().map(|member| member.given).collect()
    }
}

/// How a command ends that a failed member did not take.
fn lost(op: Op) -> Result<(), Failure> {
    if op.command.operation == Operation::Read { Err(Failure::Medium) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::ids::WorkNo;
    use super::super::op::Owner;
    use super::*;
    use crate::storage::Command;
    use crate::storage::memory::{self, Memory};

    const A: MemberNo = MemberNo::new(0);
    const B: MemberNo = MemberNo::new(1);

    fn row(number: u64) -> RowNo {
        RowNo::new(number)
    }

    /// Members that end each command after 10 ns, and take two commands at a time.
    fn members(count: u32) -> Members {
        let spec =
            memory::Spec { capacity_bytes: 1 << 20, latency_ns: 10, read_bytes_per_s: 1e15, write_bytes_per_s: 1e15 };
        let device = |_| Box::new(Memory::new(spec.clone()).unwrap()) as Box<dyn Device>;
        Members::new((0..count).map(device).collect(), 2)
    }

    fn op(member: MemberNo, operation: Operation, offset: u64) -> Op {
        Op {
            owner: Owner::Work(WorkNo::new(0)),
            member,
            command: Command { operation, offset, bytes: 512 },
            chunk: None,
        }
    }

    /// The offsets of the commands of a member that end by `now_ns`.
    fn ended(members: &mut Members, member: MemberNo, now_ns: u64) -> Vec<u64> {
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
            assert!(members.send(0, op(B, Operation::Read, offset)).is_none());
        }
        assert_eq!((members.due_ns(), members.given()), (10, vec![0, 2]));
        assert_eq!((members.distance(B, 1024).0, members.distance(A, 0)), (3, (0, 0)));
        assert_eq!(ended(&mut members, B, 10), [0, 512]);
        assert_eq!((members.due_ns(), members.given()), (20, vec![0, 3]));
        assert_eq!(ended(&mut members, B, 20), [1024]);
    }

    #[test]
    fn of_a_failed_member_reads_fail_and_writes_are_with_the_others() {
        let mut members = members(2);
        assert!(members.send(0, op(A, Operation::Read, 0)).is_none());
        assert!(members.send(0, op(A, Operation::Write, 512)).is_none());
        assert!(members.send(0, op(A, Operation::Read, 1024)).is_none());
        members.fail(A);
        assert!(members.has_failed(A) && !members.works(A) && members.is_absent(A, row(0)) && members.works(B));
        let results: Vec<_> = members.orphans(A).into_iter().map(|(op, result)| (op.command.offset, result)).collect();
        assert_eq!(results, [(0, Err(Failure::Medium)), (512, Ok(())), (1024, Err(Failure::Medium))]);
        assert_eq!(members.due_ns(), u64::MAX, "it has no events any more");
        assert!(matches!(members.send(0, op(A, Operation::Write, 0)), Some((_, Ok(())))));
    }

    #[test]
    fn a_new_member_has_the_rows_that_were_rebuilt() {
        let mut members = members(2);
        members.fail(B);
        let spec =
            memory::Spec { capacity_bytes: 1 << 20, latency_ns: 10, read_bytes_per_s: 1e9, write_bytes_per_s: 1e9 };
        members.replace(5, B, Box::new(Memory::new(spec).unwrap()));
        assert!(!members.has_failed(B) && !members.works(B) && members.is_absent(B, row(0)));
        members.rebuilt(B, row(3), false);
        assert!(!members.is_absent(B, row(2)) && members.is_absent(B, row(3)));
        members.rebuilt(B, row(4), true);
        assert!(members.works(B));
    }
}
