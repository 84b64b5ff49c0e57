//! The consistency conditions of clause 3.3.2, each as one query that counts its violations.
//!
//! Large tables are never joined, but summed side by side: with statistics that are not up to date a server may choose
//! to look for each row of one table through all rows of the other. They are looked at warehouse by warehouse, so that
//! what a query has to keep stays in memory at any scale.

use flatwater_core::workload::tpcc::Variant;

use super::layout::translated;
use crate::database::connection::{Connection, SqlError};

/// A condition, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// 1 to 12: clause 3.3.2.number.
    pub number: u32,
    /// What must hold.
    pub title: &'static str,
    /// Why it is not checked, where it does not apply.
    pub applies: Result<(), &'static str>,
    /// Rows (or groups of rows) that break it; 0 where it does not apply.
    pub violations: u64,
}

struct Query {
    title: &'static str,
    /// For all warehouses, or for the one whose number stands in place of `{w}`.
    sql: &'static str,
    /// Why it does not apply after transactions ran.
    only_loaded: Option<&'static str>,
}

const fn always(title: &'static str, sql: &'static str) -> Query {
    Query { title, sql, only_loaded: None }
}

/// Conditions 1 to 12.
static CONDITIONS: [Query; 12] = [
    always(
        "W_YTD is the sum of D_YTD",
        "SELECT COUNT(*) FROM warehouse LEFT JOIN \
         (SELECT d_w_id, SUM(d_ytd) AS ytd FROM district GROUP BY d_w_id) AS d ON d_w_id = w_id \
         WHERE NOT (w_ytd <=> d.ytd)",
    ),
    always(
        "D_NEXT_O_ID - 1 is the last O_ID and the last NO_O_ID",
        "SELECT COUNT(*) FROM district LEFT JOIN \
         (SELECT o_w_id, o_d_id, MAX(o_id) AS last FROM orders GROUP BY o_w_id, o_d_id) AS o \
         ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN \
         (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last FROM new_orders GROUP BY no_w_id, no_d_id) AS n \
         ON no_w_id = d_w_id AND no_d_id = d_id \
         WHERE NOT (d_next_o_id - 1 <=> o.last) OR n.last <> d_next_o_id - 1",
    ),
    always(
        "NO_O_ID has no gap",
        "SELECT COUNT(*) FROM (SELECT 1 FROM new_orders GROUP BY no_w_id, no_d_id \
         HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) AS n",
    ),
    always(
        "the sum of O_OL_CNT is the number of order lines of a district",
        "SELECT COUNT(*) FROM \
         (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS told FROM orders GROUP BY o_w_id, o_d_id) AS o LEFT JOIN \
         (SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id) AS l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE NOT (told <=> found)",
    ),
    always(
        "an order has no carrier if and only if it is a new order",
        "SELECT COUNT(*) FROM (SELECT 1 FROM (\
         SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_carrier_id IS NULL AS n \
         FROM orders WHERE o_w_id = {w} UNION ALL \
         SELECT no_w_id, no_d_id, no_o_id, -1 FROM new_orders WHERE no_w_id = {w}) AS both_tables \
         GROUP BY w, d, o HAVING SUM(n) <> 0) AS broken",
    ),
    always(
        "O_OL_CNT is the number of lines of each order",
        "SELECT COUNT(*) FROM (SELECT 1 FROM (\
         SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_ol_cnt AS n FROM orders WHERE o_w_id = {w} UNION ALL \
         SELECT ol_w_id, ol_d_id, ol_o_id, -COUNT(*) FROM order_line WHERE ol_w_id = {w} \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) AS both_tables \
         GROUP BY w, d, o HAVING SUM(n) <> 0) AS broken",
    ),
    always(
        "a line has no delivery date if and only if its order has no carrier",
        "SELECT COUNT(*) FROM (SELECT 1 FROM (\
         SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_carrier_id IS NOT NULL AS carried, 0 AS found, 0 AS dated \
         FROM orders WHERE o_w_id = {w} UNION ALL \
         SELECT ol_w_id, ol_d_id, ol_o_id, 0, COUNT(*), COUNT(ol_delivery_d) FROM order_line WHERE ol_w_id = {w} \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) AS both_tables \
         GROUP BY w, d, o HAVING SUM(dated) <> IF(SUM(carried) = 0, 0, SUM(found))) AS broken",
    ),
    always(
        "W_YTD is the sum of H_AMOUNT of a warehouse",
        "SELECT COUNT(*) FROM warehouse LEFT JOIN \
         (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) AS h ON h_w_id = w_id \
         WHERE NOT (w_ytd <=> paid)",
    ),
    always(
        "D_YTD is the sum of H_AMOUNT of a district",
        "SELECT COUNT(*) FROM district LEFT JOIN \
         (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) AS h \
         ON h_w_id = d_w_id AND h_d_id = d_id WHERE NOT (d_ytd <=> paid)",
    ),
    always(
        "C_BALANCE is what was delivered to a customer less what it paid",
        "SELECT COUNT(*) FROM (SELECT 1 FROM (\
         SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS amount \
         FROM customer WHERE c_w_id = {w} UNION ALL \
         SELECT h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history WHERE h_c_w_id = {w} UNION ALL \
         SELECT w, d, MAX(c), -SUM(delivered) FROM (\
         SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_c_id AS c, 0 AS delivered \
         FROM orders WHERE o_w_id = {w} UNION ALL \
         SELECT ol_w_id, ol_d_id, ol_o_id, NULL, SUM(IF(ol_delivery_d IS NULL, 0, ol_amount)) \
         FROM order_line WHERE ol_w_id = {w} \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) AS by_order GROUP BY w, d, o) AS by_customer \
         GROUP BY w, d, c HAVING SUM(amount) <> 0) AS broken",
    ),
    Query {
        title: "a district has 2100 orders that are not new",
        sql: "SELECT COUNT(*) FROM \
              (SELECT o_w_id, o_d_id, COUNT(*) AS ordered FROM orders GROUP BY o_w_id, o_d_id) AS o LEFT JOIN \
              (SELECT no_w_id, no_d_id, COUNT(*) AS new FROM new_orders GROUP BY no_w_id, no_d_id) AS n \
              ON no_w_id = o_w_id AND no_d_id = o_d_id WHERE ordered - COALESCE(new, 0) <> 2100",
        only_loaded: Some("it holds right after loading only: each Delivery changes it"),
    },
    Query {
        title: "C_BALANCE and C_YTD_PAYMENT together are what was delivered to a customer",
        sql: "SELECT COUNT(*) FROM (SELECT 1 FROM (\
              SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance + c_ytd_payment AS amount \
              FROM customer WHERE c_w_id = {w} UNION ALL \
              SELECT w, d, MAX(c), -SUM(delivered) FROM (\
              SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_c_id AS c, 0 AS delivered \
         FROM orders WHERE o_w_id = {w} UNION ALL \
              SELECT ol_w_id, ol_d_id, ol_o_id, NULL, SUM(IF(ol_delivery_d IS NULL, 0, ol_amount)) \
         FROM order_line WHERE ol_w_id = {w} \
              GROUP BY ol_w_id, ol_d_id, ol_o_id) AS by_order GROUP BY w, d, o) AS by_customer \
              GROUP BY w, d, c HAVING SUM(amount) <> 0) AS broken",
        only_loaded: Some("the Payments of tpcc-mysql and of TPROC-C do not keep C_YTD_PAYMENT"),
    },
];

