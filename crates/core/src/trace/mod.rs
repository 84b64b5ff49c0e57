//! Block traces: which process requested which range, and when. They are read, written, summed up, and run through
//! caches that hold no data.
//!
//! `format/` has one file a format; all yield `Entry`. A reader streams: it never holds more than a batch. A server of
//! requests records them with `Recorder`:
//!
//! ```no_run
//! # use flatwater_core::trace::{self, Recorder};
//! # use flatwater_core::cache::Kind;
//! # fn main() -> Result<(), trace::Problem> {
//! let clock_ns = 0; // the caller's own clock, in all calls
//! let options = trace::recorder::Options { device_bytes: 1 << 40, limit_bytes: 1 << 30, now_ns: clock_ns };
//! let mut recorder = Recorder::open("requests.trace".as_ref(), options)?; // makes it, or goes on where it ends
//! recorder.record(trace::Entry { at_ns: clock_ns, kind: Kind::Read, offset: 4096, bytes: 512, process: 0 });
//! recorder.tick(clock_ns); // now and then: hands over what was recorded a second ago or earlier; never waits
//! let written = recorder.end()?; // waits for the disk
//! # let _ = written; Ok(()) }
//! ```
//!
//! `record` never waits and never fails. It takes some 10 ns, and a thread of the recorder writes. Requests that the
//! thread cannot take in time are dropped and counted, and the trace has the count.

use std::fmt;

pub mod convert;
pub mod format;
pub mod position;
pub mod recorder;
pub mod replay;
pub mod simulate;
pub mod source;
pub mod summary;

pub use crate::cache::Kind;
pub use recorder::Recorder;
pub use source::{Format, Source};

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was sent, from the trace's beginning.
    pub at_ns: u64,
    /// Its kind.
    pub kind: Kind,
    /// First byte. In a trace of objects: the object's name.
    pub offset: u64,
    /// Length. In a trace of objects: the object's size.
    pub bytes: u32,
    /// The process that sent it; 0: unknown.
    pub process: u32,
}

/// Why a trace cannot be read or written: where, what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// File, and line or byte.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What to do; may be empty.
    pub hint: String,
}

impl Problem {
    /// A problem at a place.
    pub fn new(place: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, " (hint: {})", self.hint) }
    }
}

impl std::error::Error for Problem {}

/// A kind's name, in tables and traces.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Zero => "zero",
        Kind::Trim => "trim",
        Kind::Flush => "flush",
    }
}

#[cfg(test)]
mod tests;
