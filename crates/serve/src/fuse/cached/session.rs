//! Serving a mount: requests are read from /dev/fuse, and each is answered when the cache has done it.
//!
//! All state that a request needs is in the request: who takes over from a server that was killed lets the kernel send
//! again what was not answered, and nobody who uses the files notices.

mod changes;
mod directory;
mod kernel;
mod range;

use std::os::fd::OwnedFd;
use std::time::{SystemTime, UNIX_EPOCH};

use flatwater_core::cache::{Change, Command, Failure, Kind};
use flatwater_core::slab::{Key, Slab};
use flatwater_core::slab_key;
use flatwater_real::cache::{Ask, Buffer, Port, Region, Source};
use io_uring::{opcode as operation, types};

use super::files::{DEVICE, Files};
use super::mount::Protocol;
use super::payload::{Payloads, PlaceId};
use super::process::Processes;
use super::wire::{Fields, Header, IN_HEADER_BYTES, Out, WRITE_HEADER_BYTES, opcode};
use crate::fuse::limits;
use changes::{Begun, Changes, Wanted};
use directory::{Answer, Directory};
use kernel::{Kernel, Taken};
use range::{Range, kind_of};

/// Requests that are read before what ended meanwhile is looked at.
const READ_AT_ONCE: u32 = 64;
/// The ring's key of the wait for the next request.
const READABLE: u64 = 0;

slab_key!(
    /// A request that the cache is at work on.
    FlightId
);

/// A request that the cache is at work on.
#[derive(Clone, Copy, Debug)]
enum Flight {
    /// A read: answered with the buffer's content.
    Read { unique: u64, buffer: Buffer, bytes: u32 },
    /// A write, which lies in this place.
    Write { unique: u64, place: PlaceId, bytes: u32 },
    /// A flush, or a range in pieces: what is left of it.
    Range(Range),
    /// A setting.
    Change { unique: u64, bytes: u32 },
}

/// The source of requests that a mount is.
pub struct Session {
    kernel: Kernel,
    protocol: Protocol,
    name: String,
    owner: (u32, u32),
    /// Made when the reactor begins.
    directory: Option<Directory>,
    payloads: Payloads,
    processes: Processes,
    flights: Slab<Flight, FlightId>,
    changes: Changes,
    /// Whether a wait is in the ring; whether there may be something to read.
    waiting: bool,
    readable: bool,
    stopping: bool,
    over: Option<String>,
}

fn errno(failure: Failure, kind: Kind) -> i32 {
    match failure {
        Failure::Medium => libc::EIO,
        Failure::Outside if kind == Kind::Read => libc::EINVAL,
        Failure::Outside => libc::ENOSPC,
        Failure::Stopping => libc::ESHUTDOWN,
        Failure::Busy | Failure::Size { .. } | Failure::Pins { .. } | Failure::NoRoom | Failure::Degraded => {
            libc::EBUSY
        }
    }
}

impl Session {
    /// A source of the mount that this descriptor is of. Its files belong to `owner` (user, group).
    pub fn new(fuse: OwnedFd, protocol: Protocol, name: String, owner: (u32, u32)) -> Self {
        Self {
            kernel: Kernel::new(fuse),
            protocol,
            name,
            owner,
            directory: None,
            payloads: Payloads::new(protocol.write_bytes_max),
            processes: Processes::default(),
            flights: Slab::new(),
            changes: Changes::default(),
            waiting: false,
            readable: true,
            stopping: false,
            over: None,
        }
    }

    fn answer(&self, unique: u64, answer: Answer) {
        match answer {
            Ok(data) => self.kernel.answer(unique, &data),
            Err(errno) => self.kernel.refuse(unique, errno),
        }
    }

    fn directory(&mut self) -> &mut Directory {
        self.directory.as_mut().expect("made when the reactor began")
    }

    /// Waits in the ring until there is something to read.
    fn wait(&mut self, port: &mut Port<'_>) {
        if self.waiting || self.stopping || self.over.is_some() {
            return;
        }
        let entry = operation::PollAdd::new(types::Fd(self.kernel.descriptor()), libc::POLLIN as u32).build();
        // SAFETY: it points to nothing.
        unsafe { port.push(entry, READABLE) };
        self.waiting = true;
    }

    /// Reads one request; false when there is none.
    fn read_one(&mut self, port: &mut Port<'_>) -> bool {
        let place = self.payloads.take();
        let region = self.payloads.region(place);
        let header = self.payloads.header(place);
        let length = match self.kernel.take(header, region) {
            Ok(Taken::Request(length)) => length,
            nothing => {
                self.payloads.give(place);
                let is_gone = matches!(nothing, Ok(Taken::Gone));
                self.over = nothing.err();
                return is_gone;
            }
        };
        if !self.take(port, place, length) {
            self.payloads.give(place);
        }
        true
    }

