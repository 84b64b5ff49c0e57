use super::*;
use crate::cache::engine::keys::RequestId;
use crate::cache::journal::What;
use crate::cache::journal::recovery::Layout;
use crate::cache::{NoData, Slot};
use crate::slab::Key;

const FREED: Record = Record { slot: Slot(1), what: What::Freed };

fn durability() -> Durability {
    let layout = Layout { uuid: [1; 16], fast_bytes: 4 << 20, slow_bytes: 64 << 20, block_bytes: 4096 };
    let mut durability = Durability::new(&Recovered::fresh(layout), 0);
    // What a new cache has to write first.
    commit(&mut durability);
    durability
}

/// Does the pages and syncs of the fast device that are due now. Returns how many syncs.
fn commit(durability: &mut Durability) -> u32 {
    let mut memory = NoData::default();
    let mut syncs = 0;
    loop {
        durability.take_page_due();
        let mut idle = true;
        while let Some(page) = durability.next_page(&(), &mut memory) {
            durability.page_ended(page.write.ticket, page.of_journal, true);
            idle = false;
        }
        if let Some(mark) = durability.begin_fast_sync() {
            durability.fast_sync_ended(Some(mark));
            syncs += 1;
            idle = false;
        }
        if idle {
            return syncs;
        }
    }
}

fn asked(number: u32) -> Waiter {
    Waiter::Request(RequestId::from_number(number))
}

#[test]
fn waiters_for_one_record_share_a_sync() {
    let mut durability = durability();
    let lsn = durability.record(FREED);
    for number in 0..3 {
        durability.wait_recorded(lsn, asked(number));
    }
    assert_eq!(durability.next_durable(), None);
    assert_eq!(commit(&mut durability), 1);
    let woken: Vec<_> = std::iter::from_fn(|| durability.next_durable()).collect();
    assert_eq!(woken, [0, 1, 2].map(asked));
}

#[test]
fn nothing_is_synced_that_nobody_wants() {
    let mut durability = durability();
    let lsn = durability.record(FREED);
    assert_eq!(commit(&mut durability), 0);
    durability.users_wait_for(lsn);
    assert_eq!(durability.commit_next_ns(1.0, false), Some(0));
    durability.commit_by_time(5, 1.0, false);
    assert_eq!(commit(&mut durability), 1);
    assert_eq!((durability.durable(), durability.commit_next_ns(1.0, false)), (lsn, None));
}

#[test]
fn a_flush_waits_for_what_users_wrote_and_not_for_what_is_written_back() {
    let mut durability = durability();
    durability.slow_write_ended(false);
    durability.wait_for_user(RequestId::from_number(0), true, false);
    durability.slow_waits_end();
    assert_eq!((durability.begin_slow_sync(), durability.next_durable()), (None, Some(asked(0))));
    durability.slow_write_ended(true);
    durability.wait_for_user(RequestId::from_number(1), true, false);
    let ended = durability.begin_slow_sync().expect("a user waits for it");
    assert_eq!(durability.next_durable(), None);
    durability.slow_sync_ended(ended);
    durability.slow_waits_end();
    assert_eq!(durability.next_durable(), Some(asked(1)));
}

#[test]
fn who_waits_for_the_next_sync_asks_for_none() {
    let mut durability = durability();
    durability.slow_write_ended(false);
    durability.wait_for_next_slow_sync(asked(0));
    assert_eq!(durability.begin_slow_sync(), None);
    assert!(durability.want_slow_synced(true));
    assert!(durability.begin_slow_sync().is_some());
}

#[test]
fn without_the_fast_device_nothing_is_recorded_and_a_flush_waits_for_the_slow_one() {
    let mut durability = durability();
    let lsn = durability.record(FREED);
    durability.wait_written(lsn, asked(0));
    durability.abandon();
    assert_eq!(durability.record(FREED), lsn);
    assert!(!durability.take_page_due() && durability.begin_fast_sync().is_none() && durability.stopped());
    durability.wait_for_user(RequestId::from_number(1), true, false);
    assert_eq!((durability.next_written(), durability.next_durable()), (None, None));
    let all: Vec<_> = std::iter::from_fn(|| durability.next_waiter()).map(|(_, waiter)| waiter).collect();
    assert_eq!(all, [0, 1].map(asked));
}

#[test]
fn promised_records_keep_their_room() {
    let mut durability = durability();
    assert!(durability.room_to_record());
    durability.promise(1 << 20);
    assert!(!durability.room_to_record());
    durability.keep_promise(1 << 20);
    assert!(durability.room_to_record());
}
