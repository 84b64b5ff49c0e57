//! Tests of the pool.

use proptest::prelude::*;

use super::super::ids::AreaNo;
use super::super::touches::LookedUp;
use super::super::touches::region::Region;
use super::frames::DIRTY;
use super::instance::{OLD_EIGHTHS, OLD_TOLERANCE};
use super::*;

const fn page(number: u32) -> PageNo {
    PageNo::new(number)
}

const fn lsn(bytes: u64) -> Lsn {
    Lsn::new(bytes)
}

const fn area(number: u32) -> AreaNo {
    AreaNo::new(number)
}

/// The frame of a page that is in memory.
fn frame_of(pool: &Pool, number: u32) -> FrameId {
    pool.find(page(number)).unwrap()
}

fn full(frames: u32) -> Pool {
    let mut pool = Pool::new(frames * 4, frames, 1);
    for number in 0..frames {
        let frame = pool.admit(page(number), true).unwrap();
        pool.end_read(frame);
    }
    pool
}

impl Pool {
    /// An instance's frames from the least recently used one on.
    pub(in super::super) fn oldest_first(&self, instance: usize) -> Vec<FrameId> {
        order_of(self, instance).into_iter().rev().map(|page| self.find(page).unwrap()).collect()
    }

    /// Panics where the lists, the flags and the areas' bits say different things of a page.
    pub(in super::super) fn check(&self) {
        let listed: u64 = (0..self.instances()).map(|instance| order_of(self, instance).len() as u64).sum();
        let here = (0..self.frames.len() as u32).filter(|number| self.find(page(*number)).is_some()).count() as u64;
        assert_eq!((listed, here), (self.data(), self.data()));
        for number in 0..self.frames.len() as u32 {
            let (page, frame) = (page(number), FrameId::new(number));
            let bit = self.dirty_of_area(page.area()) >> page.in_area() & 1 != 0;
            assert_eq!(bit, self.has(frame, DIRTY) && !self.is_writing(frame), "page {number}");
            assert!(self.find(page).is_some() || self.frames[frame.index()].flags == 0, "page {number}");
        }
    }
}

/// Pages of an instance from the most recently used one on.
fn order_of(pool: &Pool, instance: usize) -> Vec<PageNo> {
    let youngest = pool.instances[instance].youngest().some();
    successors(youngest, |frame| pool.frames[frame.index()].lru.older.some()).map(|frame| pool.page(frame)).collect()
}

fn order(pool: &Pool) -> Vec<PageNo> {
    order_of(pool, 0)
}

#[test]
fn a_page_that_is_read_enters_at_three_eighths_oldest_first() {
    let mut pool = full(800);
    assert_eq!(pool.free(), 0);
    assert!(pool.admit(page(900), true).is_none());
    assert!(pool.evict_one(0, 1));
    let frame = pool.admit(page(900), true).unwrap();
    let place = order(&pool).iter().position(|at| *at == page(900)).unwrap();
    assert!((479..=521).contains(&place), "at {place} of 800");
    pool.end_read(frame);
    pool.touch(frame, 0);
    assert_eq!(order(&pool)[0], page(900), "its first use takes it to the front");
}

#[test]
fn a_page_that_is_made_anew_enters_at_the_front_and_was_used_then() {
    let mut pool = full(800);
    pool.set_old_blocks_ms(1000);
    assert!(pool.evict_one(0, 1));
    let made = pool.admit_new(page(900), 50).unwrap();
    assert_eq!((order(&pool)[0], pool.is_old(made), pool.admit_new(page(901), 50)), (page(900), false, None));
    // It grows old behind others, and a use then is late enough.
    for old in order(&pool).split_off(1) {
        pool.touch(frame_of(&pool, old.number()), 60);
        pool.touch(frame_of(&pool, old.number()), 2000);
    }
    assert!(pool.is_old(made));
    pool.touch(made, 2000);
    assert!(!pool.is_old(made));
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
    let ends: Vec<FrameId> = order(&pool).iter().rev().take(3).map(|page| pool.find(*page).unwrap()).collect();
    pool.change(ends[0], lsn(10), lsn(20));
    pool.change(ends[1], lsn(20), lsn(30));
    pool.begin_write(ends[1]);
    assert_eq!((pool.replaceable(0, 4, 9), pool.replaceable(0, 4, 1)), (2, 1));
    assert_eq!(pool.dirty_at_end(0, 100), Some(ends[0]));
    assert!(!pool.evict_one(0, 2));
    let third = pool.page(ends[2]);
    assert!(pool.evict_one(0, 3));
    assert_eq!((pool.find(third), pool.free(), pool.data()), (None, 1, 99));
    pool.end_write(ends[1]);
    pool.make_oldest(ends[1]);
    let first = pool.page(ends[1]);
    assert!(pool.evict_one(0, 1) && pool.find(first).is_none());
}

