//! The transaction of a session, over errors and lost connections.
//!
//! What is left of a transaction that a server has rolled back must not be committed statement by statement: it is sent in a
//! transaction of its own, and the recorded client's COMMIT or ROLLBACK ends that one.

use flatwater_core::workload::query_log::{Entry, begins_transaction, ends_transaction, sets_autocommit};
use flatwater_core::workload::sql::effect;

use super::verbs::xa_verb;
use crate::database::connection::{Reply, SqlError};
use crate::database::refused;

/// What is known of it.
#[derive(Default)]
pub(super) struct Transaction {
    /// It is open.
    pub(super) is_open: bool,
    /// It is a distributed one that is not prepared: it is lost with its connection.
    is_xa: bool,
    /// It began with READ ONLY.
    is_read_only: bool,
    /// The session has turned autocommit off.
    has_no_autocommit: bool,
    /// The recorded connection of which the server has rolled back an open transaction, whose statements go on.
    rolled_back: Option<u64>,
    /// The recorded connection whose open transaction is what was left of one.
    left_over: Option<u64>,
    /// The recorded connection whose distributed transaction was lost, and goes on as a common one.
    instead_of_xa: Option<u64>,
}

impl Transaction {
    /// The session has a new connection.
    pub(super) fn connect(&mut self) {
        (self.is_open, self.is_xa) = (false, false);
    }

    /// Whether the statements of a recorded connection that follow are what is left of a transaction.
    pub(super) fn lacks_begin(&self, session: u64) -> bool {
        self.rolled_back == Some(session)
    }

    /// What is left has a transaction of its own now.
    pub(super) fn begin_again(&mut self, session: u64) {
        (self.rolled_back, self.left_over) = (None, Some(session));
    }

    /// How what is left of a transaction begins.
    pub(super) fn begin(&self) -> &'static str {
        if self.is_read_only { "START TRANSACTION READ ONLY" } else { "BEGIN" }
    }

    /// What is sent in the place of a statement: a distributed transaction that was lost goes on as a common one. None:
    /// nothing.
    pub(super) fn instead_of<'s>(&self, entry: &'s Entry) -> Option<&'s [u8]> {
        let replaced = (self.instead_of_xa == Some(entry.session)).then(|| xa_verb(&entry.sql));
        match replaced.as_deref() {
            Some("END" | "PREPARE") => None,
            Some("COMMIT") => Some(b"COMMIT"),
            Some("ROLLBACK") => Some(b"ROLLBACK"),
            _ => Some(&entry.sql),
        }
    }

    /// The server has answered a statement.
    pub(super) fn note(&mut self, sql: &[u8], reply: &Result<Reply, SqlError>) {
        if self.is_ended_by(sql) || (reply.is_ok() && begins_transaction(sql)) {
            (self.instead_of_xa, self.left_over) = (None, None);
        }
        let Ok(reply) = reply else { return };
        self.is_open = reply.in_transaction.unwrap_or(self.is_open);
        self.is_read_only &= self.is_open;
        if begins_transaction(sql) {
            self.is_read_only = is_read_only(sql);
        }
        self.note_autocommit(sql);
        match xa_verb(sql).as_str() {
            "START" | "BEGIN" => self.is_xa = true,
            // What is prepared outlives its connection, whatever the server says of the session.
            "PREPARE" => (self.is_xa, self.is_open) = (false, false),
            "COMMIT" | "ROLLBACK" => self.is_xa = false,
            _ => {}
        }
    }

    /// Whether a statement leaves nothing of an open transaction. Autocommit that is turned on commits where it was off.
    fn is_ended_by(&self, sql: &[u8]) -> bool {
        ends_transaction(sql) && (self.has_no_autocommit || sets_autocommit(sql) != Some(true))
    }

    fn note_autocommit(&mut self, sql: &[u8]) {
        if let Some(is_on) = sets_autocommit(sql) {
            self.has_no_autocommit = !is_on;
        }
    }

    /// The connection was lost with a statement.
    pub(super) fn lose(&mut self, entry: &Entry) {
        let begins = begins_transaction(&entry.sql);
        if begins {
            self.is_read_only = is_read_only(&entry.sql);
        }
        if begins || self.is_open {
            let of_xa = self.is_xa || (begins && !xa_verb(&entry.sql).is_empty());
            self.rolled_back = Some(entry.session);
            self.instead_of_xa = of_xa.then_some(entry.session).or(self.instead_of_xa);
        }
        if self.is_ended_by(&entry.sql) {
            (self.rolled_back, self.instead_of_xa, self.left_over) = (None, None, None);
        }
        self.note_autocommit(&entry.sql);
        self.is_open = false;
    }

    /// The server has refused a statement. `ask_open` asks it whether a transaction is open; None: it did not tell.
    pub(super) fn refuse(&mut self, entry: &Entry, error: &SqlError, ask_open: impl FnOnce() -> Option<bool>) {
        let verb = effect::verb(&entry.sql);
        let is_void = refused::ROLLED_BACK.iter().any(|code| error.is(*code));
        let may_wait = error.is(refused::LOCK_WAIT_TIMEOUT);
        // DDL commits before it fails, but for an error of its syntax. A COMMIT may fail: Galera, Group Replication. A program
        // may have done anything.
        let is_program = matches!(verb.as_str(), "CALL" | "EXECUTE" | "BEGIN");
        if self.is_ended_by(&entry.sql) || (is_program && !is_void && !may_wait) {
            self.is_open = ask_open().unwrap_or(self.is_open);
            return;
        }
        // With innodb_rollback_on_timeout, a server rolls the whole transaction back.
        let rolled_back = self.is_open && (is_void || (may_wait && ask_open() == Some(false)));
        // A savepoint is gone with its transaction, and what is left was behind it.
        let is_gone = self.left_over == Some(entry.session) && error.is(refused::NO_SAVEPOINT) && verb == "ROLLBACK";
        if rolled_back || is_gone {
            (self.is_open, self.rolled_back) = (false, Some(entry.session));
        }
    }
}

