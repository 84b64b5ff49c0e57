//! Workload generators: what to ask for next. They decide; others do the IO, on real or modelled layers.

pub mod address;
pub mod arrival;
pub mod fileio;
pub mod oltp;
pub mod payload;
pub mod tpcc;
