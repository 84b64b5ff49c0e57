//! Tests of the pool.

use proptest::prelude::*;

use super::*;

fn full(frames: u32) -> Pool {
    let mut pool = Pool::new(frames * 4, frames, 1);
    for page in 0..frames {
        let frame = pool.admit(page, true).unwrap();
        pool.end_read(frame);
    }
    pool
}

/// Pages of an instance from the most recently used one on.
fn order_of(pool: &Pool, instance: usize) -> Vec<u32> {
    let mut found = Vec::new();
    let mut frame = pool.instances[instance].lru.head;
    while frame != NONE {
        found.push(pool.page(frame));
        frame = pool.frames[frame as usize].lru.older;
    }
    found
}

fn order(pool: &Pool) -> Vec<u32> {
    order_of(pool, 0)
}

#[test]
fn a_page_that_is_read_enters_at_three_eighths_from_the_end() {
    let mut pool = full(800);
    assert_eq!(pool.free(), 0);
    assert!(pool.admit(900, true).is_none());
    assert!(pool.evict_one(0, 1));
    let frame = pool.admit(900, true).unwrap();
    let place = order(&pool).iter().position(|page| *page == 900).unwrap();
    assert!((479..=521).contains(&place), "at {place} of 800");
    pool.end_read(frame);
    pool.touch(frame, 0);
    assert_eq!(order(&pool)[0], 900, "its first use takes it to the front");
}

#[test]
fn a_young_page_stays_where_it_is() {
    let mut pool = full(800);
    let first = pool.find(order(&pool)[700]).unwrap();
    pool.touch(first, 0);
    let before = order(&pool);
    pool.touch(first, 0);
    assert_eq!(order(&pool), before);
    let other = pool.find(before[300]).unwrap();
    pool.touch(other, 0);
    pool.touch(first, 0);
    assert_eq!(order(&pool)[0], before[300], "the first one is still in the youngest quarter");
}

#[test]
fn only_clean_and_idle_pages_leave() {
    let mut pool = full(100);
    let ends: Vec<u32> = order(&pool).iter().rev().take(3).map(|page| pool.find(*page).unwrap()).collect();
    pool.change(ends[0], 10, 20);
    pool.change(ends[1], 20, 30);
    pool.begin_write(ends[1]);
    assert_eq!((pool.replaceable(0, 4, 9), pool.replaceable(0, 4, 1)), (2, 1));
    assert_eq!(pool.dirty_at_end(0, 100), Some(ends[0]));
    assert!(!pool.evict_one(0, 2));
    let third = pool.page(ends[2]);
    assert!(pool.evict_one(0, 3));
    assert_eq!((pool.find(third), pool.free(), pool.data()), (None, 1, 99));
    pool.end_write(ends[1]);
    pool.make_oldest(ends[1]);
    let page = pool.page(ends[1]);
    assert!(pool.evict_one(0, 1) && pool.find(page).is_none());
}

#[test]
fn the_flush_list_is_in_the_order_of_first_changes() {
    let mut pool = full(100);
    pool.change(5, 100, 110);
    pool.change(6, 110, 120);
    pool.change(5, 120, 130);
    assert_eq!((pool.oldest_lsn(), pool.dirty(), pool.newest_lsn(5)), (Some(100), 2, 130));
    assert_eq!(pool.ages_sum(200), 100 + 90);
    assert_eq!(pool.oldest_dirty(0), Some(5));
    pool.begin_write(5);
    assert_eq!(pool.oldest_dirty(0), Some(6));
    pool.begin_write(6);
    assert_eq!((pool.oldest_dirty(0), pool.dirty_of_area(0)), (None, 0));
    pool.change(9, 130, 140);
    assert_eq!((pool.oldest_dirty(0), pool.dirty_of_area(0)), (Some(9), 1 << 9), "after everybody was being written");
    pool.end_write(6);
    pool.end_write(5);
    assert_eq!((pool.oldest_lsn(), pool.dirty(), pool.ages_sum(200)), (Some(130), 1, 70));
    assert!((pool.dirty_pct() - 100.0 / 101.0).abs() < 1e-12);
}

#[test]
fn an_area_is_in_one_instance() {
    let mut pool = Pool::new(64 * 12, 90, 3);
    assert_eq!((pool.instances(), pool.size()), (3, 90));
    assert_eq!((0..12).map(|area| pool.instance_of(area * 64 + 63)).take(4).collect::<Vec<_>>(), [0, 1, 2, 0]);
    // An instance that has no free page has none, whatever the others have.
    for page in 0..30 {
        assert!(pool.admit(page, false).is_some());
    }
    assert_eq!((pool.free(), pool.free_of(0), pool.free_of(1)), (60, 0, 30));
    assert!(pool.admit(30, false).is_none());
    let other = pool.admit(64, false).unwrap();
    // The oldest change of all is that of the instance in which it is.
    pool.change(other, 7, 9);
    pool.change(pool.find(3).unwrap(), 12, 15);
    assert_eq!((pool.oldest_lsn(), pool.oldest_instance(), pool.dirty_until(12, 9)), (Some(7), 1, 2));
    pool.begin_write(other);
    pool.end_write(other);
    assert_eq!((pool.oldest_lsn(), pool.oldest_instance()), (Some(12), 0));
}

