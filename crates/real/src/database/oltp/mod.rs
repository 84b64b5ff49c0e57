//! sysbench's OLTP on a server: the statements of sysbench 1.0.20 byte for byte, sent one by one as it does, or back
//! to back.

mod check;
mod data;

use std::io::Write as _;

use flatwater_core::workload::oltp::{Generator, Mode, Statement as Kind, Step, Text};

pub use check::check;
pub use data::OltpData;
pub use flatwater_core::workload::oltp::OltpSpec;

use super::connection::{Connection, SqlError, Statement, Value};
use super::terminal::{Choice, Outcome, Terminal};

/// Kinds of transactions, for their counts and latencies.
pub const KINDS: [&str; 1] = ["transaction"];

/// "This command is not supported in the prepared statement protocol yet": MySQL's answer to a prepared BEGIN, where
/// sysbench sends text instead, and so do we.
const ER_UNSUPPORTED_PS: u16 = 1295;

/// So many statements are sent before their replies are read. A batch (at most 300 bytes a statement) fits into the
/// sockets' buffers, so that a server that waits for its replies to be read never makes us wait too.
const BATCH: usize = 64;

/// One of sysbench's threads.
pub struct Oltp {
    generator: Generator,
    spec: OltpSpec,
    begin: Ready,
    commit: Ready,
    /// The statements of each table, by `Kind`.
    tables: Vec<[Ready; Kind::COUNT]>,
    /// The last text statement.
    sql: Vec<u8>,
}

/// A statement as it is sent.
#[derive(Clone, Debug, Default)]
struct Ready {
    /// Its text, where that is sent.
    sql: String,
    prepared: Option<Statement>,
}

