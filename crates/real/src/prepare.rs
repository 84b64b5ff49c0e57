//! Writes the files of an experiment, in parallel and with progress. It can be resumed.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use flatwater_core::storage::Kind;
use flatwater_core::workload::payload::{self, Header, Payload};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Error;
use crate::permit::Permit;
use crate::storage::buffer::Buffers;

/// Bytes that one thread writes at a time: large enough for any device's full bandwidth.
const CHUNK_BYTES: u64 = 1 << 20;

/// The specification of a preparation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The files, which exist. Each is extended to `file_bytes`.
    pub paths: Vec<PathBuf>,
    /// The files that may be written.
    pub permit: Permit,
    /// Bytes of each.
    pub file_bytes: u64,
    /// Bytes that an earlier attempt wrote, counted over all files in order. They are not written again.
    pub done_bytes: u64,
    /// Writers.
    pub threads: u32,
    /// Bypass the page cache.
    pub direct: bool,
    /// Whether the files are a block device, whose length does not change.
    pub device: bool,
    /// Share of the data that compresses away, %.
    pub compressible_pct: f64,
    /// Blocks of this size get headers of the set `set_id`, so that they can be verified; 0: no headers.
    pub stamp_bytes: u32,
    /// The set's id.
    pub set_id: u64,
    /// Seed of the data.
    pub seed: u64,
}

struct Job {
    spec: Spec,
    chunk_bytes: u64,
    next_chunk: AtomicU64,
    written: Mutex<Marks>,
    stop: AtomicBool,
    writers_left: AtomicUsize,
    failure: Mutex<Option<Error>>,
}

/// Which chunks are written: all below `low`, and those in `above`.
#[derive(Default)]
struct Marks {
    low: u64,
    above: std::collections::BTreeSet<u64>,
}

/// A preparation under way.
pub struct Prepare(Arc<Job>);

impl Prepare {
    /// Starts the writers.
    pub fn start(spec: Spec) -> Result<Self, Error> {
        for path in &spec.paths {
            let file = open(path, &spec.permit, false)?;
            if !spec.device {
                file.set_len(spec.file_bytes).map_err(|source| Error::File {
                    path: path.clone(),
                    what: "cannot set its size",
                    source,
                })?;
            }
        }
        let writers = spec.threads.max(1);
        let chunk_bytes = match u64::from(spec.stamp_bytes) {
            0 => CHUNK_BYTES,
            stamp => (CHUNK_BYTES / stamp).max(1) * stamp,
        };
        let low = chunks_before(spec.done_bytes, spec.file_bytes, chunk_bytes);
        let job = Arc::new(Job {
            spec,
            chunk_bytes,
            next_chunk: AtomicU64::new(low),
            written: Mutex::new(Marks { low, ..Marks::default() }),
            stop: AtomicBool::new(false),
            writers_left: AtomicUsize::new(writers as usize),
            failure: Mutex::new(None),
        });
        let buffers = Buffers::for_queues(writers, 1, chunk_bytes as u32, true);
        for (writer, buffers) in buffers.into_iter().enumerate() {
            let own = job.clone();
            let spawned = thread::Builder::new().name(format!("prepare-{writer}")).spawn(move || {
                if let Err(error) = own.write_chunks(writer as u64, buffers) {
                    own.fail(error);
                }
                own.writers_left.fetch_sub(1, SeqCst);
            });
            if let Err(source) = spawned {
                job.fail(Error::Engine { engine: "threads", source, hint: " (hint: raise ulimit -u)" });
                job.writers_left.fetch_sub(writers as usize - writer, SeqCst);
                break;
            }
        }
        Ok(Self(job))
    }

    /// Bytes that are written without a gap from the beginning. A later attempt can continue there.
    pub fn done_bytes(&self) -> u64 {
        let job = &self.0;
        let low = job.written.lock().expect("no writer panics here").low;
        let (file, chunk) = (low / job.chunks_per_file(), low % job.chunks_per_file());
        file * job.spec.file_bytes + chunk * job.chunk_bytes
    }

    /// Bytes to write in all.
    pub fn total_bytes(&self) -> u64 {
        self.0.total_bytes()
    }

