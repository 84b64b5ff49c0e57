//! The trace to which requests are recorded.

use std::path::{Path, PathBuf};

use flatwater_core::trace::Entry;
use flatwater_core::trace::recorder::{Options, Recorder};

/// A trace that is being written. Its beginning and its end wait for its disk.
pub(super) struct Recording {
    path: PathBuf,
    recorder: Recorder,
}

impl Recording {
    /// Makes a trace, or continues one.
    pub(super) fn begin(path: &Path, options: Options) -> Result<Self, String> {
        let recorder = Recorder::open(path, options).map_err(|problem| problem.to_string())?;
        Ok(Self { path: path.to_owned(), recorder })
    }

    /// Writes the rest of the trace. Returns what was recorded, in words.
    pub(super) fn end(self) -> Result<String, String> {
        let recorded = self.recorder.end().map_err(|problem| problem.to_string())?;
        Ok(format!("{}: {} requests recorded, {} lost", self.path.display(), recorded.entries, recorded.lost))
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Records a request.
    pub(super) fn record(&mut self, entry: Entry) {
        self.recorder.record(entry);
    }

    /// Lets time pass to `now_ns`.
    pub(super) fn tick(&mut self, now_ns: u64) {
        self.recorder.tick(now_ns);
    }
}

/// The error for a second recording: requests are recorded to one file at a time.
pub(super) fn already(path: &Path) -> String {
    format!("requests are recorded to {} already: stop that first", path.display())
}
