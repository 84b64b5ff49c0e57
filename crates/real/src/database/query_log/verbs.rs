//! What statements do, by their words.

use flatwater_core::workload::sql::effect;

/// What an XA statement does, in capitals; empty for another statement.
pub(super) fn xa_verb(sql: &[u8]) -> String {
    let mut words = effect::words_of(sql);
    if words.next().is_some_and(|word| word == "XA") { words.next().unwrap_or_default() } else { String::new() }
}

/// Whether a statement does the same whichever schema is open: what follows it in another schema relies on it.
pub(super) fn needs_no_schema(sql: &[u8]) -> bool {
    match effect::verb(sql).as_str() {
        "USE" | "START" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" | "XA" => true,
        // MariaDB's BEGIN NOT ATOMIC is a program.
        "BEGIN" => effect::reads(sql),
        // Its value may be a query, and MariaDB's SET STATEMENT runs one.
        "SET" => !sql.contains(&b'(') && effect::words_of(sql).all(|word| word != "STATEMENT"),
        _ => false,
    }
}
