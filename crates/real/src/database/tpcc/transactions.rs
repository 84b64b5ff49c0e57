//! The five transactions: tpcc-mysql's statements in its order; in pipelined sessions in as few rounds as the replies
//! that they need allow.
//!
//! What tpcc-mysql computes wrongly is done right, where the statements allow it: money is decimal and not a float, the
//! data of customers with bad credit changes (it sends them their old data), an order that another Delivery took is not
//! delivered twice.

use std::io::Write as _;

use flatwater_core::workload::tpcc::inputs::{Customer, Delivery, Line, NewOrder, Payment, StockLevel, UNUSED_ITEM};

use super::session::{DISTRICTS, Delivered, Order, OrderLine, Session, Sql, missing};
use super::text::{Decimal, hundredths};
use crate::database::connection::{Connection, Rows, SqlError, Value};
use crate::database::terminal::Outcome;

/// The longest C_DATA (clause 2.5.2.2).
const CUSTOMER_DATA_BYTES: usize = 500;

fn int(value: u32) -> Value<'static> {
    Value::Int(value.into())
}

fn commit(connection: &mut Connection) -> Result<Outcome, SqlError> {
    connection.query("COMMIT").map(|_| Outcome::Committed)
}

fn roll_back(connection: &mut Connection, outcome: Outcome) -> Result<Outcome, SqlError> {
    connection.query("ROLLBACK").map(|_| outcome)
}

fn cents(rows: &Rows, row: usize, column: usize) -> Option<i64> {
    hundredths(rows.bytes(row, column)?)
}

impl Session {
    pub(super) fn new_order(&mut self, connection: &mut Connection, input: &NewOrder) -> Result<Outcome, SqlError> {
        let lines = input.lines();
        let now = self.clock.now();
        self.order.missing = None;
        if self.pipeline {
            self.heads_and_items(connection, input, lines.len())?;
            // tpcc-mysql finds the item that does not exist when it has done all lines before it. So do we, that both
            // make the server do and take back the same work.
            let good = self.order.missing.unwrap_or(lines.len());
            self.inserts_and_stock(connection, input, &now, good)?;
            self.settle_stock(&lines[..good]);
            self.write_lines(connection, input, 0..good)?;
        } else {
            self.heads_and_items(connection, input, 0)?;
            self.inserts_and_stock(connection, input, &now, 0)?;
            for at in 0..lines.len() {
                self.round(
                    connection,
                    1,
                    |own, connection, _| own.queue_item(connection, &lines[at]),
                    |own, rows, _, _| own.read_item(rows, &lines[at], at),
                )?;
                if self.order.missing.is_some() {
                    break;
                }
                self.round(
                    connection,
                    1,
                    |own, connection, _| own.queue_stock(connection, &lines[at]),
                    |own, rows, _, _| own.read_stock(rows, input, at),
                )?;
                self.write_lines(connection, input, at..at + 1)?;
            }
        }
        if self.order.missing.is_some() {
            return roll_back(connection, Outcome::RolledBack);
        }
        commit(connection)
    }

