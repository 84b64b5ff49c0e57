//! Tests of the change buffer.

use super::super::generation::{CleanerGeneration, MasterGeneration};
use super::tree::LEAF_BYTES_MIN;
use super::tree::tests::check;
use super::*;

const ENTRY: Entry = Entry::inserted(20);
/// Bytes of a record of it: 20 and 50 around.
const RECORD: u32 = 70;
const MASTER: Generation = Generation::Master(MasterGeneration::Mysql55);

fn merger(generation: Generation) -> Merger {
    Merger { thread: ThreadNo::new(9), idle: true, generation, io_capacity: 1000, ios_at_second: 0 }
}

fn buffer(most: u64) -> ChangeBuffer {
    ChangeBuffer::new(ChangeBuffering::All, 100_000, most, 7, merger(MASTER)).unwrap()
}

/// A change to an entry on a page.
fn change(page: u32, entry: Entry) -> Touch {
    Touch::change_entry(PageNo::new(page), 40, entry)
}

#[test]
fn a_page_takes_no_more_than_the_bitmap_can_tell() {
    let mut own = buffer(100);
    let mut added = 0;
    while own.takes(5, ENTRY) {
        own.add(change(5, ENTRY));
        added += 1;
    }
    // 2048 bytes of 21 each.
    assert_eq!(added, 97);
    // Marks take no room on the page, but in the change buffer: half a leaf, less than 8092 bytes.
    assert!(own.takes(5, Entry::marked(20)));
    while own.takes(5, Entry::marked(20)) {
        own.add(change(5, Entry::marked(20)));
        added += 1;
    }
    assert_eq!(added, (LEAF_BYTES_MIN - 1) / RECORD);
    assert!(own.takes(6, ENTRY));
}

#[test]
fn leaves_split_and_join_and_stay_a_tree() {
    let mut own = buffer(10_000);
    let mut splits = 0;
    let page = |n: u64| (splitmix(n) % 5000) as u32;
    for n in 0..20_000 {
        if own.takes(page(n), ENTRY) {
            splits += u64::from(own.add(change(page(n), ENTRY)).split.is_some());
        }
        if n % 500 == 0 {
            check(&own.tree);
        }
    }
    assert_eq!(own.size(), 1 + splits);
    let full = own.size();
    // 1.4 MB of records on leaves that are 69 % full.
    assert!((100..160).contains(&full), "{full} pages");
    for n in (0..20_000).rev() {
        own.merge(PageNo::new(page(n)));
        if n % 500 == 0 {
            check(&own.tree);
        }
    }
    check(&own.tree);
    assert_eq!(own.size(), 1, "joined to one leaf");
    assert!((0..5000).all(|page| own.tree.waiting_for(page) == [0; 4]));
    own.add(change(1, ENTRY));
    check(&own.tree);
}

#[test]
fn a_full_one_takes_nothing() {
    let mut own = buffer(2);
    let with_room: Vec<u32> = (0..100_000).filter(|page| own.room_of(*page) > 0).collect();
    for page in &with_room {
        if own.takes(*page, ENTRY) {
            own.add(change(*page, ENTRY));
        }
    }
    assert_eq!(own.size(), 2 + OVER_STOP);
    assert!(!with_room.iter().any(|page| own.takes(*page, ENTRY)));
    check(&own.tree);
}

#[test]
fn pages_from_half_to_all_full_take_what_the_bitmap_tells_of_them() {
    let own = buffer(100);
    let rooms: Vec<u64> = (0..16_000).map(|page| own.room_of(page)).collect();
    // A sixteenth of them has less than 512 bytes of 8192, and so on: 1000, 1000, 2000 and the others.
    for (room, expected) in [(0, 1000), (512, 1000), (1024, 2000), (2048, 12_000)] {
        let found = rooms.iter().filter(|own| **own == room).count();
        assert!(found.abs_diff(expected) < 150, "{found} pages with {room}");
    }
    let none = rooms.iter().position(|room| *room == 0).unwrap() as u32;
    assert!(!own.takes(none, ENTRY) && own.takes(none, Entry::marked(20)), "page {none}");
}

#[test]
fn it_takes_what_its_mode_says() {
    use ChangeBuffering::{All, Changes, Deletes, Inserts, None, Purges};
    let takes = |mode| {
        let own = ChangeBuffer::new(mode, 1000, 10, 1, merger(MASTER))?;
        Some([ENTRY, Entry::marked(20), Entry::moved(20)].map(|entry| own.divert(change(1, entry)).is_some()))
    };
    assert_eq!(takes(Inserts), Some([true, false, false]));
    assert_eq!(takes(Deletes), Some([false, true, false]));
    assert_eq!([Changes, All].map(takes), [Some([true, true, true]); 2]);
    assert_eq!([None, Purges].map(takes), [Option::None; 2]);
}

#[test]
fn a_change_goes_to_the_leaf_and_back_to_its_page() {
    let mut own = buffer(100);
    let leaf = PageNo::new(100_000);
    assert_eq!(own.divert(change(5, ENTRY)), Some(Touch::change(leaf, 90)));
    assert_eq!(own.divert(Touch::change(PageNo::new(5), 40)), None, "it is about no entry");
    assert_eq!(own.add(change(5, ENTRY)), Added::default());
    assert_eq!(own.merge(PageNo::new(5)), Some([Touch::change(PageNo::new(5), 40), Touch::change(leaf, 20)]));
    assert_eq!((own.merge(PageNo::new(5)), *own.counts()), (None, Counts { buffered: 1, merged: 1 }));
}

#[test]
fn with_too_many_leaves_a_thread_merges_and_later_waits() {
    let mut own = buffer(2);
    let mut seen = [None; 2];
    for page in 0..1000 {
        let added = own.add(change(page, ENTRY));
        assert_eq!(!added.merge.is_empty(), own.size() >= 2, "{} leaves", own.size());
        if !added.merge.is_empty() {
            seen[usize::from(added.waits)].get_or_insert(own.size());
        }
    }
    assert_eq!(seen, [Some(2), Some(2 + OVER_SYNC)]);
}

#[test]
fn the_merger_is_woken_once() {
    let mut own = buffer(2);
    assert!(own.wake_merger() && !own.wake_merger());
    assert!(!own.rest(ThreadNo::new(3)) && !own.wake_merger(), "another thread is at its end");
    assert!(own.rest(own.merger()) && own.wake_merger());
}

#[test]
fn each_generation_merges_in_the_background_its_own_way() {
    let pages = |generation, size, asked: [(bool, u64); 3]| {
        let mut merger = merger(generation);
        asked.map(|(ten, ios)| merger.background_pages(ten, ios, size, 100))
    };
    // Nothing was read or written; little; much, in the tenth second.
    assert_eq!(pages(MASTER, 0, [(false, 0), (false, 49), (true, 1000)]), [1000, 50, 50]);
    assert_eq!(pages(MASTER, 0, [(false, 50), (false, 100), (false, 149)]), [0, 0, 50]);
    let cleaner = |generation, size| pages(Generation::Cleaner(generation), size, [(false, 5000); 3])[0];
    // 5 %, and with half of it full a share more.
    assert_eq!([50, 100].map(|size| cleaner(CleanerGeneration::Mysql57, size)), [50, 540]);
    assert_eq!(cleaner(CleanerGeneration::Mariadb1011, 100), 0);
}
