//! What tells a file from another one that took its name, or even its inode.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// What a file system says of the birth of an open file or folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// When it was made, ns since 1970; absent where the file system does not keep it (statx(2), `stx_btime`).
    pub born_ns: Option<i64>,
    /// The handle by which file servers know it: on most file systems, the inode with its generation, which a file that
    /// takes over the inode does not get (`name_to_handle_at`(2)); absent where the file system has none.
    pub handle: Option<Vec<u8>>,
}

/// Asks for both.
///
/// # Errors
/// What the system says of a descriptor that cannot be asked at all.
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
    // SAFETY: all zeros are a statx, and the kernel filled in what it knows.
    let told = unsafe { told.assume_init() };
    let known = told.stx_mask & libc::STATX_BTIME != 0 && told.stx_btime.tv_sec != 0;
    Ok(known.then(|| told.stx_btime.tv_sec * 1_000_000_000 + i64::from(told.stx_btime.tv_nsec)))
}

/// The longest that a handle can be, fcntl.h.
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
    // SAFETY: the path is an empty C string; the buffers are what the call wants and outlive it.
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

/// Renames an entry of a folder to a name that nothing has yet: `AlreadyExists` if something has it.
///
/// # Errors
/// What the system says.
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
