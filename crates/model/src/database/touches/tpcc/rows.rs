//! Rows of a page of TPC-C's tables and indexes.

use super::super::layout::LOADED_BYTES;
use super::super::measured::Measured;
use super::schema::Schema;

/// Rows of a page, by the bytes of a row.
const fn rows(bytes: u32) -> u32 {
    LOADED_BYTES / bytes
}

/// Rows of a page of each table and index.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Rows of a page of `warehouse`.
    pub warehouse: u32,
    /// Rows of a page of `district`.
    pub district: u32,
    /// Rows of a page of `customer`.
    pub customer: u32,
    /// Rows of a page of `history`.
    pub history: u32,
    /// Rows of a page of `new_orders`.
    pub new_orders: u32,
    /// Rows of a page of `orders`.
    pub order: u32,
    /// Rows of a page of `order_line`.
    pub order_line: u32,
    /// Rows of a page of `item`.
    pub item: u32,
    /// Rows of a page of `stock`.
    pub stock: u32,
    /// Entries of a page of the index on customers' last names.
    pub idx_customer: u32,
    /// Entries of a page of the index on orders' customers.
    pub idx_orders: u32,
    /// Entries of a page of the foreign key from `order_line` to `stock`.
    pub idx_line: u32,
    /// Entries of a page of the foreign key from `stock` to `item`.
    pub idx_stock: u32,
    /// The two of history: customer's, and district's.
    pub idx_history: [u32; 2],
}

impl Rows {
    /// HammerDB's, by the bytes of rows: whole numbers are of four bytes, and dates of five.
    const fn of_wide_numbers() -> Self {
        Self {
            warehouse: rows(115),
            district: rows(125),
            customer: rows(565),
            history: rows(73),
            new_orders: rows(30),
            order: rows(52),
            order_line: rows(84),
            item: rows(89),
            stock: rows(327),
            idx_customer: rows(44),
            idx_orders: rows(22),
            // It has none of these.
            idx_line: 1,
            idx_stock: 1,
            idx_history: [1, 1],
        }
    }

    /// As they were counted of tpcc-mysql's tables, else by the bytes of rows.
    pub(super) fn of(measured: &Measured, schema: Schema) -> Self {
        if schema.wide_numbers {
            return Self::of_wide_numbers();
        }
        Self {
            // A page of either holds more than there are in small data: those are never counted.
            warehouse: rows(115),
            district: rows(125),
            customer: measured.rows("customer.PRIMARY", rows(575)),
            history: measured.rows("history.GEN_CLUST_INDEX", rows(68)),
            new_orders: rows(26),
            order: measured.rows("orders.PRIMARY", rows(43)),
            order_line: measured.rows("order_line.PRIMARY", rows(72)),
            item: measured.rows("item.PRIMARY", rows(92)),
            stock: measured.rows("stock.PRIMARY", rows(316)),
            idx_customer: measured.rows("customer.idx_customer", rows(38)),
            idx_orders: measured.rows("orders.idx_orders", rows(18)),
            idx_line: measured.rows("order_line.fkey_order_line_2", rows(20)),
            idx_stock: measured.rows("stock.fkey_stock_2", rows(12)),
            idx_history: [
                measured.rows("history.fkey_history_1", rows(21)),
                measured.rows("history.fkey_history_2", rows(17)),
            ],
        }
    }
}
