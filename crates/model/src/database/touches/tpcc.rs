//! TPC-C as page touches: tpcc-mysql's tables, indexes and foreign keys, its five transactions statement by statement.
//!
//! Rows to a page follow from the columns' sizes, a header of 5 bytes, 13 of transaction id and roll pointer, null bits
//! and lengths, on pages that are fifteen sixteenths full. Orders and their lines go to new pages of their district,
//! which are made one after another in the room behind the tables.

use flatwater_core::interval::Kind;
use flatwater_core::seed::splitmix;
use flatwater_core::workload::tpcc::inputs::{Customer, Delivery, Input, NewOrder, Payment, StockLevel, Terminal};
use flatwater_core::workload::tpcc::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, KINDS, ORDERS, WAREHOUSES_MAX};
use schemars::JsonSchema;
use serde::Deserialize;

use super::layout::{DIVE_PAGES, Layout, Region, Room, Splitting, Undo};
use super::tpcc_rows::Rows;
use super::{Entry, Measured, Optimizer, Touch, Touches, What, scaled, transaction};

/// The workload, in the words of the real driver.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TpccSpec {
    /// Warehouses that are used.
    pub warehouses: u32,
    /// Statements are sent back to back: of no consequence here.
    pub pipeline: bool,
    /// Terminals key and think: not modelled.
    pub keying_and_think: bool,
}

/// Lines of an order in the mean.
const LINES: u32 = 10;
/// Pages of a district's new_orders, which are used again as a queue goes round.
const QUEUE_PAGES: u32 = 4;
/// Orders that Stock-Level looks at.
const RECENT: usize = 20;
/// Customers of a last name, in the mean of those that are drawn.
const NAMESAKES: u32 = 3;

/// Redo of a change in place, of a mark of deletion, and around an inserted row or index entry; of an undo record's page
/// around its bytes; of beginning and ending a transaction. See docs/models/innodb.md.
const REDO_UPDATE: u16 = 60;
const REDO_MARK: u16 = 30;
const REDO_ROW: u16 = 20;
const REDO_UNDO: u16 = 35;
const REDO_COMMIT: u16 = 250;
/// Undo record of an update in place, and of an insert.
const UNDO_UPDATE: u32 = 70;
const UNDO_INSERT: u32 = 30;

static TOLD: [Kind; 5] =
    [transaction(KINDS[0]), transaction(KINDS[1]), transaction(KINDS[2]), transaction(KINDS[3]), transaction(KINDS[4])];

struct Tables {
    warehouse: Region,
    district: Region,
    customer: Region,
    history: Region,
    new_orders: Region,
    orders: Region,
    order_line: Region,
    item: Region,
    stock: Region,
    idx_customer: Splitting,
    idx_orders: Splitting,
    idx_stock: Splitting,
    idx_line: Splitting,
    idx_history: (Splitting, Region),
}

struct District {
    next_order: u32,
    oldest_new: u32,
    /// Pages of the orders and lines since the beginning.
    orders: Vec<u32>,
    lines: Vec<u32>,
    /// Items of the last orders, 0 for none.
    recent: Box<[[u32; 15]; RECENT]>,
}

/// TPC-C's tables, and the threads on them.
pub struct Tpcc {
    warehouses: u32,
    tables: Tables,
    rows: Rows,
    /// Orders of an order_line page.
    orders_a_line_page: u32,
    /// Redo that was measured, of what follows from what is logged.
    redo_scale: f64,
    room: Room,
    undo: Undo,
    pages: u32,
    names: Vec<(String, u32)>,
    terminals: Vec<Terminal>,
    districts: Vec<District>,
    history_rows: u64,
    history_page: u32,
    optimizer: Optimizer,
    seed: u64,
}

impl Tpcc {
    /// The touches of `threads`.
    ///
    /// # Errors
    /// What is not modelled.
    pub fn new(spec: &TpccSpec, measured: &Measured, threads: u32, seed: u64) -> Result<Self, String> {
        let mut made = Self::derived(spec, Rows::of(measured), threads, seed)?;
        made.optimizer = measured.optimizer;
        if let Some(bytes) = measured.redo_bytes.get("transaction") {
            made.redo_scale = scale_of(*bytes)?;
        }
        Ok(made)
    }

