//! Tests of the threads without the rest of a server.

use flatwater_core::interval::Kind;

use super::super::generation::{Generation, MasterGeneration};
use super::super::host::tests::{events_until, host, ready};
use super::super::ids::{Lsn, PageNo};
use super::super::locks::RowLocks;
use super::super::log::{Limits, Log};
use super::super::settings::tests::settings;
use super::super::touches::{Touch, What};
use super::*;

const CPU: Cpu = Cpu {
    statement_ns: 1000,
    touch_ns: 10,
    read_ns: 0,
    write_ns: 0,
    mutex_ns: 300,
    read_mutex_ns: 0,
    round_trip_ns: 50,
    fsync_ns: 0,
    sync_page_ns: 0,
    request_ns: 0,
};
const MYSQL55: Generation = Generation::Master(MasterGeneration::Mysql55);

/// The same transaction again and again.
struct Same(Vec<Touch>);

impl Touches for Same {
    fn pages(&self) -> u32 {
        100
    }

    fn tables(&self) -> &[(String, PageNo)] {
        &[]
    }

    fn kinds(&self) -> &'static [Kind] {
        &[]
    }

    fn next(&mut self, _thread: u32, out: &mut Vec<Touch>) -> usize {
        out.extend(&self.0);
        0
    }

    fn take_rollbacks(&mut self) -> u64 {
        0
    }

    fn times_ns(&mut self, _thread: u32, _kind: usize) -> (u64, u64) {
        (0, 0)
    }
}

fn threads(connections: u32) -> Threads {
    Threads::new(connections, 0, 1, &CPU)
}

fn thread(number: u32) -> ThreadNo {
    ThreadNo::new(number)
}

/// A transaction that reads pages 0 and 1 and changes page 2.
fn transaction() -> Same {
    let [first, second, third] = [0, 1, 2].map(PageNo::new);
    Same(vec![Touch::STATEMENT, Touch::read(first), Touch::read(second), Touch::change(third, 90)])
}

/// A pool that has these pages.
fn pool(pages: &[u32]) -> Pool {
    let mut pool = Pool::new(100, 50, 1);
    for number in pages {
        pool.admit(PageNo::new(*number), false).unwrap();
    }
    pool
}

#[test]
fn a_thread_runs_to_the_page_that_is_not_there() {
    let (mut host, _) = host();
    host.set_now_ns(7);
    let (mut threads, mut pool) = (threads(1), pool(&[0, 2]));
    let mut log = Log::new(MYSQL55, &settings(), (0, 0), None);
    let mut limits = Limits::of_server(MYSQL55, &settings());
    assert!(threads.begin_transaction(thread(0), &mut host, &mut transaction(), &pool, None));
    let shared = Shared { pool: &mut pool, log: &mut log, limits: &mut limits, locks: &mut RowLocks::new(2) };
    threads.run_hits(thread(0), 1, shared, None);
    assert_eq!(threads.get(thread(0)).touch(), Some(Touch::read(PageNo::new(1))));
    assert_eq!((threads.counts().statements, threads.counts().uses), (1, 1));
    threads.get(thread(0)).advance();
    // A change looks at the log's limits, as nothing is dirty yet.
    let shared = Shared { pool: &mut pool, log: &mut log, limits: &mut limits, locks: &mut RowLocks::new(2) };
    threads.run_hits(thread(0), 1, shared, None);
    let change = threads.get(thread(0)).touch().unwrap();
    assert_eq!(change.what, What::Change);
    let frame = pool.find(change.page).unwrap();
    let before = log.lsn();
    threads.get(thread(0)).change(&mut pool, &mut log, frame, change);
    assert_eq!((log.lsn() - before, pool.oldest_lsn()), (90, Some(before)));
    threads.get(thread(0)).advance();
    assert_eq!(threads.get(thread(0)).uncommitted(), Some((log.lsn(), 90)));
    threads.get(thread(0)).note_committed();
    assert_eq!(threads.get(thread(0)).uncommitted(), Some((Lsn::ZERO, 0)), "what follows is another transaction");
}

#[test]
fn work_takes_a_core_then_the_mutexes_and_the_way_to_the_client() {
    let (mut host, _) = host();
    let (mut threads, mut pool) = (threads(2), pool(&[0, 1, 2]));
    let mut log = Log::new(MYSQL55, &settings(), (0, 0), None);
    let mut limits = Limits::of_server(MYSQL55, &settings());
    assert!(!threads.burn(thread(0), &mut host), "it owes nothing");
    for number in [0, 1] {
        threads.begin_transaction(thread(number), &mut host, &mut transaction(), &pool, None);
        let shared = Shared { pool: &mut pool, log: &mut log, limits: &mut limits, locks: &mut RowLocks::new(2) };
        threads.run_hits(thread(number), 1, shared, None);
        assert!(threads.burn(thread(number), &mut host) && !threads.burn(thread(number), &mut host));
    }
    // 1000 of the statement and two pages; one core: the second thread comes after the first.
    let ends: Vec<u64> = [1020 + 50, 2040 + 50].to_vec();
    assert_eq!(events_until(&mut host, ends[0] - 1), []);
    assert_eq!(events_until(&mut host, ends[0]), [Event::Worked(thread(0))]);
    assert_eq!(events_until(&mut host, ends[1]), [Event::Worked(thread(1))]);
    threads.end_burst(thread(0), &mut host);
    assert_eq!(ready(&mut host), [0]);
}

