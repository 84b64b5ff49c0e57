//! What is known of a slow log while it is read.

use std::collections::HashMap;

use crate::workload::sql::token::Escapes;

/// What is known of the recorded connections.
#[derive(Clone, Default)]
pub(super) struct Sessions {
    /// The users of connections whose number the log does not tell.
    pub(super) users: HashMap<Vec<u8>, u64>,
    /// It told that of the entry, of any entry.
    pub(super) is_numbered: bool,
    pub(super) has_numbers: bool,
    /// Of those that set it.
    pub(super) escapes: HashMap<u64, Escapes>,
    /// Those that are over.
    pub(super) over: Vec<u64>,
}

/// Fields that only some servers have: MariaDB, newer MariaDB, Percona Server.
#[derive(Clone, Default)]
pub(super) struct Fields {
    pub(super) qc_hit: bool,
    pub(super) bytes_sent: bool,
    pub(super) last_errno: bool,
}

/// What the entry is besides a statement.
#[derive(Clone, Default)]
pub(super) struct Kind {
    /// A command.
    pub(super) is_command: bool,
    /// Of a stored program, whose CALL has an entry of its own.
    pub(super) is_of_program: bool,
    /// Warnings stand in its head (log_slow_verbosity of MariaDB), with any text of the statement's values in them.
    pub(super) is_warned: bool,
}

/// The entry that was read last: its time, and that of its end.
#[derive(Clone, Default)]
pub(super) struct Last {
    pub(super) told_us: i64,
    pub(super) ended_us: i64,
}
