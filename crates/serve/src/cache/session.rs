//! Serving a mount: requests are read from /dev/fuse, and each is answered when the cache has done it.
//!
//! All state that a request needs is in the request: who takes over from a server that was killed lets the kernel send
//! again what was not answered, and nobody who uses the files notices.

mod names;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use flatwater_core::cache::{Change, Command, Failure, Kind};
use flatwater_real::cache::unaligned::SECTOR_BYTES;
use flatwater_real::cache::{Ask, Buffer, Port, Region, Source};
use io_uring::{opcode as operation, types};

use super::files::{self, DEVICE, ERROR, EVENTS, Files, RECORD, STATS, STATS_JSON};
use super::mount::Protocol;
use super::payload::Payloads;
use super::process::Processes;
use names::KNOWN_FOR_S;

use super::wire::{
    self, Fields, Header, IN_HEADER_BYTES, OUT_HEADER_BYTES, Out, WRITE_HEADER_BYTES, opcode, out_header,
};

/// Requests that are read before what ended meanwhile is looked at.
const READ_AT_ONCE: u32 = 64;
/// Longest piece of a trim or of zeros that the engine gets at once.
const PIECE_BYTES: u64 = 64 << 20;
/// The ring's key of the wait for the next request.
const READABLE: u64 = 0;

/// A request that the cache is at work on.
#[derive(Clone, Copy, Debug)]
enum Flight {
    /// A read: answered with the buffer's content.
    Read { unique: u64, buffer: Buffer, bytes: u32 },
    /// A write, which lies in this place.
    Write { unique: u64, place: u32, bytes: u32 },
    /// A flush, or a range in pieces: what is left of it.
    Range { unique: u64, kind: Kind, at: u64, end: u64 },
    /// A setting.
    Change { unique: u64, bytes: u32 },
}

