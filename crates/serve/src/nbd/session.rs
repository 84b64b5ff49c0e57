//! One client's session: bytes in, requests out; answers in, bytes out. It does no IO and holds no data: what a write
//! carries goes from the socket to where the caller wants it, and what a read found goes back the same way.
//!
//! The caller shows what it received to [`Session::step`], front first, and drops what was taken. After an
//! [`Event::Request`] that carries data, [`Session::payload_bytes`] of them come next, which the caller takes for itself, in
//! pieces or at once, and reports with [`Session::received`]. What the session itself has to say is in [`Session::output`].

use std::sync::Arc;

use flatwater_core::cache::Failure;

use super::export::{BLOCK_BYTES_MIN, Export, REQUEST_BYTES_MAX, SKIPPED_BYTES_MAX};
use super::negotiation::{CONTEXT, Negotiation, OPTION_BYTES_MAX, Step};
use super::protocol::{self as p, Fields, command, command_flag as flag, error, reply};

/// What a caller must be able to show to `step` at once.
pub const INPUT_BYTES_MAX: usize = p::OPTION_HEADER_BYTES + OPTION_BYTES_MAX as usize;
/// The longest head of a reply.
pub const HEAD_BYTES_MAX: usize = 28;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Reads a range.
    Read,
    /// Writes what follows over a range.
    Write,
    /// Writes zeros over a range.
    Zero,
    /// Gives a range back.
    Trim,
    /// Makes every write that was answered durable.
    Flush,
    /// Will read a range soon.
    Cache,
}

/// A request that makes sense: within the export, not too long, and of whole blocks if the client promised that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client's name for it.
    pub cookie: u64,
    /// What.
    pub ask: Ask,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// Length, up to `REQUEST_BYTES_MAX` for reads and writes; 0 for a flush.
    pub bytes: u32,
    /// Durable before the answer.
    pub durable: bool,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing without more bytes.
    More,
    /// A request.
    Request(Request),
    /// The session ends: nothing more is to be read. What is under way is finished and answered first, as the client asked.
    Left,
    /// The session ends at once: the client broke the protocol, or asked for what is not there. What of it.
    Refused(&'static str),
}

/// The head of a reply.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    bytes: [u8; HEAD_BYTES_MAX],
    length: u8,
    /// The data that were read follow.
    pub data: bool,
}

impl Head {
    fn new(parts: &[&[u8]], data: bool) -> Self {
        let (mut bytes, mut length) = ([0; HEAD_BYTES_MAX], 0);
        for part in parts {
            bytes[length..length + part.len()].copy_from_slice(part);
            length += part.len();
        }
        Self { bytes, length: length as u8, data }
    }

    /// What is sent.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

#[derive(Debug)]
enum Phase {
    Haggling(Negotiation),
    Transmission,
    Ended,
}

/// A session.
#[derive(Debug)]
pub struct Session {
    export: Arc<Export>,
    phase: Phase,
    structured: bool,
    allocation: bool,
    /// Requests that are no whole blocks are refused.
    sized: bool,
    stopping: bool,
    /// Data of a write that was taken up, still to come.
    payload_bytes: u32,
    /// Data of a write that was refused, still to come.
    skipped_bytes: u32,
    output: Vec<u8>,
}

impl Session {
    /// A session with a client that has just connected.
    pub fn new(export: Arc<Export>) -> Self {
        let mut output = Vec::new();
        let phase = Phase::Haggling(Negotiation::new(&mut output));
        let (payload_bytes, skipped_bytes) = (0, 0);
        let (structured, allocation, sized, stopping) = (false, false, false, false);
        Self { export, phase, structured, allocation, sized, stopping, payload_bytes, skipped_bytes, output }
    }

    /// What the session itself has to say, to be sent and cleared. Never in the middle of a reply's data.
    pub const fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Whether the client has chosen the export.
    pub const fn transmits(&self) -> bool {
        matches!(self.phase, Phase::Transmission)
    }

    /// From now on every option and request is refused: the server is going down.
    pub const fn stop(&mut self) {
        self.stopping = true;
    }

    /// Data of the last request that come next.
    pub const fn payload_bytes(&self) -> u32 {
        self.payload_bytes
    }

    /// So many of them came.
    pub fn received(&mut self, bytes: u32) {
        self.payload_bytes = self.payload_bytes.checked_sub(bytes).expect("no more than were to come");
    }

