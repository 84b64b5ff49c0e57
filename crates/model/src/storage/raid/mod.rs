//! An array of disks, or of any devices, behind a controller with memory.

mod background;
mod cache;
mod event;
mod failing;
mod ids;
mod layout;
mod members;
mod op;
mod spec;
mod sweep;
#[cfg(test)]
mod tests;
mod updates;
mod work;
mod writing;

use std::collections::VecDeque;

use flatwater_core::slab::Slab;

use self::cache::Cache;
use self::event::Event;
use self::ids::{EventNo, LineNo, Lines, MemberNo, RequestId, RowNo};
use self::layout::{Chunk, Layout, Level};
use self::members::Members;
use self::op::Owner;
pub use self::spec::{Background, CacheSpec, Controller, Happening, HappeningKind, Spec};
use self::sweep::Sweep;
use self::updates::{Update, Updates};
use self::work::Works;
use super::{Command, Device, Ended, Failure, Figures, Incident, Opening, Operation};
use crate::event::EventQueue;

/// A request of the host.
#[derive(Clone, Copy, Debug)]
struct Request {
    tag: u64,
    command: Command,
    pending: u32,
    result: Result<(), Failure>,
}

/// An array.
pub struct Raid {
    spec: Spec<dyn Figures>,
    opening: Opening,
    layout: Layout,
    members: Members,
    cache: Cache,
    requests: Slab<Request, RequestId>,
    updates: Updates,
    /// Whether `run_ready` is on the stack.
    running_ready: bool,
    /// Writes that wait for room in the memory, the oldest first.
    no_room: VecDeque<RequestId>,
    sweep: Sweep,
    works: Works,
    /// Relearns of the battery under way.
    relearns: u32,
    /// Members that were replaced so far.
    replaced: u64,
    /// Too many members have failed.
    lost: bool,
    controller_free_ns: u64,
    now_ns: u64,
    events: EventQueue<Event>,
    incidents: Vec<Incident>,
    /// Kept to reuse its memory.
    ended: Vec<Ended>,
}

