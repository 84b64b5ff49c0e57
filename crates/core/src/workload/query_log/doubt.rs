//! What looks like an entry where none can begin: inside of a string, a comment or parentheses of the statement before it.
//!
//! It is text of that statement (somebody pasted a log into a field), or the statement was cut and an entry follows. Text
//! must not be sent, and a cut must not swallow all that follows it. What is no whole head, or has a time before that of the
//! statement, is text: nobody has a log of what was not yet logged. Otherwise the log is read in both ways, and nothing is
//! given out until the statement ends in the first one: the way in which all of it can be statements is taken, and if both
//! are or none is, neither is sent and each entry is counted. A statement that does not end in the next thousand entries
//! was cut.

use std::collections::VecDeque;

use super::entry::Entry;
use super::sound::{is_sound, is_sound_alone};
use super::unread::{Notes, Unread};
use crate::workload::sql::token::Escapes;

/// So many entries and bytes wait for the end of a statement.
const ENTRIES_MAX: usize = 1000;
const BYTES_MAX: usize = 64 << 20;
/// A head has so few lines (a plan has some), and bytes.
const HEAD_LINES_MAX: usize = 300;
const HEAD_BYTES_MAX: usize = 1 << 20;
/// Servers take the time of an entry before they wait for the log.
pub(super) const BACK_US: i64 = 1_000_000;
const EITHER: &str = "it may be an entry, or text of the statement before it";

/// What lines may be of a head.
pub(super) enum Step {
    /// More lines tell.
    More,
    /// They are none.
    No,
    /// All of it.
    Whole,
}

/// A form of log.
pub(super) trait Form: Clone {
    /// Takes a line with its end as what it looks like; gives the entry that it ends.
    fn line(&mut self, line: &[u8], number: u64) -> Option<Entry>;
    /// Takes a line that is text of the statement, whatever it looks like.
    fn text(&mut self, line: &[u8], number: u64);
    /// Takes a further piece of a line.
    fn more(&mut self, piece: &[u8]);
    /// The end of the statement was lost.
    fn cut(&mut self);
    /// The statement that was read last, which ends here.
    fn finish(&mut self) -> Option<Entry>;
    /// The file ends here; `inside` of a line.
    fn end(&mut self, inside: bool) -> Option<Entry>;
    /// Whether a line looks like the first one of an entry.
    fn begins(line: &[u8]) -> bool;
    /// Whether an entry can begin here with this line.
    fn is_place(&self, line: &[u8]) -> bool;
    /// Whether the statement may be whole.
    fn is_closed(&self) -> bool;
    /// What lines may be of a head.
    fn head_of(lines: &[Line]) -> Step;
    /// Whether the time of a whole head can follow what was read; without one of its own, it has that of the head before,
    /// which was `passed` for text or not.
    fn may_follow(&self, head: &[Line], passed: bool) -> bool;
    /// The escapes of a session, where the log tells them.
    fn escapes(&self, session: u64) -> Option<Escapes>;
    /// Takes the clock of the other way to read the log: what it read since may be text.
    fn keep_clock(&mut self, of: &Self);
    /// What was left out.
    fn unread(&self) -> Unread;
    /// What it does not tell.
    fn notes(&self) -> Notes;
    /// Counts what is left out.
    fn leave_out(&mut self, line: u64, what: &'static str);
}

/// A line, and its number.
pub(super) type Line = (Vec<u8>, u64);

/// The log, if all that can be an entry is one.
#[derive(Clone)]
struct Other<F> {
    log: F,
    /// Its entries, with the line behind which each ended.
    found: Vec<(Entry, u64)>,
    bytes: usize,
    /// What it had left out when it began.
    left_out: u64,
}

impl<F: Form> Other<F> {
    fn keep(&mut self, done: Option<Entry>, number: u64) {
        if let Some(entry) = done {
            self.bytes += entry.sql.len();
            self.found.push((entry, number));
        }
    }

    /// Whether all but the statement that was cut are whole.
    fn is_sound(&self) -> bool {
        let is_sound = |entry: &Entry| {
            let escapes = self.log.escapes(entry.session);
            is_sound_alone(entry, None) || is_sound_alone(entry, escapes)
        };
        self.log.unread().count <= self.left_out + 1 && self.found.iter().all(|(entry, _)| is_sound(entry))
    }
}

/// A log of which some may be text.
#[derive(Clone, Default)]
pub(super) struct Doubt<F> {
    /// The log, if what is in doubt is text.
    log: F,
    other: Option<Box<Other<F>>>,
    /// Lines that may be a head.
    head: Vec<Line>,
    /// Heads that were taken for text of the present statement, and the line of the first.
    passed: (u64, u64),
    /// The last line.
    last_at: u64,
}

impl<F: Form> Doubt<F> {
    /// What was left out so far.
    pub(super) fn unread(&self) -> Unread {
        self.log.unread()
    }

    /// What the log does not tell.
    pub(super) fn notes(&self) -> Notes {
        self.log.notes()
    }

    /// Whether a statement is open: what looks like the header of a log is its text.
    pub(super) fn is_inside(&self) -> bool {
        !self.head.is_empty() || !self.log.is_closed()
    }

    /// Takes what is text, whatever it looks like.
    pub(super) fn text(&mut self, text: &[u8], number: u64) {
        self.pass();
        self.log.text(text, number);
        if let Some(other) = &mut self.other {
            other.log.text(text, number);
        }
    }

