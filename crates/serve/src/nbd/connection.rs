//! A client's connection: what it received and has to send, and how far it is.

use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use flatwater_real::cache::Region;
use io_uring::{opcode, squeue, types};

use super::budget::Limits;
use super::export::Export;
use super::outgoing::Outgoing;
use super::protocol::REQUEST_HEADER_BYTES;
use super::session::{INPUT_BYTES_MAX, Request, Session};
use super::underway::RequestId;

/// What is received at once when requests are expected: 146 headers. Less is copied of data that come with them.
const RECEIVED_BYTES: usize = 4096;
/// Texts that wait to be sent, from which on the client is not read from.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It serves.
    Open,
    /// Nothing more is read; what is under way is answered and sent.
    Finishing,
    /// Nothing more is read or sent.
    Broken,
}

/// A write whose data are coming.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// The request.
    pub request: RequestId,
    /// Where the data go.
    pub memory: Region,
    /// Bytes that came.
    pub done: u32,
}

/// What a receive is made of; the kernel reads it.
struct Vectors {
    header: libc::msghdr,
    vectors: [libc::iovec; 2],
}

/// A connection.
pub struct Connection {
    stream: OwnedFd,
    /// The session with the client.
    pub session: Session,
    /// The client's process.
    pub process: u32,
    /// How far it is.
    pub state: State,
    /// What is to be sent.
    pub outgoing: Outgoing,
    /// A write whose data are coming.
    pub incoming: Option<Incoming>,
    /// A request that waits for memory.
    pub blocked: Option<Request>,
    /// It waits for memory that others hold, and not for its own answers to be taken.
    pub wants_others: bool,
    /// Memory that it holds, as the budget counts it.
    pub held_bytes: u64,
    /// Requests that were not answered, or whose answer was not sent.
    pub requests: u32,
    /// When the client last took or gave something.
    pub progress_ns: u64,
    /// When it came.
    pub began_ns: u64,
    /// Whether it is among those that have something to send.
    pub is_listed: bool,
    receiving: bool,
    staged: Box<[u8]>,
    staged_bytes: usize,
    vectors: Box<Vectors>,
    wrote_last: bool,
}

// SAFETY: the raw pointers are into memory of the reactor's pool and of the connection itself; whichever thread has the
// connection uses both.
unsafe impl Send for Connection {}

impl Connection {
    /// Whether a request of it waits for memory that others hold.
    pub fn waits_for_others(&self) -> bool {
        self.blocked.is_some() && self.wants_others && self.state == State::Open
    }