    /// Takes a request that lies in a place; true if it keeps the place until it is answered.
    fn take(&mut self, port: &mut Port<'_>, place: PlaceId, length: usize) -> bool {
        let whole = *self.payloads.header(place);
        let header = Header::parse(&whole);
        if header.opcode == opcode::WRITE && length >= WRITE_HEADER_BYTES {
            return self.write(port, header, Fields(&whole[IN_HEADER_BYTES..]), place, length - WRITE_HEADER_BYTES);
        }
        if header.opcode == opcode::READ && header.node == DEVICE {
            self.read_device(port, header, Fields(&whole[IN_HEADER_BYTES..]));
            return false;
        }
        // The others are few and short: they are put together again.
        let mut body = whole[IN_HEADER_BYTES..length.clamp(IN_HEADER_BYTES, WRITE_HEADER_BYTES)].to_vec();
        let rest = self.payloads.region(place).part(0, length.saturating_sub(WRITE_HEADER_BYTES) as u32);
        // SAFETY: the kernel has just filled so much of it.
        body.extend_from_slice(unsafe { std::slice::from_raw_parts(rest.pointer, rest.bytes as usize) });
        self.answer_other(port, header, &body);
        false
    }

    fn answer_other(&mut self, port: &mut Port<'_>, header: Header, body: &[u8]) {
        let (unique, fields) = (header.unique, Fields(body));
        match header.opcode {
            // Wanted are no answers; of an interrupted request, it is its own.
            opcode::FORGET | opcode::BATCH_FORGET | opcode::INTERRUPT => {}
            opcode::FSYNC if header.node == DEVICE => {
                let flight = self.flights.insert(Flight::Range(Range::flush(unique)));
                self.ask(port, flight, header.thread, Kind::Flush, (0, 0), false, Region::NONE);
            }
            opcode::FALLOCATE => self.allocate(port, header, fields),
            _ => {
                let answer = self.directory().answer(port, header, body);
                self.answer(unique, answer);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a request has as many parts")]
    fn ask(
        &mut self,
        port: &mut Port<'_>,
        flight: FlightId,
        thread: u32,
        kind: Kind,
        range: (u64, u32),
        durable: bool,
        memory: Region,
    ) {
        let process = if port.wants_processes() { self.processes.of(thread, port.now_ns()) } else { 0 };
        port.ask(flight.number().into(), Ask { kind, offset: range.0, bytes: range.1, durable, process, memory });
    }

    /// How much of a range is within the device.
    fn within(&mut self, offset: u64, bytes: u32) -> u32 {
        limits::within(self.directory().device_bytes(), offset, bytes.into()) as u32
    }

    fn read_device(&mut self, port: &mut Port<'_>, header: Header, fields: Fields<'_>) {
        let (offset, unique) = (fields.u64(8), header.unique);
        let bytes = self.within(offset, fields.u32(16));
        if bytes == 0 {
            return self.kernel.answer(unique, &[]);
        }
        let buffer = port.take(bytes);
        let flight = self.flights.insert(Flight::Read { unique, buffer, bytes });
        self.ask(port, flight, header.thread, Kind::Read, (offset, bytes), false, buffer.region);
    }

    fn write(
        &mut self,
        port: &mut Port<'_>,
        header: Header,
        fields: Fields<'_>,
        place: PlaceId,
        arrived: usize,
    ) -> bool {
        let (offset, unique, flags) = (fields.u64(8), header.unique, fields.u32(32) as i32);
        let bytes = fields.u32(16).min(arrived as u32);
        let region = self.payloads.region(place);
        if header.node != DEVICE {
            // SAFETY: the kernel has just filled so much of it.
            let text = unsafe { std::slice::from_raw_parts(region.pointer, bytes as usize) };
            let text = String::from_utf8_lossy(text).into_owned();
            self.change(port, header, &text, bytes);
            return false;
        }
        let within = self.within(offset, bytes);
        if within == 0 {
            self.kernel.refuse(unique, libc::ENOSPC);
            return false;
        }
        let flight = self.flights.insert(Flight::Write { unique, place, bytes: within });
        let durable = flags & libc::O_DSYNC != 0;
        self.ask(port, flight, header.thread, Kind::Write, (offset, within), durable, region);
        true
    }

    /// Holes and zeros; space cannot be reserved on a device.
    fn allocate(&mut self, port: &mut Port<'_>, header: Header, fields: Fields<'_>) {
        let (offset, length, mode, unique) = (fields.u64(8), fields.u64(16), fields.u32(24) as i32, header.unique);
        let Some(kind) = kind_of(mode, port.zeros_holes()) else {
            return self.kernel.refuse(unique, libc::EOPNOTSUPP);
        };
        if header.node != DEVICE {
            return self.kernel.refuse(unique, libc::EOPNOTSUPP);
        }
        let bytes = self.directory().device_bytes();
        let end = offset.saturating_add(length);
        if end > bytes && mode & libc::FALLOC_FL_KEEP_SIZE == 0 {
            return self.kernel.refuse(unique, libc::ENOSPC);
        }
        let flight = self.flights.insert(Flight::Range(Range::new(unique, kind, offset.min(bytes), end.min(bytes))));
        self.go_on_range(port, flight);
    }

    /// The next piece of a range, or its answer.
    fn go_on_range(&mut self, port: &mut Port<'_>, flight: FlightId) {
        let Flight::Range(range) = &mut self.flights[flight] else { return };
        match range.next() {
            Some((kind, at, bytes)) => self.ask(port, flight, 0, kind, (at, bytes), false, Region::NONE),
            None => {
                let unique = range.unique;
                self.flights.remove(flight);
                self.kernel.answer(unique, &[]);
            }
        }
    }

    fn change(&mut self, port: &mut Port<'_>, header: Header, text: &str, bytes: u32) {
        let unique = header.unique;
        let Some(name) = self.directory().setting(header.node) else {
            return self.kernel.refuse(unique, libc::EACCES);
        };
        let change = Change { name: name.to_owned(), value: text.trim().to_owned() };
        if self.changes.push(Wanted { unique, bytes, change }) {
            self.next_change(port);
        }
    }

    fn next_change(&mut self, port: &mut Port<'_>) {
        let Some(Wanted { unique, bytes, change }) = self.changes.first() else { return };
        match changes::begin(port, change) {
            Begun::Ended(result) => self.changed(port, unique, bytes, result),
            Begun::Sent(change) => {
                let flight = self.flights.insert(Flight::Change { unique, bytes });
                port.command(flight.number().into(), Command::Set(vec![change]));
            }
        }
    }

    /// Answers the first change in the queue, and goes on with the next.
    fn changed(&mut self, port: &mut Port<'_>, unique: u64, bytes: u32, result: Result<(), String>) {
        self.changes.end_first();
        match &result {
            Ok(()) => self.kernel.answer(unique, &Out::default().u32(bytes).u32(0).0),
            Err(_) => self.kernel.refuse(unique, libc::EINVAL),
        }
        self.directory().note_change(result.err());
        self.next_change(port);
    }
}

impl Source for Session {
    fn begin(&mut self, port: &mut Port<'_>) -> Result<(), String> {
        let files = Files::new(port.bytes(), self.owner, port.settings().is_some());
        // Handles of an earlier server are not given again.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.directory = Some(Directory::new(files, self.name.clone(), now.as_nanos() as u64));
        // Whether there was a server before, the kernel knows: of the first, it has nothing to send again.
        if self.protocol.resends() {
            self.kernel.resend().map_err(|error| format!("the mount cannot be taken over: {error}"))?;
        }
        self.wait(port);
        Ok(())
    }

    fn completed(&mut self, _: &mut Port<'_>, _: u64, _: i32, _: bool) {
        self.waiting = false;
        self.readable = true;
    }

    fn answered(&mut self, port: &mut Port<'_>, key: u64, result: Result<(), Failure>) {
        let flight = FlightId::from_number(key as u32);
        if let (Flight::Range(range), Ok(())) = (self.flights[flight], result)
            && range.kind != Kind::Flush
        {
            return self.go_on_range(port, flight);
        }
        match self.flights.remove(flight) {
            Flight::Read { unique, buffer, bytes } => {
                let region = buffer.region.part(0, bytes);
                // SAFETY: the cache has filled it, and it is ours again.
                let data = unsafe { std::slice::from_raw_parts(region.pointer, bytes as usize) };
                match result {
                    Ok(()) => self.kernel.answer(unique, data),
                    Err(failure) => self.kernel.refuse(unique, errno(failure, Kind::Read)),
                }
                port.give(buffer);
            }
            Flight::Write { unique, place, bytes } => {
                match result {
                    Ok(()) => self.kernel.answer(unique, &Out::default().u32(bytes).u32(0).0),
                    Err(failure) => self.kernel.refuse(unique, errno(failure, Kind::Write)),
                }
                self.payloads.give(place);
            }
            Flight::Range(Range { unique, kind, .. }) => match result {
                Ok(()) => self.kernel.answer(unique, &[]),
                Err(failure) => self.kernel.refuse(unique, errno(failure, kind)),
            },
            Flight::Change { unique, bytes } => {
                let result = result.map_err(|failure| format!("the cache refuses it ({failure:?})"));
                self.changed(port, unique, bytes, result);
            }
        }
    }

    fn turn(&mut self, port: &mut Port<'_>) -> bool {
        if self.stopping || self.over.is_some() {
            return false;
        }
        if self.readable {
            for _ in 0..READ_AT_ONCE {
                if !self.read_one(port) {
                    self.readable = false;
                    break;
                }
            }
        }
        if !self.readable {
            self.wait(port);
        }
        self.readable
    }

    fn stopping(&mut self, _: &mut Port<'_>) {
        self.stopping = true;
    }

    fn idle(&self) -> bool {
        self.flights.is_empty()
    }

    fn over(&self) -> Option<String> {
        self.over.clone()
    }
}
