//! A client's side of the wire, byte by byte, and a server around a session whose device is memory.

use std::sync::Arc;

use flatwater_core::cache::Failure;
use flatwater_serve::nbd::export::Export;
use flatwater_serve::nbd::protocol::{self as p, Fields, option, option_reply};
use flatwater_serve::nbd::session::{Ask, Event, INPUT_BYTES_MAX, Request, Session};

/// Bytes of the tests' device.
pub const DEVICE_BYTES: u64 = 1 << 20;

/// An export of `DEVICE_BYTES` that is called "disk".
pub fn export() -> Export {
    Export::new("disk", DEVICE_BYTES, 16384).unwrap()
}

/// The client's flags: fixed newstyle, no zeros.
pub fn hello() -> Vec<u8> {
    3u32.to_be_bytes().to_vec()
}

/// An option.
pub fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = p::OPTION_MAGIC.to_be_bytes().to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// The data of `INFO` and `GO`.
pub fn named(name: &[u8], asked: &[u16]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name);
    data.extend((asked.len() as u16).to_be_bytes());
    asked.iter().for_each(|one| data.extend(one.to_be_bytes()));
    data
}

/// The data of the options on metadata contexts.
pub fn queries(name: &[u8], queries: &[&[u8]]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name);
    data.extend((queries.len() as u32).to_be_bytes());
    for query in queries {
        data.extend((query.len() as u32).to_be_bytes());
        data.extend(*query);
    }
    data
}

/// A request's header.
pub fn request(flags: u16, command: u16, cookie: u64, offset: u64, bytes: u32) -> Vec<u8> {
    let mut header = p::REQUEST_MAGIC.to_be_bytes().to_vec();
    header.extend(flags.to_be_bytes());
    header.extend(command.to_be_bytes());
    header.extend(cookie.to_be_bytes());
    header.extend(offset.to_be_bytes());
    header.extend(bytes.to_be_bytes());
    header
}

/// A server of one client.
pub struct Server {
    pub session: Session,
    pub device: Vec<u8>,
    /// What it sent, greeting first.
    pub sent: Vec<u8>,
    /// What it took up.
    pub taken: Vec<Request>,
    /// How it ended, if it did.
    pub ended: Option<Event>,
    /// What the device answers.
    pub result: Result<(), Failure>,
    staged: Vec<u8>,
    write: Option<(Request, usize)>,
}

impl Server {
    pub fn new(export: Export) -> Self {
        let device = vec![0; export.bytes as usize];
        let mut session = Session::new(Arc::new(export));
        let sent = std::mem::take(session.output());
        let (staged, taken) = (Vec::new(), Vec::new());
        Self { session, device, sent, taken, ended: None, result: Ok(()), staged, write: None }
    }

