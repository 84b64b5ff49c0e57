//! The pages of TPC-C's rows and index entries, and the questions that the optimizer asks of indexes.

use flatwater_core::seed::splitmix;
use flatwater_core::workload::tpcc::inputs::Customer;
use flatwater_core::workload::tpcc::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, ORDERS};

use super::super::layout::DIVE_PAGES;
use super::super::measured::Optimizer;
use super::super::touch::Touch;
use super::tables::{LINES, QUEUE_PAGES};
use super::{Tpcc, locked};
use crate::database::ids::PageNo;

/// Customers of a last name, in the mean of those that are drawn.
const NAMESAKES: u32 = 3;

/// The first row of a district, of so many for each.
pub(super) fn first_of(district: usize, rows: u32) -> u64 {
    district as u64 * u64::from(rows)
}

impl Tpcc {
    pub(super) fn district(&self, warehouse: u32, district: u32) -> usize {
        debug_assert!((warehouse as usize - 1) * (DISTRICTS as usize) < self.districts.len());
        ((warehouse - 1) * DISTRICTS + district - 1) as usize
    }

    pub(super) fn warehouse_page(&self, warehouse: u32) -> PageNo {
        self.tables.warehouse.page(u64::from(warehouse - 1), self.rows.warehouse)
    }

    pub(super) fn district_page(&self, district: usize) -> PageNo {
        self.tables.district.page(district as u64, self.rows.district)
    }

    pub(super) fn customer_page(&self, district: usize, number: u32) -> PageNo {
        let row = district as u64 * u64::from(CUSTOMERS) + u64::from(number - 1);
        self.tables.customer.page(row, self.rows.customer)
    }

    /// The page of an item, in the set of tables of a warehouse.
    pub(super) fn item_page(&self, warehouse: u32, item: u32) -> PageNo {
        let set = (warehouse - 1) / self.warehouses;
        self.tables.item.page(u64::from(set) * u64::from(ITEMS) + u64::from(item - 1), self.rows.item)
    }

    /// The optimizer asks how much stock there is of an item, in all warehouses of a set, before one is changed.
    pub(super) fn dive_stock(&self, supplier: u32, item: u32, out: &mut Vec<Touch>) {
        let Some(keys) = &self.tables.keys else { return };
        let (set, own) = ((supplier - 1) / self.warehouses, (supplier - 1) % self.warehouses);
        let row = (u64::from(set) * u64::from(ITEMS) + u64::from(item - 1)) * u64::from(self.warehouses);
        keys.stock.dive(row + u64::from(own), row + u64::from(own), self.optimizer, out);
    }

    pub(super) fn stock_page(&self, warehouse: u32, item: u32) -> PageNo {
        self.tables.stock.page(u64::from(warehouse - 1) * u64::from(ITEMS) + u64::from(item - 1), self.rows.stock)
    }

    /// Row of an order among those that were loaded.
    fn loaded_order(district: usize, order: u32) -> u64 {
        district as u64 * u64::from(ORDERS) + u64::from(order - 1)
    }

    pub(super) fn order_page(&self, district: usize, order: u32) -> PageNo {
        match order.checked_sub(ORDERS + 1) {
            Some(since) => self.districts[district].orders[(since / self.rows.order) as usize],
            None => self.tables.orders.page(Self::loaded_order(district, order), self.rows.order),
        }
    }

    pub(super) fn line_page(&self, district: usize, order: u32) -> PageNo {
        match order.checked_sub(ORDERS + 1) {
            Some(since) => self.districts[district].lines[(since / self.orders_a_line_page) as usize],
            None => {
                let row = Self::loaded_order(district, order) * u64::from(LINES);
                self.tables.order_line.page(row, self.rows.order_line)
            }
        }
    }

    pub(super) fn queue_page(&self, district: usize, order: u32) -> PageNo {
        let page = (order - FIRST_NEW_ORDER) / self.rows.new_orders % QUEUE_PAGES;
        self.tables.new_orders.first + district as u32 * QUEUE_PAGES + page
    }

    /// The place of an entry of the index on orders' customers.
    pub(super) fn customer_orders_page(&self, district: usize, customer: u32) -> PageNo {
        let row = district as u64 * u64::from(ORDERS) + u64::from(customer - 1);
        self.tables.idx_orders.page(row)
    }

    /// A number that follows from others.
    pub(super) fn hash(&self, a: u64, b: u64) -> u64 {
        splitmix(splitmix(self.seed ^ a) ^ b)
    }

    /// Finds a customer, by number or last name. With `rows`, everybody of that name is read, and nobody locked. Without, what
    /// is asked of a name is all in the index, and the customer is read FOR UPDATE.
    pub(super) fn find_customer(&self, customer: &Customer, rows: bool, out: &mut Vec<Touch>) -> usize {
        let own = self.district(customer.warehouse, customer.district);
        let own_page = self.customer_page(own, customer.number);
        let lock = (!rows).then(|| locked::customer(own, customer.number));
        let Some(last) = customer.last else {
            out.extend(lock);
            out.extend([self.statement, Touch::read(own_page)]);
            return own;
        };
        let name = last.as_bytes().iter().fold(7, |hash, byte| splitmix(hash ^ u64::from(*byte)));
        let entry = self.tables.idx_customer.page(first_of(own, CUSTOMERS) + name % u64::from(CUSTOMERS));
        for _ in 0..2 {
            out.push(self.statement);
            self.guess_customers(own, out);
            out.push(Touch::read(entry));
        }
        if rows {
            for namesake in 0..NAMESAKES - 1 {
                let number = (self.hash(name, u64::from(namesake)) % u64::from(CUSTOMERS)) as u32 + 1;
                out.push(Touch::read(self.customer_page(own, number)));
            }
        } else {
            out.extend(lock);
            out.push(self.statement);
        }
        out.push(Touch::read(own_page));
        own
    }

    /// A question by last name has the primary key to choose as well, with all of the district's customers.
    pub(super) fn guess_customers(&self, district: usize, out: &mut Vec<Touch>) {
        if self.optimizer != Optimizer::Mariadb {
            let pages = self.customer_page(district, 1).through(self.customer_page(district, CUSTOMERS));
            out.extend(pages.take(DIVE_PAGES).map(|page| self.optimizer.look(page)));
        }
    }

    /// An UPDATE by the primary key of a table with another index that begins alike: the optimizer asks both how many rows
    /// there are, and of this one they are all of the district's.
    pub(super) fn dive_customers(&self, district: usize, out: &mut Vec<Touch>) {
        let first = first_of(district, CUSTOMERS);
        self.tables.idx_customer.dive(first, first + u64::from(CUSTOMERS) - 1, self.optimizer, out);
    }
}
