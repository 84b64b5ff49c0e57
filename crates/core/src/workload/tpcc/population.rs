//! The initial rows of a TPC-C database (clause 4.3.3.1), in tpcc-mysql's tables.
//!
//! Every table is cut into parts; the rows of a part are a function of the seed, the table and the part alone, so that
//! parts can be loaded in any order, side by side, and again after a load was interrupted.

mod draws;
mod rows;
mod table;

use rand::seq::SliceRandom as _;
use rand_xoshiro::rand_core::RngCore as _;

use super::{C_LAST_LOAD, CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, ORDER_LINES, ORDERS, last_name, nurand};
use crate::seed::{Rng, stream};

use draws::{ONE_IN, address, data, digits, draw, fill_letters, letters};
pub use rows::{Address, Customer, District, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse};
pub use table::Table;
use table::{ITEMS_A_PART, STOCK_A_PART};

/// The version of the rows. It changes whenever the same seed gives other rows, so that another version of flatwater
/// does not complete a half-loaded database.
pub const VERSION: u32 = 1;
/// The date of all rows. It is fixed, because a clock would make each load different.
pub const LOADED_AT: &str = "2026-01-01 00:00:00";
/// The rows of a scale and a seed. Parts count from 0; a part's number must be less than `Table::parts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Population {
    /// Warehouses.
    pub warehouses: u32,
    /// Seed.
    pub seed: u64,
}

impl Population {
    fn rng(&self, table: Table, part: u32) -> Rng {
        stream(self.seed, table.name(), u64::from(part))
    }

    /// Rows of item.
    pub fn items(&self, part: u32) -> impl Iterator<Item = Item> + use<> {
        let mut rng = self.rng(Table::Item, part);
        ids(part, ITEMS_A_PART).map(move |id| Item {
            id,
            image: draw(&mut rng, 1, 10_000),
            name: letters(&mut rng, 14, 24),
            price_cents: draw(&mut rng, 100, 10_000),
            data: data(&mut rng),
        })
    }

    /// Rows of warehouse.
    pub fn warehouses(&self) -> impl Iterator<Item = Warehouse> + use<> {
        let mut rng = self.rng(Table::Warehouse, 0);
        (1..=self.warehouses).map(move |id| Warehouse {
            id,
            name: letters(&mut rng, 6, 10),
            address: address(&mut rng),
            tax_cents: draw(&mut rng, 0, 20),
        })
    }

    /// Rows of district.
    pub fn districts(&self) -> impl Iterator<Item = District> + use<> {
        let mut rng = self.rng(Table::District, 0);
        places(0, self.warehouses * DISTRICTS).map(move |(warehouse, id)| District {
            id,
            warehouse,
            name: letters(&mut rng, 6, 10),
            address: address(&mut rng),
            tax_cents: draw(&mut rng, 0, 20),
        })
    }

    /// Rows of stock.
    pub fn stock(&self, part: u32) -> impl Iterator<Item = Stock> + use<> {
        let mut rng = self.rng(Table::Stock, part);
        let parts = ITEMS / STOCK_A_PART;
        let warehouse = part / parts + 1;
        ids(part % parts, STOCK_A_PART).map(move |item| {
            let quantity = draw(&mut rng, 10, 100);
            let mut districts = [[0; 24]; DISTRICTS as usize];
            fill_letters(&mut rng, districts.as_flattened_mut());
            Stock { item, warehouse, quantity, districts, data: data(&mut rng) }
        })
    }

    /// Rows of customer.
    pub fn customers(&self, part: u32) -> impl Iterator<Item = Customer> + use<> {
        let mut rng = self.rng(Table::Customer, part);
        customers_of(part).map(move |(warehouse, district, id)| Customer {
            id,
            district,
            warehouse,
            first: letters(&mut rng, 8, 16),
            last: last_name(if id <= 1000 { id - 1 } else { nurand(&mut rng, 255, C_LAST_LOAD, 0, 999) }),
            address: address(&mut rng),
            phone: digits(&mut rng),
            bad_credit: draw(&mut rng, 1, ONE_IN) == 1,
            discount_cents: draw(&mut rng, 0, 50),
            data: letters(&mut rng, 300, 500),
        })
    }

