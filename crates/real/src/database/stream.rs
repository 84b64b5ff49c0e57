//! The stream to a server: a socket, and TLS over it where that was agreed on.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustls::ClientConnection;

use super::address::Address;

/// How long a wait for the server lasts before it is looked whether anyone still wants the answer.
const LOOK_UP: Duration = Duration::from_millis(100);
/// A silent server is asked for a sign of life after so long, and again after so long: longer than most statements take, so
/// that a busy network has nothing more to carry.
const ASK_AFTER_S: libc::c_int = 10;
const ASK_EVERY_S: libc::c_int = 5;
/// What was sent and is not acknowledged for so long is lost: as long as dask's connections wait, so that the hosts of one
/// load see one cut alike.
const LOST_AFTER_S: libc::c_int = 30;

/// What carries the bytes; reads and writes wait no longer than `LOOK_UP`.
enum Carrier {
    Socket(UnixStream),
    Tcp(TcpStream),
}

impl Read for Carrier {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Carrier {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.write(buffer),
            Self::Tcp(stream) => stream.write(buffer),
        }
    }

    fn write_vectored(&mut self, buffers: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.write_vectored(buffers),
            Self::Tcp(stream) => stream.write_vectored(buffers),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream of bytes to a server.
pub(super) struct Stream {
    carrier: Carrier,
    session: Option<Box<ClientConnection>>,
}

impl Stream {
    /// Connects, which may last until `deadline`.
    pub fn open(address: &Address, deadline: Instant) -> io::Result<Self> {
        let carrier = match address {
            Address::Socket(path) => {
                let stream = connect_socket(path, deadline)?;
                stream.set_read_timeout(Some(LOOK_UP))?;
                stream.set_write_timeout(Some(LOOK_UP))?;
                Carrier::Socket(stream)
            }
            Address::Tcp(host, port) => {
                let stream = connect_tcp(host, *port, deadline)?;
                stream.set_read_timeout(Some(LOOK_UP))?;
                stream.set_write_timeout(Some(LOOK_UP))?;
                stream.set_nodelay(true)?;
                notice_loss(&stream)?;
                Carrier::Tcp(stream)
            }
        };
        Ok(Self { carrier, session: None })
    }

    /// Whether it is a unix socket.
    pub fn is_socket(&self) -> bool {
        matches!(self.carrier, Carrier::Socket(_))
    }

    /// The session of TLS, if there is one.
    pub fn session(&self) -> Option<&ClientConnection> {
        self.session.as_deref()
    }

    /// From now on everything goes through TLS. `shake` must be called until it is done.
    pub fn secure(&mut self, session: ClientConnection) {
        self.session = Some(Box::new(session));
    }

    /// A step of TLS's handshake: whether it is done.
    pub fn shake(&mut self) -> io::Result<bool> {
        let Self { carrier, session: Some(session) } = self else { return Ok(true) };
        flush_session(session, carrier)?;
        if !session.is_handshaking() {
            return Ok(true);
        }
        take(session, carrier)?;
        Ok(false)
    }

    /// Reads what there is, at most as much as the buffer holds.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.session {
            None => self.carrier.read(buffer),
            Some(session) => read_session(session, &mut self.carrier, buffer),
        }
    }

    /// Takes as much as the stream holds. With TLS it may keep some of it until `flush`.
    #[inline]
    pub fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.session {
            None => self.carrier.write(buffer),
            Some(session) => write_session(session, &mut self.carrier, buffer),
        }
    }

    /// Sends what `write` has kept.
    #[inline]
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.session {
            None => Ok(()),
            Some(session) => flush_session(session, &mut self.carrier),
        }
    }
}

// Apart, so that the paths without TLS stay as short as they would be without it.
#[inline(never)]
fn write_session(session: &mut ClientConnection, carrier: &mut Carrier, buffer: &[u8]) -> io::Result<usize> {
    flush_session(session, carrier)?;
    session.writer().write(buffer)
}

#[inline(never)]
fn flush_session(session: &mut ClientConnection, carrier: &mut Carrier) -> io::Result<()> {
    while session.wants_write() {
        session.write_tls(carrier)?;
    }
    Ok(())
}

#[inline(never)]
fn read_session(session: &mut ClientConnection, carrier: &mut Carrier, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match session.reader().read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => return done,
        }
        // What the session has to say itself waits for our next write: the server may not read before we do.
        if session.read_tls(carrier)? > 0 {
            process(session, carrier)?;
        }
    }
}

fn take(session: &mut ClientConnection, carrier: &mut Carrier) -> io::Result<()> {
    if session.read_tls(carrier)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    process(session, carrier)
}

fn process(session: &mut ClientConnection, carrier: &mut Carrier) -> io::Result<()> {
    session.process_new_packets().map(drop).map_err(|error| {
        // The server is told why, if it listens.
        let _ = session.write_tls(carrier);
        io::Error::new(io::ErrorKind::InvalidData, error)
    })
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

/// Lets the kernel ask whether the other host is still there (TCP keepalive). A host that was switched off never answers,
/// and without this a session would wait for it for ever. The host of a frozen server answers: its sessions stay.
fn notice_loss(stream: &TcpStream) -> io::Result<()> {
    let asked = [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, ASK_AFTER_S),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, ASK_EVERY_S),
        (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, LOST_AFTER_S * 1000),
    ];
    for (level, name, value) in asked {
        // SAFETY: a plain system call on our own socket, with an integer that outlives it.
        let failed = unsafe {
            let value: *const libc::c_int = &raw const value;
            libc::setsockopt(stream.as_raw_fd(), level, name, value.cast(), size_of::<libc::c_int>() as u32)
        };
        if failed != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
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
