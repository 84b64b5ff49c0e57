//! Tests of whole runs with the change buffer.

use super::*;

/// A pool of so many MiB, and the way changes are buffered, with a log in which nobody waits for room.
fn buffered(tpcc: bool, pool_mib: u64, mode: &str, generation: &str) -> Spec {
    let mut own = spec(&[
        ("/generation", generation.into()),
        ("/settings/innodb_buffer_pool_size", (pool_mib << 20).into()),
        ("/settings/innodb_log_file_size", (256_u64 << 20).into()),
        ("/settings/innodb_change_buffering", mode.into()),
    ]);
    if tpcc {
        own.workload = serde_json::from_str(TPCC).unwrap();
    }
    own
}

/// Pages read for a transaction, and what else was seen: pages read ahead, the change buffer's pages, changes that went
/// there and pages that were merged for a transaction.
fn reads(spec: Spec) -> (f64, Vec<f64>) {
    let is_on = spec.settings.innodb_change_buffering != settings::ChangeBuffering::None;
    let names =
        ["pages_read_per_s", "pages_read_ahead_per_s", "ibuf_size_pages", "ibuf_buffered_per_s", "ibuf_merges_per_s"];
    let (tps, seen) = run(spec, 20, 20, if is_on { &names } else { &names[..2] });
    (seen[0] / tps, seen[1..2].iter().chain(&seen[2..]).map(|value| value / tps).collect())
}

#[test]
fn a_small_pool_reads_less_with_a_change_buffer() {
    for (tpcc, pool_mib) in [(true, 64), (false, 64)] {
        let (none, _) = reads(buffered(tpcc, pool_mib, "none", "percona-5.5"));
        let (all, seen) = reads(buffered(tpcc, pool_mib, "all", "percona-5.5"));
        assert!(all < 0.95 * none, "tpcc {tpcc}: {none} and {all} pages a transaction, {seen:?}");
        assert!(seen[2] > 0.1, "tpcc {tpcc}: {seen:?}");
    }
}

#[test]
fn what_is_in_memory_is_not_buffered() {
    for tpcc in [true, false] {
        let none = run(buffered(tpcc, 2048, "none", "percona-5.5"), 5, 5, &["log_bytes_per_s"]);
        let all = run(buffered(tpcc, 2048, "all", "percona-5.5"), 5, 5, &["log_bytes_per_s", "ibuf_buffered_per_s"]);
        // The pool holds all pages, but TPC-C comes to one that nobody has read yet once in a while.
        assert!(all.1[1] < 0.01 * all.0, "tpcc {tpcc}: {none:?}, {all:?}");
        // What was in the past, while the pool filled, differs a little.
        assert!((all.0 / none.0 - 1.0).abs() < 0.02, "tpcc {tpcc}: {none:?}, {all:?}");
        assert!((all.1[0] / all.0 / (none.1[0] / none.0) - 1.0).abs() < 0.01, "tpcc {tpcc}: {none:?}, {all:?}");
    }
}

#[test]
fn insertions_alone_save_less_than_all_changes() {
    let [none, inserts, all] = ["none", "inserts", "all"].map(|mode| reads(buffered(false, 64, mode, "percona-5.5")).0);
    assert!(all < inserts && inserts < none, "{none}, {inserts}, {all} pages a transaction");
}

#[test]
fn it_never_takes_more_than_it_may() {
    let mut own = buffered(false, 64, "all", "percona-5.5");
    own.settings.innodb_change_buffer_max_size = 1;
    // 1 % of 4096 frames; a few more while threads merge.
    let most = 40.0 + 10.0;
    let (_, seen) = run(own, 5, 10, &["ibuf_size_pages", "ibuf_merges_per_s"]);
    assert!(seen[0] <= most && seen[0] > 20.0 && seen[1] > 0.0, "{seen:?}");
}

#[test]
fn page_cleaners_generations_merge_in_the_background_and_mariadb_does_not() {
    let merges = |generation: &str, io_capacity: u64| {
        let mut own = buffered(true, 64, "all", generation);
        own.settings.innodb_io_capacity = io_capacity;
        own.settings.innodb_io_capacity_max = 20_000;
        let (tps, seen) = run(own, 10, 10, &["ibuf_merges_per_s", "ibuf_buffered_per_s"]);
        (tps, seen[0] / seen[1])
    };
    let (_, mysql) = merges("mysql-5.7", 10_000);
    let (_, mariadb) = merges("mariadb-10.11", 10_000);
    assert!(mysql > 1.5 * mariadb, "{mysql} and {mariadb} merges for a change");
}

#[test]
fn the_same_spec_gives_the_same_run_with_a_change_buffer() {
    let take = || {
        let mut run = Fleet::start(buffered(true, 64, "all", "mysql-5.7")).unwrap();
        (0..5).map(|_| run.next_interval().unwrap().1.series).collect::<Vec<_>>()
    };
    assert_eq!(take(), take());
}
