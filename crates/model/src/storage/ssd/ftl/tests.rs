//! The translation layer under any sequence of what can be asked of it.

use flatwater_core::seed::stream;
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

/// One shape, full but for its spare space, in a given state.
fn device(geometry: Geometry, policy: Policy, initial: Initial) -> Ftl {
    Ftl::new(geometry, policy, Wear::NONE, initial, geometry.logical_pages, 7).unwrap()
}

/// A shape of which the host can use a share `u` of the usable pages.
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

/// Writes a page, after as many collections as that takes.
fn write(ftl: &mut Ftl, lpn: u32) -> Result<u32, WornOut> {
    while ftl.room() == 0 {
        collect(ftl)?;
    }
    Ok(ftl.write(lpn))
}

/// Holds the whole state against what it must be.
fn check(ftl: &Ftl) {
    let pages = ftl.geometry.pages_per_unit;
    let live = |ppn: u32| ftl.live[ppn as usize / 64] >> (ppn % 64) & 1 == 1;
    let mut mapped = 0;
    for lpn in 0..ftl.geometry.logical_pages {
        if let Some(ppn) = ftl.lookup(lpn) {
            mapped += 1;
            assert!(live(ppn), "logical page {lpn} is at {ppn}, which is not valid");
            assert_eq!(ftl.p2l[ppn as usize], lpn);
        }
    }
    let mut free_pages: u64 =
        ftl.host.iter().chain([&ftl.relocation]).map(|open| u64::from(open.end_ppn - open.next_ppn)).sum();
    let (mut valid_pages, mut closed, mut bad) = (0, 0, 0);
    for unit in 0..ftl.geometry.units {
        let valid = (unit * pages..(unit + 1) * pages).filter(|ppn| live(*ppn)).count() as u32;
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
    // One to one: as many valid flash pages as mapped logical ones, each of which is at a valid one of its own.
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
    /// Collections may be begun early, be paced with the host's writes, and trims may come at any time.
    #[test]
    fn nothing_is_lost(
        (geometry, used) in shapes(), policy in prop::sample::select(&POLICIES[..]), initial in initials(),
        seed in any::<u64>(), steps in steps(),
    ) {
        let mut ftl = Ftl::new(geometry, policy, Wear::NONE, initial, used, seed).unwrap();
        check(&ftl);
        let mut written: Vec<bool> = (0..used).map(|lpn| ftl.lookup(lpn).is_some()).collect();
        prop_assert!(written.iter().all(|written| *written != (initial == Initial::Fresh)));
        let mut moved = Vec::new();
        for step in steps {
            match step {
                Step::Write(page) if ftl.room() > 0 => {
                    let (lpn, room) = (page % used, ftl.room());
                    let ppn = ftl.write(lpn);
                    prop_assert_eq!(ftl.lookup(lpn), Some(ppn));
                    // A page of the victim may have died of it, which brings room.
                    prop_assert!(ftl.room() + 1 == room || ftl.collecting() && ftl.room() + 1 >= room);
                    written[lpn as usize] = true;
                }
                Step::Trim(page) => {
                    ftl.trim(page % used);
                    prop_assert_eq!(ftl.lookup(page % used), None);
                    written[(page % used) as usize] = false;
                }
                Step::Write(_) | Step::Begin => {
                    if !ftl.collecting() && ftl.units.closed() > 0 {
                        let least = (0..geometry.units).filter(|unit| ftl.units.state(*unit) == State::Closed);
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
                            prop_assert_eq!(from / geometry.pages_per_unit, unit);
                            prop_assert_eq!(ftl.lookup(ftl.p2l[*to as usize]), Some(*to));
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
        for (lpn, written) in written.iter().enumerate() {
            prop_assert_eq!(ftl.lookup(lpn as u32).is_some(), *written);
        }
    }

    /// Each victim yields B - v pages, whether the host waits for the erase or writes what has been earned so far.
    #[test]
    fn a_victim_yields_what_is_not_valid(
        (geometry, used) in shapes(), policy in prop::sample::select(&POLICIES[..]), seed in any::<u64>(), paced in any::<bool>(),
    ) {
        let initial = Initial::Preconditioned { simulate: true };
        let mut ftl = Ftl::new(geometry, policy, Wear::NONE, initial, used, seed).unwrap();
        let mut random = stream(seed, "test", 0);
        for _ in 0..20 {
            while ftl.room() > 0 {
                ftl.write(below(&mut random, used));
            }
            let before = ftl.counters().host_pages;
            let valid = ftl.begin_collection().unwrap();
            let mut died = 0;
            while !ftl.relocate(1, &mut Vec::new()) {
                while paced && ftl.room() > 0 {
                    let lpn = below(&mut random, used);
                    let victim = ftl.collection.unwrap().unit;
                    died += u32::from(ftl.lookup(lpn).is_some_and(|ppn| ppn / geometry.pages_per_unit == victim));
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
                let places: Vec<u32> = (0..geometry.logical_pages).map(|lpn| write(&mut ftl, lpn).unwrap()).collect();
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
    let classes: Vec<u32> = (0..32).map(|lpn| ftl.write(lpn) / 16 % 4).collect();
    let expected: Vec<u32> = (0..32).map(|page| page % 4).collect();
    assert_eq!(classes, expected);
}

#[test]
fn overwriting_in_sequence_moves_nothing() {
    let geometry = shape(256, 32, 1, 0.9);
    for policy in [Policy::Greedy, Policy::Fifo, Policy::CostBenefit] {
        let mut ftl = device(geometry, policy, Initial::Filled);
        for _ in 0..3 {
            for lpn in 0..geometry.logical_pages {
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
        // What was trimmed must first be collected.
        for _ in 0..4 * used {
            write(ftl, below(&mut random, used)).unwrap();
        }
        let before = ftl.counters();
        for _ in 0..2 * used {
            write(ftl, below(&mut random, used)).unwrap();
        }
        let after = ftl.counters();
        1.0 + (after.relocated_pages - before.relocated_pages) as f64 / f64::from(2 * used)
    };
    let used = geometry.logical_pages / 2;
    let u = f64::from(used) / geometry.usable_pages(512) as f64;
    let expected = theory::write_amplification(Policy::Greedy, u, 32);
    let mut never_written = Ftl::new(geometry, Policy::Greedy, Wear::NONE, Initial::Filled, used, 7).unwrap();
    let mut trimmed = device(geometry, Policy::Greedy, Initial::Filled);
    for lpn in used..geometry.logical_pages {
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
    // The least spare space that is sold, 2^30 for 10^9 bytes.
    let ftl = device(shape(4096, 256, 1, 0.93), Policy::Greedy, Initial::Preconditioned { simulate: false });
    let bytes = 4 * ftl.l2p.capacity() + 4 * ftl.p2l.capacity() + 8 * ftl.live.capacity();
    assert!((bytes as u64) < 8 * ftl.geometry.physical_pages());
}

#[test]
fn cost_benefit_spares_the_young() {
    // Two units with as many valid pages: the one that changed longer ago goes. Half valid now, or fuller long ago: age pays.
    let mut policy = victims::CostBenefit::new(3, 8);
    let units = Units::new(&shape(3, 8, 1, 0.0));
    policy.closed(0, 4, 100);
    policy.closed(1, 4, 900);
    assert_eq!(policy.choose(&units, 1000), 0);
    policy.taken(0, 4);
    policy.closed(0, 6, 100);
    assert_eq!(policy.choose(&units, 1000), 0, "900 x 2/12 against 100 x 4/8");
    assert_eq!(policy.choose(&units, 100_900), 1, "age hardly differs: what it yields decides");
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
