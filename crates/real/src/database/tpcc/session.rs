//! tpcc-mysql's statements on one connection, and the two ways of sending a group of them.

use super::text::{Clock, hundredths};
use crate::database::connection::{Connection, Rows, SqlError, Statement, Value};
use crate::database::terminal::Outcome;

/// Lines of the longest order.
pub const LINES: usize = 15;
/// Districts of a warehouse.
pub const DISTRICTS: usize = 10;

/// tpcc-mysql's statements, byte for byte, in the order in which it prepares them.
const SQL: [&str; 35] = [
    // New-Order.
    "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
    "SELECT d_next_o_id, d_tax FROM district WHERE d_id = ? AND d_w_id = ? FOR UPDATE",
    "UPDATE district SET d_next_o_id = ? + 1 WHERE d_id = ? AND d_w_id = ?",
    "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES(?, ?, ?, ?, ?, ?, ?)",
    "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (?,?,?)",
    "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
    "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
    "UPDATE stock SET s_quantity = ? WHERE s_i_id = ? AND s_w_id = ?",
    "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    // Payment.
    "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
    "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id = ?",
    "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
    "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = ? AND d_id = ?",
    "SELECT count(c_id) FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?",
    "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
    "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
    "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    "UPDATE customer SET c_balance = ?, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    "UPDATE customer SET c_balance = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    "INSERT INTO history(h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
    // Order-Status.
    "SELECT count(c_id) FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?",
    "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
    "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    "SELECT o_id, o_entry_d, COALESCE(o_carrier_id,0) FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? AND o_id = (SELECT MAX(o_id) FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?)",
    "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    // Delivery.
    "SELECT COALESCE(MIN(no_o_id),0) FROM new_orders WHERE no_d_id = ? AND no_w_id = ?",
    "DELETE FROM new_orders WHERE no_o_id = ? AND no_d_id = ? AND no_w_id = ?",
    "SELECT o_c_id FROM orders WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?",
    "UPDATE orders SET o_carrier_id = ? WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?",
    "UPDATE order_line SET ol_delivery_d = ? WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?",
    "SELECT SUM(ol_amount) FROM order_line WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?",
    "UPDATE customer SET c_balance = c_balance + ? , c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = ? AND c_d_id = ? AND c_w_id = ?",
    // Stock-Level.
    "SELECT d_next_o_id FROM district WHERE d_id = ? AND d_w_id = ?",
    "SELECT DISTINCT ol_i_id FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= (? - 20)",
    "SELECT count(*) FROM stock WHERE s_w_id = ? AND s_i_id = ? AND s_quantity < ?",
];

/// Places of the statements in the list, named by what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sql {
    CustomerAndWarehouse,
    NextOrderForUpdate,
    RaiseNextOrder,
    InsertOrder,
    InsertNewOrder,
    Item,
    StockForUpdate,
    SetStock,
    InsertLine,
    PayWarehouse,
    Warehouse,
    PayDistrict,
    District,
    CountByName,
    NumbersByName,
    CustomerForUpdate,
    CustomerData,
    SetBalanceAndData,
    SetBalance,
    InsertHistory,
    StatusCountByName,
    StatusByName,
    StatusByNumber,
    LastOrder,
    OrderLines,
    OldestNewOrder,
    DeleteNewOrder,
    OrderCustomer,
    SetCarrier,
    SetDeliveryDate,
    SumLines,
    AddToBalance,
    NextOrder,
    RecentItems,
    CountLowStock,
}

/// What a terminal keeps of its connection, for all of its transactions.
pub struct Session {
    pipeline: bool,
    statements: Vec<Statement>,
    clock: Clock,
}

impl Session {
    /// A session without a connection.
    pub fn new(pipeline: bool) -> Self {
        Self { pipeline, statements: Vec::new(), clock: Clock::default() }
    }

