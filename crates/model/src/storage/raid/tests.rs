use super::super::hdd;
use super::*;
use crate::storage;
use flatwater_core::seed::splitmix;
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

/// An array of small disks with no memory.
fn array(level: u32, members: u32) -> Spec<storage::Spec> {
    let disk = hdd::Spec { capacity_bytes: 256 * MIB, ..hdd::tests::disk() };
    let layout = Layout::new(level, members, 65536, disk.capacity_bytes).unwrap();
    Spec {
        capacity_bytes: layout.capacity_bytes(),
        level,
        members,
        device: Box::new(storage::Spec::Hdd(disk)),
        unit_bytes: 65536,
        line_bytes: 4096,
        controller: Controller {
            read_ns: 10_000,
            write_ns: 20_000,
            latency_ns: 20_000,
            link_bytes_per_s: 1e9,
            member_queue_depth: 8,
            updates_at_once: 16,
            parity_after_data: false,
            battery: true,
        },
        cache: CacheSpec {
            bytes: 0,
            block_bytes: 65536,
            dirty_share: 0.75,
            destage_from_share: 0.5,
            destage_rows: true,
            destage_after_ns: SECOND_NS,
        },
        background: Background {
            patrol_share: 0.3,
            check_share: 0.3,
            rebuild_share: 0.5,
            chunk_bytes: MIB,
            relearn_ns: 10 * SECOND_NS,
        },
        events: Vec::new(),
    }
}

fn opened(spec: Spec<storage::Spec>) -> Raid {
    Raid::new(spec, Opening { seed: 5, used_bytes: 0 }).unwrap()
}

fn event(kind: HappeningKind, at_s: u64, duration_s: Option<u64>, member: Option<u32>) -> Happening {
    Happening { kind, at_ns: at_s * SECOND_NS, duration_ns: duration_s.map(|s| s * SECOND_NS), member }
}

/// Commands ended in each second of `seconds`, with `depth` random ones of 16 KiB outstanding, and how many failed.
fn run(raid: &mut Raid, operation: Operation, depth: u64, seconds: u64) -> (Vec<u64>, u64) {
    let (mut counts, mut failed, mut sent, mut ended) = (vec![0; seconds as usize], 0, 0, Vec::new());
    let blocks = raid.capacity_bytes() / 16384;
    let mut send = |raid: &mut Raid, now_ns| {
        sent += 1;
        raid.submit(now_ns, sent, Command { operation, offset: splitmix(sent) % blocks * 16384, bytes: 16384 });
    };
    for _ in 0..depth {
        send(raid, 0);
    }
    let end_ns = seconds * SECOND_NS;
    while raid.next_ns().is_some_and(|at_ns| at_ns < end_ns) {
        raid.advance(end_ns - 1, &mut ended);
        for one in ended.drain(..) {
            counts[(one.at_ns / SECOND_NS) as usize] += 1;
            failed += u64::from(one.result.is_err());
            send(raid, one.at_ns);
        }
    }
    (counts, failed)
}

fn rate(spec: Spec<storage::Spec>, operation: Operation, depth: u64) -> f64 {
    run(&mut opened(spec), operation, depth, 20).0.iter().sum::<u64>() as f64 / 20.0
}

fn mean(counts: &[u64]) -> f64 {
    counts.iter().sum::<u64>() as f64 / counts.len() as f64
}

/// Operations of the members for each write.
fn member_operations(spec: Spec<storage::Spec>, writes: u64) -> f64 {
    let mut raid = opened(spec);
    let (mut ended, mut now_ns) = (Vec::new(), 0);
    let mut operations = 0;
    for number in 0..writes {
        let offset = splitmix(number) % (raid.capacity_bytes() / 16384) * 16384;
        raid.submit(now_ns, number, Command { operation: Operation::Write, offset, bytes: 16384 });
        while ended.is_empty() {
            let before = raid.members.given();
            raid.advance(raid.next_ns().unwrap(), &mut ended);
            operations += raid.members.given().iter().zip(before).map(|(given, before)| given - before).sum::<u64>();
        }
        now_ns = ended.pop().unwrap().at_ns;
    }
    operations as f64 / writes as f64
}

#[test]
fn striping_multiplies_and_mirrors_share_reads() {
    let one = rate(array(0, 1), Operation::Read, 64);
    let four = rate(array(0, 4), Operation::Read, 64);
    assert!((3.2..4.6).contains(&(four / one)), "{}", four / one);
    let (single, mirrored) = (rate(array(0, 1), Operation::Read, 8), rate(array(1, 2), Operation::Read, 16));
    assert!((1.7..2.4).contains(&(mirrored / single)), "{}", mirrored / single);
    let written = rate(array(1, 2), Operation::Write, 8) / rate(array(0, 1), Operation::Write, 8);
    assert!((0.7..1.05).contains(&written), "{written}");
}