    /// Rows of history.
    pub fn history(&self, part: u32) -> impl Iterator<Item = History> + use<> {
        let mut rng = self.rng(Table::History, part);
        customers_of(part).map(move |(warehouse, district, customer)| History {
            customer,
            district,
            warehouse,
            data: letters(&mut rng, 12, 24),
        })
    }

    /// Rows of orders.
    pub fn orders(&self, part: u32) -> impl Iterator<Item = Order> + use<> {
        let seed = self.seed;
        let mut rng = self.rng(Table::Orders, part);
        places(part * DISTRICTS, DISTRICTS).flat_map(move |(warehouse, district)| {
            let lines = line_counts(seed, warehouse, district);
            let mut customers: Vec<u32> = (1..=CUSTOMERS).collect();
            customers.shuffle(&mut rng);
            let mut carriers = rng.clone();
            rng.next_u64();
            (1..=ORDERS).map(move |id| Order {
                id,
                district,
                warehouse,
                customer: customers[id as usize - 1],
                carrier: (id < FIRST_NEW_ORDER).then(|| draw(&mut carriers, 1, 10)),
                lines: u32::from(lines[id as usize - 1]),
            })
        })
    }

    /// Rows of `new_orders`.
    pub fn new_orders(&self, part: u32) -> impl Iterator<Item = NewOrder> + use<> {
        places(part * DISTRICTS, DISTRICTS).flat_map(|(warehouse, district)| {
            (FIRST_NEW_ORDER..=ORDERS).map(move |order| NewOrder { order, district, warehouse })
        })
    }

    /// Rows of `order_line`.
    pub fn order_lines(&self, part: u32) -> impl Iterator<Item = OrderLine> + use<> {
        let mut rng = self.rng(Table::OrderLine, part);
        let (warehouse, district) = (part / DISTRICTS + 1, part % DISTRICTS + 1);
        let lines = line_counts(self.seed, warehouse, district);
        (1..=ORDERS).flat_map(move |order| (1..=u32::from(lines[order as usize - 1])).map(move |n| (order, n))).map(
            move |(order, number)| {
                let delivered = order < FIRST_NEW_ORDER;
                let item = draw(&mut rng, 1, ITEMS);
                let amount_cents = if delivered { 0 } else { draw(&mut rng, 1, 999_999) };
                let mut info = [0; 24];
                fill_letters(&mut rng, &mut info);
                OrderLine { order, district, warehouse, number, item, delivered, amount_cents, info }
            },
        )
    }
}

/// How many lines each order of a district has: orders and `order_line` must agree on it.
fn line_counts(seed: u64, warehouse: u32, district: u32) -> Vec<u8> {
    let mut rng = stream(seed, "tpcc lines of orders", u64::from((warehouse - 1) * DISTRICTS + district - 1));
    (0..ORDERS).map(|_| draw(&mut rng, ORDER_LINES.0, ORDER_LINES.1) as u8).collect()
}

fn ids(part: u32, a_part: u32) -> std::ops::RangeInclusive<u32> {
    part * a_part + 1..=(part + 1) * a_part
}

/// Warehouse and district of `n` districts from the one of index `first` on.
fn places(first: u32, n: u32) -> impl Iterator<Item = (u32, u32)> {
    (first..first + n).map(|index| (index / DISTRICTS + 1, index % DISTRICTS + 1))
}

/// Warehouse, district and number of all customers of the warehouse that is part `part`.
fn customers_of(part: u32) -> impl Iterator<Item = (u32, u32, u32)> {
    places(part * DISTRICTS, DISTRICTS)
        .flat_map(|(warehouse, district)| (1..=CUSTOMERS).map(move |id| (warehouse, district, id)))
}

#[cfg(test)]
mod tests {
    use super::super::Text;
    use super::draws::LETTERS;
    use super::*;
    use std::collections::{HashMap, HashSet};

