//! Transactions of the user's own statements.

mod cell;
mod literal;
mod session;
mod spec;
mod work;

pub use session::Session;
pub use spec::{Pause, SqlSpec, StatementSpec, TransactionSpec};
pub use work::Work;