    /// Takes what it can from the front of what came: how many bytes, and what they say. It goes on until it says something;
    /// `More` with bytes left wants them again, with more behind them.
    pub fn step(&mut self, input: &[u8]) -> (usize, Event) {
        let mut taken = 0;
        loop {
            let rest = &input[taken..];
            let (bytes, event) = match &mut self.phase {
                Phase::Ended => return (input.len(), Event::Left),
                Phase::Haggling(negotiation) => {
                    let (bytes, step) = negotiation.step(&self.export, self.stopping, rest, &mut self.output);
                    (bytes, self.haggled(step))
                }
                Phase::Transmission if self.payload_bytes > 0 => (0, Some(Event::More)),
                Phase::Transmission if self.skipped_bytes > 0 => {
                    let bytes = rest.len().min(self.skipped_bytes as usize);
                    self.skipped_bytes -= bytes as u32;
                    (bytes, (self.skipped_bytes > 0).then_some(Event::More))
                }
                Phase::Transmission => self.header(rest),
            };
            taken += bytes;
            if let Some(event) = event {
                if matches!(event, Event::Left | Event::Refused(_)) {
                    self.phase = Phase::Ended;
                }
                return (taken, event);
            }
        }
    }

    fn haggled(&mut self, step: Step) -> Option<Event> {
        match step {
            Step::Again => None,
            Step::More => Some(Event::More),
            Step::Left => Some(Event::Left),
            Step::Refused(why) => Some(Event::Refused(why)),
            Step::Go => {
                if let Phase::Haggling(negotiation) = &self.phase {
                    (self.structured, self.allocation) = (negotiation.structured, negotiation.allocation);
                    self.sized = negotiation.sized;
                }
                self.phase = Phase::Transmission;
                None
            }
        }
    }

    /// Reads a request's header. A request that makes no sense is answered here, and its data are skipped.
    fn header(&mut self, input: &[u8]) -> (usize, Option<Event>) {
        let Some(header) = input.first_chunk::<{ p::REQUEST_HEADER_BYTES }>() else { return (0, Some(Event::More)) };
        let mut fields = Fields(header);
        let mut next = || -> Option<_> {
            Some((fields.u32()?, fields.u16()?, fields.u16()?, fields.u64()?, fields.u64()?, fields.u32()?))
        };
        let Some((magic, flags, command, cookie, offset, bytes)) = next() else { return (0, Some(Event::More)) };
        let taken = p::REQUEST_HEADER_BYTES;
        if magic != p::REQUEST_MAGIC {
            return (taken, Some(Event::Refused("what came is no request")));
        }
        match command {
            command::DISC => return (taken, Some(Event::Left)),
            command::WRITE if bytes > SKIPPED_BYTES_MAX => {
                return (taken, Some(Event::Refused("a write is far too long")));
            }
            _ => {}
        }
        let checked = self.check(flags, command, offset, bytes);
        if command == command::WRITE {
            let payload = if checked.is_ok() { &mut self.payload_bytes } else { &mut self.skipped_bytes };
            *payload = bytes;
        }
        match checked {
            Err((error, why)) => self.refuse(cookie, error, why),
            Ok(None) => self.tell_status(cookie, bytes),
            Ok(Some(ask)) => {
                let durable = flags & flag::FUA != 0;
                return (taken, Some(Event::Request(Request { cookie, ask, offset, bytes, durable })));
            }
        }
        (taken, None)
    }