    fn derived(spec: &TpccSpec, rows: Rows, threads: u32, seed: u64) -> Result<Self, String> {
        if spec.keying_and_think {
            return Err("workload.keying_and_think is not modelled yet".into());
        }
        if !(1..=WAREHOUSES_MAX).contains(&spec.warehouses) {
            return Err(format!("workload.warehouses must be between 1 and {WAREHOUSES_MAX}"));
        }
        let w = u64::from(spec.warehouses);
        let (districts, customers) = (w * u64::from(DISTRICTS), w * u64::from(DISTRICTS * CUSTOMERS));
        let (orders, stock) = (w * u64::from(DISTRICTS * ORDERS), w * u64::from(ITEMS));
        let mut layout = Layout::default();
        let undo = Undo::new(layout.of("undo"), threads);
        let tables = Tables {
            warehouse: layout.of("warehouse").rows(w, rows.warehouse),
            district: layout.of("district").rows(districts, rows.district),
            customer: layout.of("customer").rows(customers, rows.customer),
            history: layout.of("history").rows(customers, rows.history),
            new_orders: layout.of("new_orders").pages(districts * u64::from(QUEUE_PAGES)),
            orders: layout.of("orders").rows(orders, rows.order),
            order_line: layout.of("order_line").rows(orders * u64::from(LINES), rows.order_line),
            item: layout.of("item").rows(u64::from(ITEMS), rows.item),
            stock: layout.of("stock").rows(stock, rows.stock),
            idx_customer: Splitting::new(layout.of("customer"), customers, rows.idx_customer),
            idx_orders: Splitting::new(layout.of("orders"), orders, rows.idx_orders),
            idx_line: Splitting::new(layout.of("order_line"), orders * u64::from(LINES), rows.idx_line),
            idx_stock: Splitting::new(layout.of("stock"), stock, rows.idx_stock),
            idx_history: (
                Splitting::new(layout.of("history"), customers, rows.idx_history[0]),
                layout.rows(customers, rows.idx_history[1]),
            ),
        };
        // Room for a tenth more: 1.1 KB a New-Order (see docs) make that of 1000 warehouses last for 9 million.
        let grows = (u64::from(layout.total()?) / 10).max(4096);
        let room = Room::new(layout.of("growth").pages(grows));
        let pages = layout.total()?;
        let seed_of_items = splitmix(seed ^ 0x7470_6363);
        let loaded = |district: u64| {
            let item = |n: u64| (splitmix(seed_of_items ^ (district << 16) ^ n) % u64::from(ITEMS)) as u32 + 1;
            let mut recent = Box::new([[0; 15]; RECENT]);
            for (order, items) in recent.iter_mut().enumerate() {
                for (line, place) in items.iter_mut().take(LINES as usize).enumerate() {
                    *place = item((order * 15 + line) as u64);
                }
            }
            recent
        };
        let fresh = |district| District {
            next_order: ORDERS + 1,
            oldest_new: FIRST_NEW_ORDER,
            orders: Vec::new(),
            lines: Vec::new(),
            recent: loaded(district),
        };
        let history_page = tables.history.first + tables.history.pages - 1;
        Ok(Self {
            warehouses: spec.warehouses,
            tables,
            rows,
            orders_a_line_page: (rows.order_line / LINES).max(1),
            redo_scale: 1.0,
            room,
            undo,
            pages,
            names: layout.tables(),
            terminals: (0..threads).map(|n| Terminal::new(spec.warehouses, false, seed, u64::from(n))).collect(),
            districts: (0..districts).map(fresh).collect(),
            history_rows: 0,
            history_page,
            optimizer: Optimizer::default(),
            seed,
        })
    }

    fn district(&self, warehouse: u32, district: u32) -> usize {
        debug_assert!((1..=self.warehouses).contains(&warehouse));
        ((warehouse - 1) * DISTRICTS + district - 1) as usize
    }

    fn warehouse_page(&self, warehouse: u32) -> u32 {
        self.tables.warehouse.page(u64::from(warehouse - 1), self.rows.warehouse)
    }

    fn district_page(&self, district: usize) -> u32 {
        self.tables.district.page(district as u64, self.rows.district)
    }

    fn customer_page(&self, district: usize, number: u32) -> u32 {
        let row = district as u64 * u64::from(CUSTOMERS) + u64::from(number - 1);
        self.tables.customer.page(row, self.rows.customer)
    }

    fn stock_page(&self, warehouse: u32, item: u32) -> u32 {
        self.tables.stock.page(u64::from(warehouse - 1) * u64::from(ITEMS) + u64::from(item - 1), self.rows.stock)
    }

