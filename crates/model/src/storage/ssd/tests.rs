use serde_json::{Value, json};

use super::ftl::Policy;
use super::ftl::theory::write_amplification;
use super::*;
use crate::fileio::{self, Fileio};
use crate::storage::{self, Command, Ended, Failure, Operation};

mod collecting;

const PAGE: u64 = 16_384;

/// A small card: 8 channels of 2 dies; a mapping page is four planes: two dies on two channels.
fn card() -> Value {
    json!({
        "kind": "ssd", "capacity_bytes": 128 << 20, "queue_depth": 64,
        "geometry": {"raw_bytes": 160 << 20, "channels": 8, "dies_per_channel": 2, "planes_per_die": 2,
            "page_bytes": 4096, "pages_per_block": 16, "unit_blocks": 8, "mapping_bytes": 16384},
        "timing": {"read_ns": 25_000, "program_ns": 200_000, "erase_ns": 100_000, "channel_bytes_per_s": 8192e5},
        "link": {"read_bytes_per_s": 16384e5, "write_bytes_per_s": 16384e5, "flushes_alone": false},
        "controller": {"request_ns": 3000, "parallel": 1, "latency_ns": 7000, "write_bytes_per_s": 16384e4},
        "buffer": {"bytes": 1 << 20, "power_safe": true},
        "collector": {"policy": {"name": "greedy"}, "relocation_bytes_per_s": 8192e4},
        "wear": {"rated_cycles": 0, "life_used": 0.0, "spread": 0.0, "static_threshold_cycles": 0,
            "initial_bad_share": 0.0},
        "initial": {"name": "fresh"},
    })
}

/// With figures changed, each by its JSON pointer.
fn with(changes: &[(&str, Value)]) -> Value {
    let mut card = card();
    for (place, value) in changes {
        *card.pointer_mut(place).unwrap_or_else(|| panic!("{place} is not there")) = value.clone();
    }
    card
}

fn open(card: Value, used_bytes: u64) -> Box<dyn Device> {
    serde_json::from_value::<storage::Spec>(card).unwrap().open(Opening { seed: 1, used_bytes }).unwrap()
}

fn command(operation: Operation, offset: u64, bytes: u64) -> Command {
    Command { operation, offset, bytes }
}

fn write(page: u64) -> Command {
    command(Operation::Write, page * PAGE, PAGE)
}

fn read(page: u64) -> Command {
    command(Operation::Read, page * PAGE, PAGE)
}

/// Submits all at once and lets time pass until all have ended, in the order of their tags.
fn run(device: &mut dyn Device, now_ns: u64, commands: &[Command]) -> Vec<Ended> {
    for (tag, command) in commands.iter().enumerate() {
        device.submit(now_ns, tag as u64, *command);
    }
    let mut ended = Vec::new();
    while ended.len() < commands.len() {
        device.advance(u64::MAX - 1, &mut ended);
    }
    ended.sort_by_key(|one| one.tag);
    ended
}

/// A page at random.
fn any_page(number: u64, pages: u64) -> u64 {
    flatwater_core::seed::splitmix(number) % pages
}

/// How long one command takes on an idle device at `now_ns`.
fn takes_ns(device: &mut dyn Device, now_ns: u64, command: Command) -> u64 {
    run(device, now_ns, &[command])[0].at_ns - now_ns
}

fn observed(device: &mut dyn Device, now_ns: u64) -> std::collections::BTreeMap<String, f64> {
    let mut series = Vec::new();
    device.observe(now_ns, &mut series);
    series.into_iter().collect()
}

/// Random writes or reads over a share of the card: requests a second and the last interval's series.
fn load(card: Value, threads: u32, read_pct: f64, file_bytes: u64, seconds: u64) -> (f64, Vec<(String, f64)>) {
    let spec: fileio::Spec = serde_json::from_value(json!({
        "workload": {"sequential": false, "read_pct": read_pct, "block_sizes": [[PAGE, 100.0]], "files": 1,
            "file_bytes": file_bytes, "fsync_every": 0, "fsync": "none", "distribution": {"kind": "uniform"},
            "limit_bytes": 0, "seed": 1},
        "device": card, "threads": threads, "queue_depth": 1, "sync": false, "exclusive_writes": false,
        "rate_per_s": 0.0, "poisson": false, "continue_on_error": false, "interval_ms": seconds * 1000,
    }))
    .unwrap();
    let mut run = Fileio::start(spec, None).unwrap();
    let (interval, told) = run.next_interval().unwrap();
    assert_eq!(run.failure(), None);
    let requests: u64 = interval.kinds.iter().map(|kind| kind.operations).sum();
    (requests as f64 / seconds as f64, told.series)
}