/// Checks all twelve conditions on the tables of a variant, each set of them by itself; those that cannot hold after
/// transactions ran are not checked then.
///
/// # Errors
/// What the server answers.
pub fn check_consistency(
    connection: &mut Connection,
    variant: &Variant,
    after_run: bool,
) -> Result<Vec<Condition>, SqlError> {
    let mut checked = Vec::with_capacity(CONDITIONS.len());
    for (Query { title, sql, only_loaded }, number) in CONDITIONS.iter().zip(1..) {
        let applies = match only_loaded {
            Some(why) if after_run && !(number == YTD_PAYMENT && keeps_ytd_payment(variant)) => Err(*why),
            _ => Ok(()),
        };
        let mut violations = 0;
        if applies.is_ok() {
            for set in 1..=variant.table_sets() {
                violations += violations_of(connection, sql, variant, set)?;
            }
        }
        checked.push(Condition { number, title, applies, violations });
    }
    Ok(checked)
}

/// The number of the condition about C_YTD_PAYMENT.
const YTD_PAYMENT: u32 = 12;

/// Whether the Payments of a variant keep C_YTD_PAYMENT.
fn keeps_ytd_payment(variant: &Variant) -> bool {
    matches!(variant, Variant::SysbenchTpcc { .. })
}

fn violations_of(connection: &mut Connection, sql: &str, variant: &Variant, set: u32) -> Result<u64, SqlError> {
    let sql = translated(sql, variant, set);
    if !sql.contains("{w}") {
        return count(connection, &sql);
    }
    let mut violations = 0;
    for warehouse in 1..=count(connection, &translated("SELECT MAX(w_id) FROM warehouse", variant, set))? {
        violations += count(connection, &sql.replace("{w}", &warehouse.to_string()))?;
    }
    Ok(violations)
}

fn count(connection: &mut Connection, sql: &str) -> Result<u64, SqlError> {
    connection.query(sql)?;
    Ok(connection.rows().int(0, 0).and_then(|found| u64::try_from(found).ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_tables_are_looked_at_by_warehouse() {
        for Query { title, sql, .. } in &CONDITIONS {
            // Either all of the tables that are summed side by side are of one warehouse, or none is.
            let tables: usize = ["orders", "new_orders", "order_line", "customer", "history"]
                .iter()
                .map(|table| sql.matches(&format!("FROM {table} WHERE ")).count())
                .sum();
            assert_eq!(sql.matches(" = {w}").count(), tables, "{title}");
            assert_eq!(sql.contains("UNION ALL"), tables > 0, "{title}");
            assert_eq!(sql.matches('(').count(), sql.matches(')').count(), "{title}");
        }
    }
}