    const TWO: Population = Population { warehouses: 2, seed: 42 };

    #[track_caller]
    fn assert_tenth(found: usize, of: usize) {
        let (mean, deviation) = (of as f64 / 10.0, (of as f64 * 0.09).sqrt());
        assert!((found as f64 - mean).abs() < 5.0 * deviation, "{found} of {of}");
    }

    fn original(data: &Text<50>) -> bool {
        data.as_bytes().windows(8).any(|window| window == b"ORIGINAL")
    }

    fn is_letters<const N: usize>(text: &Text<N>, low: usize, high: usize) -> bool {
        (low..=high).contains(&text.as_bytes().len()) && text.as_bytes().iter().all(u8::is_ascii_alphanumeric)
    }

    #[test]
    fn parts_cover_each_table_once() {
        for table in Table::ALL {
            assert_eq!(Table::named(table.name()), Some(table));
        }
        assert_eq!(Table::named("nothing"), None);
        let parts = |table: Table| 0..table.parts(2);
        let items: Vec<u32> = parts(Table::Item).flat_map(|part| TWO.items(part)).map(|item| item.id).collect();
        assert!(items.into_iter().eq(1..=ITEMS));
        assert!(TWO.warehouses().map(|warehouse| warehouse.id).eq(1..=2));
        let keys = TWO.districts().map(|district| (district.warehouse, district.id));
        assert!(keys.eq((1..=2).flat_map(|w| (1..=10).map(move |d| (w, d)))));
        let keys = parts(Table::Stock).flat_map(|part| TWO.stock(part)).map(|stock| (stock.warehouse, stock.item));
        assert!(keys.eq((1..=2).flat_map(|w| (1..=ITEMS).map(move |i| (w, i)))));
        let all = || (1..=2).flat_map(|w| (1..=10).flat_map(move |d| (1..=3000).map(move |n| (w, d, n))));
        let keys = parts(Table::Customer).flat_map(|part| TWO.customers(part));
        assert!(keys.map(|row| (row.warehouse, row.district, row.id)).eq(all()));
        let keys = parts(Table::History).flat_map(|part| TWO.history(part));
        assert!(keys.map(|row| (row.warehouse, row.district, row.customer)).eq(all()));
        let keys = parts(Table::Orders).flat_map(|part| TWO.orders(part));
        assert!(keys.map(|row| (row.warehouse, row.district, row.id)).eq(all()));
        let keys = parts(Table::NewOrders).flat_map(|part| TWO.new_orders(part));
        assert!(keys.map(|row| (row.warehouse, row.district, row.order)).eq(all().filter(|(_, _, n)| *n > 2100)));
        for table in [Table::Stock, Table::Customer, Table::History, Table::Orders, Table::NewOrders] {
            let rows = table.rows_a_part(2) * table.parts(2);
            let expected = match table {
                Table::Stock => 200_000,
                Table::NewOrders => 18_000,
                _ => 60_000,
            };
            assert_eq!(rows, expected, "{table:?}");
        }
    }

    #[test]
    fn parts_are_the_same_whenever_asked_and_differ_from_each_other() {
        assert!(TWO.customers(1).eq(TWO.customers(1)));
        assert!(TWO.orders(1).eq(TWO.orders(1)));
        assert!(TWO.order_lines(7).eq(TWO.order_lines(7)));
        // A larger scale begins with the same warehouses.
        assert!(TWO.stock(3).eq(Population { warehouses: 9, ..TWO }.stock(3)));
        assert_ne!(TWO.stock(0).next().map(|row| row.data), TWO.stock(2).next().map(|row| row.data));
        assert_ne!(TWO.items(0).next(), Population { seed: 43, ..TWO }.items(0).next());
    }

