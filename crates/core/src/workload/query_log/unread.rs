//! What of a log cannot be read: it is left out, and counted with the place of the first.

/// Entries and other pieces that were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// How many.
    pub count: u64,
    /// Of the first: its line, and what cannot be read of it, in words behind a colon.
    pub first: Option<(u64, &'static str)>,
}

/// What a log does not tell, and a replay can only guess.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Which connection sent a statement.
    pub nameless: bool,
    /// Which statements are of a stored program that a CALL runs.
    pub calls: bool,
    /// The server logged one of so many statements or sessions (`log_slow_rate_limit` of Percona Server); 0 and 1: all.
    pub logged_one_of: u64,
    /// Whether the server may have another setting for all since, first of this line (SET GLOBAL).
    pub sets_for_all_at: Option<u64>,
    /// Why its clock went back, first on this line.
    pub set_back_at: Option<u64>,
    /// Why an entry is older than the one before by more than a clock is set back, first on this line.
    pub older_at: Option<u64>,
    /// Whether a slow log that goes on behind a header, first on this line, is that of a server that was restarted: then
    /// numbers of connections begin anew.
    pub reopened_at: Option<u64>,
}

impl Unread {
    /// Counts one.
    pub(super) fn add(&mut self, line: u64, what: &'static str) {
        self.count += 1;
        self.first.get_or_insert((line, what));
    }

    /// Both together.
    pub(super) fn with(self, other: Self) -> Self {
        let first = match (self.first, other.first) {
            (Some(one), Some(two)) => Some(if two.0 < one.0 { two } else { one }),
            (one, two) => one.or(two),
        };
        Self { count: self.count + other.count, first }
    }
}