    /// Customer and warehouse, district, and the first `items` items.
    fn heads_and_items(&mut self, connection: &mut Connection, input: &NewOrder, items: usize) -> Result<(), SqlError> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        let lines = input.lines();
        self.round(
            connection,
            2 + items,
            |own, connection, step| match step {
                0 => {
                    let values = [warehouse, district, int(input.customer)];
                    connection.queue_execute(own.statement(Sql::CustomerAndWarehouse), &values);
                }
                1 => connection.queue_execute(own.statement(Sql::NextOrderForUpdate), &[district, warehouse]),
                _ => own.queue_item(connection, &lines[step - 2]),
            },
            |own, rows, _, step| {
                let order = &mut own.order;
                match step {
                    0 => {
                        let read = || Some((cents(rows, 0, 0)?, cents(rows, 0, 3)?));
                        (order.discount, order.warehouse_tax) = read().ok_or_else(|| missing("a customer"))?;
                    }
                    1 => {
                        let read = || Some((rows.int(0, 0)?, cents(rows, 0, 1)?));
                        (order.id, order.district_tax) = read().ok_or_else(|| missing("a district"))?;
                    }
                    _ => own.read_item(rows, &lines[step - 2], step - 2)?,
                }
                Ok(())
            },
        )
    }

    /// The order itself, and stock of the first `stock` lines.
    fn inserts_and_stock(
        &mut self,
        connection: &mut Connection,
        input: &NewOrder,
        now: &[u8; 19],
        stock: usize,
    ) -> Result<(), SqlError> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        let id = Value::Int(self.order.id);
        let lines = input.lines();
        self.round(
            connection,
            3 + stock,
            |own, connection, step| match step {
                0 => connection.queue_execute(own.statement(Sql::RaiseNextOrder), &[id, district, warehouse]),
                1 => {
                    let (count, all_local) = (Value::Int(lines.len() as i64), Value::Int(input.all_local().into()));
                    let customer = int(input.customer);
                    let values = [id, district, warehouse, customer, Value::Bytes(now), count, all_local];
                    connection.queue_execute(own.statement(Sql::InsertOrder), &values);
                }
                2 => connection.queue_execute(own.statement(Sql::InsertNewOrder), &[id, district, warehouse]),
                _ => own.queue_stock(connection, &lines[step - 3]),
            },
            |own, rows, _, step| if step < 3 { Ok(()) } else { own.read_stock(rows, input, step - 3) },
        )
    }

    fn queue_item(&self, connection: &mut Connection, line: &Line) {
        connection.queue_execute(self.statement(Sql::Item), &[int(line.item)]);
    }

    fn read_item(&mut self, rows: &Rows, line: &Line, at: usize) -> Result<(), SqlError> {
        match cents(rows, 0, 0) {
            Some(price) => self.order.lines[at].price = price,
            None if line.item == UNUSED_ITEM => self.order.missing = self.order.missing.or(Some(at)),
            None => return Err(missing("an item")),
        }
        Ok(())
    }

    fn queue_stock(&self, connection: &mut Connection, line: &Line) {
        connection.queue_execute(self.statement(Sql::StockForUpdate), &[int(line.item), int(line.supplier)]);
    }

    fn read_stock(&mut self, rows: &Rows, input: &NewOrder, at: usize) -> Result<(), SqlError> {
        let line = &mut self.order.lines[at];
        line.stock = rows.int(0, 0).ok_or_else(|| missing("stock"))?;
        // A CHAR(24) comes without the spaces at its end.
        line.info = [b' '; 24];
        let info = rows.bytes(0, 1 + input.district as usize).ok_or_else(|| missing("stock"))?;
        let n = info.len().min(line.info.len());
        line.info[..n].copy_from_slice(&info[..n]);
        Ok(())
    }

    /// Where an order has the same item twice, the second line finds what the first one left. Lines are sorted, so that
    /// the two are neighbours.
    fn settle_stock(&mut self, lines: &[Line]) {
        let read = &mut self.order.lines;
        for at in 1..lines.len() {
            if (lines[at].item, lines[at].supplier) == (lines[at - 1].item, lines[at - 1].supplier) {
                read[at].stock = left(read[at - 1].stock, lines[at - 1].quantity);
            }
        }
    }

    /// Stock and order lines, line by line.
    fn write_lines(
        &mut self,
        connection: &mut Connection,
        input: &NewOrder,
        range: std::ops::Range<usize>,
    ) -> Result<(), SqlError> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        let first = range.start;
        self.round(
            connection,
            2 * range.len(),
            |own, connection, step| {
                let at = first + step / 2;
                let (line, read) = (&input.lines()[at], &own.order.lines[at]);
                let (item, supplier) = (int(line.item), int(line.supplier));
                if step % 2 == 0 {
                    let stock = Value::Int(left(read.stock, line.quantity));
                    connection.queue_execute(own.statement(Sql::SetStock), &[stock, item, supplier]);
                    return;
                }
                let amount = Decimal::new(amount(&own.order, read, line));
                let values = [
                    Value::Int(own.order.id),
                    district,
                    warehouse,
                    Value::Int(at as i64 + 1),
                    item,
                    supplier,
                    int(line.quantity),
                    Value::Bytes(amount.as_bytes()),
                    Value::Bytes(&read.info),
                ];
                connection.queue_execute(own.statement(Sql::InsertLine), &values);
            },
            |_, _, _, _| Ok(()),
        )
    }

    pub(super) fn payment(&mut self, connection: &mut Connection, input: &Payment) -> Result<Outcome, SqlError> {
        let now = self.clock.now();
        self.payer.number = input.customer.number.into();
        self.pay(connection, input)?;
        if input.customer.last.is_some() {
            self.lock_payer(connection, &input.customer)?;
        }
        self.payer.balance -= i64::from(input.amount_cents);
        if self.payer.bad_credit {
            self.change_data(connection, input)?;
        }
        let amount = Decimal::new(input.amount_cents.into());
        let (of_warehouse, of_district) = (int(input.customer.warehouse), int(input.customer.district));
        self.round(
            connection,
            2,
            |own, connection, step| {
                let payer = &own.payer;
                let number = Value::Int(payer.number);
                let balance = Decimal::new(payer.balance);
                let balance = Value::Bytes(balance.as_bytes());
                if step == 1 {
                    let (warehouse, district) = (int(input.warehouse), int(input.district));
                    let (amount, told) = (Value::Bytes(amount.as_bytes()), Value::Bytes(&payer.history));
                    let values =
                        [of_district, of_warehouse, number, district, warehouse, Value::Bytes(&now), amount, told];
                    connection.queue_execute(own.statement(Sql::InsertHistory), &values);
                } else if payer.bad_credit {
                    let values = [balance, Value::Bytes(&payer.data), of_warehouse, of_district, number];
                    connection.queue_execute(own.statement(Sql::SetBalanceAndData), &values);
                } else {
                    let values = [balance, of_warehouse, of_district, number];
                    connection.queue_execute(own.statement(Sql::SetBalance), &values);
                }
            },
            |_, _, _, _| Ok(()),
        )?;
        commit(connection)
    }

    /// Warehouse and district take the money; the customer is looked for by name, or locked by number.
    fn pay(&mut self, connection: &mut Connection, input: &Payment) -> Result<(), SqlError> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        let amount = Decimal::new(input.amount_cents.into());
        let amount = Value::Bytes(amount.as_bytes());
        let customer = &input.customer;
        let (of_warehouse, of_district) = (int(customer.warehouse), int(customer.district));
        let steps = if customer.last.is_some() { 6 } else { 5 };
        self.round(
            connection,
            steps,
            |own, connection, step| {
                let sql = |sql| own.statement(sql);
                match (step, &customer.last) {
                    (0, _) => connection.queue_execute(sql(Sql::PayWarehouse), &[amount, warehouse]),
                    (1, _) => connection.queue_execute(sql(Sql::Warehouse), &[warehouse]),
                    (2, _) => connection.queue_execute(sql(Sql::PayDistrict), &[amount, warehouse, district]),
                    (3, _) => connection.queue_execute(sql(Sql::District), &[warehouse, district]),
                    (4, None) => own.queue_payer(connection, customer),
                    (_, Some(last)) => {
                        let by_name = if step == 4 { Sql::CountByName } else { Sql::NumbersByName };
                        let values = [of_warehouse, of_district, Value::Bytes(last.as_bytes())];
                        connection.queue_execute(sql(by_name), &values);
                    }
                    (_, None) => unreachable!("a customer by number takes five steps"),
                }
            },
            |own, rows, _, step| {
                let payer = &mut own.payer;
                match (step, customer.last.is_some()) {
                    (1, _) => {
                        payer.history.clear();
                        payer.history.extend_from_slice(rows.bytes(0, 5).ok_or_else(|| missing("a warehouse"))?);
                    }
                    (3, _) => {
                        payer.history.extend_from_slice(b"    ");
                        payer.history.extend_from_slice(rows.bytes(0, 5).ok_or_else(|| missing("a district"))?);
                    }
                    (4, false) => own.read_payer(rows)?,
                    (5, true) => {
                        if let Some(number) = rows.int(middle(rows.len()), 0) {
                            payer.number = number;
                        }
                    }
                    _ => {}
                }
                Ok(())
            },
        )
    }

    fn lock_payer(&mut self, connection: &mut Connection, customer: &Customer) -> Result<(), SqlError> {
        self.round(
            connection,
            1,
            |own, connection, _| own.queue_payer(connection, customer),
            |own, rows, _, _| own.read_payer(rows),
        )
    }

    fn queue_payer(&self, connection: &mut Connection, customer: &Customer) {
        let values = [int(customer.warehouse), int(customer.district), Value::Int(self.payer.number)];
        connection.queue_execute(self.statement(Sql::CustomerForUpdate), &values);
    }

    fn read_payer(&mut self, rows: &Rows) -> Result<(), SqlError> {
        self.payer.bad_credit = rows.bytes(0, 9) == Some(b"BC");
        self.payer.balance = cents(rows, 0, 12).ok_or_else(|| missing("a customer"))?;
        Ok(())
    }

    /// What a customer with bad credit pays is written before its data (clause 2.5.2.2).
    fn change_data(&mut self, connection: &mut Connection, input: &Payment) -> Result<(), SqlError> {
        let Payment { warehouse, district, customer, amount_cents } = input;
        let data = &mut self.payer.data;
        data.clear();
        // Writing into a Vec cannot fail.
        let _ = write!(
            data,
            "| {:4} {:2} {:4} {district:2} {warehouse:4} ${:4}.{:02} ",
            self.payer.number,
            customer.district,
            customer.warehouse,
            amount_cents / 100,
            amount_cents % 100
        );
        self.round(
            connection,
            1,
            |own, connection, _| {
                let values = [int(customer.warehouse), int(customer.district), Value::Int(own.payer.number)];
                connection.queue_execute(own.statement(Sql::CustomerData), &values);
            },
            |own, rows, _, _| {
                let data = &mut own.payer.data;
                data.extend_from_slice(rows.bytes(0, 0).unwrap_or_default());
                data.truncate(CUSTOMER_DATA_BYTES);
                Ok(())
            },
        )
    }

    pub(super) fn order_status(&mut self, connection: &mut Connection, who: &Customer) -> Result<Outcome, SqlError> {
        let (warehouse, district, number) = (int(who.warehouse), int(who.district), int(who.number));
        let (mut order, asks) = (None, if who.last.is_some() { 2 } else { 1 });
        self.round(
            connection,
            asks + 1,
            |own, connection, step| match &who.last {
                _ if step == asks => {
                    let values = [warehouse, district, number, warehouse, district, number];
                    connection.queue_execute(own.statement(Sql::LastOrder), &values);
                }
                Some(last) => {
                    let sql = if step == 0 { Sql::StatusCountByName } else { Sql::StatusByName };
                    let values = [warehouse, district, Value::Bytes(last.as_bytes())];
                    connection.queue_execute(own.statement(sql), &values);
                }
                None => {
                    connection.queue_execute(own.statement(Sql::StatusByNumber), &[warehouse, district, number]);
                }
            },
            |_, rows, _, step| {
                if step == asks {
                    order = rows.int(0, 0);
                }
                Ok(())
            },
        )?;
        let order = Value::Int(order.ok_or_else(|| missing("a customer's order"))?);
        self.round(
            connection,
            1,
            |own, connection, _| {
                connection.queue_execute(own.statement(Sql::OrderLines), &[warehouse, district, order]);
            },
            |_, _, _, _| Ok(()),
        )?;
        commit(connection)
    }

    /// tpcc-mysql commits each district; so does a session that is not pipelined. What was committed is not delivered
    /// again when a later district has to be tried anew.
    pub(super) fn delivery(&mut self, connection: &mut Connection, input: &Delivery) -> Result<Outcome, SqlError> {
        let now = self.clock.now();
        while self.deliveries.next < DISTRICTS {
            let until = if self.pipeline { DISTRICTS } else { self.deliveries.next + 1 };
            if !self.deliver(connection, input, &now, until)? {
                return roll_back(connection, Outcome::Conflict);
            }
            commit(connection)?;
            self.deliveries.next = until;
        }
        Ok(Outcome::Committed)
    }

    /// Delivers the districts from the next one to `until`; false when another Delivery took an order of theirs.
    fn deliver(
        &mut self,
        connection: &mut Connection,
        input: &Delivery,
        now: &[u8; 19],
        until: usize,
    ) -> Result<bool, SqlError> {
        /// Statements of a district between the first and the last.
        const MIDDLE: [Sql; 5] =
            [Sql::DeleteNewOrder, Sql::OrderCustomer, Sql::SetCarrier, Sql::SetDeliveryDate, Sql::SumLines];
        let first = self.deliveries.next;
        let warehouse = int(input.warehouse);
        let district = |place: usize| Value::Int(place as i64 + 1);
        self.round(
            connection,
            until - first,
            |own, connection, step| {
                let values = [district(first + step), warehouse];
                connection.queue_execute(own.statement(Sql::OldestNewOrder), &values);
            },
            |own, rows, _, step| {
                let order = rows.int(0, 0).ok_or_else(|| missing("the oldest new order"))?;
                own.deliveries.districts[first + step] = Delivered { order, ..Delivered::default() };
                Ok(())
            },
        )?;
        let mut places = [0; DISTRICTS];
        let mut count = 0;
        for place in first..until {
            if self.deliveries.districts[place].order != 0 {
                places[count] = place;
                count += 1;
            }
        }
        let places = &places[..count];
        self.round(
            connection,
            MIDDLE.len() * places.len(),
            |own, connection, step| {
                let (place, sql) = (places[step / MIDDLE.len()], MIDDLE[step % MIDDLE.len()]);
                let key = [Value::Int(own.deliveries.districts[place].order), district(place), warehouse];
                let set = match sql {
                    Sql::SetCarrier => int(input.carrier),
                    Sql::SetDeliveryDate => Value::Bytes(now),
                    _ => return connection.queue_execute(own.statement(sql), &key),
                };
                connection.queue_execute(own.statement(sql), &[set, key[0], key[1], key[2]]);
            },
            |own, rows, changed, step| {
                let delivered = &mut own.deliveries.districts[places[step / MIDDLE.len()]];
                match MIDDLE[step % MIDDLE.len()] {
                    Sql::DeleteNewOrder => delivered.taken = changed == 0,
                    Sql::OrderCustomer => delivered.customer = rows.int(0, 0).ok_or_else(|| missing("an order"))?,
                    Sql::SumLines => delivered.amount = cents(rows, 0, 0).ok_or_else(|| missing("an order line"))?,
                    _ => {}
                }
                Ok(())
            },
        )?;
        if self.deliveries.districts[first..until].iter().any(|delivered| delivered.taken) {
            return Ok(false);
        }
        self.round(
            connection,
            places.len(),
            |own, connection, step| {
                let delivered = &own.deliveries.districts[places[step]];
                let amount = Decimal::new(delivered.amount);
                let (amount, customer) = (Value::Bytes(amount.as_bytes()), Value::Int(delivered.customer));
                let values = [amount, customer, district(places[step]), warehouse];
                connection.queue_execute(own.statement(Sql::AddToBalance), &values);
            },
            |_, _, _, _| Ok(()),
        )?;
        Ok(true)
    }

    pub(super) fn stock_level(&mut self, connection: &mut Connection, input: &StockLevel) -> Result<Outcome, SqlError> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        let mut next = None;
        self.round(
            connection,
            1,
            |own, connection, _| connection.queue_execute(own.statement(Sql::NextOrder), &[district, warehouse]),
            |_, rows, _, _| {
                next = rows.int(0, 0);
                Ok(())
            },
        )?;
        let next = Value::Int(next.ok_or_else(|| missing("a district"))?);
        self.round(
            connection,
            1,
            |own, connection, _| {
                connection.queue_execute(own.statement(Sql::RecentItems), &[warehouse, district, next, next]);
            },
            |own, rows, _, _| {
                own.items.clear();
                own.items.extend((0..rows.len()).filter_map(|row| rows.int(row, 0)));
                Ok(())
            },
        )?;
        self.round(
            connection,
            self.items.len(),
            |own, connection, step| {
                let values = [warehouse, Value::Int(own.items[step]), int(input.threshold)];
                connection.queue_execute(own.statement(Sql::CountLowStock), &values);
            },
            |_, _, _, _| Ok(()),
        )?;
        commit(connection)
    }
}

