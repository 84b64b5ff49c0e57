//! Whether a schema holds what the workload needs.

use flatwater_core::workload::tpcc::population::Table;

use crate::database::connection::{Connection, SqlError};
use crate::database::load::require_finished;

/// No database selected; unknown database.
const NO_SCHEMA: [u16; 2] = [1046, 1049];
/// Table does not exist.
const ER_NO_SUCH_TABLE: u16 = 1146;

/// Looks whether tpcc-mysql's tables are there, filled for as many warehouses as asked for.
///
/// # Errors
/// What is missing, one line.
pub fn check(connection: &mut Connection, warehouses: u32) -> Result<(), String> {
    require_finished(connection)?;
    let mut missing = Vec::new();
    for table in Table::ALL {
        match connection.query(&format!("SELECT 1 FROM {} LIMIT 1", table.name())) {
            Ok(_) if connection.rows().is_empty() && table != Table::NewOrders => {
                return Err(format!("table {} is empty: the schema was not loaded to its end", table.name()));
            }
            Ok(_) => {}
            Err(SqlError::Server { code, .. }) if NO_SCHEMA.contains(&code) => {
                return Err("there is no schema to look for TPC-C's tables in".into());
            }
            Err(error) if error.is(ER_NO_SUCH_TABLE) => missing.push(table.name()),
            Err(error) => return Err(format!("table {} cannot be read: {error}", table.name())),
        }
    }
    if missing.len() == Table::ALL.len() {
        return Err("the schema holds no data of this workload: TPC-C's tables are missing".into());
    }
    if !missing.is_empty() {
        return Err(format!("the schema lacks tables of this workload: {}", missing.join(", ")));
    }
    let has = count(connection, "SELECT COUNT(*) FROM warehouse WHERE w_id > 0")?;
    if has < i64::from(warehouses) {
        return Err(format!("the schema has {has} warehouses, workload.warehouses asks for {warehouses}"));
    }
    Ok(())
}

fn count(connection: &mut Connection, sql: &str) -> Result<i64, String> {
    connection.query(sql).map_err(|error| format!("the schema cannot be read: {error}"))?;
    Ok(connection.rows().int(0, 0).unwrap_or(0))
}
