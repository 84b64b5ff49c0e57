//! The translation layer under any sequence of its operations.

use flatwater_core::seed::{Rng, stream};
use proptest::prelude::*;

use super::draws::below;
use super::units::State;
use super::*;

mod amplification;
mod wear;

const POLICIES: [Policy; 6] = [
    Policy::Greedy,
    Policy::Fifo,
    Policy::Random,
    Policy::DChoices { choices: 2 },
    Policy::DChoices { choices: 10 },
    Policy::CostBenefit,
];

/// A device that is full apart from its spare space, in a given state.
fn device(geometry: Geometry, policy: Policy, initial: Initial) -> Ftl {
    Ftl::new(geometry, policy, Wear::NONE, initial, geometry.logical_pages, 7).unwrap()
}

/// A shape in which the host can address a share `u` of the usable pages.
fn shape(units: u32, pages_per_unit: u32, frontiers: u32, u: f64) -> Geometry {
    let mut geometry = Geometry { units, pages_per_unit, logical_pages: 1, frontiers };
    geometry.logical_pages = libm::round(geometry.usable_pages(units) as f64 * u) as u32;
    geometry
}

/// Collects one unit, whole.
fn collect(ftl: &mut Ftl) -> Result<Erased, WornOut> {
    ftl.begin_collection()?;
    while !ftl.relocate(3, &mut Vec::new()) {}
    Ok(ftl.end_collection())
}

/// A logical page drawn from the first `used` ones.
fn drawn(random: &mut Rng, used: u32) -> Lpn {
    Lpn::new(below(random, used))
}

/// The unit of a physical page.
fn unit_of(ftl: &Ftl, ppn: Ppn) -> UnitNo {
    UnitNo::new(ppn.number() / ftl.geometry.pages_per_unit)
}

/// Writes a page, after as many collections as that takes.
fn write(ftl: &mut Ftl, lpn: Lpn) -> Result<Ppn, WornOut> {
    while ftl.room() == 0 {
        collect(ftl)?;
    }
    Ok(ftl.write(lpn))
}

/// Checks the whole state.
fn check(ftl: &Ftl) {
    let pages = ftl.geometry.pages_per_unit;
    let mut mapped = 0;
    for lpn in Lpn::first(ftl.geometry.logical_pages) {
        if let Some(ppn) = ftl.lookup(lpn) {
            mapped += 1;
            assert!(ftl.mapping.is_valid(ppn), "logical page {lpn} is at {ppn}, which is not valid");
            assert_eq!(ftl.mapping.owner(ppn), lpn);
        }
    }
    let mut free_pages: u64 =
        ftl.host.iter().chain([&ftl.relocation]).map(|open| u64::from(open.end_ppn - open.next_ppn)).sum();
    let (mut valid_pages, mut closed, mut bad) = (0, 0, 0);
    for unit in ftl.units.numbers() {
        let first = ftl.geometry.first_page(unit);
        let valid = first.until(first + pages).filter(|ppn| ftl.mapping.is_valid(*ppn)).count() as u32;
        assert_eq!(ftl.units.valid(unit), valid, "valid pages of unit {unit}");
        valid_pages += valid;
        match ftl.units.state(unit) {
            State::Free => {
                free_pages += u64::from(pages);
                assert_eq!(valid, 0);
            }
            State::Closed => closed += 1,
            State::Bad => {
                bad += 1;
                assert_eq!(valid, 0);
            }
            State::Open | State::Victim => {}
        }
    }
    // The mapping is one to one: each mapped logical page has a valid physical page, and there are as many of both.
    assert_eq!((mapped, mapped), (valid_pages, ftl.counters().valid_pages));
    assert_eq!((closed, bad), (ftl.units.closed(), ftl.counters().bad_units));
    assert_eq!(ftl.room.over_reserve(), free_pages as i64 - ftl.geometry.reserve_pages() as i64);
}

#[derive(Clone, Debug)]
enum Step {
    Write(u32),
    Trim(u32),
    Begin,
    Relocate(u32),
    End,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => any::<u32>().prop_map(Step::Write),
        1 => any::<u32>().prop_map(Step::Trim),
        1 => Just(Step::Begin),
        3 => (0u32..6).prop_map(Step::Relocate),
        2 => Just(Step::End),
    ];
    prop::collection::vec(step, 0..400)
}