    /// Row of an order among those that were loaded.
    fn loaded_order(district: usize, order: u32) -> u64 {
        district as u64 * u64::from(ORDERS) + u64::from(order - 1)
    }

    fn order_page(&self, district: usize, order: u32) -> u32 {
        match order.checked_sub(ORDERS + 1) {
            Some(since) => self.districts[district].orders[(since / self.rows.order) as usize],
            None => self.tables.orders.page(Self::loaded_order(district, order), self.rows.order),
        }
    }

    fn line_page(&self, district: usize, order: u32) -> u32 {
        match order.checked_sub(ORDERS + 1) {
            Some(since) => self.districts[district].lines[(since / self.orders_a_line_page) as usize],
            None => {
                let row = Self::loaded_order(district, order) * u64::from(LINES);
                self.tables.order_line.page(row, self.rows.order_line)
            }
        }
    }

    fn queue_page(&self, district: usize, order: u32) -> u32 {
        let page = (order - FIRST_NEW_ORDER) / self.rows.new_orders % QUEUE_PAGES;
        self.tables.new_orders.first + district as u32 * QUEUE_PAGES + page
    }

    /// The place of an entry of the index on orders' customers.
    fn customer_orders_page(&self, district: usize, customer: u32) -> u32 {
        let row = district as u64 * u64::from(ORDERS) + u64::from(customer - 1);
        self.tables.idx_orders.page(row)
    }

    /// A number that follows from others.
    fn hash(&self, a: u64, b: u64) -> u64 {
        splitmix(splitmix(self.seed ^ a) ^ b)
    }

    fn update(&mut self, thread: u32, page: u32, out: &mut Vec<Touch>) {
        self.undo.touch(thread, UNDO_UPDATE, UNDO_UPDATE as u16 + REDO_UNDO, out);
        out.push(Touch::change(page, REDO_UPDATE));
    }

    /// Inserts a row of so many bytes into a page, or into a new one.
    fn insert(&mut self, thread: u32, touch: fn(u32, u16) -> Touch, page: u32, bytes: u16, out: &mut Vec<Touch>) {
        self.undo.touch(thread, UNDO_INSERT, UNDO_INSERT as u16 + REDO_UNDO, out);
        out.push(touch(page, bytes + REDO_ROW));
    }

    fn new_order(&mut self, thread: u32, input: &NewOrder, out: &mut Vec<Touch>) {
        let own = self.district(input.warehouse, input.district);
        let rolls_back = input.lines().iter().any(|line| line.item > ITEMS);
        out.push(Touch::STATEMENT);
        out.extend([
            Touch::read(self.customer_page(own, input.customer)),
            Touch::read(self.warehouse_page(input.warehouse)),
        ]);
        out.extend([Touch::STATEMENT, Touch::STATEMENT]);
        let page = self.district_page(own);
        self.update(thread, page, out);
        let order = self.districts[own].next_order;
        if rolls_back {
            // tpcc-mysql finds out at its last item; what was changed is changed back, which makes as much redo again.
            // A hundredth of the orders: the reads are kept, the changes are left out.
            for line in input.lines().iter().filter(|line| line.item <= ITEMS) {
                out.extend([Touch::STATEMENT, Touch::read(self.stock_page(line.supplier, line.item))]);
            }
            return;
        }
        self.districts[own].next_order += 1;
        out.extend([Touch::STATEMENT, Touch::STATEMENT]);
        let since = order - ORDERS - 1;
        let touch = if since.is_multiple_of(self.rows.order) {
            let page = self.room.take();
            self.districts[own].orders.push(page);
            Touch::create
        } else {
            Touch::change
        };
        let page = self.order_page(own, order);
        self.insert(thread, touch, page, 43, out);
        self.tables.idx_orders.insert(first_of(own, ORDERS) + u64::from(input.customer - 1), 18, 18 + REDO_ROW, out);
        let page = self.queue_page(own, order);
        self.insert(thread, Touch::change, page, 26, out);
        let fresh_line_page = since.is_multiple_of(self.orders_a_line_page);
        if fresh_line_page {
            let page = self.room.take();
            self.districts[own].lines.push(page);
        }
        let line_page = self.line_page(own, order);
        let mut items = [0; 15];
        for (at, line) in input.lines().iter().enumerate() {
            items[at] = line.item;
            // The item; its stock, for update; the stock's update; the line.
            out.extend([
                Touch::STATEMENT,
                Touch::read(self.tables.item.page(u64::from(line.item - 1), self.rows.item)),
            ]);
            let stock = self.stock_page(line.supplier, line.item);
            out.extend([Touch::STATEMENT, Touch::read(stock), Touch::STATEMENT]);
            let row = u64::from(line.item - 1) * u64::from(self.warehouses) + u64::from(line.supplier - 1);
            self.tables.idx_stock.dive(row, row, self.optimizer, out);
            self.update(thread, stock, out);
            out.push(Touch::STATEMENT);
            let touch = if fresh_line_page && at == 0 { Touch::create } else { Touch::change };
            self.insert(thread, touch, line_page, 72, out);
            // fkey_order_line_2 is ordered by supplier and item: three entries an item and warehouse at first.
            let row = (u64::from(line.supplier - 1) * u64::from(ITEMS) + u64::from(line.item - 1)) * 3;
            self.tables.idx_line.insert(row, 20, 20 + REDO_ROW, out);
        }
        self.districts[own].recent[order as usize % RECENT] = items;
        self.undo.commit(thread, REDO_COMMIT, out);
    }

