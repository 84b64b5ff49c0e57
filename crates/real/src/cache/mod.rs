//! The flash cache on real devices: one thread with one ring, the engine, and sources of requests.
//!
//! `reactor.rs` is the loop of the thread, `port.rs` the reactor as a source (FUSE, NBD, local callers) sees it, `core.rs`
//! the IOs of the engine and the requests under way, `ask.rs` one request, `ring.rs` the ring, `recording.rs` the trace of
//! requests, `marks.rs` the witness of the backing device, `target.rs` the engine, or the file without a cache to measure a
//! transport, `pool.rs` and `memory.rs` the memory, `devices.rs` files and block devices, `file_locks.rs` what waits for a
//! lock of the kernel, `handle.rs` the handle for other threads, `unaligned.rs` requests that are not whole sectors,
//! `adversity.rs` devices that are slow or fail on purpose.

pub mod adversity;
pub mod ask;
pub mod core;
pub mod devices;
mod file_locks;
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