proptest! {
    /// Whatever happens, each instance's list holds each page once, its old part is three eighths of it, and counts agree.
    #[test]
    fn counts_agree(steps in prop::collection::vec((0u8..6, 0u32..400), 0..2000), instances in 1u32..4) {
        let mut pool = Pool::new(400, 161, instances);
        let mut lsn = 1;
        for (what, page) in steps {
            let instance = pool.instance_of(page);
            match (what, pool.find(page)) {
                (0 | 1, None) => {
                    if pool.free_of(instance) == 0 { pool.evict_one(instance, 50); }
                    if let Some(frame) = pool.admit(page, false) { pool.touch(frame, 0); }
                }
                (0 | 1, Some(frame)) => pool.touch(frame, 0),
                (2 | 3, Some(frame)) if !pool.is_writing(frame) => { pool.change(frame, lsn, lsn + 5); lsn += 5; }
                (4, _) => if let Some(frame) = pool.oldest_dirty(instance) { pool.begin_write(frame); },
                (5, Some(frame)) if pool.is_writing(frame) => { pool.end_write(frame); pool.make_oldest(frame); }
                _ => {}
            }
            let mut all = Vec::new();
            for instance in 0..pool.instances() {
                let pages = order_of(&pool, instance);
                prop_assert_eq!(pages.len() as u64, pool.data_of(instance));
                prop_assert!(pages.iter().all(|page| pool.instance_of(*page) == instance));
                let old = pages.iter().filter(|page| pool.is_old(pool.find(**page).unwrap())).count() as u64;
                prop_assert_eq!(old, pool.instances[instance].old);
                let idle = |frame: &u32| pool.is_dirty(*frame) && !pool.is_writing(*frame);
                let found = pages.iter().map(|page| pool.find(*page).unwrap()).filter(idle);
                let oldest = found.min_by_key(|frame| pool.oldest_lsn_of(*frame));
                prop_assert_eq!(pool.oldest_dirty(instance), oldest);
                prop_assert!(old.abs_diff(pool.data_of(instance) * OLD_EIGHTHS / 8) <= OLD_TOLERANCE);
                all.extend(pages);
            }
            prop_assert_eq!(all.len() as u64, pool.data());
            let free: u64 = (0..pool.instances()).map(|instance| pool.free_of(instance)).sum();
            prop_assert_eq!(free, pool.free());
            prop_assert_eq!(pool.data() + pool.free(), u64::from(161 / instances * instances));
            for page in 0..400 {
                let idle = pool.find(page).is_some_and(|frame| pool.can_flush(frame));
                prop_assert_eq!(pool.dirty_of_area(page / AREA_PAGES) >> (page % AREA_PAGES) & 1 == 1, idle);
            }
            let dirty: Vec<u32> = all.iter().filter_map(|p| pool.find(*p)).filter(|f| pool.is_dirty(*f)).collect();
            prop_assert_eq!(dirty.len() as u64, pool.dirty());
            prop_assert_eq!(dirty.iter().map(|f| u128::from(pool.oldest_lsn_of(*f))).sum::<u128>(), pool.oldest_sum);
            prop_assert_eq!(dirty.iter().map(|f| pool.oldest_lsn_of(*f)).min(), pool.oldest_lsn());
        }
    }
}

/// Hot pages that are still there after a scan of far more pages than there are frames, each of which is used twice at once.
fn left_after_a_scan(old_blocks_ms: u32) -> usize {
    let mut pool = Pool::new(20_000, 1000, 1);
    pool.set_old_blocks_ms(old_blocks_ms);
    let mut used = |page: u32, now_ms: u32| {
        let frame = pool.find(page).unwrap_or_else(|| {
            while pool.free() == 0 {
                assert!(pool.evict_one(0, 1000));
            }
            pool.admit(page, false).unwrap()
        });
        pool.touch(frame, now_ms);
    };
    // Other pages come and go, so that the hot ones are used, grow old and are used again.
    for round in 0..20 {
        for hot in 0..500 {
            used(hot, 1 + 2000 * round);
        }
        for other in 0..100 {
            used(1000 + 100 * round + other, 1 + 2000 * round);
        }
    }
    for page in 5000..20_000 {
        used(page, 50_000);
        used(page, 50_000);
    }
    (0..500).filter(|page| pool.find(*page).is_some()).count()
}

#[test]
fn a_scan_does_not_drive_out_what_is_used_again_and_again() {
    assert_eq!(left_after_a_scan(0), 0);
    assert!(left_after_a_scan(1000) > 450, "{}", left_after_a_scan(1000));
}

#[test]
fn an_old_page_grows_young_with_a_use_that_is_late_enough() {
    let mut pool = Pool::new(2000, 1000, 1);
    pool.set_old_blocks_ms(1000);
    for page in 0..1000 {
        let frame = pool.admit(page, false).unwrap();
        pool.touch(frame, 1);
    }
    let frame = pool.find(999).unwrap();
    let uses = [(500, true), (1000, true), (1001, false)];
    for (now_ms, old) in uses {
        pool.touch(frame, now_ms);
        assert_eq!(pool.is_old(frame), old, "at {now_ms} ms");
    }
}