/// Lets the pages at these places, counted from the end of the list, have changes.
fn change_at_end(pool: &mut Pool, places: impl Iterator<Item = usize>) {
    let frames = pool.oldest_first(0);
    for (number, at) in places.enumerate() {
        let from = lsn(10 * number as u64 + 10);
        pool.change(frames[at], from, from + 5);
    }
}

#[test]
fn a_search_begins_at_the_end_unless_the_last_one_came_to_young_pages() {
    let mut pool = full(800);
    let before = pool.oldest_first(0);
    let here = |pool: &Pool, at: usize| pool.find(pool.page(before[at])).is_some();
    change_at_end(&mut pool, (0..400).filter(|at| *at != 120 && *at != 350));
    assert!(
        !pool.evict_next(0, 100) && !pool.evict_next(0, 100),
        "the first 100 are dirty, and it looks at them again"
    );
    assert!(pool.evict_next(0, 130));
    assert_eq!((here(&pool, 120), here(&pool, 350)), (false, true));
    // The old pages end at 300: behind them it goes on where it stopped.
    assert!(!pool.evict_next(0, 320) && pool.evict_next(0, 40) && !here(&pool, 350));
    // The page with which it would go on moves to the young end: it goes on with the one behind.
    pool.touch(before[351], 0);
    assert!(!pool.evict_next(0, 48), "352 to 399");
    assert!(pool.evict_next(0, 1) && !here(&pool, 400));
    // A page behind it becomes clean: it comes there when it has gone over all of the list.
    pool.begin_write(before[0]);
    pool.end_write(before[0]);
    let comes_there = |pool: &mut Pool| {
        pool.evict_next(0, 1);
        !here(pool, 0)
    };
    let searches = (0..500).take_while(|_| !comes_there(&mut pool)).count();
    assert_eq!((here(&pool, 0), searches), (false, 400), "over 399 that it evicts, and the one at the front");
    pool.check();
}

#[test]
fn a_page_is_written_for_its_frame_unless_a_clean_one_comes_first() {
    let mut pool = full(800);
    let before = pool.oldest_first(0);
    change_at_end(&mut pool, (0..100).filter(|at| *at != 2));
    assert_eq!(pool.next_replaceable(0), Some(Replaceable::Dirty(before[0])));
    assert_eq!(pool.next_replaceable(0), Some(Replaceable::Dirty(before[0])), "nobody has begun to write it");
    (0..2).for_each(|at| pool.begin_write(before[at]));
    assert_eq!(pool.next_replaceable(0), Some(Replaceable::Evicted), "those before it are being written");
    assert_eq!((pool.find(pool.page(before[2])), pool.free()), (None, 1));
    assert_eq!(pool.next_replaceable(0), Some(Replaceable::Dirty(before[3])));
    let mut written = full(5);
    change_at_end(&mut written, 0..5);
    written.oldest_first(0).into_iter().for_each(|frame| written.begin_write(frame));
    assert_eq!(written.next_replaceable(0), None);
}