    /// What a request asks for (None: the status of a range), or why not.
    fn check(&self, flags: u16, command: u16, offset: u64, bytes: u32) -> Result<Option<Ask>, (u32, &'static str)> {
        let (ask, own_flags) = match command {
            command::READ => (Some(Ask::Read), if self.structured { flag::DF } else { 0 }),
            command::WRITE => (Some(Ask::Write), 0),
            command::FLUSH => (Some(Ask::Flush), 0),
            command::TRIM => (Some(Ask::Trim), 0),
            command::CACHE => (Some(Ask::Cache), 0),
            command::WRITE_ZEROES => (Some(Ask::Zero), flag::NO_HOLE | flag::FAST_ZERO),
            command::BLOCK_STATUS if self.allocation => (None, flag::REQ_ONE),
            command::BLOCK_STATUS => return Err((error::EINVAL, "no metadata context was chosen")),
            _ => return Err((error::EINVAL, "unknown command")),
        };
        if self.stopping {
            return Err((error::ESHUTDOWN, "the server is going down"));
        }
        // FUA may come with any command.
        if flags & !(own_flags | flag::FUA) != 0 {
            return Err((error::EINVAL, "a flag that this command does not have"));
        }
        if ask == Some(Ask::Flush) {
            let plain = offset == 0 && bytes == 0;
            return if plain { Ok(ask) } else { Err((error::EINVAL, "a flush has no range")) };
        }
        let writes = matches!(ask, Some(Ask::Write | Ask::Zero | Ask::Trim));
        if writes && self.export.read_only {
            return Err((error::EPERM, "the export is read-only"));
        }
        if !self.export.holds(offset, u64::from(bytes)) {
            let error = if matches!(ask, Some(Ask::Write | Ask::Zero)) { error::ENOSPC } else { error::EINVAL };
            return Err((error, "outside of the export"));
        }
        if bytes == 0 {
            return Err((error::EINVAL, "an empty range"));
        }
        // A client that was never told the smallest block may take it for one byte, and is served.
        let unit = if self.sized { BLOCK_BYTES_MIN } else { 1 };
        if !offset.is_multiple_of(unit.into()) || !bytes.is_multiple_of(unit) {
            return Err((error::EINVAL, "not a multiple of the smallest block"));
        }
        if matches!(ask, Some(Ask::Read | Ask::Write)) && bytes > REQUEST_BYTES_MAX {
            return Err((error::EINVAL, "longer than the longest request"));
        }
        if ask == Some(Ask::Zero) && flags & flag::FAST_ZERO != 0 && !self.export.fast_zero {
            return Err((error::ENOTSUP, "zeros are as slow as data"));
        }
        Ok(ask)
    }

    /// The head of the reply to a request that ended. With `Head::data`, what was read follows it.
    pub fn reply(&self, request: &Request, result: Result<(), Failure>) -> Head {
        let cookie = request.cookie.to_be_bytes();
        if !(self.structured && request.ask == Ask::Read) {
            let error = result.map_or_else(|failure| error_of(failure, request.ask), |()| 0).to_be_bytes();
            let data = request.ask == Ask::Read && result.is_ok();
            return Head::new(&[&p::SIMPLE_REPLY_MAGIC.to_be_bytes(), &error, &cookie], data);
        }
        let (kind, bytes) = if result.is_ok() { (reply::OFFSET_DATA, 8 + request.bytes) } else { (reply::ERROR, 6) };
        let (magic, flags) = (p::STRUCTURED_REPLY_MAGIC.to_be_bytes(), reply::FLAG_DONE.to_be_bytes());
        let (kind, bytes) = (kind.to_be_bytes(), bytes.to_be_bytes());
        match result {
            Ok(()) => Head::new(&[&magic, &flags, &kind, &cookie, &bytes, &request.offset.to_be_bytes()], true),
            Err(failure) => {
                let error = error_of(failure, request.ask).to_be_bytes();
                Head::new(&[&magic, &flags, &kind, &cookie, &bytes, &error, &[0, 0]], false)
            }
        }
    }

    fn refuse(&mut self, cookie: u64, error: u32, why: &str) {
        if !self.structured {
            for part in [&p::SIMPLE_REPLY_MAGIC.to_be_bytes()[..], &error.to_be_bytes(), &cookie.to_be_bytes()] {
                self.output.extend(part);
            }
            return;
        }
        let length = (why.len() as u16).to_be_bytes();
        self.chunk(reply::ERROR, cookie, &[&error.to_be_bytes(), &length, why.as_bytes()]);
    }

    /// All of it may hold data: the cache does not look for holes below it. The protocol lets every server say so.
    fn tell_status(&mut self, cookie: u64, bytes: u32) {
        self.chunk(reply::BLOCK_STATUS, cookie, &[&CONTEXT.1.to_be_bytes(), &bytes.to_be_bytes(), &[0; 4]]);
    }

    fn chunk(&mut self, kind: u16, cookie: u64, parts: &[&[u8]]) {
        let bytes = parts.iter().map(|part| part.len()).sum::<usize>() as u32;
        self.output.extend(p::STRUCTURED_REPLY_MAGIC.to_be_bytes());
        self.output.extend(reply::FLAG_DONE.to_be_bytes());
        self.output.extend(kind.to_be_bytes());
        self.output.extend(cookie.to_be_bytes());
        self.output.extend(bytes.to_be_bytes());
        for part in parts {
            self.output.extend(*part);
        }
    }
}

const fn error_of(failure: Failure, ask: Ask) -> u32 {
    match failure {
        Failure::Outside if matches!(ask, Ask::Write | Ask::Zero) => error::ENOSPC,
        Failure::Outside => error::EINVAL,
        Failure::Stopping => error::ESHUTDOWN,
        _ => error::EIO,
    }
}
