//! What the user's own setup of a schema is.

use flatwater_core::workload::sql::source::Parameter;
use schemars::JsonSchema;
use serde::Deserialize;

use super::dataset::{Chunk, Dataset, Rows};

/// A statement of the setup.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupStatement {
    /// Its text, with parameters as `:name`.
    pub sql: String,
    /// How often it runs, each time with new values.
    pub times: u64,
}

/// The user's own schema.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupSpec {
    /// A file of statements, which run first.
    pub file: Option<String>,
    /// A digest of the file, so that another file is another data set.
    pub file_digest: String,
    /// Statements that run after the file.
    pub statements: Vec<SetupStatement>,
    /// What they may call by name.
    pub parameters: Vec<Parameter>,
    /// The server is flatwater's own: what a setup that was cut short left behind is dropped.
    pub own: bool,
    /// The seed of what is drawn.
    pub seed: u64,
}

/// Tables and rows that only statements know of.
pub(super) struct OwnStatements(pub(super) u64);

impl Dataset for OwnStatements {
    fn create(&self) -> Vec<String> {
        Vec::new()
    }

    fn chunks(&self) -> Vec<Chunk> {
        vec![Chunk { table: String::new(), columns: "", part: 0, rows: self.0 }]
    }

    fn rows<'a>(&'a self, _chunk: &Chunk) -> Box<dyn Rows + 'a> {
        unreachable!("statements make the rows")
    }

    fn finish(&self) -> Vec<Vec<String>> {
        Vec::new()
    }
}
