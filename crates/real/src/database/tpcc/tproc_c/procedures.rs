//! TPROC-C's five stored procedures, from the clauses of TPC-C 5.11, with the names, the arguments and the work of HammerDB's:
//! the driver of either program can call those of the other.
//!
//! Where HammerDB's leave the specification's consistency conditions broken, these keep them: a Payment takes its amount from
//! the balance in the statement that changes it, a Delivery locks the order that it takes. A New-Order that rolled back
//! tells that its order has the number 0.

use crate::database::connection::{Connection, SqlError};

/// The comment by which a procedure is known as one of these. Its number is raised with every change of them; so is
/// `PROCEDURES_VERSION` of `runner/stack/database/real/dataset.py`, which says which snapshots have them.
const COMMENT: &str = "flatwater 2";

/// Names and statements.
const PROCEDURES: [(&str, &str); 5] = [
    (
        "NEWORD",
        "CREATE PROCEDURE NEWORD (IN home INT, IN warehouses INT, IN district_no INT, IN customer_no INT, \
         IN line_count INT, OUT discount DECIMAL(4,4), OUT last_name VARCHAR(16), OUT credit VARCHAR(2), \
         OUT district_tax DECIMAL(4,4), OUT warehouse_tax DECIMAL(4,4), INOUT order_no INT, IN entered DATETIME) \
         COMMENT 'flatwater 2' \
         BEGIN \
         DECLARE at_line, item_no, supplier, wanted, in_stock, line_amount INT; \
         DECLARE is_local, is_wrong INT; \
         DECLARE price DECIMAL(5,2); \
         DECLARE item_name VARCHAR(24); \
         DECLARE item_data, stock_data VARCHAR(50); \
         DECLARE info, info_1, info_2, info_3, info_4, info_5, info_6, info_7, info_8, info_9, info_10 CHAR(24); \
         DECLARE EXIT HANDLER FOR NOT FOUND BEGIN ROLLBACK; SET order_no = 0; END; \
         SELECT c_discount, c_last, c_credit, w_tax INTO discount, last_name, credit, warehouse_tax \
         FROM customer, warehouse \
         WHERE w_id = home AND c_w_id = home AND c_d_id = district_no AND c_id = customer_no; \
         START TRANSACTION; \
         SELECT d_next_o_id, d_tax INTO order_no, district_tax FROM district \
         WHERE d_w_id = home AND d_id = district_no FOR UPDATE; \
         UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = home AND d_id = district_no; \
         SET is_local = 1, at_line = 1, is_wrong = (FLOOR(1 + RAND() * 99) = 1); \
         WHILE at_line <= line_count DO \
         IF is_wrong AND at_line = line_count THEN SET item_no = 100001; \
         ELSE SET item_no = FLOOR(1 + RAND() * 100000); \
         END IF; \
         SET supplier = home; \
         IF FLOOR(1 + RAND() * 100) = 1 THEN \
         SET is_local = 0; \
         WHILE supplier = home AND warehouses > 1 DO SET supplier = FLOOR(1 + RAND() * warehouses); END WHILE; \
         END IF; \
         SET wanted = FLOOR(1 + RAND() * 10); \
         SELECT i_price, i_name, i_data INTO price, item_name, item_data FROM item WHERE i_id = item_no; \
         SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, \
         s_dist_08, s_dist_09, s_dist_10 \
         INTO in_stock, stock_data, info_1, info_2, info_3, info_4, info_5, info_6, info_7, info_8, info_9, info_10 \
         FROM stock WHERE s_w_id = supplier AND s_i_id = item_no; \
         UPDATE stock SET s_quantity = IF(s_quantity > wanted, s_quantity - wanted, s_quantity - wanted + 91) \
         WHERE s_w_id = supplier AND s_i_id = item_no; \
         SET line_amount = ROUND(wanted * price * (1 + warehouse_tax + district_tax) * (1 - discount)); \
         CASE district_no WHEN 1 THEN SET info = info_1; WHEN 2 THEN SET info = info_2; WHEN 3 THEN SET info = info_3; \
         WHEN 4 THEN SET info = info_4; WHEN 5 THEN SET info = info_5; WHEN 6 THEN SET info = info_6; \
         WHEN 7 THEN SET info = info_7; WHEN 8 THEN SET info = info_8; WHEN 9 THEN SET info = info_9; \
         ELSE SET info = info_10; END CASE; \
         INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, \
         ol_dist_info) VALUES (order_no, district_no, home, at_line, item_no, supplier, wanted, line_amount, info); \
         SET at_line = at_line + 1; \
         END WHILE; \
         INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES (order_no, district_no, home, customer_no, entered, line_count, is_local); \
         INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_no, district_no, home); \
         COMMIT; \
         END",
    ),
    (
        "PAYMENT",
        "CREATE PROCEDURE PAYMENT (IN home INT, IN district_no INT, IN of_warehouse INT, IN of_district INT, \
         INOUT payer INT, IN by_name INT, IN amount DECIMAL(6,2), INOUT last_name VARCHAR(16), \
         OUT w_first_street VARCHAR(20), OUT w_second_street VARCHAR(20), OUT w_town VARCHAR(20), OUT w_land CHAR(2), \
         OUT w_post CHAR(9), OUT d_first_street VARCHAR(20), OUT d_second_street VARCHAR(20), OUT d_town VARCHAR(20), \
         OUT d_land CHAR(2), OUT d_post CHAR(9), OUT first_name VARCHAR(16), OUT middle_name CHAR(2), \
         OUT first_street VARCHAR(20), OUT second_street VARCHAR(20), OUT town VARCHAR(20), OUT land CHAR(2), \
         OUT post CHAR(9), OUT phone CHAR(16), OUT since DATETIME, INOUT credit CHAR(2), \
         OUT credit_limit DECIMAL(12,2), OUT discount DECIMAL(4,4), INOUT balance DECIMAL(12,2), \
         OUT notes VARCHAR(500), IN paid DATETIME) COMMENT 'flatwater 2' \
         BEGIN \
         DECLARE same_name, at_row, is_over INT DEFAULT 0; \
         DECLARE warehouse_name, district_name VARCHAR(10); \
         DECLARE named CURSOR FOR SELECT c_id, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip, \
         c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM customer \
         WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_last = last_name ORDER BY c_first; \
         DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_over = 1; \
         START TRANSACTION; \
         UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = home; \
         SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name \
         INTO w_first_street, w_second_street, w_town, w_land, w_post, warehouse_name FROM warehouse WHERE w_id = home; \
         UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = home AND d_id = district_no; \
         SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name \
         INTO d_first_street, d_second_street, d_town, d_land, d_post, district_name FROM district \
         WHERE d_w_id = home AND d_id = district_no; \
         IF by_name THEN \
         SELECT COUNT(c_id) INTO same_name FROM customer \
         WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_last = last_name; \
         OPEN named; \
         WHILE at_row <= (same_name + 1) DIV 2 DO \
         FETCH named INTO payer, first_name, middle_name, first_street, second_street, town, land, post, phone, since, \
         credit, credit_limit, discount, balance; \
         SET at_row = at_row + 1; \
         END WHILE; \
         CLOSE named; \
         ELSE \
         SELECT c_last, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, \
         c_credit_lim, c_discount, c_balance \
         INTO last_name, first_name, middle_name, first_street, second_street, town, land, post, phone, since, credit, \
         credit_limit, discount, balance FROM customer \
         WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = payer; \
         END IF; \
         SET balance = balance - amount; \
         IF credit = 'BC' THEN \
         SELECT c_data INTO notes FROM customer \
         WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = payer; \
         SET notes = LEFT(CONCAT_WS(' ', payer, of_district, of_warehouse, district_no, home, amount, paid, notes), 500); \
         UPDATE customer SET c_balance = c_balance - amount, c_data = notes \
         WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = payer; \
         ELSE \
         UPDATE customer SET c_balance = c_balance - amount \
         WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = payer; \
         END IF; \
         INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
         VALUES (payer, of_district, of_warehouse, district_no, home, paid, amount, \
         CONCAT(warehouse_name, '    ', district_name)); \
         COMMIT; \
         END",
    ),
    (
        "OSTAT",
        "CREATE PROCEDURE OSTAT (IN home INT, IN district_no INT, INOUT buyer INT, IN by_name INT, \
         INOUT last_name VARCHAR(16), OUT first_name VARCHAR(16), OUT middle_name CHAR(2), OUT balance DECIMAL(12,2), \
         OUT order_no INT, OUT entered DATETIME, OUT carrier INT) COMMENT 'flatwater 2' \
         BEGIN \
         DECLARE same_name, at_row, is_over, line_no INT DEFAULT 0; \
         DECLARE item_no, supplier, wanted, amount INT; \
         DECLARE delivered DATETIME; \
         DECLARE items, suppliers, quantities, amounts VARCHAR(200) DEFAULT ''; \
         DECLARE deliveries VARCHAR(420) DEFAULT ''; \
         DECLARE named CURSOR FOR SELECT c_balance, c_first, c_middle, c_id FROM customer \
         WHERE c_w_id = home AND c_d_id = district_no AND c_last = last_name ORDER BY c_first; \
         DECLARE bought CURSOR FOR SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
         WHERE ol_w_id = home AND ol_d_id = district_no AND ol_o_id = order_no; \
         DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_over = 1; \
         START TRANSACTION; \
         IF by_name THEN \
         SELECT COUNT(c_id) INTO same_name FROM customer \
         WHERE c_w_id = home AND c_d_id = district_no AND c_last = last_name; \
         OPEN named; \
         WHILE at_row <= (same_name + 1) DIV 2 DO \
         FETCH named INTO balance, first_name, middle_name, buyer; \
         SET at_row = at_row + 1; \
         END WHILE; \
         CLOSE named; \
         ELSE \
         SELECT c_balance, c_first, c_middle, c_last INTO balance, first_name, middle_name, last_name FROM customer \
         WHERE c_w_id = home AND c_d_id = district_no AND c_id = buyer; \
         END IF; \
         SELECT last_order.o_id, last_order.o_carrier_id, last_order.o_entry_d INTO order_no, carrier, entered FROM \
         (SELECT o_id, o_carrier_id, o_entry_d FROM orders \
         WHERE o_w_id = home AND o_d_id = district_no AND o_c_id = buyer ORDER BY o_id DESC LIMIT 1) AS last_order; \
         SET is_over = 0; \
         OPEN bought; \
         REPEAT \
         FETCH bought INTO item_no, supplier, wanted, amount, delivered; \
         IF NOT is_over THEN \
         SET items = CONCAT_WS(',', items, line_no, item_no); \
         SET suppliers = CONCAT_WS(',', suppliers, line_no, supplier); \
         SET quantities = CONCAT_WS(',', quantities, line_no, wanted); \
         SET amounts = CONCAT_WS(',', amounts, line_no, amount); \
         SET deliveries = CONCAT_WS(',', deliveries, line_no, delivered); \
         SET line_no = line_no + 1; \
         END IF; \
         UNTIL is_over END REPEAT; \
         CLOSE bought; \
         COMMIT; \
         END",
    ),
    (
        "DELIVERY",
        "CREATE PROCEDURE DELIVERY (IN home INT, IN carrier INT, IN delivered DATETIME) COMMENT 'flatwater 2' \
         BEGIN \
         DECLARE district_no INT DEFAULT 1; \
         DECLARE order_no, buyer, total INT; \
         DECLARE told VARCHAR(100); \
         DECLARE CONTINUE HANDLER FOR NOT FOUND SET order_no = NULL; \
         START TRANSACTION; \
         WHILE district_no <= 10 DO \
         SELECT no_o_id INTO order_no FROM new_order WHERE no_w_id = home AND no_d_id = district_no \
         ORDER BY no_o_id LIMIT 1 FOR UPDATE; \
         IF order_no IS NOT NULL THEN \
         DELETE FROM new_order WHERE no_w_id = home AND no_d_id = district_no AND no_o_id = order_no; \
         SELECT o_c_id INTO buyer FROM orders WHERE o_w_id = home AND o_d_id = district_no AND o_id = order_no; \
         UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = home AND o_d_id = district_no AND o_id = order_no; \
         UPDATE order_line SET ol_delivery_d = delivered \
         WHERE ol_w_id = home AND ol_d_id = district_no AND ol_o_id = order_no; \
         SELECT SUM(ol_amount) INTO total FROM order_line \
         WHERE ol_w_id = home AND ol_d_id = district_no AND ol_o_id = order_no; \
         UPDATE customer SET c_balance = c_balance + total \
         WHERE c_w_id = home AND c_d_id = district_no AND c_id = buyer; \
         END IF; \
         SET told = CONCAT_WS(' ', district_no, order_no, delivered); \
         SET district_no = district_no + 1; \
         END WHILE; \
         COMMIT; \
         END",
    ),
    (
        "SLEV",
        "CREATE PROCEDURE SLEV (IN home INT, IN district_no INT, IN threshold INT, OUT low INT) COMMENT 'flatwater 2' \
         BEGIN \
         DECLARE next_order INT; \
         START TRANSACTION; \
         SELECT d_next_o_id INTO next_order FROM district WHERE d_w_id = home AND d_id = district_no; \
         SELECT COUNT(DISTINCT s_i_id) INTO low FROM order_line, stock \
         WHERE ol_w_id = home AND ol_d_id = district_no AND ol_o_id < next_order AND ol_o_id >= next_order - 20 \
         AND s_w_id = home AND s_i_id = ol_i_id AND s_quantity < threshold; \
         COMMIT; \
         END",
    ),
];

