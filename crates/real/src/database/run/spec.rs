//! What to run, and the workloads that there are.

use std::sync::Arc;

use flatwater_core::interval::Kind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::database::connection::{Connection, Login};
use crate::database::oltp::{self, Oltp, OltpSpec};
use crate::database::query_log::{self, QueryLogSpec};
use crate::database::sql::{Session, SqlSpec, Work};
use crate::database::terminal::Terminal;
use crate::database::tpcc::{self, TpccSpec};
use crate::part::Part;

/// Which workload.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// TPC-C in the form of a program.
    Tpcc(TpccSpec),
    /// sysbench's OLTP.
    Oltp(OltpSpec),
    /// The user's own statements.
    Sql(SqlSpec),
    /// The statements of a query log.
    #[serde(rename = "query-log")]
    QueryLog(QueryLogSpec),
}

/// A workload whose data a server was found to have.
pub(super) enum Ready<'a> {
    Tpcc(&'a TpccSpec),
    Oltp(&'a OltpSpec),
    Sql(Arc<Work>),
}

const TPCC_KINDS: [Kind; 5] = [
    transaction(tpcc::KINDS[0]),
    transaction(tpcc::KINDS[1]),
    transaction(tpcc::KINDS[2]),
    transaction(tpcc::KINDS[3]),
    transaction(tpcc::KINDS[4]),
];
const OLTP_KINDS: [Kind; 1] = [transaction(oltp::KINDS[0])];
/// A planned reconnect: no transaction, and none of their rate and latency.
const CONNECT: Kind = Kind { name: "connect", moves_bytes: false, counts: false };
static TPCC_AND_CONNECT: [Kind; 6] =
    [TPCC_KINDS[0], TPCC_KINDS[1], TPCC_KINDS[2], TPCC_KINDS[3], TPCC_KINDS[4], CONNECT];
static OLTP_AND_CONNECT: [Kind; 2] = [OLTP_KINDS[0], CONNECT];
static QUERY_LOG_KINDS: [Kind; 5] = [
    transaction(query_log::KINDS[0]),
    transaction(query_log::KINDS[1]),
    transaction(query_log::KINDS[2]),
    transaction(query_log::KINDS[3]),
    transaction(query_log::KINDS[4]),
];

const fn transaction(name: &'static str) -> Kind {
    Kind { name, moves_bytes: false, counts: true }
}

impl Workload {
    /// The kinds of its transactions: asked for once a run.
    fn kinds(&self) -> &'static [Kind] {
        match self {
            Self::Tpcc(_) => &TPCC_KINDS,
            Self::Oltp(_) => &OLTP_KINDS,
            Self::QueryLog(_) => &QUERY_LOG_KINDS,
            // Names live as long as the process, as the others' do: some tens of bytes a run.
            Self::Sql(spec) => {
                spec.transactions.iter().map(|one| transaction(one.name.clone().leak())).collect::<Vec<_>>().leak()
            }
        }
    }

    /// The kinds of its transactions, and after them planned reconnects.
    fn kinds_and_connect(&self) -> &'static [Kind] {
        match self {
            Self::Tpcc(_) => &TPCC_AND_CONNECT,
            Self::Oltp(_) => &OLTP_AND_CONNECT,
            Self::Sql(_) => [self.kinds(), &[CONNECT]].concat().leak(),
            // Its sessions are those of the log.
            Self::QueryLog(_) => self.kinds(),
        }
    }

    /// Looks whether a server holds the data that the workload needs.
    ///
    /// # Errors
    /// What is missing or wrong, one line.
    pub(super) fn open(&self, connection: &mut Connection) -> Result<Ready<'_>, String> {
        match self {
            Self::Tpcc(spec) => tpcc::check(connection, spec).map(|()| Ready::Tpcc(spec)),
            Self::Oltp(spec) => oltp::check(connection, spec).map(|()| Ready::Oltp(spec)),
            Self::Sql(spec) => Work::open(spec, connection).map(|work| Ready::Sql(Arc::new(work))),
            Self::QueryLog(_) => Err("a query log has sessions of its own".into()),
        }
    }
}

impl Ready<'_> {
    /// The terminal of this number, of so many on this server.
    pub(super) fn terminal(&self, number: u64, of: u64, seed: u64) -> Box<dyn Terminal> {
        match self {
            Self::Tpcc(spec) => tpcc::terminal(spec, number, of, seed),
            Self::Oltp(spec) => Box::new(Oltp::new(spec, number, seed)),
            Self::Sql(work) => Box::new(Session::new(work.clone(), number, seed)),
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
    /// The share of this host, if several hosts have sessions; None: the sessions above are all.
    pub part: Option<Part>,
    /// The kind of transaction that each instance's own counter counts; None for all.
    pub counted: Option<String>,
    /// Transactions a second of all connections of all hosts together; 0 for a closed loop.
    pub rate_per_s: f64,
    /// Arrivals of an open loop at random (Poisson) instead of evenly.
    pub poisson: bool,
    /// Count what the server refuses and go on, instead of ending the run at the first.
    pub continue_on_error: bool,
    /// Each connection is closed and made anew after so many of its transactions; 0: never.
    pub reconnect_every: u64,
    /// The seed.
    pub seed: u64,
    /// Length of an interval, ms.
    pub interval_ms: u64,
}

impl Spec {
    /// What is told of the run, each with counts and latencies of its own: asked for once.
    pub(super) fn reported_kinds(&self) -> &'static [Kind] {
        if self.reconnect_every > 0 { self.workload.kinds_and_connect() } else { self.workload.kinds() }
    }

    /// The sessions of this host among those of all.
    pub(super) fn sessions(&self) -> Part {
        Part::or_whole(self.part, self.connections)
    }
}
