//! Query logs of MySQL, MariaDB and Percona Server: who asked what, and when.
//!
//! A log of any size is read line by line. What cannot be read is counted and passed over: a log that was rotated begins
//! with a header again, and the last entry of a copied one may be cut.

mod entry;
mod general;
mod reader;
mod slow;
mod time;

pub use entry::{Entry, Format, STATEMENT_BYTES_MAX};
pub use reader::{Reader, Tally};
