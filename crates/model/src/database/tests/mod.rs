//! Tests of whole runs.

use super::ids::PAGE_BYTES;
use super::*;

mod adaptive_hash;
mod buffering;
mod logs;
mod placed;
mod places;
mod rows;

pub(super) fn spec(changes: &[(&str, serde_json::Value)]) -> Spec {
    // By itself: one macro expands only so far.
    let settings = serde_json::json!({
        "innodb_buffer_pool_size": 64 << 20, "innodb_log_file_size": 8 << 20, "innodb_log_files_in_group": 2,
        "innodb_log_block_size": 512, "innodb_log_write_ahead_size": 512, "innodb_log_buffer_size": 8 << 20,
        "innodb_flush_method": "O_DIRECT", "innodb_log_file_buffering": false, "innodb_use_fdatasync": true,
        "log_bin": false, "sync_binlog": 0, "max_binlog_size": 1 << 30, "innodb_flush_log_at_trx_commit": 1,
        "innodb_thread_concurrency": 0, "innodb_io_capacity": 200, "innodb_max_dirty_pages_pct": 75.0,
        "innodb_adaptive_flushing": true, "innodb_adaptive_flushing_method": "estimate",
        "innodb_cleaner_lsn_age_factor": "legacy", "innodb_doublewrite": true, "innodb_flush_neighbors": 2,
        "innodb_checkpoint_age_target": 0, "innodb_redo_log_capacity": 0, "innodb_io_capacity_max": 2000,
        "innodb_max_dirty_pages_pct_lwm": 0.0, "innodb_adaptive_flushing_lwm": 10.0,
        "innodb_flushing_avg_loops": 30, "innodb_flush_sync": true, "innodb_lru_scan_depth": 1024,
        "innodb_buffer_pool_instances": 1, "innodb_old_blocks_time": 0, "innodb_page_cleaners": 4,
        "innodb_purge_threads": 4, "innodb_purge_batch_size": 127, "innodb_doublewrite_pages": 4,
        "innodb_file_per_table": false, "innodb_change_buffering": "none",
        "innodb_change_buffer_max_size": 50, "innodb_read_ahead_threshold": 56, "innodb_random_read_ahead": false,
        "innodb_adaptive_hash_index": false,
    });
    let mut spec = serde_json::json!({
        "workload": {
            "kind": "oltp", "mode": "read_write", "tables": 4, "rows": 500_000, "range_size": 100,
            "distribution": {"kind": "uniform"}, "point_selects": 10, "simple_ranges": 1, "sum_ranges": 1,
            "order_ranges": 1, "distinct_ranges": 1, "index_updates": 1, "non_index_updates": 1, "delete_inserts": 1,
            "range_selects": true, "skip_trx": false, "auto_inc": true, "secondary": false, "prepared": true,
            "pipeline": false,
        },
        "connections": 16,
        "generation": "percona-5.5",
        "settings": settings,
        "cores": 8,
        "cpu": {"statement_ns": 50_000, "touch_ns": 4_000, "read_ns": 30_000, "write_ns": 20_000},
        "warm": true,
        "device": {
            "kind": "memory", "capacity_bytes": 4_u64 << 30, "latency_ns": 200_000, "read_bytes_per_s": 4e8,
            "write_bytes_per_s": 2e8,
        },
        "others": [], "page_cache_bytes": null,
        "interval_ms": 1000,
        "seed": 5,
    });
    for (path, value) in changes {
        *spec.pointer_mut(path).unwrap() = value.clone();
    }
    serde_json::from_value(spec).unwrap()
}

/// TPC-C of four warehouses.
const TPCC: &str = r#"{"kind": "tpcc", "warehouses": 4, "pipeline": false, "keying_and_think": false}"#;

/// Transactions a second and the mean of some series, over the seconds after the first `skip`.
fn run(spec: Spec, skip: usize, seconds: usize, names: &[&str]) -> (f64, Vec<f64>) {
    let mut run = Fleet::start(spec).unwrap();
    let (mut transactions, mut sums) = (0, vec![0.0; names.len()]);
    for second in 0..skip + seconds {
        let (interval, told) = run.next_interval().unwrap();
        assert_eq!(run.failure(), None);
        if second >= skip {
            transactions += interval.kinds.iter().map(|kind| kind.operations).sum::<u64>();
            for (sum, name) in sums.iter_mut().zip(names) {
                let full = format!("database.{name}");
                *sum += told.series.iter().find(|(own, _)| *own == full).unwrap_or_else(|| panic!("{name}")).1;
            }
        }
    }
    let seconds = seconds as f64;
    (transactions as f64 / seconds, sums.into_iter().map(|sum| sum / seconds).collect())
}

#[test]
fn the_same_spec_gives_the_same_run() {
    let take = |seed: u64| {
        let mut run = Fleet::start(spec(&[("/seed", seed.into())])).unwrap();
        (0..5).map(|_| run.next_interval().unwrap().1.series).collect::<Vec<_>>()
    };
    assert_eq!(take(1), take(1));
    assert_ne!(take(1), take(2));
}

