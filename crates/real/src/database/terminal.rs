//! What a workload must tell to be driven: one terminal a connection.

use super::connection::{Connection, SqlError};

/// A transaction that a terminal has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Index of its kind among the workload's `KINDS`.
    pub kind: usize,
    /// Keying time before it starts, ns.
    pub keying_ns: u64,
    /// Think time after it ended, ns.
    pub think_ns: u64,
}

/// How a transaction ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its work is done.
    Committed,
    /// It rolled back because the workload wants so (TPC-C's 1 % of New-Orders).
    RolledBack,
    /// Another transaction had done its work in the meantime (two Deliveries of one order): it was rolled back, and is
    /// to be tried again.
    Conflict,
}

/// One user of the database: chooses transactions and runs them.
pub trait Terminal: Send {
    /// Prepares its statements on a new connection.
    ///
    /// # Errors
    /// What the server answers: a missing table, say.
    fn attach(&mut self, connection: &mut Connection) -> Result<(), SqlError>;

    /// Chooses the next transaction and all of its inputs.
    fn choose(&mut self) -> Choice;

    /// Runs the chosen transaction once, from its beginning to its COMMIT or ROLLBACK. After a failure that leaves the
    /// connection usable, the driver rolls back, and calls this again for deadlocks and lock timeouts.
    ///
    /// # Errors
    /// What the server answers, or that the connection is gone.
    fn attempt(&mut self, connection: &mut Connection) -> Result<Outcome, SqlError>;
}
