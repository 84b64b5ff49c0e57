//! The workload of one server as its sessions share it: statements that were read once, and sequences.

use flatwater_core::workload::sql::draw::{Draw, Sequences};
use flatwater_core::workload::sql::source::Source;
use flatwater_core::workload::sql::text;

use super::spec::{Pause, SqlSpec};
use crate::database::connection::{Connection, SqlError, Statement as Prepared};
use crate::database::load::require_finished;
use crate::database::read_only::make_read_only;

/// "This command is not supported in the prepared statement protocol yet": it is sent as text.
const ER_UNSUPPORTED_PS: u16 = 1295;
/// ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: a guarded session found a function that writes.
const ER_READ_ONLY_TRANSACTION: u16 = 1792;

/// ER_BAD_FIELD_ERROR: there is no such column.
const ER_BAD_FIELD: u16 = 1054;

/// A statement that was read.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) text: text::Statement,
    /// For each parameter of the text, its place among all parameters.
    pub(super) parameters: Vec<usize>,
    pub(super) prepared: bool,
    /// Parameters that are columns of its first row, by their places, and the names of the columns.
    pub(super) finds: Vec<(usize, String)>,
    /// Where it stands, for messages.
    pub(super) place: String,
}

impl Statement {
    /// Prepares it; None where the server can only take it as text.
    pub(super) fn prepare(&self, connection: &mut Connection) -> Result<Option<Prepared>, SqlError> {
        match connection.prepare(&self.text.with_placeholders()) {
            Ok(prepared) => {
                // Not all servers tell them of all statements before they run.
                if !connection.names().is_empty() {
                    for (_, column) in &self.finds {
                        self.find(column, connection.names())?;
                    }
                }
                Ok(Some(prepared))
            }
            Err(error) if error.is(ER_UNSUPPORTED_PS) => Ok(None),
            Err(error) => Err(at(&self.place, error)),
        }
    }

    /// The place of a column in its result.
    ///
    /// # Errors
    /// ER_BAD_FIELD_ERROR: it has no such column.
    pub(super) fn find(&self, column: &str, names: &[String]) -> Result<usize, SqlError> {
        names.iter().position(|name| name.eq_ignore_ascii_case(column)).ok_or_else(|| {
            let message = format!("its result has no column {column}");
            at(&self.place, SqlError::Server { code: ER_BAD_FIELD, message })
        })
    }
}

/// A transaction that was read.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) autocommit: bool,
    pub(super) think: Pause,
    pub(super) statements: Vec<Statement>,
    /// The places of the parameters that it draws.
    pub(super) drawn: Vec<usize>,
}

/// The workload of one server.
#[derive(Debug)]
pub struct Work {
    pub(super) transactions: Vec<Transaction>,
    /// The weights, summed up from the first on.
    pub(super) cumulative: Vec<f64>,
    pub(super) draws: Vec<Draw>,
    pub(super) sequences: Sequences,
    pub(super) on_connect: Vec<String>,
    pub(super) read_only: bool,
}

impl Work {
    /// Reads the workload, and tries its statements on a server: each is prepared once, so that a misspelt one is found
    /// before anything runs.
    ///
    /// # Errors
    /// What is wrong and where, one line.
    pub fn open(spec: &SqlSpec, connection: &mut Connection) -> Result<Self, String> {
        require_finished(connection)?;
        let work = Self::read(spec)?;
        // First of all: what a sequence starts from may call a function that writes.
        work.set_up(connection).map_err(|error| error.to_string())?;
        for (place, parameter) in spec.parameters.iter().enumerate() {
            if let Source::Sequence { start_from: Some(sql), .. } = &parameter.source {
                let field = format!("workload.parameters.{}.start_from", parameter.name);
                connection.query(sql).map_err(|error| at(&field, error).to_string())?;
                let Some(start) = connection.rows().bytes(0, 0).and_then(whole_number) else {
                    // MAX of no rows is NULL.
                    return Err(format!(
                        "{field}: its first value is no whole number (hint: SELECT COALESCE(MAX(id), 0) + 1 FROM t)"
                    ));
                };
                work.sequences.begin(place, start);
            }
        }
        for statement in work.transactions.iter().flat_map(|transaction| &transaction.statements) {
            if statement.prepared {
                statement.prepare(connection).map_err(|error| {
                    let hint = if error.is(ER_READ_ONLY_TRANSACTION) {
                        "workload.allow_writes = true, if this server's data may change"
                    } else if error.is(ER_BAD_FIELD) {
                        "the name of a column as its table or its result has it"
                    } else {
                        "what cannot be prepared before the transaction runs is sent with prepared = false"
                    };
                    format!("{error} (hint: {hint})")
                })?;
            }
        }
        Ok(work)
    }

