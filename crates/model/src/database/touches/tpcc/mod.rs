//! TPC-C as page touches: the tables, indexes and five transactions of tpcc-mysql, statement by statement, and what HammerDB
//! and sysbench-tpcc do otherwise (`schema.rs`).
//!
//! Rows to a page follow from the columns' sizes, a header of 5 bytes, 13 of transaction id and roll pointer, null bits
//! and lengths, on pages that are fifteen sixteenths full. Orders and their lines go to new pages of their district,
//! which are made one after another in the rooms behind the tables.

use flatwater_core::interval::Kind;
use flatwater_core::seed::splitmix;
use flatwater_core::workload::tpcc::inputs::Input;
use flatwater_core::workload::tpcc::{DISTRICTS, KINDS, Variant, WAREHOUSES_MAX};
use schemars::JsonSchema;
use serde::Deserialize;

use super::layout::Layout;
use super::measured::{Measured, Optimizer, scaled};
use super::region::LookedUp;
use super::touch::{Touch, Touches, What, transaction};
use super::undo::{Undo, UndoLogs};
use crate::database::ids::PageNo;

mod drawn;
pub mod growth;
mod locked;
mod places;
mod rows;
mod schema;
mod tables;
mod transactions;

use drawn::Drawn;
use growth::Growth;
use rows::Rows;
use schema::Schema;
use tables::{District, LINES, Tables};

/// The workload, in the words of the real driver.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TpccSpec {
    /// Whose transactions.
    #[serde(default)]
    pub variant: Variant,
    /// Warehouses of each set of tables.
    pub warehouses: u32,
    /// tpcc-mysql's statements are sent back to back, and a Delivery is one transaction and not ten.
    pub pipeline: bool,
    /// Terminals key and think, and stay at one warehouse, as the specification says.
    pub keying_and_think: bool,
}

static TOLD: [Kind; 5] =
    [transaction(KINDS[0]), transaction(KINDS[1]), transaction(KINDS[2]), transaction(KINDS[3]), transaction(KINDS[4])];

/// TPC-C's tables, and the threads on them.
pub struct Tpcc {
    /// Of a set of tables.
    warehouses: u32,
    schema: Schema,
    /// What stands for a statement.
    statement: Touch,
    tables: Tables,
    rows: Rows,
    /// Orders of an order_line page.
    orders_a_line_page: u32,
    /// Redo that was measured, of what follows from what is logged.
    redo_scale: f64,
    growth: Growth,
    undo: Undo,
    pages: u32,
    names: Vec<(String, PageNo)>,
    clients: Vec<Drawn>,
    districts: Vec<District>,
    rollbacks: u64,
    history_rows: u64,
    history_page: PageNo,
    optimizer: Optimizer,
    seed: u64,
}

impl Tpcc {
    /// The touches of `threads`; tables that are `apart` have devices of their own, and grow there.
    ///
    /// # Errors
    /// What is not modelled.
    pub fn new(
        spec: &TpccSpec,
        measured: &Measured,
        undo: UndoLogs,
        apart: &[&str],
        threads: u32,
        seed: u64,
    ) -> Result<Self, String> {
        let mut made = Self::derived(spec, measured, undo, apart, threads, seed)?;
        made.optimizer = measured.optimizer;
        if let Some(bytes) = measured.redo_bytes.get("transaction") {
            made.redo_scale = scale_of(*bytes, undo)?;
        }
        Ok(made)
    }

    fn derived(
        spec: &TpccSpec,
        measured: &Measured,
        undo: UndoLogs,
        apart: &[&str],
        threads: u32,
        seed: u64,
    ) -> Result<Self, String> {
        let sets = spec.variant.table_sets();
        let all = spec.warehouses.saturating_mul(sets);
        if !(1..=WAREHOUSES_MAX).contains(&all) {
            return Err(format!("workload.warehouses, in all sets of tables, must be between 1 and {WAREHOUSES_MAX}"));
        }
        let schema = Schema::of(spec.variant, spec.pipeline);
        let rows = Rows::of(measured, schema);
        let mut layout = Layout::default();
        let undo = Undo::new(layout.of("undo"), undo, threads);
        let tables = Tables::new(&mut layout, sets, spec.warehouses, &rows, schema);
        // Room for a tenth more: 1.1 KB a New-Order (see docs) make that of 1000 warehouses last for 9 million.
        let grows = (u64::from(layout.total()?) / 10).max(4096);
        let growth = Growth::new(&mut layout, grows, &rows, apart);
        let pages = layout.total()?;
        let seed_of_items = splitmix(seed ^ 0x7470_6363);
        let (variant, waits) = (spec.variant, spec.keying_and_think);
        let client = |number| Drawn::new(variant, spec.warehouses, waits, seed, number, threads);
        let districts = u64::from(all) * u64::from(DISTRICTS);
        let history_page = tables.history.first + (tables.history.pages - 1);
        Ok(Self {
            warehouses: spec.warehouses,
            schema,
            statement: schema.statement(),
            tables,
            rows,
            orders_a_line_page: (rows.order_line / LINES).max(1),
            redo_scale: 1.0,
            growth,
            undo,
            pages,
            names: layout.tables(),
            clients: (0..threads).map(client).collect(),
            districts: (0..districts).map(|number| District::loaded(number, seed_of_items)).collect(),
            rollbacks: 0,
            history_rows: 0,
            history_page,
            optimizer: Optimizer::default(),
            seed,
        })
    }
}

