//! The traces of Microsoft Research Cambridge (Narayanan, Donnelly and Rowstron, FAST 2008; SNIA IOTTA 388):
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, times in steps of 100 ns since 1601.

use super::{Ranges, Reader, length};
use crate::trace::position::{Input, Wrong, number};
use crate::trace::{Entry, Kind};

/// Whether a file begins as these traces do: six commas in the first line, and `Read` or `Write`.
pub fn recognises(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let fields: Vec<&str> = line.trim_end().split(',').collect();
    fields.len() == 7
        && (fields[3].eq_ignore_ascii_case("read") || fields[3].eq_ignore_ascii_case("write") || header(line))
}

fn header(line: &str) -> bool {
    line.trim_start().to_ascii_lowercase().starts_with("timestamp,")
}

/// A reader of this format.
#[derive(Default)]
pub struct Msr {
    disks: Ranges,
    first: Option<u64>,
    /// Requests earlier than the first one.
    early: u64,
}

impl Msr {
    fn line(&mut self, line: &str) -> Result<Entry, Wrong> {
        let mut fields = line.split(',').map(str::trim);
        let time: u64 = number(fields.next(), "the timestamp")?;
        let (host, disk) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let kind = match fields.next() {
            Some(name) if name.eq_ignore_ascii_case("read") => Kind::Read,
            Some(name) if name.eq_ignore_ascii_case("write") => Kind::Write,
            Some(name) => {
                let what = format!("the type {:?}", name.chars().take(40).collect::<String>());
                return Err(Wrong::new(what, "Read or Write"));
            }
            None => {
                return Err(Wrong::new("the type is missing", "Timestamp,Hostname,DiskNumber,Type,Offset,Size,..."));
            }
        };
        let offset = number(fields.next(), "the offset")?;
        let bytes = length(number(fields.next(), "the size")?)?;
        let first = *self.first.get_or_insert(time);
        self.early += u64::from(time < first);
        let at_ns = time.saturating_sub(first).saturating_mul(100);
        let offset = self.disks.place(&format!("{host},{disk}"), offset)?;
        Ok(Entry { at_ns, kind, offset, bytes, process: 0 })
    }
}

impl Reader for Msr {
    fn read(&mut self, input: &mut Input, most: usize, into: &mut Vec<Entry>) -> Result<bool, Wrong> {
        let end = into.len() + most;
        while into.len() < end {
            let first = input.line == 0;
            let Some(line) = input.next_line()? else { return Ok(false) };
            let is_head = first && header(line);
            if !line.trim().is_empty() && !is_head {
                into.push(self.line(line)?);
            }
        }
        Ok(true)
    }

    fn note(&self) -> Option<String> {
        let early =
            (self.early > 0).then(|| format!("{} requests are earlier than the first: they count from it", self.early));
        early.or_else(|| self.disks.note("disks"))
    }
}
