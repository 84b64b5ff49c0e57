//! Tests of what a thread of a MySQL does that finds no free frame.

use super::super::super::Fleet;
use super::super::super::ids::Lsn;
use super::super::super::tests::spec;
use super::*;

const THREAD: ThreadNo = ThreadNo::new(0);
/// A page that is in no pool.
const WANTED: PageNo = PageNo::new(5000);
/// Pages of a thread's first search, in all generations.
const FIRST: usize = 100;

/// A server whose only client has ended, with a full pool; `clean`: the only page of it that is clean, counted from the end
/// of the LRU list.
fn full(generation: &str, doublewrite: bool, clean: Option<usize>) -> Fleet {
    let changes = [
        ("/generation", generation.into()),
        ("/warm", false.into()),
        ("/connections", 1.into()),
        ("/settings/innodb_buffer_pool_size", (5_u64 << 20).into()),
        ("/settings/innodb_redo_log_capacity", (256_u64 << 20).into()),
        ("/settings/innodb_lru_scan_depth", FIRST.into()),
        ("/settings/innodb_doublewrite", doublewrite.into()),
    ];
    let mut run = Fleet::start(spec(&changes)).unwrap();
    run.stop();
    while run.next_interval().is_some() {}
    let Innodb { pool, log, .. } = &mut run.servers[0];
    for page in (0..).map(PageNo::new) {
        if pool.free() == 0 {
            break;
        }
        if pool.find(page).is_none() {
            let frame = pool.admit(page, true).unwrap();
            pool.end_read(frame);
        }
    }
    for (at, frame) in pool.oldest_first(0).into_iter().enumerate() {
        let (from, to) = log.append(100);
        pool.change(frame, from, to);
        if Some(at) == clean {
            pool.begin_write(frame);
            pool.end_write(frame);
        }
    }
    run
}

/// Pages that are being written.
fn written(server: &Innodb) -> Vec<FrameId> {
    server.pool.oldest_first(0).into_iter().filter(|frame| server.pool.is_writing(*frame)).collect()
}

/// Whether the thread goes on by itself after so long, and not before.
fn sleeps(server: &mut Innodb, sleep_ns: u64) -> bool {
    let began_ns = server.host.now_ns();
    let mut wakes = |at_ns: u64| {
        server.host.set_now_ns(at_ns);
        std::iter::from_fn(|| server.host.next_event()).any(|event| matches!(event, Event::Ready(THREAD)))
    };
    !wakes(began_ns + sleep_ns - 1) && wakes(began_ns + sleep_ns)
}

#[test]
fn a_thread_evicts_a_clean_page_else_writes_one_and_searches_everywhere_then() {
    for generation in ["mysql-5.6", "mysql-5.7", "mysql-8.0.11", "mysql-8.0"] {
        let mut run = full(generation, true, Some(FIRST - 2));
        assert!(run.servers[0].take_frame(THREAD, WANTED, true).is_some(), "{generation}");
        let mut run = full(generation, true, Some(FIRST + 50));
        let server = &mut run.servers[0];
        let end = server.pool.oldest_first(0)[0];
        assert!(server.take_frame(THREAD, WANTED, true).is_none(), "{generation}");
        assert_eq!((written(server), server.threads.counts().frame_waits), (vec![end], 1), "{generation}");
        assert!(!server.write_back.may_be_clean(0), "{generation}: others do not search the end in vain");
        assert!(server.take_frame(THREAD, WANTED, true).is_some(), "{generation}: the second search is of all pages");
        assert_eq!((written(server).len(), server.threads.counts().frame_waits), (1, 1), "{generation}");
    }
}

#[test]
fn a_thread_of_an_old_server_searches_a_tenth_of_the_pool_and_then_writes_pages_itself() {
    for generation in ["mysql-5.1", "mysql-5.5", "percona-5.5"] {
        // A pool of 320 frames: the first search is of 132 pages.
        let mut run = full(generation, true, Some(FIRST + 31));
        assert!(run.servers[0].take_frame(THREAD, WANTED, true).is_some(), "{generation}");
        let mut run = full(generation, true, Some(FIRST + 32));
        let server = &mut run.servers[0];
        assert!(server.take_frame(THREAD, WANTED, true).is_none(), "{generation}");
        assert!(
            server.write_back.is_freeing(0) && !server.write_back.has_free_waiters(),
            "{generation}: its own batch"
        );
        assert!(server.take_frame(THREAD, WANTED, true).is_some(), "{generation}: the second search goes further");
    }
}