/// The source of requests that a mount is.
pub struct Session {
    fuse: OwnedFd,
    protocol: Protocol,
    name: String,
    files: Option<Files>,
    owner: (u32, u32),
    payloads: Payloads,
    processes: Processes,
    flights: Vec<Flight>,
    free: Vec<u32>,
    under_way: u32,
    /// What is being read of texts: a reader sees one version, as of its opening.
    texts: BTreeMap<u64, String>,
    handles: u64,
    /// Why the last change was refused.
    error: String,
    /// Whether a wait is in the ring; whether there may be something to read.
    waiting: bool,
    readable: bool,
    stopping: bool,
    over: Option<String>,
    /// Changes of settings, which are made one after the other: request, length, what.
    changes: VecDeque<(u64, u32, Change)>,
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
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            fuse,
            protocol,
            name,
            files: None,
            owner,
            payloads: Payloads::new(protocol.write_bytes_max),
            processes: Processes::default(),
            flights: Vec::new(),
            free: Vec::new(),
            under_way: 0,
            texts: BTreeMap::new(),
            // Those of an earlier server are not given again.
            handles: now.as_nanos() as u64,
            error: String::new(),
            waiting: false,
            readable: true,
            stopping: false,
            over: None,
            changes: VecDeque::new(),
        }
    }

    /// Sends an answer. The kernel does not take it when who asked is gone: nobody is to be told then.
    fn send(&mut self, unique: u64, error: i32, parts: &[&[u8]]) {
        let bytes = parts.iter().map(|part| part.len()).sum();
        let header = out_header(unique, error, bytes);
        let vector = |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut vectors = [vector(&header), vector(&[]), vector(&[])];
        for (at, part) in parts.iter().enumerate() {
            vectors[1 + at] = vector(part);
        }
        // SAFETY: the vectors point to what lives until it returns.
        unsafe { libc::writev(self.fuse.as_raw_fd(), vectors.as_ptr(), 1 + parts.len() as i32) };
    }

    fn fail(&mut self, unique: u64, errno: i32) {
        self.send(unique, -errno, &[]);
    }

    fn files(&self) -> &Files {
        self.files.as_ref().expect("made when the session began")
    }

    /// A key for the cache.
    fn begin_flight(&mut self, flight: Flight) -> u64 {
        self.under_way += 1;
        if let Some(key) = self.free.pop() {
            self.flights[key as usize] = flight;
            return key.into();
        }
        self.flights.push(flight);
        self.flights.len() as u64 - 1
    }

    fn end_flight(&mut self, key: u64) -> Flight {
        self.under_way -= 1;
        self.free.push(key as u32);
        self.flights[key as usize]
    }

    /// Waits in the ring until there is something to read.
    fn wait(&mut self, port: &mut Port<'_>) {
        if self.waiting || self.stopping || self.over.is_some() {
            return;
        }
        let entry = operation::PollAdd::new(types::Fd(self.fuse.as_raw_fd()), libc::POLLIN as u32).build();
        // SAFETY: it points to nothing.
        unsafe { port.push(entry, READABLE) };
        self.waiting = true;
    }

    /// Reads one request; false when there is none.
    fn read_one(&mut self, port: &mut Port<'_>) -> bool {
        let place = self.payloads.take();
        let region = self.payloads.region(place);
        let header = self.payloads.header(place);
        let vectors = [
            libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: header.len() },
            libc::iovec { iov_base: region.pointer.cast(), iov_len: region.bytes as usize },
        ];
        // SAFETY: both places are ours, and nobody else's before they are given back.
        let length = unsafe { libc::readv(self.fuse.as_raw_fd(), vectors.as_ptr(), 2) };
        if length < 0 {
            self.payloads.give(place);
            let error = std::io::Error::last_os_error();
            return match error.raw_os_error() {
                // A request that was taken back while it was read.
                Some(libc::ENOENT | libc::EINTR) => true,
                Some(libc::EAGAIN) => false,
                Some(libc::ENODEV) => {
                    self.over = Some("it was unmounted".to_owned());
                    false
                }
                _ => {
                    self.over = Some(format!("/dev/fuse: {error}"));
                    false
                }
            };
        }
        if !self.take(port, place, length as usize) {
            self.payloads.give(place);
        }
        true
    }

    /// Takes a request that lies in a place; true if it keeps the place until it is answered.
    fn take(&mut self, port: &mut Port<'_>, place: u32, length: usize) -> bool {
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
            opcode::LOOKUP => self.look_up(port, header, body),
            opcode::GETATTR => self.tell_attributes(port, header),
            opcode::SETATTR => self.set_attributes(port, header, fields),
            opcode::OPEN => self.open(port, header, fields.u32(0)),
            opcode::OPENDIR | opcode::RELEASEDIR | opcode::FSYNCDIR | opcode::FLUSH | opcode::DESTROY => {
                let opened = [0; 16];
                self.send(unique, 0, &[&opened[..if header.opcode == opcode::OPENDIR { 16 } else { 0 }]]);
            }
            opcode::READ => self.read_text(port, header, fields),
            opcode::RELEASE => {
                self.texts.remove(&fields.u64(0));
                self.send(unique, 0, &[]);
            }
            opcode::FSYNC if header.node == DEVICE => {
                let key = self.begin_flight(Flight::Range { unique, kind: Kind::Flush, at: 0, end: 0 });
                self.ask(port, key, header.thread, Kind::Flush, (0, 0), false, Region::NONE);
            }
            opcode::FSYNC => self.send(unique, 0, &[]),
            opcode::FALLOCATE => self.allocate(port, header, fields),
            opcode::READDIR => self.list(header, fields.u64(8), fields.u32(16) as usize),
            opcode::STATFS => {
                let blocks = self.files().device_bytes() / 4096;
                let out = Out::default().u64(blocks).u64(0).u64(0).u64(8).u64(0).u32(4096).u32(255).u32(4096);
                let out = out.zeros_to(80);
                self.send(unique, 0, &[&out.0]);
            }
            opcode::CREATE
            | opcode::MKNOD
            | opcode::MKDIR
            | opcode::UNLINK
            | opcode::RMDIR
            | opcode::RENAME
            | opcode::RENAME2
            | opcode::LINK
            | opcode::SYMLINK => self.fail(unique, libc::EPERM),
            _ => self.fail(unique, libc::ENOSYS),
        }
    }

    /// What a file that is not the device says now.
    fn text(&self, port: &Port<'_>, node: u64) -> String {
        match node {
            STATS => files::stats_text(port.bytes(), &port.statistics()),
            STATS_JSON => files::stats_json(&self.name, port.bytes(), &port.statistics(), port.settings()),
            EVENTS => files::events_text(port.told()),
            ERROR => self.error.clone(),
            _ => match (port.settings(), self.files().setting(node)) {
                (_, Some(RECORD)) => port.records().map_or("off\n".into(), |path| format!("{}\n", path.display())),
                (Some(settings), Some(name)) => settings.value(name).map_or_else(String::new, |value| value + "\n"),
                _ => String::new(),
            },
        }
    }

    /// A file's attributes, and how long they hold.
    fn attributes(&self, port: &Port<'_>, node: u64) -> Option<(wire::Attributes, u64)> {
        let is_text = self.files().mode(node)? & libc::S_IFMT == libc::S_IFREG && node != DEVICE;
        let bytes = if is_text { self.text(port, node).len() } else { 0 };
        Some((self.files().attributes(node, bytes)?, if is_text { 0 } else { KNOWN_FOR_S }))
    }

    #[expect(clippy::too_many_arguments, reason = "a request has as many parts")]
    fn ask(
        &mut self,
        port: &mut Port<'_>,
        key: u64,
        thread: u32,
        kind: Kind,
        range: (u64, u32),
        durable: bool,
        memory: Region,
    ) {
        let process = if port.wants_processes() { self.processes.of(thread, port.now_ns()) } else { 0 };
        port.ask(key, Ask { kind, offset: range.0, bytes: range.1, durable, process, memory });
    }

    /// How much of a range is within the device.
    fn within(&self, offset: u64, bytes: u32) -> u32 {
        u64::from(bytes).min(self.files().device_bytes().saturating_sub(offset)) as u32
    }

    fn read_device(&mut self, port: &mut Port<'_>, header: Header, fields: Fields<'_>) {
        let (offset, unique) = (fields.u64(8), header.unique);
        let bytes = self.within(offset, fields.u32(16));
        if bytes == 0 {
            return self.send(unique, 0, &[]);
        }
        let buffer = port.take(bytes);
        let key = self.begin_flight(Flight::Read { unique, buffer, bytes });
        self.ask(port, key, header.thread, Kind::Read, (offset, bytes), false, buffer.region);
    }

    fn write(&mut self, port: &mut Port<'_>, header: Header, fields: Fields<'_>, place: u32, arrived: usize) -> bool {
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
            self.fail(unique, libc::ENOSPC);
            return false;
        }
        let key = self.begin_flight(Flight::Write { unique, place, bytes: within });
        let durable = flags & libc::O_DSYNC != 0;
        self.ask(port, key, header.thread, Kind::Write, (offset, within), durable, region);
        true
    }

    /// Holes and zeros; space cannot be reserved on a device.
    fn allocate(&mut self, port: &mut Port<'_>, header: Header, fields: Fields<'_>) {
        let (offset, length, mode, unique) = (fields.u64(8), fields.u64(16), fields.u32(24) as i32, header.unique);
        let kind = match mode & !libc::FALLOC_FL_KEEP_SIZE {
            // A hole must read as zeros, and a trimmed range need not.
            libc::FALLOC_FL_PUNCH_HOLE if port.zeros_holes() => Kind::Trim,
            libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE => Kind::Zero,
            _ => return self.fail(unique, libc::EOPNOTSUPP),
        };
        if header.node != DEVICE {
            return self.fail(unique, libc::EOPNOTSUPP);
        }
        let bytes = self.files().device_bytes();
        let end = offset.saturating_add(length);
        if end > bytes && mode & libc::FALLOC_FL_KEEP_SIZE == 0 {
            return self.fail(unique, libc::ENOSPC);
        }
        let key = self.begin_flight(Flight::Range { unique, kind, at: offset.min(bytes), end: end.min(bytes) });
        self.go_on_range(port, key);
    }

    /// The next piece of a range, or its answer.
    fn go_on_range(&mut self, port: &mut Port<'_>, key: u64) {
        let Flight::Range { unique, kind, at, end } = self.flights[key as usize] else { return };
        if at >= end {
            self.end_flight(key);
            return self.send(unique, 0, &[]);
        }
        let next = ((at / PIECE_BYTES + 1) * PIECE_BYTES).min(end);
        // What is no whole sector of a hole would stay as it was.
        let sector = u64::from(SECTOR_BYTES);
        let (kind_now, next) = match kind {
            Kind::Trim if at % sector != 0 => (Kind::Zero, at.next_multiple_of(sector).min(end)),
            Kind::Trim if end - at < sector => (Kind::Zero, end),
            Kind::Trim => (kind, next / sector * sector),
            _ => (kind, next),
        };
        self.flights[key as usize] = Flight::Range { unique, kind, at: next, end };
        self.ask(port, key, 0, kind_now, (at, (next - at) as u32), false, Region::NONE);
    }

    fn change(&mut self, port: &mut Port<'_>, header: Header, text: &str, bytes: u32) {
        let Some(name) = self.files().setting(header.node) else {
            return self.fail(header.unique, libc::EACCES);
        };
        let change = Change { name: name.to_owned(), value: text.trim().to_owned() };
        self.changes.push_back((header.unique, bytes, change));
        if self.changes.len() == 1 {
            self.next_change(port);
        }
    }

    fn next_change(&mut self, port: &mut Port<'_>) {
        let Some((unique, bytes, change)) = self.changes.front().cloned() else { return };
        if change.name == RECORD {
            let path = Some(change.value.as_str()).filter(|value| !matches!(*value, "off" | ""));
            let recorded = match path {
                Some(path) if !path.starts_with('/') => Err("it must be a whole path, or off".to_owned()),
                path => port.record(path.map(Path::new)),
            };
            return self.changed(port, unique, bytes, recorded);
        }
        // Asked of a copy first: the engine only says that it does not like it.
        let tried =
            port.settings().cloned().map(|mut settings| settings.change(&change).and_then(|()| settings.check()));
        if let Some(Err(why)) = tried {
            return self.changed(port, unique, bytes, Err(why));
        }
        let key = self.begin_flight(Flight::Change { unique, bytes });
        port.command(key, Command::Set(vec![change]));
    }

    /// Answers the first change in the queue, and goes on with the next.
    fn changed(&mut self, port: &mut Port<'_>, unique: u64, bytes: u32, result: Result<(), String>) {
        self.changes.pop_front();
        match result {
            Ok(()) => {
                self.error.clear();
                self.send(unique, 0, &[&Out::default().u32(bytes).u32(0).0]);
            }
            Err(why) => {
                self.error = why + "\n";
                self.fail(unique, libc::EINVAL);
            }
        }
        self.next_change(port);
    }
}

