//! Which dirty blocks go back next, without an engine: blocks become dirty in `Contents`, and nothing is written.

use super::epochs::NextVersions;
use super::run::Run;
use super::*;
use crate::cache::engine::on_demand::OnDemand;
use crate::cache::journal::recovery::{Layout, Recovered};
use crate::cache::slots::{ALONE, DESTAGING, LOST, WRITING};
use crate::cache::{Mode, Slot};

const SECOND_NS: u64 = 1_000_000_000;

/// Contents with these dirty blocks, in this order.
fn contents(policy: &str, dirty: &[u32]) -> Contents {
    let layout = Layout { uuid: [1; 16], fast_bytes: 16 << 20, slow_bytes: 64 << 20, block_bytes: 4096 };
    let mut contents = Contents::new(&Recovered::fresh(layout), policy, 0).expect("the policy is known").0;
    for (nth, block) in dirty.iter().enumerate() {
        write(&mut contents, *block, nth as u32);
    }
    contents
}

fn write(contents: &mut Contents, block: u32, since: u32) -> Slot {
    let (slot, old) = (contents.take_slot(), contents.find(Block(block)));
    contents.install_dirty(Block(block), slot, old, since);
    slot
}

fn blocks(contents: &Contents, run: &Run) -> Vec<u32> {
    run.slots.iter().map(|slot| contents.slots().block(*slot).0).collect()
}

fn quiet() -> Settings {
    Settings { dirty_high_pct: 100.0, dirty_low_pct: 100.0, flush_period_s: 0.0, ..Settings::default() }
}

fn situation(settings: &Settings, all_must_go: bool) -> Situation<'_> {
    let slow_synced = SlowSeq::default();
    Situation { now_ns: 10 * SECOND_NS, settings, run_blocks: 8, all_must_go, slow_synced }
}

/// All runs that go back, one after another; each is marked as under way.
fn all_runs(write_back: &mut WriteBack, contents: &mut Contents, now: &Situation<'_>) -> Vec<Vec<u32>> {
    let (mut on_demand, mut runs) = (OnDemand::default(), Vec::new());
    loop {
        match write_back.next(contents, &mut on_demand, now).0 {
            Next::Nothing => return runs,
            Next::Others => {}
            Next::Run(run) | Next::Fallow(run) => {
                runs.push(blocks(contents, &run));
                run.slots.iter().for_each(|slot| contents.mark(*slot, DESTAGING));
            }
        }
    }
}

#[test]
fn a_run_takes_its_dirty_neighbours_along() {
    let mut contents = contents("lru", &[5, 3, 4, 9, 7]);
    let run = |contents: &Contents, block, most| {
        Run::around(Block(block), contents, most).map(|run| (run.block, blocks(contents, &run)))
    };
    assert_eq!(run(&contents, 4, 8), Some((Block(3), vec![3, 4, 5])));
    assert_eq!(run(&contents, 4, 2), Some((Block(4), vec![4, 5])));
    assert_eq!(run(&contents, 6, 8), None);
    let (alone, away, lost) = (contents.find(Block(4)), contents.find(Block(9)), contents.find(Block(7)));
    contents.mark(alone, ALONE);
    contents.mark(away, DESTAGING);
    contents.lose(lost);
    assert_eq!(run(&contents, 4, 8), Some((Block(4), vec![4])), "its last write-back failed");
    assert_eq!(run(&contents, 3, 8), Some((Block(3), vec![3])));
    assert_eq!([run(&contents, 9, 8), run(&contents, 7, 8)], [None, None], "under way, and lost");
}

#[test]
fn by_age_the_oldest_batch_goes_first_in_the_order_of_addresses() {
    let mut contents = contents("lru", &[40, 20, 30, 10]);
    let mut by_age = ByAge::default();
    by_age.restart([40, 20, 30, 10].map(Block), &mut contents);
    let runs: Vec<_> = (0..4).filter_map(|_| by_age.next(2, &mut contents, 8)).map(|run| run.block.0).collect();
    assert_eq!(runs, [20, 40, 10, 30]);
}

#[test]
fn what_is_written_again_stands_in_the_queue_once() {
    let mut contents = contents("lru", &[1, 2]);
    let mut by_age = ByAge::default();
    by_age.restart([1, 2].map(Block), &mut contents);
    let slot = write(&mut contents, 1, 9);
    by_age.push(Block(1), slot, &mut contents);
    assert_eq!(by_age.len(), 2);
    assert_eq!(by_age.next(8, &mut contents, 1).map(|run| run.block), Some(Block(1)));
    by_age.give_up_batch(&mut contents);
    assert_eq!((by_age.len(), by_age.next(1, &mut contents, 1).map(|run| run.block)), (1, Some(Block(2))));
}

#[test]
fn the_hand_goes_round_by_address_and_skips_sets_that_are_busy() {
    let contents = contents("lru", &[700, 3, 300, 2]);
    let mut sweep = Sweep::new(16384, 0);
    for block in [700, 3, 300, 2] {
        sweep.became_dirty(Block(block), 0);
    }
    sweep.check(&contents);
    let mut next = |busy: u32| sweep.next(&contents, |block| block.0 == busy, 8, 1).map(|run| run.block.0);
    assert_eq!([next(9), next(300), next(9), next(9), next(9)], [Some(2), None, Some(300), Some(700), Some(2)]);
}