fn series(told: &[(String, f64)], name: &str) -> f64 {
    told.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("{name} is not told")).1
}

#[test]
fn one_request_takes_the_sum_of_its_stages() {
    let mut card = open(card(), 0);
    // Controller 3 us, link 10 us, added 7 us; the buffer has it then.
    assert_eq!(takes_ns(&mut *card, 0, write(5)), 20_000);
    // Much later it is in flash: controller 3, die 25, two channels 10, link 10, added 7.
    assert_eq!(takes_ns(&mut *card, 1_000_000, read(5)), 55_000);
    // A quarter of it is one flash page: less to move.
    assert_eq!(takes_ns(&mut *card, 2_000_000, command(Operation::Read, 5 * PAGE, 4096)), 3000 + 25_000 + 5000 + 7000);
    // Nothing was ever written there: no die is asked.
    assert_eq!(takes_ns(&mut *card, 3_000_000, read(6)), 20_000);
}

#[test]
fn a_card_begins_anew_with_what_it_holds() {
    let preconditioned = json!({"name": "preconditioned", "simulate": false});
    for modules in [1, 2] {
        let mut figures = with(&[("/initial", preconditioned.clone()), ("/wear/rated_cycles", json!(1000))]);
        figures["modules"] = json!(modules);
        let mut card = open(figures, u64::from(modules as u32) * (128 << 20));
        let (full, all) = (observed(&mut *card, 1)["utilisation_pct"], card.capacity_bytes());
        let half: Vec<_> = (0..all).step_by(1 << 20).map(|at| (at, 512 << 10)).collect();
        // Its buffer is full of writes when it begins anew, and a read is under way: all of them end.
        for tag in 0..80 {
            card.submit(2, tag, write(tag));
        }
        card.submit(2, 80, read(7));
        let worn = card.state().unwrap();
        assert!(card.hold(2, &half));
        assert_eq!(card.state().unwrap().split("life_used").nth(1), worn.split("life_used").nth(1), "wear stays");
        let mut ended = Vec::new();
        while ended.len() < 81 {
            card.advance(u64::MAX - 1, &mut ended);
        }
        assert!(ended.iter().all(|one| one.result == Ok(())));
        // 80 of the pages were written since, half of which were held.
        let (now_ns, share) = (1 << 40, 40.0 * PAGE as f64 / all as f64);
        let utilisation = observed(&mut *card, now_ns)["utilisation_pct"];
        assert!((utilisation / full - 0.5 - share).abs() < 0.01, "{utilisation} of {full}");
        // A page that is held is read from flash, and no other one.
        assert!(
            takes_ns(&mut *card, now_ns, read(64 * 100))
                > takes_ns(&mut *card, now_ns + (1 << 30), read(64 * 100 + 40))
        );
    }
}

#[test]
fn what_others_occupy_counts_from_the_beginning() {
    let preconditioned = json!({"name": "preconditioned", "simulate": false});
    let mut figures = with(&[("/initial", preconditioned)]);
    let mut utilisation = |occupied: u64, used: u64| {
        figures["occupied_bytes"] = json!(occupied);
        observed(&mut *open(figures.clone(), used), 1)["utilisation_pct"]
    };
    assert_eq!(utilisation(64 << 20, 1 << 20), utilisation(0, 64 << 20));
    assert_eq!(utilisation(1 << 20, 64 << 20), utilisation(0, 64 << 20), "the larger of both");
}

#[test]
fn without_a_buffer_a_write_ends_when_it_is_programmed() {
    let mut card = open(with(&[("/buffer/bytes", json!(0))]), 0);
    assert_eq!(takes_ns(&mut *card, 0, write(0)), 3000 + 10_000 + 10_000 + 200_000 + 7000);
    assert_eq!(takes_ns(&mut *card, 1_000_000, command(Operation::Flush, 0, 0)), 10_000);
}

#[test]
fn a_page_that_is_still_in_the_buffer_is_read_from_there() {
    let mut card = open(card(), 0);
    let ended = run(&mut *card, 0, &[write(0)]);
    assert_eq!(takes_ns(&mut *card, ended[0].at_ns, read(0)), 20_000);
}

#[test]
fn a_flush_waits_for_flash_only_where_the_buffer_is_lost_with_the_power() {
    let flush = command(Operation::Flush, 0, 0);
    for (power_safe, least_ns) in [(true, 0), (false, 200_000)] {
        let mut card = open(with(&[("/buffer/power_safe", json!(power_safe))]), 0);
        let ended = run(&mut *card, 0, &[write(0)]);
        let took_ns = takes_ns(&mut *card, ended[0].at_ns, flush);
        assert!((least_ns..least_ns + 30_000).contains(&took_ns), "{power_safe}: {took_ns}");
        assert_eq!(takes_ns(&mut *card, 10_000_000, flush), 10_000, "there is nothing left to write");
    }
}

