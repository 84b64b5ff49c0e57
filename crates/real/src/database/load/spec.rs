//! What to load, and where.

use flatwater_core::workload::oltp::OltpSpec;
use flatwater_core::workload::tpcc::WAREHOUSES_MAX;
use flatwater_core::workload::tpcc::population::VERSION;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::dataset::Dataset;
use super::setup::{OwnStatements, SetupSpec};
use crate::database::connection::Login;
use crate::database::oltp::OltpData;
use crate::database::tpcc::{Tables, TpccData};

/// Which data, and how much. JSON: `{"kind": "tpcc", "warehouses": 10, "seed": 1}` or
/// `{"kind": "oltp", "spec": {...}, "seed": 1}`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum DatasetSpec {
    /// TPC-C.
    Tpcc {
        /// Warehouses, of each set of tables.
        warehouses: u32,
        /// Whose tables.
        #[serde(default)]
        tables: Tables,
        /// Seed of the rows.
        seed: u64,
    },
    /// sysbench's tables.
    Oltp {
        /// The workload that they are for.
        spec: OltpSpec,
        /// Seed of the rows.
        seed: u64,
    },
    /// What the user's statements make.
    Sql {
        /// The statements.
        setup: SetupSpec,
    },
}

impl DatasetSpec {
    pub(super) fn validate(&self) -> Result<(), String> {
        match self {
            Self::Tpcc { warehouses, .. } if !(1..=WAREHOUSES_MAX).contains(warehouses) => {
                Err(format!("warehouses = {warehouses}: it must be 1 to {WAREHOUSES_MAX}"))
            }
            Self::Tpcc { .. } | Self::Sql { .. } => Ok(()),
            Self::Oltp { spec, .. } => spec.validate(),
        }
    }

    pub(super) fn dataset(&self) -> Box<dyn Dataset> {
        match self {
            Self::Tpcc { warehouses, tables, seed } => Box::new(TpccData::new(*warehouses, *tables, *seed)),
            Self::Oltp { spec, seed } => Box::new(OltpData::new(spec, *seed)),
            Self::Sql { setup } => {
                let executions: u64 = setup.statements.iter().map(|one| one.times).sum();
                Box::new(OwnStatements(executions + u64::from(setup.file.is_some())))
            }
        }
    }

    /// What the rows are a function of, as JSON: two data sets are the same when their descriptions are.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Tpcc { warehouses, tables: Tables::TpccMysql, seed } => {
                json!({"kind": "tpcc", "version": VERSION, "warehouses": warehouses, "seed": seed})
            }
            Self::Tpcc { warehouses, tables, seed } => {
                json!({"kind": "tpcc", "version": VERSION, "warehouses": warehouses, "tables": tables, "seed": seed})
            }
            Self::Oltp { spec, seed } => json!({
                "kind": "oltp", "version": 1, "tables": spec.tables, "rows": spec.loaded_rows(), "seed": seed,
                "distribution": format!("{:?}", spec.distribution), "auto_inc": spec.auto_inc,
                "secondary": spec.secondary,
            }),
            Self::Sql { setup } => {
                let statements: Vec<_> = setup.statements.iter().map(|one| json!([one.sql, one.times])).collect();
                let text = json!([statements, format!("{:?}", setup.parameters), setup.seed]).to_string();
                json!({
                    "kind": "sql", "version": 1, "file": setup.file_digest,
                    "statements": format!("{:x}", Sha256::digest(text.as_bytes())),
                })
            }
        }
        .to_string()
    }
}

/// What to load, and where.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The server and the schema, which is made if it is missing.
    pub login: Login,
    /// The data.
    pub dataset: DatasetSpec,
    /// Sessions that load beside each other.
    pub threads: u32,
    /// Use LOAD DATA where the server allows it; else, and there where it does not, INSERTs of many rows.
    pub bulk: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(dataset: &str) -> Result<Spec, serde_json::Error> {
        serde_json::from_str(&format!(
            r#"{{"login": {{"address": {{"socket": "/s"}}, "user": "u", "password": "", "schema": "tpcc"}},
                "dataset": {dataset}, "threads": 2, "bulk": true}}"#
        ))
    }

    #[test]
    fn a_specification_is_read_and_unknown_fields_are_not() {
        let spec_of = |text| spec(text).expect("a specification").dataset;
        let data = spec_of(r#"{"kind": "tpcc", "warehouses": 10, "seed": 1}"#);
        assert_eq!(data.description(), r#"{"kind":"tpcc","seed":1,"version":1,"warehouses":10}"#);
        let other = spec_of(
            r#"{"kind": "tpcc", "warehouses": 10, "seed": 1,
            "tables": {"name": "tproc-c", "partitions": 0, "history_key": false}}"#,
        );
        assert_ne!(other.description(), data.description(), "one is not gone on with as the other");
        assert!(spec(r#"{"kind": "tpcc", "warehouses": 10, "seed": 1, "size": 3}"#).is_err());
        assert!(spec(r#"{"kind": "other", "seed": 1}"#).is_err());
    }

    #[test]
    fn an_impossible_scale_is_refused() {
        for warehouses in [0, 32_768] {
            let dataset = DatasetSpec::Tpcc { warehouses, tables: Tables::TpccMysql, seed: 1 };
            let refused = dataset.validate().expect_err("refused");
            assert_eq!(refused, format!("warehouses = {warehouses}: it must be 1 to 32767"));
        }
    }
}
