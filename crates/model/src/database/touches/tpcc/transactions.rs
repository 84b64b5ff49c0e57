//! TPC-C's five transactions, statement by statement.

use flatwater_core::workload::tpcc::inputs::{Customer, Delivery, NewOrder, Payment, StockLevel};
use flatwater_core::workload::tpcc::{CUSTOMERS, DISTRICTS, ITEMS, ORDERS};

use super::super::touch::{Entry, Touch};
use super::super::undo::Undone;
use super::growth::Of;
use super::places::first_of;
use super::tables::{LINES, RECENT};
use super::{Tpcc, locked};
use crate::database::ids::PageNo;

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

impl Tpcc {
    fn update(&mut self, thread: u32, page: PageNo, out: &mut Vec<Touch>) {
        self.undo.touch(thread, Undone::Change, UNDO_UPDATE, UNDO_UPDATE as u16 + REDO_UNDO, out);
        out.push(Touch::change(page, REDO_UPDATE));
    }

    /// Inserts a row of so many bytes into a page, or into a new one.
    fn insert(&mut self, thread: u32, touch: fn(PageNo, u16) -> Touch, page: PageNo, bytes: u16, out: &mut Vec<Touch>) {
        self.undo.touch(thread, Undone::Insert, UNDO_INSERT, UNDO_INSERT as u16 + REDO_UNDO, out);
        out.push(touch(page, bytes + REDO_ROW));
    }

    pub(super) fn new_order(&mut self, thread: u32, input: &NewOrder, out: &mut Vec<Touch>) {
        let own = self.district(input.warehouse, input.district);
        let rolls_back = input.lines().iter().any(|line| line.item > ITEMS);
        out.push(self.statement);
        out.extend([
            Touch::read(self.customer_page(own, input.customer)),
            Touch::read(self.warehouse_page(input.warehouse)),
        ]);
        // Its next order is read FOR UPDATE.
        out.extend([locked::district(own), self.statement, self.statement]);
        let page = self.district_page(own);
        self.update(thread, page, out);
        let order = self.districts[own].next_order;
        if rolls_back {
            // tpcc-mysql finds out at its last item; what was changed is changed back, which makes as much redo again.
            // A hundredth of the orders: the reads are kept, the changes are left out.
            for line in input.lines().iter().filter(|line| line.item <= ITEMS) {
                let stock = Touch::read(self.stock_page(line.supplier, line.item));
                out.extend(self.schema.locks_read_stock.then(|| locked::stock(line.supplier, line.item)));
                out.extend([self.statement, stock]);
            }
            self.undo.commit(thread, REDO_COMMIT, out);
            self.rollbacks += 1;
            return;
        }
        self.districts[own].next_order += 1;
        out.extend(self.schema.locks_parents.then(|| locked::customer_of_order(own, input.customer)));
        out.extend([self.statement, self.statement]);
        let since = order - ORDERS - 1;
        let touch = if since.is_multiple_of(self.rows.order) {
            let page = self.growth.take(Of::Orders);
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
            let page = self.growth.take(Of::Lines);
            self.districts[own].lines.push(page);
        }
        let line_page = self.line_page(own, order);
        let items = self.order_lines(thread, input, (line_page, fresh_line_page), out);
        self.districts[own].recent[order as usize % RECENT] = items;
        self.undo.commit(thread, REDO_COMMIT, out);
    }

    /// The lines of an order, which go to this page, a new one or not. Returns their items.
    fn order_lines(
        &mut self,
        thread: u32,
        input: &NewOrder,
        (line_page, fresh): (PageNo, bool),
        out: &mut Vec<Touch>,
    ) -> [u32; 15] {
        let mut items = [0; 15];
        for (at, line) in input.lines().iter().enumerate() {
            items[at] = line.item;
            // The item; its stock, for update or not; the stock's update; the line.
            out.extend([self.statement, Touch::read(self.item_page(line.supplier, line.item))]);
            let stock = self.stock_page(line.supplier, line.item);
            let lock = locked::stock(line.supplier, line.item);
            let locks_read = self.schema.locks_read_stock;
            out.extend(locks_read.then_some(lock));
            out.extend([self.statement, Touch::read(stock)]);
            out.extend((!locks_read).then_some(lock));
            out.push(self.statement);
            self.dive_stock(line.supplier, line.item, out);
            self.update(thread, stock, out);
            out.push(self.statement);
            let touch = if fresh && at == 0 { Touch::create } else { Touch::change };
            self.insert(thread, touch, line_page, 72, out);
            if let Some(keys) = &mut self.tables.keys {
                // fkey_order_line_2 is ordered by supplier and item: three entries an item and warehouse at first.
                let row = (u64::from(line.supplier - 1) * u64::from(ITEMS) + u64::from(line.item - 1)) * 3;
                keys.line.insert(row, 20, 20 + REDO_ROW, out);
            }
        }
        items
    }

