//! One session that runs the user's transactions.

use std::sync::Arc;

use flatwater_core::seed::{Rng, stream};
use flatwater_core::workload::sql::draw::{Drawn, weighted};
use rand::Rng as _;

use super::cell::first_value;
use super::literal::push_literal;
use super::spec::Pause;
use super::work::{Work, at};
use crate::database::connection::{Connection, SqlError, Statement as Prepared, Value};
use crate::database::terminal::{Choice, Outcome, Terminal};
use crate::database::tpcc::Clock;

/// A longer statement does not fit into a packet, with what stands around it.
const STATEMENT_BYTES_MAX: usize = (1 << 24) - 1024;

/// One user of the database.
pub struct Session {
    work: Arc<Work>,
    rng: Rng,
    /// The chosen transaction.
    chosen: usize,
    /// Statements of it that are done for good (without a transaction around them).
    done: usize,
    /// The values of all parameters, of which a transaction draws its own.
    values: Vec<Drawn>,
    /// The statements of each transaction as the connection has prepared them.
    prepared: Vec<Vec<Option<Prepared>>>,
    /// Whether strings of this connection have escapes.
    backslashes: bool,
    clock: Clock,
    sql: Vec<u8>,
}

impl Session {
    /// The session with this number. What it draws follows from the seed, but for sequences, which all share.
    pub fn new(work: Arc<Work>, number: u64, seed: u64) -> Self {
        Self {
            values: vec![Drawn::Null; work.draws.len()],
            work,
            rng: stream(seed, "sql", number),
            chosen: 0,
            done: 0,
            prepared: Vec::new(),
            backslashes: true,
            clock: Clock::default(),
            sql: Vec::new(),
        }
    }

    fn run(&mut self, connection: &mut Connection, number: usize) -> Result<(), SqlError> {
        let Self { work, values, prepared, sql, backslashes, .. } = self;
        let statement = &work.transactions[self.chosen].statements[number];
        match &prepared[self.chosen][number] {
            Some(known) => {
                let own: Vec<Value<'_>> = statement.parameters.iter().map(|&place| value(&values[place])).collect();
                connection.queue_execute(known, &own);
            }
            None => {
                sql.clear();
                for (place, piece) in statement.text.pieces.iter().enumerate() {
                    if let Some(parameter) = place.checked_sub(1) {
                        push_literal(sql, &values[statement.parameters[parameter]], *backslashes);
                    }
                    sql.extend_from_slice(piece.as_bytes());
                }
                if sql.len() > STATEMENT_BYTES_MAX {
                    let message = format!("{}: the statement is longer than 16 MiB", statement.place);
                    return Err(SqlError::Protocol(message));
                }
                connection.queue_query(sql);
            }
        }
        connection.reply().map_err(|error| at(&statement.place, error))?;
        for (place, column) in &statement.finds {
            let known = statement.find(column, connection.names())?;
            values[*place] = first_value(connection.rows(), known);
        }
        Ok(())
    }
}

/// A value as a prepared statement takes it.
fn value(drawn: &Drawn) -> Value<'_> {
    match drawn {
        Drawn::Null | Drawn::Now => Value::Null,
        Drawn::Int(value) => Value::Int(*value),
        Drawn::Double(value) => Value::Double(*value),
        Drawn::Text(text) => Value::Bytes(text),
    }
}

impl Pause {
    /// The next one, ns.
    fn draw_ns(&self, rng: &mut Rng) -> u64 {
        let seconds = match self {
            Self::Constant { seconds } => *seconds,
            Self::Uniform { min_s, max_s } => min_s + (max_s - min_s) * rng.random::<f64>(),
            Self::Exponential { mean_s, max_s } => (-libm::log(1.0 - rng.random::<f64>()) * mean_s).min(*max_s),
        };
        (seconds * 1e9) as u64
    }
}

impl Terminal for Session {
    fn attach(&mut self, connection: &mut Connection) -> Result<(), SqlError> {
        self.work.set_up(connection)?;
        connection.query("SELECT @@SESSION.sql_mode")?;
        let modes = connection.rows().bytes(0, 0).unwrap_or_default();
        self.backslashes = !String::from_utf8_lossy(modes).contains("NO_BACKSLASH_ESCAPES");
        self.prepared.clear();
        for transaction in &self.work.transactions {
            let mut own = Vec::new();
            for statement in &transaction.statements {
                own.push(if statement.prepared { statement.prepare(connection)? } else { None });
            }
            self.prepared.push(own);
        }
        Ok(())
    }

    fn choose(&mut self) -> Choice {
        let Self { work, rng, values, clock, .. } = self;
        self.chosen = weighted(rng, &work.cumulative);
        self.done = 0;
        let transaction = &work.transactions[self.chosen];
        for &place in &transaction.drawn {
            values[place] = match work.draws[place].next(rng, &work.sequences) {
                Drawn::Now => Drawn::Text(clock.now().to_vec()),
                drawn => drawn,
            };
        }
        Choice { kind: self.chosen, keying_ns: 0, think_ns: transaction.think.draw_ns(rng) }
    }

    fn attempt(&mut self, connection: &mut Connection) -> Result<Outcome, SqlError> {
        let transaction = &self.work.transactions[self.chosen];
        let (autocommit, count) = (transaction.autocommit, transaction.statements.len());
        if !autocommit {
            connection.query("BEGIN")?;
        }
        for number in self.done..count {
            self.run(connection, number)?;
            if autocommit {
                self.done = number + 1;
            }
        }
        if !autocommit {
            connection.commit()?;
        }
        Ok(Outcome::Committed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_keep_their_limits() {
        let mut rng = stream(1, "test", 0);
        let mut mean = 0.0;
        for _ in 0..10_000 {
            let uniform = Pause::Uniform { min_s: 0.5, max_s: 1.5 }.draw_ns(&mut rng);
            assert!((500_000_000..=1_500_000_000).contains(&uniform));
            let exponential = Pause::Exponential { mean_s: 1.0, max_s: 10.0 }.draw_ns(&mut rng);
            assert!(exponential <= 10_000_000_000);
            mean += exponential as f64 / 1e9 / 10_000.0;
        }
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
        assert_eq!(Pause::Constant { seconds: 0.25 }.draw_ns(&mut rng), 250_000_000);
    }
}
