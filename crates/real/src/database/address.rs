//! Where a server is, who logs in there, and the stream to it.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::FromRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;

/// Where a server listens.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Address {
    /// A unix socket.
    Socket(PathBuf),
    /// Host and port.
    Tcp(String, u16),
}

impl std::fmt::Display for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(path) => write!(out, "{}", path.display()),
            Self::Tcp(host, port) => write!(out, "{host}:{port}"),
        }
    }
}

/// Who connects where. JSON: `{"address": {"socket": "/run/x.sock"}, "user": "root", "password": "", "schema": null}`
/// or `{"address": {"tcp": ["127.0.0.1", 3306]}, ...}`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// Where.
    pub address: Address,
    /// Account.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The schema to use, if any.
    pub schema: Option<String>,
}

/// How long a wait for the server lasts before it is looked whether anyone still wants the answer.
const LOOK_UP: Duration = Duration::from_millis(100);

/// A stream of bytes to a server; reads and writes wait no longer than `LOOK_UP`.
pub(super) enum Stream {
    Socket(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    /// Connects, which may last until `deadline`.
    pub fn open(address: &Address, deadline: Instant) -> io::Result<Self> {
        match address {
            Address::Socket(path) => {
                let stream = connect_socket(path, deadline)?;
                stream.set_read_timeout(Some(LOOK_UP))?;
                stream.set_write_timeout(Some(LOOK_UP))?;
                Ok(Self::Socket(stream))
            }
            Address::Tcp(host, port) => {
                let stream = connect_tcp(host, *port, deadline)?;
                stream.set_read_timeout(Some(LOOK_UP))?;
                stream.set_write_timeout(Some(LOOK_UP))?;
                stream.set_nodelay(true)?;
                Ok(Self::Tcp(stream))
            }
        }
    }

    /// Reads what there is, at most as much as the buffer holds.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }

    /// Writes as much as the stream takes.
    pub fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.write(buffer),
            Self::Tcp(stream) => stream.write(buffer),
        }
    }
}

/// The time left, as system calls take it: nothing would mean for ever.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left < Duration::from_millis(1) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// A server that does not accept, and whose queue of waiting clients is full, lets a plain `connect` wait for ever.
fn connect_socket(path: &Path, deadline: Instant) -> io::Result<UnixStream> {
    // SAFETY: plain system calls on a descriptor and structs that we own; the path fits, which is checked.
    unsafe {
        let descriptor = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        let stream = UnixStream::from_raw_fd(descriptor);
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let bytes = path.as_os_str().as_bytes();
        if bytes.len() >= address.sun_path.len() || bytes.contains(&0) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is too long for a socket"));
        }
        for (to, from) in address.sun_path.iter_mut().zip(bytes) {
            *to = *from as libc::c_char;
        }
        let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        loop {
            // Linux waits as long as it would wait for a write (unix(7) does not say so; `unix_stream_connect` does).
            stream.set_write_timeout(Some(left(deadline)?))?;
            if libc::connect(descriptor, (&raw const address).cast(), length) == 0 {
                return Ok(stream);
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
                _ => return Err(error),
            }
        }
    }
}

fn connect_tcp(host: &str, port: u16, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(deadline)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
