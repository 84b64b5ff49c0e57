use super::*;

/// A small disk of 10,000 rpm.
pub fn disk() -> Spec {
    Spec {
        capacity_bytes: 4_000_000_000,
        revolution_ns: 6_000_000,
        revolution_spread: 0.001,
        heads: 4,
        zones: 8,
        outer_bytes_per_s: 90e6,
        inner_bytes_per_s: 50e6,
        seek: SeekSpec { track_to_track_ns: 300_000, average_ns: 4_000_000, full_stroke_ns: 8_000_000 },
        write_settle_ns: 300_000,
        head_switch_ns: 300_000,
        queue_depth: 32,
        age_limit_ns: 500_000_000,
        overhead_ns: 100_000,
        link_bytes_per_s: 300e6,
        flushes_alone: false,
        read_ahead_bytes: 1 << 20,
        write_cache_bytes: 0,
    }
}

fn opened(spec: Spec) -> Hdd {
    Hdd::new(spec, Opening { seed: 1, used_bytes: 0 }).unwrap()
}

/// Keeps `depth` commands outstanding, each chosen by its number; seconds that all took, and when each ended.
fn run(disk: &mut Hdd, count: u64, depth: u64, command: impl Fn(u64) -> Command) -> (f64, Vec<Ended>) {
    let (mut sent, mut all, mut ended) = (0, Vec::new(), Vec::new());
    let begin_ns = disk.observed_ns;
    while sent < depth.min(count) {
        disk.submit(begin_ns, sent, command(sent));
        sent += 1;
    }
    while (all.len() as u64) < count {
        disk.advance(u64::MAX, &mut ended);
        assert!(!ended.is_empty(), "{} of {count} never ended", all.len());
        for one in ended.drain(..) {
            all.push(one);
            if sent < count {
                disk.submit(one.at_ns, sent, command(sent));
                sent += 1;
            }
        }
    }
    ((all[all.len() - 1].at_ns - begin_ns) as f64 / 1e9, all)
}

fn random(operation: Operation, within: u64) -> impl Fn(u64) -> Command {
    move |number| Command { operation, offset: splitmix(number) % (within / 16384) * 16384, bytes: 16384 }
}

fn sequential(operation: Operation, first: u64, bytes: u64) -> impl Fn(u64) -> Command {
    move |number| Command { operation, offset: first + number * bytes, bytes }
}

#[test]
fn a_random_read_takes_an_average_seek_and_half_a_turn() {
    let spec = disk();
    let expected_s = (spec.seek.average_ns + spec.revolution_ns / 2 + spec.overhead_ns) as f64 / 1e9 + 16384.0 / 70e6;
    let (s, _) = run(&mut opened(spec.clone()), 2000, 1, random(Operation::Read, spec.capacity_bytes));
    let mean_s = s / 2000.0;
    assert!((mean_s / expected_s - 1.0).abs() < 0.05, "{mean_s} {expected_s}");
}

#[test]
fn a_queue_makes_random_reads_faster_by_reordering_them() {
    let bytes = disk().capacity_bytes;
    let (alone_s, _) = run(&mut opened(disk()), 2000, 1, random(Operation::Read, bytes));
    let (queued_s, _) = run(&mut opened(disk()), 2000, 32, random(Operation::Read, bytes));
    assert!(alone_s / queued_s >= 1.8, "{}", alone_s / queued_s);
}

#[test]
fn nothing_starves_in_the_queue() {
    // One read far inside, among reads that are all near the outside.
    let far = |number: u64| Command {
        operation: Operation::Read,
        offset: if number == 5 { 3_900_000_000 } else { splitmix(number) % 2000 * 16384 },
        bytes: 16384,
    };
    let (_, all) = run(&mut opened(disk()), 4000, 32, far);
    let (age_ns, end_ns) = (disk().age_limit_ns, all.iter().find(|one| one.tag == 5).unwrap().at_ns);
    assert!(end_ns < age_ns + 100_000_000, "{end_ns}");
}

#[test]
fn sequential_reads_come_near_the_rate_of_their_zone() {
    for bytes in [16384, 1 << 20] {
        let rate = |first| {
            let count = (64 << 20) / bytes;
            let (s, _) = run(&mut opened(disk()), count, 1, sequential(Operation::Read, first, bytes));
            (count * bytes) as f64 / s
        };
        let (outer, inner) = (rate(0), rate(3_900_000_000));
        assert!((0.9..1.02).contains(&(outer / disk().outer_bytes_per_s)), "{bytes}: {outer}");
        assert!((0.9..1.02).contains(&(inner / disk().inner_bytes_per_s)), "{bytes}: {inner}");
    }
}

