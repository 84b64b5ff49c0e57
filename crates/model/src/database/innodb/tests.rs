//! Tests of how components work together in one server.

use super::super::Fleet;
use super::super::ids::{AREA_PAGES, PageNo};
use super::super::tests::spec;
use super::*;

impl Innodb {
    /// Transactions that ended in this interval.
    pub(in super::super) fn ended(&self) -> u64 {
        self.threads.ended()
    }

    /// Whether no row is locked, and nobody waits for one.
    pub(in super::super) fn locks_nothing(&self) -> bool {
        self.locks.is_free()
    }

    /// The last page of all tables.
    pub(in super::super) fn last_page(&self) -> PageNo {
        PageNo::new(self.touches.pages() - 1)
    }
}

#[test]
fn the_warm_up_leaves_no_page_on_its_way() {
    let mut own = spec(&[
        ("/settings/innodb_buffer_pool_size", (1024_u64 << 20).into()),
        ("/settings/innodb_log_file_size", (256_u64 << 20).into()),
        ("/settings/innodb_change_buffering", "all".into()),
    ]);
    own.settings.innodb_change_buffer_max_size = 1;
    let connections = own.connections as usize;
    let run = Fleet::start(own).unwrap();
    let server = &run.servers[0];
    let frames = PageNo::new(0).through(server.last_page()).filter_map(|page| server.pool.find(page));
    let reading = frames.filter(|frame| server.pool.is_reading(*frame)).count();
    // Each thread may wait for one, from its beginning on.
    assert!(reading <= connections, "{reading} pages");
}

/// A server whose only client has ended.
fn idle_server(threshold: u32, random: bool) -> Fleet {
    let changes = [
        ("/warm", false.into()),
        ("/connections", 1.into()),
        ("/settings/innodb_read_ahead_threshold", threshold.into()),
        ("/settings/innodb_random_read_ahead", random.into()),
    ];
    let mut run = Fleet::start(spec(&changes)).unwrap();
    run.stop();
    while run.next_interval().is_some() {}
    run
}

/// Reads pages one after another as a thread would; pages read ahead meanwhile.
fn scan(run: &mut Fleet, pages: impl Iterator<Item = u32>) -> u64 {
    let before = run.servers[0].read_ahead.counts().ahead;
    for page in pages.map(PageNo::new) {
        run.servers[0].read_unwaited(page);
        // What was under way comes in.
        while run.servers[0].read_ahead.pending() > 0 {
            run.step(run.now_ns + 1_000_000_000);
        }
        let server = &mut run.servers[0];
        let frame = server.pool.find(page).unwrap();
        let first_use = server.pool.take_first_use(frame);
        server.pool.touch(frame, 1);
        if first_use {
            server.read_ahead_linear(page);
        }
        server.read_ahead_random(page);
    }
    run.servers[0].read_ahead.counts().ahead - before
}

/// The first page of an extent that nothing was done to.
const FRESH: u32 = 30 * AREA_PAGES;

#[test]
fn a_scan_reads_the_next_extent() {
    let mut run = idle_server(56, false);
    assert_eq!(scan(&mut run, FRESH..FRESH + AREA_PAGES - 1), 0);
    assert_eq!(scan(&mut run, FRESH + AREA_PAGES - 1..FRESH + AREA_PAGES), 64);
    // What was read ahead is used: that reads the extent after it.
    assert_eq!(scan(&mut run, FRESH + AREA_PAGES..FRESH + 2 * AREA_PAGES), 64);
    // A second scan finds everything in memory.
    assert_eq!(scan(&mut run, FRESH..FRESH + 2 * AREA_PAGES), 0);
}

#[test]
fn a_page_is_not_evicted_by_its_own_read_ahead() {
    // Each first use of the last page of an extent reads 64 pages, a fifth of the pool.
    let changes = [
        ("/settings/innodb_buffer_pool_size", (5_u64 << 20).into()),
        ("/settings/innodb_read_ahead_threshold", 1.into()),
    ];
    let mut run = Fleet::start(spec(&changes)).unwrap();
    for _ in 0..5 {
        run.next_interval().unwrap();
        run.servers[0].pool.check();
    }
}

#[test]
fn enough_pages_must_be_used_in_their_order() {
    let last = FRESH + AREA_PAGES - 1;
    assert_eq!(scan(&mut idle_server(56, false), FRESH + 8..=last), 64);
    assert_eq!(scan(&mut idle_server(56, false), FRESH + 9..=last), 0);
    assert_eq!(scan(&mut idle_server(24, false), FRESH + 9..=last), 64);
    assert_eq!(scan(&mut idle_server(0, false), FRESH..=last), 0);
    assert_eq!(scan(&mut idle_server(56, false), (FRESH..=last).rev()), 0);
    // Every page twice as far as the one before: two turns of 32, neither of which is enough.
    assert_eq!(scan(&mut idle_server(56, false), (0..64).map(|at| FRESH + at * 2 % 64 + at / 32)), 0);
}

#[test]
fn thirteen_young_pages_bring_the_rest_of_their_extent() {
    let pages = |count: u32| (0..count).map(|at| FRESH + 3 * at);
    assert_eq!(scan(&mut idle_server(56, true), pages(12)), 0);
    assert_eq!(scan(&mut idle_server(56, true), pages(13)), 64 - 13);
    assert_eq!(scan(&mut idle_server(56, false), pages(13)), 0);
}