impl Touches for Tpcc {
    fn pages(&self) -> u32 {
        self.pages
    }

    fn tables(&self) -> &[(String, PageNo)] {
        &self.names
    }

    fn looked_up(&self) -> Vec<LookedUp> {
        let Self { tables, rows, .. } = self;
        let mut found = vec![LookedUp::rows(tables.item, rows.item), LookedUp::rows(tables.stock, rows.stock)];
        // Of customers, the optimizer asks for those of a district, too. Of stock it asks for an item's in all warehouses,
        // or in one of them.
        found.extend(tables.keys.as_ref().map(|keys| LookedUp {
            region: keys.stock.region(),
            rows_a_page: rows.idx_stock,
            keys_a_page: match self.optimizer {
                Optimizer::Mysql55 => rows.idx_stock.div_ceil(self.warehouses),
                Optimizer::Mysql | Optimizer::Mariadb => rows.idx_stock,
            },
        }));
        found
    }

    fn kinds(&self) -> &'static [Kind] {
        &TOLD
    }

    fn next(&mut self, thread: u32, out: &mut Vec<Touch>) -> usize {
        let (input, before) = (self.clients[thread as usize].next_input(), out.len());
        let called = out.len() + self.schema.calls()[input.kind()];
        out.resize(called, Touch::STATEMENT);
        match &input {
            Input::NewOrder(order) => self.new_order(thread, order, out),
            Input::Payment(payment) => self.payment(thread, payment, out),
            Input::OrderStatus(customer) => self.order_status(customer, out),
            Input::Delivery(delivery) => self.delivery(thread, *delivery, out),
            Input::StockLevel(level) => self.stock_level(level, out),
        }
        if self.redo_scale != 1.0 {
            for touch in out[before..].iter_mut().filter(|touch| touch.what == What::Change) {
                touch.redo = scaled(touch.redo, self.redo_scale);
            }
        }
        input.kind()
    }

    fn take_rollbacks(&mut self) -> u64 {
        std::mem::take(&mut self.rollbacks)
    }

    fn times_ns(&mut self, thread: u32, kind: usize) -> (u64, u64) {
        self.clients[thread as usize].times_ns(kind)
    }
}

/// By how much changes make more redo than what follows from what is logged, when `bytes` were measured for a New-Order with
/// its companions: the mean of each warehouse's second thousand, when its indexes have split. What is made anew is left.
fn scale_of(bytes: f64, undo: UndoLogs) -> Result<f64, String> {
    const DECKS: u32 = 400;
    let spec = TpccSpec { variant: Variant::TpccMysql, warehouses: 2, pipeline: false, keying_and_think: false };
    let mut tpcc = Tpcc::derived(&spec, &Measured::default(), undo, &[], 1, 1)?;
    let (mut orders, mut changed, mut made, mut out) = (0_u32, 0_u64, 0_u64, Vec::new());
    for run in 0..DECKS * 23 {
        out.clear();
        let kind = tpcc.next(0, &mut out);
        if run >= DECKS * 23 / 2 {
            orders += u32::from(kind == 0);
            let redo = |what| out.iter().filter(|t| t.what == what).map(|touch| u64::from(touch.redo)).sum::<u64>();
            changed += redo(What::Change);
            made += redo(What::Create);
        }
    }
    let left = bytes * f64::from(orders) - made as f64;
    Ok((left / changed.max(1) as f64).max(0.0))
}

#[cfg(test)]
mod tests;