#[test]
fn over_sata_a_flush_is_alone() {
    let flush = command(Operation::Flush, 0, 0);
    for alone in [false, true] {
        let mut card = open(with(&[("/link/flushes_alone", json!(alone))]), 1 << 24);
        let ends_ns =
            run(&mut *card, 0, &[read(0), flush, flush, read(9)]).iter().map(|one| one.at_ns).collect::<Vec<_>>();
        let (read_ns, flush_ns) = (takes_ns(&mut *card, 10_000_000, read(0)), takes_ns(&mut *card, 20_000_000, flush));
        if alone {
            assert_eq!(ends_ns[..2], [read_ns, read_ns + flush_ns], "it begins when the read has ended");
            assert!(ends_ns[2] - ends_ns[1] < flush_ns, "the next flush begins beside it");
            assert_eq!(ends_ns[3] - ends_ns[2], read_ns, "the other read begins when both have ended");
        } else {
            assert!(ends_ns[1] < ends_ns[0] && ends_ns[3] < 2 * read_ns, "{ends_ns:?}");
        }
    }
}

#[test]
fn requests_a_second_are_limited_by_the_controller() {
    for (parallel, expected) in [(1, 50_000.0), (2, 100_000.0)] {
        let changes = [("/controller/request_ns", json!(20_000)), ("/controller/parallel", json!(parallel))];
        let (per_s, _) = load(with(&changes), 32, 100.0, 1 << 24, 1);
        assert!((per_s / expected - 1.0).abs() < 0.001, "{per_s}");
    }
}

#[test]
fn what_is_over_the_queue_depth_waits_in_its_order() {
    let mut card = open(with(&[("/queue_depth", json!(1))]), 0);
    let ended = run(&mut *card, 0, &[read(0), read(1), read(2)]);
    assert_eq!(ended.iter().map(|one| one.at_ns).collect::<Vec<_>>(), [20_000, 40_000, 60_000]);
}

#[test]
fn reads_of_one_die_queue_and_of_different_dies_do_not() {
    let mut device = open(card(), 0);
    run(&mut *device, 0, &[write(0), write(1)]);
    let apart = run(&mut *device, 1_000_000, &[read(0), read(1)]);
    assert_eq!(apart[1].at_ns - apart[0].at_ns, 10_000, "only the link is shared");
    let same = run(&mut *device, 2_000_000, &[read(0), read(0)]);
    assert_eq!(same[1].at_ns - same[0].at_ns, 25_000, "the die reads them one after another");
}

#[test]
fn more_readers_read_more_until_dies_collide_and_the_link_is_full() {
    let mut card = with(&[("/initial", json!({"name": "filled"}))]);
    card["timing"]["read_ns"] = json!(100_000);
    let rates: Vec<_> = [1, 2, 8, 64].iter().map(|threads| load(card.clone(), *threads, 100.0, 1 << 26, 1).0).collect();
    assert!((rates[1] / rates[0] - 2.0).abs() < 0.3, "{rates:?}");
    assert!(rates[2] > 4.0 * rates[0] && rates[2] < 7.5 * rates[0], "{rates:?}");
    // Eight ways of 100 us.
    assert!(rates[3] > 0.85 * 80_000.0 && rates[3] <= 80_000.0, "{rates:?}");
}

/// 1/T = 1/K + (A-1)/Kg: the collector's pages go at their own rate while the host's wait.
#[test]
fn a_write_of_a_part_reads_the_rest_first() {
    let mut device = open(card(), 0);
    run(&mut *device, 0, &[write(0)]);
    let before = observed(&mut *device, 1_000_000)["dies_busy_pct"];
    run(&mut *device, 1_000_000, &[command(Operation::Write, 0, 4096)]);
    run(&mut *device, 2_000_000, &[read(9)]);
    let after = observed(&mut *device, 2_000_000);
    assert!(after["dies_busy_pct"] > before * 1.1, "a read more than before: {before} {}", after["dies_busy_pct"]);
    assert_eq!(after["write_amplification"], 4.0);
}

#[test]
fn parts_that_follow_one_another_are_one_page() {
    let mut device = open(card(), 0);
    let parts: Vec<_> = (0..4).map(|part| command(Operation::Write, part * 4096, 4096)).collect();
    // The first begins to leave at once; behind it the others become one.
    let behind = [write(7), write(8), write(9), write(10), write(11), write(12)];
    run(&mut *device, 0, &[&behind[..], &parts[..]].concat());
    run(&mut *device, 10_000_000, &[read(9)]);
    assert_eq!(observed(&mut *device, 10_000_000)["write_amplification"], 1.0);
}

