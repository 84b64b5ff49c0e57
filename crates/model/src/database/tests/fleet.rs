//! Tests of several servers on one machine.

use super::super::ids::PAGE_BYTES;
use super::super::tests::spec;
use super::*;

/// Everything in the pool, and a mutex that lets one server do 4,000 statements a second.
fn limited(servers: u32, changes: &[(&str, serde_json::Value)]) -> Spec {
    let mut all: Vec<(&str, serde_json::Value)> =
        vec![("/settings/innodb_buffer_pool_size", (2_u64 << 30).into()), ("/workload/mode", "read_only".into())];
    all.extend_from_slice(changes);
    let mut spec = spec(&all);
    spec.servers = servers;
    spec.cpu.mutex_ns = 250_000;
    spec
}

/// Statements and transactions a second of the seconds 2 to 5, and the series of the last.
fn run(spec: Spec) -> (f64, Vec<(String, f64)>) {
    let mut run = Fleet::start(spec).unwrap();
    let (mut statements, mut last) = (0, Vec::new());
    for second in 0..5 {
        let (interval, told) = run.next_interval().unwrap();
        assert_eq!(run.failure(), None);
        if second > 0 {
            statements += interval.counters[0].1;
        }
        last = told.series;
    }
    (statements as f64 / 4.0, last)
}

#[test]
fn two_servers_do_more_than_one_where_a_mutex_is_the_limit() {
    let (one, _) = run(limited(1, &[]));
    let (two, _) = run(limited(2, &[]));
    let (four, _) = run(limited(4, &[]));
    assert!((3900.0..=4050.0).contains(&one), "{one} statements a second through a mutex that lets 4,000");
    assert!(two > 1.9 * one && four > 3.6 * one, "{one}, {two}, {four}");
}

#[test]
fn they_share_the_cores() {
    // A core does 5,000 statements of 200 us; one server's mutex lets 4,000 through, those of four 16,000.
    let slow =
        [("/cores", 1.into()), ("/cpu/touch_ns", 0.into()), ("/cpu/statement_ns", serde_json::Value::from(200_000))];
    let (one, _) = run(limited(1, &slow));
    let (four, told) = run(limited(4, &slow));
    let busy = told.iter().find(|(name, _)| name == "database.server_cpu_user_pct").unwrap().1;
    assert!(four < 5_050.0 && four > one, "{one}, and {four} on a core that does 5,000");
    assert!((95.0..=101.0).contains(&busy), "a core is {busy} % busy");
}

#[test]
fn they_share_a_slow_device_fairly() {
    let mut slow = spec(&[("/device/read_bytes_per_s", 20e6.into()), ("/device/write_bytes_per_s", 20e6.into())]);
    slow.servers = 4;
    let mut run = Fleet::start(slow.clone()).unwrap();
    let mut done = [0_u64; 4];
    for _ in 0..20 {
        let end_ns = run.now_ns + 1_000_000_000;
        while run.now_ns < end_ns {
            run.step(end_ns);
        }
        for (done, server) in done.iter_mut().zip(&run.servers) {
            *done = server.ended();
        }
    }
    let (least, most) = (done.iter().min().unwrap(), done.iter().max().unwrap());
    assert!(*least > 20 && *most * 10 < *least * 13, "seed {}: {done:?}", slow.seed);
}

#[test]
fn the_same_spec_gives_the_same_run_and_servers_are_not_alike() {
    let take = || {
        let mut several = spec(&[]);
        several.servers = 2;
        let mut run = Fleet::start(several).unwrap();
        (0..5).map(|_| run.next_interval().unwrap().1.series).collect::<Vec<_>>()
    };
    let (first, second) = (take(), take());
    assert_eq!(first, second);
    let of = |name: &str| first[4].iter().find(|(own, _)| own == name).unwrap().1;
    assert_ne!(of("database.instance0_dirty_pct"), of("database.instance1_dirty_pct"));
}

#[test]
fn each_has_its_own_part_of_every_device() {
    let mut several = spec(&[]);
    several.servers = 4;
    let run = Fleet::start(several).unwrap();
    let mut end = 0;
    for server in &run.servers {
        let placement = server.host().placement();
        let (first, last) = (placement.doublewrite().1, placement.of_page(server.last_page()).1);
        assert!(first >= end, "{first} is not behind {end}");
        assert!(placement.log().1 > first && placement.log().1 < last);
        end = last + PAGE_BYTES;
    }
    assert!(end <= *run.servers[3].host().placement().used_bytes().last().unwrap());
}

#[test]
fn a_device_of_the_bytes_that_are_told_is_just_large_enough() {
    for (generation, changes) in [
        ("percona-5.5", vec![]),
        (
            "mysql-8.0",
            vec![("/settings/log_bin", true.into()), ("/settings/innodb_redo_log_capacity", (1_u64 << 30).into())],
        ),
    ] {
        let with = |capacity: u64| {
            let mut all = changes.clone();
            all.extend([("/generation", generation.into()), ("/device/capacity_bytes", capacity.into())]);
            spec(&all)
        };
        let needed = Fleet::used_bytes(&with(1)).unwrap();
        assert_eq!(needed.len(), 1);
        assert!(Fleet::start(with(needed[0])).is_ok());
        let told = Fleet::start(with(needed[0] - 1)).err().unwrap();
        assert_eq!(told, format!("the data take {} B, and the device has {} B", needed[0], needed[0] - 1));
    }
}

#[test]
fn sums_are_of_all_and_shares_of_the_sums() {
    let mut several = spec(&[]);
    several.servers = 2;
    let (_, told) = run(several);
    let of = |name: &str| told.iter().find(|(own, _)| *own == format!("database.{name}")).unwrap().1;
    let sum = |name: &str| of(&format!("instance0_{name}")) + of(&format!("instance1_{name}"));
    for name in ["checkpoint_age_bytes", "pages_flushed_per_s"] {
        assert!((of(name) - sum(name)).abs() < 1e-6 * sum(name), "{name}: {}", of(name));
    }
    assert!((of("dirty_pct") - sum("dirty_pct") / 2.0).abs() < 0.1, "{}", of("dirty_pct"));
    // 64 MiB between them, but for a pool's own.
    assert!((of("pages_data") + of("pages_free") - 4096.0).abs() < 1.0);
    assert!((0.01..0.99).contains(&of("hit_ratio")));
}

#[test]
fn what_cannot_be_shared_out_is_told() {
    let text = |servers, path, value: u32| {
        let mut several = spec(&[(path, value.into())]);
        several.servers = servers;
        Fleet::start(several).err().unwrap()
    };
    let told = text(3, "/connections", 16);
    assert_eq!(told, "workload.connections: 16 cannot be shared out evenly among 3 servers (database.servers)");
    assert!(text(3, "/connections", 15).starts_with("workload.tables: 4 cannot"));
    assert!(text(0, "/connections", 16).starts_with("database.servers must be 1"));
}
