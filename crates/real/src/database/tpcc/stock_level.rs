//! Stock-Level.

use flatwater_core::workload::tpcc::inputs::StockLevel;

use super::session::{Session, Sql, commit, int, missing};
use crate::database::connection::{Connection, SqlError, Value};
use crate::database::terminal::Outcome;

impl Session {
    pub(super) fn stock_level(&mut self, connection: &mut Connection, input: &StockLevel) -> Result<Outcome, SqlError> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        let mut next = None;
        self.round(
            connection,
            1,
            |own, connection, _| connection.queue_execute(own.statement(Sql::NextOrder), &[district, warehouse]),
            |_, rows, _, _| {
                next = rows.int(0, 0);
                Ok(())
            },
        )?;
        let next = Value::Int(next.ok_or_else(|| missing("a district"))?);
        self.round(
            connection,
            1,
            |own, connection, _| {
                connection.queue_execute(own.statement(Sql::RecentItems), &[warehouse, district, next, next]);
            },
            |own, rows, _, _| {
                own.items.clear();
                own.items.extend((0..rows.len()).filter_map(|row| rows.int(row, 0)));
                Ok(())
            },
        )?;
        self.round(
            connection,
            self.items.len(),
            |own, connection, step| {
                let values = [warehouse, Value::Int(own.items[step]), int(input.threshold)];
                connection.queue_execute(own.statement(Sql::CountLowStock), &values);
            },
            |_, _, _, _| Ok(()),
        )?;
        commit(connection)
    }
}
