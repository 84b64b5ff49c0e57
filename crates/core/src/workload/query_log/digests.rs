//! What `flatwater observe` recorded of a server's statements: how often each form (digest) ran in each interval, and
//! samples of them.
//!
//! Each line is a JSON object; `python/flatwater/results/digests.py` writes them. A head comes first, and again where the
//! observing was resumed: numbers of statements count from there on. Lines that cannot be read are passed over.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::BufRead;

use serde::Deserialize;

use super::entry::Entry;
use super::unread::Unread;
use crate::workload::sql::effect;
use crate::workload::sql::token::{Token, Tokens};

/// How the file begins.
const HEAD: &[u8] = b"{\"flatwater_digests\":";
/// The golden ratio's fraction: multiples of it fill the interval evenly, so that the statements of an interval do not
/// all begin at one moment (Knuth, "Sorting and Searching", 6.4).
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// One line; which fields it has says what it is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    flatwater_digests: Option<u32>,
    /// Of the head: samples were asked for.
    samples: bool,
    /// A form of statement, by its number.
    statement: Option<u32>,
    schema: Option<String>,
    left_out: Option<String>,
    /// A sample of the form of this number.
    sample: Option<u32>,
    sql: Option<String>,
    /// An interval: number, count and microseconds of each form.
    start_s: f64,
    end_s: f64,
    counts: Vec<(u32, u64, f64)>,
}

/// Why statements are not sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The server had no sample of them.
    NoSample,
    /// The server keeps the beginning of so long a statement only.
    Cut,
    /// Prepared statements: the server does not tell their values.
    Parameters,
    /// They belong to a session: BEGIN, COMMIT, SET; or they are no reads or changes of rows.
    Session,
    /// flatwater's own questions.
    Own,
    /// The server had no room for more forms in its table.
    NoRoom,
}

impl Why {
    const ALL: [Self; 6] = [Self::NoSample, Self::Cut, Self::Parameters, Self::Session, Self::Own, Self::NoRoom];

    /// In words, behind a number of statements.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoSample => "without a sample",
            Self::Cut => "whose samples the server has cut",
            Self::Parameters => "prepared, whose values the server does not tell",
            Self::Session => "of sessions (transactions, settings) or of the schema",
            Self::Own => "of flatwater's observing",
            Self::NoRoom => "without room in the server's table of digests",
        }
    }
}

/// How much of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// Statements.
    pub count: u64,
    /// Their time in the server, microseconds.
    pub time_us: f64,
}

impl Amount {
    fn add(&mut self, count: u64, time_us: f64) {
        self.count = self.count.saturating_add(count);
        self.time_us += time_us.max(0.0);
    }
}

/// What of a record can be sent again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sendable {
    /// Samples were asked for when it was recorded.
    pub samples: bool,
    /// All statements.
    pub all: Amount,
    /// Those that can be sent, and of them those that may write.
    pub sent: Amount,
    /// See `sent`.
    pub writes: Amount,
    /// The others.
    pub left_out: Vec<(Why, Amount)>,
}

/// A form of statement.
#[derive(Debug, Default)]
struct Form {
    schema: Option<String>,
    samples: Vec<Vec<u8>>,
    left_out: Option<Why>,
    cut: bool,
    parameters: bool,
    amount: Amount,
}

impl Form {
    fn take(&mut self, sql: Option<String>) {
        let Some(sql) = sql.map(String::into_bytes) else {
            self.cut = true;
            return;
        };
        let found: Vec<Token> = Tokens::new(&sql).map(|(token, _)| token).collect();
        if found.contains(&Token::Open) {
            self.cut = true;
        } else if found.contains(&Token::Placeholder) {
            self.parameters = true;
        } else if found.iter().any(|token| *token != Token::Nothing) {
            self.samples.push(sql);
        }
    }

    fn why(&self) -> Option<Why> {
        match self {
            Self { left_out: Some(why), .. } => Some(*why),
            Self { samples, .. } if !samples.is_empty() => None,
            Self { parameters: true, .. } => Some(Why::Parameters),
            Self { cut: true, .. } => Some(Why::Cut),
            _ => Some(Why::NoSample),
        }
    }
}

/// Which head of the file, and a number under it.
type Key = (u32, u32);

/// All forms of a record with their samples: a sample may stand behind the intervals in which its form ran.
#[derive(Debug, Default)]
pub struct Forms {
    found: HashMap<Key, Form>,
    samples: bool,
    /// When the first interval began and the last one ended, seconds.
    span_s: Option<(f64, f64)>,
}

/// Whether a line is the head of such a record.
pub fn is_head(line: &[u8]) -> bool {
    line.starts_with(HEAD)
}

fn read_line(line: &[u8]) -> Option<Line> {
    serde_json::from_slice(line.trim_ascii()).ok()
}

impl Forms {
    /// Reads a record to its end.
    ///
    /// # Errors
    /// What the system says.
    pub fn gather(mut source: impl BufRead) -> Result<Self, String> {
        let (mut own, mut head, mut line) = (Self::default(), 0, Vec::new());
        loop {
            line.clear();
            if source.read_until(b'\n', &mut line).map_err(|error| error.to_string())? == 0 {
                return Ok(own);
            }
            if let Some(told) = read_line(&line) {
                own.take(told, &mut head);
            }
        }
    }

