//! A schema that the user's own statements make and fill.

use std::sync::atomic::Ordering::SeqCst;

use flatwater_core::seed::{Rng, stream};
use flatwater_core::workload::sql::draw::{Draw, Drawn, Sequences};
use flatwater_core::workload::sql::source::Parameter;
use flatwater_core::workload::sql::text::Statement;

use super::job::Job;
use super::marks::{self, quoted};
use super::script::Script;
use super::setup::{SetupSpec, SetupStatement};
use crate::database::connection::{Connection, SqlError, Value};
use crate::database::tpcc::Clock;

/// Executions of a statement that are committed together.
const COMMIT_EVERY: u64 = 1000;
/// The step of a setup that was begun.
const BEGUN: &str = "begun";

/// Runs the setup in its schema, which `control` has taken. What an earlier attempt left is dropped where it is
/// flatwater's own.
///
/// # Errors
/// What failed and where, one line.
pub(super) fn run(job: &Job, control: &mut Connection, setup: &SetupSpec, done: &marks::Done) -> Result<(), String> {
    let cut_short = |error: SqlError| format!("the schema cannot be marked: {error}");
    if done.iter().any(|(step, _)| step == BEGUN) {
        if !setup.own {
            let schema = &job.schema;
            return Err(format!("the setup of schema {schema} was cut short: drop the schema, and load it again"));
        }
        let schema = quoted(&job.schema);
        for sql in [format!("DROP DATABASE {schema}"), format!("CREATE DATABASE {schema}"), format!("USE {schema}")] {
            control.query(&sql).map_err(cut_short)?;
        }
        marks::begin(control, &job.spec.dataset.description()).map_err(cut_short)?;
    }
    marks::mark(control, BEGUN, 0, None).map_err(cut_short)?;
    let mut connection = Connection::open(&job.spec.login, job.stop.clone()).map_err(|error| error.to_string())?;
    connection.keep_rows(1);
    if let Some(path) = &setup.file {
        run_file(job, &mut connection, path).map_err(|what| format!("workload.setup_file: {what}"))?;
    }
    let mut runs = Runs::new(setup)?;
    for (number, one) in setup.statements.iter().enumerate() {
        runs.run(job, &mut connection, one).map_err(|what| format!("workload.setup.{number}: {what}"))?;
    }
    Ok(())
}

/// Runs statements of the setup, with values that are drawn anew for each time.
struct Runs<'a> {
    parameters: &'a [Parameter],
    draws: Vec<Draw>,
    sequences: Sequences,
    rng: Rng,
    clock: Clock,
}

impl<'a> Runs<'a> {
    fn new(setup: &'a SetupSpec) -> Result<Self, String> {
        let sources: Vec<_> = setup.parameters.iter().map(|parameter| &parameter.source).collect();
        let draws = (0..sources.len()).map(|place| Draw::new(&sources, place)).collect::<Result<_, _>>()?;
        let sequences = Sequences::new(sources.into_iter());
        let rng = stream(setup.seed, "setup", 0);
        Ok(Self { parameters: &setup.parameters, draws, sequences, rng, clock: Clock::default() })
    }

    fn run(&mut self, job: &Job, connection: &mut Connection, one: &SetupStatement) -> Result<(), String> {
        let told = |error: SqlError| error.to_string();
        let statement = Statement::read(&one.sql).map_err(|(what, hint)| format!("{what} (hint: {hint})"))?;
        if statement.parameters.is_empty() && one.times == 1 {
            connection.query(&one.sql).map_err(told)?;
            job.done_rows.fetch_add(1, SeqCst);
            return Ok(());
        }
        let known = |name: &String| self.parameters.iter().position(|parameter| parameter.name == *name);
        let places: Option<Vec<usize>> = statement.parameters.iter().map(known).collect();
        let places = places.ok_or("it has an unknown parameter")?;
        let prepared = connection.prepare(&statement.with_placeholders()).map_err(told)?;
        for execution in 0..one.times {
            if execution % COMMIT_EVERY == 0 {
                connection.query("BEGIN").map_err(told)?;
            }
            let drawn = self.draw(&places);
            let values: Vec<Value<'_>> = places.iter().map(|&place| value(drawn[place].as_ref())).collect();
            connection.execute(&prepared, &values).map_err(told)?;
            if (execution + 1) % COMMIT_EVERY == 0 || execution + 1 == one.times {
                connection.query("COMMIT").map_err(told)?;
            }
            job.done_rows.fetch_add(1, SeqCst);
        }
        Ok(())
    }

    /// New values at these places of the parameters.
    fn draw(&mut self, places: &[usize]) -> Vec<Option<Drawn>> {
        let mut drawn = vec![None; self.draws.len()];
        for &place in places {
            if drawn[place].is_none() {
                drawn[place] = Some(match self.draws[place].next(&mut self.rng, &self.sequences) {
                    Drawn::Now => Drawn::Text(self.clock.now().to_vec()),
                    value => value,
                });
            }
        }
        drawn
    }
}

fn run_file(job: &Job, connection: &mut Connection, path: &str) -> Result<(), String> {
    let mut script = Script::open(path.as_ref()).map_err(|error| format!("{path}: {error}"))?;
    loop {
        match script.next() {
            Ok(None) => break,
            Ok(Some(found)) => {
                connection.queue_query(&found.sql);
                connection.reply().map_err(|error| format!("{path}:{}: {error}", found.line))?;
            }
            Err((line, what)) => return Err(format!("{path}:{line}: {what}")),
        }
    }
    // The file may have changed the schema, or how the session reads SQL.
    *connection = Connection::open(&job.spec.login, job.stop.clone()).map_err(|error| error.to_string())?;
    connection.keep_rows(1);
    job.done_rows.fetch_add(1, SeqCst);
    Ok(())
}

fn value(drawn: Option<&Drawn>) -> Value<'_> {
    match drawn {
        Some(Drawn::Int(value)) => Value::Int(*value),
        Some(Drawn::Double(value)) => Value::Double(*value),
        Some(Drawn::Text(text)) => Value::Bytes(text),
        Some(Drawn::Null | Drawn::Now) | None => Value::Null,
    }
}
