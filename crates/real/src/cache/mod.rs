//! The flash cache at work on real devices: one thread with one ring, the engine, and sources of requests.
//!
//! `reactor.rs` is the thread's loop; `port.rs` what a source (FUSE, NBD, a queue for local callers) sees of it;
//! `core.rs` the engine's IOs and the requests under way; `ask.rs` one request; `ring.rs` the ring; `recording.rs` the
//! trace of the requests; `marks.rs` what the backing device is known by; `target.rs` the engine, or the file with no cache for measuring a transport; `pool.rs` and
//! `memory.rs` the memory; `devices.rs` files and block devices; `handle.rs` how other threads reach the reactor;
//! `unaligned.rs` requests that are no whole sectors; `adversity.rs` slow and failing devices on purpose.

pub mod adversity;
pub mod ask;
pub mod core;
pub mod devices;
pub mod handle;
mod marks;
pub mod memory;
pub mod pool;
pub mod port;
pub mod reactor;
mod recording;
pub mod ring;
pub mod target;
pub mod unaligned;

pub use ask::Ask;
pub use devices::{Devices, Medium};
pub use handle::Handle;
pub use pool::{Buffer, Region};
pub use port::{Port, Source};
pub use reactor::Reactor;
pub use target::Target;
