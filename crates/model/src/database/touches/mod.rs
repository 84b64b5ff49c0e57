//! Workloads as page touches: what the transactions of the real drivers' generators, with their seeds, do to the pages
//! of the tables. One file a workload.

use flatwater_core::interval::Kind;
use flatwater_core::workload::oltp::OltpSpec;
use serde::Deserialize;

pub mod layout;
pub mod oltp;
pub mod tpcc;

/// Which workload, in the words of the real drivers.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// TPC-C as tpcc-mysql runs it.
    Tpcc(tpcc::TpccSpec),
    /// sysbench's OLTP.
    Oltp(OltpSpec),
}

/// What is done with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// No page: a statement begins.
    Statement,
    /// It is read.
    Read,
    /// It is read and changed.
    Change,
    /// It is made anew: nothing has to be read.
    Create,
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
}

impl Touch {
    /// A statement begins.
    pub const STATEMENT: Self = Self { page: 0, redo: 0, what: What::Statement };

    /// A page is read.
    pub const fn read(page: u32) -> Self {
        Self { page, redo: 0, what: What::Read }
    }

    /// A page is changed.
    pub const fn change(page: u32, redo: u16) -> Self {
        Self { page, redo, what: What::Change }
    }

    /// A page is made anew.
    pub const fn create(page: u32, redo: u16) -> Self {
        Self { page, redo, what: What::Create }
    }
}

/// The transactions of all threads of a run.
pub trait Touches: Send {
    /// Pages of all tables, undo logs and the room into which they grow.
    fn pages(&self) -> u32;

    /// Kinds of transactions that are told apart.
    fn told(&self) -> &'static [Kind];

    /// Appends a thread's next transaction; the index of its kind.
    fn next(&mut self, thread: u32, out: &mut Vec<Touch>) -> usize;
}

/// Makes a workload's touches for so many threads.
///
/// # Errors
/// A workload that cannot be modelled, in words.
pub fn open(workload: &Workload, threads: u32, seed: u64) -> Result<Box<dyn Touches>, String> {
    match workload {
        Workload::Tpcc(spec) => Ok(Box::new(tpcc::Tpcc::new(spec, threads, seed)?)),
        Workload::Oltp(spec) => Ok(Box::new(oltp::Oltp::new(spec, threads, seed)?)),
    }
}

const fn transaction(name: &'static str) -> Kind {
    Kind { name, moves_bytes: false, counts: true }
}
