//! A trace in another format: flatwater's own, or fio's iolog, so that fio can replay it.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::format::recording::{Frame, Header};
use super::{Kind, Problem, Source};

/// Bytes of a frame's content when no user waits for it.
const FRAME_BYTES: usize = 64 << 10;

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// flatwater's recording.
    Recording,
    /// fio's iolog, version 3.
    Iolog,
}

impl Target {
    /// The format of this name.
    ///
    /// # Errors
    /// No format that can be written has this name.
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "flatwater" => Ok(Self::Recording),
            "iolog" => Ok(Self::Iolog),
            _ => Err(format!("`{name}` cannot be written; flatwater and iolog can")),
        }
    }
}

/// Writes all of a trace into a new file. Returns how many requests it wrote, and how many of them the format cannot
/// express. An iolog has no zeros: they become writes. It has no flush of a whole device: it becomes a sync of the
/// file.
///
/// # Errors
/// The trace is invalid, or writing failed. An unfinished file is removed.
pub fn convert(source: &mut Source, out: &Path, to: Target) -> Result<u64, Problem> {
    let place = out.display().to_string();
    let io = |error: std::io::Error| {
        let hint = if error.kind() == std::io::ErrorKind::AlreadyExists { "give another file" } else { "" };
        Problem::new(&place, format!("cannot be written: {error}"), hint)
    };
    if source.format().tells_objects() {
        return Err(Problem::new(&place, "a trace of objects has no requests to a device", "it can be simulated"));
    }
    let file = OpenOptions::new().write(true).create_new(true).open(out).map_err(io)?;
    let mut file = BufWriter::new(file);
    let written = match to {
        Target::Recording => recording(source, &mut file, &io),
        Target::Iolog => iolog(source, &mut file, &io),
    };
    let written = written.and_then(|written| file.flush().map_err(io).map(|()| written));
    if written.is_err() {
        let _ = std::fs::remove_file(out);
    }
    written
}

type Io<'a> = &'a dyn Fn(std::io::Error) -> Problem;

fn recording(source: &mut Source, file: &mut impl Write, io: Io<'_>) -> Result<u64, Problem> {
    let header = Header { began_unix_ns: 0, device_bytes: 0 };
    file.write_all(&header.to_bytes()).map_err(io)?;
    let (mut frame, mut written) = (Frame::default(), 0);
    while let Some(entry) = source.next_entry()? {
        frame.push(entry);
        written += 1;
        if frame.bytes() >= FRAME_BYTES {
            file.write_all(&frame.seal(0)).map_err(io)?;
        }
    }
    if frame.entries() > 0 {
        file.write_all(&frame.seal(0)).map_err(io)?;
    }
    Ok(written)
}

/// The name of the one file of an iolog. fio replaces it by `--replay_redirect`.
const FILE: &str = "trace";

fn iolog(source: &mut Source, file: &mut impl Write, io: Io<'_>) -> Result<u64, Problem> {
    writeln!(file, "fio version 3 iolog\n0 {FILE} add\n0 {FILE} open").map_err(io)?;
    let (mut written, mut last_us) = (0, 0);
    while let Some(entry) = source.next_entry()? {
        last_us = entry.at_ns / 1000;
        let action = match entry.kind {
            Kind::Read => "read",
            Kind::Write | Kind::Zero => "write",
            Kind::Trim => "trim",
            Kind::Flush => "sync",
        };
        writeln!(file, "{last_us} {FILE} {action} {} {}", entry.offset, entry.bytes).map_err(io)?;
        written += 1;
    }
    writeln!(file, "{last_us} {FILE} close").map_err(io)?;
    Ok(written)
}