fn shapes() -> impl Strategy<Value = (Geometry, u32)> {
    (1u32..20, 1u32..4, 8u32..40, 0.0f64..1.0).prop_map(|(pages_per_unit, frontiers, more_units, share)| {
        let mut geometry =
            Geometry { units: frontiers * 2 + 4 + more_units, pages_per_unit, logical_pages: 1, frontiers };
        let most = geometry.usable_pages(geometry.units) - geometry.spare_pages_min();
        geometry.logical_pages = ((most as f64 * share) as u32).max(1);
        (geometry, geometry.logical_pages)
    })
}

fn initials() -> impl Strategy<Value = Initial> {
    prop_oneof![
        Just(Initial::Fresh),
        Just(Initial::Filled),
        Just(Initial::Preconditioned { simulate: true }),
        Just(Initial::Preconditioned { simulate: false }),
    ]
}

proptest! {
    /// Collections may begin early and may alternate with the host's writes; trims may come at any time.
    #[test]
    fn nothing_is_lost(
        (geometry, used) in shapes(), policy in prop::sample::select(&POLICIES[..]), initial in initials(),
        seed in any::<u64>(), steps in steps(),
    ) {
        let mut ftl = Ftl::new(geometry, policy, Wear::NONE, initial, used, seed).unwrap();
        check(&ftl);
        let mut written: Vec<bool> = Lpn::first(used).map(|lpn| ftl.lookup(lpn).is_some()).collect();
        prop_assert!(written.iter().all(|written| *written != (initial == Initial::Fresh)));
        let mut moved = Vec::new();
        for step in steps {
            match step {
                Step::Write(page) if ftl.room() > 0 => {
                    let (lpn, room) = (Lpn::new(page % used), ftl.room());
                    let ppn = ftl.write(lpn);
                    prop_assert_eq!(ftl.lookup(lpn), Some(ppn));
                    // The write may have invalidated a page of the victim, which adds room.
                    prop_assert!(ftl.room() + 1 == room || ftl.collecting() && ftl.room() + 1 >= room);
                    written[lpn.index()] = true;
                }
                Step::Trim(page) => {
                    let lpn = Lpn::new(page % used);
                    ftl.trim(lpn);
                    prop_assert_eq!(ftl.lookup(lpn), None);
                    written[lpn.index()] = false;
                }
                Step::Write(_) | Step::Begin => {
                    if !ftl.collecting() && ftl.units.closed() > 0 {
                        let least = ftl.units.numbers().filter(|unit| ftl.units.state(*unit) == State::Closed);
                        let least = least.map(|unit| ftl.units.valid(unit)).min().unwrap();
                        let valid = ftl.begin_collection().unwrap();
                        prop_assert!(valid == least || valid > least && policy != Policy::Greedy);
                    }
                }
                Step::Relocate(most) => {
                    if let Some(Collection { unit, .. }) = ftl.collection {
                        let (valid, room) = (ftl.units.valid(unit), ftl.room());
                        moved.clear();
                        let empty = ftl.relocate(most, &mut moved);
                        prop_assert_eq!(moved.len() as u32, most.min(valid));
                        prop_assert_eq!(empty, ftl.units.valid(unit) == 0);
                        prop_assert!(ftl.room() >= room, "relocation earns");
                        for (from, to) in &moved {
                            prop_assert_eq!(unit_of(&ftl, *from), unit);
                            prop_assert_eq!(ftl.lookup(ftl.mapping.owner(*to)), Some(*to));
                        }
                    }
                }
                Step::End => {
                    if ftl.collection.is_some_and(|victim| ftl.units.valid(victim.unit) == 0) {
                        let room = ftl.room();
                        ftl.end_collection();
                        prop_assert!(ftl.room() >= room);
                    }
                }
            }
        }
        check(&ftl);
        for (lpn, written) in Lpn::first(used).zip(written) {
            prop_assert_eq!(ftl.lookup(lpn).is_some(), written);
        }
    }

    /// Each victim yields B - v pages, whether the host waits for the erase or writes as soon as there is room.
    #[test]
    fn a_victim_yields_what_is_not_valid(
        (geometry, used) in shapes(), policy in prop::sample::select(&POLICIES[..]), seed in any::<u64>(), paced in any::<bool>(),
    ) {
        let initial = Initial::Preconditioned { simulate: true };
        let mut ftl = Ftl::new(geometry, policy, Wear::NONE, initial, used, seed).unwrap();
        let mut random = stream(seed, "test", 0);
        for _ in 0..20 {
            while ftl.room() > 0 {
                ftl.write(drawn(&mut random, used));
            }
            let before = ftl.counters().host_pages;
            let valid = ftl.begin_collection().unwrap();
            let mut died = 0;
            while !ftl.relocate(1, &mut Vec::new()) {
                while paced && ftl.room() > 0 {
                    let lpn = drawn(&mut random, used);
                    let victim = ftl.collection.unwrap().unit;
                    died += u32::from(ftl.lookup(lpn).is_some_and(|ppn| unit_of(&ftl, ppn) == victim));
                    ftl.write(lpn);
                }
            }
            ftl.end_collection();
            let wrote = (ftl.counters().host_pages - before) as u32;
            prop_assert_eq!(wrote + ftl.room(), geometry.pages_per_unit - valid + died);
        }
        check(&ftl);
    }

    #[test]
    fn division_by_multiplication_is_exact(number in any::<u32>(), divisor in 1u32..) {
        prop_assert_eq!(Divisor::new(divisor).quotient(number), number / divisor);
        prop_assert_eq!(Divisor::new(divisor).quotient(u32::MAX), u32::MAX / divisor);
    }
}