    #[test]
    fn a_tenth_is_original_and_a_tenth_has_bad_credit() {
        let items: Vec<Item> = (0..4).flat_map(|part| TWO.items(part)).collect();
        assert_tenth(items.iter().filter(|item| original(&item.data)).count(), items.len());
        assert!(items.iter().all(|item| {
            is_letters(&item.name, 14, 24)
                && is_letters(&item.data, 26, 50)
                && (100..=10_000).contains(&item.price_cents)
                && (1..=10_000).contains(&item.image)
        }));
        let stock: Vec<Stock> = TWO.stock(0).collect();
        assert_tenth(stock.iter().filter(|row| original(&row.data)).count(), stock.len());
        assert!(stock.iter().all(|row| (10..=100).contains(&row.quantity)));
        assert!(stock.iter().all(|row| row.districts.as_flattened().iter().all(u8::is_ascii_alphanumeric)));
        let customers: Vec<Customer> = TWO.customers(0).collect();
        assert_tenth(customers.iter().filter(|row| row.bad_credit).count(), customers.len());
    }

    #[test]
    fn customers_are_the_specifications() {
        let mut names: HashMap<Vec<u8>, u32> = HashMap::new();
        for row in TWO.customers(1) {
            if row.id <= 1000 {
                assert_eq!(row.last, last_name(row.id - 1));
            }
            if row.district == 4 {
                *names.entry(row.last.as_bytes().to_vec()).or_default() += 1;
            }
            assert!(is_letters(&row.first, 8, 16) && is_letters(&row.data, 300, 500), "{row:?}");
            assert!(row.phone.as_bytes().iter().all(u8::is_ascii_digit) && row.phone.as_bytes().len() == 16);
            assert!(row.address.zip.as_bytes().ends_with(b"11111") && row.address.zip.as_bytes().len() == 9);
            assert!(is_letters(&row.address.street_1, 10, 20) && is_letters(&row.address.state, 2, 2));
            assert!(row.discount_cents <= 50);
        }
        assert_eq!(names.len(), 1000, "every last name is there, so that a run finds whatever it draws");
        assert!(names.values().any(|n| *n > 5), "the drawn names are not uniform");
    }

    #[test]
    fn orders_and_their_lines_agree() {
        for warehouse in [1, 2] {
            let orders: Vec<Order> = TWO.orders(warehouse - 1).collect();
            for district in 1..=DISTRICTS {
                let own: Vec<&Order> = orders.iter().filter(|order| order.district == district).collect();
                let customers: HashSet<u32> = own.iter().map(|order| order.customer).collect();
                assert_eq!(customers.len(), 3000, "each customer has one order");
                assert!(own.iter().any(|order| order.customer != order.id), "in no order");
                let mut counts = vec![0; own.len()];
                for line in TWO.order_lines((warehouse - 1) * DISTRICTS + district - 1) {
                    assert_eq!((line.warehouse, line.district), (warehouse, district));
                    counts[line.order as usize - 1] += 1;
                    assert_eq!(line.number, counts[line.order as usize - 1]);
                    assert_eq!(line.delivered, line.order <= 2100);
                    let range = if line.delivered { 0..=0 } else { 1..=999_999 };
                    assert!(range.contains(&line.amount_cents) && (1..=ITEMS).contains(&line.item), "{line:?}");
                }
                for (order, count) in own.iter().zip(counts) {
                    assert_eq!(order.lines, count);
                    assert!((5..=15).contains(&count));
                    assert_eq!(order.carrier.is_some(), order.id <= 2100);
                    assert!(order.carrier.is_none_or(|carrier| (1..=10).contains(&carrier)));
                }
            }
            let of = |district| orders.iter().filter(move |order| order.district == district).map(|o| o.customer);
            assert!(!of(1).eq(of(2)), "districts have permutations of their own");
        }
    }

    #[test]
    fn letters_are_even() {
        let mut rng = stream(1, "test", 0);
        let mut text = vec![0; 620_000];
        fill_letters(&mut rng, &mut text);
        for letter in LETTERS {
            let n = text.iter().filter(|found| *found == letter).count();
            assert!((9_500..10_500).contains(&n), "{n} times {}", *letter as char);
        }
    }
}
