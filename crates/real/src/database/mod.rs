//! Workloads on MySQL-compatible servers: our own client of the protocol, the drivers, the loaders.

mod address;
mod again;
mod cause;
pub mod connection;
mod der;
pub mod load;
mod login;
pub mod oltp;
mod plugins;
pub mod query_log;
mod read_only;
mod refused;
mod rows;
pub mod run;
pub mod sql;
mod stream;
pub mod terminal;
mod tls;
pub mod tpcc;
mod wire;
