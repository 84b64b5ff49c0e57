//! The programs in whose form a workload runs TPC-C.

use schemars::JsonSchema;
use serde::Deserialize;

/// Whose transactions a workload runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Variant {
    /// tpcc-mysql's statements, one by one.
    #[default]
    TpccMysql,
    /// sysbench-tpcc's statements, one by one, on several sets of tables.
    SysbenchTpcc {
        /// Sets of all nine tables: its `--tables`.
        table_sets: u32,
    },
    /// TPROC-C as HammerDB runs it: a stored procedure for each transaction.
    TprocC {
        /// Each client uses its share of the warehouses, and not one alone.
        all_warehouses: bool,
    },
}

impl Variant {
    /// Sets of all nine tables.
    pub fn table_sets(&self) -> u32 {
        match self {
            Self::SysbenchTpcc { table_sets } => (*table_sets).max(1),
            Self::TpccMysql | Self::TprocC { .. } => 1,
        }
    }
}
