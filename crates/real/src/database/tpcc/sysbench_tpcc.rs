//! TPC-C as Percona-Lab's sysbench-tpcc runs it: text statements one by one, on sets of tables.
//!
//! Its sessions do not check foreign keys, and commit by themselves only what they say. Its Stock-Level is one join, its
//! Delivery one transaction of ten districts, its Order-Status reads the lines of an early order.

mod tables;
mod transactions;

use flatwater_core::workload::tpcc::inputs::{Client, Input};

use crate::database::connection::{Connection, SqlError};
use crate::database::terminal::{Choice, Outcome, Terminal};

pub(super) use tables::{create, finish};
use transactions::Transaction;

/// One of sysbench's threads.
pub(super) struct SysbenchTpcc {
    client: Client,
    input: Option<(u32, Input)>,
}

impl SysbenchTpcc {
    /// A thread that draws like this client.
    pub(super) fn new(client: Client) -> Self {
        Self { client, input: None }
    }
}

impl Terminal for SysbenchTpcc {
    fn attach(&mut self, connection: &mut Connection) -> Result<(), SqlError> {
        connection.query("SET SESSION foreign_key_checks = 0, autocommit = 0").map(drop)
    }

    fn choose(&mut self) -> Choice {
        let input = self.client.next_input();
        let kind = input.1.kind();
        let (keying_ns, think_ns) = self.client.times_ns(kind);
        self.input = Some(input);
        Choice { kind, keying_ns, think_ns }
    }

    fn attempt(&mut self, connection: &mut Connection) -> Result<Outcome, SqlError> {
        let (set, input) = self.input.as_ref().expect("a transaction is chosen before it is attempted");
        let mut transaction = Transaction::new(connection, *set);
        match input {
            Input::NewOrder(order) => transaction.new_order(order),
            Input::Payment(payment) => transaction.payment(payment),
            Input::OrderStatus(customer) => transaction.order_status(customer),
            Input::Delivery(delivery) => transaction.delivery(delivery),
            Input::StockLevel(level) => transaction.stock_level(level),
        }
    }
}
