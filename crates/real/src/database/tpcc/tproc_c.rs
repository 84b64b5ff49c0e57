//! TPROC-C as HammerDB runs it on MySQL and MariaDB: one call of a stored procedure for each transaction, on its tables.
//!
//! A call and the question for what it told are sent together: one round trip. HammerDB sends three statements one by one: it
//! sets variables, executes the call, and asks for what it told.

mod procedures;
mod tables;

use flatwater_core::seed::splitmix;
use flatwater_core::workload::tpcc::inputs::{Client, Customer, Input};

use super::session::int;
use super::text::{Clock, Decimal};
use crate::database::connection::{Connection, SqlError, Statement, Value};
use crate::database::terminal::{Choice, Outcome, Terminal};

pub(super) use procedures::{check, procedures};
pub(super) use tables::create;

/// The calls, by the kind of transaction. Each tells into variables of the session, of which the first says how it ended.
const CALLS: [&str; 5] = [
    "CALL NEWORD(?, ?, ?, ?, ?, ?, @no_o_id, @no_discount, @no_last, @no_credit, @no_d_tax, @no_w_tax)",
    "CALL PAYMENT(?, ?, ?, ?, ?, ?, ?, ?, ?, @p_c_id, @p_last, @p_w_street_1, @p_w_street_2, @p_w_city, @p_w_state, \
     @p_w_zip, @p_d_street_1, @p_d_street_2, @p_d_city, @p_d_state, @p_d_zip, @p_first, @p_middle, @p_street_1, \
     @p_street_2, @p_city, @p_state, @p_zip, @p_phone, @p_since, @p_credit, @p_credit_lim, @p_discount, @p_balance, \
     @p_data)",
    "CALL OSTAT(?, ?, ?, ?, ?, @os_c_id, @os_last, @os_first, @os_middle, @os_balance, @os_o_id, @os_entry, \
     @os_carrier)",
    "CALL DELIVERY(?, ?, ?, @d_orders)",
    "CALL SLEV(?, ?, ?, @sl_low)",
];

/// The questions for what the calls told.
const TOLD: [&str; 5] = [
    "SELECT @no_o_id, @no_discount, @no_last, @no_credit, @no_d_tax, @no_w_tax",
    "SELECT @p_c_id, @p_last, @p_w_street_1, @p_w_street_2, @p_w_city, @p_w_state, @p_w_zip, @p_d_street_1, \
     @p_d_street_2, @p_d_city, @p_d_state, @p_d_zip, @p_first, @p_middle, @p_street_1, @p_street_2, @p_city, @p_state, \
     @p_zip, @p_phone, @p_since, @p_credit, @p_credit_lim, @p_discount, @p_balance, @p_data",
    "SELECT @os_c_id, @os_last, @os_first, @os_middle, @os_balance, @os_o_id, @os_entry, @os_carrier",
    "SELECT @d_orders",
    "SELECT @sl_low",
];

/// Seeds of a session's RAND() are less than this (`rand_seed1` in the servers' sources).
const RAND_SEEDS: u64 = 0x3fff_ffff;

/// One of HammerDB's virtual users.
pub(super) struct TprocC {
    client: Client,
    warehouses: u32,
    /// Of the draws that procedures make.
    seed: u64,
    calls: Vec<Statement>,
    input: Option<Input>,
    clock: Clock,
}

impl TprocC {
    /// A virtual user that draws like this client.
    pub(super) fn new(client: Client, warehouses: u32, seed: u64) -> Self {
        Self { client, warehouses, seed, calls: Vec::new(), input: None, clock: Clock::default() }
    }
}

/// How a procedure takes a customer: the number, whether it goes by the name, and the name.
fn chosen(customer: &Customer) -> [Value<'_>; 3] {
    match &customer.last {
        Some(last) => [int(customer.number), Value::Int(1), Value::Bytes(last.as_bytes())],
        None => [int(customer.number), Value::Int(0), Value::Bytes(b"")],
    }
}

impl Terminal for TprocC {
    fn attach(&mut self, connection: &mut Connection) -> Result<(), SqlError> {
        // Each connection of a terminal goes on with other draws.
        self.seed = splitmix(self.seed);
        let (first, second) = (self.seed % RAND_SEEDS, (self.seed >> 32) % RAND_SEEDS);
        connection.query(&format!("SET SESSION autocommit = 0, rand_seed1 = {first}, rand_seed2 = {second}"))?;
        self.calls.clear();
        for sql in CALLS {
            self.calls.push(connection.prepare(sql)?);
        }
        Ok(())
    }

    fn choose(&mut self) -> Choice {
        let (_, input) = self.client.next_input();
        let kind = input.kind();
        let (keying_ns, think_ns) = self.client.times_ns(kind);
        self.input = Some(input);
        Choice { kind, keying_ns, think_ns }
    }

    fn attempt(&mut self, connection: &mut Connection) -> Result<Outcome, SqlError> {
        let now = self.clock.now();
        let now = Value::Bytes(&now);
        let input = self.input.as_ref().expect("a transaction is chosen before it is attempted");
        let call = &self.calls[input.kind()];
        match input {
            Input::NewOrder(order) => {
                let lines = Value::Int(order.lines().len() as i64);
                let (home, district, customer) = (int(order.warehouse), int(order.district), int(order.customer));
                connection.queue_execute(call, &[home, int(self.warehouses), district, customer, lines, now]);
            }
            Input::Payment(payment) => {
                let [number, by_name, last] = chosen(&payment.customer);
                let amount = Decimal::new(payment.amount_cents.into());
                let (of_warehouse, of_district) = (int(payment.customer.warehouse), int(payment.customer.district));
                let (home, district) = (int(payment.warehouse), int(payment.district));
                let amount = Value::Bytes(amount.as_bytes());
                let values = [home, district, of_warehouse, of_district, number, by_name, last, amount, now];
                connection.queue_execute(call, &values);
            }
            Input::OrderStatus(customer) => {
                let [number, by_name, last] = chosen(customer);
                let (home, district) = (int(customer.warehouse), int(customer.district));
                connection.queue_execute(call, &[home, district, number, by_name, last]);
            }
            Input::Delivery(delivery) => {
                connection.queue_execute(call, &[int(delivery.warehouse), int(delivery.carrier), now]);
            }
            Input::StockLevel(level) => {
                connection.queue_execute(call, &[int(level.warehouse), int(level.district), int(level.threshold)]);
            }
        }
        connection.queue_query(TOLD[input.kind()].as_bytes());
        let called = connection.reply();
        let told = connection.reply();
        called?;
        told?;
        // The number of the order is 0 where its last item does not exist.
        if matches!(input, Input::NewOrder(_)) && connection.rows().int(0, 0) == Some(0) {
            return Ok(Outcome::RolledBack);
        }
        Ok(Outcome::Committed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_what_the_call_tells() {
        for (call, told) in CALLS.iter().zip(TOLD) {
            let (_, outputs) = call.split_once('@').expect("it tells something");
            assert_eq!(format!("@{}", outputs.trim_end_matches(')')), told["SELECT ".len()..]);
        }
    }
}
