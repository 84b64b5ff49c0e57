//! TLS of a connection.

mod fault;
mod settings;
mod verify;

pub(super) use fault::{broken, unavailable};
pub use settings::{Mode, Tls};
