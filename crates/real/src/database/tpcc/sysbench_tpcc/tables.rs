//! sysbench-tpcc's tables. Columns and keys are those of tpcc-mysql, in several sets; its indexes are made whether it has
//! foreign keys or not.

use flatwater_core::workload::tpcc::population::Table;

use crate::database::tpcc::tables::CREATE;

/// Statements that make the tables of a set.
pub(in super::super) fn create(set: u32, history_key: bool) -> Vec<String> {
    CREATE
        .iter()
        .map(|sql| {
            let (head, columns) = sql.split_once(" (").expect("a table has columns");
            let key = history_key && head.ends_with(" history");
            let columns =
                if key { columns.replace(") ENGINE", ", PRIMARY KEY (id)) ENGINE") } else { columns.to_owned() };
            let id = if key { "id int NOT NULL AUTO_INCREMENT, " } else { "" };
            format!("{head}{set} ({id}{columns}")
        })
        .collect()
}

/// The statement that makes a table's indexes and foreign keys when its rows are there; None: it has none.
pub(in super::super) fn finish(table: Table, set: u32, foreign_keys: bool) -> Option<String> {
    let index = |name: &str, columns: &str| format!("ADD INDEX {name}{set} ({columns})");
    let key = |name: &str, columns: &str, other: Table, others: &str| {
        let other = other.name();
        foreign_keys
            .then(|| format!("ADD CONSTRAINT {name}_{set} FOREIGN KEY ({columns}) REFERENCES {other}{set} ({others})"))
    };
    let (indexes, keys) = match table {
        Table::Item | Table::Warehouse => (vec![], vec![]),
        Table::District => (vec![], vec![key("fkey_district_1", "d_w_id", Table::Warehouse, "w_id")]),
        Table::Stock => (
            vec![index("fkey_stock_2", "s_i_id")],
            vec![
                key("fkey_stock_1", "s_w_id", Table::Warehouse, "w_id"),
                key("fkey_stock_2", "s_i_id", Table::Item, "i_id"),
            ],
        ),
        Table::Customer => (
            vec![index("idx_customer", "c_w_id, c_d_id, c_last, c_first")],
            vec![key("fkey_customer_1", "c_w_id, c_d_id", Table::District, "d_w_id, d_id")],
        ),
        Table::History => (
            vec![index("fkey_history_1", "h_c_w_id, h_c_d_id, h_c_id"), index("fkey_history_2", "h_w_id, h_d_id")],
            vec![
                key("fkey_history_1", "h_c_w_id, h_c_d_id, h_c_id", Table::Customer, "c_w_id, c_d_id, c_id"),
                key("fkey_history_2", "h_w_id, h_d_id", Table::District, "d_w_id, d_id"),
            ],
        ),
        Table::Orders => (
            vec![index("idx_orders", "o_w_id, o_d_id, o_c_id, o_id")],
            vec![key("fkey_orders_1", "o_w_id, o_d_id, o_c_id", Table::Customer, "c_w_id, c_d_id, c_id")],
        ),
        Table::NewOrders => {
            (vec![], vec![key("fkey_new_orders_1", "no_w_id, no_d_id, no_o_id", Table::Orders, "o_w_id, o_d_id, o_id")])
        }
        Table::OrderLine => (
            vec![index("fkey_order_line_2", "ol_supply_w_id, ol_i_id")],
            vec![
                key("fkey_order_line_1", "ol_w_id, ol_d_id, ol_o_id", Table::Orders, "o_w_id, o_d_id, o_id"),
                key("fkey_order_line_2", "ol_supply_w_id, ol_i_id", Table::Stock, "s_w_id, s_i_id"),
            ],
        ),
    };
    let changes: Vec<String> = indexes.into_iter().chain(keys.into_iter().flatten()).collect();
    (!changes.is_empty()).then(|| format!("ALTER TABLE {}{set} {}", table.name(), changes.join(", ")))
}
