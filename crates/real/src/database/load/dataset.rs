//! The data of a workload as a load sees it: tables, chunks of rows, and what follows them.

use super::row::Row;

/// A piece of a table that is loaded in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The table.
    pub table: String,
    /// Its columns in the order of the rows' values, `a, b, c`.
    pub columns: &'static str,
    /// Which piece of the table, from 0 on.
    pub part: u64,
    /// Rows in it (order lines: about).
    pub rows: u64,
}

/// Makes the rows of a chunk, one after the other.
pub trait Rows {
    /// Writes the next row's values into `row`; false when there is none.
    fn next(&mut self, row: &mut Row) -> bool;
}

/// The data of a workload.
pub trait Dataset: Send + Sync {
    /// Statements that make the tables, and nothing else.
    fn create(&self) -> Vec<String>;

    /// All chunks, in the order in which they had best be loaded.
    fn chunks(&self) -> Vec<Chunk>;

    /// The rows of one chunk: the same whenever they are asked for.
    fn rows<'a>(&'a self, chunk: &Chunk) -> Box<dyn Rows + 'a>;

    /// What is done when all rows are there (indexes, foreign keys): lists that may run in parallel, each in its order.
    fn finish(&self) -> Vec<Vec<String>>;

    /// The table whose rows suffice for the list of this index to begin; None: it waits for the rows of all tables.
    fn finishes(&self, _list: usize) -> Option<String> {
        None
    }
}
