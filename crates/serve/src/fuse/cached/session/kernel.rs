//! The kernel's end of a mount: requests are read from it, and answers are written to it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use flatwater_real::cache::Region;

use crate::fuse::cached::wire::{self, OUT_HEADER_BYTES, WRITE_HEADER_BYTES, out_header};

/// What reading a request came to.
pub(super) enum Taken {
    /// A request of so many bytes.
    Request(usize),
    /// One that was taken back while it was read.
    Gone,
    /// There is none.
    Nothing,
}

/// A descriptor of /dev/fuse.
pub(super) struct Kernel(OwnedFd);

impl Kernel {
    /// The kernel's end of the mount that this descriptor is of.
    pub(super) fn new(fuse: OwnedFd) -> Self {
        Self(fuse)
    }

    /// The descriptor, to wait for.
    pub(super) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Reads one request: its header, and what follows it.
    ///
    /// # Errors
    /// Why the mount can be served no more, in words.
    pub(super) fn take(&self, header: &mut [u8; WRITE_HEADER_BYTES], rest: Region) -> Result<Taken, String> {
        let vectors = [
            libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: header.len() },
            libc::iovec { iov_base: rest.pointer.cast(), iov_len: rest.bytes as usize },
        ];
        // SAFETY: both places are the caller's, and nobody else's before they are given back.
        let length = unsafe { libc::readv(self.descriptor(), vectors.as_ptr(), 2) };
        if length >= 0 {
            return Ok(Taken::Request(length as usize));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::EINTR) => Ok(Taken::Gone),
            Some(libc::EAGAIN) => Ok(Taken::Nothing),
            Some(libc::ENODEV) => Err("it was unmounted".to_owned()),
            _ => Err(format!("/dev/fuse: {error}")),
        }
    }

    /// Answers a request with data. The kernel does not take an answer when whoever asked is gone: nobody is to be told
    /// then.
    pub(super) fn answer(&self, unique: u64, data: &[u8]) {
        self.send(unique, 0, data);
    }

    /// Refuses a request.
    pub(super) fn refuse(&self, unique: u64, errno: i32) {
        self.send(unique, -errno, &[]);
    }

    fn send(&self, unique: u64, error: i32, data: &[u8]) {
        let header = out_header(unique, error, data.len());
        let vector = |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let vectors = [vector(&header), vector(data)];
        let count = if data.is_empty() { 1 } else { 2 };
        // SAFETY: the vectors point to what lives until it returns.
        unsafe { libc::writev(self.descriptor(), vectors.as_ptr(), count) };
    }

    /// Lets the kernel send again what an earlier server has read and not answered.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn resend(&self) -> io::Result<()> {
        let header = out_header(0, wire::NOTIFY_RESEND, 0);
        // SAFETY: the header lives until it returns.
        let sent = unsafe { libc::write(self.descriptor(), header.as_ptr().cast(), OUT_HEADER_BYTES) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn answers_have_the_kernels_header() {
        let (own, mut other) = UnixStream::pair().unwrap();
        let kernel = Kernel::new(own.into());
        kernel.answer(7, b"data");
        kernel.refuse(8, libc::EIO);
        let mut sent = [0; 36];
        other.read_exact(&mut sent).unwrap();
        assert_eq!(sent[..20], [20, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, b'd', b'a', b't', b'a']);
        assert_eq!(sent[20..], [16, 0, 0, 0, 251, 255, 255, 255, 8, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_request_is_its_header_and_the_rest() {
        let (own, mut other) = UnixStream::pair().unwrap();
        own.set_nonblocking(true).unwrap();
        let kernel = Kernel::new(own.into());
        let (mut header, mut rest) = ([0; WRITE_HEADER_BYTES], [0; 16]);
        let region = Region { pointer: rest.as_mut_ptr(), bytes: 16, fixed: None };
        assert!(matches!(kernel.take(&mut header, region), Ok(Taken::Nothing)));
        other.write_all(&[&[1; WRITE_HEADER_BYTES][..], b"xyz"].concat()).unwrap();
        assert!(matches!(kernel.take(&mut header, region), Ok(Taken::Request(n)) if n == WRITE_HEADER_BYTES + 3));
        assert_eq!((header, &rest[..4]), ([1; WRITE_HEADER_BYTES], &b"xyz\0"[..]));
    }
}
