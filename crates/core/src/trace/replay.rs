//! Replays a trace: its requests are moved to offsets that the storage has, and are sent at their recorded times or as
//! fast as they can be served.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Deserialize;

use super::source::{Format, Source};
use super::{Entry, Kind, Problem};
use crate::storage::{self, Request};

/// How offsets behind the end of the storage are mapped.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Offsets {
    /// They are kept; a request behind the end ends the replay.
    #[default]
    AsIs,
    /// Modulo the storage's size.
    Wrap,
    /// In proportion: the trace's span becomes the storage's size. Neighbouring requests then overlap.
    Scale,
}

/// How to replay.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The trace.
    pub path: PathBuf,
    /// Its format; None: guessed.
    pub format: Option<String>,
    /// 2.0: twice as fast as it was recorded; 0: as fast as possible.
    pub speed: f64,
    /// How offsets are mapped.
    pub offsets: Offsets,
    /// Bytes that the trace spans, for `Scale`.
    pub span_bytes: u64,
    /// Offsets and lengths are made multiples of this, which is at least 1: down the one, up the other.
    pub align_bytes: u32,
    /// Whether it starts again from its beginning when it is over.
    pub repeat: bool,
}

/// A trace that all lanes replay together. Each lane takes the next request that no lane has taken.
pub struct Player {
    spec: Spec,
    source: Source,
    file_bytes: u64,
    total_bytes: u64,
    /// Trace's time of its first request, and the length of the rounds before this one.
    first_ns: Option<u64>,
    round_ns: u64,
    last_ns: u64,
    /// When the replay began, by the driver's clock.
    begin_ns: Option<u64>,
    problem: Option<Problem>,
    over: bool,
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player").field("spec", &self.spec).finish_non_exhaustive()
    }
}

fn open(spec: &Spec) -> Result<Source, Problem> {
    let format = spec.format.as_deref().map(Format::named).transpose();
    let format = format.map_err(|what| Problem::new("workload.format", what, ""))?;
    let source = Source::open(&spec.path, format)?;
    if source.format().tells_objects() {
        let what = "a trace of objects has no requests to a device";
        return Err(Problem::new(
            spec.path.display().to_string(),
            what,
            "it can be simulated: flatwater trace simulate",
        ));
    }
    Ok(source)
}

impl Player {
    /// A replay on `files` of `file_bytes` each, which stand one after another.
    ///
    /// # Errors
    /// The trace cannot be opened.
    pub fn new(spec: Spec, files: u32, file_bytes: u64) -> Result<Self, Problem> {
        Ok(Self {
            source: open(&spec)?,
            spec,
            file_bytes,
            total_bytes: file_bytes.saturating_mul(u64::from(files)),
            first_ns: None,
            round_ns: 0,
            last_ns: 0,
            begin_ns: None,
            problem: None,
            over: false,
        })
    }

    /// The next request and its intended start by the driver's clock; None at the end.
    fn next(&mut self) -> Option<(u64, Request)> {
        while !self.over {
            match self.source.next_entry() {
                Ok(Some(entry)) if entry.kind == Kind::Trim => self.note_time(entry),
                Ok(Some(entry)) => {
                    self.note_time(entry);
                    match self.placed(entry) {
                        Ok(request) => return Some((self.due_ns(), request)),
                        Err(problem) => self.fail(problem),
                    }
                }
                Ok(None) if self.spec.repeat && self.first_ns.is_some() => self.rewind(),
                Ok(None) => self.over = true,
                Err(problem) => self.fail(problem),
            }
        }
        None
    }

    fn fail(&mut self, problem: Problem) {
        self.over = true;
        self.problem.get_or_insert(problem);
    }

    /// The time of the next request. A time that goes back counts as the time of the request before.
    fn note_time(&mut self, entry: Entry) {
        let first_ns = *self.first_ns.get_or_insert(entry.at_ns);
        self.last_ns = self.last_ns.max(self.round_ns.saturating_add(entry.at_ns.saturating_sub(first_ns)));
    }

