//! A cache's mount, spoken by hand (`fuse/mod.rs` says why).
//!
//! `mount.rs` mounts and negotiates, once for the life of a mount; `session.rs` answers the kernel's requests, and can
//! take over from one that was killed; `files.rs` is what is in the directory; `wire.rs` the protocol's bytes;
//! `payload.rs` the memory that writes arrive in; `process.rs` whose thread asks.

pub mod files;
pub mod mount;
pub mod payload;
pub mod process;
pub mod session;
pub mod wire;

pub use mount::{Mounted, Protocol, mount};
pub use session::Session;