#[test]
fn a_small_write_costs_four_operations_with_parity_and_two_with_mirrors() {
    assert_eq!(member_operations(array(5, 6), 50), 4.0);
    assert_eq!(member_operations(array(10, 4), 50), 2.0);
    assert_eq!(member_operations(array(0, 4), 50), 1.0);
}

#[test]
fn a_full_row_is_written_without_reading() {
    let mut raid = opened(array(5, 5));
    let mut ended = Vec::new();
    raid.submit(0, 1, Command { operation: Operation::Write, offset: 0, bytes: 4 * 65536 });
    raid.advance(u64::MAX, &mut ended);
    assert_eq!(raid.members.given().iter().sum::<u64>(), 5);
}

#[test]
fn parity_after_the_data_takes_a_second_positioning() {
    let mut spec = array(5, 6);
    let beside = rate(spec.clone(), Operation::Write, 1);
    spec.controller.parity_after_data = true;
    let after = rate(spec, Operation::Write, 1);
    assert!(after < 0.92 * beside, "{after} {beside}");
}

#[test]
fn write_back_is_faster_and_a_relearn_takes_it_away() {
    let mut spec = array(5, 6);
    spec.cache.bytes = 64 * MIB;
    spec.capacity_bytes = 32 * MIB;
    spec.events = vec![event(HappeningKind::Relearn, 10, Some(10), None)];
    let mut raid = opened(spec);
    let (counts, failed) = run(&mut raid, Operation::Write, 16, 30);
    let [before, during, after] = [&counts[2..10], &counts[12..20], &counts[22..30]].map(mean);
    assert!(before > 5.0 * during && after > 5.0 * during && failed == 0, "{counts:?}");
    let texts: Vec<String> = raid.incidents().into_iter().map(|incident| incident.text).collect();
    assert_eq!(texts.len(), 2);
    assert!(texts[0].contains("relearn") && texts[0].contains("write-through") && texts[1].contains("write-back"));
}

#[test]
fn writes_wait_when_the_memory_is_full_of_dirty_data() {
    let mut spec = array(5, 6);
    let through = rate(spec.clone(), Operation::Write, 16);
    spec.cache.bytes = 64 * MIB;
    let mut raid = opened(spec);
    let (counts, _) = run(&mut raid, Operation::Write, 16, 40);
    assert!(2 * counts[0] > 3 * counts[39], "{counts:?}");
    assert!(mean(&counts[20..]) > 0.6 * through, "{through} {counts:?}");
    assert!(raid.cache.held() <= raid.cache.held_max());
}

#[test]
fn patrol_reads_and_checks_take_their_share() {
    for kind in [HappeningKind::Patrol, HappeningKind::Check] {
        let mut spec = array(5, 4);
        spec.events = vec![event(kind, 10, Some(10), None)];
        let mut raid = opened(spec);
        let (counts, _) = run(&mut raid, Operation::Read, 8, 30);
        let [before, during, after] = [&counts[1..10], &counts[11..20], &counts[22..30]].map(mean);
        assert!(during < 0.97 * before && during > 0.5 * before, "{kind:?} {before} {during}");
        assert!((after / before - 1.0).abs() < 0.1, "{before} {after}");
    }
}

#[test]
fn a_failed_member_makes_it_slower_and_a_new_one_is_rebuilt() {
    for (level, members) in [(5, 4), (10, 4), (1, 2)] {
        let mut spec = array(level, members);
        let fails = event(HappeningKind::Fail, 10, None, Some(1));
        spec.events = vec![fails, event(HappeningKind::Replace, 20, None, Some(1))];
        let mut raid = opened(spec);
        let (counts, failed) = run(&mut raid, Operation::Read, 16, 90);
        assert_eq!(failed, 0);
        let [before, degraded, after] = [&counts[1..10], &counts[11..20], &counts[80..90]].map(mean);
        assert!(degraded < 0.9 * before, "RAID {level}: {before} {degraded}");
        assert!((after / before - 1.0).abs() < 0.1, "RAID {level}: {before} {after}");
        let texts: Vec<String> = raid.incidents().into_iter().map(|incident| incident.text).collect();
        assert_eq!(texts, ["member 1 failed", "rebuild of member 1 began", "rebuild of member 1 ended"]);
        assert!(raid.members.numbers().all(|member| raid.members.works(member)));
    }
}

#[test]
fn degraded_writes_go_on_and_a_second_failure_loses_the_array() {
    let mut spec = array(5, 4);
    spec.cache.bytes = 8 * MIB;
    let fail = |at_s, member| event(HappeningKind::Fail, at_s, None, Some(member));
    spec.events = vec![fail(5, 0), fail(15, 2)];
    let mut raid = opened(spec.clone());
    let (counts, failed) = run(&mut raid, Operation::Write, 8, 14);
    assert!(failed == 0 && counts[12] > 0, "{counts:?}");
    let mut raid = opened(spec);
    let (_, failed) = run(&mut raid, Operation::Read, 8, 16);
    assert!(failed > 0);
    assert!(raid.incidents().iter().any(|incident| incident.text.contains("lost")));
}