    /// Some bytes come from the client.
    ///
    /// # Panics
    /// If the session does what it must not.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.staged.extend(bytes);
        while self.ended.is_none() {
            if !self.take_payload() {
                return;
            }
            let before = self.staged.len();
            let (taken, event) = self.session.step(&self.staged);
            assert!(taken <= before, "it took more than there was");
            self.staged.drain(..taken);
            self.sent.append(self.session.output());
            match event {
                Event::More => {
                    assert!(self.staged.len() < INPUT_BYTES_MAX, "it never says what it needs");
                    return;
                }
                Event::Request(request) => {
                    assert!(request.offset + u64::from(request.bytes) <= self.device.len() as u64, "{request:?}");
                    assert_eq!(request.ask == Ask::Write, self.session.payload_bytes() > 0);
                    self.taken.push(request);
                    self.write = Some((request, 0));
                }
                Event::Left | Event::Refused(_) => self.ended = Some(event),
            }
        }
    }

    /// Moves the data of a write to the device, and ends the request when it is complete; false if more are to come.
    fn take_payload(&mut self) -> bool {
        let Some((request, done)) = self.write else { return true };
        let bytes = self.staged.len().min(self.session.payload_bytes() as usize);
        let at = request.offset as usize + done;
        let data = self.staged.drain(..bytes);
        if self.result.is_ok() {
            self.device[at..at + bytes].copy_from_slice(data.as_slice());
        }
        drop(data);
        self.session.received(bytes as u32);
        self.write = Some((request, done + bytes));
        if self.session.payload_bytes() > 0 {
            return false;
        }
        self.write = None;
        self.answer(&request);
        true
    }

    fn answer(&mut self, request: &Request) {
        let range = request.offset as usize..request.offset as usize + request.bytes as usize;
        if matches!(request.ask, Ask::Zero) && self.result.is_ok() {
            self.device[range.clone()].fill(0);
        }
        let head = self.session.reply(request, self.result);
        self.sent.extend(head.bytes());
        if head.data {
            self.sent.extend(&self.device[range]);
        }
    }

    /// What was sent since the last call.
    pub fn take_sent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sent)
    }

    /// A server whose client has taken the export with these options before.
    pub fn transmitting(export: Export, options: &[Vec<u8>]) -> Self {
        let mut server = Self::new(export);
        server.receive(&hello());
        options.iter().for_each(|one| server.receive(one));
        server.receive(&option(option::GO, &named(b"disk", &[3])));
        assert!(server.session.transmits());
        server.take_sent();
        server
    }
}

/// An answer to an option: option, kind, data.
pub type OptionReply = (u32, u32, Vec<u8>);

/// The answers to options that bytes hold.
pub fn option_replies(bytes: &[u8]) -> Vec<OptionReply> {
    let mut fields = Fields(bytes);
    let mut replies = Vec::new();
    while !fields.is_empty() {
        assert_eq!(fields.u64(), Some(p::OPTION_REPLY_MAGIC));
        let (option, kind) = (fields.u32().unwrap(), fields.u32().unwrap());
        let data = fields.counted().unwrap().to_vec();
        if kind & (1 << 31) != 0 {
            assert!(std::str::from_utf8(&data).is_ok_and(|text| !text.is_empty()), "an error says what it is");
        }
        assert!(kind != option_reply::ACK || data.is_empty());
        replies.push((option, kind, data));
    }
    replies
}

/// A reply to a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    pub cookie: u64,
    pub error: u32,
    /// Of a structured reply: its kind.
    pub kind: Option<u16>,
    pub data: Vec<u8>,
}

/// The replies that bytes hold; `read` says how many bytes of data a simple reply without error carries.
pub fn replies(bytes: &[u8], read: impl Fn(u64) -> usize) -> Vec<Reply> {
    let mut fields = Fields(bytes);
    let mut replies = Vec::new();
    while !fields.is_empty() {
        match fields.u32() {
            Some(p::SIMPLE_REPLY_MAGIC) => {
                let (error, cookie) = (fields.u32().unwrap(), fields.u64().unwrap());
                let data = if error == 0 { fields.bytes(read(cookie)).unwrap().to_vec() } else { Vec::new() };
                replies.push(Reply { cookie, error, kind: None, data });
            }
            Some(p::STRUCTURED_REPLY_MAGIC) => {
                assert_eq!(fields.u16(), Some(p::reply::FLAG_DONE));
                let (kind, cookie) = (fields.u16().unwrap(), fields.u64().unwrap());
                let data = fields.counted().unwrap().to_vec();
                let mut inner = Fields(&data);
                let error = if kind == p::reply::ERROR { inner.u32().unwrap() } else { 0 };
                if kind == p::reply::ERROR {
                    let length = inner.u16().unwrap();
                    assert_eq!(inner.0.len(), usize::from(length));
                    assert_ne!(error, 0);
                }
                replies.push(Reply { cookie, error, kind: Some(kind), data });
            }
            other => panic!("no reply begins with {other:x?}"),
        }
    }
    replies
}
