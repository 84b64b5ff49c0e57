//! Workloads on MySQL-compatible servers: our own client of the protocol, the drivers, the loaders.

pub mod connection;
pub mod load;
pub mod oltp;
pub mod run;
pub mod terminal;
pub mod tpcc;
mod wire;
