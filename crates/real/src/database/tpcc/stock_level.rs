//! Stock-Level.

use flatwater_core::workload::tpcc::inputs::StockLevel;

use super::session::{Session, Sql, commit, int, missing};
use crate::database::connection::{Connection, SqlError, Value};
use crate::database::terminal::Outcome;

/// What a Stock-Level reads.
#[derive(Default)]
pub struct Items {
    /// The order that the district takes next.
    next_order: Option<i64>,
    /// The items of its latest orders.
    recent: Vec<i64>,
}

impl Items {
    /// Runs the transaction.
    pub(super) fn run(
        &mut self,
        session: &Session,
        connection: &mut Connection,
        input: &StockLevel,
    ) -> Result<Outcome, SqlError> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        session.round(
            connection,
            self,
            1,
            |_, connection, _| connection.queue_execute(session.statement(Sql::NextOrder), &[district, warehouse]),
            |own, rows, _, _| {
                own.next_order = rows.int(0, 0);
                Ok(())
            },
        )?;
        let next = Value::Int(self.next_order.ok_or_else(|| missing("a district"))?);
        session.round(
            connection,
            self,
            1,
            |_, connection, _| {
                connection.queue_execute(session.statement(Sql::RecentItems), &[warehouse, district, next, next]);
            },
            |own, rows, _, _| {
                own.recent.clear();
                own.recent.extend((0..rows.len()).filter_map(|row| rows.int(row, 0)));
                Ok(())
            },
        )?;
        let count = self.recent.len();
        session.round(
            connection,
            self,
            count,
            |own, connection, step| {
                let values = [warehouse, Value::Int(own.recent[step]), int(input.threshold)];
                connection.queue_execute(session.statement(Sql::CountLowStock), &values);
            },
            |_, _, _, _| Ok(()),
        )?;
        commit(connection)
    }
}
