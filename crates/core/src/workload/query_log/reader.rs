//! Reads a log to its end, whichever it is.

use std::collections::VecDeque;
use std::io::BufRead;

use super::course::Course;
use super::digests::{self, Digests, Forms};
use super::doubt::Doubt;
use super::entry::{Entry, Format};
use super::general::General;
use super::general_head;
use super::slow::Slow;
use super::slow_head;
use super::unread::{Notes, Unread};

/// Longer lines are read in pieces: a log may have no line end in gigabytes.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// So many lines and bytes may pass before the log must have told which it is.
const GUESS_LINES: u64 = 1000;
const GUESS_BYTES: u64 = 16 << 20;

/// What was found in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines that were read.
    pub lines: u64,
    /// Entries that are statements.
    pub statements: u64,
    /// What was left out.
    pub unread: Unread,
    /// What the log does not tell.
    pub notes: Notes,
}

enum Lines {
    Unknown,
    Slow(Box<Doubt<Slow>>),
    General(Box<Doubt<General>>),
    Digests(Box<Digests>),
}

/// The statements of a log, in its order.
pub struct Reader<R> {
    source: R,
    lines: Lines,
    line: Vec<u8>,
    tally: Tally,
    /// What was left out before the log told which it is, and zero bytes.
    unread: Unread,
    /// Entries that ended on the line that was read last.
    found: VecDeque<Entry>,
    course: Course,
    /// Those whose times are known.
    ready: VecDeque<Entry>,
    /// The line on which the log goes on behind a header.
    reopened_at: Option<u64>,
    /// The last line was longer than what is read at once: what comes next belongs to it.
    inside: bool,
    bytes: u64,
    over: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads from here.
    pub fn new(source: R) -> Self {
        Self {
            source,
            lines: Lines::Unknown,
            line: Vec::new(),
            tally: Tally::default(),
            unread: Unread::default(),
            found: VecDeque::new(),
            course: Course::default(),
            ready: VecDeque::new(),
            reopened_at: None,
            inside: false,
            bytes: 0,
            over: false,
        }
    }

    /// Reads what `flatwater observe` recorded; `forms` were gathered from the same source.
    pub fn of_digests(source: R, forms: Forms) -> Self {
        Self { lines: Lines::Digests(Box::new(Digests::new(forms))), ..Self::new(source) }
    }

    /// What was found so far.
    pub fn tally(&self) -> Tally {
        let of_lines = match &self.lines {
            Lines::Unknown => Unread::default(),
            Lines::Slow(slow) => slow.unread(),
            Lines::General(general) => general.unread(),
            Lines::Digests(digests) => digests.unread,
        };
        let notes = match &self.lines {
            Lines::Slow(slow) => slow.notes(),
            Lines::General(general) => general.notes(),
            Lines::Unknown | Lines::Digests(_) => Notes::default(),
        };
        let Course { set_back_at, older_at, .. } = self.course;
        let notes = Notes { set_back_at, older_at, reopened_at: self.reopened_at, ..notes };
        Tally { unread: self.unread.with(of_lines), notes, ..self.tally }
    }

    /// Which log it is; None before a line has told.
    pub fn format(&self) -> Option<Format> {
        match self.lines {
            Lines::Unknown => None,
            Lines::Slow(_) => Some(Format::Slow),
            Lines::General(_) => Some(Format::General),
            Lines::Digests(_) => Some(Format::Digests),
        }
    }

    /// The next statement; None at the end of the log.
    ///
    /// # Errors
    /// As of `next_entry`.
    pub fn next_statement(&mut self) -> Result<Option<Entry>, String> {
        loop {
            match self.next_entry()? {
                Some(entry) if entry.ends => {}
                other => return Ok(other),
            }
        }
    }

