//! Servers: a cache through FUSE and NBD, and a modelled device as a file.
//!
//! The device is a model in virtual time (`flatwater_model::storage`); here its time is that of the clock. Its data are in a
//! backing file, and each answer is delayed until the request ends in the model.

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
pub mod trimmed;