#[test]
fn outside_of_the_device_is_full() {
    let mut device = open(card(), 0);
    for bad in [write((128 << 20) / PAGE), command(Operation::Read, u64::MAX, 2)] {
        assert_eq!(run(&mut *device, 0, &[bad])[0].result, Err(Failure::Full));
    }
}

#[test]
fn the_last_page_may_be_there_in_part() {
    // Neither whole pages nor, striped, whole modules of them.
    for modules in [1, 2] {
        let mut odd = with(&[("/capacity_bytes", json!((100 << 20) + 512))]);
        (odd["stripe_bytes"], odd["modules"]) = (json!(24 << 10), json!(modules));
        let mut device = open(odd, 0);
        let last = device.capacity_bytes() - 512;
        let ended = run(&mut *device, 0, &[command(Operation::Write, last, 512), command(Operation::Read, last, 512)]);
        assert!(ended.iter().all(|one| one.result.is_ok()), "{ended:?}");
        let whole = command(Operation::Trim, 0, device.capacity_bytes());
        assert_eq!(run(&mut *device, 1 << 30, &[whole])[0].result, Ok(()));
        assert_eq!(run(&mut *device, 1 << 31, &[command(Operation::Read, last, 513)])[0].result, Err(Failure::Full));
    }
}

#[test]
fn two_modules_are_twice_the_card() {
    let mut two = card();
    two["modules"] = json!(2);
    let (one, two) = (card(), two);
    for read_pct in [0.0, 100.0] {
        let (single, _) = load(one.clone(), 32, read_pct, 1 << 24, 1);
        let (double, told) = load(two.clone(), 64, read_pct, 1 << 25, 1);
        assert!((double / single - 2.0).abs() < 0.05, "{read_pct}: {single} {double}");
        assert!(series(&told, "link_busy_pct") <= 100.0);
    }
    let mut device = open(two, 0);
    let over_both = command(Operation::Write, 32_768, 65_536);
    let ended = run(&mut *device, 0, &[over_both, command(Operation::Flush, 0, 0), command(Operation::Trim, 0, 0)]);
    assert!(ended.iter().all(|one| one.result.is_ok()));
    assert_eq!(run(&mut *device, 1 << 30, &[command(Operation::Read, 256 << 20, 1)])[0].result, Err(Failure::Full));
}

#[test]
fn the_same_seed_ends_the_same_commands_at_the_same_times() {
    let initial = json!({"name": "preconditioned", "simulate": false});
    let histories = [1, 1, 2].map(|seed| {
        let spec: storage::Spec = serde_json::from_value(with(&[("/initial", initial.clone())])).unwrap();
        let mut device = spec.open(Opening { seed, used_bytes: 128 << 20 }).unwrap();
        let (mut now_ns, mut all) = (0, Vec::new());
        for number in 0..500u64 {
            let pages = [number * 7, number * 13 + 1, number * 31].map(|page| page % 8192);
            let ended = run(&mut *device, now_ns, &[write(pages[0]), read(pages[1]), write(pages[2])]);
            now_ns = ended.iter().map(|one| one.at_ns).max().unwrap();
            all.extend(ended);
        }
        all
    });
    assert_eq!(histories[0], histories[1]);
    assert_ne!(histories[0], histories[2]);
}

#[test]
fn a_figure_that_cannot_be_is_named() {
    let wrong = [
        ("/timing/channel_bytes_per_s", json!(0.0), "timing.channel_bytes_per_s"),
        ("/link/read_bytes_per_s", json!(-1.0), "link.read_bytes_per_s"),
        ("/collector/relocation_bytes_per_s", json!(-1.0), "collector.relocation_bytes_per_s"),
        ("/geometry/channels", json!(0), "channels"),
        ("/geometry/unit_blocks", json!(17), "unit_blocks"),
        ("/geometry/mapping_bytes", json!(3000), "mapping_bytes"),
        ("/geometry/page_bytes", json!(4_000_000_000u32), "spare"),
        ("/capacity_bytes", json!(160 << 20), "spare"),
        ("/queue_depth", json!(0), "queue_depth"),
    ];
    for (place, value, word) in wrong {
        let spec: storage::Spec = serde_json::from_value(with(&[(place, value)])).unwrap();
        let error = spec.open(Opening { seed: 1, used_bytes: 0 }).err().unwrap();
        assert!(error.contains(word), "{place}: {error}");
    }
}
