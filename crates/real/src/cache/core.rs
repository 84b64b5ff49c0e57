//! The IOs of the engine and the requests under way: all of the reactor apart from its sources.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use flatwater_core::cache::journal::Witness;
use flatwater_core::cache::{Command, Failure, Io, IoId, IoKind, Kind, Out, Request, Side, Told};
use flatwater_core::slab::Key;
use flatwater_core::trace::Entry;
use flatwater_core::trace::recorder::Options;
use io_uring::{squeue, types};

use super::adversity::Adversities;
use super::ask::{Answer, Ask, UnalignedId};
use super::devices::{Devices, Medium};
use super::file_locks::FileLocks;
use super::marks::Marks;
use super::memory::{Held, Requests};
use super::pool::Region;
use super::recording::{Recording, already};
use super::ring::{self, Completed, Owner, Ring};
use super::target::Target;
use super::unaligned::{SECTOR_BYTES, Unaligned};
use crate::clock::Clock;

/// Incidents that are kept: the latest ones.
const INCIDENTS_MAX: usize = 1000;

/// An IO of the engine that is under way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    io: Io,
    memory: Region,
    done: u32,
    /// It goes through the page cache, because the file system refused direct IO.
    buffered: bool,
}

/// All of the reactor apart from its sources.
pub struct Core {
    pub(super) memory: Requests,
    pub(super) target: Target,
    pub(super) zeros_holes: bool,
    pub(super) incidents: VecDeque<Told>,
    /// Whether the reactor is to stop, and whether it writes back first.
    stop_wanted: Option<bool>,
    pub(super) adversities: Adversities,
    pub(super) answers: VecDeque<Answer>,
    devices: Devices,
    marks: Marks,
    clock: Clock,
    now_ns: u64,
    out: Out,
    flights: Vec<Flight>,
    in_flight: u32,
    file_locks: FileLocks,
    /// IOs that end without the ring: they fail on purpose, or need no work.
    short_cuts: Vec<(u32, i32)>,
    unaligned: Unaligned,
    recording: Option<Recording>,
}

impl Core {
    /// A core with a new ring over these devices.
    ///
    /// # Errors
    /// The system's error for the ring.
    pub fn new(devices: Devices, target: Target, clock: Clock, witness: Option<Witness>) -> io::Result<Self> {
        let mut ring = Ring::new()?;
        let mut file_locks = FileLocks::default();
        for (side, medium) in [(Side::Fast, &devices.fast), (Side::Slow, &devices.slow), (Side::Pair, &devices.pair)] {
            let (buffered, direct) = medium.files();
            ring.register(&[buffered.as_raw_fd(), direct.unwrap_or(buffered).as_raw_fd()])?;
            if medium.is_on_fuse() {
                file_locks.locks(side);
            }
        }
        let zeros_holes = devices.slow.zeros_holes();
        Ok(Self {
            memory: Requests::new(ring),
            target,
            zeros_holes,
            incidents: VecDeque::new(),
            stop_wanted: None,
            adversities: Adversities::default(),
            answers: VecDeque::new(),
            devices,
            marks: Marks::new(witness),
            clock,
            now_ns: clock.now_ns(),
            out: Out::default(),
            flights: Vec::new(),
            in_flight: 0,
            file_locks,
            short_cuts: Vec::new(),
            unaligned: Unaligned::default(),
            recording: None,
        })
    }

    /// The time at the last `read_clock`.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Reads the clock.
    pub fn read_clock(&mut self) {
        self.now_ns = self.clock.now_ns();
    }

