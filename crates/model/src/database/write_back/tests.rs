//! Tests of the write-back without the rest of a server.

use super::super::host::tests::{Requests, events_until, host, ready};
use super::super::ids::{FrameId, PAGE_BYTES, PageNo};
use super::super::tests::spec;
use super::*;
use crate::storage::Operation;

use super::super::events::Tag;

/// Where `Placement::for_test` has pages from.
const PAGES: u64 = 4 << 30;
const ALL: Kind = Kind::List { limit_lsn: Lsn::MAX, sync: false };

struct Server {
    write_back: WriteBack,
    pool: Pool,
    host: Host,
    requests: Requests,
}

impl Server {
    /// A server with these dirty pages, each changed up to 200, and no neighbours that go along.
    fn new(changes: &[(&str, serde_json::Value)], dirty: &[u32]) -> Self {
        let mut all = vec![("/settings/innodb_flush_neighbors", 0.into())];
        all.extend_from_slice(changes);
        let (host, requests) = host();
        let mut pool = Pool::new(10_000, 2000, 1);
        for number in dirty {
            let frame = pool.admit(PageNo::new(*number), false).unwrap();
            pool.change(frame, Lsn::new(100), Lsn::new(200));
        }
        let write_back = WriteBack::new(&spec(&all), 1, host.placement().doublewrite());
        Self { write_back, pool, host, requests }
    }

    fn without_doublewrite(generation: &str, dirty: &[u32]) -> Self {
        Self::new(&[("/settings/innodb_doublewrite", false.into()), ("/generation", generation.into())], dirty)
    }

    fn begin_checkpoint(&mut self) -> bool {
        self.write_back.sync_for_checkpoint(&mut self.pool, &mut self.host)
    }

    fn start(&mut self, kind: Kind, pages: u64) {
        self.write_back.start_pass(kind, pages, 1, Owner::Master, &mut self.pool, &mut self.host);
    }

    /// What happens in the next second.
    fn events(&mut self) -> Vec<Event> {
        let now_ns = self.host.now_ns();
        events_until(&mut self.host, now_ns + 1_000_000_000)
    }

    /// Lets the chunks that are put together go out; how far the log has to be durable for each.
    fn post(&mut self, durable: u64) -> Vec<Option<Lsn>> {
        let mut wanted = Vec::new();
        for event in self.events() {
            let Event::Posted(writer) = event else { panic!("{event:?}") };
            let durable = Lsn::new(durable);
            wanted.push(self.write_back.end_posting(writer, durable, &mut self.pool, &mut self.host));
        }
        wanted
    }

    /// Answers all requests, and those that follow, until nothing is under way; the writes, syncs and what they are for.
    fn answer_all(&mut self) -> Vec<(Operation, u64, u64)> {
        let mut seen = Vec::new();
        loop {
            let requests = self.requests.take();
            let events = self.events();
            if requests.is_empty() && events.is_empty() {
                return seen;
            }
            for (tag, command) in requests {
                seen.push((command.operation, command.offset, command.bytes));
                let Self { write_back, pool, host, .. } = self;
                match tag {
                    Tag::Page { writer, at } => write_back.end_page(writer, at, pool, host),
                    Tag::Writer { writer } => write_back.end_step(writer, pool, host),
                    _ => panic!("{tag:?}"),
                }
            }
            for event in events {
                match event {
                    Event::Sync(writer) => self.write_back.sync_devices(writer, &mut self.host),
                    Event::Posted(writer) => {
                        let durable = Lsn::MAX;
                        assert_eq!(self.write_back.end_posting(writer, durable, &mut self.pool, &mut self.host), None);
                    }
                    _ => panic!("{event:?}"),
                }
            }
        }
    }

    fn ended(&mut self) -> Option<Ended> {
        self.write_back.next_ended(&mut self.pool, &mut self.host)
    }
}

fn place(number: u64) -> (Operation, u64, u64) {
    (Operation::Write, PAGES + number * PAGE_BYTES, PAGE_BYTES)
}

const FLUSH: (Operation, u64, u64) = (Operation::Flush, 0, 0);

#[test]
fn pages_go_to_the_doublewrite_buffer_then_to_their_places_and_both_are_synced() {
    let mut server = Server::new(&[], &[7, 1001, 3]);
    server.start(ALL, 3);
    assert_eq!(server.post(200), [None]);
    let doubled = (Operation::Write, 0, 3 * PAGE_BYTES);
    // Two files: pages below 1000 and those above.
    let expected = [doubled, FLUSH, place(7), place(1001), place(3), FLUSH, FLUSH];
    assert_eq!(server.answer_all(), expected);
    assert_eq!(server.ended(), Some(Ended { owner: Owner::Master, written: 3, skipped: false }));
    assert_eq!((server.ended(), server.pool.dirty()), (None, 0));
    let counts = server.write_back.counts();
    assert_eq!((counts.flushed_background, counts.doublewrite_pages, counts.doublewrite_writes), (3, 3, 1));
}