/// What is left of stock after a line took its share: it is filled up by 91 rather than emptied (tpcc-mysql keeps one
/// where the specification keeps ten).
fn left(stock: i64, quantity: u32) -> i64 {
    let quantity = i64::from(quantity);
    if stock > quantity { stock - quantity } else { stock - quantity + 91 }
}

/// quantity x price x (1 + taxes) x (1 - discount), in hundredths, rounded to the nearest, as tpcc-mysql writes it.
fn amount(order: &Order, read: &OrderLine, line: &Line) -> i64 {
    let taxed = i64::from(line.quantity) * read.price * (100 + order.warehouse_tax + order.district_tax);
    (taxed * (100 - order.discount) + 5_000) / 10_000
}

/// The row of `n` that is in the middle, counted up (clause 2.5.2.2).
fn middle(n: usize) -> usize {
    n.div_ceil(2).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_is_filled_up_and_not_emptied() {
        assert_eq!([left(10, 9), left(10, 10), left(3, 10), left(100, 1)], [1, 91, 84, 99]);
    }

    #[test]
    fn the_second_line_of_an_item_finds_what_the_first_left() {
        let line = |item, supplier, quantity| Line { item, supplier, quantity };
        let lines = [line(5, 1, 4), line(5, 1, 3), line(5, 1, 10), line(5, 2, 1), line(7, 2, 1)];
        let mut session = Session::new(true);
        for read in &mut session.order.lines {
            read.stock = 12;
        }
        session.settle_stock(&lines);
        let found: Vec<i64> = session.order.lines[..lines.len()].iter().map(|read| read.stock).collect();
        assert_eq!(found, [12, 8, 5, 12, 12]);
    }

    #[test]
    fn amounts_are_rounded_to_the_nearest() {
        let order = Order { discount: 12, warehouse_tax: 7, district_tax: 19, ..Order::default() };
        let read = OrderLine { price: 9_999, ..OrderLine::default() };
        let line = Line { item: 1, supplier: 1, quantity: 7 };
        // 7 x 99.99 x 1.26 x 0.88 = 776.082384
        assert_eq!(amount(&order, &read, &line), 77_608);
        let free = Order { discount: 50, ..Order::default() };
        let cheap = OrderLine { price: 101, ..OrderLine::default() };
        // 0.505
        assert_eq!(amount(&free, &cheap, &Line { quantity: 1, ..line }), 51);
    }

    #[test]
    fn the_middle_is_counted_up() {
        assert_eq!([1, 2, 3, 4, 5].map(middle), [0, 0, 1, 1, 2]);
        assert_eq!(middle(0), 0);
    }
}
