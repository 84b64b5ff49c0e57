//! How requests, IOs and commands go through the engine's components, one file a path. Nothing is remembered here.

mod bypass;
mod commands;
mod commit;
mod faults;
mod on_demand;
mod order;
mod reads;
mod requests;
mod room;
mod statistics;
mod write_back;
mod writes;
