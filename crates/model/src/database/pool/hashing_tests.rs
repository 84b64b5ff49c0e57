use super::super::super::ids::{Lsn, PageNo};
use super::super::super::touches::region::Region;
use super::super::adaptive_hash::{BUILD_PART, ENTRIES_A_FRAME};
use super::*;

/// Rows on a page, so that the entries of two pages take more than one frame.
const ROWS: u32 = 500;
/// Searches that make such a page a hashed one.
const SEARCHES: u32 = ROWS / BUILD_PART + 1;

/// A pool of `frames` with the pages 0.. in it, of which the first ten are hashed once they are searched for.
fn pool(frames: u32, pages: u32, instances: u32) -> Pool {
    let mut pool = Pool::new(1000, frames, instances);
    let region = Region { first: PageNo::new(0), pages: 10 };
    pool.hash_rows(vec![LookedUp::rows(region, ROWS)]);
    for number in 0..pages {
        let frame = pool.admit(PageNo::new(number), true).unwrap();
        pool.end_read(frame);
    }
    pool
}

fn search(pool: &mut Pool, number: u32, times: u32) {
    for _ in 0..times {
        let frame = pool.find(PageNo::new(number)).unwrap();
        pool.touch(frame, 1);
    }
}

#[test]
fn a_page_that_is_searched_often_takes_frames_for_its_entries() {
    let mut pool = pool(100, 12, 1);
    search(&mut pool, 0, SEARCHES - 1);
    assert_eq!((pool.hash_frames(), pool.free()), (0, 88));
    search(&mut pool, 0, 1);
    assert_eq!((pool.hash_frames(), pool.free(), pool.data()), (1, 87, 12), "500 entries, 678 on a frame");
    search(&mut pool, 0, 2 * SEARCHES);
    assert_eq!(pool.hash_frames(), 1, "a page is hashed once");
    search(&mut pool, 1, SEARCHES);
    assert_eq!(pool.hash_frames(), 2, "1,000 entries");
    search(&mut pool, 11, 10 * SEARCHES);
    assert_eq!(pool.hash_frames(), 2, "nobody looks rows of this page up");
}

#[test]
fn a_page_of_many_keys_gets_one_frame() {
    let mut pool = Pool::new(1000, 100, 1);
    let region = Region { first: PageNo::new(0), pages: 10 };
    pool.hash_rows(vec![LookedUp::rows(region, 1400)]);
    for number in 0..3 {
        let frame = pool.admit(PageNo::new(number), true).unwrap();
        pool.end_read(frame);
        search(&mut pool, number, 1400 / BUILD_PART + 1);
        assert_eq!(pool.hash_frames(), u64::from(number) + 1);
    }
}

#[test]
fn entries_leave_with_their_page() {
    let mut pool = pool(100, 3, 1);
    search(&mut pool, 0, SEARCHES);
    search(&mut pool, 1, SEARCHES);
    let before = pool.free() + pool.hash_frames();
    // The pages that are evicted first are those that nobody searched.
    while pool.data() > 0 {
        assert!(pool.evict_one(0, 100));
    }
    assert_eq!((pool.hash_frames(), pool.free(), before), (0, 100, 97));
    // A page that comes again has to be searched anew.
    let frame = pool.admit(PageNo::new(0), true).unwrap();
    pool.end_read(frame);
    search(&mut pool, 0, SEARCHES - 1);
    assert_eq!(pool.hash_frames(), 0);
}

#[test]
fn without_a_free_frame_a_clean_page_gives_its_own_but_not_the_one_in_use() {
    let mut pool = pool(12, 12, 1);
    assert_eq!(pool.free(), 0);
    search(&mut pool, 0, SEARCHES);
    assert_eq!((pool.hash_frames(), pool.data()), (1, 11));
    assert!(pool.find(PageNo::new(0)).is_some());
    pool.check();
    // Dirty pages give none: the entries wait for room.
    for number in 0..12 {
        if let Some(frame) = pool.find(PageNo::new(number)) {
            pool.change(frame, Lsn::new(1), Lsn::new(2));
        }
    }
    let hashed = (1..10).find(|number| pool.find(PageNo::new(*number)).is_some()).unwrap();
    search(&mut pool, hashed, SEARCHES);
    assert_eq!((pool.hash_frames(), pool.data()), (1, 11));
}

#[test]
fn frames_come_from_all_instances_in_turn() {
    let mut pool = pool(300, 10, 3);
    (0..10).for_each(|number| search(&mut pool, number, SEARCHES));
    assert_eq!(pool.hash_frames(), (10 * u64::from(ROWS)).div_ceil(ENTRIES_A_FRAME));
    let taken: Vec<u64> = (0..3).map(|instance| 100 - pool.free_of(instance) - pool.data_of(instance)).collect();
    assert_eq!(taken, [3, 3, 2]);
}