#[test]
fn no_page_goes_out_before_its_changes_are_durable() {
    let mut server = Server::new(&[], &[7]);
    server.start(ALL, 1);
    assert_eq!((server.post(199), server.requests.commands()), (vec![Some(Lsn::new(200))], vec![]));
}

#[test]
fn without_doublewrite_files_are_synced_at_the_end_of_the_batch() {
    for generation in ["percona-5.5", "mysql-5.6", "mysql-5.7"] {
        let mut server = Server::without_doublewrite(generation, &[7, 1001]);
        server.start(ALL, 9);
        assert_eq!(server.answer_all(), [place(7), place(1001), FLUSH, FLUSH], "{generation}");
        assert_eq!(server.ended().map(|ended| ended.written), Some(2));
        assert_eq!(server.write_back.counts().doublewrite_pages, 0);
        assert!(!server.begin_checkpoint(), "{generation}: all is durable");
    }
}

#[test]
fn mariadb_without_doublewrite_syncs_its_files_at_the_checkpoint() {
    let mut server = Server::without_doublewrite("mariadb-10.11", &[7, 1001]);
    server.start(ALL, 9);
    assert_eq!(server.answer_all(), [place(7), place(1001)]);
    assert_eq!(server.ended().map(|ended| ended.written), Some(2));
    assert!(server.begin_checkpoint());
    assert_eq!(server.answer_all(), [FLUSH, FLUSH]);
    assert_eq!(server.ended().map(|ended| ended.owner), Some(Owner::Checkpoint));
    assert!(!server.begin_checkpoint(), "nothing was written since");
}

#[test]
fn without_doublewrite_a_page_is_held_only_from_its_own_preparation_on() {
    let mut server = Server::without_doublewrite("mysql-5.7", &[7, 1001, 3]);
    let frames = [7, 1001, 3].map(|number| server.pool.find(PageNo::new(number)).unwrap());
    server.start(ALL, 3);
    // One page after another is taken; each goes out before the next one is ready.
    for taken in 1..=3 {
        let held = frames.map(|frame| server.pool.is_writing(frame));
        assert_eq!(held, [true, taken > 1, taken > 2]);
        let Some(Event::Posted(writer)) = server.host.next_event_ns().and_then(|at_ns| {
            server.host.set_now_ns(at_ns);
            server.host.next_event()
        }) else {
            panic!("no page is prepared")
        };
        let Server { write_back, pool, host, .. } = &mut server;
        assert_eq!(write_back.end_posting(writer, Lsn::MAX, pool, host), None);
    }
    assert_eq!(server.requests.commands(), [place(7), place(1001), place(3)]);
}

#[test]
fn a_chunk_is_cut_short_by_a_batch_that_has_no_page_left() {
    // A batch of two for frames and one of many from the flush list share the buffer.
    let pages: Vec<u32> = (0..300).collect();
    let mut server = Server::new(&[], &pages);
    let Server { write_back, pool, host, .. } = &mut server;
    write_back.start_batch(0, ALL, 200, Owner::Cleaner, pool, host);
    write_back.start_batch(0, Kind::Lru, 2, Owner::Master, pool, host);
    assert_eq!(server.post(200), [None]);
    server.answer_all();
    let counts = *server.write_back.counts();
    // 128 pages of the first batch alone; then a page each in turn, up to the end of the second batch; then the rest.
    assert_eq!((counts.adaptive, counts.lru, counts.doublewrite_writes), (200, 2, 3));
    let owners: Vec<Owner> = std::iter::from_fn(|| server.ended()).map(|ended| ended.owner).collect();
    assert_eq!(owners, [Owner::Master, Owner::Cleaner]);
}

#[test]
fn a_page_that_is_written_for_its_frame_is_evicted_by_servers_with_a_cleaner() {
    for (generation, single, free) in [("percona-5.5", false, 1999), ("mysql-5.7", true, 2000)] {
        let mut server = Server::new(&[("/generation", generation.into())], &[5]);
        let frame = server.pool.find(PageNo::new(5)).unwrap();
        let kind = if single { Kind::Single(frame) } else { Kind::Lru };
        server.pool.wait(frame, ThreadNo::new(8));
        let Server { write_back, pool, host, .. } = &mut server;
        write_back.start_batch(0, kind, 1, Owner::Reader(ThreadNo::new(2)), pool, host);
        server.post(200);
        server.answer_all();
        assert_eq!((server.pool.free(), ready(&mut server.host)), (free, vec![8]), "{generation}");
        assert_eq!(server.ended().map(|ended| ended.owner), Some(Owner::Reader(ThreadNo::new(2))));
    }
}

