//! The flash cache served: as a file through FUSE and as an NBD export, by one reactor.
//!
//! `mount.rs` mounts and negotiates, once for the life of a mount; `session.rs` answers the kernel's requests, and can
//! take over from one that was killed; `files.rs` is what is in the directory; `wire.rs` the protocol's bytes;
//! `payload.rs` the memory that writes arrive in; `process.rs` whose thread asks; `server.rs` all of it together.

pub mod files;
pub mod mount;
pub mod payload;
pub mod process;
pub mod server;
pub mod session;
pub mod wire;

pub use mount::{Mounted, Protocol, mount, unmount};
pub use server::{Server, Spec, copy};