    /// IOs of the engine that are under way.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn medium(&self, side: Side) -> &Medium {
        match side {
            Side::Fast => &self.devices.fast,
            Side::Slow => &self.devices.slow,
            Side::Pair => &self.devices.pair,
        }
    }

    /// Records all requests to a file from now on; None: stops recording.
    ///
    /// # Errors
    /// Why that is impossible, in words.
    pub fn record(&mut self, path: Option<&Path>) -> Result<(), String> {
        if let (Some(now), Some(path)) = (self.recorded_to(), path) {
            return if now == path { Ok(()) } else { Err(already(now)) };
        }
        let ended = self.take_recording().map(Recording::end).transpose()?;
        self.incidents.extend(ended.map(|text| Told { at_ns: self.now_ns, text }));
        self.recording = path.map(|path| Recording::begin(path, self.recording_options())).transpose()?;
        Ok(())
    }

    /// The options of a recording that begins now.
    pub(super) fn recording_options(&self) -> Options {
        Options { device_bytes: self.target.bytes(), limit_bytes: 0, now_ns: self.now_ns }
    }

    /// Stops recording, and returns the recording.
    pub(super) fn take_recording(&mut self) -> Option<Recording> {
        self.recording.take()
    }

    /// Begins to record.
    pub(super) fn give_recording(&mut self, recording: Recording) {
        self.recording = Some(recording);
    }

    /// Makes the reactor stop. With `drain` all dirty blocks are written back first. The last call counts.
    pub(super) fn stop(&mut self, drain: bool) {
        self.stop_wanted = Some(drain);
    }

    /// As `stop`, unless `stop` was called before.
    pub(super) fn stop_unless_stopping(&mut self, drain: bool) {
        self.stop_wanted.get_or_insert(drain);
    }

    /// Whether the reactor is to stop, and whether it writes back first.
    pub(super) fn stop_wanted(&self) -> Option<bool> {
        self.stop_wanted
    }

    /// Adds an incident.
    pub(super) fn report(&mut self, text: String) {
        self.incidents.push_back(Told { at_ns: self.now_ns, text });
    }

    /// The file to which requests are recorded.
    pub fn recorded_to(&self) -> Option<&Path> {
        self.recording.as_ref().map(Recording::path)
    }

    /// Takes a request of a source.
    pub fn ask(&mut self, source: u8, key: u64, ask: Ask) {
        if let Some(recording) = &mut self.recording {
            let Ask { kind, offset, bytes, process, .. } = ask;
            recording.record(Entry { at_ns: self.now_ns, kind, offset, bytes, process });
        }
        let beyond = ask.offset.checked_add(ask.bytes.into()).is_none_or(|end| end > self.target.bytes());
        if ask.kind != Kind::Flush && beyond {
            return self.answers.push_back((source, key, Err(Failure::Outside)));
        }
        if ask.kind != Kind::Flush && ask.bytes == 0 {
            return self.answers.push_back((source, key, Ok(())));
        }
        let bits = ask.offset | u64::from(ask.bytes) | ask.memory.pointer as u64;
        if !bits.is_multiple_of(SECTOR_BYTES.into()) && ask.kind != Kind::Flush {
            let id = self.unaligned.begin(source, key, ask);
            return self.continue_unaligned(id);
        }
        self.submit_request(Held { source, key, memory: ask.memory, unaligned: None }, ask);
    }

    /// Passes a request of whole sectors to the engine.
    pub(super) fn submit_request(&mut self, held: Held, ask: Ask) {
        let tag = self.memory.insert(held);
        let Ask { kind, offset, bytes, durable, process, .. } = ask;
        let request = Request { tag, kind, offset, bytes, durable, process };
        self.target.submit(self.now_ns, request, &mut self.memory, &mut self.out);
    }

    /// Continues an unaligned request, and those that waited for it.
    fn continue_unaligned(&mut self, id: Option<UnalignedId>) {
        let mut next = id;
        while let Some(id) = next {
            next = self.unaligned.advance(id, &mut self.memory, &mut self.answers);
            if let Some((held, ask)) = self.unaligned.take_request() {
                self.submit_request(held, ask);
            }
        }
    }

    /// Takes a command.
    pub fn command(&mut self, source: u8, key: u64, command: Command) {
        let tag = self.memory.insert(Held { source, key, memory: Region::NONE, unaligned: None });
        self.target.command(self.now_ns, tag, command, &mut self.memory, &mut self.out);
    }

    /// Lets the engine do what is due.
    pub fn tick(&mut self) {
        if self.target.next_ns().is_some_and(|at_ns| at_ns <= self.now_ns) {
            self.target.tick(self.now_ns, &mut self.memory, &mut self.out);
        }
        if let Some(recording) = &mut self.recording {
            recording.tick(self.now_ns);
        }
        while let Some((id, result)) = self.adversities.due(self.now_ns) {
            self.end_io(id, result);
        }
    }

    /// When `tick` is due next.
    pub fn next_ns(&self) -> Option<u64> {
        [self.target.next_ns(), self.adversities.next_ns()].into_iter().flatten().min()
    }

    /// Issues the IOs of the engine, and collects its answers for the sources in `answers`.
    pub fn settle(&mut self) {
        loop {
            let mut ios = std::mem::take(&mut self.out.ios);
            for io in ios.drain(..) {
                self.issue(io);
            }
            // The memory of the list is used again, unless an IO that ended at once led to new IOs.
            if self.out.ios.is_empty() {
                self.out.ios = ios;
            }
            for at in 0..self.short_cuts.len() {
                let (id, result) = self.short_cuts[at];
                self.end_io(id, result);
            }
            self.short_cuts.clear();
            for at in 0..self.out.answers.len() {
                let (tag, result) = self.out.answers[at];
                let held = self.memory.remove(tag);
                match held.unaligned {
                    Some(id) => {
                        self.unaligned.note_result(id, result);
                        self.continue_unaligned(Some(id));
                    }
                    None => self.answers.push_back((held.source, held.key, result)),
                }
            }
            self.out.answers.clear();
            self.incidents.extend(self.out.told.drain(..));
            let too_many = self.incidents.len().saturating_sub(INCIDENTS_MAX);
            self.incidents.drain(..too_many);
            if self.out.ios.is_empty() && self.out.answers.is_empty() {
                return;
            }
        }
    }

    fn issue(&mut self, io: Io) {
        let memory =
            self.memory.region(io.place, if io.place == flatwater_core::cache::Place::Nowhere { 0 } else { io.bytes });
        let flight = Flight { io, memory, done: 0, buffered: false };
        let id = io.id.number() as usize;
        if id >= self.flights.len() {
            self.flights.resize(id + 1, flight);
        }
        self.flights[id] = flight;
        self.in_flight += 1;
        if io.side == Side::Slow && matches!(io.kind, IoKind::Write | IoKind::Discard) {
            self.marks.touch(&mut self.devices, io.offset, io.bytes.into());
        }
        if let Some(errno) = self.adversities.errno(io.side, io.kind) {
            return self.short_cuts.push((io.id.number(), -errno));
        }
        // A hole in the file of the cache would only slow down the next write to it.
        if io.kind == IoKind::Discard && io.side == Side::Fast && !self.devices.fast.is_device() {
            return self.short_cuts.push((io.id.number(), 0));
        }
        self.start(io.id.number());
    }

    /// After a stop: records the state of the backing device, so that no other device is mistaken for it.
    pub(super) fn seal(&mut self) {
        self.marks.seal(&mut self.devices);
    }

    /// Puts an IO, or the rest of it, into the ring, as soon as that stops nobody.
    fn start(&mut self, id: u32) {
        let Flight { io, memory, done, buffered } = self.flights[id as usize];
        if !self.file_locks.admits(io.side, io.kind, id) {
            return;
        }
        let (offset, bytes) = (io.offset + u64::from(done), io.bytes - done);
        let transfers = matches!(io.kind, IoKind::Read | IoKind::Write);
        let memory = if transfers { memory.part(done, bytes) } else { memory };
        let direct = transfers && !buffered && self.medium(io.side).takes_direct(offset, bytes, memory.pointer);
        let file = types::Fixed(2 * io.side as u32 + u32::from(direct));
        let entry = ring::entry(&io, file, memory, (offset, bytes));
        // SAFETY: the memory belongs to a request or to the pool, and both keep it until the IO has ended.
        unsafe { self.push(Owner::Engine, id.into(), entry) }
    }

    /// Handles the end of an IO of the engine, or of a part of it.
    pub fn io_ended(&mut self, id: u32, result: i32) {
        let io = self.flights[id as usize].io;
        self.file_locks.ended(io.side, io.kind);
        while let Some(next) = self.file_locks.next(io.side) {
            self.start(next);
        }
        let flight = &mut self.flights[id as usize];
        let transfers = matches!(io.kind, IoKind::Read | IoKind::Write);
        match -result {
            libc::EAGAIN | libc::EINTR => return self.start(id),
            // Some file systems open a file for direct IO but refuse the IO itself.
            libc::EINVAL if transfers && !flight.buffered => {
                flight.buffered = true;
                return self.start(id);
            }
            _ => {}
        }
        let mut result = result;
        if transfers && result >= 0 {
            flight.done += result as u32;
            if flight.done < io.bytes && result > 0 {
                return self.start(id);
            }
            // The file has become shorter since it was opened.
            result = if flight.done < io.bytes { -libc::EIO } else { 0 };
        }
        if io.kind == IoKind::Discard && matches!(-result, libc::EOPNOTSUPP | libc::ENOSYS) && !self.zeros_holes {
            result = 0;
        }
        if !self.adversities.none() && self.adversities.hold(self.now_ns, io.side, io.kind, id, result) {
            return;
        }
        self.end_io(id, result);
    }

    /// Passes the end of an IO to the engine.
    fn end_io(&mut self, id: u32, result: i32) {
        self.in_flight -= 1;
        let result = if result < 0 { Err(-result) } else { Ok(()) };
        self.target.ended(self.now_ns, IoId::from_number(id), result, &mut self.memory, &mut self.out);
    }

    /// Puts an operation into the ring.
    ///
    /// # Safety
    /// The memory that it points to must stay until it has ended.
    pub unsafe fn push(&mut self, owner: Owner, key: u64, entry: squeue::Entry) {
        // SAFETY: the caller guarantees it.
        unsafe { self.memory.ring().push(owner, key, entry) }
    }

    /// Submits what was pushed, waits until an operation has ended or until `until_ns`, and appends all that have ended.
    ///
    /// # Errors
    /// Those of the ring itself.
    pub fn wait(&mut self, until_ns: Option<u64>, ended: &mut Vec<Completed>) -> io::Result<()> {
        let now_ns = self.clock.now_ns();
        self.memory.ring().wait(until_ns.map(|until_ns| until_ns.saturating_sub(now_ns)), ended)
    }
}
