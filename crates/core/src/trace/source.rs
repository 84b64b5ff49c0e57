//! Reads a trace file of any format, plain or compressed (gzip, Zstandard), from its beginning to its end.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::format::{Reader, blkparse, iolog, msr, oracle, recording};
use super::position::{Input, Wrong};
use super::{Entry, Problem};

/// Requests read at once.
const BATCH: usize = 4096;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTANDARD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// flatwater's recordings.
    Recording,
    /// fio's iologs, version 2 and 3.
    Iolog,
    /// blkparse's text.
    Blkparse,
    /// The CSV files of Microsoft Research Cambridge.
    Msr,
    /// libCacheSim's oracleGeneral.
    Oracle,
}

impl Format {
    /// Every format, its name and what it is. Formats that are recognised more surely come first.
    pub const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Recording, "flatwater", "flatwater's recordings"),
        (Self::Iolog, "iolog", "fio's write_iolog, version 2 or 3"),
        (Self::Blkparse, "blkparse", "blkparse's text of a blktrace"),
        (Self::Msr, "msr", "Microsoft Research Cambridge's CSV"),
        (Self::Oracle, "oracle", "libCacheSim's oracleGeneral"),
    ];

    /// The format of this name.
    ///
    /// # Errors
    /// No format has this name. The error lists the names.
    pub fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, own, _)| *own == name).map(|(format, _, _)| *format);
        let names: Vec<_> = Self::ALL.iter().map(|(_, name, _)| *name).collect();
        found.ok_or_else(|| format!("there is no format `{name}`; there are {}", names.join(", ")))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(format, _, _)| *format == self).map_or("", |(_, name, _)| name)
    }

    fn recognises(self, head: &[u8]) -> bool {
        match self {
            Self::Recording => recording::recognises(head),
            Self::Iolog => iolog::recognises(head),
            Self::Blkparse => blkparse::recognises(head),
            Self::Msr => msr::recognises(head),
            Self::Oracle => oracle::recognises(head),
        }
    }

    fn reader(self) -> Box<dyn Reader> {
        match self {
            Self::Recording => Box::<recording::Recording>::default(),
            Self::Iolog => Box::<iolog::Iolog>::default(),
            Self::Blkparse => Box::<blkparse::Blkparse>::default(),
            Self::Msr => Box::<msr::Msr>::default(),
            Self::Oracle => Box::<oracle::Oracle>::default(),
        }
    }

    /// Whether its requests are for objects, which a cache keeps or drops as a whole, instead of ranges of bytes.
    pub fn tells_objects(self) -> bool {
        self == Self::Oracle
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Iolog | Self::Blkparse | Self::Msr)
    }
}

/// Called now and then. It returns whether to continue reading.
pub type Watch = Box<dyn FnMut() -> Result<(), Problem> + Send>;

/// A trace being read.
pub struct Source {
    place: String,
    input: Input,
    format: Format,
    reader: Box<dyn Reader>,
    batch: Vec<Entry>,
    at: usize,
    over: bool,
    watch: Option<Watch>,
}

impl Source {
    /// Opens a trace. Without a format, it is guessed by how the file begins.
    ///
    /// # Errors
    /// It cannot be read, or its format is not recognised.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Self, Problem> {
        let place = path.display().to_string();
        let unreadable = |error: io::Error| Problem::new(&place, format!("cannot be read: {error}"), "");
        let is_folder = path.is_dir();
        let file = File::open(path).map_err(unreadable)?;
        if is_folder {
            return Err(Problem::new(&place, "is a folder", "a trace is one file"));
        }
        Self::new(PathBuf::from(path), Box::new(file), format)
    }

    /// A trace from any reader. `name` appears in errors.
    ///
    /// # Errors
    /// As `open`.
    pub fn new(name: PathBuf, from: Box<dyn Read + Send>, format: Option<Format>) -> Result<Self, Problem> {
        let place = name.display().to_string();
        let unreadable = |error: &dyn std::fmt::Display| Problem::new(&place, format!("cannot be read: {error}"), "");
        let mut input = Input::new(from);
        let head = input.peek().map_err(|error| unreadable(&error))?;
        if head.starts_with(GZIP) {
            input = Input::new(Box::new(flate2::read::MultiGzDecoder::new(input.into_inner())));
        } else if head.starts_with(ZSTANDARD) {
            let decoder =
                ruzstd::decoding::StreamingDecoder::new(input.into_inner()).map_err(|error| unreadable(&error))?;
            input = Input::new(Box::new(decoder));
        }
        let head = input.peek().map_err(|error| unreadable(&error))?;
        if head.is_empty() {
            return Err(Problem::new(place, "is empty", ""));
        }
        let guessed = || Format::ALL.iter().map(|(format, _, _)| *format).find(|format| format.recognises(head));
        let Some(format) = format.or_else(guessed) else {
            let names: Vec<_> = Format::ALL.iter().map(|(_, name, _)| *name).collect();
            let hint = format!("say which: --format {}", names.join("|"));
            return Err(Problem::new(place, "does not begin like any known format of traces", hint));
        };
        Ok(Self { place, input, format, reader: format.reader(), batch: Vec::new(), at: 0, over: false, watch: None })
    }

    /// Has `watch` called before each batch of some thousand requests.
    pub fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Oddities that the reader skipped, for people.
    pub fn note(&self) -> Option<String> {
        self.reader.note()
    }

    /// The next requests. At the end there is none.
    ///
    /// # Errors
    /// The trace is invalid. The error has the file and the line or byte.
    pub fn next_batch(&mut self) -> Result<&[Entry], Problem> {
        self.batch.clear();
        self.at = 0;
        if let Some(watch) = &mut self.watch {
            watch()?;
        }
        while self.batch.is_empty() && !self.over {
            let more =
                self.reader.read(&mut self.input, BATCH, &mut self.batch).map_err(|wrong| self.problem(wrong))?;
            self.over = !more;
        }
        Ok(&self.batch)
    }

    /// The next request; None at the end.
    ///
    /// # Errors
    /// As `next_batch`.
    #[inline]
    pub fn next_entry(&mut self) -> Result<Option<Entry>, Problem> {
        if self.at == self.batch.len() {
            self.next_batch()?;
        }
        let entry = self.batch.get(self.at).copied();
        self.at += usize::from(entry.is_some());
        Ok(entry)
    }

    fn problem(&mut self, wrong: Wrong) -> Problem {
        self.over = true;
        let at = if self.format.is_text() { self.input.line } else { self.input.byte };
        let unit = if self.format.is_text() { "line" } else { "byte" };
        Problem::new(format!("{}, {unit} {at}", self.place), wrong.what, wrong.hint)
    }
}
