//! What an array does beside the host's requests: patrol reads, consistency checks, rebuilds, and the spec's events.

use super::Raid;
use super::event::Event;
use super::ids::{EventNo, MemberNo, RowNo, WorkNo};
use super::op::Owner;
use super::spec::HappeningKind;
use super::work::{Task, Work};
use crate::storage::Operation;

impl Raid {
    /// Begins work, which ends when it is done, but after `duration_ns` at the latest.
    pub(super) fn begin_work(&mut self, task: Task, member: MemberNo, duration_ns: Option<u64>) {
        let now_ns = self.now_ns;
        let until_ns = duration_ns.map_or(u64::MAX, |ns| now_ns.saturating_add(ns));
        let id = self.works.begin(task, member, now_ns, until_ns);
        self.events.push(now_ns, Event::Work(id));
        // A patrol read is one work for each member, and one incident for all of them.
        if task != Task::Patrol || self.works.count(task) == 1 {
            self.report(format!("{} began", self.name(task, member)));
        }
    }

    fn name(&self, task: Task, member: MemberNo) -> String {
        match task {
            Task::Patrol => "patrol read".into(),
            Task::Check => "consistency check".into(),
            Task::Rebuild => format!("rebuild of member {member}"),
        }
    }

    /// Bytes of a member that the array uses.
    pub(super) fn member_bytes(&self) -> u64 {
        self.layout.rows * self.layout.unit_bytes
    }

    /// Reads the next part of work.
    pub(super) fn continue_work(&mut self, id: WorkNo) {
        let Some(mut work) = self.works.get(id) else { return };
        if self.lost || work.done >= self.member_bytes() || self.now_ns >= work.until_ns {
            self.end_work(id, work);
            return;
        }
        let row = self.layout.row_at(work.done);
        let sources: Vec<MemberNo> = match work.task {
            Task::Patrol => vec![work.member],
            Task::Check => self.members.numbers().filter(|member| !self.members.is_absent(*member, row)).collect(),
            Task::Rebuild => self.sources_of(work.member, row),
        };
        let bytes = self.part_bytes(work.done);
        work.pending = sources.len() as u32;
        work.writing = false;
        work.began_ns = self.now_ns;
        self.works.set(id, work);
        for member in sources {
            self.send(Owner::Work(id), member, Operation::Read, work.done, bytes, None);
        }
    }

    /// Bytes of the next part: whole rows, and at most as many bytes as the spec says.
    fn part_bytes(&self, done: u64) -> u64 {
        let unit_bytes = self.layout.unit_bytes;
        let most = (self.spec.background.chunk_bytes / unit_bytes).max(1) * unit_bytes;
        most.min(self.member_bytes() - done)
    }

    /// The members from which the content of a member can be computed: a mirror of it, or all others.
    fn sources_of(&self, member: MemberNo, row: RowNo) -> Vec<MemberNo> {
        let mirrored = |unit: &u32| {
            let homes = self.layout.homes(row, *unit);
            homes.clone().count() > 1 && homes.clone().any(|home| home == member)
        };
        let Some(unit) = (0..self.layout.data_units()).find(mirrored) else {
            return self.members.numbers().filter(|other| *other != member).collect();
        };
        let mut mirrors = self.layout.homes(row, unit);
        mirrors.find(|other| *other != member && !self.members.is_absent(*other, row)).into_iter().collect()
    }

    /// Ends a read or a write of background work.
    pub(super) fn work_part_ended(&mut self, id: WorkNo, unread: bool) {
        let Some(mut work) = self.works.get(id) else { return };
        work.pending -= 1;
        // A patrol read or a check repairs an unreadable part from the other members. A rebuild has no other source.
        work.unread += u32::from(unread && work.task == Task::Rebuild);
        self.works.set(id, work);
        if work.pending > 0 {
            return;
        }
        let bytes = self.part_bytes(work.done);
        if work.task == Task::Rebuild && !work.writing {
            (work.writing, work.pending) = (true, 1);
            self.works.set(id, work);
            self.send(Owner::Work(id), work.member, Operation::Write, work.done, bytes, None);
            return;
        }
        work.done += bytes;
        work.fastest_ns = work.fastest_ns.min(self.now_ns - work.began_ns);
        self.works.set(id, work);
        let share = match work.task {
            Task::Patrol => self.spec.background.patrol_share,
            Task::Check => self.spec.background.check_share,
            Task::Rebuild => {
                let row = self.layout.row_at(work.done);
                self.members.rebuilt(work.member, row, row.number() >= self.layout.rows);
                self.spec.background.rebuild_share
            }
        };
        let pause_ns = work.fastest_ns as f64 * (1.0 - share) / share;
        self.events.push(self.now_ns + pause_ns as u64, Event::Work(id));
    }

    fn end_work(&mut self, id: WorkNo, work: Work) {
        self.works.end(id);
        if work.task == Task::Patrol && self.works.count(Task::Patrol) > 0 {
            return;
        }
        let done = work.done as f64 / self.member_bytes() as f64 * 100.0;
        let name = self.name(work.task, work.member);
        let but = match work.unread {
            0 => String::new(),
            parts => format!(", but {parts} parts could not be read and are lost"),
        };
        self.report(if done >= 100.0 {
            format!("{name} ended{but}")
        } else {
            format!("{name} stopped at {done:.0} %{but}")
        });
    }

    /// Begins an event of the spec.
    pub(super) fn begin_event(&mut self, number: EventNo) {
        let event = self.spec.events[number.index()];
        if self.lost {
            return;
        }
        let member = MemberNo::new(event.member.unwrap_or(0));
        match event.kind {
            HappeningKind::Relearn => {
                self.relearns += 1;
                self.report("relearn of the battery began: write-through".into());
                let ns = event.duration_ns.unwrap_or(self.spec.background.relearn_ns);
                self.events.push(self.now_ns + ns, Event::Finish(number));
                self.take_in();
            }
            HappeningKind::Patrol => {
                for member in self.members.numbers() {
                    if !self.members.has_failed(member) {
                        self.begin_work(Task::Patrol, member, event.duration_ns);
                    }
                }
            }
            HappeningKind::Check => self.begin_work(Task::Check, member, event.duration_ns),
            HappeningKind::Fail => self.fail(member, "failed"),
            HappeningKind::Replace if self.members.has_failed(member) => self.replace(member),
            HappeningKind::Replace => self.report(format!("member {member} was not replaced: it works")),
        }
    }

    /// Ends an event of the spec: a relearn.
    pub(super) fn end_event(&mut self, number: EventNo) {
        if self.spec.events[number.index()].kind == HappeningKind::Relearn {
            self.relearns -= 1;
            let then = if self.writes_back() { "write-back" } else { "write-through" };
            self.report(format!("relearn of the battery ended: {then}"));
        }
    }
}