#[test]
fn the_flush_list_is_in_the_order_of_first_changes() {
    let mut pool = full(100);
    let [five, six, nine] = [5, 6, 9].map(|number| frame_of(&pool, number));
    pool.change(five, lsn(100), lsn(110));
    pool.change(six, lsn(110), lsn(120));
    pool.change(five, lsn(120), lsn(130));
    assert_eq!((pool.oldest_lsn(), pool.dirty(), pool.newest_lsn(five)), (Some(lsn(100)), 2, lsn(130)));
    assert_eq!(pool.ages_sum(lsn(200)), 100 + 90);
    assert_eq!(pool.oldest_dirty(0), Some(five));
    pool.begin_write(five);
    assert_eq!(pool.oldest_dirty(0), Some(six));
    pool.begin_write(six);
    assert_eq!((pool.oldest_dirty(0), pool.dirty_of_area(area(0))), (None, 0));
    pool.change(nine, lsn(130), lsn(140));
    let dirty = (pool.oldest_dirty(0), pool.dirty_of_area(area(0)));
    assert_eq!(dirty, (Some(nine), 1 << 9), "after all were being written");
    pool.end_write(six);
    pool.end_write(five);
    assert_eq!((pool.oldest_lsn(), pool.dirty(), pool.ages_sum(lsn(200))), (Some(lsn(130)), 1, 70));
    assert!((pool.dirty_pct() - 100.0 / 101.0).abs() < 1e-12);
}

#[test]
fn an_area_is_in_one_instance() {
    let mut pool = Pool::new(64 * 12, 90, 3);
    assert_eq!((pool.instances(), pool.size()), (3, 90));
    assert_eq!((0..12).map(|number| pool.instance_of(area(number).page(63))).take(4).collect::<Vec<_>>(), [0, 1, 2, 0]);
    // An instance that has no free page has none, whatever the others have.
    for number in 0..30 {
        assert!(pool.admit(page(number), false).is_some());
    }
    assert_eq!((pool.free(), pool.free_of(0), pool.free_of(1)), (60, 0, 30));
    assert!(pool.admit(page(30), false).is_none());
    let other = pool.admit(page(64), false).unwrap();
    // The oldest change of all is that of the instance in which it is.
    pool.change(other, lsn(7), lsn(9));
    pool.change(frame_of(&pool, 3), lsn(12), lsn(15));
    assert_eq!((pool.oldest_lsn(), pool.oldest_instance(), pool.dirty_until(lsn(12), 9)), (Some(lsn(7)), 1, 2));
    pool.begin_write(other);
    pool.end_write(other);
    assert_eq!((pool.oldest_lsn(), pool.oldest_instance()), (Some(lsn(12)), 0));
}