    pub(super) fn payment(&mut self, thread: u32, input: &Payment, out: &mut Vec<Touch>) {
        let own = self.district(input.warehouse, input.district);
        let warehouse = (locked::warehouse(input.warehouse), self.warehouse_page(input.warehouse));
        for (lock, page) in [warehouse, (locked::district(own), self.district_page(own))] {
            out.extend([lock, self.statement]);
            self.update(thread, page, out);
            out.push(self.statement);
        }
        let reads_namesakes = self.schema.payment_reads_namesakes;
        let of = self.find_customer(&input.customer, reads_namesakes, out);
        out.extend(reads_namesakes.then(|| locked::customer(of, input.customer.number)));
        out.push(self.statement);
        let page = self.customer_page(of, input.customer.number);
        self.dive_customers(of, out);
        self.update(thread, page, out);
        if self.hash(of as u64, u64::from(input.customer.number)).is_multiple_of(self.schema.bad_credit_of) {
            // Bad credit: 500 bytes of data are written anew.
            self.undo.touch(thread, Undone::Change, 450, 500, out);
            out.push(Touch::change(page, 500));
        }
        out.push(self.statement);
        let touch = if self.history_rows.is_multiple_of(u64::from(self.rows.history)) {
            self.history_page = self.growth.take(Of::History);
            Touch::create
        } else {
            Touch::change
        };
        self.history_rows += 1;
        let page = self.history_page;
        self.insert(thread, touch, page, 68, out);
        if let Some(keys) = &mut self.tables.keys {
            let row = of as u64 * u64::from(CUSTOMERS) + u64::from(input.customer.number - 1);
            // fkey_history_1 is ordered by customer, fkey_history_2 by the paying district: its entries go behind the last.
            keys.history.0.insert(row, 21, 21 + REDO_ROW, out);
            let last = (own + 1) as u64 * u64::from(CUSTOMERS) - 1;
            let page = keys.history.1.page(last, self.rows.idx_history[1]);
            out.push(Touch::change_entry(page, 17 + REDO_ROW, Entry::inserted(17)));
        }
        self.undo.commit(thread, REDO_COMMIT, out);
    }

    pub(super) fn order_status(&self, customer: &Customer, out: &mut Vec<Touch>) {
        let own = self.find_customer(customer, true, out);
        out.extend([self.statement, Touch::read(self.customer_orders_page(own, customer.number))]);
        let next = self.districts[own].next_order;
        let order = next - 1 - (self.hash(u64::from(next), u64::from(customer.number)) % u64::from(ORDERS)) as u32;
        out.extend([Touch::read(self.order_page(own, order)), self.statement, Touch::read(self.line_page(own, order))]);
    }

    /// Each district is committed by itself, or all at the end.
    pub(super) fn delivery(&mut self, thread: u32, input: Delivery, out: &mut Vec<Touch>) {
        for district in 1..=DISTRICTS {
            let own = self.district(input.warehouse, district);
            let order = self.districts[own].oldest_new;
            out.extend([self.statement, Touch::read(self.queue_page(own, order))]);
            if order >= self.districts[own].next_order {
                continue;
            }
            self.districts[own].oldest_new += 1;
            out.extend([locked::oldest_new_order(own), self.statement]);
            self.undo.touch(thread, Undone::Change, UNDO_UPDATE, UNDO_UPDATE as u16 + REDO_UNDO, out);
            out.push(Touch::change(self.queue_page(own, order), REDO_MARK));
            let page = self.order_page(own, order);
            out.extend([self.statement, Touch::read(page), self.statement]);
            let first = first_of(own, ORDERS);
            self.tables.idx_orders.dive(first, first + u64::from(ORDERS) - 1, self.optimizer, out);
            self.update(thread, page, out);
            let page = self.line_page(own, order);
            out.push(self.statement);
            for _ in 0..LINES {
                self.update(thread, page, out);
            }
            let customer = (self.hash(own as u64, u64::from(order)) % u64::from(CUSTOMERS)) as u32 + 1;
            let lock = locked::customer(own, customer);
            out.extend([self.statement, Touch::read(page), lock, self.statement]);
            let page = self.customer_page(own, customer);
            self.dive_customers(own, out);
            self.update(thread, page, out);
            if self.schema.commits_districts {
                self.undo.commit(thread, REDO_COMMIT, out);
                out.push(Touch::COMMIT);
            }
        }
        if !self.schema.commits_districts {
            self.undo.commit(thread, REDO_COMMIT, out);
        }
    }

    pub(super) fn stock_level(&self, input: &StockLevel, out: &mut Vec<Touch>) {
        let own = self.district(input.warehouse, input.district);
        out.extend([self.statement, Touch::read(self.district_page(own)), self.statement]);
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
            out.extend([self.statement, Touch::read(self.stock_page(input.warehouse, *item))]);
        }
    }
}
