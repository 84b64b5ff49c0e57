//! Tests of the change buffer's B-tree.

use super::*;

const ENTRY: Entry = Entry::inserted(20);

fn tree() -> Tree {
    Tree::new(100_000, splitmix(7))
}

/// Each leaf holds what waits for the pages from its first one on, and no more than a page does.
pub(in super::super) fn check(own: &Tree) {
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
    let mut own = tree();
    assert_eq!((own.size(), own.place_of(5)), (1, 100_000));
    assert_eq!(own.add(5, ENTRY, 40), None);
    assert_eq!(own.add(5, Entry::moved(13), 70), None);
    assert_eq!(own.add(9, Entry::marked(13), 30), None);
    check(&own);
    // Three records: the second change is a mark and an insertion.
    assert_eq!(own.take(5), Some(Merge { redo: 110, leaf: 100_000, leaf_redo: 60 }));
    assert_eq!((own.take(5), own.take(6)), (None, None));
    assert_eq!(own.take(9).unwrap().redo, 30);
    assert_eq!(own.take(100_001), None, "its own pages come in too");
    assert_eq!(own.bytes[own.numbers[0] as usize], 0);
}

#[test]
fn a_leaf_that_is_full_splits_and_half_empty_ones_join() {
    let mut own = tree();
    let splits = (0..1000).filter(|page| own.add(*page, ENTRY, 40).is_some()).count() as u64;
    check(&own);
    // 70,000 bytes on leaves that are half full when they come in order.
    assert_eq!(own.size(), 1 + splits);
    assert!((5..10).contains(&own.size()), "{} leaves", own.size());
    assert_ne!(own.place_of(0), own.place_of(999));
    (0..1000).for_each(|page| assert!(own.take(page).is_some()));
    check(&own);
    assert_eq!((own.size(), own.pages.len()), (1, 0));
}

#[test]
fn pages_are_picked_all_over_and_with_their_full_neighbours() {
    let mut own = tree();
    for page in 0..2000 {
        own.add(page * 16, ENTRY, 40);
    }
    let picked: Vec<Vec<u32>> = (0..1000).map(|_| own.pick()).collect();
    assert!(picked.iter().all(|pages| pages.len() == 1 && own.waiting[pages[0] as usize][RECORDS] == 1), "{picked:?}");
    let lower = picked.iter().filter(|pages| pages[0] < 16_000).count();
    assert!((400..600).contains(&lower), "{lower} of 1000 in the lower half");
    let mut near = tree();
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
    assert_eq!(tree().pick(), Vec::<u32>::new());
}