/// Statements that make the procedures.
pub(in super::super) fn procedures() -> impl Iterator<Item = &'static str> {
    PROCEDURES.iter().map(|(_, sql)| *sql)
}

/// Whether a schema has these procedures, and not another program's of the same names.
pub(in super::super) fn check(connection: &mut Connection) -> Result<(), String> {
    let told = |error: SqlError| format!("the procedures of the schema cannot be read: {error}");
    for (name, _) in PROCEDURES {
        let sql = format!(
            "SELECT CAST(routine_comment AS CHAR) FROM information_schema.routines \
             WHERE routine_schema = DATABASE() AND routine_name = '{name}'"
        );
        connection.query(&sql).map_err(told)?;
        let comment = connection.rows().bytes(0, 0);
        if connection.rows().is_empty() {
            // An account sees the procedures that it may call.
            return Err(format!(
                "procedure {name} is missing: the schema was not loaded for the variant \"tproc-c\", or the account \
                 lacks EXECUTE on it"
            ));
        }
        if comment != Some(COMMENT.as_bytes()) {
            return Err(format!(
                "procedure {name} is not the one of this version of flatwater: load the data into another schema"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn procedures_are_whole() {
        for (name, sql) in PROCEDURES {
            assert!(sql.starts_with(&format!("CREATE PROCEDURE {name} (")), "{name}");
            assert_eq!(sql.matches(&format!("COMMENT '{COMMENT}'")).count(), 1, "{name}");
            assert_eq!(sql.matches('(').count(), sql.matches(')').count(), "{name}");
            // Every transaction ends in one statement of its own.
            assert_eq!(sql.matches("START TRANSACTION;").count(), 1, "{name}");
            assert_eq!(sql.matches("COMMIT;").count(), 1, "{name}");
            assert_eq!(sql.matches("ROLLBACK;").count(), usize::from(name == "NEWORD"), "{name}");
        }
    }
}
