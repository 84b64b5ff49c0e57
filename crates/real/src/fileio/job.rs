//! The state that the lanes of a run share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use flatwater_core::storage::Request;

use super::spec::Spec;
use super::verification::Verification;
use crate::Error;
use crate::crew::Crew;
use crate::storage::Target;
use crate::storage::fault::FaultState;

/// The state that the lanes of a run share.
pub(super) struct Job {
    pub(super) spec: Spec,
    pub(super) target: Arc<Target>,
    pub(super) crew: Arc<Crew>,
    pub(super) verification: Option<Verification>,
    pub(super) fault_state: Arc<FaultState>,
    /// Lanes that may still send requests.
    lanes_writing: AtomicUsize,
}

impl Job {
    /// A job whose lanes have not begun.
    pub(super) fn new(spec: Spec, target: Arc<Target>, crew: Arc<Crew>, verification: Option<Verification>) -> Self {
        let lanes_writing = AtomicUsize::new(spec.threads as usize);
        Self { spec, target, crew, verification, fault_state: Arc::default(), lanes_writing }
    }

    /// Notes the failure of a request. The first failure is reported. It ends the run, unless the run continues on errors.
    pub(super) fn note_error(&self, error: Error) {
        if self.spec.continue_on_error {
            self.crew.note_failure(error);
        } else {
            self.crew.fail(error);
        }
    }

    /// Notes that a lane sends no more requests. The last lane gets the requests that make all data durable, if the workload
    /// requires them.
    pub(super) fn end_of_lane(&self) -> Vec<Request> {
        if self.lanes_writing.fetch_sub(1, SeqCst) > 1 {
            return Vec::new();
        }
        self.spec.workload.final_fsyncs().collect()
    }
}
