//! Payment.

use std::io::Write as _;

use flatwater_core::workload::tpcc::inputs::{Customer, Payment};

use super::session::{Session, Sql, cents, commit, int, missing};
use super::text::Decimal;
use crate::database::connection::{Connection, Rows, SqlError, Value};
use crate::database::terminal::Outcome;

/// The longest C_DATA (clause 2.5.2.2).
const CUSTOMER_DATA_BYTES: usize = 500;

/// What a Payment reads.
#[derive(Default)]
pub struct Payer {
    /// The customer's number.
    pub number: i64,
    /// Hundredths.
    pub balance: i64,
    /// Whether its credit is bad: then its data change.
    pub bad_credit: bool,
    /// Name of the warehouse, four spaces, name of the district.
    pub history: Vec<u8>,
    /// The customer's data.
    pub data: Vec<u8>,
}

impl Payer {
    /// Runs the transaction.
    pub(super) fn run(
        &mut self,
        session: &mut Session,
        connection: &mut Connection,
        input: &Payment,
    ) -> Result<Outcome, SqlError> {
        let now = session.now();
        self.number = input.customer.number.into();
        self.pay(session, connection, input)?;
        if input.customer.last.is_some() {
            self.lock(session, connection, &input.customer)?;
        }
        self.balance -= i64::from(input.amount_cents);
        if self.bad_credit {
            self.change_data(session, connection, input)?;
        }
        let amount = Decimal::new(input.amount_cents.into());
        let (of_warehouse, of_district) = (int(input.customer.warehouse), int(input.customer.district));
        session.round(
            connection,
            self,
            2,
            |own, connection, step| {
                let number = Value::Int(own.number);
                let balance = Decimal::new(own.balance);
                let balance = Value::Bytes(balance.as_bytes());
                if step == 1 {
                    let (warehouse, district) = (int(input.warehouse), int(input.district));
                    let (amount, told) = (Value::Bytes(amount.as_bytes()), Value::Bytes(&own.history));
                    let values =
                        [of_district, of_warehouse, number, district, warehouse, Value::Bytes(&now), amount, told];
                    connection.queue_execute(session.statement(Sql::InsertHistory), &values);
                } else if own.bad_credit {
                    let values = [balance, Value::Bytes(&own.data), of_warehouse, of_district, number];
                    connection.queue_execute(session.statement(Sql::SetBalanceAndData), &values);
                } else {
                    let values = [balance, of_warehouse, of_district, number];
                    connection.queue_execute(session.statement(Sql::SetBalance), &values);
                }
            },
            |_, _, _, _| Ok(()),
        )?;
        commit(connection)
    }

    /// Warehouse and district take the money; the customer is looked for by name, or locked by number.
    fn pay(&mut self, session: &Session, connection: &mut Connection, input: &Payment) -> Result<(), SqlError> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        let amount = Decimal::new(input.amount_cents.into());
        let amount = Value::Bytes(amount.as_bytes());
        let customer = &input.customer;
        let (of_warehouse, of_district) = (int(customer.warehouse), int(customer.district));
        let steps = if customer.last.is_some() { 6 } else { 5 };
        session.round(
            connection,
            self,
            steps,
            |own, connection, step| {
                let sql = |sql| session.statement(sql);
                match (step, &customer.last) {
                    (0, _) => connection.queue_execute(sql(Sql::PayWarehouse), &[amount, warehouse]),
                    (1, _) => connection.queue_execute(sql(Sql::Warehouse), &[warehouse]),
                    (2, _) => connection.queue_execute(sql(Sql::PayDistrict), &[amount, warehouse, district]),
                    (3, _) => connection.queue_execute(sql(Sql::District), &[warehouse, district]),
                    (4, None) => own.queue(session, connection, customer),
                    (_, Some(last)) => {
                        let by_name = if step == 4 { Sql::CountByName } else { Sql::NumbersByName };
                        let values = [of_warehouse, of_district, Value::Bytes(last.as_bytes())];
                        connection.queue_execute(sql(by_name), &values);
                    }
                    (_, None) => unreachable!("a customer by number takes five steps"),
                }
            },
            |own, rows, _, step| {
                match (step, customer.last.is_some()) {
                    (1, _) => {
                        own.history.clear();
                        own.history.extend_from_slice(rows.bytes(0, 5).ok_or_else(|| missing("a warehouse"))?);
                    }
                    (3, _) => {
                        own.history.extend_from_slice(b"    ");
                        own.history.extend_from_slice(rows.bytes(0, 5).ok_or_else(|| missing("a district"))?);
                    }
                    (4, false) => own.read(rows)?,
                    (5, true) => {
                        if let Some(number) = rows.int(middle(rows.len()), 0) {
                            own.number = number;
                        }
                    }
                    _ => {}
                }
                Ok(())
            },
        )
    }

    fn lock(&mut self, session: &Session, connection: &mut Connection, customer: &Customer) -> Result<(), SqlError> {
        session.round(
            connection,
            self,
            1,
            |own, connection, _| own.queue(session, connection, customer),
            |own, rows, _, _| own.read(rows),
        )
    }

    fn queue(&self, session: &Session, connection: &mut Connection, customer: &Customer) {
        let values = [int(customer.warehouse), int(customer.district), Value::Int(self.number)];
        connection.queue_execute(session.statement(Sql::CustomerForUpdate), &values);
    }

    fn read(&mut self, rows: &Rows) -> Result<(), SqlError> {
        self.bad_credit = rows.bytes(0, 9) == Some(b"BC");
        self.balance = cents(rows, 0, 12).ok_or_else(|| missing("a customer"))?;
        Ok(())
    }

    /// What a customer with bad credit pays is written before its data (clause 2.5.2.2).
    fn change_data(&mut self, session: &Session, connection: &mut Connection, input: &Payment) -> Result<(), SqlError> {
        let Payment { warehouse, district, customer, amount_cents } = input;
        let data = &mut self.data;
        data.clear();
        // Writing into a Vec cannot fail.
        let _ = write!(
            data,
            "| {:4} {:2} {:4} {district:2} {warehouse:4} ${:4}.{:02} ",
            self.number,
            customer.district,
            customer.warehouse,
            amount_cents / 100,
            amount_cents % 100
        );
        session.round(
            connection,
            self,
            1,
            |own, connection, _| {
                let values = [int(customer.warehouse), int(customer.district), Value::Int(own.number)];
                connection.queue_execute(session.statement(Sql::CustomerData), &values);
            },
            |own, rows, _, _| {
                let data = &mut own.data;
                data.extend_from_slice(rows.bytes(0, 0).unwrap_or_default());
                data.truncate(CUSTOMER_DATA_BYTES);
                Ok(())
            },
        )
    }
}

/// The row of `n` that is in the middle, counted up (clause 2.5.2.2).
fn middle(n: usize) -> usize {
    n.div_ceil(2).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_counted_up() {
        assert_eq!([1, 2, 3, 4, 5].map(middle), [0, 0, 1, 1, 2]);
        assert_eq!(middle(0), 0);
    }
}
