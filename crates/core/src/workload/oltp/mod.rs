//! sysbench's OLTP: which statements a transaction sends, with which numbers and strings. The tables, statements and
//! distributions are those of sysbench 1.0.20, so that either program runs on the other's data.

mod ids;
mod text;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rand::Rng as _;
use schemars::JsonSchema;
use serde::Deserialize;

pub use ids::{Distribution, Ids};
pub use text::{C_BYTES, PAD_BYTES, write_c, write_pad};

use crate::seed::{Rng, splitmix, stream};

/// Ids are INTEGER columns.
const ROWS_MAX: u64 = i32::MAX as u64;

/// Which of sysbench's scripts is run, `oltp_read_write.lua` and so on.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Point and range reads in a transaction.
    ReadOnly,
    /// Reads, then updates, a delete and an insert.
    ReadWrite,
    /// What `ReadWrite` writes.
    WriteOnly,
    /// One row by its id.
    PointSelect,
    /// A column with an index, one row.
    UpdateIndex,
    /// A column without one.
    UpdateNonIndex,
    /// A row is inserted.
    Insert,
    /// A row is deleted.
    Delete,
}

/// The workload, resolved: every field is checked by the experiment file's loader. Names and meanings are sysbench's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OltpSpec {
    /// The script.
    pub mode: Mode,
    /// Tables, sbtest1 and on.
    pub tables: u32,
    /// Rows of each (sysbench's --table-size).
    pub rows: u64,
    /// Ids of a range query.
    pub range_size: u32,
    /// How ids are spread.
    pub distribution: Distribution,
    /// Point reads of a transaction. `point_select` always sends one.
    pub point_selects: u32,
    /// Range reads of a transaction.
    pub simple_ranges: u32,
    /// Sums over a range.
    pub sum_ranges: u32,
    /// Sorted ranges.
    pub order_ranges: u32,
    /// Sorted ranges without repetitions.
    pub distinct_ranges: u32,
    /// Updates of the column with an index.
    pub index_updates: u32,
    /// Updates of the column without one.
    pub non_index_updates: u32,
    /// Deletes, each with an insert of the same id.
    pub delete_inserts: u32,
    /// Whether there are range reads at all.
    pub range_selects: bool,
    /// No BEGIN and COMMIT: each statement is its own transaction.
    pub skip_trx: bool,
    /// The server makes the ids of new rows (`insert`).
    pub auto_inc: bool,
    /// The id has an ordinary index, the table no primary key.
    pub secondary: bool,
    /// Statements are prepared, values sent apart; else everything is text (--db-ps-mode=disable).
    pub prepared: bool,
    /// Not sysbench's: statements that do not need each other's replies are sent back to back.
    pub pipeline: bool,
}

impl OltpSpec {
    /// Whether BEGIN and COMMIT stand around the statements.
    pub fn has_transaction(&self) -> bool {
        matches!(self.mode, Mode::ReadOnly | Mode::ReadWrite | Mode::WriteOnly) && !self.skip_trx
    }

    /// Rows that a loader puts into each table. `insert` with ids of the client's begins with empty tables, because
    /// an id that it draws could exist already.
    pub fn loaded_rows(&self) -> u64 {
        if self.mode == Mode::Insert && !self.auto_inc { 0 } else { self.rows }
    }

    /// The statements that are prepared, in the order in which sysbench prepares them.
    pub fn statements(&self) -> Vec<Statement> {
        use Statement::*;
        let points: &[_] = &[PointSelect];
        let ranges: &[_] = if self.range_selects { &RANGES } else { &[] };
        let writes: &[_] = &[IndexUpdate, NonIndexUpdate, Delete, Insert];
        match self.mode {
            Mode::ReadOnly => [points, ranges].concat(),
            Mode::ReadWrite => [points, ranges, writes].concat(),
            Mode::WriteOnly => writes.to_vec(),
            Mode::PointSelect => points.to_vec(),
            Mode::UpdateIndex => vec![IndexUpdate],
            Mode::UpdateNonIndex => vec![NonIndexUpdate],
            Mode::Insert => vec![Insert],
            Mode::Delete => vec![Delete],
        }
    }