    fn take(&mut self, line: Line, head: &mut u32) {
        if line.flatwater_digests.is_some() {
            *head += 1;
            self.samples |= line.samples;
        } else if let Some(number) = line.statement {
            let form = self.found.entry((*head, number)).or_default();
            form.schema = line.schema.filter(|schema| !schema.is_empty());
            form.left_out = line.left_out.map(|word| match word.as_str() {
                "own" => Why::Own,
                "no-room" => Why::NoRoom,
                _ => Why::Session,
            });
        } else if let Some(number) = line.sample {
            self.found.entry((*head, number)).or_default().take(line.sql);
        }
        if line.end_s > line.start_s {
            let (start_s, end_s) = self.span_s.unwrap_or((line.start_s, line.end_s));
            self.span_s = Some((start_s.min(line.start_s), end_s.max(line.end_s)));
        }
        for (number, count, time_us) in line.counts {
            self.found.entry((*head, number)).or_default().amount.add(count, time_us);
        }
    }

    /// How long it was recorded, microseconds.
    pub fn length_us(&self) -> u64 {
        self.span_s.map_or(0, |(start_s, end_s)| ((end_s - start_s) * 1e6) as u64)
    }

    /// The default schema of each form that can be sent, where it has one.
    pub fn schemas(&self) -> impl Iterator<Item = &str> {
        self.found.values().filter(|form| form.why().is_none()).filter_map(|form| form.schema.as_deref())
    }

    /// What of it can be sent.
    pub fn sendable(&self) -> Sendable {
        let mut told = Sendable { samples: self.samples, ..Sendable::default() };
        let mut left_out = Why::ALL.map(|why| (why, Amount::default()));
        for form in self.found.values() {
            let Amount { count, time_us } = form.amount;
            told.all.add(count, time_us);
            match form.why() {
                Some(why) => left_out[why as usize].1.add(count, time_us),
                None => {
                    told.sent.add(count, time_us);
                    if form.samples.iter().any(|sql| !effect::reads(sql)) {
                        told.writes.add(count, time_us);
                    }
                }
            }
        }
        told.left_out = left_out.into_iter().filter(|(_, amount)| amount.count > 0).collect();
        told
    }
}

/// The statements of one form in one interval.
struct Spread {
    key: Key,
    start_us: f64,
    length_us: f64,
    count: u64,
    done: u64,
}

impl Spread {
    /// When the next one is due: evenly, each form with a shift of its own.
    fn at_us(&self) -> i64 {
        let shift = (f64::from(self.key.1) * GOLDEN).fract();
        (self.start_us + self.length_us * (self.done as f64 + shift) / self.count as f64) as i64
    }
}

/// The statements of a record, interval by interval.
pub(super) struct Digests {
    forms: Forms,
    head: u32,
    spreads: Vec<Spread>,
    /// The time of each spread's next statement, the earliest first.
    due: BinaryHeap<Reverse<(i64, usize)>>,
    /// How many of each form were sent: its samples take turns.
    turns: HashMap<Key, usize>,
    pub(super) unread: Unread,
}

impl Digests {
    pub(super) fn new(forms: Forms) -> Self {
        let (spreads, due, turns) = (Vec::new(), BinaryHeap::new(), HashMap::new());
        Self { forms, head: 0, spreads, due, turns, unread: Unread::default() }
    }

    /// Takes a line; the statements of its interval come from `next`, which has none when it is called.
    pub(super) fn line(&mut self, line: &[u8], number: u64) {
        let Some(line) = read_line(line) else {
            if !line.trim_ascii().is_empty() {
                self.unread.add(number, "it is no line of a record");
            }
            return;
        };
        self.head += u32::from(line.flatwater_digests.is_some());
        self.spreads.clear();
        let (start_us, length_us) = (line.start_s * 1e6, (line.end_s - line.start_s).max(0.0) * 1e6);
        for (number, count, _) in line.counts {
            let key = (self.head, number);
            if count > 0 && self.forms.found.get(&key).is_some_and(|form| form.why().is_none()) {
                let spread = Spread { key, start_us, length_us, count, done: 0 };
                self.due.push(Reverse((spread.at_us(), self.spreads.len())));
                self.spreads.push(spread);
            }
        }
    }

    /// The next statement of the interval.
    pub(super) fn next(&mut self) -> Option<Entry> {
        let Reverse((at_us, place)) = self.due.pop()?;
        let spread = &mut self.spreads[place];
        spread.done += 1;
        if spread.done < spread.count {
            self.due.push(Reverse((spread.at_us(), place)));
        }
        let form = self.forms.found.get(&spread.key)?;
        let turn = self.turns.entry(spread.key).or_default();
        let sql = form.samples[*turn % form.samples.len()].clone();
        *turn += 1;
        Some(Entry { at_us, session: u64::from(spread.key.1), schema: form.schema.clone(), sql, ..Entry::default() })
    }
}

#[cfg(test)]
#[path = "digests_tests.rs"]
mod tests;
