//! Tests of the log without the rest of a server.

use flatwater_core::slab::Key;

use super::super::generation::{CleanerGeneration, MasterGeneration};
use super::super::host::tests::{Requests, events_until, host};
use super::super::settings::tests::settings;
use super::*;

const MYSQL55: Generation = Generation::Master(MasterGeneration::Mysql55);
const MYSQL57: Generation = Generation::Cleaner(CleanerGeneration::Mysql57);
const PLACE: (usize, u64) = (0, 1 << 30);

/// A log whose kernel keeps its pages, the host and its requests.
fn log(generation: Generation, page_cache_bytes: Option<u64>) -> (Log, Host, Requests) {
    let (host, requests) = host();
    (Log::new(generation, &settings(), PLACE, page_cache_bytes), host, requests)
}

fn thread(number: u32) -> ThreadNo {
    ThreadNo::new(number)
}

#[test]
fn a_sync_is_for_all_that_came_before_it_began() {
    let (mut log, mut host, requests) = log(MYSQL55, None);
    let (_, first) = log.append(100);
    log.wait_for_sync(first, Waiter::Thread(thread(1)));
    // The write is to the kernel and takes no time; the sync stores its page, then flushes.
    assert_eq!(log.start_next(&mut host), Some(vec![Effect::Release]));
    assert_eq!((log.written(), log.start_next(&mut host)), (first, Some(vec![])));
    let (_, second) = log.append(100);
    log.wait_for_sync(second, Waiter::Writer(WriterId::from_number(4)));
    log.wait_for_sync(second, Waiter::Nobody);
    assert_eq!(log.start_next(&mut host), None, "who syncs keeps others from writing");
    assert_eq!(requests.commands(), [(Operation::Write, (1 << 30) + 8192, 4096)]);
    assert_eq!(log.end_sync_step(&mut host), []);
    assert_eq!(requests.commands(), [(Operation::Flush, 0, 0)]);
    assert_eq!((log.end_sync_step(&mut host), log.durable()), (vec![Effect::Wake(thread(1))], first));
    // The next one is for both that are left.
    assert_eq!(log.start_next(&mut host), Some(vec![Effect::Release]));
    log.start_next(&mut host);
    log.end_sync_step(&mut host);
    assert_eq!(
        (log.end_sync_step(&mut host), log.durable()),
        (vec![Effect::Durable(WriterId::from_number(4))], second)
    );
    assert_eq!((log.counts().writes, log.counts().syncs), (2, 2));
}

#[test]
fn up_to_5_6_a_writer_that_waits_for_a_read_holds_the_log() {
    let (mut log, mut host, requests) = log(MYSQL55, Some(0));
    let (_, end) = log.append(100);
    log.wait_for_write(end, thread(1));
    // The block at 10,240 is half of a page that the kernel has forgotten.
    assert_eq!(log.start_next(&mut host), Some(vec![Effect::Hold]));
    assert_eq!(requests.commands(), [(Operation::Read, (1 << 30) + 8192, 4096)]);
    assert_eq!((log.room(), log.free_until()), (Room::Held, Lsn::ZERO));
    log.wait_for_holder(thread(2));
    let [first, second] = [thread(2), thread(1)].map(Effect::Wake);
    assert_eq!(log.end_write_step(), [Effect::Release, first, second], "who wanted to append goes on first");
    assert_eq!((log.room(), log.counts().holds, log.counts().page_reads), (Room::Free, 1, 1));
}

#[test]
fn later_servers_append_while_a_page_is_read() {
    let (mut log, mut host, _) = log(MYSQL57, Some(0));
    log.append(100);
    assert_eq!((log.begin_write(&mut host), log.room()), (vec![], Room::Free));
    assert!(!log.may_write(), "one write at a time");
}

#[test]
fn a_write_waits_while_the_file_system_commits_its_journal() {
    let (mut log, mut host, _) = log(MYSQL55, None);
    host.note_unsynced(3);
    host.begin_sync(Event::Master);
    log.append(100);
    assert_eq!(log.begin_write(&mut host), [Effect::Hold]);
    assert_eq!(events_until(&mut host, 30), [Event::Journal]);
    assert_eq!(log.end_write_step(), [Effect::Release]);
}

#[test]
fn half_a_buffer_should_be_written_and_a_full_one_is_waited_for() {
    let (mut log, mut host, _) = log(MYSQL55, None);
    let half = settings().innodb_log_buffer_size / 2;
    assert_eq!(log.free_until(), log.written() + half);
    log.append(half);
    assert_eq!(log.room(), Room::HalfFull);
    log.append(half);
    assert_eq!(log.room(), Room::Full);
    log.wait_for_buffer(thread(1));
    assert_eq!(log.start_next(&mut host), Some(vec![Effect::Release, Effect::Wake(thread(1))]));
    assert_eq!((log.room(), log.counts().waits), (Room::Free, 1));
}

#[test]
fn past_the_kernels_cache_what_is_written_is_taken_for_durable() {
    let settings = Settings { innodb_flush_method: FlushMethod::AllDirect, ..settings() };
    let (mut host, requests) = host();
    let mut log = Log::new(MYSQL55, &settings, PLACE, None);
    let (_, end) = log.append(100);
    log.wait_for_sync(end, Waiter::Thread(thread(1)));
    assert_eq!(log.start_next(&mut host), Some(vec![Effect::Hold]));
    assert_eq!(requests.commands(), [(Operation::Write, (1 << 30) + 10_240, 512)]);
    assert_eq!((log.end_write_step(), log.durable()), (vec![Effect::Release], end));
    assert_eq!(log.start_next(&mut host), Some(vec![Effect::Wake(thread(1))]));
    assert_eq!((requests.commands(), log.counts().syncs), (vec![], 0));
}

#[test]
fn a_checkpoint_goes_to_the_oldest_change_that_is_durable() {
    let (mut log, mut host, requests) = log(MYSQL55, None);
    let (from, to) = log.append(100);
    assert!(!log.begin_checkpoint(Some(to)));
    assert_eq!((log.checkpoint(), requests.commands()), (from, vec![]), "it is not durable");
    log.settle(Some(from));
    assert_eq!((log.checkpoint_age(), log.age(Some(from)), log.age(None)), (100, 100, 0));
    log.begin_checkpoint(None);
    log.write_checkpoint(&mut host);
    assert_eq!((log.checkpoint(), requests.commands()), (to, vec![(Operation::Write, 1 << 30, 4096)]));
    log.begin_interval();
    assert_eq!(log.counts().first_lsn, Some(to));
}

#[test]
fn a_checkpoint_of_mysql_8_counts_when_it_is_durable() {
    let (mut log, mut host, requests) = log(Generation::Cleaner(CleanerGeneration::Mysql80), None);
    let (from, to) = log.append(100);
    log.settle(Some(from));
    assert!(log.begin_checkpoint(None));
    log.write_checkpoint(&mut host);
    assert_eq!((log.checkpoint(), requests.commands().len()), (from, 1));
    assert!(!log.begin_checkpoint(None), "one at a time");
    log.sync_checkpoint(&mut host);
    assert_eq!((log.checkpoint(), requests.commands()), (from, vec![(Operation::Flush, 0, 0)]));
    log.end_checkpoint();
    assert_eq!(log.checkpoint(), to);
}