    /// Makes the writers end after their present chunk.
    pub fn stop(&self) {
        self.0.stop.store(true, SeqCst);
    }

    /// Waits for the writers. Returns false if they have not ended after `timeout`.
    pub fn join(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        while self.0.writers_left.load(SeqCst) > 0 {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// The first failure, in words.
    pub fn failure(&self) -> Option<String> {
        self.0.failure.lock().expect("no writer panics here").as_ref().map(ToString::to_string)
    }
}

impl Drop for Prepare {
    fn drop(&mut self) {
        self.stop();
    }
}

fn open(path: &Path, permit: &Permit, direct: bool) -> Result<std::fs::File, Error> {
    permit.open(path, if direct { libc::O_DIRECT } else { 0 }, "cannot open it for writing")
}

/// Whole chunks within the first `bytes` of all files, in order.
fn chunks_before(bytes: u64, file_bytes: u64, chunk_bytes: u64) -> u64 {
    bytes / file_bytes * file_bytes.div_ceil(chunk_bytes) + bytes % file_bytes / chunk_bytes
}

impl Job {
    fn fail(&self, error: Error) {
        self.failure.lock().expect("no writer panics here").get_or_insert(error);
        self.stop.store(true, SeqCst);
    }

    fn chunks_per_file(&self) -> u64 {
        self.spec.file_bytes.div_ceil(self.chunk_bytes)
    }

    fn total_bytes(&self) -> u64 {
        self.spec.file_bytes * self.spec.paths.len() as u64
    }

    fn write_chunks(&self, writer: u64, mut buffers: Buffers) -> Result<(), Error> {
        let spec = &self.spec;
        let mut payload = Payload::new(spec.seed, "prepare", writer, spec.compressible_pct);
        for (index, buffer) in buffers.pool().into_iter().enumerate() {
            payload.fill(buffer, index as u64);
        }
        let mut open_file: Option<(u64, std::fs::File)> = None;
        while !self.stop.load(SeqCst) {
            let chunk = self.next_chunk.fetch_add(1, SeqCst);
            let (index, offset) = (chunk / self.chunks_per_file(), chunk % self.chunks_per_file() * self.chunk_bytes);
            let Some(path) = spec.paths.get(index as usize) else { break };
            if open_file.as_ref().is_none_or(|(opened, _)| *opened != index) {
                // The previous file must be durable before it counts as prepared.
                sync(open_file.take(), &spec.paths)?;
                open_file = Some((index, open(path, &spec.permit, spec.direct)?));
            }
            let Some((_, file)) = &open_file else { break };
            let bytes = self.chunk_bytes.min(spec.file_bytes - offset);
            let data = &mut buffers.take(0, Kind::Write)[..bytes as usize];
            payload.stamp(data);
            self.seal(data, index as u32, offset);
            file.write_all_at(data, offset).map_err(|source| Error::Request {
                what: "preparing write",
                path: path.clone(),
                offset,
                bytes: bytes as u32,
                source,
            })?;
            self.mark(chunk);
        }
        sync(open_file, &spec.paths)
    }

    fn seal(&self, data: &mut [u8], file: u32, chunk_offset: u64) {
        let step = self.spec.stamp_bytes as usize;
        if step == 0 {
            return;
        }
        for (block, data) in data.chunks_exact_mut(step).enumerate() {
            let offset = chunk_offset + (block * step) as u64;
            payload::seal(data, Header { set_id: self.spec.set_id, file, offset, generation: 1 });
        }
    }

    fn mark(&self, chunk: u64) {
        let mut marks = self.written.lock().expect("no writer panics here");
        marks.above.insert(chunk);
        while marks.above.first() == Some(&marks.low) {
            marks.above.pop_first();
            marks.low += 1;
        }
    }
}

fn sync(file: Option<(u64, std::fs::File)>, paths: &[PathBuf]) -> Result<(), Error> {
    let Some((index, file)) = file else { return Ok(()) };
    file.sync_all().map_err(|source| Error::File {
        path: paths[index as usize].clone(),
        what: "cannot make it durable",
        source,
    })
}
