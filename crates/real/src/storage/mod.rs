//! Real storage: files and block devices, and the engines that drive them.
//!
//! To add an engine: one file here that implements `flatwater_core::storage::Queue`, a variant of `Engine`, an arm in
//! `fileio`'s `run_lane`, and its tests beside it.

pub mod buffer;
pub mod fault;
pub mod psync;
pub mod uring;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::Error;
use crate::permit::{self, Permit};

/// How requests reach the kernel.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// pread and pwrite: one outstanding request a thread.
    Psync,
    /// io_uring: many outstanding requests a thread.
    IoUring,
}

/// Whether writes are durable when they return.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// Writes may stay in a volatile cache.
    #[default]
    None,
    /// O_SYNC: data and metadata are durable when a write returns.
    Sync,
    /// O_DSYNC: data is durable when a write returns.
    Dsync,
}

/// Which call makes writes durable.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FsyncCall {
    /// Data and metadata.
    #[default]
    Fsync,
    /// Data, and the metadata that reading it needs.
    Fdatasync,
}

/// The files (or the device) under a workload.
#[derive(Debug)]
pub struct Target {
    paths: Vec<PathBuf>,
    files: Vec<File>,
    fsync_call: FsyncCall,
}

impl Target {
    /// Opens all files; without a permit they are opened read-only. The caller already holds an exclusive claim on a block
    /// device that is written: the kernel would refuse a second claim, even to the same process.
    pub fn open(
        paths: &[PathBuf],
        permit: Option<&Permit>,
        direct: bool,
        sync: SyncMode,
        fsync_call: FsyncCall,
    ) -> Result<Self, Error> {
        let files = paths.iter().map(|path| open(path, permit, direct, sync)).collect::<Result<_, _>>()?;
        Ok(Self { paths: paths.to_vec(), files, fsync_call })
    }

    /// The path of a file.
    pub fn path(&self, file: u32) -> PathBuf {
        self.paths.get(file as usize).cloned().unwrap_or_default()
    }
}

fn open(path: &Path, permit: Option<&Permit>, direct: bool, sync: SyncMode) -> Result<File, Error> {
    let mut flags = match sync {
        SyncMode::None => 0,
        SyncMode::Sync => libc::O_SYNC,
        SyncMode::Dsync => libc::O_DSYNC,
    };
    if direct {
        flags |= libc::O_DIRECT;
    }
    permit::open(path, permit, flags, if direct { "cannot open it with O_DIRECT" } else { "cannot open it" })
}

/// Gives the first `bytes` of a file or device back to the storage (TRIM), which the SNIA test calls a purge.
pub fn purge(path: &Path, permit: &Permit, bytes: u64) -> Result<(), Error> {
    let failed = |what| move |source| Error::File { path: path.into(), what, source };
    let file = open(path, Some(permit), false, SyncMode::None)?;
    let metadata = file.metadata().map_err(failed("cannot read its metadata"))?;
    let answer = if metadata.file_type().is_block_device() {
        /// `_IO(0x12, 119)`, linux/fs.h.
        const BLKDISCARD: libc::c_ulong = 0x1277;
        let range = [0u64, bytes];
        // SAFETY: the ioctl reads two u64 from the array, which outlives the call.
        unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) }
    } else {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: plain system call on a descriptor that we own.
        unsafe { libc::fallocate(file.as_raw_fd(), mode, 0, bytes.max(1) as libc::off_t) }
    };
    if answer < 0 {
        return Err(failed("it cannot be purged (no TRIM)")(std::io::Error::last_os_error()));
    }
    Ok(())
}

impl Target {
    /// Writes back and drops the pages of the files in the page cache, so that the next reads come from the storage.
    pub fn drop_cache(&self) -> Result<(), Error> {
        for (path, file) in self.paths.iter().zip(&self.files) {
            let failed = |source| Error::File { path: path.clone(), what: "cannot drop its cache", source };
            file.sync_data().map_err(failed)?;
            // SAFETY: plain system call on a descriptor that we own; a length of 0 is the whole file.
            let answer = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
            if answer != 0 {
                return Err(failed(std::io::Error::from_raw_os_error(answer)));
            }
        }
        Ok(())
    }
}
