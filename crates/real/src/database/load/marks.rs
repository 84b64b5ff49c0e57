//! The table in which a load keeps what it has done, within the schema that it fills.

use std::collections::HashSet;

use crate::database::connection::{Connection, SqlError};

/// Its name.
pub const TABLE: &str = "flatwater_load";
/// The step whose note says what the data is.
const DATASET: &str = "dataset";
/// The step of a schema that is complete.
const COMPLETE: &str = "complete";

/// What is done: a step (a table's rows, the statements after them) and a part of it.
pub type Done = HashSet<(String, u64)>;

/// Why a schema is not filled.
#[derive(Debug)]
pub enum Refused {
    /// It must not be: why, in words.
    Because(String),
    /// The server's answer.
    Server(SqlError),
}

impl From<SqlError> for Refused {
    fn from(error: SqlError) -> Self {
        Self::Server(error)
    }
}

/// Takes the schema for this data set, making it if it is missing, and tells what an earlier load has done.
/// The connection must have no other schema open.
pub fn claim(connection: &mut Connection, schema: &str, description: &str) -> Result<Done, Refused> {
    let text = literal(schema);
    // Held as long as this session lives. Names of locks have at most 64 characters.
    let lock: String = format!("flatwater load {schema}").chars().take(64).collect();
    connection.query(&format!("SELECT GET_LOCK({}, 0)", literal(&lock)))?;
    if connection.rows().int(0, 0) != Some(1) {
        return Err(Refused::Because(format!("another load of schema {schema} is under way: wait for its end")));
    }
    connection.query(&format!("SELECT 1 FROM information_schema.schemata WHERE schema_name = {text}"))?;
    if connection.rows().is_empty() {
        connection.query(&format!("CREATE DATABASE {}", quoted(schema)))?;
    }
    connection.query(&format!("USE {}", quoted(schema)))?;
    connection.query(&format!(
        "SELECT CAST(table_name AS CHAR) FROM information_schema.tables WHERE table_schema = {text}"
    ))?;
    let tables: Vec<String> = (0..connection.rows().len()).filter_map(|row| cell(connection, row, 0)).collect();
    let ours = tables.iter().any(|table| table == TABLE);
    if let (false, Some(table)) = (ours, tables.first()) {
        return Err(Refused::Because(format!(
            "schema {schema} is not empty (it has a table {table}), and flatwater did not load it: choose another \
             schema, or drop this one"
        )));
    }
    if !ours {
        make(connection)?;
    }
    connection.query(&format!("SELECT note FROM {TABLE} WHERE step = '{DATASET}'"))?;
    match cell(connection, 0, 0) {
        Some(found) if found == description => {}
        Some(found) => {
            return Err(Refused::Because(format!(
                "schema {schema} holds another data set, {found}, not {description}: choose another schema, or drop \
                 this one"
            )));
        }
        // Its maker was killed before it wrote more; tables are made later.
        None if tables.iter().all(|table| table == TABLE) => {
            mark(connection, DATASET, 0, Some(description))?;
        }
        None => {
            return Err(Refused::Because(format!(
                "schema {schema} has a table {TABLE} that does not tell what was loaded: drop the schema"
            )));
        }
    }
    connection.query(&format!("SELECT step, part FROM {TABLE}"))?;
    let rows = connection.rows();
    let read = |row| Some((cell(connection, row, 0)?, u64::try_from(rows.int(row, 1)?).ok()?));
    Ok((0..rows.len()).filter_map(read).collect())
}

fn make(connection: &mut Connection) -> Result<(), SqlError> {
    connection.query(&format!(
        "CREATE TABLE {TABLE} (step VARCHAR(80) NOT NULL, part BIGINT NOT NULL, note TEXT, \
         PRIMARY KEY (step, part)) ENGINE=InnoDB"
    ))?;
    Ok(())
}

/// Takes an empty schema, which is open, for a data set.
pub fn begin(connection: &mut Connection, description: &str) -> Result<(), SqlError> {
    make(connection)?;
    mark(connection, DATASET, 0, Some(description))
}

/// Whether everything is done.
pub fn is_complete(done: &Done) -> bool {
    done.contains(&(COMPLETE.to_owned(), 0))
}

/// Marks that everything is done.
pub fn complete(connection: &mut Connection) -> Result<(), SqlError> {
    mark(connection, COMPLETE, 0, None)
}

/// Marks a part of a step as done; whoever calls commits, or has the session commit by itself.
pub fn mark(connection: &mut Connection, step: &str, part: u64, note: Option<&str>) -> Result<(), SqlError> {
    let note = note.map_or("NULL".to_owned(), literal);
    connection.query(&format!("INSERT INTO {TABLE} VALUES ({}, {part}, {note})", literal(step)))?;
    Ok(())
}

/// The step that is the rows of a table.
pub fn rows_step(table: &str) -> String {
    format!("rows {table}")
}

/// A name in SQL.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Text in SQL, for sessions without NO_BACKSLASH_ESCAPES.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn cell(connection: &Connection, row: usize, column: usize) -> Option<String> {
    connection.rows().bytes(row, column).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Refuses a schema that flatwater began to load and did not finish; any other will do.
///
/// # Errors
/// What is wrong, one line.
pub fn require_finished(connection: &mut Connection) -> Result<(), String> {
    match connection.query(&format!("SELECT COUNT(*) FROM {TABLE} WHERE step = '{COMPLETE}'")) {
        Ok(_) if connection.rows().int(0, 0) == Some(0) => {
            Err("flatwater's load of this schema did not come to its end: load it again, it goes on".into())
        }
        Ok(_) => Ok(()),
        // Another program made the schema, or nobody did.
        Err(SqlError::Server { .. }) => Ok(()),
        Err(error) => Err(format!("the schema cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_text_are_quoted() {
        assert_eq!(quoted("a`b"), "`a``b`");
        assert_eq!(literal("it's \\ here"), "'it''s \\\\ here'");
    }

    #[test]
    fn complete_is_a_mark_of_its_own() {
        let mut done = Done::from([("dataset".to_owned(), 0), (rows_step("item"), 3)]);
        assert!(!is_complete(&done));
        done.insert(("complete".to_owned(), 0));
        assert!(is_complete(&done));
    }
}
