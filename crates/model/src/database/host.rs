//! What a server has of its machine: a clock with alarms, a run queue for its threads, cores, a file system, and devices.
//!
//! Components of a server are handed the host when they may need it. It knows nothing of them.

use std::collections::VecDeque;

use super::events::{Event, SERVER_SHIFT, Tag};
use super::ids::{FrameId, PAGE_BYTES, PageNo, ThreadNo};
use super::journal::{Journal, Next};
use super::machine::Machine;
use super::placement::Placement;
use super::spec::Cpu;
use crate::event::EventQueue;
use crate::storage::{Command, Ended, Operation};

/// What a server asked of its devices and cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    /// Requests since the beginning.
    pub(super) ios: u64,
    /// In this interval.
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
    pub(super) syncs: u64,
    pub(super) cpu_ns: u64,
}

/// The host of one server.
pub(super) struct Host {
    /// Which of its machine's servers it serves.
    number: u32,
    now_ns: u64,
    /// The machine, while it is this server's turn.
    machine: Machine,
    placement: Placement,
    events: EventQueue<Event>,
    /// Threads that go on at this moment.
    ready: VecDeque<ThreadNo>,
    journal: Journal,
    /// A sync of a file also saves its times (fsync), or only its data (fdatasync).
    syncs_times: bool,
    /// The kernel's part of a file's sync, and what a request takes of the cores beside the server's work, ns.
    fsync_ns: u64,
    request_ns: u64,
    traffic: Traffic,
    failure: Option<String>,
}

impl Host {
    /// The host of the server with this number, without a machine.
    pub(super) fn new(number: u32, placement: Placement, cpu: &Cpu, syncs_times: bool) -> Self {
        Self {
            journal: Journal::new(placement.journal(), cpu.sync_page_ns),
            syncs_times,
            number,
            now_ns: 0,
            machine: Machine::default(),
            placement,
            events: EventQueue::new(),
            ready: VecDeque::new(),
            fsync_ns: cpu.fsync_ns,
            request_ns: cpu.request_ns,
            traffic: Traffic::default(),
            failure: None,
        }
    }

    /// The machine is this server's from now on.
    pub(super) fn give_machine(&mut self, machine: Machine) {
        self.machine = machine;
    }

    /// The machine is another server's from now on.
    pub(super) fn take_machine(&mut self) -> Machine {
        std::mem::take(&mut self.machine)
    }

    /// The machine.
    #[inline]
    pub(super) const fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Where everything lies.
    pub(super) const fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Virtual time since the run began.
    #[inline]
    pub(super) const fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Virtual time since the run began, in the unit of innodb_old_blocks_time.
    #[inline]
    pub(super) const fn now_ms(&self) -> u32 {
        (self.now_ns / 1_000_000) as u32
    }

    /// Time has passed.
    #[inline]
    pub(super) const fn set_now_ns(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// Lets something happen at a moment that has not passed yet.
    pub(super) fn schedule(&mut self, at_ns: u64, event: Event) {
        self.events.push(at_ns, event);
    }

    /// Takes what happens at this moment.
    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_until(self.now_ns).map(|(_, event)| event)
    }

    /// When something happens next, as far as no device decides it.
    pub(super) fn next_event_ns(&self) -> Option<u64> {
        self.events.next_ns()
    }

    /// A thread goes on at this moment, behind those that do already.
    #[inline]
    pub(super) fn wake(&mut self, thread: ThreadNo) {
        self.ready.push_back(thread);
    }

    /// Threads go on, the last of them behind all others. Returns the first to go on.
    pub(super) fn wake_last_first(&mut self, threads: impl Iterator<Item = ThreadNo>) -> Option<ThreadNo> {
        let first = self.ready.len();
        self.ready.extend(threads);
        self.ready.make_contiguous()[first..].reverse();
        self.ready.get(first).copied()
    }

    /// Takes the thread that goes on first.
    #[inline]
    pub(super) fn next_ready(&mut self) -> Option<ThreadNo> {
        self.ready.pop_front()
    }

    /// Gives a core work of so many ns. Returns when it will be done.
    pub(super) fn book(&mut self, work_ns: u64) -> u64 {
        self.traffic.cpu_ns += work_ns;
        self.machine.book(self.now_ns, work_ns)
    }

    /// Hands a request to a device.
    pub(super) fn submit(&mut self, device: usize, tag: Tag, operation: Operation, offset: u64, bytes: u64) {
        self.traffic.ios += 1;
        match operation {
            Operation::Read => self.traffic.read_bytes += bytes,
            Operation::Write => self.traffic.written_bytes += bytes,
            Operation::Flush | Operation::Trim => {}
        }
        self.send(device, tag, Command { operation, offset, bytes });
    }

