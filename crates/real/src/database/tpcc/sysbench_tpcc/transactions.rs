//! sysbench-tpcc's transactions, statement by statement in its order.

use flatwater_core::workload::tpcc::inputs::{Customer, Delivery, Line, NewOrder, Payment, StockLevel, UNUSED_ITEM};

use crate::database::connection::{Connection, Rows, SqlError};
use crate::database::terminal::Outcome;
use crate::database::tpcc::session::{DISTRICTS, cents, commit, missing, roll_back};
use crate::database::tpcc::text::Decimal;

/// The longest C_DATA (clause 2.5.2.2).
const CUSTOMER_DATA_BYTES: usize = 500;

/// A transaction on a set of tables.
pub(super) struct Transaction<'a> {
    connection: &'a mut Connection,
    set: u32,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(connection: &'a mut Connection, set: u32) -> Self {
        Self { connection, set }
    }

    fn ask(&mut self, sql: &str) -> Result<&Rows, SqlError> {
        self.connection.query(sql)?;
        Ok(self.connection.rows())
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        self.ask("BEGIN").map(drop)
    }

    pub(super) fn new_order(&mut self, input: &NewOrder) -> Result<Outcome, SqlError> {
        let &NewOrder { warehouse: w, district: d, customer: c, .. } = input;
        let set = self.set;
        let lines = input.lines();
        self.begin()?;
        let rows = self.ask(&format!(
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer{set}, warehouse{set} \
             WHERE w_id = {w} AND c_w_id = w_id AND c_d_id = {d} AND c_id = {c}"
        ))?;
        let read = || Some((cents(rows, 0, 0)?, cents(rows, 0, 3)?));
        let (discount, warehouse_tax) = read().ok_or_else(|| missing("a customer"))?;
        let rows = self.ask(&format!(
            "SELECT d_next_o_id, d_tax FROM district{set} WHERE d_w_id = {w} AND d_id = {d} FOR UPDATE"
        ))?;
        let read = || Some((rows.int(0, 0)?, cents(rows, 0, 1)?));
        let (id, district_tax) = read().ok_or_else(|| missing("a district"))?;
        self.ask(&format!("UPDATE district{set} SET d_next_o_id = {} WHERE d_id = {d} AND d_w_id = {w}", id + 1))?;
        self.ask(&format!(
            "INSERT INTO orders{set} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
             VALUES ({id}, {d}, {w}, {c}, NOW(), {}, {})",
            lines.len(),
            u8::from(input.all_local())
        ))?;
        self.ask(&format!("INSERT INTO new_orders{set} (no_o_id, no_d_id, no_w_id) VALUES ({id}, {d}, {w})"))?;
        let factor = (100 + warehouse_tax + district_tax) * (100 - discount);
        for (line, number) in lines.iter().zip(1..) {
            if !self.order_line(input, line, number, id, factor)? {
                return roll_back(self.connection, Outcome::RolledBack);
            }
        }
        commit(self.connection)
    }

    /// One line of an order; false: its item does not exist.
    fn order_line(
        &mut self,
        input: &NewOrder,
        line: &Line,
        number: usize,
        id: i64,
        factor: i64,
    ) -> Result<bool, SqlError> {
        let &Line { item, supplier, quantity } = line;
        let (set, w, d) = (self.set, input.warehouse, input.district);
        let rows = self.ask(&format!("SELECT i_price, i_name, i_data FROM item{set} WHERE i_id = {item}"))?;
        let price = match cents(rows, 0, 0) {
            Some(price) => price,
            None if item == UNUSED_ITEM => return Ok(false),
            None => return Err(missing("an item")),
        };
        let rows = self.ask(&format!(
            "SELECT s_quantity, s_data, s_dist_{d:02} s_dist FROM stock{set} \
             WHERE s_i_id = {item} AND s_w_id = {supplier} FOR UPDATE"
        ))?;
        let stock = rows.int(0, 0).ok_or_else(|| missing("stock"))?;
        // Letters and digits: it needs no escapes.
        let info = String::from_utf8_lossy(rows.bytes(0, 2).ok_or_else(|| missing("stock"))?).into_owned();
        let took = i64::from(quantity);
        let left = if stock > took { stock - took } else { stock - took + 91 };
        self.ask(&format!("UPDATE stock{set} SET s_quantity = {left} WHERE s_i_id = {item} AND s_w_id = {supplier}"))?;
        // It writes whole amounts, cut off.
        let amount = took * price * factor / 1_000_000;
        self.ask(&format!(
            "INSERT INTO order_line{set} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
             ol_quantity, ol_amount, ol_dist_info) \
             VALUES ({id}, {d}, {w}, {number}, {item}, {supplier}, {quantity}, {amount}, '{info}')"
        ))?;
        Ok(true)
    }

    pub(super) fn payment(&mut self, input: &Payment) -> Result<Outcome, SqlError> {
        let Payment { warehouse: w, district: d, customer, .. } = input;
        let &Customer { warehouse: of_w, district: of_d, number, .. } = customer;
        let set = self.set;
        let amount = input.amount_cents / 100;
        self.begin()?;
        self.ask(&format!("UPDATE warehouse{set} SET w_ytd = w_ytd + {amount} WHERE w_id = {w}"))?;
        let rows = self.ask(&format!(
            "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse{set} WHERE w_id = {w}"
        ))?;
        let mut told = text(rows, 5).ok_or_else(|| missing("a warehouse"))?;
        self.ask(&format!("UPDATE district{set} SET d_ytd = d_ytd + {amount} WHERE d_w_id = {w} AND d_id = {d}"))?;
        let rows = self.ask(&format!(
            "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district{set} \
             WHERE d_w_id = {w} AND d_id = {d}"
        ))?;
        let district = text(rows, 5).ok_or_else(|| missing("a district"))?;
        told = format!("{told:>10} {district:>10}   ");
        let number = match self.by_name(customer, "c_id")? {
            Some((rows, at)) => rows.int(at, 0).ok_or_else(|| missing("a customer"))?,
            None => number.into(),
        };
        let who = format!("c_w_id = {of_w} AND c_d_id = {of_d} AND c_id = {number}");
        let rows = self.ask(&format!(
            "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, \
             c_credit_lim, c_discount, c_balance, c_ytd_payment, c_since FROM customer{set} WHERE {who} FOR UPDATE"
        ))?;
        let read = || Some((cents(rows, 0, 12)?, cents(rows, 0, 13)?));
        let (balance, paid) = read().ok_or_else(|| missing("a customer"))?;
        let bad_credit = rows.bytes(0, 9) == Some(b"BC");
        let cents_paid = i64::from(input.amount_cents);
        let (balance, paid) = (decimal(balance - cents_paid), decimal(paid + cents_paid));
        if bad_credit {
            let rows = self.ask(&format!("SELECT c_data FROM customer{set} WHERE {who}"))?;
            let data = text(rows, 0).unwrap_or_default();
            let mut data = format!("| {number:4} {of_d:2} {of_w:4} {d:2} {w:4} ${amount:4}.00 {data}");
            data.truncate(CUSTOMER_DATA_BYTES);
            self.ask(&format!(
                "UPDATE customer{set} SET c_balance = {balance}, c_ytd_payment = {paid}, c_data = '{data}' WHERE {who}"
            ))?;
        } else {
            self.ask(&format!("UPDATE customer{set} SET c_balance = {balance}, c_ytd_payment = {paid} WHERE {who}"))?;
        }
        self.ask(&format!(
            "INSERT INTO history{set} (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             VALUES ({of_d}, {of_w}, {number}, {d}, {w}, NOW(), {amount}, '{told}')"
        ))?;
        commit(self.connection)
    }

    /// Counts and reads the customers of a last name, if it is asked for; the rows, and which of them is meant: the one after
    /// the middle, as the program takes it.
    fn by_name(&mut self, who: &Customer, columns: &str) -> Result<Option<(&Rows, usize)>, SqlError> {
        let Some(last) = &who.last else { return Ok(None) };
        let last = String::from_utf8_lossy(last.as_bytes());
        let (set, w, d) = (self.set, who.warehouse, who.district);
        let same = format!("FROM customer{set} WHERE c_w_id = {w} AND c_d_id = {d} AND c_last = '{last}'");
        self.ask(&format!("SELECT count(c_id) namecnt {same}"))?;
        let rows = self.ask(&format!("SELECT {columns} {same} ORDER BY c_first"))?;
        let at = middle(rows.len()).ok_or_else(|| missing("a customer of a last name"))?;
        Ok(Some((rows, at)))
    }

    pub(super) fn order_status(&mut self, who: &Customer) -> Result<Outcome, SqlError> {
        let (set, w, d) = (self.set, who.warehouse, who.district);
        self.begin()?;
        let number = match self.by_name(who, "c_balance, c_first, c_middle, c_id")? {
            Some((rows, at)) => rows.int(at, 3).ok_or_else(|| missing("a customer"))?,
            None => {
                self.ask(&format!(
                    "SELECT c_balance, c_first, c_middle, c_last FROM customer{set} \
                     WHERE c_w_id = {w} AND c_d_id = {d} AND c_id = {}",
                    who.number
                ))?;
                who.number.into()
            }
        };
        self.ask(&format!(
            "SELECT o_id, o_carrier_id, o_entry_d FROM orders{set} \
             WHERE o_w_id = {w} AND o_d_id = {d} AND o_c_id = {number} ORDER BY o_id DESC"
        ))?;
        // The number of the district stands where that of the order should: the work is the program's.
        self.ask(&format!(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line{set} \
             WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {d}"
        ))?;
        commit(self.connection)
    }

    pub(super) fn delivery(&mut self, input: &Delivery) -> Result<Outcome, SqlError> {
        let &Delivery { warehouse: w, carrier } = input;
        let set = self.set;
        self.begin()?;
        for d in 1..=DISTRICTS {
            let rows = self.ask(&format!(
                "SELECT no_o_id FROM new_orders{set} WHERE no_d_id = {d} AND no_w_id = {w} \
                 ORDER BY no_o_id ASC LIMIT 1 FOR UPDATE"
            ))?;
            let Some(id) = rows.int(0, 0) else { continue };
            let order = |prefix: &str| format!("{prefix}_o_id = {id} AND {prefix}_d_id = {d} AND {prefix}_w_id = {w}");
            let which = format!("o_id = {id} AND o_d_id = {d} AND o_w_id = {w}");
            self.ask(&format!("DELETE FROM new_orders{set} WHERE {}", order("no")))?;
            let rows = self.ask(&format!("SELECT o_c_id FROM orders{set} WHERE {which}"))?;
            let customer = rows.int(0, 0).ok_or_else(|| missing("an order"))?;
            self.ask(&format!("UPDATE orders{set} SET o_carrier_id = {carrier} WHERE {which}"))?;
            self.ask(&format!("UPDATE order_line{set} SET ol_delivery_d = NOW() WHERE {}", order("ol")))?;
            let rows = self.ask(&format!("SELECT SUM(ol_amount) sm FROM order_line{set} WHERE {}", order("ol")))?;
            let amount = decimal(cents(rows, 0, 0).ok_or_else(|| missing("an order line"))?);
            self.ask(&format!(
                "UPDATE customer{set} SET c_balance = c_balance + {amount}, c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_id = {customer} AND c_d_id = {d} AND c_w_id = {w}"
            ))?;
        }
        commit(self.connection)
    }

    pub(super) fn stock_level(&mut self, input: &StockLevel) -> Result<Outcome, SqlError> {
        let &StockLevel { warehouse: w, district: d, threshold } = input;
        let set = self.set;
        self.begin()?;
        let rows = self.ask(&format!("SELECT d_next_o_id FROM district{set} WHERE d_id = {d} AND d_w_id = {w}"))?;
        let next = rows.int(0, 0).ok_or_else(|| missing("a district"))?;
        self.ask(&format!(
            "SELECT COUNT(DISTINCT (s_i_id)) FROM order_line{set}, stock{set} \
             WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id < {next} AND ol_o_id >= {} \
             AND s_w_id = {w} AND s_i_id = ol_i_id AND s_quantity < {threshold}",
            next - 20
        ))?;
        commit(self.connection)
    }
}

fn text(rows: &Rows, column: usize) -> Option<String> {
    rows.bytes(0, column).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn decimal(hundredths: i64) -> String {
    String::from_utf8_lossy(Decimal::new(hundredths).as_bytes()).into_owned()
}

/// The row of `n` that the program takes: half of them, rounded up, and one more, as far as there are so many.
fn middle(n: usize) -> Option<usize> {
    Some(n.div_ceil(2).min(n.checked_sub(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_after_the_middle_is_taken() {
        assert_eq!([0, 1, 2, 3, 4, 5].map(middle), [None, Some(0), Some(1), Some(2), Some(2), Some(3)]);
    }
}