#[test]
fn a_burst_with_a_change_waits_for_the_writer_that_holds_the_log() {
    let (mut host, _) = host();
    let (mut threads, mut pool) = (threads(1), pool(&[0, 1, 2]));
    let mut log = Log::new(MYSQL55, &settings(), (0, 0), None);
    let frame = pool.find(PageNo::new(2)).unwrap();
    let own = threads.get(thread(0));
    own.change(&mut pool, &mut log, frame, Touch::change(PageNo::new(2), 10));
    own.charge_touch(&CPU);
    threads.burn(thread(0), &mut host);
    threads.hold_log(5);
    assert_eq!(events_until(&mut host, 10), [Event::Worked(thread(0))]);
    threads.end_burst(thread(0), &mut host);
    assert_eq!((ready(&mut host), host.next_event_ns()), (vec![], None));
    host.set_now_ns(100);
    threads.release_log(&mut host);
    // Its change comes after 5 of 10 ns; it has met the hold 2 ns after that began, on average.
    assert_eq!((ready(&mut host), host.next_event_ns()), (vec![], Some(10 + 95 - 2)));
    assert_eq!(events_until(&mut host, 103), [Event::Worked(thread(0))]);
    threads.end_burst(thread(0), &mut host);
    assert_eq!(ready(&mut host), [0]);
}

#[test]
fn transactions_are_counted_and_threads_end_when_they_are_asked_to() {
    let (mut host, _) = host();
    let (mut threads, pool) = (threads(1), pool(&[]));
    host.set_now_ns(100);
    threads.begin_transaction(thread(0), &mut host, &mut transaction(), &pool, None);
    assert_eq!(threads.started_ns().collect::<Vec<_>>(), [100]);
    threads.end_transaction(thread(0), 350);
    threads.end_transaction(thread(0), 360);
    let kinds = threads.begin_interval();
    assert_eq!((kinds[0].operations, kinds[0].latency.max_ns(), threads.ended()), (1, 250, 0));
    threads.stop();
    assert!(threads.are_active() && !threads.begin_transaction(thread(0), &mut host, &mut transaction(), &pool, None));
    assert!(!threads.are_active());
}

/// Clients that key for 10 ns and think for 7.
struct Slow(Same);

impl Touches for Slow {
    fn pages(&self) -> u32 {
        self.0.pages()
    }

    fn tables(&self) -> &[(String, PageNo)] {
        &[]
    }

    fn kinds(&self) -> &'static [Kind] {
        &[]
    }

    fn next(&mut self, thread: u32, out: &mut Vec<Touch>) -> usize {
        self.0.next(thread, out)
    }

    fn take_rollbacks(&mut self) -> u64 {
        0
    }

    fn times_ns(&mut self, _thread: u32, _kind: usize) -> (u64, u64) {
        (10, 7)
    }
}

#[test]
fn a_client_keys_before_a_transaction_and_thinks_after_it() {
    let (mut host, _) = host();
    let (mut threads, pool, mut slow) = (threads(2), pool(&[]), Slow(transaction()));
    assert!(!threads.begin_transaction(thread(0), &mut host, &mut slow, &pool, None));
    assert!(!threads.begin_transaction(thread(1), &mut host, &mut slow, &pool, None));
    assert_eq!(threads.started_ns().count(), 0, "nothing is under way while it is keyed");
    assert_eq!(events_until(&mut host, 9), []);
    assert_eq!(events_until(&mut host, 10), [Event::Ready(thread(0)), Event::Ready(thread(1))]);
    assert!(threads.resume(thread(0), 10) && threads.resume(thread(0), 10));
    assert_eq!(threads.started_ns().collect::<Vec<_>>(), [10]);
    host.set_now_ns(30);
    threads.end_transaction(thread(0), 30);
    assert_eq!(threads.begin_interval()[0].latency.max_ns(), 20, "keying is no part of it");
    assert!(!threads.begin_transaction(thread(0), &mut host, &mut slow, &pool, None));
    assert_eq!(events_until(&mut host, 46), []);
    assert_eq!(events_until(&mut host, 47), [Event::Ready(thread(0))], "7 of thinking, 10 of keying");
    threads.stop();
    threads.stop();
    assert!(!threads.are_active(), "nobody keys to the end of what will not run");
    assert!(!threads.resume(thread(0), 47));
}
