//! Query logs of MySQL, MariaDB and Percona Server: who asked what, and when; and what observing a server recorded of
//! its statements.
//!
//! A log of any size is read line by line. What cannot be read is counted and passed over: the last entry of a copied one
//! may be cut, and a crash may leave zero bytes. A log that was rotated begins with a header again.

mod course;
mod digests;
mod doubt;
mod entry;
mod general;
mod general_head;
mod instead;
mod literals;
mod reader;
mod scan;
mod slow;
mod slow_head;
mod slow_state;
mod sound;
mod text;
mod time;
mod unread;

pub use digests::{Amount, Forms, Sendable, Why, is_head as is_digests};
pub use entry::{Entry, Format, STATEMENT_BYTES_MAX, schema_of_use};
pub use instead::{begins_transaction, ends_transaction, is_of_transaction, sets_autocommit};
pub use reader::{Reader, Tally};
pub use unread::{Notes, Unread};
