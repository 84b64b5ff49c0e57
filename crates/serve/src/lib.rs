//! What others can mount: a modelled device as a file whose every request takes as long as the model says.
//!
//! The device is a model in virtual time (`flatwater_model::storage`); here its time is the clock's. What is written
//! goes to a backing file, and the answer is held back until the model says that the request is over.

pub mod backing;
pub mod cache;
pub mod emulator;
pub mod fuse;
pub mod lag;
mod lock;
mod manners;
pub mod nbd;
pub mod pacing;
pub mod service;
pub mod sidecar;
