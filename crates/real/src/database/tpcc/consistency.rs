//! The consistency conditions of clause 3.3.2, each as one query that counts its violations.
//!
//! Large tables are grouped in the order of their primary key, then joined: no query looks rows up one by one.

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
        "SELECT COUNT(*) FROM orders LEFT JOIN new_orders \
         ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    always(
        "O_OL_CNT is the number of lines of each order",
        "SELECT COUNT(*) FROM orders LEFT JOIN \
         (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE NOT (o_ol_cnt <=> found)",
    ),
    always(
        "a line has no delivery date if and only if its order has no carrier",
        "SELECT COUNT(*) FROM orders JOIN \
         (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS found, COUNT(ol_delivery_d) AS dated FROM order_line \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE dated <> IF(o_carrier_id IS NULL, 0, found)",
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
        "SELECT COUNT(*) FROM customer LEFT JOIN \
         (SELECT o_w_id, o_d_id, o_c_id, SUM(amount) AS delivered FROM orders JOIN \
         (SELECT ol_w_id, ol_d_id, ol_o_id, SUM(IF(ol_delivery_d IS NULL, 0, ol_amount)) AS amount FROM order_line \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY o_w_id, o_d_id, o_c_id) AS o \
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id LEFT JOIN \
         (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history \
         GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h \
         ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
         WHERE c_balance <> COALESCE(delivered, 0) - COALESCE(paid, 0)",
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
        sql: "SELECT COUNT(*) FROM customer LEFT JOIN \
              (SELECT o_w_id, o_d_id, o_c_id, SUM(amount) AS delivered FROM orders JOIN \
              (SELECT ol_w_id, ol_d_id, ol_o_id, SUM(IF(ol_delivery_d IS NULL, 0, ol_amount)) AS amount \
              FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
              ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY o_w_id, o_d_id, o_c_id) AS o \
              ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
              WHERE c_balance + c_ytd_payment <> COALESCE(delivered, 0)",
        only_loaded: Some("tpcc-mysql's Payment does not keep C_YTD_PAYMENT"),
    },
];

/// Checks all twelve conditions; those that cannot hold after transactions ran are not checked then.
///
/// # Errors
/// What the server answers.
pub fn check_consistency(connection: &mut Connection, after_run: bool) -> Result<Vec<Condition>, SqlError> {
    let mut checked = Vec::with_capacity(CONDITIONS.len());
    for (Query { title, sql, only_loaded }, number) in CONDITIONS.iter().zip(1..) {
        let applies = match only_loaded {
            Some(why) if after_run => Err(*why),
            _ => Ok(()),
        };
        let violations = match applies {
            Ok(()) => {
                connection.query(sql)?;
                let found = connection.rows().int(0, 0).and_then(|found| u64::try_from(found).ok());
                found.ok_or_else(|| SqlError::Protocol(format!("condition {number} has no answer")))?
            }
            Err(_) => 0,
        };
        checked.push(Condition { number, title, applies, violations });
    }
    Ok(checked)
}
