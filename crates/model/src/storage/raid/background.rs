//! What an array does beside the host's requests: patrol reads, consistency checks, rebuilds, and the spec's events.

use super::Raid;
use super::event::Event;
use super::op::Owner;
use super::spec::HappeningKind;
use super::work::{Task, Work};
use crate::storage::Operation;

impl Raid {
    /// Begins work that ends by itself, after `duration_ns` at the latest.
    pub(super) fn begin_work(&mut self, task: Task, member: u32, duration_ns: Option<u64>) {
        let now_ns = self.now_ns;
        let until_ns = duration_ns.map_or(u64::MAX, |ns| now_ns.saturating_add(ns));
        let work = Work {
            task,
            member,
            done: 0,
            pending: 0,
            writing: false,
            unread: 0,
            began_ns: now_ns,
            fastest_ns: u64::MAX,
            until_ns,
        };
        self.works.push(Some(work));
        self.events.push(now_ns, Event::Work(self.works.len() as u32 - 1));
        let first = task != Task::Patrol || self.works.iter().flatten().filter(|work| work.task == task).count() == 1;
        if first {
            self.tell(format!("{} began", self.name(task, member)));
        }
    }

    fn name(&self, task: Task, member: u32) -> String {
        match task {
            Task::Patrol => "patrol read".into(),
            Task::Check => "consistency check".into(),
            Task::Rebuild => format!("rebuild of member {member}"),
        }
    }

    fn member_bytes(&self) -> u64 {
        self.layout.rows * self.layout.unit_bytes
    }

    /// Reads the next part.
    pub(super) fn go_on(&mut self, id: u32) {
        let Some(mut work) = self.works[id as usize] else { return };
        if self.lost || work.done >= self.member_bytes() || self.now_ns >= work.until_ns {
            self.end_work(id, work);
            return;
        }
        let row = work.done / self.layout.unit_bytes;
        let sources: Vec<u32> = match work.task {
            Task::Patrol => vec![work.member],
            Task::Check => (0..self.layout.members).filter(|member| !self.members.is_absent(*member, row)).collect(),
            Task::Rebuild => self.sources_of(work.member, row),
        };
        let bytes = self.part_bytes(work.done);
        work.pending = sources.len() as u32;
        work.writing = false;
        work.began_ns = self.now_ns;
        self.works[id as usize] = Some(work);
        for member in sources {
            self.send(Owner::Work(id), member, Operation::Read, work.done, bytes, None);
        }
    }

    /// Whole rows, at most as many bytes as the spec says.
    fn part_bytes(&self, done: u64) -> u64 {
        let unit_bytes = self.layout.unit_bytes;
        let most = (self.spec.background.chunk_bytes / unit_bytes).max(1) * unit_bytes;
        most.min(self.member_bytes() - done)
    }

    /// The members that a member's content follows from.
    fn sources_of(&self, member: u32, row: u64) -> Vec<u32> {
        let unit = (0..self.layout.data_units()).find(|unit| {
            let (first, count) = self.layout.homes(row, *unit);
            count > 1 && (first..first + count).contains(&member)
        });
        let Some(unit) = unit else { return (0..self.layout.members).filter(|other| *other != member).collect() };
        let (first, count) = self.layout.homes(row, unit);
        let mut mirrors = first..first + count;
        mirrors.find(|other| *other != member && !self.members.is_absent(*other, row)).into_iter().collect()
    }

    /// A read or a write of background work is over.
    pub(super) fn work_part_ended(&mut self, id: u32, unread: bool) {
        let Some(mut work) = self.works[id as usize] else { return };
        work.pending -= 1;
        // A patrol read or a check repairs what it cannot read from the other members; a rebuild has no others.
        work.unread += u32::from(unread && work.task == Task::Rebuild);
        self.works[id as usize] = Some(work);
        if work.pending > 0 {
            return;
        }
        let bytes = self.part_bytes(work.done);
        if work.task == Task::Rebuild && !work.writing {
            (work.writing, work.pending) = (true, 1);
            self.works[id as usize] = Some(work);
            self.send(Owner::Work(id), work.member, Operation::Write, work.done, bytes, None);
            return;
        }
        work.done += bytes;
        work.fastest_ns = work.fastest_ns.min(self.now_ns - work.began_ns);
        self.works[id as usize] = Some(work);
        let share = match work.task {
            Task::Patrol => self.spec.background.patrol_share,
            Task::Check => self.spec.background.check_share,
            Task::Rebuild => {
                let row = work.done / self.layout.unit_bytes;
                self.members.rebuilt(work.member, row, row >= self.layout.rows);
                self.spec.background.rebuild_share
            }
        };
        let pause_ns = work.fastest_ns as f64 * (1.0 - share) / share;
        self.events.push(self.now_ns + pause_ns as u64, Event::Work(id));
    }

    fn end_work(&mut self, id: u32, work: Work) {
        self.works[id as usize] = None;
        if work.task == Task::Patrol && self.works.iter().flatten().any(|other| other.task == Task::Patrol) {
            return;
        }
        let done = work.done as f64 / self.member_bytes() as f64 * 100.0;
        let name = self.name(work.task, work.member);
        let but = match work.unread {
            0 => String::new(),
            parts => format!(", but {parts} parts could not be read and are lost"),
        };
        self.tell(if done >= 100.0 {
            format!("{name} ended{but}")
        } else {
            format!("{name} stopped at {done:.0} %{but}")
        });
    }

    /// Appends how far background work has come.
    pub(super) fn observe_works(&self, series: &mut Vec<(String, f64)>) {
        let names = [(Task::Rebuild, "rebuild_pct"), (Task::Patrol, "patrol_pct"), (Task::Check, "check_pct")];
        for (task, name) in names {
            let done = || self.works.iter().flatten().filter(|work| work.task == task).map(|work| work.done);
            let count = done().count();
            if count > 0 {
                let share = done().sum::<u64>() as f64 / count as f64 / self.member_bytes() as f64;
                series.push((name.into(), share * 100.0));
            }
        }
    }

    /// Something of the spec's events begins.
    pub(super) fn begin_happening(&mut self, number: u32) {
        let event = self.spec.events[number as usize];
        if self.lost {
            return;
        }
        let member = event.member.unwrap_or(0);
        match event.kind {
            HappeningKind::Relearn => {
                self.relearns += 1;
                self.tell("relearn of the battery began: write-through".into());
                let ns = event.duration_ns.unwrap_or(self.spec.background.relearn_ns);
                self.events.push(self.now_ns + ns, Event::Finish(number));
                self.take_in();
            }
            HappeningKind::Patrol => {
                for member in 0..self.layout.members {
                    if !self.members.has_failed(member) {
                        self.begin_work(Task::Patrol, member, event.duration_ns);
                    }
                }
            }
            HappeningKind::Check => self.begin_work(Task::Check, 0, event.duration_ns),
            HappeningKind::Fail => self.fail(member, "failed"),
            HappeningKind::Replace if self.members.has_failed(member) => self.replace(member),
            HappeningKind::Replace => self.tell(format!("member {member} was not replaced: it works")),
        }
    }

    /// A relearn is over.
    pub(super) fn end_happening(&mut self, number: u32) {
        if self.spec.events[number as usize].kind == HappeningKind::Relearn {
            self.relearns -= 1;
            let then = if self.writes_back() { "write-back" } else { "write-through" };
            self.tell(format!("relearn of the battery ended: {then}"));
        }
    }
}
