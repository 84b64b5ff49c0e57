//! What is known of a slow log while it is read.

use std::collections::{HashMap, HashSet};

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
    /// Those that were reset, without a statement since.
    pub(super) anew: HashSet<u64>,
}

impl Sessions {
    /// A command of a connection; whether it ends it. Where the log does not tell connections, nobody knows of which.
    pub(super) fn obey(&mut self, command: Command, session: u64) -> bool {
        if !self.is_numbered || command == Command::Other {
            return false;
        }
        self.escapes.remove(&session);
        if command == Command::Reset {
            self.anew.insert(session);
        }
        command == Command::Quit
    }
}

/// Fields that only some servers have: MariaDB, newer MariaDB, Percona Server.
#[derive(Clone, Default)]
pub(super) struct Fields {
    pub(super) qc_hit: bool,
    pub(super) bytes_sent: bool,
    pub(super) last_errno: bool,
}

/// What a command does to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// It ends.
    Quit,
    /// What it had is gone: an open transaction, locks, settings, temporary tables.
    Reset,
    /// Nothing that is known.
    Other,
}

/// What the entry is besides a statement.
#[derive(Clone, Default)]
pub(super) struct Kind {
    /// A command that is no statement.
    pub(super) command: Option<Command>,
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