impl Ready {
    fn new(connection: &mut Connection, sql: String, prepare: bool) -> Result<Self, SqlError> {
        let prepared = if prepare {
            match connection.prepare(&sql) {
                Ok(statement) => Some(statement),
                Err(error) if error.is(ER_UNSUPPORTED_PS) => None,
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        Ok(Self { sql: if prepared.is_some() { String::new() } else { sql }, prepared })
    }

    fn queue(&self, connection: &mut Connection, values: &[Value<'_>], sql: &mut Vec<u8>) {
        match &self.prepared {
            Some(statement) => connection.queue_execute(statement, values),
            None => {
                fill_in(&self.sql, values, sql);
                connection.queue_query(sql);
            }
        }
    }
}

/// Writes a statement with values in place of its question marks, numbers bare and strings in quotes: sysbench's
/// statements need no escapes.
fn fill_in(statement: &str, values: &[Value<'_>], sql: &mut Vec<u8>) {
    sql.clear();
    let mut values = values.iter();
    for piece in statement.split_inclusive('?') {
        let Some(piece) = piece.strip_suffix('?') else {
            sql.extend_from_slice(piece.as_bytes());
            break;
        };
        sql.extend_from_slice(piece.as_bytes());
        // Writing to a Vec cannot fail.
        let _ = match values.next() {
            Some(Value::Int(value)) => write!(sql, "{value}"),
            Some(Value::Double(value)) => write!(sql, "{value}"),
            Some(Value::Bytes(bytes)) => {
                sql.push(b'\'');
                sql.extend_from_slice(bytes);
                sql.write_all(b"'")
            }
            Some(Value::Null) | None => write!(sql, "NULL"),
        };
    }
}

fn queue_step(connection: &mut Connection, ready: &Ready, step: &Step, texts: &[Text], sql: &mut Vec<u8>) {
    let (id, other) = (Value::Int(step.id), Value::Int(step.other));
    match step.statement {
        Kind::PointSelect | Kind::IndexUpdate | Kind::Delete => ready.queue(connection, &[id], sql),
        Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange => {
            ready.queue(connection, &[id, other], sql);
        }
        Kind::NonIndexUpdate => ready.queue(connection, &[Value::Bytes(&texts[step.text].c), id], sql),
        Kind::Insert => {
            let Text { c, pad } = &texts[step.text];
            ready.queue(connection, &[id, other, Value::Bytes(c), Value::Bytes(pad)], sql);
        }
    }
}

impl Oltp {
    /// The terminal with this number. All that it asks for follows from the seed.
    pub fn new(spec: &OltpSpec, terminal: u64, seed: u64) -> Self {
        Self {
            generator: Generator::new(spec, terminal, seed),
            spec: spec.clone(),
            begin: Ready::default(),
            commit: Ready::default(),
            tables: Vec::new(),
            sql: Vec::new(),
        }
    }
}

impl Terminal for Oltp {
    fn attach(&mut self, connection: &mut Connection) -> Result<(), SqlError> {
        // sysbench's oltp_insert sends text whatever --db-ps-mode says.
        let prepare = self.spec.prepared && self.spec.mode != Mode::Insert;
        if self.spec.has_transaction() {
            if self.spec.pipeline {
                connection.query("SET autocommit=0")?;
            } else {
                self.begin = Ready::new(connection, "BEGIN".into(), prepare)?;
            }
            self.commit = Ready::new(connection, "COMMIT".into(), prepare)?;
        }
        self.tables = vec![Default::default(); self.spec.tables as usize];
        for kind in self.spec.statements() {
            for (table, ready) in (1..).zip(&mut self.tables) {
                ready[kind as usize] = Ready::new(connection, kind.sql(table), prepare)?;
            }
        }
        Ok(())
    }

    fn choose(&mut self) -> Choice {
        self.generator.advance();
        Choice { kind: 0, keying_ns: 0, think_ns: 0 }
    }

    fn attempt(&mut self, connection: &mut Connection) -> Result<Outcome, SqlError> {
        let Self { generator, spec, begin, commit, tables, sql } = self;
        let transaction = spec.has_transaction();
        if transaction && !spec.pipeline {
            begin.queue(connection, &[], sql);
            connection.reply()?;
        }
        let batch = if spec.pipeline { BATCH } else { 1 };
        for steps in generator.steps().chunks(batch) {
            for step in steps {
                let ready = &tables[step.table as usize - 1][step.statement as usize];
                queue_step(connection, ready, step, generator.texts(), sql);
            }
            // All replies are read, good or bad. After a bad one nothing more is sent, COMMIT least of all.
            connection.finish()?;
        }
        if transaction {
            commit.queue(connection, &[], sql);
            connection.reply_to_commit()?;
        }
        Ok(Outcome::Committed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_is_read_and_unknown_fields_are_not() {
        let text = r#"{"mode": "read_only", "tables": 1, "rows": 10, "range_size": 100,
            "distribution": {"kind": "special", "iterations": 12, "pct": 1, "res": 75},
            "point_selects": 10, "simple_ranges": 1, "sum_ranges": 1, "order_ranges": 1, "distinct_ranges": 1,
            "index_updates": 1, "non_index_updates": 1, "delete_inserts": 1, "range_selects": true, "skip_trx": false,
            "auto_inc": true, "secondary": false, "prepared": true, "pipeline": false}"#;
        serde_json::from_str::<OltpSpec>(text).expect("a specification").validate().expect("that makes sense");
        assert!(serde_json::from_str::<OltpSpec>(&text.replace("secondary", "second")).is_err());
        assert!(serde_json::from_str::<OltpSpec>(&text.replace("\"res\"", "\"rest\"")).is_err());
    }

    #[test]
    fn text_statements_are_sysbenchs_to_the_byte() {
        let mut sql = Vec::new();
        let (one, two) = (Value::Int(11), Value::Int(-110));
        let text = |bytes| Value::Bytes(bytes);
        for (kind, values, expected) in [
            (Kind::PointSelect, vec![one], "SELECT c FROM sbtest2 WHERE id=11"),
            (
                Kind::OrderRange,
                vec![one, Value::Int(110)],
                "SELECT c FROM sbtest2 WHERE id BETWEEN 11 AND 110 ORDER BY c",
            ),
            (Kind::IndexUpdate, vec![one], "UPDATE sbtest2 SET k=k+1 WHERE id=11"),
            (Kind::NonIndexUpdate, vec![text(b"012-345"), one], "UPDATE sbtest2 SET c='012-345' WHERE id=11"),
            (Kind::Delete, vec![two], "DELETE FROM sbtest2 WHERE id=-110"),
            (
                Kind::Insert,
                vec![two, one, text(b"012-345"), text(b"678")],
                "INSERT INTO sbtest2 (id, k, c, pad) VALUES (-110, 11, '012-345', '678')",
            ),
        ] {
            fill_in(&kind.sql(2), &values, &mut sql);
            assert_eq!(String::from_utf8_lossy(&sql), expected);
        }
        fill_in("COMMIT", &[], &mut sql);
        assert_eq!(sql, b"COMMIT");
    }
}
