//! Packets to a server and from it: as many as there are in one system call, and none that nobody waits for any more.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustls::ClientConnection;

use super::error::SqlError;
use crate::database::address::Address;
use crate::database::plugins::Privacy;
use crate::database::stream::Stream;
use crate::database::wire::{HEADER_BYTES, PACKET_BYTES_MAX, begin_packet, end_packet};

/// Where a payload lies in the buffer that it was received into: its begin and its end.
pub(super) type Span = (usize, usize);

/// A stream of packets. What is received goes to a buffer of the caller's, always the same one, and stays there until it
/// is forgotten.
pub(super) struct Channel {
    stream: Stream,
    abandon: Arc<AtomicBool>,
    /// When a wait for the server ends as if it had gone.
    deadline: Option<Instant>,
    /// Packets that were not sent yet.
    out: Vec<u8>,
    /// What was received and not read yet: from..to of the caller's buffer.
    unread: Span,
}

impl Channel {
    /// Connects. When `abandon` becomes true, whatever waits for the server gives up; so does what waits for longer than
    /// `patience` from now on.
    ///
    /// # Errors
    /// `Unreachable`.
    pub(super) fn open(address: &Address, abandon: Arc<AtomicBool>, patience: Duration) -> Result<Self, SqlError> {
        let deadline = Instant::now() + patience;
        let stream = Stream::open(address, deadline)
            .map_err(|source| SqlError::Unreachable { address: address.clone(), source })?;
        Ok(Self { stream, abandon, deadline: Some(deadline), out: Vec::new(), unread: (0, 0) })
    }

    /// From now on, a server that lets wait for longer than this is as good as gone (`Lost`); None: for ever.
    pub(super) fn wait_at_most(&mut self, patience: Option<Duration>) {
        self.deadline = patience.map(|patience| Instant::now() + patience);
    }

    /// Who can read what is sent.
    pub(super) fn privacy(&self) -> Privacy {
        if self.stream.session().is_some() {
            Privacy::Encrypted
        } else if self.stream.is_socket() {
            Privacy::Socket
        } else {
            Privacy::Open
        }
    }

    /// Version and cipher of TLS, in IANA's names; None without TLS.
    pub(super) fn tls(&self) -> Option<String> {
        let session = self.stream.session()?;
        let version = session.protocol_version()?.as_str()?.replace('_', ".");
        let cipher = session.negotiated_cipher_suite()?.suite();
        Some(format!("{version} {}", cipher.as_str()?.replacen("TLS13_", "TLS_", 1)))
    }

    /// Begins TLS. Nothing may have been received that was not read: whoever sent it was not the owner of the
    /// certificate.
    ///
    /// # Errors
    /// The outer error: nobody waits any more. The inner one: what the system or TLS says.
    pub(super) fn secure(&mut self, session: ClientConnection) -> Result<io::Result<()>, SqlError> {
        if self.unread.0 < self.unread.1 {
            return Err(SqlError::Protocol("it speaks before TLS has begun".into()));
        }
        self.stream.secure(session);
        loop {
            match self.stream.shake() {
                Ok(true) => return Ok(Ok(())),
                Ok(false) => {}
                Err(error) if cut_short(&error) => {}
                Err(error) => return Ok(Err(error)),
            }
            match self.still_wanted() {
                Err(SqlError::Lost(error)) => return Ok(Err(error)),
                other => other?,
            }
        }
    }

    /// Adds a packet to what is sent next; `write` appends its payload.
    #[inline]
    pub(super) fn queue(&mut self, sequence: u8, write: impl FnOnce(&mut Vec<u8>)) {
        let at = begin_packet(&mut self.out, sequence);
        write(&mut self.out);
        end_packet(&mut self.out, at);
    }

    /// Whether packets wait to be sent.
    pub(super) fn has_queued(&self) -> bool {
        !self.out.is_empty()
    }

