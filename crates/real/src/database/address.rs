//! Where a server is, who logs in there, and the stream to it.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

/// Where a server listens.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
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
#[derive(Clone, Debug, Deserialize)]
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
/// How long a host may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(60);

/// A stream of bytes to a server; reads and writes wait no longer than `LOOK_UP`.
pub(super) enum Stream {
    Socket(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    pub fn open(address: &Address) -> io::Result<Self> {
        match address {
            Address::Socket(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(LOOK_UP))?;
                stream.set_write_timeout(Some(LOOK_UP))?;
                Ok(Self::Socket(stream))
            }
            Address::Tcp(host, port) => {
                let stream = connect_tcp(host, *port)?;
                stream.set_read_timeout(Some(LOOK_UP))?;
                stream.set_write_timeout(Some(LOOK_UP))?;
                stream.set_nodelay(true)?;
                Ok(Self::Tcp(stream))
            }
        }
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }

    pub fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.write(buffer),
            Self::Tcp(stream) => stream.write(buffer),
        }
    }
}

fn connect_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