    /// Finds a customer, by number or last name. What Payment asks of a name is all in the index; Order-Status, with
    /// `rows`, reads everybody of that name.
    fn find_customer(&self, customer: &Customer, rows: bool, out: &mut Vec<Touch>) -> usize {
        let own = self.district(customer.warehouse, customer.district);
        let own_page = self.customer_page(own, customer.number);
        let Some(last) = customer.last else {
            out.extend([Touch::STATEMENT, Touch::read(own_page)]);
            return own;
        };
        let name = last.as_bytes().iter().fold(7, |hash, byte| splitmix(hash ^ u64::from(*byte)));
        let entry = self.tables.idx_customer.page(first_of(own, CUSTOMERS) + name % u64::from(CUSTOMERS));
        for _ in 0..2 {
            out.push(Touch::STATEMENT);
            self.guess_customers(own, out);
            out.push(Touch::read(entry));
        }
        if rows {
            for namesake in 0..NAMESAKES - 1 {
                let number = (self.hash(name, u64::from(namesake)) % u64::from(CUSTOMERS)) as u32 + 1;
                out.push(Touch::read(self.customer_page(own, number)));
            }
        } else {
            out.push(Touch::STATEMENT);
        }
        out.push(Touch::read(own_page));
        own
    }

    /// A question by last name has the primary key to choose as well, with all of the district's customers.
    fn guess_customers(&self, district: usize, out: &mut Vec<Touch>) {
        if self.optimizer == Optimizer::Mysql {
            let pages = self.customer_page(district, 1)..=self.customer_page(district, CUSTOMERS);
            out.extend(pages.take(DIVE_PAGES).map(|page| self.optimizer.look(page)));
        }
    }

    /// An UPDATE by the primary key of a table with another index that begins alike: the optimizer asks both how many rows
    /// there are, and of this one they are all of the district's.
    fn dive_customers(&self, district: usize, out: &mut Vec<Touch>) {
        let first = first_of(district, CUSTOMERS);
        self.tables.idx_customer.dive(first, first + u64::from(CUSTOMERS) - 1, self.optimizer, out);
    }

    fn payment(&mut self, thread: u32, input: &Payment, out: &mut Vec<Touch>) {
        let own = self.district(input.warehouse, input.district);
        let pages = [self.warehouse_page(input.warehouse), self.district_page(own)];
        for page in pages {
            out.push(Touch::STATEMENT);
            self.update(thread, page, out);
            out.push(Touch::STATEMENT);
        }
        let of = self.find_customer(&input.customer, false, out);
        out.push(Touch::STATEMENT);
        let page = self.customer_page(of, input.customer.number);
        self.dive_customers(of, out);
        self.update(thread, page, out);
        if self.hash(of as u64, u64::from(input.customer.number)).is_multiple_of(10) {
            // Bad credit: 500 bytes of data are written anew.
            self.undo.touch(thread, 450, 500, out);
            out.push(Touch::change(page, 500));
        }
        out.push(Touch::STATEMENT);
        let touch = if self.history_rows.is_multiple_of(u64::from(self.rows.history)) {
            self.history_page = self.room.take();
            Touch::create
        } else {
            Touch::change
        };
        self.history_rows += 1;
        let page = self.history_page;
        self.insert(thread, touch, page, 68, out);
        let row = of as u64 * u64::from(CUSTOMERS) + u64::from(input.customer.number - 1);
        // fkey_history_1 is ordered by customer, fkey_history_2 by the paying district: its entries go behind the last.
        self.tables.idx_history.0.insert(row, 21, 21 + REDO_ROW, out);
        let last = (own + 1) as u64 * u64::from(CUSTOMERS) - 1;
        let page = self.tables.idx_history.1.page(last, self.rows.idx_history[1]);
        out.push(Touch::change_entry(page, 17 + REDO_ROW, Entry::inserted(17)));
        self.undo.commit(thread, REDO_COMMIT, out);
    }

