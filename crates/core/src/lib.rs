//! What every layer of flatwater shares: seeds, histograms, interval series, workload generators and
//! the trait behind which storage is real or modelled. Only `trace` opens files, and nothing else does IO or reads a clock.

pub mod cache;
pub mod histogram;
pub mod ids;
pub mod interval;
pub mod seed;
pub mod slab;
pub mod storage;
pub mod trace;
pub mod workload;