#[test]
fn a_small_pool_reads_and_a_large_one_does_not() {
    let names = ["pages_read_per_s", "hit_ratio"];
    let (slow, small) = run(spec(&[]), 5, 10, &names);
    let large = [
        ("/settings/innodb_buffer_pool_size", (1_u64 << 30).into()),
        // So large that nobody waits for room in the log.
        ("/settings/innodb_log_file_size", (256_u64 << 20).into()),
    ];
    let (fast, large) = run(spec(&large), 5, 10, &names);
    assert!(fast > 2.0 * slow, "{slow} and {fast} tps");
    assert!(small[0] / slow > 10.0 && small[1] < 0.7, "{small:?} at {slow} tps");
    assert!(large[0] < small[0] / 100.0, "{large:?}");
}

#[test]
fn the_log_keeps_within_its_limits_and_a_larger_one_saves_writes() {
    let big = [("/settings/innodb_buffer_pool_size", (1_u64 << 30).into())];
    let names = ["modified_age_bytes", "checkpoint_age_bytes", "pages_written_per_s", "checkpoint_age_max_bytes"];
    let (small_tps, small) = run(spec(&big), 20, 20, &names);
    assert!(small[0] <= 0.95 * small[3], "{small:?}");
    assert!(small[1] <= small[3], "{small:?}");
    let larger = [big[0].clone(), ("/settings/innodb_log_file_size", (256 << 20).into())];
    let (large_tps, large) = run(spec(&larger), 20, 20, &names);
    assert!(large[2] / large_tps < 0.8 * small[2] / small_tps, "{large:?} at {large_tps}, {small:?} at {small_tps}");
}

#[test]
fn doublewrite_writes_every_page_twice() {
    let names =
        ["pages_written_per_s", "doublewrite_pages_per_s", "data_written_bytes_per_s", "log_device_bytes_per_s"];
    let (_, on) = run(spec(&[]), 5, 10, &names);
    assert!((on[1] / on[0] - 1.0).abs() < 0.1, "{on:?}");
    assert!(((on[2] - on[3]) / on[0] / (2.0 * PAGE_BYTES as f64) - 1.0).abs() < 0.1, "{on:?}");
    let (_, off) = run(spec(&[("/settings/innodb_doublewrite", false.into())]), 5, 10, &names);
    assert!(off[1] == 0.0, "{off:?}");
}

#[test]
fn a_run_ends_when_it_is_asked_to() {
    let mut own = Fleet::start(spec(&[])).unwrap();
    own.next_interval().unwrap();
    own.stop();
    let mut left = 0;
    while own.next_interval().is_some() {
        left += 1;
        assert!(left < 10);
    }
    assert!(own.is_over());
}

#[test]
fn what_cannot_be_is_told() {
    let text = |path, value: serde_json::Value| Fleet::start(spec(&[(path, value)])).err().unwrap();
    assert!(text("/settings/innodb_buffer_pool_size", (1 << 20).into()).contains("innodb_buffer_pool_size"));
    assert!(text("/settings/innodb_log_file_size", (1 << 20).into()).contains("innodb_log_file_size"));
    assert!(text("/workload/rows", 100_000_000.into()).contains("device"));
}

/// A pool that holds most of the data, and a log that is small for it.
fn cleaner(generation: &str, changes: &[(&str, serde_json::Value)]) -> Spec {
    let mut all = vec![
        ("/generation", generation.into()),
        ("/settings/innodb_buffer_pool_size", (384_u64 << 20).into()),
        ("/settings/innodb_log_file_size", (16_u64 << 20).into()),
        ("/settings/innodb_redo_log_capacity", (32_u64 << 20).into()),
        ("/settings/innodb_flush_neighbors", 0.into()),
        ("/settings/innodb_flushing_avg_loops", 3.into()),
    ];
    if generation == "mariadb-10.11" {
        all[2].1 = (32_u64 << 20).into();
        all.push(("/settings/innodb_log_files_in_group", 1.into()));
    }
    all.extend_from_slice(changes);
    spec(&all)
}

const CLEANERS: [&str; 5] = ["mysql-5.6", "mysql-5.7", "mysql-8.0.11", "mysql-8.0", "mariadb-10.11"];

#[test]
fn page_cleaners_keep_the_log_within_its_limits() {
    let names = ["checkpoint_age_max_bytes", "modified_age_bytes", "pages_flushed_adaptive_per_s", "dirty_pct"];
    for generation in CLEANERS {
        let (tps, told) = run(cleaner(generation, &[]), 10, 15, &names);
        assert!(tps > 100.0, "{generation}: {tps} tps, {told:?}");
        assert!(told[1] <= 1.02 * told[0], "{generation}: {told:?}");
        assert!(told[2] > 0.0, "{generation}: the cleaner writes nothing: {told:?}");
    }
}

