//! TPROC-C as HammerDB runs it on MySQL and MariaDB: one call of a stored procedure for each transaction, on its tables.
//!
//! Statements are text and go one by one, as HammerDB sends them: the values of arguments that the procedure changes, the
//! call, and the question for what it told. Pipelined, a transaction's statements are one round trip.

mod procedures;
mod tables;

use std::borrow::Cow;

use flatwater_core::seed::splitmix;
use flatwater_core::workload::tpcc::inputs::{Client, Customer, Input};

use super::text::{Clock, Decimal};
use crate::database::connection::{Connection, SqlError};
use crate::database::terminal::{Choice, Outcome, Terminal};

pub(super) use procedures::{check, procedures};
pub(super) use tables::create;

/// What a New-Order tells; the last is the number of the order.
const NEW_ORDER: &str = "@no_discount,@no_last,@no_credit,@no_d_tax,@no_w_tax,@no_o_id";
/// The place of that number among them.
const ORDER_NUMBER: usize = 5;
/// What a Payment tells beside the customer.
const PAYMENT: &str = "@p_w_street_1,@p_w_street_2,@p_w_city,@p_w_state,@p_w_zip,@p_d_street_1,@p_d_street_2,@p_d_city,\
    @p_d_state,@p_d_zip,@p_first,@p_middle,@p_street_1,@p_street_2,@p_city,@p_state,@p_zip,@p_phone,@p_since,@p_credit,\
    @p_credit_lim,@p_discount,@p_balance,@p_data";
/// What an Order-Status tells beside the customer.
const ORDER_STATUS: &str = "@os_first,@os_middle,@os_balance,@os_o_id,@os_entry,@os_carrier";
/// Seeds of a session's RAND() are less than this (`rand_seed1` in the servers' sources).
const RAND_SEEDS: u64 = 0x3fff_ffff;

/// One of HammerDB's virtual users.
pub(super) struct TprocC {
    client: Client,
    warehouses: u32,
    /// Of the draws that procedures make.
    seed: u64,
    is_pipelined: bool,
    input: Option<Input>,
    clock: Clock,
}

impl TprocC {
    /// A virtual user that draws like this client.
    pub(super) fn new(client: Client, warehouses: u32, seed: u64, is_pipelined: bool) -> Self {
        Self { client, warehouses, seed, is_pipelined, input: None, clock: Clock::default() }
    }
}

/// How a procedure takes a customer: the number, whether it goes by the name, and the name.
fn chosen(customer: &Customer) -> (u32, u8, Cow<'_, str>) {
    match &customer.last {
        // Syllables of the specification: it needs no escapes.
        Some(last) => (customer.number, 1, String::from_utf8_lossy(last.as_bytes())),
        None => (customer.number, 0, Cow::Borrowed("")),
    }
}

/// The statements of a transaction, in their order.
fn statements(input: &Input, warehouses: u32, now: &str) -> Vec<String> {
    match input {
        Input::NewOrder(order) => {
            let (home, district, customer) = (order.warehouse, order.district, order.customer);
            let lines = order.lines().len();
            vec![
                "SET @no_o_id = 0".to_owned(),
                format!("CALL NEWORD({home},{warehouses},{district},{customer},{lines},{NEW_ORDER},'{now}')"),
                format!("SELECT {NEW_ORDER}"),
            ]
        }
        Input::Payment(payment) => {
            let (home, district) = (payment.warehouse, payment.district);
            let (of_warehouse, of_district) = (payment.customer.warehouse, payment.customer.district);
            let (number, by_name, last) = chosen(&payment.customer);
            let amount = Decimal::new(payment.amount_cents.into());
            let amount = String::from_utf8_lossy(amount.as_bytes());
            vec![
                format!("SET @p_c_id = {number}, @p_last = '{last}', @p_credit = 0, @p_balance = 0"),
                format!(
                    "CALL PAYMENT({home},{district},{of_warehouse},{of_district},@p_c_id,{by_name},{amount},@p_last,\
                     {PAYMENT},'{now}')"
                ),
                format!("SELECT @p_c_id,@p_last,{PAYMENT}"),
            ]
        }
        Input::OrderStatus(customer) => {
            let (home, district) = (customer.warehouse, customer.district);
            let (number, by_name, last) = chosen(customer);
            vec![
                format!("SET @os_c_id = {number}, @os_last = '{last}'"),
                format!("CALL OSTAT({home},{district},@os_c_id,{by_name},@os_last,{ORDER_STATUS})"),
                format!("SELECT @os_c_id,@os_last,{ORDER_STATUS}"),
            ]
        }
        // It tells nothing.
        Input::Delivery(delivery) => {
            vec![format!("CALL DELIVERY({},{},'{now}')", delivery.warehouse, delivery.carrier)]
        }
        Input::StockLevel(level) => vec![
            format!("CALL SLEV({},{},{},@sl_low)", level.warehouse, level.district, level.threshold),
            "SELECT @sl_low".to_owned(),
        ],
    }
}

