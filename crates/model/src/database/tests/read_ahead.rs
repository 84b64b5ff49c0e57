//! Tests of read-ahead.

use super::super::Fleet;
use super::super::tests::spec;
use super::*;

fn server(threshold: u32, random: bool) -> Fleet {
    let changes = [
        ("/warm", false.into()),
        ("/connections", 1.into()),
        ("/settings/innodb_read_ahead_threshold", threshold.into()),
        ("/settings/innodb_random_read_ahead", random.into()),
    ];
    let mut own = Fleet::start(spec(&changes)).unwrap();
    // Its client ends after what it does now.
    own.stop();
    while own.next_interval().is_some() {}
    own
}

/// Reads pages one after another as a thread would; pages read ahead meanwhile.
fn scan(own: &mut Fleet, pages: impl Iterator<Item = u32>) -> u64 {
    let before = own.servers[0].counts.read_ahead;
    for page in pages {
        own.servers[0].read_unwaited(page);
        // What was under way comes in.
        while own.servers[0].read_ahead.pending > 0 {
            own.step(own.now_ns + 1_000_000_000);
        }
        let server = &mut own.servers[0];
        let frame = server.pool.find(page).unwrap();
        if server.pool.take_first_use(frame) {
            server.read_ahead_linear(page);
        }
        server.pool.touch(frame, 1);
        server.read_ahead_random(page);
    }
    own.servers[0].counts.read_ahead - before
}

/// The first page of an extent that nothing was done to.
const FRESH: u32 = 30 * AREA_PAGES;

#[test]
fn a_scan_reads_the_next_extent() {
    let mut own = server(56, false);
    assert_eq!(scan(&mut own, FRESH..FRESH + AREA_PAGES - 1), 0);
    assert_eq!(scan(&mut own, FRESH + AREA_PAGES - 1..FRESH + AREA_PAGES), 64);
    // What was read ahead is used: that reads the extent after it.
    assert_eq!(scan(&mut own, FRESH + AREA_PAGES..FRESH + 2 * AREA_PAGES), 64);
    // A second scan finds everything in memory.
    assert_eq!(scan(&mut own, FRESH..FRESH + 2 * AREA_PAGES), 0);
}

#[test]
fn enough_pages_must_be_used_in_their_order() {
    let last = FRESH + AREA_PAGES - 1;
    assert_eq!(scan(&mut server(56, false), FRESH + 8..=last), 64);
    assert_eq!(scan(&mut server(56, false), FRESH + 9..=last), 0);
    assert_eq!(scan(&mut server(24, false), FRESH + 9..=last), 64);
    assert_eq!(scan(&mut server(0, false), FRESH..=last), 0);
    assert_eq!(scan(&mut server(56, false), (FRESH..=last).rev()), 0);
    // Every page twice as far as the one before: two turns of 32, neither of which is enough.
    assert_eq!(scan(&mut server(56, false), (0..64).map(|at| FRESH + at * 2 % 64 + at / 32)), 0);
}

#[test]
fn thirteen_young_pages_bring_the_rest_of_their_extent() {
    let pages = |count: u32| (0..count).map(|at| FRESH + 3 * at);
    assert_eq!(scan(&mut server(56, true), pages(12)), 0);
    assert_eq!(scan(&mut server(56, true), pages(13)), 64 - 13);
    assert_eq!(scan(&mut server(56, false), pages(13)), 0);
}
