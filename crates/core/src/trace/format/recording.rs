//! flatwater's own recordings: compact, appended to while serving, readable whatever was torn off their end.
//!
//! All numbers little endian. A header of 64 bytes: `FWTRACE\n`, version (u32, 1), bytes of the header (u32), when it
//! began (u64, Unix time in ns), bytes of the recorded device (u64), zeros, and CRC-32C of the first 60 bytes (u32).
//! Then frames, each with a head of 28 bytes: `FRAM` (u32), bytes of its content (u32), requests in it (u32), requests
//! that were lost before it (u32), time of the first one since the trace began (u64, ns), CRC-32C of the first 24 bytes
//! and the content (u32).
//!
//! In a frame a request is a byte of flags, then variable-length numbers (seven bits a byte, lowest first): nanoseconds
//! since the request before it; its distance from that one's end (zigzag), unless it begins there (flag 0x20); its
//! length, unless it is the same (0x10); its process, unless it is the same (0x08). The lowest three bits say what:
//! read, write, zero, trim, flush. With flag 0x40 distance and length count in sectors of 512 bytes. Each frame starts
//! from zeros, so it can be read alone. A frame whose checksum is wrong ends the trace.

use super::Reader;
use crate::trace::position::{Input, Wrong};
use crate::trace::{Entry, Kind};

/// How a recording begins.
pub const MAGIC: &[u8; 8] = b"FWTRACE\n";
/// Bytes of the header.
pub const HEADER_BYTES: usize = 64;
/// Bytes of a frame's head.
pub const HEAD_BYTES: usize = 28;
/// Content of a frame at most.
pub const CONTENT_BYTES_MAX: usize = 1 << 20;
const VERSION: u32 = 1;
const FRAME: u32 = u32::from_le_bytes(*b"FRAM");
const KINDS: [Kind; 5] = [Kind::Read, Kind::Write, Kind::Zero, Kind::Trim, Kind::Flush];
const SAME_PROCESS: u8 = 0x08;
const SAME_LENGTH: u8 = 0x10;
const SEQUENTIAL: u8 = 0x20;
const SECTORS: u8 = 0x40;
const SECTOR: u64 = 512;

/// Whether a file begins as a recording does.
pub fn recognises(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// The header of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// When it began, Unix time.
    pub began_unix_ns: u64,
    /// Bytes of the recorded device; 0: not known.
    pub device_bytes: u64,
}

impl Header {
    /// The header as it is stored.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(HEADER_BYTES as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.began_unix_ns.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.device_bytes.to_le_bytes());
        let sum = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a stored header.
    ///
    /// # Errors
    /// The file is no recording, damaged, or of a newer version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Wrong> {
        if bytes.len() < HEADER_BYTES || !bytes.starts_with(MAGIC) {
            return Err(Wrong::new("not a recording: its header is missing or short", ""));
        }
        let version = word(bytes, 8);
        if version != VERSION {
            let what = format!("a recording of version {version}; this program reads version {VERSION}");
            return Err(Wrong::new(what, "use the flatwater that recorded it"));
        }
        if crc32c::crc32c(&bytes[..60]) != word(bytes, 60) {
            return Err(Wrong::new("the recording's header is damaged", ""));
        }
        Ok(Self { began_unix_ns: long(bytes, 16), device_bytes: long(bytes, 24) })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// A frame that is being filled.
#[derive(Default)]
pub struct Frame {
    /// Head and content.
    bytes: Vec<u8>,
    entries: u32,
    base_ns: u64,
    last: Last,
}

/// The request before: the next one is stored as its difference from it.
#[derive(Default)]
struct Last {
    at_ns: u64,
    end: u64,
    bytes: u32,
    process: u32,
}

impl Frame {
    /// Adds a request. Times do not go back: an earlier one counts as that of the request before.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        if self.entries == 0 {
            self.bytes.resize(HEAD_BYTES, 0);
            self.base_ns = entry.at_ns;
            self.last = Last { at_ns: entry.at_ns, ..Last::default() };
        }
        let last = &self.last;
        let at_ns = entry.at_ns.max(last.at_ns);
        let distance = entry.offset.wrapping_sub(last.end) as i64;
        let sectors = entry.offset.is_multiple_of(SECTOR)
            && last.end.is_multiple_of(SECTOR)
            && u64::from(entry.bytes).is_multiple_of(SECTOR);
        let unit = if sectors { SECTOR } else { 1 };
        let kind = KINDS.iter().position(|kind| *kind == entry.kind).expect("every kind is listed") as u8;
        let flags = kind
            | if entry.process == last.process { SAME_PROCESS } else { 0 }
            | if entry.bytes == last.bytes { SAME_LENGTH } else { 0 }
            | if distance == 0 { SEQUENTIAL } else { 0 }
            | if sectors { SECTORS } else { 0 };
        self.bytes.push(flags);
        varint(&mut self.bytes, at_ns - last.at_ns);
        if distance != 0 {
            let distance = distance / unit as i64;
            varint(&mut self.bytes, ((distance << 1) ^ (distance >> 63)) as u64);
        }
        if entry.bytes != last.bytes {
            varint(&mut self.bytes, u64::from(entry.bytes) / unit);
        }
        if entry.process != last.process {
            varint(&mut self.bytes, u64::from(entry.process));
        }
        self.entries += 1;
        let end = entry.offset.wrapping_add(u64::from(entry.bytes));
        self.last = Last { at_ns, end, bytes: entry.bytes, process: entry.process };
    }

    /// How many requests are in it.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// When its first request was.
    pub fn base_ns(&self) -> u64 {
        self.base_ns
    }

    /// The frame as it is stored, after `lost` requests that are not in the trace; begins the next one.
    pub fn seal(&mut self, lost: u32) -> Vec<u8> {
        let room = self.bytes.len();
        let mut bytes = std::mem::replace(&mut self.bytes, Vec::with_capacity(room));
        bytes.resize(bytes.len().max(HEAD_BYTES), 0);
        let content = (bytes.len() - HEAD_BYTES) as u32;
        for (at, value) in [FRAME, content, self.entries, lost].into_iter().enumerate() {
            bytes[at * 4..at * 4 + 4].copy_from_slice(&value.to_le_bytes());
        }
        bytes[16..24].copy_from_slice(&self.base_ns.to_le_bytes());
        let sum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..24]), &bytes[HEAD_BYTES..]);
        bytes[24..28].copy_from_slice(&sum.to_le_bytes());
        *self = Self { bytes: std::mem::take(&mut self.bytes), ..Self::default() };
        bytes
    }
}

