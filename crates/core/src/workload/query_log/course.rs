//! The course of a log's times: what was written in one second is spread over it, and a clock that was set back goes on.

use std::collections::VecDeque;

use super::entry::Entry;

/// Threads write into a log in nearly the order of its times: one that is further back was written by another clock.
const STEP_US: i64 = 10_000_000;
/// Summer time sets a clock back by an hour, another zone by less than a day. A time that is further off is a damaged one, or
/// of another log.
const SET_BACK_US_MAX: i64 = 26 * 3_600_000_000;
/// A clock that was set back stays so. One that goes forward again within this time was that of one session (`SET timestamp`),
/// or of another server whose log lies in between.
const STAYS_US: i64 = 60_000_000;
/// The time of entries before the first time, if there are so many that none may come.
const UNTIMED_US: i64 = SECOND_US;
/// What is held of one second.
const HELD_MAX: usize = 1 << 17;
const HELD_BYTES_MAX: usize = 32 << 20;
const SECOND_US: i64 = 1_000_000;

/// A step back of the log's clock.
#[derive(Clone, Copy, Debug)]
struct Step {
    line: u64,
    /// The time behind it, and by how much the clock went back and is still.
    to_us: i64,
    by_us: i64,
}

/// Gives the entries of a log their places in time.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Entries before the first time of a general log that was begun within a second: they are of the second before.
    untimed: Vec<Entry>,
    /// Entries of the second that is being read, in the log's order.
    held: Vec<Entry>,
    held_bytes: usize,
    second_us: Option<i64>,
    /// The second has more entries than are held: they all stay at its begin.
    is_crowded: bool,
    /// When the log wrote the last entry, in its own clock.
    last_us: i64,
    /// By how much its clock was set back.
    set_back_us: i64,
    /// Steps back that may have been of one session only.
    steps: Vec<Step>,
    /// The line of the first entry that was written by a clock that was set back.
    pub(super) set_back_at: Option<u64>,
    /// The line of the first entry that is older by more than a clock is set back.
    pub(super) older_at: Option<u64>,
}

impl Course {
    /// Takes an entry; gives those whose time is known.
    pub(super) fn take(&mut self, entry: Entry, done: &mut VecDeque<Entry>) {
        let Some(logged_us) = entry.logged_us else { return done.push_back(entry) };
        if logged_us == 0 {
            self.untimed.push(entry);
            if self.untimed.len() == HELD_MAX {
                self.time_untimed(UNTIMED_US, done);
            }
            return;
        }
        if self.last_us == UNTIMED_US {
            self.set_back_us = UNTIMED_US - logged_us;
        }
        self.time_untimed(logged_us - SECOND_US, done);
        self.take_timed(entry, logged_us, done);
    }

    /// Gives what came before the first time its place.
    fn time_untimed(&mut self, second_us: i64, done: &mut VecDeque<Entry>) {
        let second_us = second_us - second_us % SECOND_US;
        for entry in std::mem::take(&mut self.untimed) {
            let second = Some(second_us);
            self.take_timed(Entry { at_us: second_us, logged_us: second, second_us: second, ..entry }, second_us, done);
        }
    }

    fn take_timed(&mut self, mut entry: Entry, logged_us: i64, done: &mut VecDeque<Entry>) {
        self.follow_clock(logged_us, entry.line);
        entry.at_us += self.set_back_us;
        if entry.second_us != self.second_us {
            self.end(done);
            (self.second_us, self.is_crowded) = (entry.second_us, false);
        }
        if entry.second_us.is_none() || self.is_crowded {
            return done.push_back(entry);
        }
        self.held_bytes += entry.sql.len();
        self.held.push(entry);
        if self.held.len() == HELD_MAX || self.held_bytes > HELD_BYTES_MAX {
            self.is_crowded = true;
            done.extend(self.held.drain(..));
            self.held_bytes = 0;
        }
    }

    fn follow_clock(&mut self, logged_us: i64, line: u64) {
        let step_us = if self.last_us == 0 { 0 } else { logged_us - self.last_us };
        self.last_us = logged_us;
        let settled =
            self.steps.iter().take_while(|step| logged_us > step.to_us + STAYS_US && step_us < STEP_US).count();
        if let Some(step) = self.steps.drain(..settled).next() {
            self.set_back_at.get_or_insert(step.line);
        }
        if step_us < -SET_BACK_US_MAX {
            self.older_at.get_or_insert(line);
        } else if step_us < -STEP_US {
            self.set_back_us -= step_us;
            self.steps.push(Step { line, to_us: logged_us, by_us: -step_us });
        }
        let mut forward_us = if step_us > STEP_US { step_us } else { 0 };
        while forward_us > 0
            && let Some(step) = self.steps.last_mut()
        {
            let undone_us = forward_us.min(step.by_us);
            step.by_us -= undone_us;
            self.set_back_us -= undone_us;
            forward_us -= undone_us;
            if step.by_us <= STEP_US {
                self.steps.pop();
            }
        }
    }

    /// The second is over: its entries are spread over it.
    fn end(&mut self, done: &mut VecDeque<Entry>) {
        let count = self.held.len() as i64;
        for (place, mut entry) in (0..).zip(self.held.drain(..)) {
            entry.at_us += place * SECOND_US / count;
            done.push_back(entry);
        }
        self.held_bytes = 0;
    }