#[test]
fn small_sequential_writes_miss_a_turn_each_unless_they_are_cached() {
    let write = sequential(Operation::Write, 0, 16384);
    let (through_s, _) = run(&mut opened(disk()), 500, 1, &write);
    assert!((through_s / 500.0 / 6e-3 - 1.0).abs() < 0.1, "{through_s}");
    let mut cached = opened(Spec { write_cache_bytes: 8 << 20, ..disk() });
    let (back_s, _) = run(&mut cached, 4000, 1, &write);
    let rate = 4000.0 * 16384.0 / back_s;
    assert!(rate > 0.7 * disk().outer_bytes_per_s && rate < 1.2 * disk().outer_bytes_per_s, "{rate}");
}

#[test]
fn a_write_back_cache_is_faster_until_it_is_full_and_a_flush_waits_for_it() {
    let bytes = disk().capacity_bytes;
    let (through_s, _) = run(&mut opened(disk()), 1000, 1, random(Operation::Write, bytes));
    let mut cached = opened(Spec { write_cache_bytes: 4 << 20, ..disk() });
    let (burst_s, _) = run(&mut cached, 200, 1, random(Operation::Write, bytes));
    assert!(burst_s < 0.1, "{burst_s}");
    let mut ended = Vec::new();
    cached.submit(burst_s as u64, 0, Command { operation: Operation::Flush, offset: 0, bytes: 0 });
    cached.advance(u64::MAX, &mut ended);
    assert!(ended[0].at_ns > 200 * 1_000_000 && cached.is_clean(), "{ended:?}");
    let mut cached = opened(Spec { write_cache_bytes: 4 << 20, ..disk() });
    let (back_s, _) = run(&mut cached, 3000, 1, random(Operation::Write, bytes));
    assert!(back_s / 3000.0 < 0.8 * through_s / 1000.0, "{back_s} {through_s}");
}

#[test]
fn a_flush_ends_although_writes_go_on() {
    for flushes_alone in [false, true] {
        let mut disk = opened(Spec { write_cache_bytes: 4 << 20, flushes_alone, ..disk() });
        let command = |number| match number {
            100 => Command { operation: Operation::Flush, offset: 0, bytes: 0 },
            _ => random(Operation::Write, 4_000_000_000)(number),
        };
        let (_, all) = run(&mut disk, 3000, 8, command);
        let flush = all.iter().position(|ended| ended.tag == 100).unwrap();
        // None of the writes that came after it was answered before it, but for those that were in the disk already.
        assert!(all[..flush].iter().all(|ended| ended.tag < 100 + 8), "{flush}");
        assert!(flush < 100 + 8 && disk.flushes.in_flight == 0, "{flush}");
    }
}

#[test]
fn over_sata_a_flush_is_alone() {
    let read = |number| match number {
        1 => Command { operation: Operation::Flush, offset: 0, bytes: 0 },
        _ => random(Operation::Read, 4_000_000_000)(number),
    };
    let order = |flushes_alone| {
        let (_, all) = run(&mut opened(Spec { flushes_alone, ..disk() }), 8, 8, read);
        all.iter().position(|ended| ended.tag == 1).unwrap()
    };
    assert_eq!((order(false), order(true)), (0, 1), "it waits for the read before it, and no other");
}

#[test]
fn a_seed_gives_the_same_run_and_another_one_another() {
    let times = |seed| {
        let mut disk = Hdd::new(disk(), Opening { seed, used_bytes: 0 }).unwrap();
        run(&mut disk, 300, 8, random(Operation::Read, 4_000_000_000)).1
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
}

#[test]
fn what_is_outside_of_the_disk_fails_and_zero_rates_are_refused() {
    let (_, all) = run(&mut opened(disk()), 1, 1, |_| Command {
        operation: Operation::Read,
        offset: disk().capacity_bytes,
        bytes: 512,
    });
    assert_eq!(all[0].result, Err(Failure::Full));
    let zero = Spec { outer_bytes_per_s: 0.0, ..disk() };
    assert!(Hdd::new(zero, Opening { seed: 1, used_bytes: 0 }).is_err());
}

#[test]
fn nothing_takes_hardly_any_time() {
    for operation in [Operation::Read, Operation::Write, Operation::Flush, Operation::Trim] {
        let (s, all) = run(&mut opened(disk()), 1, 1, |_| Command { operation, offset: 0, bytes: 0 });
        assert!(all[0].result.is_ok() && s < 1e-3, "{operation:?} {s}");
    }
}