impl Raid {
    /// An array of new members.
    ///
    /// # Errors
    /// Figures that do not fit each other, in words.
    pub fn new<D: Figures + 'static>(spec: Spec<D>, opening: Opening) -> Result<Self, String> {
        spec.check()?;
        let spec = spec.of_any_device();
        let devices = MemberNo::first(spec.members).map(|member| spec.open_member(opening, member, 0));
        let devices: Vec<Box<dyn Device>> = devices.collect::<Result<_, _>>()?;
        let member_bytes = devices.iter().map(|device| device.capacity_bytes()).min().unwrap_or(0);
        let layout = Layout::new(spec.level, spec.members, spec.unit_bytes, member_bytes)?;
        if spec.capacity_bytes > layout.capacity_bytes() {
            let room = layout.capacity_bytes();
            return Err(format!("capacity: {} B do not fit the members' {room} B", spec.capacity_bytes));
        }
        spec.check_events(&layout)?;
        let blocks = (spec.cache.bytes / spec.cache.block_bytes) as usize;
        let mut events = EventQueue::new();
        for (number, event) in EventNo::first(spec.events.len() as u32).zip(&spec.events) {
            events.push(event.at_ns, Event::Begin(number));
        }
        Ok(Self {
            cache: Cache::new(
                spec.cache.block_bytes / spec.line_bytes,
                blocks,
                (blocks as f64 * spec.cache.dirty_share) as usize,
            ),
            opening,
            layout,
            members: Members::new(devices, spec.controller.member_queue_depth as usize),
            requests: Slab::new(),
            updates: Updates::default(),
            running_ready: false,
            no_room: VecDeque::new(),
            sweep: Sweep::new(),
            works: Works::default(),
            relearns: 0,
            replaced: 0,
            lost: false,
            controller_free_ns: 0,
            now_ns: 0,
            events,
            incidents: Vec::new(),
            ended: Vec::new(),
            spec,
        })
    }

    /// Whether a write ends when the memory has it. The battery must be able to keep the memory.
    fn writes_back(&self) -> bool {
        self.spec.controller.battery && self.relearns == 0 && self.cache.held_max() > 0
    }

    /// The lines of a range of bytes. Data comes first, then parity.
    fn lines_of(&self, from: u64, to: u64) -> Lines {
        let line_bytes = self.spec.line_bytes;
        Lines { first: LineNo::new(from / line_bytes), end: LineNo::new(to.div_ceil(line_bytes)) }
    }

    /// The lines of a chunk of data.
    fn lines(&self, chunk: &Chunk) -> Lines {
        let unit = chunk.row.number() * u64::from(self.layout.data_units()) + u64::from(chunk.unit);
        let first = unit * self.layout.unit_bytes;
        self.lines_of(first + chunk.from, first + chunk.to)
    }

    /// The lines of a part of the parity unit of a row.
    fn parity_lines(&self, row: RowNo, from: u64, to: u64) -> Lines {
        let first = self.layout.capacity_bytes() + self.layout.offset(row);
        self.lines_of(first + from, first + to)
    }

    /// Begins with a request of the host.
    fn arrive(&mut self, id: RequestId) {
        let command = self.requests[id].command;
        if self.lost {
            self.finish(id, Err(Failure::Medium));
            return;
        }
        match command.operation {
            Operation::Read => self.read(id, command),
            Operation::Write if self.writes_back() && self.fits_memory(&command) => {
                self.no_room.push_back(id);
                self.take_in();
            }
            Operation::Write => self.write_through(id, command),
            Operation::Flush if self.writes_back() => self.finish(id, Ok(())),
            Operation::Flush => self.flush(id),
            // Controllers of this kind do not pass trims on.
            Operation::Trim => self.finish(id, Ok(())),
        }
    }

    /// Whether the memory could ever hold a write.
    fn fits_memory(&self, command: &Command) -> bool {
        command.bytes.div_ceil(self.spec.cache.block_bytes) as usize + 1 < self.cache.held_max()
    }

    fn read(&mut self, id: RequestId, command: Command) {
        self.requests[id].pending = 1;
        for chunk in self.layout.chunks(command.offset, command.bytes) {
            let lines = self.lines(&chunk);
            // All lines are looked up, because each lookup counts as a use.
            let missing = lines.iter().filter(|line| !self.cache.touch(*line)).count();
            if missing > 0 {
                self.read_chunk(id, chunk);
            }
        }
        self.part_ended(id, Ok(()));
    }

    /// Reads a chunk from a member that holds it, or from all other members if no such member is present.
    fn read_chunk(&mut self, id: RequestId, chunk: Chunk) {
        let homes = self.layout.homes(chunk.row, chunk.unit);
        let at = self.layout.offset(chunk.row) + chunk.from;
        let present = homes.filter(|member| !self.members.is_absent(*member, chunk.row));
        let chosen = present.min_by_key(|member| self.members.distance(*member, at));
        match chosen {
            Some(member) => {
                self.requests[id].pending += 1;
                self.send(Owner::Request(id), member, Operation::Read, at, chunk.bytes(), Some(chunk));
            }
            None => self.reconstruct(id, chunk, self.layout.home(chunk.row, chunk.unit)),
        }
    }

    /// Reads from the other members what a chunk of the member `missing` is computed from.
    fn reconstruct(&mut self, id: RequestId, chunk: Chunk, missing: MemberNo) {
        let others = self.members.numbers().filter(|member| *member != missing);
        if self.layout.level != Level::Raid5 || others.clone().any(|member| self.members.is_absent(member, chunk.row)) {
            self.requests[id].result = Err(Failure::Medium);
            return;
        }
        let at = self.layout.offset(chunk.row) + chunk.from;
        for (number, member) in others.enumerate() {
            self.requests[id].pending += 1;
            let of = (number == 0).then_some(chunk);
            self.send(Owner::Request(id), member, Operation::Read, at, chunk.bytes(), of);
        }
    }

    /// Writes to the members, and ends the request when they have the data.
    fn write_through(&mut self, id: RequestId, command: Command) {
        self.requests[id].pending = 1;
        let mut chunks = self.layout.chunks(command.offset, command.bytes).peekable();
        while let Some(chunk) = chunks.next() {
            let mut row = vec![chunk];
            while let Some(next) = chunks.next_if(|next| next.row == chunk.row) {
                row.push(next);
            }
            self.requests[id].pending += 1;
            self.begin_update(Update::new(Some(id), row));
        }
        self.part_ended(id, Ok(()));
    }

    /// Takes waiting writes into the memory while there is room.
    fn take_in(&mut self) {
        while let Some(&id) = self.no_room.front() {
            let command = self.requests[id].command;
            let lines = self.lines_of(command.offset, command.offset + command.bytes);
            if self.lost || !self.writes_back() {
                self.no_room.pop_front();
                if self.lost {
                    self.finish(id, Err(Failure::Medium))
                } else {
                    self.write_through(id, command)
                }
                continue;
            }
            if self.cache.held() + self.cache.needed(lines) > self.cache.held_max() {
                break;
            }
            self.no_room.pop_front();
            let row_bytes = u64::from(self.layout.data_units()) * self.layout.unit_bytes;
            for line in lines.iter() {
                let row = line.number() * self.spec.line_bytes / row_bytes;
                self.cache.write(line, RowNo::new(row));
            }
            self.finish(id, Ok(()));
        }
        if self.cache.dirty() > 0 && self.sweep.arm() {
            self.events.push(self.now_ns + self.spec.cache.destage_after_ns, Event::Sweep);
        }
        self.destage();
    }

    /// Flushes the members. Without a battery the controller's memory has nothing that is not on the members, but the memory
    /// of a member may have.
    fn flush(&mut self, id: RequestId) {
        self.requests[id].pending = 1;
        for member in self.members.numbers() {
            if !self.members.is_absent(member, RowNo::new(self.layout.rows)) {
                self.requests[id].pending += 1;
                self.send(Owner::Request(id), member, Operation::Flush, 0, 0, None);
            }
        }
        self.part_ended(id, Ok(()));
    }

    /// Ends a part of a request, and the request with its last part.
    fn part_ended(&mut self, id: RequestId, result: Result<(), Failure>) {
        let request = &mut self.requests[id];
        request.pending -= 1;
        request.result = request.result.and(result);
        if request.pending == 0 {
            let result = if self.lost { Err(Failure::Medium) } else { self.requests[id].result };
            self.finish(id, result);
        }
    }

    /// Ends a request, after the latency that is added to each.
    fn finish(&mut self, id: RequestId, result: Result<(), Failure>) {
        self.requests[id].result = result;
        self.events.push(self.now_ns + self.spec.controller.latency_ns, Event::End(id));
    }

    /// Adds an incident.
    fn report(&mut self, text: String) {
        self.incidents.push(Incident { at_ns: self.now_ns, text });
    }

    fn handle(&mut self, event: Event, ended: &mut Vec<Ended>) {
        match event {
            Event::Arrive(id) => self.arrive(id),
            Event::End(id) => {
                let request = self.requests.remove(id);
                ended.push(Ended { tag: request.tag, at_ns: self.now_ns, result: request.result });
            }
            Event::Sweep => {
                if self.sweep.begin(self.cache.dirty_rows(), self.cache.dirty() > 0) {
                    self.events.push(self.now_ns + self.spec.cache.destage_after_ns, Event::Sweep);
                }
                self.destage();
            }
            Event::Work(work) => self.continue_work(work),
            Event::Begin(number) => self.begin_event(number),
            Event::Finish(number) => self.end_event(number),
        }
    }
}