impl Terminal for TprocC {
    fn attach(&mut self, connection: &mut Connection) -> Result<(), SqlError> {
        // Each connection of a terminal goes on with other draws.
        self.seed = splitmix(self.seed);
        let (first, second) = (self.seed % RAND_SEEDS, (self.seed >> 32) % RAND_SEEDS);
        connection.query(&format!("SET SESSION autocommit = 0, rand_seed1 = {first}, rand_seed2 = {second}")).map(drop)
    }

    fn choose(&mut self) -> Choice {
        let (_, input) = self.client.next_input();
        let kind = input.kind();
        let (keying_ns, think_ns) = self.client.times_ns(kind);
        self.input = Some(input);
        Choice { kind, keying_ns, think_ns }
    }

    fn attempt(&mut self, connection: &mut Connection) -> Result<Outcome, SqlError> {
        let input = self.input.as_ref().expect("a transaction is chosen before it is attempted");
        let now = self.clock.now();
        let statements = statements(input, self.warehouses, &String::from_utf8_lossy(&now));
        if self.is_pipelined {
            for sql in &statements {
                connection.queue_query(sql.as_bytes());
            }
            // The last reply stays: its rows are what was told.
            connection.finish()?;
        } else {
            for sql in &statements {
                connection.query(sql)?;
            }
        }
        // The number of the order is 0 where its last item does not exist.
        if matches!(input, Input::NewOrder(_)) && connection.rows().int(0, ORDER_NUMBER) == Some(0) {
            return Ok(Outcome::RolledBack);
        }
        Ok(Outcome::Committed)
    }
}

#[cfg(test)]
mod tests {
    use flatwater_core::workload::tpcc::Variant;

    use super::*;

    const NOW: &str = "2026-11-26 07:00:00";

    #[test]
    fn each_call_is_between_what_it_is_given_and_what_is_asked() {
        let mut client = Client::new(Variant::TprocC { all_warehouses: false }, 3, false, 1, 0, 1);
        let mut seen = [0; 5];
        for _ in 0..1000 {
            let (_, input) = client.next_input();
            let sent = statements(&input, 3, NOW);
            let call = sent.iter().position(|sql| sql.starts_with("CALL ")).expect("a call");
            assert!(sent[..call].iter().all(|sql| sql.starts_with("SET @")));
            assert!(sent[call + 1..].iter().all(|sql| sql.starts_with("SELECT @")));
            // What is given and what is asked is an argument.
            let names = |sql: &str| {
                let names = sql.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_' && sign != '@');
                names.filter(|name| name.starts_with('@')).map(str::to_owned).collect::<Vec<_>>()
            };
            let arguments = names(&sent[call]);
            for sql in &sent {
                assert!(names(sql).iter().all(|name| arguments.contains(name)), "{sql}");
            }
            seen[input.kind()] = sent.len();
        }
        assert_eq!(seen, [3, 3, 3, 1, 2]);
    }

    #[test]
    fn the_number_of_an_order_is_asked_where_it_is_read() {
        assert_eq!(NEW_ORDER.split(',').nth(ORDER_NUMBER), Some("@no_o_id"));
    }
}
