//! Tests of batches without the rest of a server.

use super::super::super::host::tests::{events_until, host, ready};
use super::super::super::ids::{AREA_PAGES, AreaNo, Lsn};
use super::*;

fn page(number: u32) -> PageNo {
    PageNo::new(number)
}

/// A pool of 200 frames with these pages in memory, those of `dirty` with changes in this order.
fn pool(pages: Range<u32>, dirty: &[u32]) -> Pool {
    let mut pool = Pool::new(1000, 200, 1);
    for number in pages {
        pool.admit(page(number), false).unwrap();
    }
    for (at, number) in dirty.iter().enumerate() {
        let frame = pool.find(page(*number)).unwrap();
        let lsn = Lsn::new(100 + 10 * at as u64);
        pool.change(frame, lsn, lsn + 10);
    }
    pool
}

/// The pages of a batch of at most so many, as they are chosen.
fn choose(pool: &mut Pool, neighbours: u8, kind: Kind, most: u64) -> Vec<u32> {
    let mut batches = Batches::new(1, neighbours, false);
    let batch = batches.start(0, kind, most, None, Owner::Master);
    let mut chosen = Vec::new();
    while let Some(frame) = batches.next_page(batch, pool) {
        batches.begin_page(batch, 0);
        pool.begin_write(frame);
        chosen.push(pool.page(frame).number());
    }
    chosen
}

const ALL: Kind = Kind::List { limit_lsn: Lsn::MAX, sync: false };

#[test]
fn a_bit_a_page() {
    for (first, end) in [(0, 0), (0, 64), (64, 128), (67, 71), (127, 128), (128, 128), (130, 191)] {
        let expected: u64 = (first..end).map(|page| 1 << (page % AREA_PAGES)).sum();
        assert_eq!(bits(&(page(first)..page(end))), expected, "{first}..{end}");
    }
}

#[test]
fn neighbours_go_along_as_the_setting_says() {
    let dirty = [70, 66, 69, 71, 90, 150];
    let of = |neighbours| choose(&mut pool(0..200, &dirty), neighbours, ALL, 5);
    assert_eq!(of(0), [70, 66, 69, 71, 90], "the oldest changes first");
    assert_eq!(of(1), [69, 70, 71, 66, 90], "without a gap");
    assert_eq!(of(2), [66, 69, 70, 71, 90], "all of the area");
}

#[test]
fn a_batch_stops_at_its_limit_and_at_its_number() {
    let dirty = [10, 100, 180];
    let before = |lsn| Kind::List { limit_lsn: Lsn::new(lsn), sync: true };
    assert_eq!(choose(&mut pool(0..200, &dirty), 0, before(110), 9), [10]);
    assert_eq!(choose(&mut pool(0..200, &dirty), 0, before(111), 9), [10, 100]);
    assert_eq!(choose(&mut pool(0..200, &dirty), 0, ALL, 1), [10]);
}

#[test]
fn in_old_servers_the_last_page_of_the_list_stops_a_batch_and_it_stays_there_until_it_is_written() {
    // The limit lets the first page through only. While it is on its way, younger pages go out as well.
    let (mut pool, mut batches) = (pool(0..200, &[10, 100, 180, 190]), Batches::new(1, 0, true));
    let limited = Kind::List { limit_lsn: Lsn::new(110), sync: true };
    let batch = batches.start(0, limited, 3, None, Owner::Master);
    for number in [10, 100, 180] {
        let frame = batches.next_page(batch, &mut pool).unwrap();
        assert_eq!(pool.page(frame), page(number));
        batches.begin_page(batch, 0);
        pool.begin_write(frame);
    }
    assert_eq!(batches.next_page(batch, &mut pool), None, "it has as many as it wants");
    let batch = batches.start(0, limited, 3, None, Owner::Master);
    assert!(batches.next_page(batch, &mut pool).is_some());
    pool.end_write(pool.find(page(10)).unwrap());
    assert_eq!(batches.next_page(batch, &mut pool), None, "the last page is over the limit now");
}

#[test]
fn a_batch_for_free_frames_takes_old_neighbours_only() {
    // Pages enter at three eighths from the end: of 0 to 199 the first are young.
    let mut young_and_old = pool(0..200, &[]);
    let old = |pool: &Pool, number| pool.is_old(pool.find(page(number)).unwrap());
    let (young, end) = ((0..200).find(|at| !old(&young_and_old, *at)).unwrap(), young_and_old.data_of(0));
    assert_eq!(end, 200);
    let area = page(young).area();
    let of_area: Vec<u32> = area.pages(1000).map(PageNo::number).filter(|at| *at < 200).collect();
    for at in &of_area {
        let frame = young_and_old.find(page(*at)).unwrap();
        young_and_old.change(frame, Lsn::new(50), Lsn::new(60));
    }
    let expected: Vec<u32> = of_area.iter().copied().filter(|at| old(&young_and_old, *at)).collect();
    let mut chosen = choose(&mut young_and_old, 2, Kind::Lru, 100);
    chosen.sort_unstable();
    assert!(!expected.is_empty() && expected.len() < of_area.len(), "{expected:?} of {of_area:?}");
    let young_alone = chosen.iter().filter(|at| !expected.contains(at)).count();
    assert!(expected.iter().all(|at| chosen.contains(at)), "{chosen:?}");
    // A young one goes alone when it is the last dirty page of the list, never as a neighbour.
    assert_eq!(young_alone + expected.len(), chosen.len());
    assert_eq!(AreaNo::number(area), page(young).number() / AREA_PAGES);
}

