//! What to run, and the workloads that there are.

use flatwater_core::interval::Kind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::database::connection::{Connection, Login};
use crate::database::oltp::{self, Oltp, OltpSpec};
use crate::database::terminal::Terminal;
use crate::database::tpcc::{self, Tpcc, TpccSpec};

/// Which workload.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// TPC-C as tpcc-mysql runs it.
    Tpcc(TpccSpec),
    /// sysbench's OLTP.
    Oltp(OltpSpec),
}

static TPCC_KINDS: [Kind; 5] = [
    transaction(tpcc::KINDS[0]),
    transaction(tpcc::KINDS[1]),
    transaction(tpcc::KINDS[2]),
    transaction(tpcc::KINDS[3]),
    transaction(tpcc::KINDS[4]),
];
static OLTP_KINDS: [Kind; 1] = [transaction(oltp::KINDS[0])];

const fn transaction(name: &'static str) -> Kind {
    Kind { name, moves_bytes: false, counts: true }
}

impl Workload {
    pub(super) fn reported_kinds(&self) -> &'static [Kind] {
        match self {
            Self::Tpcc(_) => &TPCC_KINDS,
            Self::Oltp(_) => &OLTP_KINDS,
        }
    }

    /// Whether a server holds the data that the workload needs.
    pub(super) fn check(&self, connection: &mut Connection) -> Result<(), String> {
        match self {
            Self::Tpcc(spec) => tpcc::check(connection, spec.warehouses),
            Self::Oltp(spec) => oltp::check(connection, spec),
        }
    }

    pub(super) fn terminal(&self, number: u64, of: u64, seed: u64) -> Box<dyn Terminal> {
        match self {
            Self::Tpcc(spec) => Box::new(Tpcc::new(spec, number, of, seed)),
            Self::Oltp(spec) => Box::new(Oltp::new(spec, number, seed)),
        }
    }
}

/// What to run, resolved and checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The workload.
    pub workload: Workload,
    /// The servers: connections are dealt to them in turn.
    pub servers: Vec<Login>,
    /// Sessions on all servers together.
    pub connections: u32,
    /// The kind of transaction that each instance's own counter counts; None for all.
    pub counted: Option<String>,
    /// Transactions a second of all connections together; 0 for a closed loop.
    pub rate_per_s: f64,
    /// Arrivals of an open loop at random (Poisson) instead of evenly.
    pub poisson: bool,
    /// Count what the server refuses and go on, instead of ending the run at the first.
    pub continue_on_error: bool,
    /// The seed.
    pub seed: u64,
    /// Length of an interval, ms.
    pub interval_ms: u64,
}
