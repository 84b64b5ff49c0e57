//! One module of flash in virtual time: a chain of stages. Each stage serves in the order of arrival.
//!
//! queue depth -> controller or driver -> writes: link -> buffer -> flash (`flash.rs`)
//!                                     -> reads: die -> channel -> link

mod holding;
mod statistics;

use std::collections::VecDeque;

use flatwater_core::slab::Slab;

use super::buffer::{Buffer, Entry, WHOLE, cover};
use super::ends::{self, Ends, Timed};
use super::event::Event;
use super::flash::Flash;
use super::requests::{Request, RequestId, last_page, pages, part, whole_pages};
use super::spec::Spec;
use super::stages::{Pipe, Servers};
use super::statistics::{Counts, wear_json};
use crate::event::EventQueue;
use crate::storage::stepped::{self, Stepped};
use crate::storage::{Command, Device, Ended, Failure, Incident, Opening, Operation};

/// Flushes that are in a module.
#[derive(Default)]
struct Flushes {
    in_flight: u32,
    /// Those that wait for the buffer, each with the number of entries that must leave it first.
    waiting: VecDeque<(u64, RequestId)>,
}

/// A module.
pub struct Card {
    spec: Spec,
    capacity_bytes: u64,
    now_ns: u64,
    requests: Slab<Request, RequestId>,
    /// Commands that wait because the queue depth is reached, or beside a flush that is to be alone.
    queue: VecDeque<(u64, Command)>,
    controller: Servers,
    link_in: Pipe,
    link_out: Pipe,
    /// Reads, flushes and trims that pass the controller. This queue and the next are in the order of time.
    decoded: Timed,
    /// Writes that cross the link.
    received: Timed,
    /// Writes that wait for room in the buffer.
    landing: VecDeque<RequestId>,
    flushes: Flushes,
    buffer: Buffer,
    flash: Flash,
    events: EventQueue<Event>,
    ends: Ends,
    host_bytes: u64,
    /// The counts at the last `take_statistics`, and when that was, ns.
    counted: (Counts, u64),
    incidents: Vec<Incident>,
    seed: u64,
}

impl Card {
    /// An idle module.
    ///
    /// # Errors
    /// A figure that is impossible, by name.
    pub fn new(spec: Spec, opening: Opening) -> Result<Self, String> {
        let flash = Flash::new(&spec, opening)?;
        let (controller, link) = (&spec.controller, &spec.link);
        let page_bytes = flash.layout.page_bytes();
        // A buffer smaller than a page becomes one page: without a buffer a write would end in flash.
        let buffer_pages = if spec.buffer.bytes == 0 { 0 } else { (spec.buffer.bytes / page_bytes).max(1) };
        Ok(Self {
            capacity_bytes: spec.capacity_bytes,
            now_ns: 0,
            requests: Slab::new(),
            queue: VecDeque::new(),
            controller: Servers::new(controller.parallel, controller.request_ns),
            link_in: Pipe::new(link.write_bytes_per_s),
            link_out: Pipe::new(spec.read_bytes_per_s()),
            decoded: VecDeque::new(),
            received: VecDeque::new(),
            landing: VecDeque::new(),
            flushes: Flushes::default(),
            buffer: Buffer::new(buffer_pages),
            flash,
            events: EventQueue::new(),
            ends: Ends::new(controller.latency_ns),
            host_bytes: 0,
            counted: (Counts::default(), 0),
            incidents: Vec::new(),
            seed: opening.seed,
            spec,
        })
    }

    /// Whether a command can be given to the controller now. Over SATA a flush is alone: it has no tag of the native
    /// command queue, and waits until that is empty; other commands wait behind it.
    fn has_room(&self, operation: Operation) -> bool {
        let free = self.requests.len() < self.spec.queue_depth as usize;
        let flushes = self.flushes.in_flight as usize;
        let beside = if operation == Operation::Flush { self.requests.len() - flushes } else { flushes };
        free && (!self.spec.link.flushes_alone || beside == 0)
    }

    /// Gives a command to the controller.
    fn begin(&mut self, now_ns: u64, tag: u64, command: Command) {
        self.flushes.in_flight += u32::from(command.operation == Operation::Flush);
        let request = self.requests.insert(Request::new(tag, command));
        let decoded_ns = self.controller.serve(now_ns);
        if !command.fits(self.capacity_bytes) {
            self.requests[request].result = Err(Failure::Full);
            self.events.push(decoded_ns, Event::Ends { request });
        } else if command.operation == Operation::Write && command.bytes > 0 {
            let received_ns = self.link_in.send(decoded_ns, command.bytes);
            self.received.push_back((received_ns, request));
        } else {
            self.decoded.push_back((decoded_ns, request));
        }
    }

