use super::*;
use crate::cache::journal::recovery::Layout;
use crate::cache::slots::{FRESH, LOST};

fn contents(policy: &str) -> Contents {
    let layout = Layout { uuid: [1; 16], fast_bytes: 4 << 20, slow_bytes: 64 << 20, block_bytes: 4096 };
    Contents::new(&Recovered::fresh(layout), policy, 0).expect("the policy is known").0
}

/// Slots, index and counts agree.
fn check(contents: &Contents) {
    let of = |state| contents.slots.all().filter(|slot| contents.slots.state(*slot) == state).collect::<Vec<_>>();
    assert_eq!(contents.clean() as usize, of(State::Clean).len());
    let (superseded, dirty): (Vec<Slot>, Vec<Slot>) =
        of(State::Dirty).into_iter().partition(|slot| contents.slots.has(*slot, SUPERSEDED));
    assert_eq!((contents.dirty() as usize, contents.superseded() as usize), (dirty.len(), superseded.len()));
    assert_eq!(contents.lost() as usize, dirty.iter().filter(|slot| contents.slots.has(**slot, LOST)).count());
    for slot in of(State::Clean).into_iter().chain(dirty) {
        assert_eq!(contents.find(contents.slots.block(slot)), slot);
    }
}

/// A write of a block, and its record.
fn write(contents: &mut Contents, block: u32, lsn: u64) -> Slot {
    let (block, slot) = (Block(block), contents.take_slot());
    let old = contents.find(block);
    contents.install_dirty(block, slot, old, 0);
    contents.is_fresh(slot, Lsn(lsn));
    if old != Slot::NONE {
        contents.send_to_limbo(old, Lsn(lsn));
    }
    check(contents);
    slot
}

#[test]
fn a_block_that_is_written_twice_leaves_its_first_slot_when_its_record_is_durable() {
    let mut contents = contents("lru");
    let free = contents.free();
    let (first, second) = (write(&mut contents, 5, 1), write(&mut contents, 5, 2));
    assert_eq!((contents.find(Block(5)), contents.dirty(), contents.limbo()), (second, 1, 1));
    contents.read_begins(first);
    contents.leave_limbo(Lsn(2));
    assert_eq!((contents.free(), contents.take_due()), (free - 2, false), "somebody reads it");
    contents.read_ended(first);
    assert_eq!((contents.free(), contents.take_due()), (free - 1, true));
    assert!(!contents.slots.has(second, FRESH));
}

#[test]
fn only_what_is_clean_and_not_pinned_is_evicted() {
    let mut contents = contents("lru");
    contents.pin(Block(1), Block(2));
    for block in [1, 2, 3] {
        let slot = contents.take_slot();
        contents.fill(Block(block), slot, true);
    }
    let dirty = write(&mut contents, 3, 1);
    let left = contents.evict(Block::NONE).map(|slot| contents.slots.block(slot));
    assert_eq!((left, contents.evict(Block::NONE)), (Some(Block(2)), None));
    assert!(!contents.becomes_clean(dirty));
    contents.unpin(Block(0), Block(9));
    let left = [(); 3].map(|()| contents.evict(Block::NONE).map(|slot| contents.slots.block(slot)));
    assert_eq!((left, contents.clean()), ([Some(Block(1)), Some(Block(3)), None], 0));
}

#[test]
fn what_is_lost_is_found_again_when_it_is_written_over_or_read_after_all() {
    let mut contents = contents("s3-fifo");
    for block in [7, 8, 9] {
        let slot = write(&mut contents, block, 1);
        contents.lose(slot);
        check(&contents);
    }
    assert!(!contents.can_write_back() && contents.lost_in_all() == 3);
    write(&mut contents, 7, 2);
    let slot = contents.find(Block(8));
    assert!(contents.becomes_clean(slot));
    let slot = contents.find(Block(9));
    contents.remove(Block(9), slot);
    contents.send_to_limbo(slot, Lsn(3));
    check(&contents);
    assert_eq!((contents.lost(), contents.dirty(), contents.clean()), (0, 1, 1));
}

#[test]
fn a_bad_slot_is_never_used_again() {
    let mut contents = contents("lru");
    let free = contents.free();
    let slot = contents.take_slot();
    contents.give_slot(slot, false);
    assert_eq!(contents.free(), free - 1);
    assert!((0..free - 1).all(|_| contents.take_slot() != slot) && contents.take_slot() == Slot::NONE);
}

#[test]
fn another_policy_holds_what_the_first_one_held() {
    let mut contents = contents("lru");
    write(&mut contents, 1, 1);
    let slot = contents.take_slot();
    contents.fill(Block(2), slot, false);
    contents.set_policy("flashcache").expect("it is known");
    assert!(contents.sets().is_some() && contents.set_of(Block(600)).is_some());
    assert_eq!((contents.evict(Block::NONE), contents.evict(Block::NONE)), (Some(slot), None));
    assert!(contents.set_policy("none").is_err());
}
