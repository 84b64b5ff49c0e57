//! sysbench's OLTP as page touches.
//!
//! Unless a server counted them (`Measured`): a row is 4 + 4 + 120 + 60 bytes, a header of 5, a transaction id and roll pointer of 13 and the lengths of two
//! CHARs in a multi-byte set: 208 bytes, so that 73 stand on a loaded page; an entry of the index on k is 13 bytes. Pages
//! above the leaves are a thousandth of all and always in memory: they are not touched.

use flatwater_core::interval::Kind;
use flatwater_core::seed::splitmix;
use flatwater_core::workload::oltp::{Generator, Mode, OltpSpec, Statement};

use super::layout::{LOADED_BYTES, Layout, SPLIT_BYTES};
use super::measured::{Measured, scaled};
use super::region::{LookedUp, Region};
use super::touch::{Entry, Mode as Lock, Touch, Touches, transaction};
use super::undo::{Undo, UndoLogs, Undone};
use crate::database::ids::{PageNo, RowNo};

/// Bytes of a row.
const ROW_BYTES: u32 = 208;
/// Bytes of an entry of the index on k.
const ENTRY_BYTES: u8 = 13;

/// Redo of each change.
#[derive(Clone, Copy, Debug)]
struct Redo {
    update_k: u16,
    /// The old entry is marked, the new one inserted.
    update_entry: u16,
    update_c: u16,
    mark: u16,
    insert: u16,
    insert_entry: u16,
    /// An undo log's page, of an update of k, of c, a delete and an insert.
    undo: [u16; 4],
    commit: u16,
}

/// Derived from what is logged (see docs/models/innodb.md): an update in place logs the changed column and 20 to 30 bytes
/// around it; marking as deleted, 20; an insert its row and 15. The undo log's page and the commit come on top: the
/// latter begins and ends an undo log's header, the history list, the system page.
const DERIVED: Redo = Redo {
    update_k: 40,
    update_entry: 70,
    update_c: 160,
    mark: 30,
    insert: 225,
    insert_entry: 40,
    undo: [95, 215, 95, 60],
    commit: 250,
};

impl Redo {
    /// As much as was measured of each kind of change; its parts keep their proportions.
    fn of(measured: &Measured) -> Self {
        let derived = DERIVED;
        let sum = |parts: &[u16]| parts.iter().map(|part| f64::from(*part)).sum();
        let replaced = [derived.mark, derived.mark, derived.insert, derived.insert_entry];
        let k = measured
            .redo_scale("index_update", sum(&[derived.update_k, derived.update_entry, derived.undo[UNDO_UPDATE_K]]));
        let c = measured.redo_scale("non_index_update", sum(&[derived.update_c, derived.undo[UNDO_UPDATE_C]]));
        let undone = [derived.undo[UNDO_DELETE], derived.undo[UNDO_INSERT]];
        let delete_insert = measured.redo_scale("delete_insert", sum(&replaced) + sum(&undone));
        Self {
            update_k: scaled(derived.update_k, k),
            update_entry: scaled(derived.update_entry, k),
            update_c: scaled(derived.update_c, c),
            mark: scaled(derived.mark, delete_insert),
            insert: scaled(derived.insert, delete_insert),
            insert_entry: scaled(derived.insert_entry, delete_insert),
            undo: [
                scaled(derived.undo[UNDO_UPDATE_K], k),
                scaled(derived.undo[UNDO_UPDATE_C], c),
                scaled(derived.undo[UNDO_DELETE], delete_insert),
                scaled(derived.undo[UNDO_INSERT], delete_insert),
            ],
            commit: scaled(derived.commit, measured.redo_scale("transaction", f64::from(derived.commit))),
        }
    }
}

/// Undo records: of an update of k, one of c (the old 120 bytes), of a delete, of an insert; and their bytes.
const UNDO_UPDATE_K: usize = 0;
const UNDO_UPDATE_C: usize = 1;
const UNDO_DELETE: usize = 2;
const UNDO_INSERT: usize = 3;
const UNDO_BYTES: [u32; 4] = [60, 180, 60, 30];

static TOLD: [Kind; 1] = [transaction("transaction")];

/// sysbench's tables, and the threads on them.
pub struct Oltp {
    tables: Vec<(Region, Region)>,
    undo: Undo,
    redo: Redo,
    pages: u32,
    names: Vec<(String, PageNo)>,
    generators: Vec<Generator>,
    rows: u64,
    rows_a_page: u32,
    /// Each statement is a transaction.
    autocommit: bool,
    seed: u64,
    draws: u64,
}

