//! sysbench's OLTP as page touches.
//!
//! A row is 4 + 4 + 120 + 60 bytes, a header of 5, a transaction id and roll pointer of 13 and the lengths of two
//! CHARs in a multi-byte set: 208 bytes, so that 73 stand on a loaded page; an entry of the index on k is 13 bytes. Pages
//! above the leaves are a thousandth of all and always in memory: they are not touched.

use flatwater_core::interval::Kind;
use flatwater_core::seed::splitmix;
use flatwater_core::workload::oltp::{Generator, Mode, OltpSpec, Statement};

use super::layout::{LOADED_BYTES, Layout, Region, SPLIT_BYTES, Undo};
use super::{Touch, Touches, transaction};

/// Bytes of a row.
const ROW_BYTES: u32 = 208;
/// Bytes of an entry of the index on k.
const ENTRY_BYTES: u32 = 13;

/// Redo of each change, derived from what is logged (see docs/models/innodb.md): an update in place logs the changed
/// column and 20 to 30 bytes around it; marking as deleted, 20; an insert its row and 15. The undo log's page and the
/// commit come on top.
const REDO_UPDATE_K: u16 = 40;
const REDO_UPDATE_C: u16 = 160;
const REDO_MARK: u16 = 30;
const REDO_INSERT: u16 = 225;
const REDO_INSERT_ENTRY: u16 = 40;
/// Undo record of an update of k, one of c (the old 120 bytes), of a delete or an insert, with the redo of each.
const UNDO_UPDATE_K: (u32, u16) = (60, 95);
const UNDO_UPDATE_C: (u32, u16) = (180, 215);
const UNDO_DELETE: (u32, u16) = (60, 95);
const UNDO_INSERT: (u32, u16) = (30, 60);
/// Beginning and ending a transaction: its undo log's header, the history list, the system page.
const REDO_COMMIT: u16 = 250;

static TOLD: [Kind; 1] = [transaction("transaction")];

/// sysbench's tables, and the threads on them.
pub struct Oltp {
    tables: Vec<(Region, Region)>,
    undo: Undo,
    pages: u32,
    generators: Vec<Generator>,
    rows: u64,
    rows_a_page: u32,
    seed: u64,
    draws: u64,
}

impl Oltp {
    /// The touches of `threads`.
    ///
    /// # Errors
    /// A mode that is not modelled, or too much data.
    pub fn new(spec: &OltpSpec, threads: u32, seed: u64) -> Result<Self, String> {
        spec.validate()?;
        if spec.mode == Mode::Insert || spec.secondary {
            return Err("workload.mode = \"insert\" and workload.secondary are not modelled yet".into());
        }
        let mut layout = Layout::default();
        let undo = Undo::new(&mut layout, threads);
        let rows_a_page = LOADED_BYTES / ROW_BYTES;
        let tables = (0..spec.tables)
            .map(|_| (layout.rows(spec.rows, rows_a_page), layout.rows(spec.rows, SPLIT_BYTES / ENTRY_BYTES)))
            .collect();
        Ok(Self {
            tables,
            undo,
            pages: layout.total()?,
            generators: (0..threads).map(|thread| Generator::new(spec, u64::from(thread), seed)).collect(),
            rows: spec.rows,
            rows_a_page,
            seed,
            draws: 0,
        })
    }

    /// The place of a row's k in its index. k is drawn as the ids are, and the index holds what was drawn in order: so
    /// the place is even over the index, whatever the distribution.
    fn place_of_k(&mut self, table: usize, id: u64, fresh: bool) -> u32 {
        self.draws += u64::from(fresh);
        let salt = if fresh { self.draws } else { 0 };
        let share = splitmix(splitmix(self.seed ^ salt) ^ (id << 16) ^ table as u64);
        self.tables[table].1.at_share(share)
    }
}

impl Touches for Oltp {
    fn pages(&self) -> u32 {
        self.pages
    }

    fn told(&self) -> &'static [Kind] {
        &TOLD
    }

    fn next(&mut self, thread: u32, out: &mut Vec<Touch>) -> usize {
        self.generators[thread as usize].advance();
        let before = out.len();
        for at in 0..self.generators[thread as usize].steps().len() {
            let step = self.generators[thread as usize].steps()[at];
            let table = step.table as usize - 1;
            let id = (step.id.max(1) as u64).min(self.rows) - 1;
            let rows = self.tables[table].0;
            let page = rows.page(id, self.rows_a_page);
            out.push(Touch::STATEMENT);
            match step.statement {
                Statement::PointSelect => out.push(Touch::read(page)),
                Statement::SimpleRange | Statement::SumRange | Statement::OrderRange | Statement::DistinctRange => {
                    let last = (step.other.max(1) as u64).min(self.rows) - 1;
                    out.extend((page..=rows.page(last, self.rows_a_page)).map(Touch::read));
                }
                Statement::IndexUpdate => {
                    self.undo.touch(thread, UNDO_UPDATE_K.0, UNDO_UPDATE_K.1, out);
                    out.push(Touch::change(page, REDO_UPDATE_K));
                    // The old entry is marked and k + 1 inserted right behind it: one page.
                    let entry = self.place_of_k(table, id, false);
                    out.push(Touch::change(entry, REDO_MARK + REDO_INSERT_ENTRY));
                }
                Statement::NonIndexUpdate => {
                    self.undo.touch(thread, UNDO_UPDATE_C.0, UNDO_UPDATE_C.1, out);
                    out.push(Touch::change(page, REDO_UPDATE_C));
                }
                Statement::Delete => {
                    self.undo.touch(thread, UNDO_DELETE.0, UNDO_DELETE.1, out);
                    out.push(Touch::change(page, REDO_MARK));
                    let entry = self.place_of_k(table, id, false);
                    out.push(Touch::change(entry, REDO_MARK));
                }
                Statement::Insert => {
                    self.undo.touch(thread, UNDO_INSERT.0, UNDO_INSERT.1, out);
                    out.push(Touch::change(page, REDO_INSERT));
                    let entry = self.place_of_k(table, id, true);
                    out.push(Touch::change(entry, REDO_INSERT_ENTRY));
                }
            }
        }
        if out[before..].iter().any(|touch| touch.redo > 0) {
            self.undo.touch(thread, 0, REDO_COMMIT, out);
        }
        0
    }
}

#[cfg(test)]
#[path = "../tests/oltp.rs"]
mod tests;
