//! The second guard of users' data: a permit names the files that may be written by their identity, not by their name.
//!
//! The check of a place (`runner/stack/target`) makes a permit for exactly the files that it checked. Without a permit a file
//! is opened read-only. With a permit, a name that now belongs to another file is refused.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::Error;

/// A file or a block device.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The file system's device number; of a block device its own (stat(2), `st_dev` and `st_rdev`).
    pub device: u64,
    /// The file's inode; absent of a block device.
    pub inode: Option<u64>,
}

impl Identity {
    /// The identity of an open file.
    ///
    /// # Errors
    /// The system's error.
    pub fn of(file: &File) -> std::io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(if metadata.file_type().is_block_device() {
            Self { device: metadata.rdev(), inode: None }
        } else {
            Self { device: metadata.dev(), inode: Some(metadata.ino()) }
        })
    }
}

/// The files that a run may write to.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(transparent)]
pub struct Permit(Vec<Identity>);

impl Permit {
    /// A permit for files that the caller owns.
    #[must_use]
    pub const fn new(files: Vec<Identity>) -> Self {
        Self(files)
    }

    /// Opens a file for reading and writing with the flags of open(2) given.
    ///
    /// # Errors
    /// The system's error; `Error::NotPermitted` for a file that the permit does not name.
    pub fn open(&self, path: &Path, flags: i32, what: &'static str) -> Result<File, Error> {
        let failed = |source| Error::File { path: path.into(), what, source };
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).map_err(failed)?;
        if !self.0.contains(&Identity::of(&file).map_err(failed)?) {
            return Err(Error::NotPermitted { path: path.into(), why: "it is not the one that was checked" });
        }
        Ok(file)
    }
}

/// Opens a file for writing, or read-only without a permit.
///
/// # Errors
/// As `Permit::open`.
pub fn open(path: &Path, permit: Option<&Permit>, flags: i32, what: &'static str) -> Result<File, Error> {
    match permit {
        Some(permit) => permit.open(path, flags, what),
        None => OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|source| Error::File {
            path: path.into(),
            what,
            source,
        }),
    }
}

/// The permit of a run that writes.
///
/// # Errors
/// `Error::NotPermitted` if there is none.
pub fn required<'a>(permit: Option<&'a Permit>, path: &Path) -> Result<&'a Permit, Error> {
    permit.ok_or_else(|| Error::NotPermitted { path: path.into(), why: "nobody made sure that it may be" })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn without_a_permit_nothing_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("diary");
        std::fs::write(&path, "mine").unwrap();
        let mut file = open(&path, None, 0, "cannot open it").unwrap();
        assert_eq!(file.write_all(b"gone").unwrap_err().raw_os_error(), Some(libc::EBADF));
        assert!(matches!(required(None, &path), Err(Error::NotPermitted { .. })));
    }

    #[test]
    fn a_name_that_belongs_to_another_file_now_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, other) = (folder.path().join("ours"), folder.path().join("other"));
        std::fs::write(&ours, "").unwrap();
        std::fs::write(&other, "mine").unwrap();
        let permit = Permit::new(vec![Identity::of(&File::open(&ours).unwrap()).unwrap()]);
        permit.open(&ours, 0, "cannot open it").unwrap();
        std::fs::remove_file(&ours).unwrap();
        std::os::unix::fs::symlink(&other, &ours).unwrap();
        let error = permit.open(&ours, 0, "cannot open it").unwrap_err();
        assert!(error.to_string().contains("not the one that was checked"), "{error}");
    }
}
