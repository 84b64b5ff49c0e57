//! Tests of the change buffer's B-tree.

use super::*;

const ENTRY: Entry = Entry::inserted(20);
/// Bytes of a record of it: 20 and 50 around.
const RECORD: u32 = 70;

fn buffer(most: u64) -> ChangeBuffer {
    ChangeBuffer::new(true, true, 100_000, most, 7, 0)
}

/// Each leaf holds what waits for the pages from its first one on, and no more than a page does.
fn check(own: &ChangeBuffer) {
    let mut firsts: Vec<u32> = own.leaves.iter_from(0).collect();
    assert_eq!(own.firsts.iter().flatten().count(), firsts.len());
    assert_eq!(own.firsts.len(), firsts.len() + own.free.len());
    firsts.push(u32::MAX);
    for pair in firsts.windows(2) {
        let number = own.numbers[pair[0] as usize] as usize;
        let pages = own.pages.iter_from(pair[0]).take_while(|page| *page < pair[1]);
        let bytes: u32 = pages.map(|page| u32::from(own.waiting[page as usize][BYTES])).sum();
        assert_eq!(own.bytes[number], bytes, "{pair:?}");
        assert!(bytes <= LEAF_BYTES, "{pair:?}: {bytes}");
        assert_eq!(own.firsts[number], Some(pair[0]));
    }
    let waiting = (0..own.first).filter(|page| own.waiting[*page as usize] != Waiting::default());
    assert!(waiting.eq(own.pages.iter_from(0)));
}

#[test]
fn what_waits_for_a_page_is_merged_once() {
    let mut own = buffer(100);
    assert_eq!((own.size(), own.place_of(5)), (1, 100_000));
    assert_eq!(own.add(5, ENTRY, 40), None);
    assert_eq!(own.add(5, Entry::moved(13), 70), None);
    assert_eq!(own.add(9, Entry::marked(13), 30), None);
    check(&own);
    // Three records: the second change is a mark and an insertion.
    assert_eq!(own.take(5), Some(Merge { redo: 110, leaf: 100_000, leaf_redo: 60 }));
    assert_eq!((own.take(5), own.take(6)), (None, None));
    assert_eq!(own.take(9).unwrap().redo, 30);
    assert_eq!((own.buffered, own.merged, own.bytes[own.numbers[0] as usize]), (3, 2, 0));
}

#[test]
fn a_page_takes_no_more_than_the_bitmap_can_tell() {
    let mut own = buffer(100);
    let mut added = 0;
    while own.takes(5, ENTRY) {
        own.add(5, ENTRY, 40);
        added += 1;
    }
    // 2048 bytes of 21 each.
    assert_eq!(added, 97);
    // Marks take no room on the page, but in the change buffer: half a leaf, less than 8092 bytes.
    assert!(own.takes(5, Entry::marked(20)));
    while own.takes(5, Entry::marked(20)) {
        own.add(5, Entry::marked(20), 30);
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
            splits += u64::from(own.add(page(n), ENTRY, 40).is_some());
        }
        if n % 500 == 0 {
            check(&own);
        }
    }
    assert_eq!(own.size(), 1 + splits);
    let full = own.size();
    // 1.4 MB of records on leaves that are 69 % full.
    assert!((100..160).contains(&full), "{full} pages");
    for n in (0..20_000).rev() {
        own.take(page(n));
        if n % 500 == 0 {
            check(&own);
        }
    }
    check(&own);
    assert_eq!(own.pages.len(), 0);
    assert_eq!((own.size(), own.bytes[own.numbers[0] as usize]), (1, 0), "joined to one empty leaf");
    own.add(1, ENTRY, 40);
    check(&own);
}

#[test]
fn a_full_one_takes_nothing() {
    let mut own = buffer(2);
    let with_room: Vec<u32> = (0..100_000).filter(|page| own.room_of(*page) > 0).collect();
    for page in &with_room {
        if own.takes(*page, ENTRY) {
            own.add(*page, ENTRY, 40);
        }
    }
    assert_eq!(own.size(), 2 + OVER_STOP);
    assert!(!with_room.iter().any(|page| own.takes(*page, ENTRY)));
    check(&own);
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
    let of = |inserts, marks| ChangeBuffer::new(inserts, marks, 1000, 10, 1, 0);
    let takes = |own: ChangeBuffer| [ENTRY, Entry::marked(20), Entry::moved(20)].map(|entry| own.takes(1, entry));
    assert_eq!(takes(of(true, false)), [true, false, false]);
    assert_eq!(takes(of(false, true)), [false, true, false]);
    assert_eq!(takes(of(true, true)), [true, true, true]);
}

#[test]
fn pages_are_picked_all_over_and_with_their_full_neighbours() {
    let mut own = buffer(10_000);
    for page in 0..2000 {
        own.add(page * 16, ENTRY, 40);
    }
    let picked: Vec<Vec<u32>> = (0..1000).map(|_| own.pick()).collect();
    assert!(picked.iter().all(|pages| pages.len() == 1 && own.waiting[pages[0] as usize][RECORDS] == 1), "{picked:?}");
    let lower = picked.iter().filter(|pages| pages[0] < 16_000).count();
    assert!((400..600).contains(&lower), "{lower} of 1000 in the lower half");
    let mut near = buffer(10_000);
    // More than 1536 bytes of 21 each wait for page 9, fewer for page 10; page 16 is in another area.
    for (page, records) in [(8, 1), (9, 74), (10, 72), (16, 80)] {
        (0..records).for_each(|_| {
            near.add(page, ENTRY, 40);
        });
    }
    let mut seen: Vec<Vec<u32>> = (0..100).map(|_| near.pick()).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen, [vec![8, 9], vec![9], vec![9, 10], vec![16]]);
    assert_eq!(buffer(10).pick(), Vec::<u32>::new());
}
