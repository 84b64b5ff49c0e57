//! Workloads as page touches: what the transactions of the real drivers' generators, with their seeds, do to the pages
//! of the tables. One file or folder a workload.

use flatwater_core::workload::oltp::OltpSpec;
use schemars::JsonSchema;
use serde::Deserialize;

pub mod layout;
mod measured;
pub mod oltp;
pub mod region;
mod touch;
pub mod tpcc;
mod undo;

pub use measured::Measured;
pub use region::LookedUp;
pub use touch::{Entry, Mode, Touch, Touches, What};
pub use undo::UndoLogs;

/// Which workload, in the words of the real drivers.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// TPC-C as tpcc-mysql runs it.
    Tpcc(tpcc::TpccSpec),
    /// sysbench's OLTP.
    Oltp(OltpSpec),
}

/// Makes a workload's touches for so many threads; tables that are `apart` have devices of their own.
///
/// # Errors
/// A workload that cannot be modelled, in words.
pub fn open(
    workload: &Workload,
    measured: &Measured,
    undo: UndoLogs,
    apart: &[&str],
    threads: u32,
    seed: u64,
) -> Result<Box<dyn Touches>, String> {
    match workload {
        Workload::Tpcc(spec) => Ok(Box::new(tpcc::Tpcc::new(spec, measured, undo, apart, threads, seed)?)),
        Workload::Oltp(spec) => Ok(Box::new(oltp::Oltp::new(spec, measured, undo, threads, seed)?)),
    }
}