#[test]
fn mirrors_survive_one_of_each_pair() {
    let fail = |at_s, member| event(HappeningKind::Fail, at_s, None, Some(member));
    let mut spec = array(10, 4);
    spec.events = vec![fail(1, 0), fail(2, 3)];
    assert_eq!(run(&mut opened(spec.clone()), Operation::Write, 8, 6).1, 0);
    spec.events.push(fail(3, 1));
    assert!(run(&mut opened(spec), Operation::Read, 8, 6).1 > 0);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |change: &dyn Fn(&mut Spec<storage::Spec>), word: &str| {
        let mut spec = array(5, 4);
        change(&mut spec);
        let why = Raid::new(spec, Opening { seed: 1, used_bytes: 0 }).err().expect(word);
        assert!(why.contains(word), "{why}");
    };
    refused(&|spec| spec.members = 2, "members");
    refused(&|spec| spec.level = 6, "level");
    refused(&|spec| spec.unit_bytes = 0, "stripe_unit");
    refused(&|spec| spec.capacity_bytes *= 2, "capacity");
    refused(&|spec| spec.controller.link_bytes_per_s = 0.0, "rate");
    refused(&|spec| spec.background.patrol_share = 0.0, "share");
    refused(&|spec| spec.events = vec![event(HappeningKind::Fail, 1, None, Some(9))], "member 9");
    refused(&|spec| spec.events = vec![event(HappeningKind::Replace, 1, None, None)], "member");
}

#[test]
fn a_seed_gives_the_same_run() {
    let counts = |seed| {
        let mut raid = Raid::new(array(5, 5), Opening { seed, used_bytes: 0 }).unwrap();
        run(&mut raid, Operation::Write, 16, 5).0
    };
    assert_eq!(counts(1), counts(1));
    assert_ne!(counts(1), counts(2));
}

/// Four small SSDs in RAID 5, with most of their life behind them.
fn worn_cards(read_errors: serde_json::Value) -> Spec<storage::Spec> {
    let card = serde_json::json!({
        "kind": "ssd", "capacity_bytes": 32 * MIB, "queue_depth": 32,
        "geometry": {"raw_bytes": 48 * MIB, "channels": 4, "dies_per_channel": 1, "planes_per_die": 1,
            "page_bytes": 4096, "pages_per_block": 16, "unit_blocks": 4, "mapping_bytes": 4096},
        "timing": {"read_ns": 25_000, "program_ns": 200_000, "erase_ns": 100_000, "channel_bytes_per_s": 2e8},
        "link": {"read_bytes_per_s": 1e9, "write_bytes_per_s": 1e9},
        "controller": {"request_ns": 3000, "parallel": 1, "latency_ns": 7000},
        "buffer": {"bytes": MIB, "power_safe": true},
        "collector": {"policy": {"name": "greedy"}, "relocation_bytes_per_s": 0.0},
        "wear": {"rated_cycles": 1000, "life_used": 0.5, "spread": 0.0, "static_threshold_cycles": 0,
            "initial_bad_share": 0.0},
        "read_errors": read_errors,
        "initial": {"name": "filled"},
    });
    let device = Box::new(serde_json::from_value(card).unwrap());
    let layout = Layout::new(5, 4, 65536, 32 * MIB).unwrap();
    let events = vec![event(HappeningKind::Fail, 1, None, Some(1)), event(HappeningKind::Replace, 2, None, Some(1))];
    Spec { device, events, capacity_bytes: layout.capacity_bytes(), ..array(5, 4) }
}

fn rebuilt(spec: Spec<storage::Spec>) -> (BTreeMap<String, f64>, Vec<String>) {
    let mut raid = Raid::new(spec.clone(), Opening { seed: 5, used_bytes: spec.capacity_bytes }).unwrap();
    run(&mut raid, Operation::Read, 1, 20);
    let mut series = Vec::new();
    raid.observe(20 * SECOND_NS, &mut series);
    (series.into_iter().collect(), raid.incidents().into_iter().map(|incident| incident.text).collect())
}

#[test]
fn what_replaces_an_old_member_is_new() {
    let (series, told) = rebuilt(worn_cards(serde_json::json!({})));
    assert!(series["member0_media_wearout"] < 60.0, "{series:?}");
    assert!(series["member1_media_wearout"] > 99.0, "{series:?}");
    assert_eq!(told.last().map(String::as_str), Some("rebuild of member 1 ended"));
}

#[test]
fn a_rebuild_tells_what_it_could_not_read() {
    let (_, told) = rebuilt(worn_cards(serde_json::json!({"uncorrectable_share_worn": 0.01})));
    let last = told.last().unwrap();
    assert!(last.starts_with("rebuild of member 1 ended, but ") && last.ends_with("are lost"), "{told:?}");
}