    fn read(spec: &SqlSpec) -> Result<Self, String> {
        let sources: Vec<&Source> = spec.parameters.iter().map(|parameter| &parameter.source).collect();
        let mut draws = Vec::new();
        for (place, parameter) in spec.parameters.iter().enumerate() {
            let draw = Draw::new(&sources, place);
            draws.push(draw.map_err(|what| format!("workload.parameters.{}: {what}", parameter.name))?);
        }
        let mut transactions = Vec::new();
        let (mut cumulative, mut sum) = (Vec::new(), 0.0);
        for transaction in &spec.transactions {
            sum += transaction.weight;
            cumulative.push(sum);
            let mut statements = Vec::new();
            for (number, one) in transaction.statements.iter().enumerate() {
                let place = format!("workload.transactions.{}.statements.{number}", transaction.name);
                let text = text::Statement::read(&one.sql)
                    .map_err(|(what, hint)| format!("{place}: {what} (hint: {hint})"))?;
                let place_of = |name: &String| spec.parameters.iter().position(|known| known.name == *name);
                let parameters: Option<Vec<usize>> = text.parameters.iter().map(place_of).collect();
                let parameters = parameters.ok_or_else(|| format!("{place}: it has an unknown parameter"))?;
                let finds = finds(spec, &one.name);
                statements.push(Statement { text, parameters, prepared: one.prepared, finds, place });
            }
            let mut drawn: Vec<usize> = statements.iter().flat_map(|one| one.parameters.clone()).collect();
            drawn.sort_unstable();
            drawn.dedup();
            let (autocommit, think) = (transaction.autocommit, transaction.think.clone());
            transactions.push(Transaction { autocommit, think, statements, drawn });
        }
        let sequences = Sequences::new(sources.into_iter());
        let (on_connect, read_only) = (spec.on_connect.clone(), spec.read_only);
        Ok(Self { transactions, cumulative, draws, sequences, on_connect, read_only })
    }

    /// Sets a new session up.
    ///
    /// # Errors
    /// What the server answers.
    pub(super) fn set_up(&self, connection: &mut Connection) -> Result<(), SqlError> {
        connection.keep_names();
        // What is not looked at is not kept, however much it is.
        connection.keep_rows(1);
        connection.query("SET SESSION autocommit = 1")?;
        if self.read_only {
            make_read_only(connection)?;
        }
        for (number, sql) in self.on_connect.iter().enumerate() {
            connection.query(sql).map_err(|error| at(&format!("workload.on_connect.{number}"), error))?;
        }
        Ok(())
    }
}

/// A whole number as a text reply has it, also as a decimal (`7.00`), with room for steps.
fn whole_number(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number: i64 = whole.parse().ok().filter(|_| fraction.bytes().all(|digit| digit == b'0'))?;
    (number.unsigned_abs() <= 1 << 62).then_some(number)
}

/// The parameters that are columns of the statement of this name.
fn finds(spec: &SqlSpec, name: &str) -> Vec<(usize, String)> {
    let sources = spec.parameters.iter().map(|parameter| &parameter.source).enumerate();
    sources
        .filter_map(|(place, source)| match source {
            Source::Column { statement, column } if !name.is_empty() && statement == name => {
                Some((place, column.clone()))
            }
            _ => None,
        })
        .collect()
}

/// A server's error with the place of the statement in the experiment.
pub(super) fn at(place: &str, error: SqlError) -> SqlError {
    match error {
        SqlError::Server { code, message } => SqlError::Server { code, message: format!("{place}: {message}") },
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_starts_from_a_whole_number() {
        for (text, number) in [("7", 7), ("-7", -7), ("7.00", 7), ("4611686018427387904", 1 << 62)] {
            assert_eq!(whole_number(text.as_bytes()), Some(number));
        }
        for text in ["", "abc", "1.5", "1e3", "7.x", "9223372036854775807", "99999999999999999999", "2026-01-01"] {
            assert_eq!(whole_number(text.as_bytes()), None, "{text}");
        }
    }
}
