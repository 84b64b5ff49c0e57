//! The cached device as an NBD export on a unix socket.
//!
//! `protocol.rs` holds the protocol's numbers; `export.rs` what is offered; `negotiation.rs` the handshake; `session.rs`
//! both phases of a client's session, without any IO. On the cache's reactor: `server.rs` accepts clients and takes their
//! requests to the cache; `connection.rs` receives, `outgoing.rs` sends; `budget.rs` bounds their memory; `listener.rs` is
//! the socket; `tally.rs` what is counted.

pub mod budget;
mod connection;
pub mod export;
mod listener;
pub mod negotiation;
mod outgoing;
pub mod protocol;
pub mod server;
pub mod session;
pub mod tally;

pub use budget::Limits;
pub use export::Export;
pub use listener::Listener;
pub use server::Server;
pub use tally::Tally;
