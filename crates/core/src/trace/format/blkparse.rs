//! blkparse's text of a blktrace, in its default format (blkparse(1)):
//! `MAJ,MIN CPU SEQUENCE SECONDS PID ACTION RWBS SECTOR + SECTORS [PROCESS]`.
//!
//! A request shows several times on its way through the kernel. It counts when it is queued (Q); in a trace without
//! such events (`blktrace -a issue`), when it is issued to the driver (D). The first event of either kind decides.

use super::{Ranges, Reader, length};
use crate::trace::position::{Input, Wrong, number};
use crate::trace::{Entry, Kind};

/// blktrace counts in sectors of 512 bytes, whatever the device has.
const SECTOR: u64 = 512;

/// Whether a file begins with an event.
pub fn recognises(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = std::str::from_utf8(line).unwrap_or_default();
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    fields.len() >= 6 && is_device(fields[0]) && fields[3].contains('.') && fields[5].len() <= 2
}

fn is_device(field: &str) -> bool {
    let numbers = field.split_once(',');
    numbers.is_some_and(|(major, minor)| major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok())
}

/// A reader of this format.
#[derive(Default)]
pub struct Blkparse {
    devices: Ranges,
    /// The action that counts.
    action: Option<char>,
    events: u64,
    over: bool,
    first_ns: Option<u64>,
}

impl Blkparse {
    fn line(&mut self, line: &str) -> Result<Option<Entry>, Wrong> {
        let mut fields = line.split_ascii_whitespace();
        let device = fields.next().unwrap_or_default();
        if !is_device(device) {
            // After its events blkparse prints sums, by processor.
            self.over = self.events > 0 && (device.starts_with("CPU") || device == "Total");
            let hint = "blkparse's default format begins with MAJOR,MINOR";
            return if self.over { Ok(None) } else { Err(Wrong::new("not an event of blkparse", hint)) };
        }
        let (_cpu, _sequence) = (fields.next(), fields.next());
        let at_ns = nanoseconds(fields.next())?;
        let process = number(fields.next(), "the process id")?;
        let action = fields.next().ok_or_else(|| Wrong::new("the action is missing", ""))?;
        self.events += 1;
        let counts = match action {
            "Q" => self.action.get_or_insert('Q') == &'Q',
            "D" => self.action.get_or_insert('D') == &'D',
            _ => false,
        };
        if !counts {
            return Ok(None);
        }
        let Some(kind) = kind(fields.next()) else { return Ok(None) };
        let first_ns = *self.first_ns.get_or_insert(at_ns);
        let at_ns = at_ns.saturating_sub(first_ns);
        let sector = match fields.next() {
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => number::<u64>(Some(text), "the sector")?,
            // A flush without data has no place: `Q FWS [process]`.
            _ => return Ok(Some(Entry { at_ns, kind: Kind::Flush, offset: 0, bytes: 0, process })),
        };
        if fields.next() != Some("+") {
            // A request that does not read or write sectors, e.g. a SCSI command.
            return Ok(None);
        }
        let sectors: u64 = number(fields.next(), "the number of sectors")?;
        if sectors == 0 {
            return Ok(Some(Entry { at_ns, kind: Kind::Flush, offset: 0, bytes: 0, process }));
        }
        let offset = self.devices.place(device, sector.saturating_mul(SECTOR))?;
        Ok(Some(Entry { at_ns, kind, offset, bytes: length(sectors.saturating_mul(SECTOR))?, process }))
    }
}

/// The kind that the letters of RWBS mean; None: neither data nor a flush.
fn kind(rwbs: Option<&str>) -> Option<Kind> {
    let rwbs = rwbs?;
    let has = |letter| rwbs.contains(letter);
    match () {
        () if has('D') => Some(Kind::Trim),
        () if has('R') => Some(Kind::Read),
        () if has('W') => Some(Kind::Write),
        () if has('F') => Some(Kind::Flush),
        () => None,
    }
}

/// `12.000345678` in nanoseconds.
fn nanoseconds(field: Option<&str>) -> Result<u64, Wrong> {
    let text = field.ok_or_else(|| Wrong::new("the time is missing", ""))?;
    let (seconds, rest) = text.split_once('.').unwrap_or((text, "0"));
    let wrong = || {
        Wrong::new(format!("the time is {:?}", text.chars().take(40).collect::<String>()), "seconds, like 0.000012345")
    };
    if rest.is_empty() || rest.len() > 9 || !rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let whole: u64 = seconds.parse().map_err(|_| wrong())?;
    let part: u64 = rest.parse().map_err(|_| wrong())?;
    Ok(whole.saturating_mul(1_000_000_000).saturating_add(part * 10u64.pow(9 - rest.len() as u32)))
}

impl Reader for Blkparse {
    fn read(&mut self, input: &mut Input, most: usize, into: &mut Vec<Entry>) -> Result<bool, Wrong> {
        let end = into.len() + most;
        while into.len() < end {
            let Some(line) = input.next_line()? else { return Ok(false) };
            if !line.trim().is_empty() {
                into.extend(self.line(line)?);
            }
            if self.over {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn note(&self) -> Option<String> {
        let by_issue =
            (self.action == Some('D')).then(|| "no queue events: requests count when they were issued".into());
        by_issue.or_else(|| self.devices.note("devices"))
    }
}
