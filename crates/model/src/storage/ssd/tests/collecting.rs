//! The collector, spare space and the end of life, as the host sees them.

use super::*;

#[test]
fn throughput_follows_write_amplification_and_the_collectors_rate() {
    let mut card = card();
    card["geometry"]["raw_bytes"] = json!(640 << 20);
    card["capacity_bytes"] = json!(540 << 20);
    let used = |share: u64| (540 << 20) / 100 * share / PAGE * PAGE;
    let (host, _) = load(card.clone(), 16, 0.0, used(20), 30);
    assert!((host / 10_000.0 - 1.0).abs() < 0.01, "{host}");
    card["initial"] = json!({"name": "preconditioned", "simulate": false});
    for pace in ["unit", "spread"] {
        card["collector"]["pace"] = json!(pace);
        for share in [80, 100] {
            let (per_s, told) = load(card.clone(), 16, 0.0, used(share), 40);
            // Usable: without the open unit and the collector's two.
            let (unit, units) = (8 * 2 * 16 * 4096 / PAGE, 640 * 1024 / 1024);
            let utilisation = (used(share) / PAGE) as f64 / ((units - 3) * unit) as f64;
            let theory = write_amplification(Policy::Greedy, utilisation, unit as u32);
            let expected = 1.0 / (1.0 / host + (theory - 1.0) / (host / 2.0));
            let told = series(&told, "write_amplification");
            assert!((told / theory - 1.0).abs() < 0.03, "{pace} {share} %: told {told}, theory {theory}");
            assert!((per_s / expected - 1.0).abs() < 0.03, "{pace} {share} %: {per_s}, law {expected}");
        }
    }
}

#[test]
fn a_unit_at_a_time_is_a_burst_and_spreading_it_is_not() {
    let waits = ["unit", "spread"].map(|pace| {
        let changes =
            [("/initial", json!({"name": "preconditioned", "simulate": false})), ("/capacity_bytes", json!(128 << 20))];
        let mut card = with(&changes);
        card["collector"]["pace"] = json!(pace);
        let mut device = open(card, 128 << 20);
        let (mut now_ns, mut longest_ns) = (0, 0);
        for number in 0..4000u64 {
            let page = any_page(number, 8192);
            let ended = run(&mut *device, now_ns, &[write(page)]);
            longest_ns = longest_ns.max(ended[0].at_ns - now_ns);
            now_ns = ended[0].at_ns;
        }
        longest_ns
    });
    assert!(waits[0] > 5 * waits[1], "{waits:?}");
}

#[test]
fn reads_wait_for_dies_that_the_collector_uses() {
    let initial = json!({"name": "preconditioned", "simulate": false});
    let card = with(&[("/initial", initial), ("/link/write_bytes_per_s", json!(16384e4))]);
    let mut device = open(card.clone(), 128 << 20);
    let alone_ns = takes_ns(&mut *device, 0, read(1));
    let (mixed, _) = load(card.clone(), 16, 50.0, 128 << 20, 2);
    let (reads, _) = load(card, 16, 100.0, 128 << 20, 2);
    assert!(mixed < reads / 2.0, "{mixed} {reads}, one alone {alone_ns} ns");
}

#[test]
fn what_was_trimmed_is_spare() {
    let initial = json!({"name": "preconditioned", "simulate": false});
    let amplification = |trims: bool| {
        let mut device = open(with(&[("/initial", initial.clone())]), 128 << 20);
        if trims {
            run(&mut *device, 0, &[command(Operation::Trim, 64 << 20, 64 << 20)]);
        }
        let mut now_ns = 1_000_000;
        for round in 0..2 {
            for number in 0..8192u64 {
                let page = any_page(number + round * 10_000, 4096);
                now_ns = run(&mut *device, now_ns, &[write(page)])[0].at_ns;
            }
            let told = observed(&mut *device, now_ns);
            if round == 1 {
                return told["write_amplification"];
            }
        }
        unreachable!()
    };
    let (without, with) = (amplification(false), amplification(true));
    assert!(with < 1.2 && without > with + 0.1, "{without} {with}");
    let mut device = open(card(), 0);
    run(&mut *device, 0, &[write(3)]);
    run(&mut *device, 1_000_000, &[command(Operation::Trim, 3 * PAGE, PAGE)]);
    assert_eq!(takes_ns(&mut *device, 2_000_000, read(3)), 20_000, "no die is asked for it");
}

#[test]
fn at_the_end_of_its_life_it_only_reads() {
    for buffer in [0, 1 << 20] {
        let wear = json!({"rated_cycles": 20, "life_used": 0.0, "spread": 0.1, "static_threshold_cycles": 0,
            "initial_bad_share": 0.0});
        let mut device = open(with(&[("/wear", wear), ("/buffer/bytes", json!(buffer))]), 0);
        let (mut now_ns, mut result, mut wearout) = (0, Ok(()), Vec::new());
        for number in 0..2_000_000u64 {
            let ended = run(&mut *device, now_ns, &[write(any_page(number, 8192))]);
            (now_ns, result) = (ended[0].at_ns, ended[0].result);
            if number % 20_000 == 0 {
                wearout.push(observed(&mut *device, now_ns)["media_wearout"]);
            }
            if result.is_err() {
                break;
            }
        }
        assert_eq!(result, Err(Failure::ReadOnly));
        assert!(wearout.is_sorted_by(|before, after| before >= after), "{wearout:?}");
        let told = observed(&mut *device, now_ns);
        assert!(told["bad_blocks"] > 0.0 && told["media_wearout"] < 40.0, "{told:?}");
        assert_eq!(device.incidents().iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["read-only: worn out"]);
        assert_eq!(
            run(&mut *device, now_ns, &[read(1), write(1)]).iter().map(|one| one.result).collect::<Vec<_>>(),
            [Ok(()), Err(Failure::ReadOnly)]
        );
        assert!(device.state().unwrap().contains(r#""life_used":"#));
    }
}

#[test]
fn read_errors_come_at_their_rate_and_cost_time() {
    let mut card = with(&[("/initial", json!({"name": "filled"}))]);
    card["read_errors"] = json!({"retry_share_new": 0.25, "retry_share_worn": 0.25, "uncorrectable_share_new": 0.01,
        "uncorrectable_share_worn": 0.01});
    let mut device = open(card, 128 << 20);
    let (mut failures, mut slow, mut now_ns) = (0, 0, 0);
    for number in 0..4000 {
        let ended = run(&mut *device, now_ns, &[read(number)]);
        failures += u32::from(ended[0].result == Err(Failure::Medium));
        slow += u32::from(ended[0].at_ns - now_ns > 55_000);
        now_ns = ended[0].at_ns;
    }
    assert!((20..70).contains(&failures), "{failures}");
    assert!((900..1150).contains(&slow), "{slow}");
}