    /// A read, flush or trim has passed the controller.
    fn decode(&mut self, request: RequestId) {
        let command = self.requests[request].command;
        match command.operation {
            Operation::Read => self.read(request, command),
            Operation::Trim => {
                for lpn in whole_pages(&command, self.flash.layout.page_shift) {
                    self.buffer.cancel(lpn);
                    self.flash.trim(lpn);
                }
                self.end(request);
            }
            Operation::Flush if self.flash.worn_out => self.fail(request, Failure::ReadOnly),
            Operation::Flush => {
                let entries = self.buffer.entered();
                self.buffer.settle(self.now_ns);
                if self.spec.buffer.power_safe || !self.buffer.holds() || self.buffer.is_out(entries) {
                    self.end(request);
                } else {
                    self.flushes.waiting.push_back((entries, request));
                }
            }
            Operation::Write => self.end(request),
        }
    }

    fn read(&mut self, request: RequestId, command: Command) {
        let shift = self.flash.layout.page_shift;
        let Some((first, last)) = pages(&command, shift) else { return self.end(request) };
        self.buffer.settle(self.now_ns);
        self.requests[request].left = last - first + 1;
        for lpn in first.through(last) {
            let way = if self.buffer.contains(lpn) { None } else { self.flash.find(lpn) };
            let Some(way) = way else {
                // The page is in the buffer, or was never written: no die reads it.
                self.events.push(self.now_ns, Event::Fetched { request, lpn });
                continue;
            };
            let (sensed_ns, correct) = self.flash.sense(self.now_ns, way, part(&command, lpn, shift).1);
            if !correct {
                self.requests[request].result = Err(Failure::Medium);
            }
            self.events.push(sensed_ns, Event::Sensed { request, lpn, way });
        }
    }

    /// Moves waiting writes into the buffer, in their order, while there is room.
    fn land(&mut self) {
        let shift = self.flash.layout.page_shift;
        self.buffer.settle(self.now_ns);
        while let Some(&request) = self.landing.front() {
            if self.flash.worn_out {
                self.landing.pop_front();
                self.fail_parts(request);
                continue;
            }
            let holds = self.buffer.holds();
            let write = &mut self.requests[request];
            let (command, last) = (write.command, last_page(&write.command, shift));
            while write.next_lpn <= last && self.buffer.has_room() {
                let lpn = write.next_lpn;
                let (offset, bytes) = part(&command, lpn, shift);
                let cover = if bytes >> shift > 0 { WHOLE } else { cover(offset, bytes, shift) };
                let request = (!holds).then_some(request);
                self.buffer.enter(Entry { lpn, request, bytes: bytes as u32, cover });
                write.next_lpn = lpn + 1;
            }
            if write.next_lpn <= last {
                break;
            }
            self.landing.pop_front();
            if holds {
                self.end(request);
            }
        }
    }

    /// A write has crossed the link: its pages wait for the buffer.
    fn receive(&mut self, request: RequestId) {
        let shift = self.flash.layout.page_shift;
        let write = &mut self.requests[request];
        let (first, last) = pages(&write.command, shift).expect("an empty write is not received");
        write.next_lpn = first;
        write.left = last - first + 1;
        self.flash.prefetch_places(first, last);
        self.landing.push_back(request);
        self.land();
        self.flash.wake(self.now_ns, &self.buffer);
    }

    /// Lets flash do its next step: take a page from the buffer, or collect.
    fn work_flash(&mut self) {
        let taken = self.flash.work(self.now_ns, &mut self.buffer);
        if let Some((entry, programmed_ns)) = taken {
            self.host_bytes += u64::from(entry.bytes);
            if let Some(request) = entry.request {
                self.events.push(programmed_ns, Event::Programmed { request });
            }
            if !self.buffer.holds() {
                return;
            }
        }
        if self.flash.worn_out {
            self.wear_out();
        }
    }

    /// The collector can free no unit any more: waiting writes fail, written pages stay readable.
    fn wear_out(&mut self) {
        self.incidents.push(Incident { at_ns: self.now_ns, text: "read-only: worn out".into() });
        while let Some(entry) = self.buffer.leave(self.now_ns, false) {
            if let Some(request) = entry.request {
                self.requests[request].result = Err(Failure::ReadOnly);
                self.events.push(self.now_ns, Event::Programmed { request });
            }
        }
        while let Some((_, request)) = self.flushes.waiting.pop_front() {
            self.fail(request, Failure::ReadOnly);
        }
        self.land();
    }