#[test]
fn the_same_seed_gives_the_same_device() {
    for policy in POLICIES {
        for simulate in [true, false] {
            let places = |seed| {
                let geometry = shape(64, 16, 2, 0.8);
                let initial = Initial::Preconditioned { simulate };
                let mut ftl = Ftl::new(geometry, policy, Wear::NONE, initial, geometry.logical_pages, seed).unwrap();
                let places: Vec<Ppn> =
                    Lpn::first(geometry.logical_pages).map(|lpn| write(&mut ftl, lpn).unwrap()).collect();
                places
            };
            assert_eq!(places(1), places(1));
            assert_ne!(places(1), places(2));
        }
    }
}

#[test]
fn frontiers_open_at_once_are_of_different_classes() {
    let mut ftl = device(shape(64, 16, 4, 0.8), Policy::Greedy, Initial::Fresh);
    let classes: Vec<u32> = Lpn::first(32).map(|lpn| ftl.write(lpn).number() / 16 % 4).collect();
    let expected: Vec<u32> = (0..32).map(|page| page % 4).collect();
    assert_eq!(classes, expected);
}

#[test]
fn overwriting_in_sequence_moves_nothing() {
    let geometry = shape(256, 32, 1, 0.9);
    for policy in [Policy::Greedy, Policy::Fifo, Policy::CostBenefit] {
        let mut ftl = device(geometry, policy, Initial::Filled);
        for _ in 0..3 {
            for lpn in Lpn::first(geometry.logical_pages) {
                write(&mut ftl, lpn).unwrap();
            }
        }
        assert_eq!(ftl.counters().relocated_pages, 0, "{policy:?}");
    }
}

#[test]
fn space_never_written_or_trimmed_is_spare() {
    let geometry = shape(512, 32, 1, 0.9);
    let amplification = |ftl: &mut Ftl, used: u32| {
        let mut random = stream(3, "test", 0);
        // Trimmed pages must be collected first.
        for _ in 0..4 * used {
            write(ftl, drawn(&mut random, used)).unwrap();
        }
        let before = ftl.counters();
        for _ in 0..2 * used {
            write(ftl, drawn(&mut random, used)).unwrap();
        }
        let after = ftl.counters();
        1.0 + (after.relocated_pages - before.relocated_pages) as f64 / f64::from(2 * used)
    };
    let used = geometry.logical_pages / 2;
    let u = f64::from(used) / geometry.usable_pages(512) as f64;
    let expected = theory::write_amplification(Policy::Greedy, u, 32);
    let mut never_written = Ftl::new(geometry, Policy::Greedy, Wear::NONE, Initial::Filled, used, 7).unwrap();
    let mut trimmed = device(geometry, Policy::Greedy, Initial::Filled);
    for lpn in Lpn::first(geometry.logical_pages).skip(used as usize) {
        trimmed.trim(lpn);
    }
    for ftl in [&mut never_written, &mut trimmed] {
        let found = amplification(ftl, used);
        assert!((found / expected - 1.0).abs() < 0.01, "{found} for {expected}");
    }
    let mut full = device(geometry, Policy::Greedy, Initial::Filled);
    assert!(amplification(&mut full, geometry.logical_pages) > 3.0);
}

