//! Workloads on MySQL-compatible servers: our own client of the protocol, the drivers, the loaders.

mod address;
pub mod connection;
pub mod load;
pub mod oltp;
mod rows;
pub mod run;
pub mod terminal;
pub mod tpcc;
mod wire;
