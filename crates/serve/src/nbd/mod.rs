//! The cached device as an NBD export on a unix socket.
//!
//! `protocol.rs` holds the protocol's numbers; `export.rs` what is offered; `negotiation.rs` the handshake; `session.rs`
//! both phases of a client's session, without any IO. On the cache's reactor: `server.rs` accepts clients and takes their
//! requests to the cache; `acceptor.rs` and `listener.rs` are where they come from, `clients.rs` who is there;
//! `connection.rs` receives, `outgoing.rs` sends; `underway.rs` is a request that the cache works on; `operation.rs` what
//! the ring does; `budget.rs` bounds the clients' memory; `tally.rs` what is counted.

mod acceptor;
pub mod budget;
mod clients;
mod connection;
pub mod export;
mod listener;
pub mod negotiation;
mod operation;
mod outgoing;
pub mod protocol;
pub mod server;
pub mod session;
pub mod tally;
pub mod underway;

pub use budget::Limits;
pub use export::Export;
pub use listener::Listener;
pub use server::Server;
pub use tally::Tally;
