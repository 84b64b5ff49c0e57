//! What a transaction does to a page, and what puts transactions together.

use flatwater_core::interval::Kind;

use super::super::ids::{PageNo, RowNo};
use super::region::LookedUp;

/// What is done with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// No page: a statement of the client begins.
    Statement,
    /// No page: a statement of a stored procedure begins, for which nothing goes to the client or comes from it.
    Inner,
    /// No page: a row is locked, and stays so until the transaction is committed in memory. It comes before the statement that
    /// locks it: a server locks a row somewhere within the statement, whose answer and way to the client follow.
    Lock(Mode),
    /// No page: what was done so far is committed, and what follows is another transaction of the same client.
    Commit,
    /// It is read.
    Read,
    /// It is looked at, as MariaDB's optimizer does when it guesses: that makes it no younger.
    Glance,
    /// It is read and changed.
    Change,
    /// It is made anew: nothing has to be read.
    Create,
}

/// How a row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// With others who lock it so: the parent of a row that is inserted with a foreign key.
    Shared,
    /// Alone: a row that is changed, or read FOR UPDATE.
    Exclusive,
}

/// What a change does to an entry of a secondary index that is not unique: such a change may go to the change buffer. All
/// in one byte: the entry's bytes, and what is done with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry(u8);

impl Entry {
    /// No such change.
    pub const NONE: Self = Self(0);
    const INSERTED: u8 = 0x40;
    const MARKED: u8 = 0x80;

    /// An entry of so many bytes is inserted.
    pub const fn inserted(bytes: u8) -> Self {
        assert!(bytes < Self::INSERTED);
        Self(Self::INSERTED | bytes)
    }

    /// It is marked as deleted.
    pub const fn marked(bytes: u8) -> Self {
        assert!(bytes < Self::INSERTED);
        Self(Self::MARKED | bytes)
    }

    /// It is marked, and another one inserted on the same page.
    pub const fn moved(bytes: u8) -> Self {
        Self(Self::inserted(bytes).0 | Self::MARKED)
    }

    /// Whether an entry is inserted.
    pub const fn inserts(self) -> bool {
        self.0 & Self::INSERTED != 0
    }

    /// Whether one is marked as deleted.
    pub const fn marks(self) -> bool {
        self.0 & Self::MARKED != 0
    }

    /// Its bytes.
    pub const fn bytes(self) -> u64 {
        (self.0 & (Self::INSERTED - 1)) as u64
    }
}

/// One step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The page; 0 of a statement and of a commit. Of a lock, the number of the row (`row`).
    pub page: PageNo,
    /// Bytes of redo that it makes.
    pub redo: u16,
    /// What is done.
    pub what: What,
    /// The index entry that a change is about.
    pub entry: Entry,
}

impl Touch {
    /// A statement begins.
    pub const STATEMENT: Self = Self { page: PageNo::new(0), redo: 0, what: What::Statement, entry: Entry::NONE };

    /// A statement of a stored procedure begins.
    pub const INNER: Self = Self { page: PageNo::new(0), redo: 0, what: What::Inner, entry: Entry::NONE };

    /// What was done so far is committed.
    pub const COMMIT: Self = Self { page: PageNo::new(0), redo: 0, what: What::Commit, entry: Entry::NONE };

    /// A row is locked.
    pub const fn lock(row: RowNo, mode: Mode) -> Self {
        Self { page: PageNo::new(row.number()), redo: 0, what: What::Lock(mode), entry: Entry::NONE }
    }

    /// The row that is locked, and how; None: it is about a page, or a statement.
    #[inline]
    pub const fn row(self) -> Option<(RowNo, Mode)> {
        match self.what {
            What::Lock(mode) => Some((RowNo::new(self.page.number()), mode)),
            _ => None,
        }
    }

    /// Whether it uses a page.
    #[inline]
    pub const fn uses_page(self) -> bool {
        !matches!(self.what, What::Statement | What::Inner | What::Lock(_) | What::Commit)
    }

    /// A page is read.
    pub const fn read(page: PageNo) -> Self {
        Self { page, redo: 0, what: What::Read, entry: Entry::NONE }
    }

    /// A page is looked at.
    pub const fn glance(page: PageNo) -> Self {
        Self { page, redo: 0, what: What::Glance, entry: Entry::NONE }
    }

    /// A page is changed.
    pub const fn change(page: PageNo, redo: u16) -> Self {
        Self { page, redo, what: What::Change, entry: Entry::NONE }
    }

    /// A page of a secondary index is changed: what is done with one of its entries needs nothing that is on it.
    pub const fn change_entry(page: PageNo, redo: u16, entry: Entry) -> Self {
        Self { page, redo, what: What::Change, entry }
    }

    /// A page is made anew.
    pub const fn create(page: PageNo, redo: u16) -> Self {
        Self { page, redo, what: What::Create, entry: Entry::NONE }
    }

    /// Whether it changes the page.
    #[inline]
    pub const fn changes(self) -> bool {
        matches!(self.what, What::Change | What::Create)
    }

    /// Whether it is a change that may go to the change buffer.
    #[inline]
    pub fn is_bufferable(self) -> bool {
        self.entry != Entry::NONE
    }
}

/// The transactions of all threads of a run.
pub trait Touches: Send {
    /// Pages of all tables, undo logs and the room into which they grow.
    fn pages(&self) -> u32;

    /// Name and first page of each table with its indexes, by pages, from page 0 on; `undo` and what tables grow into
    /// (`growth`) count as tables.
    fn tables(&self) -> &[(String, PageNo)];

    /// Rows and entries that are searched for in one way only, where nothing is inserted: none unless a workload says so.
    fn looked_up(&self) -> Vec<LookedUp> {
        Vec::new()
    }

    /// The kinds of transactions; `next` gives an index of them.
    fn kinds(&self) -> &'static [Kind];

    /// Appends a thread's next transaction; the index of its kind.
    fn next(&mut self, thread: u32, out: &mut Vec<Touch>) -> usize;

    /// Takes how many of the transactions that were given since the last time roll back, as the workload wants it.
    fn take_rollbacks(&mut self) -> u64;

    /// Keying time before and think time after the transaction that a thread was given last, ns; it is of this kind.
    fn times_ns(&mut self, thread: u32, kind: usize) -> (u64, u64);
}

/// A kind of transactions.
pub(super) const fn transaction(name: &'static str) -> Kind {
    Kind { name, moves_bytes: false, counts: true }
}