    /// Fails a write that found the card worn out. Its parts that are not in the buffer end at once.
    fn fail_parts(&mut self, request: RequestId) {
        let shift = self.flash.layout.page_shift;
        let write = &mut self.requests[request];
        write.result = Err(Failure::ReadOnly);
        write.left -= last_page(&write.command, shift) + 1 - write.next_lpn;
        if self.buffer.holds() || write.left == 0 {
            self.end(request);
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Sensed { request, lpn, way } => {
                let bytes = part(&self.requests[request].command, lpn, self.flash.layout.page_shift).1;
                let fetched_ns = self.flash.fetch(self.now_ns, way, bytes);
                self.events.push(fetched_ns, Event::Fetched { request, lpn });
            }
            Event::Fetched { request, lpn } => {
                let read = &mut self.requests[request];
                let bytes = part(&read.command, lpn, self.flash.layout.page_shift).1;
                read.left -= 1;
                let left = read.left;
                let sent_ns = self.link_out.send(self.now_ns, bytes);
                if left == 0 {
                    self.ends.push_sent(sent_ns, request);
                }
            }
            Event::Programmed { request } => {
                let write = &mut self.requests[request];
                write.left -= 1;
                if write.left == 0 {
                    self.end(request);
                }
            }
            Event::Ends { request } => self.end(request),
        }
    }

    fn fail(&mut self, request: RequestId, failure: Failure) {
        self.requests[request].result = Err(failure);
        self.end(request);
    }

    /// Ends a command now, apart from the latency that is added to each.
    fn end(&mut self, request: RequestId) {
        self.ends.push_done(self.now_ns, request);
    }

    /// Returns a command to the host, and begins those that waited for it, in their order.
    fn answer(&mut self, at_ns: u64, request: RequestId, ended: &mut Vec<Ended>) {
        let request = self.requests.remove(request);
        self.flushes.in_flight -= u32::from(request.command.operation == Operation::Flush);
        ended.push(Ended { tag: request.tag, at_ns, result: request.result });
        while let Some((_, command)) = self.queue.front()
            && self.has_room(command.operation)
            && let Some((tag, command)) = self.queue.pop_front()
        {
            self.begin(at_ns, tag, command);
        }
    }

    /// When the next page leaves the buffer, if a command waits for that; else `u64::MAX`.
    #[inline]
    fn leaves_ns(&self) -> u64 {
        if self.landing.is_empty() && self.flushes.waiting.is_empty() {
            return u64::MAX;
        }
        self.buffer.leaves_ns().unwrap_or(u64::MAX)
    }

    /// Goes on with what waited until pages left the buffer.
    fn leave(&mut self) {
        self.land();
        while let Some((entries, request)) = self.flushes.waiting.front().copied()
            && self.buffer.is_out(entries)
        {
            self.flushes.waiting.pop_front();
            self.end(request);
        }
        self.flash.wake(self.now_ns, &self.buffer);
    }
}

impl Stepped for Card {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn due_ns(&self) -> u64 {
        let due_ns = ends::due_ns(&self.decoded).min(ends::due_ns(&self.received)).min(self.ends.due_ns());
        due_ns.min(self.events.next_ns().unwrap_or(u64::MAX)).min(self.flash.due_ns()).min(self.leaves_ns())
    }

    /// Of several things that are due, ends of commands come first, and the work of flash last.
    fn step(&mut self, now_ns: u64, ended: &mut Vec<Ended>) {
        self.now_ns = now_ns;
        if let Some(request) = self.ends.take(now_ns) {
            self.answer(now_ns, request, ended);
        } else if self.leaves_ns() <= now_ns {
            self.leave();
        } else if let Some((_, event)) = self.events.pop_until(now_ns) {
            self.handle(event);
        } else if let Some(request) = ends::take(&mut self.received, now_ns) {
            self.receive(request);
        } else if let Some(request) = ends::take(&mut self.decoded, now_ns) {
            self.decode(request);
        } else if self.flash.due_ns() <= now_ns {
            self.work_flash();
        }
    }
}

impl Device for Card {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn submit(&mut self, now_ns: u64, tag: u64, command: Command) {
        if matches!(command.operation, Operation::Read | Operation::Write)
            && command.fits(self.capacity_bytes)
            && let Some((first, last)) = pages(&command, self.flash.layout.page_shift)
        {
            self.flash.prefetch(first, last);
        }
        if self.queue.is_empty() && self.has_room(command.operation) {
            self.begin(now_ns, tag, command);
        } else {
            self.queue.push_back((tag, command));
        }
    }

    fn next_ns(&self) -> Option<u64> {
        stepped::next_ns(self)
    }

    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        stepped::advance(self, until_ns, ended);
    }

    fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>) {
        self.take_statistics(now_ns).append_series(series);
    }

    fn hold(&mut self, now_ns: u64, ranges: &[(u64, u64)]) -> bool {
        self.begin_anew(now_ns, ranges)
    }

    fn incidents(&mut self) -> Vec<Incident> {
        std::mem::take(&mut self.incidents)
    }

    fn state(&self) -> Option<String> {
        Some(wear_json(&self.flash.counters(), self.flash.life_used()))
    }
}
