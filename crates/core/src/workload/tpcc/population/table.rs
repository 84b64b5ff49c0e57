//! tpcc-mysql's tables, and the parts that they are cut into.

use crate::workload::tpcc::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, ORDER_LINES, ORDERS};

/// Items of a part.
pub(super) const ITEMS_A_PART: u32 = 25_000;
/// Stock rows of a part: half a warehouse's.
pub(super) const STOCK_A_PART: u32 = 50_000;
/// tpcc-mysql's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// item.
    Item,
    /// warehouse.
    Warehouse,
    /// district.
    District,
    /// stock.
    Stock,
    /// customer.
    Customer,
    /// history.
    History,
    /// orders.
    Orders,
    /// `new_orders`.
    NewOrders,
    /// `order_line`.
    OrderLine,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Item,
        Self::Warehouse,
        Self::District,
        Self::Stock,
        Self::Customer,
        Self::History,
        Self::Orders,
        Self::NewOrders,
        Self::OrderLine,
    ];

    /// Its name in the schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::Warehouse => "warehouse",
            Self::District => "district",
            Self::Stock => "stock",
            Self::Customer => "customer",
            Self::History => "history",
            Self::Orders => "orders",
            Self::NewOrders => "new_orders",
            Self::OrderLine => "order_line",
        }
    }

    /// The table of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Into how many parts it is cut.
    pub fn parts(self, warehouses: u32) -> u32 {
        match self {
            Self::Item => ITEMS / ITEMS_A_PART,
            Self::Warehouse | Self::District => 1,
            Self::Stock => warehouses * (ITEMS / STOCK_A_PART),
            Self::Customer | Self::History | Self::Orders | Self::NewOrders => warehouses,
            Self::OrderLine => warehouses * DISTRICTS,
        }
    }

    /// Rows of one part; of order lines their mean, because their number is a draw.
    pub fn rows_a_part(self, warehouses: u32) -> u32 {
        match self {
            Self::Item => ITEMS_A_PART,
            Self::Warehouse => warehouses,
            Self::District => warehouses * DISTRICTS,
            Self::Stock => STOCK_A_PART,
            Self::Customer | Self::History => CUSTOMERS * DISTRICTS,
            Self::Orders => ORDERS * DISTRICTS,
            Self::NewOrders => (ORDERS - FIRST_NEW_ORDER + 1) * DISTRICTS,
            Self::OrderLine => ORDERS * (ORDER_LINES.0 + ORDER_LINES.1) / 2,
        }
    }
}