    fn send(&mut self, device: usize, tag: Tag, command: Command) {
        if self.request_ns > 0 && matches!(command.operation, Operation::Read | Operation::Write) {
            self.machine.book(self.now_ns, self.request_ns);
        }
        let tag = u64::from(self.number) << SERVER_SHIFT | tag.pack();
        self.machine.submit(self.now_ns, device, tag, command);
    }

    /// Reads a page into its frame.
    pub(super) fn read_page(&mut self, page: PageNo, frame: FrameId) {
        let (device, offset) = self.placement.of_page(page);
        self.submit(device, Tag::Read { frame }, Operation::Read, offset, PAGE_BYTES);
    }

    /// Writes a page to its place.
    pub(super) fn write_page(&mut self, page: PageNo, tag: Tag) {
        let (device, offset) = self.placement.of_page(page);
        self.submit(device, tag, Operation::Write, offset, PAGE_BYTES);
    }

    /// Syncs a file that keeps its size, on each device of which a bit is set. Returns how many there are.
    pub(super) fn sync_devices(&mut self, devices: u64, tag: Tag) -> u32 {
        for device in (0..self.machine.devices()).filter(|device| devices >> device & 1 == 1) {
            self.sync(device, tag);
        }
        devices.count_ones()
    }

    /// Syncs a file that keeps its size.
    pub(super) fn sync(&mut self, device: usize, tag: Tag) {
        if self.syncs_times && self.journal.has_news(device, self.now_ns) {
            self.sync_grown(device, tag);
        } else {
            self.traffic.syncs += 1;
            self.submit(device, tag, Operation::Flush, 0, 0);
        }
    }

    /// Syncs a file that has grown: whatever the call, its size is saved.
    pub(super) fn sync_grown(&mut self, device: usize, tag: Tag) {
        self.traffic.syncs += 1;
        if let Some(command) = self.journal.commit(device, tag, self.now_ns) {
            self.submit_journal(device, command);
        }
    }

    /// What the journal writes is the file system's, and none of the server's traffic.
    fn submit_journal(&mut self, device: usize, command: Command) {
        self.send(device, Tag::Journal { device: device as u32 }, command);
    }

    fn end_journal_step(&mut self, device: usize) {
        match self.journal.end_step(device, self.now_ns) {
            Next::Step(command) => self.submit_journal(device, command),
            Next::Over(served, next) => {
                for tag in served {
                    self.schedule(self.now_ns, Event::Committed(tag));
                }
                if let Some(command) = next {
                    self.submit_journal(device, command);
                }
            }
        }
    }

    /// Pages were written to data files or to the doublewrite buffer, and are not synced.
    pub(super) const fn note_unsynced(&mut self, pages: u64) {
        self.journal.note_written(pages);
    }

    /// Begins the sync of a data file: the file system commits its journal. The event follows the kernel's part.
    pub(super) fn begin_sync(&mut self, event: Event) {
        let done_ns = self.journal.order(self.now_ns) + self.fsync_ns;
        self.schedule(done_ns, event);
    }

    /// When the file system has committed its journal; None when it does not commit now.
    pub(super) fn journal_busy_until_ns(&self) -> Option<u64> {
        self.journal.busy_until_ns(self.now_ns)
    }

    /// The run cannot go on, in words. The first failure counts.
    pub(super) fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }

    /// Why the run cannot go on.
    pub(super) const fn failure(&self) -> Option<&String> {
        self.failure.as_ref()
    }

    /// What a device's answer is for; None when that is the host's own matter, or the device failed, which ends the run.
    pub(super) fn receive(&mut self, ended: Ended) -> Option<Tag> {
        let tag = Tag::unpack(ended.tag);
        if let Err(failure) = ended.result {
            let why = std::io::Error::from_raw_os_error(failure.errno());
            self.fail(format!("the server's storage failed ({tag:?}): {why}"));
            return None;
        }
        if let Tag::Journal { device } = tag {
            self.end_journal_step(device as usize);
            return None;
        }
        Some(tag)
    }

    /// What was asked of devices and cores.
    pub(super) const fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// A new interval begins.
    pub(super) fn begin_interval(&mut self) {
        self.traffic = Traffic { ios: self.traffic.ios, ..Traffic::default() };
    }
}

#[cfg(test)]
#[path = "tests/host.rs"]
pub(super) mod tests;