    /// Whether statements that do not need each other's replies are sent back to back.
    pub(super) fn is_pipelined(&self) -> bool {
        self.pipeline
    }

    /// The date and time, as tpcc-mysql writes it.
    pub(super) fn now(&mut self) -> [u8; 19] {
        self.clock.now()
    }

    /// Prepares the statements of a new connection.
    pub fn attach(&mut self, connection: &mut Connection) -> Result<(), SqlError> {
        connection.query("SET SESSION autocommit = 0")?;
        self.statements.clear();
        for sql in SQL {
            self.statements.push(connection.prepare(sql)?);
        }
        Ok(())
    }

    pub(super) fn statement(&self, sql: Sql) -> &Statement {
        &self.statements[sql as usize]
    }

    /// Sends statements 0..n of a transaction and reads their replies: one after the other, or all before the first
    /// reply. `queue` adds one, or says that it is not needed; `read` looks at its reply (rows returned or changed) and
    /// keeps it in what the transaction `has_read`.
    ///
    /// After a server's error the other replies are read, so that the connection can be used for the ROLLBACK.
    pub(super) fn round<R>(
        &self,
        connection: &mut Connection,
        has_read: &mut R,
        n: usize,
        queue: impl Fn(&R, &mut Connection, usize),
        mut read: impl FnMut(&mut R, &Rows, u64, usize) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        if !self.pipeline {
            for step in 0..n {
                queue(has_read, connection, step);
                let reply = connection.reply()?;
                read(has_read, connection.rows(), reply.rows, step)?;
            }
            return Ok(());
        }
        for step in 0..n {
            queue(has_read, connection, step);
        }
        for step in 0..n {
            let outcome = match connection.reply() {
                Ok(reply) => read(has_read, connection.rows(), reply.rows, step),
                Err(error) => Err(error),
            };
            if let Err(error) = outcome {
                return Err(settle(connection, error));
            }
        }
        Ok(())
    }
}

/// Reads what is outstanding after an error, which it returns: or the loss of the connection, if that came after it.
fn settle(connection: &mut Connection, error: SqlError) -> SqlError {
    match connection.finish() {
        Ok(()) | Err(SqlError::Server { .. }) => error,
        Err(lost) => lost,
    }
}

/// A whole number as a parameter.
pub fn int(value: u32) -> Value<'static> {
    Value::Int(value.into())
}

/// Ends the transaction well.
pub fn commit(connection: &mut Connection) -> Result<Outcome, SqlError> {
    connection.commit().map(|_| Outcome::Committed)
}

/// Ends the transaction otherwise.
pub fn roll_back(connection: &mut Connection, outcome: Outcome) -> Result<Outcome, SqlError> {
    connection.query("ROLLBACK").map(|_| outcome)
}

/// A decimal value, in hundredths.
pub fn cents(rows: &Rows, row: usize, column: usize) -> Option<i64> {
    hundredths(rows.bytes(row, column)?)
}

/// A row that every database of the workload has is not there.
pub fn missing(what: &str) -> SqlError {
    SqlError::Protocol(format!("{what} is missing: the schema is not what flatwater or tpcc_load made"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_their_places() {
        assert_eq!(Sql::CountLowStock as usize, SQL.len() - 1);
        let begins = [
            (Sql::StockForUpdate, "SELECT s_quantity"),
            (Sql::PayWarehouse, "UPDATE warehouse"),
            (Sql::InsertHistory, "INSERT INTO history"),
            (Sql::StatusByNumber, "SELECT c_balance"),
            (Sql::OrderLines, "SELECT ol_i_id, ol_supply"),
            (Sql::AddToBalance, "UPDATE customer SET c_balance = c_balance +"),
            (Sql::RecentItems, "SELECT DISTINCT"),
        ];
        for (sql, begin) in begins {
            assert!(SQL[sql as usize].starts_with(begin), "{sql:?}: {}", SQL[sql as usize]);
        }
    }
}