#[test]
fn memory_is_eight_bytes_a_page() {
    // The smallest spare space on sale: 2^30 bytes for 10^9.
    let ftl = device(shape(4096, 256, 1, 0.93), Policy::Greedy, Initial::Preconditioned { simulate: false });
    assert!((ftl.mapping.bytes() as u64) < 8 * ftl.geometry.physical_pages());
}

#[test]
fn cost_benefit_spares_the_young() {
    // Of two units with as many valid pages, the one that changed longer ago is chosen. A fuller unit is chosen if it is much
    // older.
    let [old, young] = [0, 1].map(UnitNo::new);
    let mut policy = victims::CostBenefit::new(3, 8);
    let units = Units::new(&shape(3, 8, 1, 0.0));
    policy.closed(old, 4, 100);
    policy.closed(young, 4, 900);
    assert_eq!(policy.choose(&units, 1000), old);
    policy.taken(old, 4);
    policy.closed(old, 6, 100);
    assert_eq!(policy.choose(&units, 1000), old, "900 x 2/12 against 100 x 4/8");
    assert_eq!(policy.choose(&units, 100_900), young, "age hardly differs: what it yields decides");
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let good = Geometry { units: 64, pages_per_unit: 16, logical_pages: 500, frontiers: 1 };
    let open = |geometry: Geometry, policy, wear, used| {
        Ftl::new(geometry, policy, wear, Initial::Fresh, used, 1).err().unwrap_or_default()
    };
    let wear = Wear::NONE;
    assert_eq!(open(good, Policy::Greedy, wear, 500), "");
    assert!(open(Geometry { units: 0, ..good }, Policy::Greedy, wear, 500).contains("must be over 0"));
    assert!(open(Geometry { logical_pages: 64 * 16, ..good }, Policy::Greedy, wear, 500).contains("no spare space"));
    let huge = Geometry { units: 1 << 28, ..good };
    assert!(open(huge, Policy::Greedy, wear, 500).contains("larger mapping page"));
    assert!(open(Geometry { frontiers: u32::MAX, ..good }, Policy::Greedy, wear, 500).contains("no spare space"));
    assert!(open(good, Policy::Greedy, wear, 501).contains("501 used pages"));
    assert!(open(good, Policy::DChoices { choices: 0 }, wear, 500).contains("choices"));
    assert!(open(good, Policy::Greedy, Wear { life_used: 1.0, ..wear }, 500).contains("life_used"));
    assert!(open(good, Policy::Greedy, Wear { spread: f64::NAN, ..wear }, 500).contains("spread"));
    assert!(
        open(good, Policy::Greedy, Wear { initial_bad_share: 0.5, ..wear }, 500).contains("32 of 64 units are bad")
    );
}

#[test]
fn policies_and_states_have_names() {
    let policy = |json| serde_json::from_str::<Policy>(json).unwrap();
    assert_eq!(policy(r#"{"name": "greedy"}"#), Policy::Greedy);
    assert_eq!(policy(r#"{"name": "d-choices", "choices": 10}"#), Policy::DChoices { choices: 10 });
    assert_eq!(policy(r#"{"name": "cost-benefit"}"#), Policy::CostBenefit);
    let initial: Initial = serde_json::from_str(r#"{"name": "preconditioned", "simulate": true}"#).unwrap();
    assert_eq!(initial, Initial::Preconditioned { simulate: true });
}
