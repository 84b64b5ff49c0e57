//! The rows of tpcc-mysql's tables, as far as they differ from each other.

use crate::workload::tpcc::{DISTRICTS, Text};

/// Street, city, state and zip code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// First line, 10..=20 letters.
    pub street_1: Text<20>,
    /// Second line, 10..=20 letters.
    pub street_2: Text<20>,
    /// City, 10..=20 letters.
    pub city: Text<20>,
    /// State, 2 letters.
    pub state: Text<2>,
    /// Zip code, 9 digits of which the last five are ones.
    pub zip: Text<9>,
}

/// A row of item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// 1..=100000.
    pub id: u32,
    /// Image, 1..=10000.
    pub image: u32,
    /// 14..=24 letters.
    pub name: Text<24>,
    /// 1.00..=100.00, in hundredths.
    pub price_cents: u32,
    /// 26..=50 letters, with ORIGINAL in one of ten.
    pub data: Text<50>,
}

/// A row of warehouse. Its year-to-date sum is 300000.00.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warehouse {
    /// From 1 on.
    pub id: u32,
    /// 6..=10 letters.
    pub name: Text<10>,
    /// Where it is.
    pub address: Address,
    /// 0.00..=0.20, in hundredths: tpcc-mysql's column has no more decimals.
    pub tax_cents: u32,
}

/// A row of district. Its year-to-date sum is 30000.00, its next order 3001.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct District {
    /// 1..=10.
    pub id: u32,
    /// Its warehouse.
    pub warehouse: u32,
    /// 6..=10 letters.
    pub name: Text<10>,
    /// Where it is.
    pub address: Address,
    /// 0.00..=0.20, in hundredths.
    pub tax_cents: u32,
}

/// A row of stock. Its sums and counts are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stock {
    /// Item.
    pub item: u32,
    /// Warehouse.
    pub warehouse: u32,
    /// 10..=100.
    pub quantity: u32,
    /// 24 letters for each district.
    pub districts: [[u8; 24]; DISTRICTS as usize],
    /// 26..=50 letters, with ORIGINAL in one of ten.
    pub data: Text<50>,
}

/// A row of customer. Its balance is -10.00, it has paid 10.00 in one payment, its credit limit is 50000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Customer {
    /// 1..=3000.
    pub id: u32,
    /// District.
    pub district: u32,
    /// Warehouse.
    pub warehouse: u32,
    /// 8..=16 letters.
    pub first: Text<16>,
    /// By number for the first 1000, then by a non-uniform draw.
    pub last: Text<16>,
    /// Where it lives.
    pub address: Address,
    /// 16 digits.
    pub phone: Text<16>,
    /// One of ten.
    pub bad_credit: bool,
    /// 0.00..=0.50, in hundredths.
    pub discount_cents: u32,
    /// 300..=500 letters.
    pub data: Text<500>,
}

/// A row of history: one of 10.00 for each customer, in its own district.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// Customer.
    pub customer: u32,
    /// District.
    pub district: u32,
    /// Warehouse.
    pub warehouse: u32,
    /// 12..=24 letters.
    pub data: Text<24>,
}

/// A row of orders; all lines of it are local.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// 1..=3000.
    pub id: u32,
    /// District.
    pub district: u32,
    /// Warehouse.
    pub warehouse: u32,
    /// Who ordered; each customer of the district has one order.
    pub customer: u32,
    /// 1..=10; None when it is not delivered.
    pub carrier: Option<u32>,
    /// 5..=15.
    pub lines: u32,
}

/// A row of `new_orders`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// 2101..=3000.
    pub order: u32,
    /// District.
    pub district: u32,
    /// Warehouse.
    pub warehouse: u32,
}

/// A row of `order_line`: quantity 5, supplied by its own warehouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLine {
    /// Order.
    pub order: u32,
    /// District.
    pub district: u32,
    /// Warehouse.
    pub warehouse: u32,
    /// From 1 on.
    pub number: u32,
    /// Item.
    pub item: u32,
    /// Whether it is delivered.
    pub delivered: bool,
    /// 0.00 when it is delivered, otherwise 0.01..=9999.99, in hundredths.
    pub amount_cents: u32,
    /// 24 letters.
    pub info: [u8; 24],
}