    /// The end of the statement was lost.
    pub(super) fn cut(&mut self) {
        self.log.cut();
        if let Some(other) = &mut self.other {
            other.log.cut();
        }
    }

    /// Takes a line, with its end; gives the entries that are known then.
    pub(super) fn line(&mut self, line: &[u8], number: u64, given: &mut VecDeque<Entry>) {
        self.last_at = number;
        if self.head.is_empty() {
            if !F::begins(line) {
                return self.both(line, number, given);
            }
            if self.log.is_place(line) {
                self.resolve(given);
                return self.both(line, number, given);
            }
        }
        self.head.push((line.to_vec(), number));
        match F::head_of(&self.head) {
            Step::More if self.head.len() < HEAD_LINES_MAX && line.len() < HEAD_BYTES_MAX => {}
            Step::More => self.pass(),
            Step::Whole => self.whole(given),
            Step::No if self.head.len() == 1 => self.pass(),
            Step::No => {
                self.head.pop();
                self.pass();
                // This line may begin a head itself.
                self.line(line, number, given);
            }
        }
    }

    /// Takes a further piece of a line that is longer than what is read at once.
    pub(super) fn more(&mut self, piece: &[u8]) {
        self.pass();
        self.log.more(piece);
        if let Some(other) = &mut self.other {
            other.log.more(piece);
        }
    }

    /// The file ends here; `inside` of a line.
    pub(super) fn end(&mut self, inside: bool, given: &mut VecDeque<Entry>) {
        self.pass();
        let before = self.log.unread().count;
        let last = self.log.end(inside);
        let is_cut = self.log.unread().count > before;
        if let Some(mut other) = self.other.take() {
            let done = other.log.end(inside);
            other.keep(done, self.last_at);
            self.choose(last, is_cut, *other, given);
        } else {
            given.extend(last);
            self.forget_passed(is_cut);
        }
    }

    /// A line that is what it looks like.
    fn both(&mut self, line: &[u8], number: u64, given: &mut VecDeque<Entry>) {
        let before = self.log.unread().count;
        let done = self.log.line(line, number);
        if let Some(other) = &mut self.other {
            let done = other.log.line(line, number);
            other.keep(done, number);
        } else {
            given.extend(done);
            if F::begins(line) {
                self.forget_passed(self.log.unread().count > before);
            }
        }
    }

    /// What may have been a head is text.
    fn pass(&mut self) {
        for (line, number) in std::mem::take(&mut self.head) {
            self.log.text(&line, number);
            if let Some(other) = &mut self.other {
                other.log.text(&line, number);
            }
        }
    }

    /// A statement is over: in one that was cut, what was taken for its text may have been entries.
    fn forget_passed(&mut self, is_cut: bool) {
        let (count, line) = std::mem::take(&mut self.passed);
        for _ in 0..if is_cut { count } else { 0 } {
            self.log.leave_out(line, EITHER);
        }
    }

    /// A whole head, where none can be.
    fn whole(&mut self, given: &mut VecDeque<Entry>) {
        let first_at = self.head[0].1;
        let latest = self.other.as_ref().map_or(&self.log, |other| &other.log);
        if !latest.may_follow(&self.head, self.passed.0 > 0) {
            self.passed = (self.passed.0 + 1, if self.passed.0 == 0 { first_at } else { self.passed.1 });
            return self.pass();
        }
        let other = self.other.get_or_insert_with(|| {
            let (log, left_out) = (self.log.clone(), self.log.unread().count);
            Box::new(Other { log, found: Vec::new(), bytes: 0, left_out })
        });
        for (line, number) in std::mem::take(&mut self.head) {
            self.log.text(&line, number);
            let done = other.log.line(&line, number);
            other.keep(done, number);
        }
        if (other.found.len() >= ENTRIES_MAX || other.bytes >= BYTES_MAX)
            && let Some(other) = self.other.take()
        {
            // The statement was cut; its end never came.
            self.give(*other, given, |log, entry| is_sound(entry, log.escapes(entry.session)));
        }
    }

    /// An entry begins, and the statement before it ends.
    fn resolve(&mut self, given: &mut VecDeque<Entry>) {
        let Some(mut other) = self.other.take() else { return };
        let before = self.log.unread().count;
        let last = self.log.finish();
        let is_cut = self.log.unread().count > before;
        let done = other.log.finish();
        other.keep(done, self.last_at);
        self.choose(last, is_cut, *other, given);
    }

    /// Chooses the way in which the lines can be read, or none.
    fn choose(&mut self, text: Option<Entry>, is_cut: bool, mut other: Other<F>, given: &mut VecDeque<Entry>) {
        // What is no statement (a Prepare) has an end, too.
        let is_text = !is_cut && text.as_ref().is_none_or(|entry| is_sound(entry, self.log.escapes(entry.session)));
        match (is_text, other.is_sound()) {
            (true, false) => {
                given.extend(text);
                self.passed = (0, 0);
            }
            (false, true) => self.give(other, given, |_, _| true),
            _ => {
                other.log.keep_clock(&self.log);
                self.give(other, given, |_, _| false);
            }
        }
    }

    /// What can be entries are some. Gives those that are `wanted`, and counts the others.
    fn give(&mut self, other: Other<F>, given: &mut VecDeque<Entry>, wanted: impl Fn(&F, &Entry) -> bool) {
        self.log = other.log;
        for (entry, number) in other.found {
            if wanted(&self.log, &entry) {
                given.push_back(entry);
            } else if !entry.ends {
                self.log.leave_out(number, EITHER);
            }
        }
        self.forget_passed(true);
    }
}