impl Oltp {
    /// The touches of `threads`.
    ///
    /// # Errors
    /// A mode that is not modelled, or too much data.
    pub fn new(spec: &OltpSpec, measured: &Measured, undo: UndoLogs, threads: u32, seed: u64) -> Result<Self, String> {
        spec.validate()?;
        if spec.mode == Mode::Insert || spec.secondary {
            return Err("workload.mode = \"insert\" and workload.secondary are not modelled yet".into());
        }
        let mut layout = Layout::default();
        let undo = Undo::new(layout.of("undo"), undo, threads);
        // All tables are alike.
        let rows_a_page = measured.rows("sbtest1.PRIMARY", LOADED_BYTES / ROW_BYTES);
        let entries_a_page = measured.rows("sbtest1.k_1", SPLIT_BYTES / u32::from(ENTRY_BYTES));
        let tables = (0..spec.tables)
            .map(|number| {
                let own = layout.of(&format!("sbtest{}", number + 1));
                (own.rows(spec.rows, rows_a_page), own.rows(spec.rows, entries_a_page))
            })
            .collect();
        let pages = layout.total()?;
        Ok(Self {
            tables,
            undo,
            redo: Redo::of(measured),
            pages,
            names: layout.tables(),
            generators: (0..threads).map(|thread| Generator::new(spec, u64::from(thread), seed)).collect(),
            rows: spec.rows,
            rows_a_page,
            autocommit: !spec.has_transaction(),
            seed,
            draws: 0,
        })
    }

    /// A transaction ends that has done what is from a place on.
    fn commit(&mut self, thread: u32, from: usize, out: &mut Vec<Touch>) {
        if out[from..].iter().any(|touch| touch.changes()) {
            self.undo.commit(thread, self.redo.commit, out);
        }
    }

    /// The place of a row's k in its index. k is drawn as the ids are, and the index holds what was drawn in order: so
    /// the place is even over the index, whatever the distribution.
    fn place_of_k(&mut self, table: usize, id: u64, fresh: bool) -> PageNo {
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

    fn tables(&self) -> &[(String, PageNo)] {
        &self.names
    }

    fn looked_up(&self) -> Vec<LookedUp> {
        self.tables.iter().map(|(rows, _)| LookedUp::rows(*rows, self.rows_a_page)).collect()
    }

    fn kinds(&self) -> &'static [Kind] {
        &TOLD
    }

    fn next(&mut self, thread: u32, out: &mut Vec<Touch>) -> usize {
        self.generators[thread as usize].advance();
        let (before, redo) = (out.len(), self.redo);
        for at in 0..self.generators[thread as usize].steps().len() {
            let step = self.generators[thread as usize].steps()[at];
            let table = step.table as usize - 1;
            let id = (step.id.max(1) as u64).min(self.rows) - 1;
            let rows = self.tables[table].0;
            let page = rows.page(id, self.rows_a_page);
            let from = out.len();
            // SELECT locks nothing, and a row that was deleted is the transaction's own.
            if matches!(step.statement, Statement::IndexUpdate | Statement::NonIndexUpdate | Statement::Delete) {
                let row = RowNo::new((table as u64 * self.rows + id) as u32);
                out.push(Touch::lock(row, Lock::Exclusive));
            }
            out.push(Touch::STATEMENT);
            match step.statement {
                Statement::PointSelect => out.push(Touch::read(page)),
                Statement::SimpleRange | Statement::SumRange | Statement::OrderRange | Statement::DistinctRange => {
                    let last = (step.other.max(1) as u64).min(self.rows) - 1;
                    out.extend(page.through(rows.page(last, self.rows_a_page)).map(Touch::read));
                }
                Statement::IndexUpdate => {
                    self.undo.touch(thread, Undone::Change, UNDO_BYTES[UNDO_UPDATE_K], redo.undo[UNDO_UPDATE_K], out);
                    out.push(Touch::change(page, redo.update_k));
                    // The old entry is marked and k + 1 inserted right behind it: one page.
                    let entry = self.place_of_k(table, id, false);
                    out.push(Touch::change_entry(entry, redo.update_entry, Entry::moved(ENTRY_BYTES)));
                }
                Statement::NonIndexUpdate => {
                    self.undo.touch(thread, Undone::Change, UNDO_BYTES[UNDO_UPDATE_C], redo.undo[UNDO_UPDATE_C], out);
                    out.push(Touch::change(page, redo.update_c));
                }
                Statement::Delete => {
                    self.undo.touch(thread, Undone::Change, UNDO_BYTES[UNDO_DELETE], redo.undo[UNDO_DELETE], out);
                    out.push(Touch::change(page, redo.mark));
                    let entry = self.place_of_k(table, id, false);
                    out.push(Touch::change_entry(entry, redo.mark, Entry::marked(ENTRY_BYTES)));
                }
                Statement::Insert => {
                    self.undo.touch(thread, Undone::Insert, UNDO_BYTES[UNDO_INSERT], redo.undo[UNDO_INSERT], out);
                    out.push(Touch::change(page, redo.insert));
                    let entry = self.place_of_k(table, id, true);
                    out.push(Touch::change_entry(entry, redo.insert_entry, Entry::inserted(ENTRY_BYTES)));
                }
            }
            if self.autocommit && out[from..].iter().any(|touch| touch.changes()) {
                self.commit(thread, from, out);
                out.push(Touch::COMMIT);
            }
        }
        if !self.autocommit {
            self.commit(thread, before, out);
        }
        0
    }

    /// sysbench's threads neither key nor think.
    fn take_rollbacks(&mut self) -> u64 {
        0
    }

    fn times_ns(&mut self, _thread: u32, _kind: usize) -> (u64, u64) {
        (0, 0)
    }
}

#[cfg(test)]
#[path = "oltp_tests.rs"]
mod tests;
