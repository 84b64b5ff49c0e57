//! A modelled InnoDB in virtual time, on any modelled storage.
//!
//! `touches/` says what transactions do to pages. `innodb/` is one server: it lets each connection do its transactions, with
//! the waits for pages, for room in the log and for commits, and hands on what one component means for another. The
//! components: `threads/`, `locks/` the rows that they lock, `pool/` the buffer pool, `log/`, `commits.rs` and `binlog.rs`, `write_back/` how dirty pages are
//! written, `background/` and the policies in `flushing/` when they are written, `change_buffer/` and `read_ahead.rs`.
//! `host.rs` is what a server has of its machine, and `fleet.rs` several servers on one machine.

mod background;
mod binlog;
mod change_buffer;
mod commits;
mod events;
mod fleet;
pub mod flushing;
mod generation;
mod host;
mod ids;
mod innodb;
mod journal;
mod locks;
mod log;
mod machine;
mod placement;
mod pool;
mod purge;
mod read_ahead;
mod settings;
mod spec;
mod threads;
mod touches;
mod write_back;

pub use fleet::Fleet;
pub use ids::Lsn;
pub use spec::Spec;

#[cfg(test)]
mod tests;