#[test]
fn a_thread_of_an_old_server_that_searches_for_long_sleeps_half_a_second_between_its_batches() {
    let mut run = full("mysql-5.5", true, None);
    let server = &mut run.servers[0];
    for search in 1..=15_u64 {
        assert!(server.take_frame(THREAD, WANTED, true).is_none());
        let sleeping = search > 10 && search % 2 == 0;
        assert_eq!(server.threads.counts().frame_waits, search.min(11) + search.saturating_sub(11) / 2, "{search}");
        if sleeping {
            assert!(sleeps(server, 500_000_000), "{search}");
        }
    }
}

#[test]
fn a_reader_that_finds_too_few_old_pages_clean_writes_them_itself_or_waits_for_who_does() {
    for generation in ["mysql-5.1", "mysql-5.5", "percona-5.5"] {
        let mut run = full(generation, true, None);
        let server = &mut run.servers[0];
        assert!(server.make_margin(THREAD, 0), "{generation}: its own batch");
        assert!(server.write_back.is_freeing(0) && !server.write_back.has_free_waiters());
        assert!(server.make_margin(THREAD, 0), "{generation}: another thread's");
        assert!(server.write_back.has_free_waiters());
    }
}

#[test]
fn a_thread_that_searches_for_long_sleeps_before_each_further_page() {
    for (generation, sleep_ns) in [("mysql-5.6", 100_000_000), ("mysql-5.7", 10_000_000), ("mysql-8.0", 10_000_000)] {
        let mut run = full(generation, true, None);
        let server = &mut run.servers[0];
        for pages in [1, 2] {
            assert!(server.take_frame(THREAD, WANTED, true).is_none());
            assert_eq!(written(server).len(), pages, "{generation}");
        }
        for pages in [2, 3, 3, 4] {
            let before = written(server).len();
            assert!(server.take_frame(THREAD, WANTED, true).is_none());
            assert_eq!((written(server).len(), sleeps(server, sleep_ns)), (pages, before == pages), "{generation}");
        }
    }
}

#[test]
fn a_thread_sleeps_when_all_pages_are_being_written() {
    let mut run = full("mysql-5.7", true, None);
    let server = &mut run.servers[0];
    for frame in server.pool.oldest_first(0) {
        server.pool.begin_write(frame);
    }
    assert!(server.take_frame(THREAD, WANTED, true).is_none() && sleeps(server, 10_000_000));
    assert_eq!(server.threads.counts().frame_waits, 0);
}

#[test]
fn threads_of_mysql_5_6_wait_for_a_batch_that_chooses_pages() {
    for (generation, doublewrite, waits) in
        [("mysql-5.6", true, true), ("mysql-5.6", false, false), ("mysql-5.7", true, false)]
    {
        let mut run = full(generation, doublewrite, None);
        let server = &mut run.servers[0];
        let Innodb { write_back, pool, host, .. } = server;
        // The first fills the buffer of the doublewrite, the second waits for it with its pages unchosen.
        let list = Kind::List { limit_lsn: Lsn::MAX, sync: false };
        write_back.start_batch(0, list, 200, Owner::Master, pool, host);
        write_back.start_batch(0, Kind::Lru, 50, Owner::Master, pool, host);
        let before = written(server).len();
        assert!(server.take_frame(THREAD, WANTED, true).is_none());
        assert_eq!(server.write_back.has_free_waiters(), waits, "{generation}, doublewrite {doublewrite}");
        assert_eq!(written(server).len() - before, usize::from(!waits), "{generation}, doublewrite {doublewrite}");
    }
}

#[test]
fn a_page_that_a_thread_writes_for_a_frame_makes_no_room_in_the_log() {
    let mut run = full("mysql-5.6", true, None);
    assert!(run.servers[0].take_frame(THREAD, WANTED, true).is_none());
    while run.servers[0].pool.free() == 0 {
        run.step(run.now_ns + 1_000_000_000);
    }
    assert!(!run.servers[0].threads.get(THREAD).has_preflushed());
}