    /// Whether this can be run.
    ///
    /// # Errors
    /// The field and what is wrong with it, one line.
    pub fn validate(&self) -> Result<(), String> {
        if self.tables == 0 {
            return Err("workload.tables must be at least 1".into());
        }
        if !(1..=ROWS_MAX).contains(&self.rows) {
            return Err(format!("workload.rows must be between 1 and {ROWS_MAX}: ids are INTEGER columns"));
        }
        if self.range_size == 0 {
            return Err("workload.range_size must be at least 1".into());
        }
        self.distribution.validate()?;
        if !self.has_transaction() && self.groups().iter().all(|(_, times)| *times == 0) {
            return Err("the workload has no statement: every count is 0".into());
        }
        Ok(())
    }

    /// The statements of a transaction in their order: each kind and how often it is sent. A delete includes its
    /// insert.
    fn groups(&self) -> Vec<(Statement, u32)> {
        use Statement::*;
        let ranges = if self.range_selects {
            [self.simple_ranges, self.sum_ranges, self.order_ranges, self.distinct_ranges]
        } else {
            [0; 4]
        };
        let points = std::iter::once((PointSelect, self.point_selects));
        let reads = points.chain(RANGES.into_iter().zip(ranges));
        let writes = [
            (IndexUpdate, self.index_updates),
            (NonIndexUpdate, self.non_index_updates),
            (Delete, self.delete_inserts),
        ];
        match self.mode {
            Mode::ReadOnly => reads.collect(),
            Mode::ReadWrite => reads.chain(writes).collect(),
            Mode::WriteOnly => writes.to_vec(),
            Mode::PointSelect => vec![(PointSelect, 1)],
            Mode::UpdateIndex => vec![writes[0]],
            Mode::UpdateNonIndex => vec![writes[1]],
            Mode::Insert => vec![(Insert, 1)],
            Mode::Delete => vec![(Delete, 1)],
        }
    }
}

const RANGES: [Statement; 4] =
    [Statement::SimpleRange, Statement::SumRange, Statement::OrderRange, Statement::DistinctRange];

/// The kinds of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as sysbench's options are; sql() shows them")]
pub enum Statement {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
}

impl Statement {
    /// Number of kinds.
    pub const COUNT: usize = 9;

    /// Its text for a table, with a `?` for each value: byte for byte sysbench's.
    pub fn sql(self, table: u32) -> String {
        match self {
            Self::PointSelect => format!("SELECT c FROM sbtest{table} WHERE id=?"),
            Self::SimpleRange => format!("SELECT c FROM sbtest{table} WHERE id BETWEEN ? AND ?"),
            Self::SumRange => format!("SELECT SUM(k) FROM sbtest{table} WHERE id BETWEEN ? AND ?"),
            Self::OrderRange => format!("SELECT c FROM sbtest{table} WHERE id BETWEEN ? AND ? ORDER BY c"),
            Self::DistinctRange => format!("SELECT DISTINCT c FROM sbtest{table} WHERE id BETWEEN ? AND ? ORDER BY c"),
            Self::IndexUpdate => format!("UPDATE sbtest{table} SET k=k+1 WHERE id=?"),
            Self::NonIndexUpdate => format!("UPDATE sbtest{table} SET c=? WHERE id=?"),
            Self::Delete => format!("DELETE FROM sbtest{table} WHERE id=?"),
            Self::Insert => format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
        }
    }
}

/// The strings of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// 10 groups of 11 digits.
    pub c: [u8; C_BYTES],
    /// 5 groups of 11 digits.
    pub pad: [u8; PAD_BYTES],
}

/// One statement of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind of statement.
    pub statement: Statement,
    /// Number of the table, from 1 on.
    pub table: u32,
    /// The row, or a range's first one.
    pub id: i64,
    /// A range's last id, or an insert's k.
    pub other: i64,
    /// Which of the transaction's strings it uses, if it does.
    pub text: usize,
    /// Whether a table is drawn here: statements of one kind go to one table.
    draws_table: bool,
}