/// Requests of the first second, without an answer to any.
fn first_requests(
    changes: &[(&str, serde_json::Value)],
    start: impl FnOnce(&mut Server),
) -> Vec<(Operation, u64, u64)> {
    let mut server = Server::new(changes, &[7, 1001, 3, 5, 6, 8]);
    start(&mut server);
    server.post(200);
    server.requests.commands()
}

/// Threads that each write one page by themselves.
fn singles(count: u32) -> impl FnOnce(&mut Server) {
    move |Server { write_back, pool, host, .. }| {
        for thread in 0..count {
            let kind = Kind::Single(pool.dirty_at_end(0, u32::MAX).unwrap());
            write_back.start_batch(0, kind, 1, Owner::Reader(ThreadNo::new(thread)), pool, host);
        }
    }
}

#[test]
fn pages_that_threads_write_by_themselves_have_a_slot_each() {
    for (generation, first) in [("mysql-5.7", 120), ("mysql-8.0", 2 * 3 * 128)] {
        let slot = |number: u64| (Operation::Write, (first + number) * PAGE_BYTES, PAGE_BYTES);
        let written = first_requests(&[("/generation", generation.into())], singles(3));
        assert_eq!(written, [slot(0), slot(1), slot(2)], "{generation}");
    }
}

#[test]
fn a_page_waits_for_a_slot_when_all_are_taken() {
    let pages: Vec<u32> = (0..10).collect();
    let mut server = Server::new(&[("/generation", "mysql-5.7".into())], &pages);
    singles(10)(&mut server);
    server.post(200);
    assert_eq!(server.requests.commands().len(), 8);
    let mut server = Server::new(&[("/generation", "mysql-5.7".into())], &pages);
    singles(10)(&mut server);
    server.post(200);
    server.answer_all();
    let ended = std::iter::from_fn(|| server.ended()).count();
    assert_eq!((ended, server.pool.dirty()), (10, 0));
}

#[test]
fn since_8_0_20_the_files_are_not_synced_and_the_next_chunk_does_not_wait_for_the_sync_of_the_last() {
    let pages: Vec<u32> = (0..8).collect();
    let mut server = Server::new(&[("/generation", "mysql-8.0".into())], &pages);
    server.start(ALL, 8);
    server.post(200);
    let part = |number: u64| (Operation::Write, number * 4 * PAGE_BYTES, 4 * PAGE_BYTES);
    let places = |numbers: std::ops::Range<u64>| numbers.map(place);
    let mut expected = vec![part(0)];
    expected.extend(places(0..4));
    // The sync of the first chunk is asked of the device while the second one is on its way.
    let all = server.answer_all();
    assert_eq!(all[..5], expected);
    let rest: Vec<_> = all[5..].iter().copied().filter(|request| *request != FLUSH).collect();
    expected = vec![part(1)];
    expected.extend(places(4..8));
    assert_eq!((rest, all.len()), (expected, 12));
    assert_eq!(server.ended().map(|ended| ended.written), Some(8));
}

#[test]
fn a_pass_leaves_an_instance_out_that_another_batch_writes_from() {
    let mut server = Server::new(&[], &[1, 2]);
    let Server { write_back, pool, host, .. } = &mut server;
    write_back.start_batch(0, ALL, 1, Owner::Master, pool, host);
    server.start(ALL, 1);
    assert_eq!(server.ended(), Some(Ended { owner: Owner::Master, written: 0, skipped: true }));
}

#[test]
fn a_pass_for_free_frames_evicts_clean_pages_until_enough_frames_are_free() {
    let mut server = Server::new(&[("/generation", "mysql-5.7".into())], &[]);
    for number in 0..2000 {
        server.pool.admit(PageNo::new(number), false).unwrap();
    }
    server.write_back.wait_for_free(ThreadNo::new(4), 0);
    server.start(Kind::Lru, 50);
    assert_eq!((server.pool.free(), ready(&mut server.host)), (50, vec![4]));
    assert_eq!(server.ended().map(|ended| ended.written), Some(0));
}

/// A pool of 2000 frames with so many pages.
fn pool_of(pages: u32) -> Pool {
    let mut pool = Pool::new(10_000, 2000, 1);
    (0..pages).for_each(|number| assert!(pool.admit(PageNo::new(number), false).is_some()));
    pool
}

