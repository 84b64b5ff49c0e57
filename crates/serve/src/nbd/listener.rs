//! The unix socket that clients connect to.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Clients that wait to be accepted.
const BACKLOG: i32 = 128;

/// A socket that listens; its file goes with it, if it made that.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    /// Its file, and which one that is.
    file: Option<(PathBuf, (u64, u64))>,
}

impl Listener {
    /// Makes the socket; only its owner can connect. A file that an earlier server left behind is replaced.
    ///
    /// # Errors
    /// What cannot be, in words.
    pub fn bind(path: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        let address = address(path)?;
        clear(path)?;
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        // SAFETY: plain system call.
        let socket = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
        if socket < 0 {
            return Err(failed(io::Error::last_os_error()));
        }
        // SAFETY: it was just made, and nobody else has it.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        // SAFETY: the descriptor is open and the address complete. The mode is set before there is a file, which then
        // never has another.
        let bound = unsafe {
            libc::fchmod(socket.as_raw_fd(), 0o600) == 0
                && libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) == 0
                && libc::listen(socket.as_raw_fd(), BACKLOG) == 0
        };
        if !bound {
            return Err(failed(io::Error::last_os_error()));
        }
        let metadata = std::fs::symlink_metadata(path).map_err(failed)?;
        Ok(Self { socket, file: Some((path.to_owned(), (metadata.dev(), metadata.ino()))) })
    }

    /// A socket that another process listens on too, and keeps when this one is gone: clients that come meanwhile wait. Its
    /// file is that process's.
    pub fn shared(socket: OwnedFd) -> Self {
        Self { socket, file: None }
    }

    /// Its descriptor.
    pub fn descriptor(&self) -> i32 {
        self.socket.as_raw_fd()
    }

    /// Removes its file: nobody finds it any more.
    pub fn unlink(&self) {
        let Some((path, inode)) = &self.file else { return };
        // Somebody may have put something else there.
        let ours = std::fs::symlink_metadata(path).is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == *inode);
        if ours {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.unlink();
    }
}

fn address(path: &Path) -> Result<libc::sockaddr_un, String> {
    // SAFETY: plain numbers.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = path.as_os_str().as_bytes();
    let most = address.sun_path.len() - 1;
    if bytes.is_empty() || bytes.len() > most {
        return Err(format!("{}: a socket's path has 1 to {most} bytes, and this one {}", path.display(), bytes.len()));
    }
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    Ok(address)
}

/// Removes a socket that nobody listens on.
fn clear(path: &Path) -> Result<(), String> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(format!("{}: it is there, and no socket (hint: choose another path)", path.display()));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(|error| format!("{}: {error}", path.display()))
        }
        _ => Err(format!("{}: another server listens there", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_one_leaves_the_file_to_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let owner = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let shared = Listener::shared(owner.try_clone().unwrap().into());
        shared.unlink();
        drop(shared);
        UnixStream::connect(&path).unwrap();
    }

    #[test]
    fn takes_over_what_the_dead_left_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let first = Listener::bind(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(Listener::bind(&path).unwrap_err().contains("another server listens there"));
        let left = std::os::unix::net::UnixListener::bind(folder.path().join("left")).unwrap();
        drop(left);
        let second = Listener::bind(&folder.path().join("left")).unwrap();
        drop((first, second));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the files go with the sockets");
        std::fs::write(&path, "precious").unwrap();
        assert!(Listener::bind(&path).unwrap_err().contains("no socket"));
        let long = folder.path().join("x".repeat(200));
        assert!(Listener::bind(&long).unwrap_err().contains("1 to 107 bytes"));
    }
}
