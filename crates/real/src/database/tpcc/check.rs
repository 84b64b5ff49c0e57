//! Whether a schema holds what the workload needs.

use flatwater_core::workload::tpcc::Variant;
use flatwater_core::workload::tpcc::population::Table;

use super::{TpccSpec, layout, tproc_c};

use crate::database::connection::{Connection, SqlError};
use crate::database::load::require_finished;

/// No database selected; unknown database.
const NO_SCHEMA: [u16; 2] = [1046, 1049];
/// Table does not exist.
const ER_NO_SUCH_TABLE: u16 = 1146;

/// Looks whether the tables of the workload's variant are there, filled for as many warehouses as asked for.
///
/// # Errors
/// What is missing, one line.
pub fn check(connection: &mut Connection, spec: &TpccSpec) -> Result<(), String> {
    require_finished(connection)?;
    let (variant, warehouses) = (&spec.variant, spec.warehouses);
    let sets = 1..=variant.table_sets();
    let tables = sets.clone().flat_map(|set| Table::ALL.map(|table| (table, layout::name(variant, table, set))));
    let tables: Vec<(Table, String)> = tables.collect();
    let mut missing = Vec::new();
    for (table, name) in &tables {
        match connection.query(&format!("SELECT 1 FROM {name} LIMIT 1")) {
            Ok(_) if connection.rows().is_empty() && *table != Table::NewOrders => {
                return Err(format!("table {name} is empty: the schema was not loaded to its end"));
            }
            Ok(_) => {}
            Err(SqlError::Server { code, .. }) if NO_SCHEMA.contains(&code) => {
                return Err("there is no schema to look for TPC-C's tables in".into());
            }
            Err(error) if error.is(ER_NO_SUCH_TABLE) => missing.push(name.as_str()),
            Err(error) => return Err(format!("table {name} cannot be read: {error}")),
        }
    }
    if missing.len() == tables.len() {
        return Err("the schema holds no data of this workload: TPC-C's tables are missing".into());
    }
    if !missing.is_empty() {
        return Err(format!("the schema lacks tables of this workload: {}", missing.join(", ")));
    }
    for set in sets {
        let name = layout::name(variant, Table::Warehouse, set);
        let has = count(connection, &format!("SELECT COUNT(*) FROM {name} WHERE w_id > 0"))?;
        if has < i64::from(warehouses) {
            return Err(format!("the schema has {has} warehouses, workload.warehouses asks for {warehouses}"));
        }
    }
    if matches!(variant, Variant::TprocC { .. }) { tproc_c::check(connection) } else { Ok(()) }
}

fn count(connection: &mut Connection, sql: &str) -> Result<i64, String> {
    connection.query(sql).map_err(|error| format!("the schema cannot be read: {error}"))?;
    Ok(connection.rows().int(0, 0).unwrap_or(0))
}