#[test]
fn a_single_page_goes_alone() {
    let mut own = pool(0..100, &[40, 41, 42]);
    let frame = own.find(page(41)).unwrap();
    assert_eq!(choose(&mut own, 2, Kind::Single(frame), 1), [41]);
}

#[test]
fn a_batch_is_done_when_its_pages_are_in_their_places_and_synced() {
    let mut batches = Batches::new(2, 0, false);
    let batch = batches.start(1, Kind::Lru, 9, None, Owner::Master);
    assert!(batches.is_under_way(1, Kind::Lru) && !batches.is_under_way(1, ALL) && !batches.is_under_way(0, Kind::Lru));
    [4, 4, 8].into_iter().for_each(|file| batches.begin_page(batch, file));
    assert_eq!(batches.end_page(batch), Progress::UnderWay);
    assert_eq!(batches.end_choice(batch), Progress::UnderWay);
    assert_eq!(batches.end_page(batch), Progress::UnderWay);
    assert_eq!(batches.end_page(batch), Progress::Unsynced(12));
    batches.note_written(batch);
    let (mut host, _) = host();
    let ended = batches.end(batch, &mut host);
    assert_eq!(ended, Ended { owner: Owner::Master, written: 1, skipped: false });
    assert!(!batches.is_under_way(1, Kind::Lru));
}

#[test]
fn threads_that_want_a_frame_go_on_after_the_batch_or_a_while_after_a_vain_one() {
    let (mut host, _) = host();
    let mut batches = Batches::new(1, 0, false);
    let thread = ThreadNo::new(3);
    for written in [true, false] {
        let batch = batches.start(0, Kind::Lru, 9, None, Owner::Master);
        batches.wait_for_free(thread, 0);
        assert!(batches.has_free_waiters());
        if written {
            batches.note_written(batch);
        }
        batches.end(batch, &mut host);
        assert!(!batches.has_free_waiters());
        assert_eq!(ready(&mut host), if written { vec![3] } else { vec![] });
    }
    assert_eq!(events_until(&mut host, PAUSE_NS - 1), []);
    assert_eq!(events_until(&mut host, PAUSE_NS), [Event::Ready(thread)]);
}

#[test]
fn those_who_wait_for_a_batch_go_on_when_its_last_page_is_written() {
    let (mut host, _) = host();
    for kind in [Kind::Lru, ALL] {
        let mut batches = Batches::new(1, 0, true);
        let batch = batches.start(0, kind, 9, None, Owner::Master);
        if kind == ALL {
            batches.wait_for_lists(ThreadNo::new(3), 0, &mut host);
        } else {
            batches.wait_for_free(ThreadNo::new(3), 0);
        }
        batches.begin_page(batch, 1);
        batches.begin_page(batch, 1);
        batches.note_written(batch);
        batches.wake_after_writes(batch, &mut host);
        batches.end_choice(batch);
        batches.wake_after_writes(batch, &mut host);
        assert!(ready(&mut host).is_empty(), "{kind:?}");
        batches.note_written(batch);
        batches.wake_after_writes(batch, &mut host);
        assert_eq!(ready(&mut host), [3], "{kind:?}");
        assert!(batches.is_under_way(0, kind), "its files are not synced");
    }
}

#[test]
fn a_thread_that_waits_for_lists_sees_each_instance_without_a_batch() {
    let (mut host, _) = host();
    let mut batches = Batches::new(3, 0, false);
    let first = batches.start(0, ALL, 9, None, Owner::Master);
    let last = batches.start(2, ALL, 9, None, Owner::Master);
    batches.wait_for_lists(ThreadNo::new(5), 0, &mut host);
    batches.end(first, &mut host);
    assert!(ready(&mut host).is_empty(), "the batch of the last instance is under way");
    batches.end(last, &mut host);
    assert_eq!(ready(&mut host), [5]);
    batches.wait_for_lists(ThreadNo::new(5), 0, &mut host);
    assert_eq!((ready(&mut host), events_until(&mut host, PAUSE_NS).len()), (vec![], 1), "it has waited for nothing");
}