    /// The log is over.
    pub(super) fn finish(&mut self, done: &mut VecDeque<Entry>) {
        self.time_untimed(UNTIMED_US, done);
        self.end(done);
        if let Some(step) = self.steps.first() {
            self.set_back_at.get_or_insert(step.line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(logged_s: f64, line: u64) -> Entry {
        let logged_us = (logged_s * 1e6) as i64;
        let second_us = (logged_us % SECOND_US == 0).then_some(logged_us);
        Entry { at_us: logged_us, logged_us: Some(logged_us), second_us, line, ..Entry::default() }
    }

    fn times_s(entries: &[Entry]) -> (Vec<f64>, Option<u64>) {
        let (mut course, mut done) = (Course::default(), VecDeque::new());
        for entry in entries {
            course.take(entry.clone(), &mut done);
        }
        course.finish(&mut done);
        let lines: Vec<u64> = done.iter().map(|entry| entry.line).collect();
        assert!(lines.is_sorted(), "{lines:?}");
        assert_eq!(done.len(), entries.len());
        (done.iter().map(|entry| entry.at_us as f64 / 1e6).collect(), course.set_back_at)
    }

    #[test]
    fn what_was_written_in_one_second_is_spread_over_it() {
        let seconds = [100.0, 100.0, 100.0, 100.0, 101.0, 103.0, 103.0];
        let entries: Vec<Entry> = (1..).zip(seconds).map(|(line, second)| entry(second, line)).collect();
        assert_eq!(times_s(&entries), (vec![100.0, 100.25, 100.5, 100.75, 101.0, 103.0, 103.5], None));
        let exact = [entry(100.25, 1), entry(100.25, 2), entry(101.5, 3)];
        assert_eq!(times_s(&exact).0, [100.25, 100.25, 101.5]);
    }

    #[test]
    fn what_comes_before_the_first_time_is_of_the_second_before() {
        let untimed = |line| Entry { logged_us: Some(0), second_us: Some(0), line, ..Entry::default() };
        assert_eq!(
            times_s(&[untimed(1), untimed(2), entry(101.0, 3), entry(102.0, 4)]).0,
            [100.0, 100.5, 101.0, 102.0]
        );
        assert_eq!(times_s(&[untimed(1), untimed(2)]).0, [1.0, 1.5]);
        let many: Vec<Entry> = (0..HELD_MAX as u64 + 1).map(untimed).chain([entry(101.0, u64::MAX)]).collect();
        assert!(
            times_s(&many).0.iter().all(|time| (0.0..2.0).contains(time)),
            "a log without times is not held for ever"
        );
    }

    #[test]
    fn a_second_with_too_many_stays_whole() {
        let entries: Vec<Entry> =
            (0..HELD_MAX as u64 + 10).map(|line| entry(100.0, line)).chain([entry(101.0, u64::MAX)]).collect();
        let (times, _) = times_s(&entries);
        assert!(times[..times.len() - 1].iter().all(|time| *time == 100.0));
    }

    #[test]
    fn a_clock_that_was_set_back_goes_on() {
        let entries = [entry(7200.5, 1), entry(7201.5, 2), entry(3601.5, 3), entry(3602.5, 4), entry(3601.6, 5)];
        assert_eq!(times_s(&entries), (vec![7200.5, 7201.5, 7201.5, 7202.5, 7201.6], Some(3)));
        // For good: an idle hour behind it is one.
        let later = [entry(7201.5, 1), entry(3601.5, 2), entry(3631.5, 3), entry(3665.5, 4), entry(7265.5, 5)];
        let (times, set_back_at) = times_s(&later[..3]);
        assert_eq!((times, set_back_at), (vec![7201.5, 7201.5, 7201.5], Some(2)), "half a minute later, nobody knows");
        let near: Vec<Entry> = (0..14_u32).map(|place| entry(3601.5 + 5.0 * f64::from(place), place.into())).collect();
        let whole: Vec<Entry> = [entry(7201.5, 0)].into_iter().chain(near).chain([entry(7266.5, 99)]).collect();
        assert_eq!(times_s(&whole).0.last(), Some(&10_866.5));
    }

    #[test]
    fn the_clock_of_one_session_is_its_own() {
        let seconds = [10_000.5, 6400.5, 10_001.5, 6401.5, 10_002.5, 10_003.5];
        let entries: Vec<Entry> = (1..).zip(seconds).map(|(line, second)| entry(second, line)).collect();
        let (times, set_back_at) = times_s(&entries);
        assert_eq!((times[2], times[4], times[5], set_back_at), (10_001.5, 10_002.5, 10_003.5, None));
    }

    #[test]
    fn begins_of_one_second_are_spread_whenever_they_ended() {
        let mut entries = [entry(100.0, 1), entry(100.0, 2)];
        entries[1].logged_us = Some(100_000_300);
        assert_eq!(times_s(&entries).0, [100.0, 100.5]);
    }

    #[test]
    fn one_damaged_time_moves_no_other() {
        let entries = [entry(100.5, 1), entry(9e9, 2), entry(101.5, 3), entry(102.5, 4)];
        assert_eq!(times_s(&entries), (vec![100.5, 9e9, 101.5, 102.5], None));
    }
}
