//! Evidence that tells a file from another file that took over its name, or even its inode.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// What a file system knows about the creation of an open file or folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// When it was created, ns since 1970; None if the file system does not keep it (statx(2), `stx_btime`).
    pub born_ns: Option<i64>,
    /// The handle that file servers use (`name_to_handle_at`(2)); None if the file system has none. On most file systems it
    /// is the inode with its generation, and a file that takes over the inode has another generation.
    pub handle: Option<Vec<u8>>,
}

/// Reads both.
///
/// # Errors
/// The system's error for a descriptor that does not allow it.
pub fn witness(file: BorrowedFd<'_>) -> io::Result<Witness> {
    Ok(Witness { born_ns: born_ns(file)?, handle: handle(file) })
}

fn born_ns(file: BorrowedFd<'_>) -> io::Result<Option<i64>> {
    let mut told = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path is an empty C string, the buffer is a statx that outlives the call.
    let answer = unsafe {
        libc::statx(file.as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH, libc::STATX_BTIME, told.as_mut_ptr())
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeros are a valid statx, and the kernel has filled in what it knows.
    let told = unsafe { told.assume_init() };
    let known = told.stx_mask & libc::STATX_BTIME != 0 && told.stx_btime.tv_sec != 0;
    Ok(known.then(|| told.stx_btime.tv_sec * 1_000_000_000 + i64::from(told.stx_btime.tv_nsec)))
}

/// The largest size of a handle, fcntl.h.
const MAX_HANDLE_SZ: usize = 128;

/// `struct file_handle` with room for the handle.
#[repr(C)]
struct FileHandle {
    bytes: u32,
    kind: i32,
    handle: [u8; MAX_HANDLE_SZ],
}

fn handle(file: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let mut told = FileHandle { bytes: MAX_HANDLE_SZ as u32, kind: 0, handle: [0; MAX_HANDLE_SZ] };
    let mut mount: i32 = 0;
    // SAFETY: the path is an empty C string. The buffers have the types of the call and outlive it.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            file.as_raw_fd(),
            c"".as_ptr(),
            ptr::from_mut(&mut told),
            ptr::from_mut(&mut mount),
            libc::AT_EMPTY_PATH,
        )
    };
    let bytes = told.handle.get(..told.bytes as usize)?;
    (answer == 0).then(|| [&told.kind.to_le_bytes()[..], bytes].concat())
}

/// Renames an entry of a folder to a name that does not exist yet.
///
/// # Errors
/// The system's error; `AlreadyExists` if the name exists.
pub fn rename_new(folder: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()> {
    let (from, to) = (CString::new(from)?, CString::new(to)?);
    let at = folder.as_raw_fd();
    // SAFETY: plain system call on a descriptor that is open, with two C strings.
    let answer = unsafe { libc::renameat2(at, from.as_ptr(), at, to.as_ptr(), libc::RENAME_NOREPLACE) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn two_files_are_told_apart_though_one_takes_the_others_inode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        let first = witness(File::create(&path).unwrap().as_fd()).unwrap();
        assert_eq!(witness(File::open(&path).unwrap().as_fd()).unwrap(), first, "asked again");
        std::fs::remove_file(&path).unwrap();
        let second = witness(File::create(&path).unwrap().as_fd()).unwrap();
        assert_ne!(second, first);
    }

    #[test]
    fn a_rename_takes_no_name_that_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let at = File::open(folder.path()).unwrap();
        std::fs::write(folder.path().join("mine"), "precious").unwrap();
        std::fs::write(folder.path().join("new"), "").unwrap();
        let error = rename_new(at.as_fd(), "new", "mine").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(folder.path().join("mine")).unwrap(), b"precious");
        rename_new(at.as_fd(), "new", "other").unwrap();
    }
}
