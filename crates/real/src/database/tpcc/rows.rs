//! The rows of each table as tpcc_load writes them: what is drawn, and what is the same in all.

use flatwater_core::workload::tpcc::population::{
    Address, Customer, District, History, Item, LOADED_AT, NewOrder, Order, OrderLine, Stock, Warehouse,
};

use crate::database::load::Row;

/// Writes a row of `item`.
pub(super) fn write_item(item: Item, row: &mut Row) {
    row.int(item.id.into());
    row.int(item.image.into());
    row.text(item.name.as_bytes());
    row.decimal(item.price_cents.into(), 2);
    row.text(item.data.as_bytes());
}

/// Writes a row of `warehouse`.
pub(super) fn write_warehouse(warehouse: Warehouse, row: &mut Row) {
    row.int(warehouse.id.into());
    row.text(warehouse.name.as_bytes());
    write_address(&warehouse.address, row);
    row.decimal(warehouse.tax_cents.into(), 2);
    row.decimal(30_000_000, 2);
}

/// Writes a row of `district`.
pub(super) fn write_district(district: District, row: &mut Row) {
    row.int(district.id.into());
    row.int(district.warehouse.into());
    row.text(district.name.as_bytes());
    write_address(&district.address, row);
    row.decimal(district.tax_cents.into(), 2);
    row.decimal(3_000_000, 2);
    row.int(3001);
}

/// Writes a row of `stock`.
pub(super) fn write_stock(stock: Stock, row: &mut Row) {
    row.int(stock.item.into());
    row.int(stock.warehouse.into());
    row.int(stock.quantity.into());
    stock.districts.iter().for_each(|info| row.text(info));
    (0..3).for_each(|_| row.int(0));
    row.text(stock.data.as_bytes());
}

/// Writes a row of `customer`.
pub(super) fn write_customer(customer: Customer, row: &mut Row) {
    row.int(customer.id.into());
    row.int(customer.district.into());
    row.int(customer.warehouse.into());
    row.text(customer.first.as_bytes());
    row.text(b"OE");
    row.text(customer.last.as_bytes());
    write_address(&customer.address, row);
    row.text(customer.phone.as_bytes());
    row.datetime(LOADED_AT);
    row.text(if customer.bad_credit { b"BC" } else { b"GC" });
    row.int(50_000);
    row.decimal(customer.discount_cents.into(), 2);
    row.decimal(-1_000, 2);
    row.decimal(1_000, 2);
    row.int(1);
    row.int(0);
    row.text(customer.data.as_bytes());
}

/// Writes a row of `history`.
pub(super) fn write_history(history: History, row: &mut Row) {
    row.int(history.customer.into());
    row.int(history.district.into());
    row.int(history.warehouse.into());
    row.int(history.district.into());
    row.int(history.warehouse.into());
    row.datetime(LOADED_AT);
    row.decimal(1_000, 2);
    row.text(history.data.as_bytes());
}

/// Writes a row of `orders`.
pub(super) fn write_order(order: Order, row: &mut Row) {
    row.int(order.id.into());
    row.int(order.district.into());
    row.int(order.warehouse.into());
    row.int(order.customer.into());
    row.datetime(LOADED_AT);
    match order.carrier {
        Some(carrier) => row.int(carrier.into()),
        None => row.null(),
    }
    row.int(order.lines.into());
    row.int(1);
}

/// Writes a row of `new_orders`.
pub(super) fn write_new_order(order: NewOrder, row: &mut Row) {
    row.int(order.order.into());
    row.int(order.district.into());
    row.int(order.warehouse.into());
}

/// Writes a row of `order_line`.
pub(super) fn write_order_line(line: OrderLine, row: &mut Row) {
    row.int(line.order.into());
    row.int(line.district.into());
    row.int(line.warehouse.into());
    row.int(line.number.into());
    row.int(line.item.into());
    row.int(line.warehouse.into());
    if line.delivered {
        row.datetime(LOADED_AT)
    } else {
        row.null()
    }
    row.int(5);
    row.decimal(line.amount_cents.into(), 2);
    row.text(&line.info);
}

fn write_address(address: &Address, row: &mut Row) {
    row.text(address.street_1.as_bytes());
    row.text(address.street_2.as_bytes());
    row.text(address.city.as_bytes());
    row.text(address.state.as_bytes());
    row.text(address.zip.as_bytes());
}