#[test]
fn the_rate_of_the_hand_meets_the_period() {
    let mut sweep = Sweep::new(16384, 0);
    (0..100).for_each(|nth| sweep.became_dirty(Block(nth * 100), 0));
    let rate = |now_ns| sweep.rate(now_ns, 10 * SECOND_NS);
    assert!((10.0..11.0).contains(&rate(0)), "{}", rate(0));
    assert!((20.0..25.0).contains(&rate(5 * SECOND_NS)), "half the time is left: {}", rate(5 * SECOND_NS));
}

#[test]
fn an_epoch_goes_back_before_the_next_one() {
    let mut contents = contents("lru", &[5, 6, 20]);
    let mut epochs = Epochs::default();
    epochs.begin(&mut contents, 7);
    assert!(epochs.are_kept() && !epochs.are_behind());
    assert!(epochs.close(SlowSeq::default(), 8) && !epochs.close(SlowSeq::default(), 9), "the second one is empty");
    // Written again in the next epoch: the version before must stay.
    let old = contents.find(Block(5));
    let first = contents.slots().since(old);
    let slot = contents.take_slot();
    let (since, keeps) = epochs.join(slot, old, &contents);
    contents.install_dirty(Block(5), slot, old, since);
    contents.supersede(old);
    assert!(keeps && since == first + 1);
    epochs.check(&contents);
    let mut went = Vec::new();
    while let NextVersions::Run(run) = epochs.next(&mut contents, 8) {
        went.push(blocks(&contents, &run));
        assert!(run.slots.iter().all(|slot| contents.slots().has(*slot, WRITING)));
    }
    assert_eq!(went, [vec![5, 6], vec![20]], "nothing of the second epoch yet");
    (0..3).for_each(|_| assert!(epochs.version_ended(first)));
    assert_eq!(epochs.pop(SlowSeq::default()), None);
    assert!(!epochs.are_behind() && !epochs.version_ended(first));
}

#[test]
fn an_epoch_is_over_when_writes_that_bypassed_the_cache_are_durable() {
    let (mut contents, mut epochs) = (contents("lru", &[]), Epochs::default());
    epochs.begin(&mut contents, 0);
    let past = SlowSeq::default().next();
    assert!(epochs.close(past, 1));
    assert_eq!((epochs.pop(SlowSeq::default()), epochs.are_behind()), (Some(past), true));
    assert_eq!((epochs.pop(past), epochs.are_behind()), (None, false));
}

#[test]
fn a_set_over_its_mark_is_cleaned_and_the_others_are_not() {
    let dirty: Vec<u32> = (0..60).chain(600..610).collect();
    let contents = contents("flashcache", &dirty);
    let settings = Settings { dirty_high_pct: 10.0, dirty_low_pct: 5.0, ..quiet() };
    let (mut sets, mut sweep) = (Sets::default(), Sweep::new(16384, 0));
    sets.count(&contents, &settings, false);
    dirty.iter().for_each(|block| sweep.became_dirty(Block(*block), 0));
    assert!(sets.have_marks() && sets.want());
    let run = sets.next(&mut sweep, &contents, &settings, 8).expect("the first set is over its mark");
    assert_eq!(run.block, Block(0));
    (0..60).for_each(|block| sets.became_clean(Block(block), &contents));
    assert!(sets.next(&mut sweep, &contents, &settings, 8).is_none() && !sets.want());
    sets.count(&contents, &settings, true);
    assert!(!sets.have_marks(), "the order of flushes decides");
}

#[test]
fn a_set_is_full_at_its_depth() {
    let settings = Settings { write_back_depth_per_set: 2, ..quiet() };
    let mut sets = Sets::default();
    sets.begin(3);
    sets.begin(3);
    assert!(sets.is_full(3, &settings) && !sets.is_full(4, &settings));
    sets.end(3);
    assert!(!sets.is_full(3, &settings));
}

#[test]
fn what_is_passed_three_times_is_fallow() {
    let mut contents = contents("lru", &[8, 9]);
    let mut fallow = Fallow::default();
    // The hand goes round twice in a second.
    fallow.move_hand(0.5, 1.0, &mut contents);
    fallow.move_hand(0.5, 1.0, &mut contents);
    assert_eq!(fallow.next(), None);
    let slot = contents.find(Block(9));
    contents.hit(Block(9), slot);
    fallow.move_hand(0.5, 1.0, &mut contents);
    assert_eq!((fallow.next(), fallow.next()), (Some(Block(8)), None));
}

#[test]
fn nothing_goes_back_without_a_reason() {
    let mut contents = contents("lru", &[3, 8]);
    let settings = quiet();
    let mut write_back = WriteBack::new(vec![Block(3), Block(8)], &mut contents, 10 * SECOND_NS);
    assert!(all_runs(&mut write_back, &mut contents, &situation(&settings, false)).is_empty());
    assert_eq!(write_back.next_ns(&contents, &settings, || false), None);
    write_back.hurry(Block(8));
    assert_eq!(all_runs(&mut write_back, &mut contents, &situation(&settings, false)), [[8]]);
    assert_eq!(all_runs(&mut write_back, &mut contents, &situation(&settings, true)), [[3]]);
}

#[test]
fn what_is_lost_is_no_reason() {
    let mut contents = contents("lru", &[3]);
    let slot = contents.find(Block(3));
    contents.lose(slot);
    assert!(contents.slots().has(slot, LOST));
    let settings = Settings { mode: Mode::WriteThrough, ..quiet() };
    let mut write_back = WriteBack::new(vec![Block(3)], &mut contents, 0);
    assert!(all_runs(&mut write_back, &mut contents, &situation(&settings, true)).is_empty());
}
