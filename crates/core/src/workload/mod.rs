//! Workload generators: they choose the next request. Others do its IO, on real or modelled layers.

pub mod address;
pub mod arrival;
pub mod fileio;
pub mod oltp;
pub mod payload;
pub mod query_log;
pub mod sql;
pub mod tpcc;
