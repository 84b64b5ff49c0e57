//! How a session gets its connection back.

use super::connection::SqlError;
use super::refused;
use crate::Error;
use crate::crew::Crew;

/// A session whose server is gone, and where its attempts are counted.
pub(super) struct Lost<'a> {
    pub(super) crew: &'a Crew,
    pub(super) lane: usize,
    /// The kind of transaction or statement that waits.
    pub(super) kind: usize,
    /// The counters of connections that were made again, and of attempts that failed.
    pub(super) reconnects: usize,
    pub(super) connect_failures: usize,
    /// First and longest pause between two attempts, ns: each is twice the last one.
    pub(super) pauses_ns: (u64, u64),
}

impl Lost<'_> {
    /// Tries until the server is there again, the first time at once unless it has just `refused`. Returns false if the
    /// run ended before.
    pub(super) fn connect_again(&self, mut refused: bool, mut connect: impl FnMut() -> Result<(), SqlError>) -> bool {
        let (crew, (mut pause_ns, longest_ns)) = (self.crew, self.pauses_ns);
        loop {
            if refused {
                if !crew.pause_until(crew.clock.now_ns() + pause_ns) {
                    return false;
                }
                pause_ns = (2 * pause_ns).min(longest_ns);
            }
            refused = true;
            match connect() {
                Ok(()) => {
                    crew.recorder.count(self.reconnects, 1);
                    return true;
                }
                Err(SqlError::Abandoned) => return false,
                Err(error) => {
                    // A server that is away gives no reason. One that answers and refuses does: the first reason is kept.
                    if matches!(error, SqlError::Server { .. } | SqlError::Handshake(_)) {
                        let told = refused::with_hint(&error);
                        crew.note_failure(Error::Workload(format!("cannot connect again: {told}")));
                    }
                    crew.recorder.count(self.connect_failures, 1);
                    crew.recorder.count_error(self.lane, self.kind, error.number());
                }
            }
        }
    }
}
