//! Tests of the host, and a host for the tests of components.

use std::sync::{Arc, Mutex};

use super::*;
use crate::storage::{Device, Failure};

/// The requests that a device was given: what each is for, and the command.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Requests(Arc<Mutex<Vec<(Tag, Command)>>>);

impl Requests {
    /// Takes them.
    pub(in super::super) fn take(&self) -> Vec<(Tag, Command)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// Takes them as operation, first byte and length.
    pub(in super::super) fn commands(&self) -> Vec<(Operation, u64, u64)> {
        self.take().into_iter().map(|(_, command)| (command.operation, command.offset, command.bytes)).collect()
    }
}

/// A device that never answers.
struct Recorder(Requests);

impl Device for Recorder {
    fn capacity_bytes(&self) -> u64 {
        1 << 40
    }

    fn submit(&mut self, _now_ns: u64, tag: u64, command: Command) {
        self.0.0.lock().unwrap().push((Tag::unpack(tag), command));
    }

    fn next_ns(&self) -> Option<u64> {
        None
    }

    fn advance(&mut self, _until_ns: u64, _ended: &mut Vec<Ended>) {}

    fn observe(&mut self, _now_ns: u64, _series: &mut Vec<(String, f64)>) {}
}

/// A host with one core and one device, which only records what it is asked for; `Placement::for_test` says what lies where.
pub(in super::super) fn host() -> (Host, Requests) {
    let requests = Requests::default();
    let cpu = Cpu { sync_page_ns: 10, fsync_ns: 5, ..Cpu::default() };
    let mut host = Host::new(0, Placement::for_test(), &cpu, false);
    host.give_machine(Machine::with_devices(vec![Box::new(Recorder(requests.clone()))]));
    (host, requests)
}

/// The threads that go on.
pub(in super::super) fn ready(host: &mut Host) -> Vec<u32> {
    std::iter::from_fn(|| host.next_ready()).map(ThreadNo::number).collect()
}

/// What happens up to a moment, which it is then.
pub(in super::super) fn events_until(host: &mut Host, now_ns: u64) -> Vec<Event> {
    host.set_now_ns(now_ns);
    std::iter::from_fn(|| host.next_event()).collect()
}

#[test]
fn who_emulates_a_device_uses_the_cores_for_each_read_and_write_and_is_not_the_server() {
    let (mut host, requests) = host();
    host.request_ns = 100;
    host.read_page(PageNo::new(1), FrameId::new(1));
    host.write_page(PageNo::new(1), Tag::Checkpoint);
    host.submit(0, Tag::Checkpoint, Operation::Flush, 0, 0);
    assert_eq!(requests.commands().len(), 3, "all are with the device at once");
    assert_eq!(host.traffic().cpu_ns, 0);
    assert_eq!(host.book(5), 205, "what comes then waits for the core");
}

#[test]
fn threads_go_on_in_their_order() {
    let (mut host, _) = host();
    host.wake(ThreadNo::new(7));
    assert_eq!(host.wake_last_first([3, 2, 1].map(ThreadNo::new).into_iter()), Some(ThreadNo::new(1)));
    assert_eq!(host.wake_last_first(std::iter::empty()), None);
    assert_eq!(ready(&mut host), [7, 1, 2, 3]);
}

#[test]
fn requests_are_counted_by_what_they_do() {
    let (mut host, requests) = host();
    host.read_page(PageNo::new(3), FrameId::new(3));
    host.write_page(PageNo::new(2), Tag::Checkpoint);
    assert_eq!(host.sync_devices(1, Tag::Checkpoint), 1);
    host.book(700);
    let first = (Tag::Read { frame: FrameId::new(3) }, (4 << 30) + 3 * PAGE_BYTES);
    let taken = requests.take();
    assert_eq!((taken.len(), (taken[0].0, taken[0].1.offset)), (3, first));
    let traffic = Traffic { ios: 3, read_bytes: PAGE_BYTES, written_bytes: PAGE_BYTES, syncs: 1, cpu_ns: 700 };
    assert_eq!(*host.traffic(), traffic);
    host.begin_interval();
    assert_eq!(*host.traffic(), Traffic { ios: 3, ..Traffic::default() });
}

#[test]
fn a_sync_follows_the_journal_and_the_kernels_part() {
    let (mut host, _) = host();
    host.note_unsynced(4);
    host.begin_sync(Event::Journal);
    assert_eq!((host.journal_busy_until_ns(), host.next_event_ns()), (Some(40), Some(45)));
    assert_eq!(events_until(&mut host, 45), [Event::Journal]);
    assert_eq!(host.journal_busy_until_ns(), None);
}

#[test]
fn a_sync_that_saves_times_commits_the_journal_and_one_of_data_only_flushes() {
    let (mut host, requests) = host();
    host.sync(0, Tag::Checkpoint);
    assert_eq!(requests.commands(), [(Operation::Flush, 0, 0)]);
    host.syncs_times = true;
    let done = |at_ns| Ended { tag: Tag::Journal { device: 0 }.pack(), at_ns, result: Ok(()) };
    for turn in 0..2 {
        host.sync(0, Tag::Checkpoint);
        let mut commands = Vec::new();
        for at_ns in 1..=4 {
            commands.extend(requests.commands());
            assert_eq!(host.receive(done(at_ns)), None);
        }
        let first = (3 << 30) + turn * 12_288;
        let (blocks, record) = ((Operation::Write, first, 8192), (Operation::Write, first + 8192, 4096));
        assert_eq!(commands, [blocks, (Operation::Flush, 0, 0), record, (Operation::Flush, 0, 0)]);
        assert_eq!(events_until(&mut host, 10_000_000 * (turn + 1)), [Event::Committed(Tag::Checkpoint)]);
    }
    // A file that grows is committed by any server. What the file system writes is no traffic of the server.
    host.syncs_times = false;
    host.sync_grown(0, Tag::Checkpoint);
    assert_eq!(requests.commands().len(), 1);
    assert_eq!((host.traffic().syncs, host.traffic().written_bytes), (4, 0));
}

#[test]
fn a_device_that_fails_ends_the_run_and_the_first_failure_counts() {
    let (mut host, _) = host();
    let ended = |result| Ended { tag: Tag::Checkpoint.pack(), at_ns: 0, result };
    assert_eq!(host.receive(ended(Ok(()))), Some(Tag::Checkpoint));
    assert_eq!(host.receive(ended(Err(Failure::Medium))), None);
    host.fail("later".into());
    let why = host.failure().unwrap();
    assert!(why.starts_with("the server's storage failed (Checkpoint)"), "{why}");
}
