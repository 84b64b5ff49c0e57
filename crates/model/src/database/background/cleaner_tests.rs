//! Tests of the page cleaner's rounds without the rest of a server.

use super::super::super::settings::tests::settings;
use super::*;

const AGES: Ages =
    Ages { group_capacity: 1000, modified_async: 700, modified_sync: 800, checkpoint_async: 900, checkpoint_max: 1000 };

fn cleaner(generation: CleanerGeneration) -> Cleaner {
    Cleaner::new(generation, &Settings { innodb_lru_scan_depth: 100, ..settings() }, &AGES)
}

/// Begins the round that is due; what is done first.
fn begin(cleaner: &mut Cleaner, sight: &Sight) -> Option<Task> {
    let alarm = cleaner.alarm;
    cleaner.begin_round(alarm, sight)
}

#[test]
fn mysql_sees_to_free_pages_then_asks_its_policy_once_a_second() {
    let mut own = cleaner(CleanerGeneration::Mysql57);
    let sight = Sight { now_ns: SECOND_NS, free: 1000, ..Sight::default() };
    assert_eq!(begin(&mut own, &sight), Some(Task::Free));
    assert_eq!(own.end_stage(&sight), Task::Ask { sync: false });
    assert_eq!(own.take_order(Order::pages(7), false, SECOND_NS, &sight), Order::pages(7));
    assert!(own.has_written_list());
    assert_eq!(own.end_stage(&sight), Task::Sleep);
    let (at_ns, alarm) = own.sleep(&sight, false).unwrap();
    assert_eq!(at_ns, 2 * SECOND_NS);
    // A thread that wants a frame wakes it before: the policy is not asked again.
    let early = Sight { now_ns: SECOND_NS + 5, ..sight };
    let (early_ns, woken) = own.wake(early.now_ns).unwrap();
    assert_eq!((early_ns, own.begin_round(alarm, &sight)), (early.now_ns + 1, None), "only the last alarm counts");
    assert_eq!(own.begin_round(woken, &early), Some(Task::Free));
    assert_eq!(own.wake(early.now_ns), None, "it is awake");
    // It frees pages until after the time of the policy: the policy has the next round, and a second begins with that.
    let late = Sight { now_ns: 3 * SECOND_NS, ..sight };
    assert_eq!(own.end_stage(&late), Task::Sleep);
    let next = Sight { now_ns: own.sleep(&late, false).unwrap().0, ..sight };
    assert_eq!((begin(&mut own, &next), next.now_ns - late.now_ns), (Some(Task::Free), 1));
    assert_eq!(own.end_stage(&next), Task::Ask { sync: false });
    own.take_order(Order::pages(7), false, SECOND_NS, &next);
    assert_eq!(own.sleep(&next, false).unwrap().0, next.now_ns + SECOND_NS);
}

#[test]
fn mariadb_sees_to_frames_when_few_are_free_and_after_each_batch_of_the_list() {
    let mut own = cleaner(CleanerGeneration::Mariadb1011);
    let many = Sight { now_ns: SECOND_NS, free: 50, ..Sight::default() };
    assert_eq!(begin(&mut own, &many), Some(Task::Ask { sync: false }));
    own.take_order(Order::pages(0), false, SECOND_NS, &many);
    assert_eq!(own.end_stage(&many), Task::Sleep, "nothing is to be written, and enough are free");
    own.sleep(&many, false);
    let due = Sight { now_ns: 2 * SECOND_NS, ..many };
    assert_eq!(begin(&mut own, &due), Some(Task::Ask { sync: false }));
    own.take_order(Order::pages(1), false, SECOND_NS, &due);
    assert_eq!((own.end_stage(&due), own.end_stage(&due)), (Task::Free, Task::Sleep));
    own.sleep(&due, false);
    let few = Sight { free: 49, ..due };
    assert_eq!((begin(&mut own, &few), own.end_stage(&few)), (Some(Task::Free), Task::Sleep));
    own.sleep(&few, false);
    let old = Sight { age: 701, ..few };
    assert_eq!(begin(&mut own, &old), Some(Task::Ask { sync: false }), "the log is near its limit");
    assert_eq!((own.end_stage(&old), own.end_stage(&old)), (Task::Free, Task::Sleep), "then to frames");
}

