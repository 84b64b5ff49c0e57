//! How a prepared statement is executed: its parameters in the binary protocol.

use super::value::Value;
use crate::database::wire::{COM_STMT_EXECUTE, column, put_bytes};

/// The payload that executes a statement. `bound` are the types of the parameters that were sent last.
pub(super) fn write_execution(out: &mut Vec<u8>, statement: u32, bound: &mut Vec<u8>, values: &[Value<'_>]) {
    out.push(COM_STMT_EXECUTE);
    out.extend_from_slice(&statement.to_le_bytes());
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    if values.is_empty() {
        return;
    }
    let nulls = out.len();
    out.resize(nulls + values.len().div_ceil(8), 0);
    // NULL has no type of its own: it goes with any that was bound before.
    let fits = |(value, bound): (&Value<'_>, &u8)| value.column_type().is_none_or(|kind| kind == *bound);
    if bound.len() == values.len() && values.iter().zip(bound.iter()).all(fits) {
        out.push(0);
    } else {
        bound.clear();
        bound.extend(values.iter().map(|value| value.column_type().unwrap_or(column::STRING)));
        out.push(1);
        for kind in &*bound {
            out.extend_from_slice(&[*kind, 0]);
        }
    }
    for (place, value) in values.iter().enumerate() {
        match value {
            Value::Null => out[nulls + place / 8] |= 1 << (place % 8),
            Value::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::Bytes(bytes) => put_bytes(out, bytes),
        }
    }
}
