//! What to run: transactions, their statements, and where their parameters come from.

use flatwater_core::workload::sql::source::Parameter;
use schemars::JsonSchema;
use serde::Deserialize;

/// A length of time that is drawn anew each time, seconds.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Pause {
    /// Always the same.
    Constant {
        /// Seconds.
        seconds: f64,
    },
    /// Any within these limits.
    Uniform {
        /// The shortest, s.
        min_s: f64,
        /// The longest, s.
        max_s: f64,
    },
    /// Short ones most often, cut at the longest: TPC-C's think times (clause 5.2.5.4).
    Exponential {
        /// The mean of what is not cut, s.
        mean_s: f64,
        /// The longest, s.
        max_s: f64,
    },
}

/// A statement.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatementSpec {
    /// Its text, with parameters as `:name`.
    pub sql: String,
    /// The name by which later statements reach the columns of its first row; empty without one.
    pub name: String,
    /// Send it as a prepared statement, where the server can prepare it.
    pub prepared: bool,
}

/// A transaction.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransactionSpec {
    /// Its name in series and messages.
    pub name: String,
    /// How often it comes against the others.
    pub weight: f64,
    /// Without BEGIN and COMMIT: each statement is a transaction of its own.
    pub autocommit: bool,
    /// What its session waits afterwards.
    pub think: Pause,
    /// Its statements in their order.
    pub statements: Vec<StatementSpec>,
}

/// The workload, resolved: every field is checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlSpec {
    /// The transactions.
    pub transactions: Vec<TransactionSpec>,
    /// What statements may call by name.
    pub parameters: Vec<Parameter>,
    /// Statements that each new connection runs first.
    pub on_connect: Vec<String>,
    /// Sessions are READ ONLY where the server knows that: a second guard of data that are not flatwater's.
    pub read_only: bool,
}
