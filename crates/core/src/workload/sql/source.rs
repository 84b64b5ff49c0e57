//! Where the values of parameters come from, as an experiment says it.

use schemars::JsonSchema;
use serde::Deserialize;

/// A value that the user wrote.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Scalar {
    /// A whole number.
    Int(i64),
    /// A number with places.
    Double(f64),
    /// Text; dates too.
    Text(String),
}

/// How the numbers of a range are spread: whole ones, or with `decimals` places. Both ends belong to it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The smallest number, in units of the last decimal place.
    pub min: i64,
    /// The largest.
    pub max: i64,
    /// Decimal places.
    pub decimals: u32,
}

/// Where a parameter's values come from.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Source {
    /// All numbers of a range with the same probability.
    Uniform {
        /// The numbers.
        range: Range,
    },
    /// The number of rank k in proportion to 1 / k^theta (Zipf 1949).
    Zipf {
        /// The numbers.
        range: Range,
        /// The exponent, over 0.
        theta: f64,
        /// The ranks are spread over the range, as YCSB's scrambled zipfian does; otherwise the smallest number is the
        /// first.
        scrambled: bool,
    },
    /// The smallest numbers most often, cut at the end of the range: pgbench's random_exponential.
    Exponential {
        /// The numbers.
        range: Range,
        /// How much faster than e-fold it falls over the range, over 0: pgbench's parameter.
        rate: f64,
    },
    /// The bell curve, cut at the ends of the range.
    Normal {
        /// The numbers.
        range: Range,
        /// Its middle, in units of the last decimal place.
        mean: f64,
        /// Its standard deviation, in the same units, over 0.
        stddev: f64,
    },
    /// The newest numbers of a sequence most often: YCSB's latest.
    Latest {
        /// The place of the sequence among the parameters.
        sequence: u32,
        /// The oldest number.
        min: i64,
        /// The exponent of the ranks, over 0.
        theta: f64,
    },
    /// The next number, which no other session gets.
    Sequence {
        /// The first.
        start: i64,
        /// The distance to the next.
        step: i64,
        /// A statement whose first value is the first number instead.
        start_from: Option<String>,
    },
    /// Always the same.
    Constant {
        /// The value.
        value: Scalar,
    },
    /// One of a list.
    Choice {
        /// The values.
        values: Vec<Scalar>,
        /// How often each comes against the others; as many as values.
        weights: Vec<f64>,
    },
    /// Random signs.
    String {
        /// The shortest.
        min_length: u32,
        /// The longest.
        max_length: u32,
        /// The signs.
        characters: String,
    },
    /// Random words of small letters.
    Text {
        /// The shortest.
        min_length: u32,
        /// The longest.
        max_length: u32,
    },
    /// The client's date and time, local.
    Now {},
    /// What an earlier statement of the transaction found: a column of its first row.
    Column {
        /// The statement's name.
        statement: String,
        /// The column's name.
        column: String,
    },
}

/// A parameter.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The name that statements call it by.
    pub name: String,
    /// Where its values come from.
    pub source: Source,
}