#[test]
fn page_cleaners_see_to_free_pages() {
    // Data far larger than the pool, and a log so large that only free pages make it write.
    let changes = [
        ("/settings/innodb_buffer_pool_size", (32_u64 << 20).into()),
        ("/settings/innodb_log_file_size", (1_u64 << 29).into()),
        ("/settings/innodb_redo_log_capacity", (1_u64 << 30).into()),
        ("/settings/innodb_lru_scan_depth", 256.into()),
    ];
    for generation in CLEANERS {
        let names = ["pages_flushed_lru_per_s", "pages_free", "pages_read_per_s"];
        let (tps, told) = run(cleaner(generation, &changes), 5, 10, &names);
        assert!(tps > 50.0 && told[0] > 0.0 && told[2] > 10.0 * tps, "{generation}: {tps} tps, {told:?}");
    }
}

/// A MariaDB whose data are far larger than its pool of 2048 frames, of which 512 are to be free.
fn small_mariadb() -> Spec {
    let changes = [
        ("/settings/innodb_buffer_pool_size", (32_u64 << 20).into()),
        ("/settings/innodb_log_file_size", (1_u64 << 30).into()),
        ("/settings/innodb_lru_scan_depth", 512.into()),
    ];
    cleaner("mariadb-10.11", &changes)
}

#[test]
fn mariadb_frees_frames_before_threads_have_to_wait_for_them() {
    let (_, told) = run(small_mariadb(), 5, 10, &["free_page_waits_per_s", "pages_free"]);
    assert!(told[0] == 0.0 && (256.0..512.0).contains(&told[1]), "{told:?}");
}

#[test]
fn mariadb_purges_once_a_second_what_has_been_changed() {
    // A pool that holds all of the data: nothing has to be read for it.
    let (tps, told) = run(cleaner("mariadb-10.11", &[]), 5, 10, &["history_length"]);
    let a_second = told[0] / tps;
    assert!((0.3..1.1).contains(&a_second), "{tps} tps, {told:?}");
    // A pool that does not: with more to read, the history is longer.
    let (tps, told) = run(small_mariadb(), 5, 10, &["history_length"]);
    assert!(told[0] / tps > a_second, "{tps} tps, {told:?}");
}

#[test]
fn another_servers_policy_may_be_asked() {
    let quiet = spec(&[
        ("/generation", "mysql-5.5".into()),
        ("/settings/innodb_buffer_pool_size", (1_u64 << 30).into()),
        ("/settings/innodb_log_file_size", (512_u64 << 20).into()),
    ]);
    let written = |name| {
        let told = run(Spec { flushing: Some(name), ..quiet.clone() }, 5, 10, &["pages_flushed_adaptive_per_s"]).1;
        told[0]
    };
    // But for the master thread's ten seconds.
    let none = written(flushing::Name::None);
    let keep_average = flushing::Name::Master(settings::AdaptiveMethod::KeepAverage);
    assert!(written(keep_average) > 2.0 * none, "{none} pages a second without");
}

#[test]
fn a_policy_that_fails_ends_the_run() {
    struct Broken;
    impl flushing::Policy for Broken {
        fn round(&mut self, _: &flushing::View) -> flushing::Order {
            flushing::Order::pages(0)
        }
        fn failure(&mut self) -> Option<String> {
            Some("policy.py:3: no".into())
        }
    }
    let mut run = Fleet::start_with(spec(&[]), vec![Box::new(Broken)]).unwrap();
    while run.next_interval().is_some() {}
    assert_eq!(run.failure().as_deref(), Some("policy.py:3: no"));
}

#[test]
fn a_wait_for_room_in_the_log_is_one_incident_however_long() {
    // All is in memory, and the log is far too small for it and the device slow: writers wait for seconds.
    let mut run = Fleet::start(spec(&[
        ("/settings/innodb_buffer_pool_size", (1_u64 << 30).into()),
        ("/device/write_bytes_per_s", 5e7.into()),
    ]))
    .unwrap();
    let (mut stalled, mut goes_on, mut waits) = (0, 0, 0);
    for _ in 0..40 {
        let (interval, told) = run.next_interval().unwrap();
        let done: u64 = interval.kinds.iter().map(|kind| kind.operations).sum();
        waits += told.incidents.len();
        if done == 0 {
            goes_on += usize::from(stalled > 0);
            assert!(stalled == 0 || told.incidents.is_empty(), "told again: {:?}", told.incidents);
            stalled += 1;
        } else {
            stalled = 0;
        }
    }
    assert!(goes_on > 0 && waits > 0, "{goes_on} seconds in which a wait goes on, {waits} incidents");
}

#[test]
fn the_read_of_a_page_holds_what_all_threads_share() {
    // 400 us for each page that is read let 2,500 a second through, whatever the device could do.
    let reads = |read_mutex_ns: u64| {
        let cpu = serde_json::json!({
            "statement_ns": 5_000, "touch_ns": 0, "read_ns": 1_000, "write_ns": 1_000, "read_mutex_ns": read_mutex_ns,
        });
        run(spec(&[("/workload/mode", "read_only".into()), ("/cpu", cpu)]), 1, 4, &["pages_read_per_s"]).1[0]
    };
    let (free, held) = (reads(0), reads(400_000));
    assert!((2_400.0..=2_550.0).contains(&held), "{held} of 2,500 pages a second");
    assert!(free > 4_000.0, "{free}");
}
