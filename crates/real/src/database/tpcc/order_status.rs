//! Order-Status.

use flatwater_core::workload::tpcc::inputs::Customer;

use super::session::{Session, Sql, commit, int, missing};
use crate::database::connection::{Connection, SqlError, Value};
use crate::database::terminal::Outcome;

/// Runs the transaction.
pub(super) fn order_status(
    session: &Session,
    connection: &mut Connection,
    who: &Customer,
) -> Result<Outcome, SqlError> {
    let (warehouse, district, number) = (int(who.warehouse), int(who.district), int(who.number));
    let (mut order, asks) = (None, if who.last.is_some() { 2 } else { 1 });
    session.round(
        connection,
        &mut order,
        asks + 1,
        |_, connection, step| match &who.last {
            _ if step == asks => {
                let values = [warehouse, district, number, warehouse, district, number];
                connection.queue_execute(session.statement(Sql::LastOrder), &values);
            }
            Some(last) => {
                let sql = if step == 0 { Sql::StatusCountByName } else { Sql::StatusByName };
                let values = [warehouse, district, Value::Bytes(last.as_bytes())];
                connection.queue_execute(session.statement(sql), &values);
            }
            None => {
                connection.queue_execute(session.statement(Sql::StatusByNumber), &[warehouse, district, number]);
            }
        },
        |order, rows, _, step| {
            if step == asks {
                *order = rows.int(0, 0);
            }
            Ok(())
        },
    )?;
    let order = Value::Int(order.ok_or_else(|| missing("a customer's order"))?);
    session.round(
        connection,
        &mut (),
        1,
        |_, connection, _| {
            connection.queue_execute(session.statement(Sql::OrderLines), &[warehouse, district, order]);
        },
        |_, _, _, _| Ok(()),
    )?;
    commit(connection)
}