impl Device for Raid {
    fn capacity_bytes(&self) -> u64 {
        self.spec.capacity_bytes
    }

    fn submit(&mut self, now_ns: u64, tag: u64, command: Command) {
        self.now_ns = now_ns;
        let id = self.requests.insert(Request { tag, command, pending: 0, result: Ok(()) });
        if !command.fits(self.spec.capacity_bytes) {
            self.finish(id, Err(Failure::Full));
            return;
        }
        let controller = &self.spec.controller;
        let request_ns = match command.operation {
            Operation::Read => controller.read_ns,
            Operation::Write => controller.write_ns,
            Operation::Flush | Operation::Trim => 0,
        };
        let link_ns = command.bytes as f64 / controller.link_bytes_per_s * 1e9;
        self.controller_free_ns = self.controller_free_ns.max(now_ns) + request_ns + link_ns as u64;
        self.events.push(self.controller_free_ns, Event::Arrive(id));
    }

    fn next_ns(&self) -> Option<u64> {
        let due_ns = self.events.next_ns().unwrap_or(u64::MAX).min(self.members.due_ns());
        (due_ns != u64::MAX).then_some(due_ns)
    }

    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        let before = ended.len();
        while let Some(at_ns) = self.next_ns() {
            if at_ns > until_ns || (ended.len() > before && at_ns > ended[before].at_ns) {
                return;
            }
            self.now_ns = at_ns;
            while let Some((_, event)) = self.events.pop_until(at_ns) {
                self.handle(event, ended);
            }
            self.advance_members(at_ns);
        }
    }

    fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>) {
        let dirty_bytes = self.cache.dirty() as u64 * self.spec.line_bytes;
        series.push(("write_back".into(), f64::from(u8::from(self.writes_back()))));
        series.push(("cache_dirty_bytes".into(), dirty_bytes as f64));
        series.push(("queue_depth".into(), self.requests.len() as f64));
        series.push((
            "members_working".into(),
            self.members.numbers().filter(|member| self.members.works(*member)).count() as f64,
        ));
        self.works.observe(self.member_bytes(), series);
        self.members.observe(now_ns, series, &mut self.incidents);
    }

    fn incidents(&mut self) -> Vec<Incident> {
        let mut incidents = std::mem::take(&mut self.incidents);
        incidents.sort_by_key(|incident| incident.at_ns);
        incidents
    }
}
