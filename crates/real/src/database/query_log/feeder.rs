//! Reads the log ahead of the sessions.

use std::fs::File;
use std::io::BufReader;

use flatwater_core::workload::query_log::Reader;

use super::job::Job;
use crate::Error;

/// Reads the log.
pub(super) struct Feeder<'a> {
    job: &'a Job,
    reader: Reader<BufReader<File>>,
}

impl<'a> Feeder<'a> {
    pub(super) fn new(job: &'a Job, reader: Reader<BufReader<File>>) -> Self {
        Self { job, reader }
    }

    /// Reads to the log's end, or the run's.
    pub(super) fn feed(mut self) {
        let queues = if self.job.shared { 1 } else { u64::from(self.job.connections) };
        loop {
            let next = self.reader.next_entry();
            self.job.note_unread(self.reader.tally().unread);
            match next {
                Ok(Some(entry)) => {
                    // Servers number their connections one by one, so that neighbours go to different sessions.
                    let queue = (entry.session % queues) as usize;
                    if !self.job.queues.add(queue, entry, || self.job.crew.stopping()) {
                        break;
                    }
                }
                Ok(None) => break,
                Err(what) => {
                    let (log, line) = (self.job.spec.log.display(), self.reader.tally().lines);
                    self.job.crew.fail(Error::Workload(format!("{log}:{line}: {what}")));
                    break;
                }
            }
        }
        self.job.queues.end();
    }
}