#[test]
fn who_wakes_mariadbs_cleaner_puts_its_policy_off_and_a_long_batch_does_not() {
    let mut own = cleaner(CleanerGeneration::Mariadb1011);
    let at = |now_ns: u64, free: u64| Sight { now_ns, free, ..Sight::default() };
    let (many, few) = (|now_ns| at(now_ns, 100), |now_ns| at(now_ns, 49));
    let half = SECOND_NS / 2;
    begin(&mut own, &many(SECOND_NS));
    own.take_order(Order::pages(0), false, SECOND_NS, &many(SECOND_NS));
    assert_eq!(own.sleep(&many(SECOND_NS), false).unwrap().0, 2 * SECOND_NS);
    // Half a second later a thread wants frames: the policy is asked a second after that.
    begin(&mut own, &few(SECOND_NS + half));
    let done = SECOND_NS + half + 5;
    assert_eq!(own.sleep(&many(done), false).unwrap().0, 2 * SECOND_NS + half);
    // The batch takes more than a second: the policy is asked at once.
    begin(&mut own, &few(2 * SECOND_NS));
    assert_eq!(own.sleep(&many(4 * SECOND_NS), false).unwrap().0, 4 * SECOND_NS + 1);
    assert_eq!(begin(&mut own, &many(4 * SECOND_NS + 1)), Some(Task::Ask { sync: false }));
    own.take_order(Order::pages(0), false, SECOND_NS, &many(4 * SECOND_NS + 1));
    // Few are free when a batch ends: the next one follows without a wait, and puts nothing off.
    own.sleep(&many(4 * SECOND_NS + 1), false);
    begin(&mut own, &few(5 * SECOND_NS));
    assert_eq!(own.sleep(&few(5 * SECOND_NS + half), false).unwrap().0, 5 * SECOND_NS + half + 1);
    begin(&mut own, &few(5 * SECOND_NS + half));
    assert_eq!(own.sleep(&many(5 * SECOND_NS + half + 1), false).unwrap().0, 6 * SECOND_NS);
}

#[test]
fn mariadbs_cleaner_waits_for_a_checkpoint_and_nobody_wakes_it_meanwhile() {
    let mut own = cleaner(CleanerGeneration::Mariadb1011);
    let sight = Sight { now_ns: SECOND_NS, free: 100, ..Sight::default() };
    begin(&mut own, &sight);
    assert_eq!((own.sleep(&sight, true), own.wake(SECOND_NS)), (None, None));
    let later = Sight { now_ns: SECOND_NS + 7, ..sight };
    assert_eq!(own.end_checkpoint(&later).unwrap().0, 2 * SECOND_NS);
    assert_eq!(own.end_checkpoint(&later), None, "another thread's checkpoint");
    let mut mysql = cleaner(CleanerGeneration::Mysql57);
    assert!(mysql.sleep(&sight, true).is_some());
}

#[test]
fn a_round_that_frees_nothing_is_not_followed_by_another_in_the_next_nanosecond() {
    let mut own = cleaner(CleanerGeneration::Mariadb1011);
    // The policy is due since a second, and too few frames are free for it to be asked.
    let few = Sight { now_ns: SECOND_NS, free: 49, ..Sight::default() };
    assert_eq!((begin(&mut own, &few), own.end_stage(&few)), (Some(Task::Free), Task::Sleep));
    assert_eq!(own.sleep(&few, false).unwrap().0, SECOND_NS + PAUSE_NS);
    // Pages were written in this one: it goes on at once. After the last one enough frames are free.
    begin(&mut own, &few);
    let later = Sight { now_ns: SECOND_NS + 5, ..few };
    assert_eq!(own.sleep(&later, false).unwrap().0, later.now_ns + 1);
    begin(&mut own, &few);
    assert_eq!(own.sleep(&Sight { free: 100, ..few }, false).unwrap().0, 2 * SECOND_NS);
}

