//! Reads a log to its end, whichever it is.

use std::io::BufRead;

use super::digests::{self, Digests, Forms};
use super::entry::{Entry, Format};
use super::general::General;
use super::slow::{self, Slow};

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
}

enum Lines {
    Unknown,
    Slow(Box<Slow>),
    General(Box<General>),
    Digests(Box<Digests>),
}

/// The statements of a log, in its order.
pub struct Reader<R> {
    source: R,
    lines: Lines,
    line: Vec<u8>,
    tally: Tally,
    bytes: u64,
    over: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads from here.
    pub fn new(source: R) -> Self {
        Self { source, lines: Lines::Unknown, line: Vec::new(), tally: Tally::default(), bytes: 0, over: false }
    }

    /// Reads what `flatwater observe` recorded; `forms` were gathered from the same source.
    pub fn of_digests(source: R, forms: Forms) -> Self {
        Self { lines: Lines::Digests(Box::new(Digests::new(forms))), ..Self::new(source) }
    }

    /// What was found so far.
    pub fn tally(&self) -> Tally {
        self.tally
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
    /// What the system says; that it is no query log.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, String> {
        while !self.over {
            if let Lines::Digests(digests) = &mut self.lines
                && let Some(entry) = digests.next()
            {
                self.tally.statements += 1;
                return Ok(Some(entry));
            }
            self.line.clear();
            let mut limited = std::io::Read::take(&mut self.source, LINE_BYTES_MAX);
            let read = limited.read_until(b'\n', &mut self.line).map_err(|error| error.to_string())?;
            let found = if read == 0 {
                self.over = true;
                if self.tally.lines > 0 && self.format().is_none() {
                    return Err(unknown());
                }
                match &mut self.lines {
                    Lines::Unknown | Lines::Digests(_) => None,
                    Lines::Slow(slow) => slow.finish(),
                    Lines::General(general) => general.finish(),
                }
            } else {
                self.tally.lines += 1;
                self.bytes += read as u64;
                self.take()?
            };
            if found.is_some() {
                self.tally.statements += 1;
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn take(&mut self) -> Result<Option<Entry>, String> {
        if let Lines::Unknown = self.lines {
            if digests::is_head(&self.line) {
                return Err("it is a record of digests: give it from its beginning".into());
            }
            if slow::is_head(&self.line) {
                self.lines = Lines::Slow(Box::default());
            } else if General::is_head(&self.line) {
                self.lines = Lines::General(Box::default());
            } else if self.tally.lines >= GUESS_LINES || self.bytes >= GUESS_BYTES {
                return Err(unknown());
            }
        }
        if is_header(&self.line) {
            return Ok(None);
        }
        Ok(match &mut self.lines {
            Lines::Unknown => None,
            Lines::Slow(slow) => slow.line(&self.line),
            Lines::General(general) => general.line(&self.line),
            Lines::Digests(digests) => {
                digests.line(&self.line);
                None
            }
        })
    }
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
#[path = "reader_tests.rs"]
mod tests;