proptest! {
    /// Whatever happens, each instance's list holds each page once, its old part is three eighths of it, and counts agree.
    #[test]
    fn counts_agree(steps in prop::collection::vec((0u8..8, 0u32..400), 0..2000), instances in 1u32..4) {
        let mut pool = Pool::new(400, 161, instances);
        let region = Region { first: page(50), pages: 200 };
        pool.hash_rows(vec![LookedUp { region, rows_a_page: 10, keys_a_page: 500 }]);
        let mut newest = lsn(1);
        for (what, number) in steps {
            let page = PageNo::new(number);
            let instance = pool.instance_of(page);
            match (what, pool.find(page)) {
                (0 | 1, None) => {
                    if pool.free_of(instance) == 0 { pool.evict_one(instance, 50); }
                    if let Some(frame) = pool.admit(page, false) { pool.touch(frame, 0); }
                }
                (0 | 1, Some(frame)) => pool.touch(frame, 0),
                (2 | 3, Some(frame)) if !pool.is_writing(frame) => { pool.change(frame, newest, newest + 5); newest += 5; }
                (4, _) => if let Some(frame) = pool.oldest_dirty(instance) { pool.begin_write(frame); },
                // As threads do that need a frame for a page.
                (6 | 7, None) => {
                    if pool.free_of(instance) == 0 {
                        if what == 6 { pool.evict_next(instance, 9); } else { pool.next_replaceable(instance); }
                    }
                    if what == 6 { pool.admit(page, false); } else { pool.admit_new(page, 0); }
                }
                (5, Some(frame)) if pool.is_writing(frame) => { pool.end_write(frame); pool.make_oldest(frame); }
                _ => {}
            }
            let mut all = Vec::new();
            for instance in 0..pool.instances() {
                let pages = order_of(&pool, instance);
                prop_assert_eq!(pages.len() as u64, pool.data_of(instance));
                prop_assert!(pages.iter().all(|page| pool.instance_of(*page) == instance));
                let old = pages.iter().filter(|page| pool.is_old(pool.find(**page).unwrap())).count() as u64;
                prop_assert_eq!(old, pool.instances[instance].old());
                let idle = |frame: &FrameId| pool.is_dirty(*frame) && !pool.is_writing(*frame);
                let found = pages.iter().map(|page| pool.find(*page).unwrap()).filter(idle);
                let oldest = found.min_by_key(|frame| pool.oldest_lsn_of(*frame));
                prop_assert_eq!(pool.oldest_dirty(instance), oldest);
                prop_assert!(old.abs_diff(pool.data_of(instance) * OLD_EIGHTHS / 8) <= OLD_TOLERANCE);
                all.extend(pages);
            }
            prop_assert_eq!(all.len() as u64, pool.data());
            let free: u64 = (0..pool.instances()).map(|instance| pool.free_of(instance)).sum();
            prop_assert_eq!(free, pool.free());
            prop_assert_eq!(pool.data() + pool.free() + pool.hash_frames(), u64::from(161 / instances * instances));
            for page in (0..400).map(PageNo::new) {
                let idle = pool.find(page).is_some_and(|frame| pool.can_flush(frame));
                prop_assert_eq!(pool.dirty_of_area(page.area()) >> page.in_area() & 1 == 1, idle);
            }
            let dirty: Vec<FrameId> = all.iter().filter_map(|p| pool.find(*p)).filter(|f| pool.is_dirty(*f)).collect();
            prop_assert_eq!(dirty.len() as u64, pool.dirty());
            prop_assert_eq!(dirty.iter().map(|f| u128::from(pool.oldest_lsn_of(*f).bytes())).sum::<u128>(), pool.oldest_sum);
            prop_assert_eq!(dirty.iter().map(|f| pool.oldest_lsn_of(*f)).min(), pool.oldest_lsn());
        }
    }
}

/// Hot pages that are still there after a scan of far more pages than there are frames, each of which is used twice at once.
fn left_after_a_scan(old_blocks_ms: u32) -> usize {
    let mut pool = Pool::new(20_000, 1000, 1);
    pool.set_old_blocks_ms(old_blocks_ms);
    let mut used = |number: u32, now_ms: u32| {
        let page = page(number);
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
    (0..500).filter(|number| pool.find(page(*number)).is_some()).count()
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
    for number in 0..1000 {
        let frame = pool.admit(page(number), false).unwrap();
        pool.touch(frame, 1);
    }
    let frame = frame_of(&pool, 999);
    let uses = [(500, true), (1000, true), (1001, false)];
    for (now_ms, old) in uses {
        pool.touch(frame, now_ms);
        assert_eq!(pool.is_old(frame), old, "at {now_ms} ms");
    }
}

#[test]
fn waiters_are_told_once_the_last_first() {
    let mut pool = full(10);
    let [first, second] = [3, 4].map(|number| frame_of(&pool, number));
    for (frame, thread) in [(first, 7), (second, 1), (first, 0), (first, 5)] {
        pool.wait(frame, ThreadNo::new(thread));
    }
    let take = |pool: &mut Pool, frame| pool.take_waiters(frame).map(ThreadNo::number).collect::<Vec<_>>();
    assert_eq!(take(&mut pool, first), [5, 0, 7]);
    assert_eq!((take(&mut pool, first), take(&mut pool, second)), (vec![], vec![1]));
    pool.wait(second, ThreadNo::new(7));
    assert_eq!(take(&mut pool, second), [7], "it waits behind nobody any more");
}
