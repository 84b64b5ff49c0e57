//! New-Order.

use flatwater_core::workload::tpcc::inputs::{Line, NewOrder, UNUSED_ITEM};

use super::session::{LINES, Session, Sql, cents, commit, int, missing, roll_back};
use super::text::Decimal;
use crate::database::connection::{Connection, Rows, SqlError, Value};
use crate::database::terminal::Outcome;

/// What a New-Order reads.
#[derive(Default)]
pub struct Order {
    /// The customer's discount, hundredths.
    pub discount: i64,
    /// The warehouse's tax, hundredths.
    pub warehouse_tax: i64,
    /// The district's tax, hundredths.
    pub district_tax: i64,
    /// The order's number.
    pub id: i64,
    /// What was read for each line.
    pub lines: [OrderLine; LINES],
    /// The first line whose item does not exist.
    pub missing: Option<usize>,
}

/// What a New-Order reads for one line.
#[derive(Clone, Copy, Default)]
pub struct OrderLine {
    /// Hundredths.
    pub price: i64,
    /// Before this line takes its share.
    pub stock: i64,
    /// What stock says of the district.
    pub info: [u8; 24],
}

impl Order {
    /// Runs the transaction.
    pub(super) fn run(
        &mut self,
        session: &mut Session,
        connection: &mut Connection,
        input: &NewOrder,
    ) -> Result<Outcome, SqlError> {
        let lines = input.lines();
        let now = session.now();
        self.missing = None;
        if session.is_pipelined() {
            self.heads_and_items(session, connection, input, lines.len())?;
            // tpcc-mysql finds the item that does not exist when it has done all lines before it. So do we, that both
            // make the server do and take back the same work.
            let good = self.missing.unwrap_or(lines.len());
            self.inserts_and_stock(session, connection, input, &now, good)?;
            self.settle_stock(&lines[..good]);
            self.write_lines(session, connection, input, 0..good)?;
        } else {
            self.heads_and_items(session, connection, input, 0)?;
            self.inserts_and_stock(session, connection, input, &now, 0)?;
            for (at, line) in lines.iter().enumerate() {
                session.round(
                    connection,
                    self,
                    1,
                    |_, connection, _| queue_item(session, connection, line),
                    |own, rows, _, _| own.read_item(rows, line, at),
                )?;
                if self.missing.is_some() {
                    break;
                }
                session.round(
                    connection,
                    self,
                    1,
                    |_, connection, _| queue_stock(session, connection, line),
                    |own, rows, _, _| own.read_stock(rows, input, at),
                )?;
                self.write_lines(session, connection, input, at..at + 1)?;
            }
        }
        if self.missing.is_some() {
            return roll_back(connection, Outcome::RolledBack);
        }
        commit(connection)
    }

    /// Customer and warehouse, district, and the first `items` items.
    fn heads_and_items(
        &mut self,
        session: &Session,
        connection: &mut Connection,
        input: &NewOrder,
        items: usize,
    ) -> Result<(), SqlError> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        let lines = input.lines();
        session.round(
            connection,
            self,
            2 + items,
            |_, connection, step| match step {
                0 => {
                    let values = [warehouse, district, int(input.customer)];
                    connection.queue_execute(session.statement(Sql::CustomerAndWarehouse), &values);
                }
                1 => connection.queue_execute(session.statement(Sql::NextOrderForUpdate), &[district, warehouse]),
                _ => queue_item(session, connection, &lines[step - 2]),
            },
            |own, rows, _, step| {
                match step {
                    0 => {
                        let read = || Some((cents(rows, 0, 0)?, cents(rows, 0, 3)?));
                        (own.discount, own.warehouse_tax) = read().ok_or_else(|| missing("a customer"))?;
                    }
                    1 => {
                        let read = || Some((rows.int(0, 0)?, cents(rows, 0, 1)?));
                        (own.id, own.district_tax) = read().ok_or_else(|| missing("a district"))?;
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
        session: &Session,
        connection: &mut Connection,
        input: &NewOrder,
        now: &[u8; 19],
        stock: usize,
    ) -> Result<(), SqlError> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        let id = Value::Int(self.id);
        let lines = input.lines();
        session.round(
            connection,
            self,
            3 + stock,
            |_, connection, step| match step {
                0 => connection.queue_execute(session.statement(Sql::RaiseNextOrder), &[id, district, warehouse]),
                1 => {
                    let (count, all_local) = (Value::Int(lines.len() as i64), Value::Int(input.all_local().into()));
                    let customer = int(input.customer);
                    let values = [id, district, warehouse, customer, Value::Bytes(now), count, all_local];
                    connection.queue_execute(session.statement(Sql::InsertOrder), &values);
                }
                2 => connection.queue_execute(session.statement(Sql::InsertNewOrder), &[id, district, warehouse]),
                _ => queue_stock(session, connection, &lines[step - 3]),
            },
            |own, rows, _, step| if step < 3 { Ok(()) } else { own.read_stock(rows, input, step - 3) },
        )
    }

    fn read_item(&mut self, rows: &Rows, line: &Line, at: usize) -> Result<(), SqlError> {
        match cents(rows, 0, 0) {
            Some(price) => self.lines[at].price = price,
            None if line.item == UNUSED_ITEM => self.missing = self.missing.or(Some(at)),
            None => return Err(missing("an item")),
        }
        Ok(())
    }

    fn read_stock(&mut self, rows: &Rows, input: &NewOrder, at: usize) -> Result<(), SqlError> {
        let line = &mut self.lines[at];
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
        let read = &mut self.lines;
        for at in 1..lines.len() {
            if (lines[at].item, lines[at].supplier) == (lines[at - 1].item, lines[at - 1].supplier) {
                read[at].stock = left(read[at - 1].stock, lines[at - 1].quantity);
            }
        }
    }

    /// Stock and order lines, line by line.
    fn write_lines(
        &mut self,
        session: &Session,
        connection: &mut Connection,
        input: &NewOrder,
        range: std::ops::Range<usize>,
    ) -> Result<(), SqlError> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        let first = range.start;
        session.round(
            connection,
            self,
            2 * range.len(),
            |own, connection, step| {
                let at = first + step / 2;
                let (line, read) = (&input.lines()[at], &own.lines[at]);
                let (item, supplier) = (int(line.item), int(line.supplier));
                if step % 2 == 0 {
                    let stock = Value::Int(left(read.stock, line.quantity));
                    connection.queue_execute(session.statement(Sql::SetStock), &[stock, item, supplier]);
                    return;
                }
                let amount = Decimal::new(amount(own, read, line));
                let values = [
                    Value::Int(own.id),
                    district,
                    warehouse,
                    Value::Int(at as i64 + 1),
                    item,
                    supplier,
                    int(line.quantity),
                    Value::Bytes(amount.as_bytes()),
                    Value::Bytes(&read.info),
                ];
                connection.queue_execute(session.statement(Sql::InsertLine), &values);
            },
            |_, _, _, _| Ok(()),
        )
    }
}

fn queue_item(session: &Session, connection: &mut Connection, line: &Line) {
    connection.queue_execute(session.statement(Sql::Item), &[int(line.item)]);
}

fn queue_stock(session: &Session, connection: &mut Connection, line: &Line) {
    connection.queue_execute(session.statement(Sql::StockForUpdate), &[int(line.item), int(line.supplier)]);
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
        let mut order = Order::default();
        for read in &mut order.lines {
            read.stock = 12;
        }
        order.settle_stock(&lines);
        let found: Vec<i64> = order.lines[..lines.len()].iter().map(|read| read.stock).collect();
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
}
