//! Commits, and how long the server takes for them: that is where a session waits for the redo log.

use std::time::{Duration, Instant};

use super::{Connection, Reply, SqlError};

impl Connection {
    /// Ends the transaction.
    ///
    /// # Errors
    /// As `reply`.
    pub fn commit(&mut self) -> Result<Reply, SqlError> {
        self.queue_query(b"COMMIT");
        self.reply_to_commit()
    }

    /// `reply`, to a commit that was queued.
    ///
    /// # Errors
    /// As `reply`.
    pub fn reply_to_commit(&mut self) -> Result<Reply, SqlError> {
        let asked = Instant::now();
        let reply = self.reply();
        self.committing += asked.elapsed();
        reply
    }

    /// Takes the time from commits to their answers, of those since it was taken the last time.
    pub fn take_committing(&mut self) -> Duration {
        std::mem::take(&mut self.committing)
    }
}
