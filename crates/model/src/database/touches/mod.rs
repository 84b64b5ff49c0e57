//! Workloads as page touches: what the transactions of the real drivers' generators, with their seeds, do to the pages
//! of the tables. One file a workload.

use std::collections::BTreeMap;

use flatwater_core::interval::Kind;
use flatwater_core::workload::oltp::OltpSpec;
use schemars::JsonSchema;
use serde::Deserialize;

pub mod layout;
pub mod oltp;
pub mod tpcc;
mod tpcc_rows;

/// Which workload, in the words of the real drivers.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// TPC-C as tpcc-mysql runs it.
    Tpcc(tpcc::TpccSpec),
    /// sysbench's OLTP.
    Oltp(OltpSpec),
}

/// What was counted on a real server (`workloads/` of the Python package). What is absent follows from the columns' sizes
/// and from what is logged of each change, see docs/models/innodb.md.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Measured {
    /// Bytes of redo: tpcc has `transaction`, a New-Order with its companions of the deck; oltp has `index_update`,
    /// `non_index_update`, `delete_insert` and `transaction`, a commit. With one of them, those that are absent are 0:
    /// what they make is in the others.
    pub redo_bytes: BTreeMap<String, f64>,
    /// Rows of a leaf page, by `table.index`.
    pub rows_a_page: BTreeMap<String, u32>,
    /// How the server's optimizer guesses how many rows there are.
    pub optimizer: Optimizer,
}

/// Which pages are looked at for a guess, and how.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// Of the other index before an update. (Of a MariaDB's index that only guesses use, nine in ten pages in the pool
    /// were old, although each was looked at several times a turn of the pool.)
    #[default]
    Mariadb,
    /// Of the primary key too, when what is asked for is in another index; and looking makes a page young as any use does
    /// (buf_page_get_gen: all but a peek do). Counted on a MySQL 5.5.9.
    Mysql,
}

impl Optimizer {
    /// The look at a page.
    fn look(self, page: u32) -> Touch {
        match self {
            Self::Mariadb => Touch::glance(page),
            Self::Mysql => Touch::read(page),
        }
    }
}

impl Measured {
    /// Rows of a leaf page of an index that was counted, else `derived`.
    fn rows(&self, index: &str, derived: u32) -> u32 {
        self.rows_a_page.get(index).map_or(derived, |rows| (*rows).max(1))
    }

    /// By how much a kind of change makes more redo than the `derived` bytes.
    fn redo_scale(&self, kind: &str, derived: f64) -> f64 {
        if self.redo_bytes.is_empty() {
            return 1.0;
        }
        self.redo_bytes.get(kind).map_or(0.0, |bytes| bytes.max(0.0) / derived)
    }
}

/// So many bytes, scaled.
fn scaled(bytes: u16, scale: f64) -> u16 {
    // The cast holds what is too large at the largest.
    (f64::from(bytes) * scale + 0.5) as u16
}

/// What is done with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// No page: a statement begins.
    Statement,
    /// It is read.
    Read,
    /// It is looked at, as MariaDB's optimizer does when it guesses: that makes it no younger.
    Glance,
    /// It is read and changed.
    Change,
    /// It is made anew: nothing has to be read.
    Create,
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
    /// The page; 0 of a statement.
    pub page: u32,
    /// Bytes of redo that it makes.
    pub redo: u16,
    /// What is done.
    pub what: What,
    /// The index entry that a change is about.
    pub entry: Entry,
}

impl Touch {
    /// A statement begins.
    pub const STATEMENT: Self = Self { page: 0, redo: 0, what: What::Statement, entry: Entry::NONE };

    /// A page is read.
    pub const fn read(page: u32) -> Self {
        Self { page, redo: 0, what: What::Read, entry: Entry::NONE }
    }

    /// A page is looked at.
    pub const fn glance(page: u32) -> Self {
        Self { page, redo: 0, what: What::Glance, entry: Entry::NONE }
    }

    /// A page is changed.
    pub const fn change(page: u32, redo: u16) -> Self {
        Self { page, redo, what: What::Change, entry: Entry::NONE }
    }

    /// A page of a secondary index is changed: what is done with one of its entries needs nothing that is on it.
    pub const fn change_entry(page: u32, redo: u16, entry: Entry) -> Self {
        Self { page, redo, what: What::Change, entry }
    }

    /// A page is made anew.
    pub const fn create(page: u32, redo: u16) -> Self {
        Self { page, redo, what: What::Create, entry: Entry::NONE }
    }
}

/// The transactions of all threads of a run.
pub trait Touches: Send {
    /// Pages of all tables, undo logs and the room into which they grow.
    fn pages(&self) -> u32;

    /// Name and first page of each table with its indexes, by pages, from page 0 on; `undo` and what tables grow into
    /// (`growth`) count as tables.
    fn tables(&self) -> &[(String, u32)];

    /// Kinds of transactions that are told apart.
    fn told(&self) -> &'static [Kind];

    /// Appends a thread's next transaction; the index of its kind.
    fn next(&mut self, thread: u32, out: &mut Vec<Touch>) -> usize;
}

/// Makes a workload's touches for so many threads.
///
/// # Errors
/// A workload that cannot be modelled, in words.
pub fn open(workload: &Workload, measured: &Measured, threads: u32, seed: u64) -> Result<Box<dyn Touches>, String> {
    match workload {
        Workload::Tpcc(spec) => Ok(Box::new(tpcc::Tpcc::new(spec, measured, threads, seed)?)),
        Workload::Oltp(spec) => Ok(Box::new(oltp::Oltp::new(spec, measured, threads, seed)?)),
    }
}

const fn transaction(name: &'static str) -> Kind {
    Kind { name, moves_bytes: false, counts: true }
}
