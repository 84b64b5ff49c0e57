//! flatwater's drivers for real layers: files and block devices through psync or io_uring, and databases through
//! their own protocol.

pub mod cache;
pub mod clock;
pub mod crew;
pub mod database;
pub mod fileio;
pub mod part;
pub mod permit;
pub mod prepare;
pub mod storage;
pub mod witness;

use std::path::PathBuf;

/// What can go wrong while real storage is driven, each with the place.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or device could not be opened or changed.
    #[error("{path}: {what}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file that nothing may be written to.
    #[error("{path} will not be written to: {why} (hint: end what replaces it, and run again)")]
    NotPermitted {
        /// The file.
        path: PathBuf,
        /// What is missing.
        why: &'static str,
    },
    /// A request failed.
    #[error("{what} of {bytes} B at offset {offset} of {path} failed: {source}")]
    Request {
        /// read, write or fsync.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Offset, bytes.
        offset: u64,
        /// Bytes asked for.
        bytes: u32,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A block that was read is not the one that was written.
    #[error("verification failed: the block of {bytes} B at offset {offset} of {path} is {mismatch}")]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// Offset, bytes.
        offset: u64,
        /// Bytes of the block.
        bytes: u32,
        /// What is wrong with it.
        mismatch: flatwater_core::workload::payload::Mismatch,
    },
    /// The engine itself failed.
    #[error("{engine}: {source}{hint}")]
    Engine {
        /// psync or io_uring.
        engine: &'static str,
        /// The system's answer.
        source: std::io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// The workload cannot be generated.
    #[error("{0}")]
    Workload(String),
}