    fn order_status(&self, customer: &Customer, out: &mut Vec<Touch>) {
        let own = self.find_customer(customer, true, out);
        out.extend([Touch::STATEMENT, Touch::read(self.customer_orders_page(own, customer.number))]);
        let next = self.districts[own].next_order;
        let order = next - 1 - (self.hash(u64::from(next), u64::from(customer.number)) % u64::from(ORDERS)) as u32;
        out.extend([
            Touch::read(self.order_page(own, order)),
            Touch::STATEMENT,
            Touch::read(self.line_page(own, order)),
        ]);
    }

    fn delivery(&mut self, thread: u32, input: Delivery, out: &mut Vec<Touch>) {
        for district in 1..=DISTRICTS {
            let own = self.district(input.warehouse, district);
            let order = self.districts[own].oldest_new;
            out.extend([Touch::STATEMENT, Touch::read(self.queue_page(own, order))]);
            if order >= self.districts[own].next_order {
                continue;
            }
            self.districts[own].oldest_new += 1;
            out.push(Touch::STATEMENT);
            self.undo.touch(thread, UNDO_UPDATE, UNDO_UPDATE as u16 + REDO_UNDO, out);
            out.push(Touch::change(self.queue_page(own, order), REDO_MARK));
            let page = self.order_page(own, order);
            out.extend([Touch::STATEMENT, Touch::read(page), Touch::STATEMENT]);
            let first = first_of(own, ORDERS);
            self.tables.idx_orders.dive(first, first + u64::from(ORDERS) - 1, self.optimizer, out);
            self.update(thread, page, out);
            let page = self.line_page(own, order);
            out.push(Touch::STATEMENT);
            for _ in 0..LINES {
                self.update(thread, page, out);
            }
            out.extend([Touch::STATEMENT, Touch::read(page), Touch::STATEMENT]);
            let customer = (self.hash(own as u64, u64::from(order)) % u64::from(CUSTOMERS)) as u32 + 1;
            let page = self.customer_page(own, customer);
            self.dive_customers(own, out);
            self.update(thread, page, out);
        }
        self.undo.commit(thread, REDO_COMMIT, out);
    }

    fn stock_level(&self, input: &StockLevel, out: &mut Vec<Touch>) {
        let own = self.district(input.warehouse, input.district);
        out.extend([Touch::STATEMENT, Touch::read(self.district_page(own)), Touch::STATEMENT]);
        let next = self.districts[own].next_order;
        let mut last = None;
        for order in next - RECENT as u32..next {
            let page = self.line_page(own, order);
            if last != Some(page) {
                out.push(Touch::read(page));
                last = Some(page);
            }
        }
        for item in self.districts[own].recent.iter().flatten().filter(|item| **item > 0) {
            out.extend([Touch::STATEMENT, Touch::read(self.stock_page(input.warehouse, *item))]);
        }
    }
}

/// The first row of a district, of so many for each.
fn first_of(district: usize, rows: u32) -> u64 {
    district as u64 * u64::from(rows)
}

impl Touches for Tpcc {
    fn pages(&self) -> u32 {
        self.pages
    }

    fn tables(&self) -> &[(String, u32)] {
        &self.names
    }

    fn told(&self) -> &'static [Kind] {
        &TOLD
    }

    fn next(&mut self, thread: u32, out: &mut Vec<Touch>) -> usize {
        let (input, before) = (self.terminals[thread as usize].next_input(), out.len());
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
}

/// By how much changes make more redo than what follows from what is logged, when `bytes` were measured for a New-Order with
/// its companions: the mean of each warehouse's second thousand, when its indexes have split. What is made anew is left.
fn scale_of(bytes: f64) -> Result<f64, String> {
    const DECKS: u32 = 400;
    let spec = TpccSpec { warehouses: 2, pipeline: false, keying_and_think: false };
    let mut tpcc = Tpcc::derived(&spec, Rows::of(&Measured::default()), 1, 1)?;
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
#[path = "../tests/tpcc.rs"]
mod tests;
