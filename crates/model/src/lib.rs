//! flatwater's modelled layers. Time is virtual: a `u64` of nanoseconds that no clock moves, so that a run is a function
//! of its spec and its seed. Mathematics beyond IEEE's exact operations is libm's, the same bits on every machine.

pub mod database;
pub mod event;
pub mod fileio;
mod large;
pub mod storage;