/// The pages of such a pool from the oldest on: how they leave it.
fn from_the_oldest(pages: u32) -> Vec<PageNo> {
    let mut pool = pool_of(pages);
    let mut left: Vec<PageNo> = (0..pages).map(PageNo::new).collect();
    let mut order = Vec::new();
    while pool.evict_one(0, 1) {
        let at = left.iter().position(|page| pool.find(*page).is_none()).unwrap();
        order.push(left.remove(at));
    }
    order
}

/// Frees frames up to `depth` in such a pool, of whose pages every other one is dirty, from the oldest on. How many are free
/// before pages are written, and then; and how many are written.
fn free(generation: &str, pages: u32, depth: u64) -> (u64, u64, u64) {
    let pool_bytes = ("/settings/innodb_buffer_pool_size", (2000 * PAGE_BYTES).into());
    let mut server = Server::new(&[("/generation", generation.into()), pool_bytes], &[]);
    server.pool = pool_of(pages);
    for page in from_the_oldest(pages).into_iter().step_by(2) {
        let frame = server.pool.find(page).unwrap();
        server.pool.change(frame, Lsn::new(100), Lsn::new(200));
    }
    server.start(Kind::Lru, depth);
    let before = server.pool.free();
    server.answer_all();
    let written = std::iter::from_fn(|| server.ended()).map(|ended| ended.written).sum();
    (before, server.pool.free(), written)
}

#[test]
fn a_pass_for_free_frames_writes_every_dirty_page_that_it_passes() {
    // 40 frames are free, and 20 clean pages are evicted. The 20 dirty ones before them are written, although 60 are free.
    assert_eq!(free("mysql-5.7", 1960, 60), (60, 80, 20));
    assert_eq!(free("mariadb-10.11", 1960, 60), (60, 60, 20), "in MariaDB they stay");
}

#[test]
fn mysql_goes_over_as_many_pages_as_it_wants_free_and_mariadb_over_all() {
    assert_eq!(free("mysql-5.7", 2000, 900), (450, 900, 450));
    // MariaDB evicts on its way: when 256 dirty pages are in its two buffers, it has passed 255 clean ones.
    assert_eq!(free("mariadb-10.11", 2000, 900), (255, 900, 900));
}

#[test]
fn a_pass_for_free_frames_leaves_a_short_list_alone() {
    // MySQL leaves 256 pages, MariaDB a twentieth of the pool less one: 99 of 2000.
    assert_eq!(free("mysql-5.7", 256, 2000), (1744, 1744, 0));
    assert_eq!(free("mysql-5.7", 276, 2000), (1734, 1744, 10));
    assert_eq!(free("mariadb-10.11", 119, 2000), (1901, 1901, 20));
}

/// A full pool of a MariaDB that writes so many pages in a batch, all of them dirty, and their frames from the oldest on.
fn dirty_mariadb(io_capacity_max: u64) -> (Server, Vec<FrameId>) {
    let changes =
        [("/generation", "mariadb-10.11".into()), ("/settings/innodb_io_capacity_max", io_capacity_max.into())];
    let mut server = Server::new(&changes, &[]);
    server.pool = pool_of(2000);
    let frames = server.pool.oldest_first(0);
    frames.iter().for_each(|frame| server.pool.change(*frame, Lsn::new(100), Lsn::new(200)));
    (server, frames)
}

#[test]
fn what_mariadb_has_written_is_evicted_by_its_next_pass_unless_it_was_changed_again() {
    let (mut server, frames) = dirty_mariadb(10);
    server.start(Kind::Lru, 300);
    // The ten oldest go out together: none is in its place when the batch has chosen them.
    server.answer_all();
    assert_eq!((server.ended().map(|ended| ended.written), server.pool.free()), (Some(10), 0));
    server.pool.change(frames[3], Lsn::new(300), Lsn::new(400));
    server.start(Kind::Lru, 300);
    assert_eq!(server.pool.free(), 9, "all but one");
    server.answer_all();
    assert_eq!(server.ended().map(|ended| ended.written), Some(10), "that one again, and nine others");
}

#[test]
fn a_batch_of_mariadb_that_has_written_its_most_evicts_what_is_in_its_place() {
    let (mut server, frames) = dirty_mariadb(400);
    server.start(Kind::Lru, 1000);
    server.answer_all();
    assert_eq!(server.ended().map(|ended| ended.written), Some(400));
    let gone = frames.iter().take_while(|frame| server.pool.find(server.pool.page(**frame)).is_none()).count();
    assert!((128..400).contains(&gone), "{gone}: those of the chunks before the last");
    assert_eq!(server.pool.free(), gone as u64);
}