#[inline]
fn varint(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// Takes a number off the front. None: it is cut short, or has more than 64 bits.
#[inline]
fn take_varint(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The requests of a frame's content; None when it is no such content.
fn unpack(mut content: &[u8], entries: u32, base_ns: u64, into: &mut Vec<Entry>) -> Option<()> {
    let mut last = Last { at_ns: base_ns, ..Last::default() };
    for _ in 0..entries {
        let (&flags, rest) = content.split_first()?;
        content = rest;
        let kind = *KINDS.get(usize::from(flags & 0x07))?;
        let unit = if flags & SECTORS != 0 { SECTOR } else { 1 };
        let at_ns = last.at_ns.checked_add(take_varint(&mut content)?)?;
        let mut offset = last.end;
        if flags & SEQUENTIAL == 0 {
            let zigzag = take_varint(&mut content)?;
            let distance = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
            offset = offset.wrapping_add(distance.wrapping_mul(unit as i64) as u64);
        }
        let mut bytes = last.bytes;
        if flags & SAME_LENGTH == 0 {
            bytes = u32::try_from(take_varint(&mut content)?.checked_mul(unit)?).ok()?;
        }
        let mut process = last.process;
        if flags & SAME_PROCESS == 0 {
            process = u32::try_from(take_varint(&mut content)?).ok()?;
        }
        into.push(Entry { at_ns, kind, offset, bytes, process });
        last = Last { at_ns, end: offset.wrapping_add(u64::from(bytes)), bytes, process };
    }
    content.is_empty().then_some(())
}

/// Reads a recording.
#[derive(Default)]
pub struct Recording {
    /// The header, once it was read.
    pub header: Option<Header>,
    content: Vec<u8>,
    lost: u64,
    /// The end of what is readable.
    pub end: u64,
    torn: bool,
}

impl Recording {
    /// Reads the next frame. Returns false at the end, also at a torn end.
    fn frame(&mut self, input: &mut Input, into: &mut Vec<Entry>) -> Result<bool, Wrong> {
        let mut head = [0; HEAD_BYTES];
        let read = input.fill(&mut head)?;
        if read == 0 {
            return Ok(false);
        }
        self.torn = true;
        let content = word(&head, 4) as usize;
        if read < HEAD_BYTES || word(&head, 0) != FRAME || content > CONTENT_BYTES_MAX {
            return Ok(false);
        }
        self.content.resize(content, 0);
        if input.fill(&mut self.content)? < content {
            return Ok(false);
        }
        if crc32c::crc32c_append(crc32c::crc32c(&head[..24]), &self.content) != word(&head, 24) {
            return Ok(false);
        }
        let before = into.len();
        if unpack(&self.content, word(&head, 8), long(&head, 16), into).is_none() {
            into.truncate(before);
            return Ok(false);
        }
        self.torn = false;
        self.lost += u64::from(word(&head, 12));
        self.end = input.byte;
        Ok(true)
    }
}

impl Reader for Recording {
    fn read(&mut self, input: &mut Input, most: usize, into: &mut Vec<Entry>) -> Result<bool, Wrong> {
        if self.header.is_none() {
            let mut bytes = [0; HEADER_BYTES];
            let read = input.fill(&mut bytes)?;
            self.header = Some(Header::from_bytes(&bytes[..read])?);
            self.end = input.byte;
        }
        let end = into.len() + most;
        while into.len() < end {
            if !self.frame(input, into)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn note(&self) -> Option<String> {
        let torn = self.torn.then(|| format!("torn or damaged from byte {} on: the rest was left out", self.end));
        torn.or_else(|| {
            (self.lost > 0).then(|| format!("{} requests were lost while recording: the disk was too slow", self.lost))
        })
    }
}