fn is_read_only(begin: &[u8]) -> bool {
    effect::words_of(begin).any(|word| word == "ONLY")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sql: &str) -> Entry {
        Entry { session: 7, sql: sql.into(), ..Entry::default() }
    }

    fn error(code: u16) -> SqlError {
        SqlError::Server { code, message: String::new() }
    }

    fn open() -> Transaction {
        Transaction { is_open: true, ..Transaction::default() }
    }

    /// Galera and Group Replication refuse a COMMIT, which the transaction does not survive: nothing is left of it.
    #[test]
    fn behind_a_commit_that_was_refused_nothing_is_left() {
        for code in [refused::DEADLOCK, 3101] {
            let mut one = open();
            one.refuse(&entry("COMMIT"), &error(code), || Some(false));
            assert!(!one.is_open && !one.lacks_begin(7), "{code}");
        }
        let mut one = open();
        one.refuse(&entry("CREATE TABEL t"), &error(1064), || Some(true));
        assert!(one.is_open, "what cannot be read commits nothing");
    }

    #[test]
    fn a_session_that_is_lost_leaves_what_it_was() {
        let lost = |one: &mut Transaction, sql: &str| {
            one.lose(&entry(sql));
            (one.lacks_begin(7), one.begin())
        };
        assert_eq!(
            lost(&mut Transaction::default(), "START TRANSACTION READ ONLY"),
            (true, "START TRANSACTION READ ONLY")
        );
        assert_eq!(lost(&mut Transaction::default(), "BEGIN"), (true, "BEGIN"));
        assert!(!lost(&mut Transaction::default(), "INSERT INTO t VALUES (1)").0);
        // Where it is on, to turn it on commits nothing.
        for (has_no_autocommit, sql, lacks) in [
            (false, "SET autocommit = 1", true),
            (true, "SET autocommit = 1", false),
            (true, "SET GLOBAL autocommit = 1", true),
            (false, "SET PASSWORD = 'a'", false),
            (false, "COMMIT", false),
        ] {
            let mut one = Transaction { has_no_autocommit, ..open() };
            assert_eq!(lost(&mut one, sql).0, lacks, "{has_no_autocommit} {sql}");
        }
        let mut prepared = Transaction { is_xa: true, ..open() };
        let mut still_open = Reply::default();
        still_open.in_transaction = Some(true);
        prepared.note(b"XA PREPARE 'a'", &Ok(still_open));
        assert!(!lost(&mut prepared, "SELECT 1").0, "it outlives its connection");
    }

    #[test]
    fn an_error_that_rolls_back_leaves_the_rest() {
        let insert = entry("INSERT INTO t VALUES (1)");
        for (code, open_then, lacks) in
            [(1213, None, true), (1205, Some(true), false), (1205, Some(false), true), (1062, None, false)]
        {
            let mut one = open();
            one.refuse(&insert, &error(code), || open_then);
            assert_eq!((one.lacks_begin(7), one.lacks_begin(8)), (lacks, false), "{code} {open_then:?}");
        }
        let mut none = Transaction::default();
        none.refuse(&insert, &error(1213), || None);
        assert!(!none.lacks_begin(7), "without a transaction, nothing is left of one");
    }
}