    /// Sends what is queued. Where the server owes replies, it may have to get rid of them before it takes more:
    /// `owes_replies` makes room for them in the buffer.
    pub(super) fn send(&mut self, buffer: &mut Vec<u8>, owes_replies: bool) -> Result<(), SqlError> {
        let mut done = 0;
        while done < self.out.len() {
            match self.stream.write(&self.out[done..]) {
                Ok(0) => return Err(SqlError::Lost(io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    done += count;
                    self.still_wanted()?;
                }
                Err(error) => self.make_room(error, buffer, owes_replies)?,
            }
        }
        while let Err(error) = self.stream.flush() {
            self.make_room(error, buffer, owes_replies)?;
        }
        self.out.clear();
        Ok(())
    }

    /// After a write that failed, perhaps only because the server takes no more before it is read from.
    #[cold]
    fn make_room(&mut self, error: io::Error, buffer: &mut Vec<u8>, owes_replies: bool) -> Result<(), SqlError> {
        let full = error.kind() == io::ErrorKind::WouldBlock;
        self.look_up(error)?;
        if full && owes_replies { self.receive_some(buffer) } else { Ok(()) }
    }

    /// Sends a packet at once that nobody waits for.
    pub(super) fn send_last(&mut self, payload: &[u8]) {
        self.out.clear();
        self.queue(0, |out| out.extend_from_slice(payload));
        // Whether the server hears this is its own affair.
        let _ = self.stream.write(&self.out).and_then(|_| self.stream.flush());
    }

    /// The next packet: its sequence number and where its payload lies in the buffer.
    #[inline]
    pub(super) fn packet(&mut self, buffer: &mut Vec<u8>) -> Result<(u8, Span), SqlError> {
        let (from, to) = self.unread;
        if to - from < HEADER_BYTES {
            self.receive(buffer, HEADER_BYTES)?;
        }
        let header = &buffer[from..from + HEADER_BYTES];
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let sequence = header[3];
        if length > PACKET_BYTES_MAX {
            return Err(SqlError::Protocol("a packet of 16 MiB or more".into()));
        }
        let (start, end) = (from + HEADER_BYTES, from + HEADER_BYTES + length);
        if self.unread.1 < end {
            self.receive(buffer, HEADER_BYTES + length)?;
        }
        self.unread.0 = end;
        Ok((sequence, (start, end)))
    }

    /// What was read is needed no more: what is unread moves to the front of the buffer.
    pub(super) fn forget(&mut self, buffer: &mut [u8]) {
        let (from, to) = self.unread;
        if from == to {
            self.unread = (0, 0);
        } else if from > buffer.len() / 2 {
            buffer.copy_within(from..to, 0);
            self.unread = (0, to - from);
        }
    }

    /// What was read behind `floor` is needed no more.
    pub(super) fn forget_behind(&mut self, buffer: &mut [u8], floor: usize) {
        let (from, to) = self.unread;
        if from == to {
            self.unread = (floor, floor);
        } else if from > floor && from > buffer.len() / 2 {
            buffer.copy_within(from..to, floor);
            self.unread = (floor, floor + to - from);
        }
    }

    /// Receives until at least `wanted` bytes are unread.
    fn receive(&mut self, buffer: &mut Vec<u8>, wanted: usize) -> Result<(), SqlError> {
        let from = self.unread.0;
        if buffer.len() < from + wanted {
            let size = (from + wanted).max(2 * buffer.len());
            buffer.resize(size, 0);
        }
        while self.unread.1 - from < wanted {
            self.receive_once(buffer)?;
        }
        Ok(())
    }

    /// Receives once, whatever there is.
    fn receive_some(&mut self, buffer: &mut Vec<u8>) -> Result<(), SqlError> {
        if self.unread.1 == buffer.len() {
            buffer.resize(2 * buffer.len(), 0);
        }
        self.receive_once(buffer)
    }

    fn receive_once(&mut self, buffer: &mut [u8]) -> Result<(), SqlError> {
        match self.stream.read(&mut buffer[self.unread.1..]) {
            Ok(0) => Err(SqlError::Lost(io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => {
                self.unread.1 += count;
                self.still_wanted()
            }
            Err(error) => self.look_up(error),
        }
    }

    /// What a failed system call means: nothing (a signal, a wait that was only cut to look up), or the end.
    fn look_up(&self, error: io::Error) -> Result<(), SqlError> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => self.still_wanted(),
            _ => Err(SqlError::Lost(error)),
        }
    }

    /// Whether anyone still wants what is exchanged here. It is asked after every system call, not only after one that
    /// waited in vain: a server that sends a byte now and then, or rows without an end, would never be given up.
    fn still_wanted(&self) -> Result<(), SqlError> {
        if self.abandon.load(Relaxed) {
            Err(SqlError::Abandoned)
        } else if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            Err(SqlError::Lost(io::ErrorKind::TimedOut.into()))
        } else {
            Ok(())
        }
    }
}

/// Whether a system call only ended so that it can be looked up, or for a signal.
fn cut_short(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    /// A channel to a server that `serve` plays.
    fn channel(serve: impl FnOnce(std::os::unix::net::UnixStream) + Send + 'static) -> (Channel, Arc<AtomicBool>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let abandon = Arc::new(AtomicBool::new(false));
        let channel = Channel::open(&Address::Socket(path), abandon.clone(), Duration::from_secs(60)).unwrap();
        std::thread::spawn(move || serve(listener.accept().unwrap().0));
        (channel, abandon)
    }

    #[test]
    fn packets_come_one_by_one_however_they_are_received() {
        let (mut channel, _) = channel(|mut stream| {
            let mut sent = [0; 6];
            stream.read_exact(&mut sent).unwrap();
            assert_eq!(sent, [2, 0, 0, 7, b'h', b'i']);
            // One and a half packets at a time.
            for piece in [&[1, 0, 0, 0, b'a', 2, 0][..], &[0, 1, b'b', b'c']] {
                stream.write_all(piece).unwrap();
            }
        });
        let mut buffer = vec![0; 4];
        channel.queue(7, |out| out.extend_from_slice(b"hi"));
        assert!(channel.has_queued());
        channel.send(&mut buffer, false).unwrap();
        assert!(!channel.has_queued() && channel.privacy() == Privacy::Socket);
        let (sequence, (from, to)) = channel.packet(&mut buffer).unwrap();
        assert_eq!((sequence, &buffer[from..to]), (0, &b"a"[..]));
        let (sequence, (from, to)) = channel.packet(&mut buffer).unwrap();
        assert_eq!((sequence, &buffer[from..to]), (1, &b"bc"[..]));
        channel.forget(&mut buffer);
        assert!(matches!(channel.packet(&mut buffer), Err(SqlError::Lost(_))), "the server has gone");
    }

    #[test]
    fn what_nobody_waits_for_is_given_up() {
        let (mut channel, abandon) = channel(|mut stream| drop(stream.read(&mut [0; 1])));
        abandon.store(true, Relaxed);
        assert!(matches!(channel.packet(&mut vec![0; 16]), Err(SqlError::Abandoned)));
        abandon.store(false, Relaxed);
        channel.wait_at_most(Some(Duration::ZERO));
        assert!(matches!(channel.packet(&mut vec![0; 16]), Err(SqlError::Lost(_))));
    }
}
