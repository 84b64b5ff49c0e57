//! Wear, its levelling, and the end of a device.

use super::*;

proptest! {
    /// Units wear out in any order while the host writes whenever there is room, until the device is worn out.
    #[test]
    fn a_device_wears_out_without_losing_data(
        (geometry, used) in shapes(), policy in prop::sample::select(&POLICIES[..]), seed in any::<u64>(),
        rated_cycles in 1u32..30, spread in 0.0f64..1.0, static_threshold_cycles in 0u32..5, paced in any::<bool>(),
    ) {
        let wear = Wear { rated_cycles, spread, static_threshold_cycles, ..Wear::NONE };
        let mut ftl = Ftl::new(geometry, policy, wear, Initial::Filled, used, seed).unwrap();
        let mut random = stream(seed, "test", 0);
        let mut steps = 0;
        loop {
            while ftl.room() > 0 {
                ftl.write(drawn(&mut random, used));
            }
            let Ok(valid) = ftl.begin_collection() else { break };
            prop_assert!(valid <= geometry.pages_per_unit);
            while !ftl.relocate(1, &mut Vec::new()) {
                while paced && ftl.room() > 0 {
                    ftl.write(drawn(&mut random, used));
                }
            }
            ftl.end_collection();
            steps += 1;
            prop_assert!(steps < 1_000_000, "it never wears out: {:?}", ftl.counters());
        }
        check(&ftl);
        prop_assert!(Lpn::first(used).all(|lpn| ftl.lookup(lpn).is_some()));
    }
}

/// Writes `writes` pages, all of them in a hot tenth of the pages.
fn write_hot(ftl: &mut Ftl, writes: u64) {
    let hot = ftl.geometry.logical_pages / 10;
    let mut random = stream(5, "test", 0);
    for _ in 0..writes {
        write(ftl, drawn(&mut random, hot)).unwrap();
    }
}

fn worn(geometry: Geometry, wear: Wear, initial: Initial) -> Ftl {
    Ftl::new(geometry, Policy::Greedy, wear, initial, geometry.logical_pages, 7).unwrap()
}

#[test]
fn erases_are_counted() {
    let geometry = shape(64, 16, 1, 0.8);
    let mut ftl = worn(geometry, Wear::NONE, Initial::Filled);
    write_hot(&mut ftl, 5000);
    let counters = ftl.counters();
    let counts: Vec<u32> = UnitNo::first(64).map(|unit| ftl.cycles.of(unit)).collect();
    assert_eq!(counters.erases, counts.iter().copied().map(u64::from).sum::<u64>());
    assert_eq!(Some(counters.erase_count_max), counts.iter().copied().max());
    assert_eq!(Some(counters.erase_count_min), counts.iter().copied().min());
    assert!((counters.erase_count_mean * 64.0 - counters.erases as f64).abs() < 1e-6);
    assert_eq!(counters.host_pages, 5000);
}

#[test]
fn static_levelling_collects_units_that_are_never_written() {
    let geometry = shape(256, 32, 1, 0.8);
    let apart = |threshold| {
        let wear = Wear { static_threshold_cycles: threshold, ..Wear::NONE };
        let mut ftl = worn(geometry, wear, Initial::Filled);
        write_hot(&mut ftl, 600_000);
        check(&ftl);
        let counters = ftl.counters();
        (counters.erase_count_max - counters.erase_count_min, counters)
    };
    let (without, counters) = apart(0);
    assert_eq!((counters.erase_count_min, counters.levelled_pages), (0, 0));
    let (with, counters) = apart(16);
    assert!(without > 100, "{without}");
    // Nothing is levelled until the threshold is passed, and then not all at once.
    assert!(with <= 32, "{with}");
    assert!(counters.levelled_pages > 0 && counters.levelled_pages <= counters.relocated_pages);
    assert!(counters.levelled_pages < counters.host_pages / 4, "{counters:?}");
}

#[test]
fn a_device_lasts_as_long_as_its_units() {
    let geometry = shape(256, 32, 2, 0.8);
    let wear = Wear { rated_cycles: 200, spread: 0.05, static_threshold_cycles: 20, ..Wear::NONE };
    for policy in POLICIES {
        let initial = Initial::Preconditioned { simulate: false };
        let mut ftl = Ftl::new(geometry, policy, wear, initial, geometry.logical_pages, 7).unwrap();
        let mut random = stream(9, "test", 0);
        let mut spare = 1.0;
        while write(&mut ftl, drawn(&mut random, geometry.logical_pages)).is_ok() {
            let counters = ftl.counters();
            assert!(counters.spare_left_share <= spare);
            spare = counters.spare_left_share;
        }
        check(&ftl);
        let counters = ftl.counters();
        // Read-only from now on, but everything is still there.
        assert_eq!((ftl.room(), ftl.begin_collection()), (0, Err(WornOut)));
        assert!(Lpn::first(geometry.logical_pages).all(|lpn| ftl.lookup(lpn).is_some()));
        assert!(counters.spare_left_share < 0.01, "{policy:?}: {counters:?}");
        assert!(counters.bad_units > 10);
        // Each erase takes one of units x rating cycles. Those of units that are still good at the end are not used.
        let rating = 256.0 * 200.0;
        let share = counters.erases as f64 / rating;
        assert!((0.85..1.02).contains(&share), "{policy:?}: {share} of the rated cycles");
    }
}

#[test]
fn a_used_device_has_less_life_left() {
    let geometry = shape(128, 16, 1, 0.8);
    let life = |life_used| {
        let wear = Wear { rated_cycles: 300, life_used, spread: 0.02, static_threshold_cycles: 20, ..Wear::NONE };
        let mut ftl = worn(geometry, wear, Initial::Preconditioned { simulate: true });
        let counters = ftl.counters();
        assert!((counters.erase_count_mean - 300.0 * life_used).abs() <= 1.0, "{counters:?}");
        assert!(counters.erase_count_max - counters.erase_count_min <= 20);
        let mut random = stream(9, "test", 0);
        while write(&mut ftl, drawn(&mut random, geometry.logical_pages)).is_ok() {}
        ftl.counters().host_pages as f64
    };
    let (new, used) = (life(0.0), life(0.75));
    assert!((used / new - 0.25).abs() < 0.03, "{used} of {new}");
}

#[test]
fn units_bad_from_the_beginning_are_left_out() {
    let geometry = shape(200, 16, 1, 0.7);
    let wear = Wear { initial_bad_share: 0.1, ..Wear::NONE };
    for initial in [Initial::Filled, Initial::Preconditioned { simulate: false }] {
        let mut ftl = worn(geometry, wear, initial);
        assert_eq!((ftl.counters().bad_units, ftl.counters().spare_left_share), (20, 1.0));
        assert_eq!(u64::from(ftl.usable_pages()), geometry.usable_pages(180));
        write_hot(&mut ftl, 10_000);
        check(&ftl);
        assert!(UnitNo::first(200).all(|unit| ftl.units.state(unit) != State::Bad || ftl.cycles.of(unit) == 0));
    }
}

#[test]
fn the_least_worn_unit_is_taken_first() {
    let mut free = Free::new(2);
    for (unit, erases) in [(0, 5), (2, 3), (4, 9), (1, 7)] {
        free.put(UnitNo::new(unit), erases);
    }
    let taken: Vec<Option<UnitNo>> = vec![free.take_of(0), free.take_of(1), free.take_of(1), free.take(), free.take()];
    assert_eq!(taken, [Some(2), Some(1), Some(0), Some(4), None].map(|unit| unit.map(UnitNo::new)));
    assert_eq!(free.len(), 0);
}
