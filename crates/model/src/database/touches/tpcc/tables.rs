//! TPC-C's tables and indexes as regions of pages, and the state of each district.

use flatwater_core::seed::splitmix;
use flatwater_core::workload::tpcc::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, ORDERS};

use super::super::layout::{Layout, Splitting};
use super::super::region::Region;
use super::rows::Rows;
use super::schema::Schema;
use crate::database::ids::PageNo;

/// Lines of an order in the mean.
pub(super) const LINES: u32 = 10;
/// Pages of a district's new_orders, which are used again as a queue goes round.
pub(super) const QUEUE_PAGES: u32 = 4;
/// Orders that Stock-Level looks at.
pub(super) const RECENT: usize = 20;

/// Where each table and index is.
pub(super) struct Tables {
    pub(super) warehouse: Region,
    pub(super) district: Region,
    pub(super) customer: Region,
    pub(super) history: Region,
    pub(super) new_orders: Region,
    pub(super) orders: Region,
    pub(super) order_line: Region,
    pub(super) item: Region,
    pub(super) stock: Region,
    pub(super) idx_customer: Splitting,
    pub(super) idx_orders: Splitting,
    /// Those of foreign keys, where there are any.
    pub(super) keys: Option<Keys>,
}

/// Secondary indexes of foreign keys: of stock by item, of order lines by stock, and of history by customer and by district.
pub(super) struct Keys {
    pub(super) stock: Splitting,
    pub(super) line: Splitting,
    pub(super) history: (Splitting, Region),
}

impl Tables {
    /// Those of so many sets of so many warehouses, whose pages hold so many rows. The sets lie one after another.
    pub(super) fn new(layout: &mut Layout, sets: u32, warehouses: u32, rows: &Rows, schema: Schema) -> Self {
        let w = u64::from(sets) * u64::from(warehouses);
        let (districts, customers) = (w * u64::from(DISTRICTS), w * u64::from(DISTRICTS * CUSTOMERS));
        let (orders, stock) = (w * u64::from(DISTRICTS * ORDERS), w * u64::from(ITEMS));
        Self {
            warehouse: layout.of("warehouse").rows(w, rows.warehouse),
            district: layout.of("district").rows(districts, rows.district),
            customer: layout.of("customer").rows(customers, rows.customer),
            history: layout.of("history").rows(customers, rows.history),
            new_orders: layout.of(schema.new_orders).pages(districts * u64::from(QUEUE_PAGES)),
            orders: layout.of("orders").rows(orders, rows.order),
            order_line: layout.of("order_line").rows(orders * u64::from(LINES), rows.order_line),
            item: layout.of("item").rows(u64::from(sets) * u64::from(ITEMS), rows.item),
            stock: layout.of("stock").rows(stock, rows.stock),
            idx_customer: Splitting::new(layout.of("customer"), customers, rows.idx_customer),
            idx_orders: Splitting::new(layout.of("orders"), orders, rows.idx_orders),
            keys: schema.indexes_keys.then(|| Keys {
                line: Splitting::new(layout.of("order_line"), orders * u64::from(LINES), rows.idx_line),
                stock: Splitting::new(layout.of("stock"), stock, rows.idx_stock),
                history: (
                    Splitting::new(layout.of("history"), customers, rows.idx_history[0]),
                    layout.rows(customers, rows.idx_history[1]),
                ),
            }),
        }
    }
}

/// A district.
pub(super) struct District {
    pub(super) next_order: u32,
    pub(super) oldest_new: u32,
    /// Pages of the orders and lines since the beginning.
    pub(super) orders: Vec<PageNo>,
    pub(super) lines: Vec<PageNo>,
    /// Items of the last orders, 0 for none.
    pub(super) recent: Box<[[u32; 15]; RECENT]>,
}

impl District {
    /// The district of this number as it was loaded, with items that follow from the seed.
    pub(super) fn loaded(number: u64, seed: u64) -> Self {
        let item = |n: u64| (splitmix(seed ^ (number << 16) ^ n) % u64::from(ITEMS)) as u32 + 1;
        let mut recent = Box::new([[0; 15]; RECENT]);
        for (order, items) in recent.iter_mut().enumerate() {
            for (line, place) in items.iter_mut().take(LINES as usize).enumerate() {
                *place = item((order * 15 + line) as u64);
            }
        }
        Self { next_order: ORDERS + 1, oldest_new: FIRST_NEW_ORDER, orders: Vec::new(), lines: Vec::new(), recent }
    }
}