    fn due_ns(&self) -> u64 {
        let since_ns = if self.spec.speed > 0.0 { (self.last_ns as f64 / self.spec.speed) as u64 } else { 0 };
        self.begin_ns.unwrap_or(0).saturating_add(since_ns)
    }

    fn rewind(&mut self) {
        match open(&self.spec) {
            Ok(source) => {
                self.source = source;
                self.round_ns = self.last_ns;
                self.first_ns = None;
            }
            Err(problem) => self.fail(problem),
        }
    }

    /// A request at an offset that the storage has.
    fn placed(&self, entry: Entry) -> Result<Request, Problem> {
        let kind = match entry.kind {
            Kind::Read => storage::Kind::Read,
            Kind::Flush => return Ok(Request::fsync(0)),
            _ => storage::Kind::Write,
        };
        let align = u64::from(self.spec.align_bytes.max(1));
        let end = entry.offset.saturating_add(u64::from(entry.bytes).max(1));
        let offset = match self.spec.offsets {
            Offsets::AsIs if end > self.total_bytes => {
                let (place, hint) = (self.spec.path.display().to_string(), "workload.offsets = \"wrap\" or \"scale\"");
                let what = format!("a request ends at byte {end}, the storage at {}", self.total_bytes);
                return Err(Problem::new(place, what, hint));
            }
            Offsets::AsIs => entry.offset,
            Offsets::Wrap => entry.offset % self.total_bytes,
            Offsets::Scale => {
                let scaled = u128::from(entry.offset) * u128::from(self.total_bytes);
                ((scaled / u128::from(self.spec.span_bytes.max(1))) as u64).min(self.total_bytes - 1)
            }
        };
        // A request that would cross the end of a file is moved back before it.
        let (file, at) = (offset / self.file_bytes, offset % self.file_bytes / align * align);
        let into = if self.spec.offsets == Offsets::AsIs { entry.offset % align } else { 0 };
        let bytes = (into + u64::from(entry.bytes)).div_ceil(align).max(1) * align;
        let bytes = bytes.min(self.file_bytes / align * align);
        let at = at.min((self.file_bytes - bytes) / align * align);
        Ok(Request { kind, file: file as u32, bytes: bytes as u32, offset: at })
    }
}

/// One lane's place in a replay: the request that it has taken and not yet sent.
#[derive(Clone, Debug)]
pub struct Cursor {
    player: Arc<Mutex<Player>>,
    held: Arc<Mutex<Held>>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Held {
    next: Option<(u64, Request)>,
    /// The intended start of the request that was sent last.
    sent_ns: u64,
}

impl Cursor {
    /// A lane of a replay.
    pub fn new(player: Arc<Mutex<Player>>) -> Self {
        let closed = player.lock().is_ok_and(|player| player.spec.speed <= 0.0);
        Self { player, held: Arc::default(), closed }
    }

    /// Whether requests are sent as fast as they can be served.
    pub fn is_closed_loop(&self) -> bool {
        self.closed
    }

    /// Starts the replay's clock, unless it runs already.
    pub fn begin(&self, now_ns: u64) {
        self.player.lock().expect("nothing panics under it").begin_ns.get_or_insert(now_ns);
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        let mut held = self.held.lock().expect("nothing panics under it");
        if held.next.is_none() {
            held.next = self.player.lock().expect("nothing panics under it").next();
        }
        held
    }

    /// The intended start of the next request. At the end of the trace it is now, so that the caller then finds the
    /// end.
    pub fn next_ns(&self) -> u64 {
        self.held().next.map_or(0, |(at_ns, _)| at_ns)
    }

    /// Takes the next request.
    pub fn take(&self) -> Option<Request> {
        let mut held = self.held();
        let (at_ns, request) = held.next.take()?;
        held.sent_ns = at_ns;
        Some(request)
    }

    /// The intended start of the request that was taken last.
    pub fn taken_ns(&self) -> u64 {
        self.held.lock().expect("nothing panics under it").sent_ns
    }

    /// The problem that ended the replay before the end of the trace.
    pub fn problem(&self) -> Option<String> {
        let player = self.player.lock().expect("nothing panics under it");
        player.problem.as_ref().map(ToString::to_string)
    }
}