impl Source for Session {
    fn begin(&mut self, port: &mut Port<'_>) -> Result<(), String> {
        self.files = Some(Files::new(port.bytes(), self.owner, port.settings().is_some()));
        // Whether there was a server before, the kernel knows: of the first, it has nothing to send again.
        if self.protocol.resends() {
            let header = out_header(0, wire::NOTIFY_RESEND, 0);
            // SAFETY: the header lives until it returns.
            let sent = unsafe { libc::write(self.fuse.as_raw_fd(), header.as_ptr().cast(), OUT_HEADER_BYTES) };
            if sent < 0 {
                return Err(format!("the mount cannot be taken over: {}", std::io::Error::last_os_error()));
            }
        }
        self.wait(port);
        Ok(())
    }

    fn completed(&mut self, _: &mut Port<'_>, _: u64, _: i32, _: bool) {
        self.waiting = false;
        self.readable = true;
    }

    fn answered(&mut self, port: &mut Port<'_>, key: u64, result: Result<(), Failure>) {
        if let (Flight::Range { kind, .. }, Ok(())) = (self.flights[key as usize], result)
            && kind != Kind::Flush
        {
            return self.go_on_range(port, key);
        }
        match self.end_flight(key) {
            Flight::Read { unique, buffer, bytes } => {
                let region = buffer.region.part(0, bytes);
                // SAFETY: the cache has filled it, and it is ours again.
                let data = unsafe { std::slice::from_raw_parts(region.pointer, bytes as usize) };
                match result {
                    Ok(()) => self.send(unique, 0, &[data]),
                    Err(failure) => self.fail(unique, errno(failure, Kind::Read)),
                }
                port.give(buffer);
            }
            Flight::Write { unique, place, bytes } => {
                match result {
                    Ok(()) => self.send(unique, 0, &[&Out::default().u32(bytes).u32(0).0]),
                    Err(failure) => self.fail(unique, errno(failure, Kind::Write)),
                }
                self.payloads.give(place);
            }
            Flight::Range { unique, kind, .. } => match result {
                Ok(()) => self.send(unique, 0, &[]),
                Err(failure) => self.fail(unique, errno(failure, kind)),
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
        self.under_way == 0
    }

    fn over(&self) -> Option<String> {
        self.over.clone()
    }
}