    /// The next statement or end of a connection; None at the end of the log.
    ///
    /// # Errors
    /// What the system says; that it is no query log.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, String> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                self.tally.statements += u64::from(!entry.ends);
                return Ok(Some(entry));
            }
            if self.over {
                return Ok(None);
            }
            self.read()?;
            for entry in self.found.drain(..) {
                self.course.take(entry, &mut self.ready);
            }
            if self.over {
                self.course.finish(&mut self.ready);
            }
        }
    }

    /// Reads a line, or a piece of a long one.
    fn read(&mut self) -> Result<(), String> {
        if let Lines::Digests(digests) = &mut self.lines
            && let Some(entry) = digests.next()
        {
            self.found.push_back(entry);
            return Ok(());
        }
        let was_whole = !self.inside;
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let mut limited = std::io::Read::take(&mut self.source, LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        if read == 0 {
            return self.end();
        }
        self.bytes += read as u64;
        self.inside = !line.ends_with(b"\n");
        if was_whole {
            self.tally.lines += 1;
            self.take(&line)?;
        } else {
            match &mut self.lines {
                Lines::Unknown => self.guess(&[])?,
                Lines::Slow(slow) => slow.more(&line),
                Lines::General(general) => general.more(&line),
                Lines::Digests(_) => {}
            }
        }
        self.line = line;
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        self.over = true;
        if self.tally.lines > 0 && self.format().is_none() {
            return Err(unknown());
        }
        match &mut self.lines {
            Lines::Unknown | Lines::Digests(_) => {}
            Lines::Slow(slow) => slow.end(self.inside, &mut self.found),
            Lines::General(general) => general.end(self.inside, &mut self.found),
        }
        Ok(())
    }

    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        // A file that was made longer before a crash has zero bytes where its end was, and the next entry behind them.
        let hole = match line.iter().rposition(|byte| *byte == 0) {
            Some(last) if is_beginning(&line[last + 1..]) => Some(last),
            _ => None,
        };
        let Some(last) = hole else { return self.take_line(line) };
        if self.is_inside() {
            // They may be a statement's own.
            let (text, number) = (&line[..=last], self.tally.lines);
            match &mut self.lines {
                Lines::Slow(slow) => slow.text(text, number),
                Lines::General(general) => general.text(text, number),
                Lines::Unknown | Lines::Digests(_) => {}
            }
            return self.take_line(&line[last + 1..]);
        }
        let zeros = line[..last].iter().rev().take_while(|byte| **byte == 0).count();
        let before = &line[..last - zeros];
        self.unread.add(self.tally.lines, "zero bytes");
        if !before.is_empty() {
            self.take_line(before)?;
            if let Lines::General(general) = &mut self.lines {
                general.cut();
            }
        }
        self.take_line(&line[last + 1..])
    }

    /// Whether a statement is open.
    fn is_inside(&self) -> bool {
        match &self.lines {
            Lines::Slow(slow) => slow.is_inside(),
            Lines::General(general) => general.is_inside(),
            Lines::Unknown | Lines::Digests(_) => false,
        }
    }

    /// Finds out which log it is.
    fn guess(&mut self, line: &[u8]) -> Result<(), String> {
        if digests::is_head(line) {
            return Err("it is a record of digests: give it from its beginning".into());
        }
        if slow_head::is_head(line) {
            self.lines = Lines::Slow(Box::default());
        } else if general_head::is_head(line) {
            self.lines = Lines::General(Box::default());
        } else if self.tally.lines >= GUESS_LINES || self.bytes >= GUESS_BYTES {
            return Err(unknown());
        } else if self.unread.count == 0 && !is_header(line) && !line.trim_ascii().is_empty() {
            // All that stands before the first entry is one piece.
            self.unread.add(self.tally.lines, "it is no beginning of an entry");
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) -> Result<(), String> {
        if let Lines::Unknown = self.lines {
            self.guess(line)?;
        }
        // In a statement it is text, as somebody pasted it.
        if !self.is_inside() && is_header(line) {
            // A general log tells which connections are made anew.
            if self.format() == Some(Format::Slow) {
                self.reopened_at.get_or_insert(self.tally.lines);
            }
            return Ok(());
        }
        let number = self.tally.lines;
        match &mut self.lines {
            Lines::Unknown => {}
            Lines::Slow(slow) => slow.line(line, number, &mut self.found),
            Lines::General(general) => general.line(line, number, &mut self.found),
            Lines::Digests(digests) => digests.line(line, number),
        }
        Ok(())
    }
}

/// Whether an entry begins here, of whichever log, or a log.
fn is_beginning(line: &[u8]) -> bool {
    slow_head::is_head(line) || general_head::is_head(line) || is_header(line)
}

fn unknown() -> String {
    "it is no slow query log and no general query log".into()
}

/// What servers write when they open a log, also in its middle after a rotation: three lines.
fn is_header(line: &[u8]) -> bool {
    let text = line.trim_ascii_end();
    (text.ends_with(b". started with:") && text.windows(10).any(|some| some == b", Version:"))
        || (text.starts_with(b"Tcp port: ") && text.windows(12).any(|some| some == b"Unix socket:"))
        // MySQL parts them with spaces, MariaDB with tabs and spaces.
        || (text.starts_with(b"Time") && words(text).eq([&b"Time"[..], b"Id", b"Command", b"Argument"]))
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

#[cfg(test)]
#[path = "damage_tests.rs"]
mod damage;
#[cfg(test)]
#[path = "instead_tests.rs"]
mod instead;
#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
