//! The rows of TPC-C that transactions lock, and that others may want meanwhile.
//!
//! Locked are rows that are changed or read FOR UPDATE, and the parents of rows that are inserted with a foreign key (shared,
//! row_ins_check_foreign_constraint). Any other SELECT is a consistent read, which locks nothing. Nobody waits for a row that
//! a transaction has inserted, nor for the rows of an order that is delivered: they are left out.
//!
//! All transactions of tpcc-mysql lock in one order (warehouse, district, head of the queue, customer, stock by supplier and
//! item), so that none can be part of a deadlock. Those of HammerDB and sysbench-tpcc lock stock as it was drawn, so that
//! two New-Orders can.

use flatwater_core::workload::tpcc::{CUSTOMERS, DISTRICTS, ITEMS};

use super::super::touch::{Mode, Touch};
use crate::database::ids::RowNo;

/// What one warehouse has of rows that are locked: itself, its districts, the heads of their queues of new orders,
/// customers, stock.
const ROWS: u64 = 1 + 2 * DISTRICTS as u64 + (DISTRICTS * CUSTOMERS) as u64 + ITEMS as u64;

/// The row at a place among those of a warehouse, counted from 1.
fn row_of(warehouse: u32, at: u32) -> RowNo {
    RowNo::new((u64::from(warehouse - 1) * ROWS + u64::from(at)) as u32)
}

/// The row at a place among those of a district's warehouse, counted from 0.
fn row_of_district(district: usize, at: impl FnOnce(u32) -> u32) -> RowNo {
    let (warehouse, own) = (district as u32 / DISTRICTS, district as u32 % DISTRICTS);
    row_of(warehouse + 1, at(own))
}

/// A row is changed.
fn change(row: RowNo) -> Touch {
    Touch::lock(row, Mode::Exclusive)
}

/// Locks a warehouse.
pub(super) fn warehouse(number: u32) -> Touch {
    change(row_of(number, 0))
}

/// Locks a district.
pub(super) fn district(district: usize) -> Touch {
    change(row_of_district(district, |own| 1 + own))
}

/// Locks the oldest new order of a district. Two Deliveries read the same one; the second waits until the first has deleted
/// it, finds nothing, and tries again with the next. That it has done some statements in vain is left out.
pub(super) fn oldest_new_order(district: usize) -> Touch {
    change(row_of_district(district, |own| 1 + DISTRICTS + own))
}

/// The row of a customer.
fn customer_row(district: usize, number: u32) -> RowNo {
    row_of_district(district, |own| 1 + 2 * DISTRICTS + own * CUSTOMERS + number - 1)
}

/// Locks a customer.
pub(super) fn customer(district: usize, number: u32) -> Touch {
    change(customer_row(district, number))
}

/// Locks the customer of an order that is inserted.
pub(super) fn customer_of_order(district: usize, number: u32) -> Touch {
    Touch::lock(customer_row(district, number), Mode::Shared)
}

/// Locks the stock of an item.
pub(super) fn stock(warehouse: u32, item: u32) -> Touch {
    change(row_of(warehouse, 1 + 2 * DISTRICTS + DISTRICTS * CUSTOMERS + item - 1))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_rows_have_one_number() {
        let mut rows = HashSet::new();
        let mut add = |touch: Touch| assert!(rows.insert(touch.row().unwrap().0), "{touch:?}");
        for number in 1..=2 {
            add(warehouse(number));
            for own in (number as usize - 1) * DISTRICTS as usize..number as usize * DISTRICTS as usize {
                add(district(own));
                add(oldest_new_order(own));
                (1..=CUSTOMERS).for_each(|number| add(customer(own, number)));
            }
            (1..=ITEMS).for_each(|item| add(stock(number, item)));
        }
        assert_eq!(rows.len() as u64, 2 * ROWS);
        assert_eq!(rows.iter().map(|row| u64::from(row.number())).max(), Some(2 * ROWS - 1));
        assert_eq!(customer_of_order(3, 5).row().unwrap(), (customer(3, 5).row().unwrap().0, Mode::Shared));
    }
}
