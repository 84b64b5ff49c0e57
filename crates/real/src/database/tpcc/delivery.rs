//! Delivery.

use flatwater_core::workload::tpcc::inputs::Delivery;

use super::session::{DISTRICTS, Session, Sql, cents, commit, int, missing, roll_back};
use super::text::Decimal;
use crate::database::connection::{Connection, SqlError, Value};
use crate::database::terminal::Outcome;

/// Statements of a district between the first and the last.
const MIDDLE: [Sql; 5] =
    [Sql::DeleteNewOrder, Sql::OrderCustomer, Sql::SetCarrier, Sql::SetDeliveryDate, Sql::SumLines];

/// What a Delivery reads of each district.
#[derive(Default)]
pub struct Deliveries {
    /// The first district that is not delivered and committed yet.
    next: usize,
    districts: [Delivered; DISTRICTS],
}

/// What a Delivery reads of one district.
#[derive(Clone, Copy, Default)]
pub struct Delivered {
    /// 0 when there is none to deliver.
    pub order: i64,
    /// Whose order it is.
    pub customer: i64,
    /// Hundredths.
    pub amount: i64,
    /// Another Delivery took the order.
    pub taken: bool,
}

impl Deliveries {
    /// A new transaction begins: no district is delivered yet.
    pub(super) fn begin(&mut self) {
        self.next = 0;
    }

    /// Runs the transaction. tpcc-mysql commits each district; so does a session that is not pipelined. What was committed is not delivered
    /// again when a later district has to be tried anew.
    pub(super) fn run(
        &mut self,
        session: &mut Session,
        connection: &mut Connection,
        input: &Delivery,
    ) -> Result<Outcome, SqlError> {
        let now = session.now();
        while self.next < DISTRICTS {
            let until = if session.is_pipelined() { DISTRICTS } else { self.next + 1 };
            if !self.deliver(session, connection, input, &now, until)? {
                return roll_back(connection, Outcome::Conflict);
            }
            commit(connection)?;
            self.next = until;
        }
        Ok(Outcome::Committed)
    }

    /// Delivers the districts from the next one to `until`; false when another Delivery took an order of theirs.
    fn deliver(
        &mut self,
        session: &Session,
        connection: &mut Connection,
        input: &Delivery,
        now: &[u8; 19],
        until: usize,
    ) -> Result<bool, SqlError> {
        let first = self.next;
        let warehouse = int(input.warehouse);
        let district = |place: usize| Value::Int(place as i64 + 1);
        session.round(
            connection,
            self,
            until - first,
            |_, connection, step| {
                let values = [district(first + step), warehouse];
                connection.queue_execute(session.statement(Sql::OldestNewOrder), &values);
            },
            |own, rows, _, step| {
                let order = rows.int(0, 0).ok_or_else(|| missing("the oldest new order"))?;
                own.districts[first + step] = Delivered { order, ..Delivered::default() };
                Ok(())
            },
        )?;
        let mut places = [0; DISTRICTS];
        let mut count = 0;
        for place in first..until {
            if self.districts[place].order != 0 {
                places[count] = place;
                count += 1;
            }
        }
        let places = &places[..count];
        session.round(
            connection,
            self,
            MIDDLE.len() * places.len(),
            |own, connection, step| {
                let (place, sql) = (places[step / MIDDLE.len()], MIDDLE[step % MIDDLE.len()]);
                let key = [Value::Int(own.districts[place].order), district(place), warehouse];
                let set = match sql {
                    Sql::SetCarrier => int(input.carrier),
                    Sql::SetDeliveryDate => Value::Bytes(now),
                    _ => return connection.queue_execute(session.statement(sql), &key),
                };
                connection.queue_execute(session.statement(sql), &[set, key[0], key[1], key[2]]);
            },
            |own, rows, changed, step| {
                let delivered = &mut own.districts[places[step / MIDDLE.len()]];
                match MIDDLE[step % MIDDLE.len()] {
                    Sql::DeleteNewOrder => delivered.taken = changed == 0,
                    Sql::OrderCustomer => delivered.customer = rows.int(0, 0).ok_or_else(|| missing("an order"))?,
                    Sql::SumLines => delivered.amount = cents(rows, 0, 0).ok_or_else(|| missing("an order line"))?,
                    _ => {}
                }
                Ok(())
            },
        )?;
        if self.districts[first..until].iter().any(|delivered| delivered.taken) {
            return Ok(false);
        }
        session.round(
            connection,
            self,
            places.len(),
            |own, connection, step| {
                let delivered = &own.districts[places[step]];
                let amount = Decimal::new(delivered.amount);
                let (amount, customer) = (Value::Bytes(amount.as_bytes()), Value::Int(delivered.customer));
                let values = [amount, customer, district(places[step]), warehouse];
                connection.queue_execute(session.statement(Sql::AddToBalance), &values);
            },
            |_, _, _, _| Ok(()),
        )?;
        Ok(true)
    }
}
