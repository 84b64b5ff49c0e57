//! Whether a schema holds what a workload needs.

use flatwater_core::workload::oltp::OltpSpec;

use crate::database::connection::{Connection, SqlError};
use crate::database::load::require_finished;

/// No database selected; unknown database.
const NO_SCHEMA: [u16; 2] = [1046, 1049];
/// Table does not exist.
const ER_NO_SUCH_TABLE: u16 = 1146;
/// Unknown column.
const ER_BAD_FIELD: u16 = 1054;

/// Looks whether sbtest1 and on are there with as many rows as the workload asks for, by their largest ids: what costs
/// nothing however large the tables are.
///
/// # Errors
/// What is missing, one line.
pub fn check(connection: &mut Connection, spec: &OltpSpec) -> Result<(), String> {
    spec.validate()?;
    require_finished(connection)?;
    let tables = spec.tables;
    for table in 1..=tables {
        // The columns too: a table of this name may be another program's.
        let newest = connection.query(&format!("SELECT id, k, c, pad FROM sbtest{table} ORDER BY id DESC LIMIT 1"));
        newest.map_err(|error| match error {
            SqlError::Server { code, .. } if NO_SCHEMA.contains(&code) => {
                "there is no schema to look for sbtest1 in".to_owned()
            }
            SqlError::Server { code: ER_NO_SUCH_TABLE, .. } if table == 1 => {
                "sbtest1 is missing: the schema holds no data of this workload".to_owned()
            }
            SqlError::Server { code: ER_NO_SUCH_TABLE, .. } => {
                format!("sbtest{table} is missing: workload.tables asks for {}", grouped(tables.into()))
            }
            SqlError::Server { code: ER_BAD_FIELD, message } => {
                format!("sbtest{table} is not sysbench's table: {message}")
            }
            error => format!("sbtest{table} cannot be read: {error}"),
        })?;
        let rows = connection.rows().int(0, 0).and_then(|id| u64::try_from(id).ok()).unwrap_or(0);
        if rows < spec.loaded_rows() {
            let (has, wants) = (grouped(rows), grouped(spec.rows));
            return Err(format!("sbtest{table} has {has} rows, workload.rows asks for {wants}"));
        }
    }
    Ok(())
}

/// A number as it is read best: 1,000,000.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let numbers = [0, 999, 1_000, 12_345_678].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "12,345,678"]);
    }
}
