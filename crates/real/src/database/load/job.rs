//! What the threads of a load share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use super::dataset::{Chunk, Dataset};
use super::spec::Spec;

/// What the threads of a load share.
pub(super) struct Job {
    pub(super) spec: Spec,
    pub(super) schema: String,
    pub(super) dataset: Box<dyn Dataset>,
    pub(super) chunks: Vec<Chunk>,
    pub(super) done_rows: AtomicU64,
    pub(super) indexes: AtomicBool,
    /// Use LOAD DATA: until a server turns out not to allow it.
    pub(super) bulk: AtomicBool,
    /// Everyone stops, connections included.
    pub(super) stop: Arc<AtomicBool>,
    pub(super) ended: AtomicBool,
    pub(super) failure: Mutex<Option<String>>,
}

impl Job {
    /// A load that has not begun, into this schema.
    pub(super) fn new(spec: Spec, schema: String) -> Self {
        let dataset = spec.dataset.dataset();
        Self {
            chunks: dataset.chunks(),
            schema,
            dataset,
            done_rows: AtomicU64::new(0),
            indexes: AtomicBool::new(false),
            bulk: AtomicBool::new(spec.bulk),
            stop: Arc::new(AtomicBool::new(false)),
            ended: AtomicBool::new(false),
            failure: Mutex::new(None),
            spec,
        }
    }

    /// Keeps the first failure, in words, and stops everyone.
    pub(super) fn fail(&self, text: String) {
        self.failure.lock().expect("no thread panics here").get_or_insert(text);
        self.stop.store(true, SeqCst);
    }
}