/// The transactions of one terminal.
#[derive(Clone, Debug)]
pub struct Generator {
    tables: u32,
    ids: Ids,
    range_size: i64,
    fresh: Fresh,
    rng: Rng,
    /// The same kinds in every transaction; only numbers and strings change.
    steps: Vec<Step>,
    texts: Vec<Text>,
}

/// Where the id of an insert comes from.
#[derive(Clone, Copy, Debug)]
enum Fresh {
    /// From the delete before it.
    Deleted,
    /// From the server, which takes 0 for a request to make one.
    Server,
    /// From a permutation of all INTEGERs.
    Drawn { key: u64 },
}

/// Position in the permutation, one for all terminals of a process (as in sysbench): no two insert the same id.
static DRAWN: AtomicU32 = AtomicU32::new(0);

impl Generator {
    /// The transactions of a terminal. Parameters outside their range are clamped to it; `OltpSpec::validate` reports
    /// them.
    pub fn new(spec: &OltpSpec, terminal: u64, seed: u64) -> Self {
        let mut steps = Vec::new();
        let mut texts = 0;
        for (statement, times) in spec.groups() {
            for time in 0..times {
                let draws_table = time == 0;
                let mut step = Step { statement, table: 1, id: 0, other: 0, text: texts, draws_table };
                steps.push(step);
                if statement == Statement::Delete && spec.mode != Mode::Delete {
                    step.statement = Statement::Insert;
                    step.draws_table = false;
                    steps.push(step);
                }
                if matches!(step.statement, Statement::Insert | Statement::NonIndexUpdate) {
                    texts += 1;
                }
            }
        }
        let fresh = match spec.mode {
            Mode::Insert if spec.auto_inc => Fresh::Server,
            Mode::Insert => Fresh::Drawn { key: splitmix(seed) },
            _ => Fresh::Deleted,
        };
        Self {
            tables: spec.tables.max(1),
            ids: Ids::new(spec.distribution, spec.rows),
            range_size: i64::from(spec.range_size),
            fresh,
            rng: stream(seed, "oltp", terminal),
            steps,
            texts: vec![Text { c: [b'0'; C_BYTES], pad: [b'0'; PAD_BYTES] }; texts],
        }
    }

    /// Draws the next transaction.
    pub fn advance(&mut self) {
        let Self { tables, ids, range_size, fresh, rng, steps, texts } = self;
        let (mut table, mut deleted) = (1, 0);
        for step in steps {
            if step.draws_table {
                table = rng.random_range(1..=*tables);
            }
            step.table = table;
            match step.statement {
                Statement::PointSelect | Statement::IndexUpdate => step.id = ids.next(rng) as i64,
                Statement::SimpleRange | Statement::SumRange | Statement::OrderRange | Statement::DistinctRange => {
                    step.id = ids.next(rng) as i64;
                    step.other = step.id + *range_size - 1;
                }
                Statement::NonIndexUpdate => {
                    write_c(rng, &mut texts[step.text].c);
                    step.id = ids.next(rng) as i64;
                }
                Statement::Delete => {
                    step.id = ids.next(rng) as i64;
                    deleted = step.id;
                }
                Statement::Insert => {
                    step.id = match *fresh {
                        Fresh::Deleted => deleted,
                        Fresh::Server => 0,
                        Fresh::Drawn { key } => i64::from(permuted(DRAWN.fetch_add(1, Relaxed), key)),
                    };
                    step.other = ids.next(rng) as i64;
                    write_c(rng, &mut texts[step.text].c);
                    write_pad(rng, &mut texts[step.text].pad);
                }
            }
        }
    }

    /// The statements of the transaction, without BEGIN and COMMIT.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Their strings.
    pub fn texts(&self) -> &[Text] {
        &self.texts
    }
}

/// A permutation of the 32-bit numbers that looks random: four rounds of a Feistel network (Luby and Rackoff 1988).
fn permuted(index: u32, key: u64) -> i32 {
    let (mut left, mut right) = (index >> 16, index & 0xffff);
    for round in 0..4 {
        let mixed = splitmix(key ^ (round << 32) ^ u64::from(right)) as u32 & 0xffff;
        (left, right) = (right, left ^ mixed);
    }
    (left << 16 | right) as i32
}

#[cfg(test)]
mod tests;
