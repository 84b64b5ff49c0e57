//! What is known of a slow log while it is read.

use std::collections::{HashMap, HashSet};

use super::instead::sets_clock;
use super::literals::Literals;

/// What is known of the recorded connections.
#[derive(Clone, Default)]
pub(super) struct Sessions {
    /// The users of connections whose number the log does not tell.
    users: HashMap<Vec<u8>, u64>,
    /// It told that of the entry, of any entry.
    pub(super) is_numbered: bool,
    pub(super) has_numbers: bool,
    pub(super) literals: Literals,
    /// Those that were reset, without a statement since.
    pub(super) anew: HashSet<u64>,
    /// Those that have a clock of their own (`SET timestamp`), which MariaDB and older servers write into the log.
    own_clocks: HashSet<u64>,
}

impl Sessions {
    /// Without a number of the connection: one for each user and host, which end with a bracket.
    pub(super) fn of_user(&mut self, told: &[u8]) -> Option<u64> {
        let end = told.iter().rposition(|byte| *byte == b']')?;
        let next = self.users.len() as u64;
        Some(*self.users.entry(told[..end].to_vec()).or_insert(next))
    }

    /// A command of a connection; whether it ends it. Where the log does not tell connections, nobody knows of which.
    pub(super) fn obey(&mut self, command: Command, session: u64) -> bool {
        if !self.is_numbered || command == Command::Other {
            return false;
        }
        self.literals.forget(session);
        self.own_clocks.remove(&session);
        if command == Command::Reset {
            self.anew.insert(session);
        }
        command == Command::Quit
    }

    /// Whether the time that the log tells of a statement is that of its session only.
    pub(super) fn has_own_clock(&mut self, session: u64, sql: &[u8]) -> bool {
        let had = self.own_clocks.contains(&session);
        let sets = sets_clock(sql);
        match sets {
            Some(true) => _ = self.own_clocks.insert(session),
            Some(false) => _ = self.own_clocks.remove(&session),
            None => {}
        }
        had || sets == Some(true)
    }
}

/// Fields that only some servers have: MariaDB, newer MariaDB, Percona Server.
#[derive(Clone, Default)]
pub(super) struct Fields {
    pub(super) qc_hit: bool,
    pub(super) bytes_sent: bool,
    pub(super) last_errno: bool,
}

impl Fields {
    pub(super) fn note(&mut self, name: &[u8]) {
        match name {
            b"QC_hit" => self.qc_hit = true,
            b"Bytes_sent" => self.bytes_sent = true,
            b"Last_errno" => self.last_errno = true,
            _ => {}
        }
    }
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
