//! Background work of an array, beside the host's requests.

use super::ids::{MemberNo, WorkNo};

/// Kinds of background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Reads one member from end to end.
    Patrol,
    /// Reads all members row by row.
    Check,
    /// Reads the other members and writes one member.
    Rebuild,
}

/// Background work under way.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// What it does.
    pub task: Task,
    /// The member; of a check: any.
    pub member: MemberNo,
    /// Bytes of a member that are done.
    pub(super) done: u64,
    pub(super) pending: u32,
    pub(super) writing: bool,
    /// Parts that a rebuild needed and that no member could read.
    pub(super) unread: u32,
    /// When the present part began.
    pub(super) began_ns: u64,
    /// How long the fastest part took. A part keeps the members busy for about this long; for the rest of its time it waits
    /// for requests of the host.
    pub(super) fastest_ns: u64,
    /// When it ends at the latest, done or not.
    pub(super) until_ns: u64,
}

/// All background work, in the order in which it began.
#[derive(Debug, Default)]
pub(super) struct Works {
    /// None: it ended.
    list: Vec<Option<Work>>,
}

impl Works {
    /// Begins work.
    pub(super) fn begin(&mut self, task: Task, member: MemberNo, now_ns: u64, until_ns: u64) -> WorkNo {
        self.list.push(Some(Work {
            task,
            member,
            done: 0,
            pending: 0,
            writing: false,
            unread: 0,
            began_ns: now_ns,
            fastest_ns: u64::MAX,
            until_ns,
        }));
        WorkNo::new(self.list.len() as u32 - 1)
    }

    /// The state of work; None: it ended.
    pub(super) fn get(&self, id: WorkNo) -> Option<Work> {
        self.list[id.index()]
    }

    /// Sets the state of work.
    pub(super) fn set(&mut self, id: WorkNo, work: Work) {
        self.list[id.index()] = Some(work);
    }

    /// Ends work.
    pub(super) fn end(&mut self, id: WorkNo) {
        self.list[id.index()] = None;
    }

    /// Ends all work on a failed member. A check goes on with the other members.
    pub(super) fn end_of_member(&mut self, member: MemberNo) {
        for work in &mut self.list {
            *work = work.filter(|work| work.task == Task::Check || work.member != member);
        }
    }

    /// How many works of a kind are under way.
    pub(super) fn count(&self, task: Task) -> usize {
        self.under_way(task).count()
    }

    fn under_way(&self, task: Task) -> impl Iterator<Item = &Work> {
        self.list.iter().flatten().filter(move |work| work.task == task)
    }

    /// Appends how much of a member's `member_bytes` each kind of work has done.
    pub(super) fn observe(&self, member_bytes: u64, series: &mut Vec<(String, f64)>) {
        let names = [(Task::Rebuild, "rebuild_pct"), (Task::Patrol, "patrol_pct"), (Task::Check, "check_pct")];
        for (task, name) in names {
            let count = self.count(task);
            if count > 0 {
                let done: u64 = self.under_way(task).map(|work| work.done).sum();
                let share = done as f64 / count as f64 / member_bytes as f64;
                series.push((name.into(), share * 100.0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_a_failed_member_ends_but_for_checks() {
        let [a, b] = [0, 1].map(MemberNo::new);
        let mut works = Works::default();
        let ids = [(Task::Patrol, a), (Task::Patrol, b), (Task::Check, a)]
            .map(|(task, member)| works.begin(task, member, 0, u64::MAX));
        works.set(ids[1], Work { done: 50, ..works.get(ids[1]).unwrap() });
        let mut series = Vec::new();
        works.observe(100, &mut series);
        assert_eq!(series, [("patrol_pct".to_owned(), 25.0), ("check_pct".to_owned(), 0.0)]);
        works.end_of_member(a);
        assert_eq!((works.count(Task::Patrol), works.count(Task::Check), works.get(ids[0]).is_none()), (1, 1, true));
        works.end(ids[2]);
        assert_eq!(works.count(Task::Check), 0);
    }
}