    /// Why it must be cut off at `now_ns`, if it must. `is_wanted`: others wait for memory.
    pub fn why_cut_off(&self, now_ns: u64, limits: &Limits, is_wanted: bool) -> Option<&'static str> {
        let since_s = |then_ns: u64| now_ns.saturating_sub(then_ns) / 1_000_000_000;
        let is_patience_over = since_s(self.progress_ns) >= limits.patience_s;
        let stuck = self.outgoing.is_busy() || self.incoming.is_some();
        let greedy = is_wanted && stuck && self.held_bytes > limits.own_bytes;
        match self.state {
            State::Open if !self.session.transmits() && since_s(self.began_ns) >= limits.haggling_s => {
                Some("it chose no export")
            }
            State::Open if greedy && is_patience_over => Some("it held memory that others wanted, and did nothing"),
            State::Finishing if stuck && is_patience_over => Some("it left, and did not read its answers"),
            _ => None,
        }
    }

    /// A connection that has just been accepted.
    pub fn new(stream: OwnedFd, export: Arc<Export>, now_ns: u64) -> Self {
        let process = peer(&stream);
        // SAFETY: plain numbers and null pointers.
        let vectors = Box::new(unsafe { zeroed::<Vectors>() });
        Self {
            stream,
            session: Session::new(export),
            process,
            state: State::Open,
            outgoing: Outgoing::new(),
            incoming: None,
            blocked: None,
            wants_others: false,
            held_bytes: 0,
            requests: 0,
            progress_ns: now_ns,
            began_ns: now_ns,
            is_listed: false,
            receiving: false,
            staged: vec![0; INPUT_BYTES_MAX + RECEIVED_BYTES].into(),
            staged_bytes: 0,
            vectors,
            wrote_last: false,
        }
    }

    /// The socket.
    pub fn descriptor(&self) -> i32 {
        self.stream.as_raw_fd()
    }

    /// Lets the session look at what was received from `at` on: what it took, and what it says.
    pub fn step(&mut self, at: usize) -> (usize, super::session::Event) {
        let (taken, event) = self.session.step(&self.staged[at..self.staged_bytes]);
        if !self.session.output().is_empty() {
            self.outgoing.push(super::outgoing::Piece::Text(std::mem::take(self.session.output())));
        }
        (taken, event)
    }

    /// Moves data of the write that is coming from what was received, from `at` on: how many bytes.
    pub fn unstage(&mut self, at: usize) -> usize {
        let Some(incoming) = &mut self.incoming else { return 0 };
        let bytes = (self.staged_bytes - at).min(self.session.payload_bytes() as usize);
        let to = incoming.memory.part(incoming.done, bytes as u32).pointer;
        // SAFETY: `part` checked the length; the memory is this request's own, which nobody else touches until it is asked.
        unsafe { std::ptr::copy_nonoverlapping(self.staged[at..].as_ptr(), to, bytes) };
        incoming.done += bytes as u32;
        self.session.received(bytes as u32);
        bytes
    }

    /// Drops the first bytes of what was received.
    pub fn consume(&mut self, bytes: usize) {
        self.staged.copy_within(bytes..self.staged_bytes, 0);
        self.staged_bytes -= bytes;
    }

    /// Whether it can be read from.
    pub fn can_receive(&self) -> bool {
        self.state == State::Open && !self.receiving && self.blocked.is_none() && self.can_step()
    }

    /// Whether the session may go on: not too much of what it says waits for the client.
    pub const fn can_step(&self) -> bool {
        self.outgoing.text_bytes() < TEXT_BYTES_MAX
    }

    /// Whether a receive is under way.
    pub const fn is_receiving(&self) -> bool {
        self.receiving
    }

    /// Receives: data of a write straight to where they go, and what comes after them.
    pub fn receive(&mut self) -> squeue::Entry {
        self.receiving = true;
        let room = self.staged.len() - self.staged_bytes;
        let stage = self.staged[self.staged_bytes..].as_mut_ptr();
        let descriptor = types::Fd(self.stream.as_raw_fd());
        let Some(incoming) = self.incoming else {
            // After a write comes a write, or so it seems: its data should not be staged.
            let bytes = if self.wrote_last && self.staged_bytes < REQUEST_HEADER_BYTES {
                REQUEST_HEADER_BYTES - self.staged_bytes
            } else {
                RECEIVED_BYTES.min(room)
            };
            return opcode::Recv::new(descriptor, stage, bytes as u32).build();
        };
        let bytes = self.session.payload_bytes();
        let data = incoming.memory.part(incoming.done, bytes).pointer;
        let own = &mut *self.vectors;
        own.vectors = [
            libc::iovec { iov_base: data.cast(), iov_len: bytes as usize },
            libc::iovec { iov_base: stage.cast(), iov_len: REQUEST_HEADER_BYTES },
        ];
        own.header.msg_iov = own.vectors.as_mut_ptr();
        own.header.msg_iovlen = 2;
        opcode::RecvMsg::new(descriptor, &raw mut own.header).build()
    }

    /// So many bytes were received.
    pub fn received(&mut self, bytes: usize, now_ns: u64) {
        self.progress_ns = now_ns;
        let mut bytes = bytes;
        if let Some(incoming) = &mut self.incoming {
            let data = bytes.min(self.session.payload_bytes() as usize);
            incoming.done += data as u32;
            self.session.received(data as u32);
            bytes -= data;
        }
        self.staged_bytes += bytes;
    }

    /// The receive that was under way is over.
    pub const fn receive_ended(&mut self) {
        self.receiving = false;
    }

    /// The kind of the latest request, which says how the next is received.
    pub const fn note_write(&mut self, wrote: bool) {
        self.wrote_last = wrote;
    }

    /// Nothing more comes or goes: whatever is under way with the socket ends.
    pub fn cut(&mut self) {
        self.state = State::Broken;
        self.shut(libc::SHUT_RDWR);
    }

    /// Nothing more is read.
    pub fn finish(&mut self) {
        if self.state == State::Open {
            self.state = State::Finishing;
        }
        if self.receiving {
            self.shut(libc::SHUT_RD);
        }
    }

    fn shut(&self, how: i32) {
        // SAFETY: the descriptor is open.
        unsafe { libc::shutdown(self.stream.as_raw_fd(), how) };
    }

    /// Whether nothing of it is under way any more: it can be dropped.
    pub fn is_over(&self) -> bool {
        let quiet = self.requests == 0 && !self.receiving && !self.outgoing.is_busy();
        quiet
            && match self.state {
                State::Open => false,
                State::Finishing => self.outgoing.is_empty(),
                State::Broken => true,
            }
    }
}

/// The process at the other end; 0 if it is not known.
fn peer(stream: &OwnedFd) -> u32 {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: the descriptor is open, and the struct as long as is said.
    let answer =
        unsafe { libc::getsockopt(stream.as_raw_fd(), level, name, (&raw mut credentials).cast(), &raw mut length) };
    if answer == 0 { credentials.pid.max(0) as u32 } else { 0 }
}
