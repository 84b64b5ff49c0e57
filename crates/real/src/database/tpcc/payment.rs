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
    pub number: i64,
    /// Hundredths.
    pub balance: i64,
    pub bad_credit: bool,
    /// Name of the warehouse, four spaces, name of the district.
    pub history: Vec<u8>,
    /// The customer's data.
    pub data: Vec<u8>,
}

impl Session {
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
