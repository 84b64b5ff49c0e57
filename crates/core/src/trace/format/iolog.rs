//! fio's iologs, versions 2 and 3 (fio's HOWTO, "Trace file format"): `FILE ACTION [OFFSET LENGTH]`, in version 3 with
//! the microseconds since the beginning in front.
//!
//! Version 2 has times only in its lines `FILE wait MICROSECONDS 0`: a time to wait, counted from the beginning.

use super::{Ranges, Reader, length};
use crate::trace::position::{Input, Wrong, number};
use crate::trace::{Entry, Kind};

const HEADER: &str = "fio version ";

/// Whether a file begins as an iolog does.
pub fn recognises(head: &[u8]) -> bool {
    head.starts_with(HEADER.as_bytes())
}

/// A reader of this format.
#[derive(Default)]
pub struct Iolog {
    version: u32,
    files: Ranges,
    now_ns: u64,
}

impl Iolog {
    fn line(&mut self, line: &str) -> Result<Option<Entry>, Wrong> {
        let mut fields = line.split_ascii_whitespace();
        if self.version == 3 {
            let us: u64 = number(fields.next(), "the timestamp")?;
            self.now_ns = us.saturating_mul(1000);
        }
        let file = fields.next().ok_or_else(|| Wrong::new("the file's name is missing", ""))?;
        let action = fields.next().ok_or_else(|| Wrong::new("the action is missing", ""))?;
        let kind = match action {
            "add" | "open" | "close" => return Ok(None),
            "wait" => {
                self.now_ns = number::<u64>(fields.next(), "the time to wait")?.saturating_mul(1000);
                return Ok(None);
            }
            "read" => Kind::Read,
            "write" => Kind::Write,
            "trim" => Kind::Trim,
            "sync" | "datasync" | "sync_file_range" => Kind::Flush,
            other => {
                let what = format!("the action {:?}", other.chars().take(40).collect::<String>());
                return Err(Wrong::new(what, "read, write, trim, sync, datasync, wait, add, open or close"));
            }
        };
        if kind == Kind::Flush {
            return Ok(Some(Entry { at_ns: self.now_ns, kind, offset: 0, bytes: 0, process: 0 }));
        }
        let offset = number(fields.next(), "the offset")?;
        let bytes = length(number(fields.next(), "the length")?)?;
        let offset = self.files.place(file, offset)?;
        Ok(Some(Entry { at_ns: self.now_ns, kind, offset, bytes, process: 0 }))
    }
}

impl Reader for Iolog {
    fn read(&mut self, input: &mut Input, most: usize, into: &mut Vec<Entry>) -> Result<bool, Wrong> {
        let end = into.len() + most;
        while into.len() < end {
            let Some(line) = input.next_line()? else { return Ok(false) };
            if self.version == 0 {
                let version = line.strip_prefix(HEADER).and_then(|rest| rest.trim_end().strip_suffix(" iolog"));
                self.version = match version {
                    Some("2") => 2,
                    Some("3") => 3,
                    _ => return Err(Wrong::new("the first line is not `fio version 2 iolog` or 3", "")),
                };
            } else if !line.trim().is_empty() {
                into.extend(self.line(line)?);
            }
        }
        Ok(true)
    }

    fn note(&self) -> Option<String> {
        self.files.note("files")
    }
}
