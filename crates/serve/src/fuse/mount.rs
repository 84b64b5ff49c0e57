//! Mounting a file system that is served through a descriptor of /dev/fuse, and unmounting it.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file system type that our mounts name in /proc/self/mountinfo.
pub const MOUNT_TYPE: &str = "fuse.flatwater";

/// Mounts on a directory, as `source`; the descriptor that serves it, opened with these flags of open(2). With `others`,
/// other users may use it as far as its files' modes let them.
///
/// # Errors
/// What the system says: EPERM without the right to mount, ENOENT without FUSE.
pub(super) fn attach(path: &Path, source: &str, others: bool, flags: i32) -> io::Result<File> {
    let fuse = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/fuse")?;
    // SAFETY: neither can fail.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    let descriptor = fuse.as_raw_fd();
    let mut options = format!("fd={descriptor},rootmode=40755,user_id={uid},group_id={gid},default_permissions");
    if others {
        options += ",allow_other";
    }
    let (source, kind) = (CString::new(source)?, CString::new(MOUNT_TYPE)?);
    let (place, options) = (CString::new(path.as_os_str().as_bytes())?, CString::new(options)?);
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOATIME;
    // SAFETY: all strings end with a zero and live until it returns.
    let failed =
        unsafe { libc::mount(source.as_ptr(), place.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast()) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(fuse) }
}

/// Ends a mount; what still uses it finds no file any more if it is done `lazily`.
///
/// # Errors
/// What the system says; EBUSY when it is in use.
pub fn unmount(path: &Path, lazily: bool) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let flags = if lazily { libc::MNT_DETACH } else { 0 };
    // SAFETY: the path ends with a zero.
    if unsafe { libc::umount2(path.as_ptr(), flags) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