#[test]
fn over_the_synchronous_age_it_goes_on_without_a_pause_since_5_7() {
    let old = Sight { now_ns: SECOND_NS, age: 801, checkpoint_age: 801, ..Sight::default() };
    for (generation, sync) in [(CleanerGeneration::Mysql56, false), (CleanerGeneration::Mysql80, true)] {
        let mut own = cleaner(generation);
        begin(&mut own, &old);
        assert_eq!(own.end_stage(&old), Task::Ask { sync }, "{generation:?}");
        own.take_order(Order::pages(1), sync, SECOND_NS, &old);
        let expected_ns = SECOND_NS + if sync { PAUSE_NS } else { SECOND_NS };
        assert_eq!(own.sleep(&old, false).unwrap().0, expected_ns, "{generation:?}");
    }
}

#[test]
fn without_flush_sync_threads_that_wait_get_io_capacity_a_round() {
    let mut own = cleaner(CleanerGeneration::Mysql57);
    own.flush_sync = false;
    let sight = Sight { now_ns: SECOND_NS, age: 900, room_waiters: true, ..Sight::default() };
    begin(&mut own, &sight);
    assert_eq!(own.end_stage(&sight), Task::Ask { sync: false });
    assert_eq!(own.take_order(Order::pages(3), false, SECOND_NS, &sight).pages, settings().innodb_io_capacity);
    let quiet = Sight { room_waiters: false, ..sight };
    assert_eq!(own.take_order(Order::pages(3), false, SECOND_NS, &quiet).pages, 3);
}

#[test]
fn a_policy_that_wants_the_next_round_at_once_gets_it_after_a_millisecond() {
    let mut own = cleaner(CleanerGeneration::Mysql57);
    let sight = Sight { now_ns: SECOND_NS, ..Sight::default() };
    begin(&mut own, &sight);
    own.take_order(Order { at_once: true, ..Order::pages(3) }, false, SECOND_NS, &sight);
    assert_eq!(own.sleep(&sight, false).unwrap().0, SECOND_NS + PAUSE_NS);
}

#[test]
fn checkpoints_are_made_by_seconds_or_at_the_end_of_a_round() {
    let ticks = |generation| {
        let mut own = cleaner(generation);
        (1..=14).filter(|_| own.tick()).count()
    };
    let generations = [CleanerGeneration::Mysql57, CleanerGeneration::Mysql8011, CleanerGeneration::Mysql80];
    assert_eq!(generations.map(ticks), [2, 14, 2]);
    let wants = |generation, age, checkpoint_age, room_waiters| {
        let sight = Sight { age, checkpoint_age, room_waiters, ..Sight::default() };
        cleaner(generation).wants_checkpoint(&sight)
    };
    let (mysql, mariadb) = (CleanerGeneration::Mysql57, CleanerGeneration::Mariadb1011);
    assert_eq!(
        [wants(mysql, 5, 900, false), wants(mysql, 5, 901, false), wants(mysql, 5, 6, true)],
        [false, true, true]
    );
    // A checkpoint that is too far back is enough up to 8.0.19; after it, somebody must wait.
    let late = CleanerGeneration::Mysql80;
    assert_eq!([wants(late, 5, 901, false), wants(late, 5, 6, true)], [false, true]);
    assert_eq!([wants(mariadb, 5, 6, false), wants(mariadb, 6, 6, false)], [true, false]);
    assert!(!wants(CleanerGeneration::Mysql56, 5, 901, true));
}

#[test]
fn mariadb_goes_on_until_the_oldest_change_is_where_the_asynchronous_age_was() {
    let mut own = cleaner(CleanerGeneration::Mariadb1011);
    let (stop, least) = (own.ages.modified_sync, own.ages.modified_async);
    let at = |lsn: u64, age: u64| Sight { lsn: Lsn::new(lsn), age, free: u64::MAX, ..Sight::default() };
    let start = 10 * stop;
    assert!(!own.is_urgent(&at(start, stop)));
    assert!(own.is_urgent(&at(start, stop + 1)));
    assert!(own.is_urgent(&at(start, least + 1)), "it is not there yet");
    assert!(own.is_urgent(&at(start + 9, least + 10)));
    assert!(!own.is_urgent(&at(start + 9, least + 9)), "where it was, not where it is now");
    assert!(!own.is_urgent(&at(start + 9, stop)));
    let mut mysql = cleaner(CleanerGeneration::Mysql57);
    assert!(mysql.is_urgent(&at(start, mysql.ages.modified_sync + 1)) && !mysql.is_urgent(&at(start, least + 1)));
}
