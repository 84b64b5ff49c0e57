//! Files through FUSE: an emulated device's, and a cache's. There are two servers, on purpose.
//!
//! `emulated.rs` stands on the crate fuser: its threads take requests, write to the backing file, and let the model say
//! when each is answered. Fuser owns the descriptor of /dev/fuse, its buffers and its loop, which is what an emulator
//! wants, and what a cache cannot have.
//!
//! `cached/` speaks the protocol by hand, because a cache needs three things that fuser does not give:
//! - the descriptor outlives the server. A server that was killed is followed by another one on the same mount, which lets
//!   the kernel send again what was not answered (FUSE_NOTIFY_RESEND), so that no user of the files notices;
//! - the data of a write arrives where the engine takes it from: in memory aligned for direct IO, without a copy;
//! - requests are read by the thread that drives the ring, between two completions: no thread waits for another.
//!
//! What both have in common stands once, in `limits.rs`, `texts.rs` and `mount.rs`.

pub mod cached;
pub mod emulated;
mod limits;
mod mount;
mod texts;

pub use limits::{BLOCK_BYTES, REQUEST_BYTES_MAX};
pub use mount::{MOUNT_TYPE, unmount};
