//! Tests of the logs: what commits wait for, what blocks cost, who holds whom up.

use super::*;

type Changes<'a> = &'a [(&'a str, serde_json::Value)];

/// A pool that holds everything, and transactions of one update, so that nothing but the logs is waited for.
fn logs(generation: &str, changes: Changes) -> Spec {
    let mut all = vec![
        ("/generation", generation.into()),
        ("/settings/innodb_buffer_pool_size", (1_u64 << 30).into()),
        ("/settings/innodb_log_file_size", (512_u64 << 20).into()),
        ("/settings/innodb_redo_log_capacity", (1_u64 << 30).into()),
        ("/cores", 64.into()),
        ("/cpu/statement_ns", 300_000.into()),
        ("/device/read_bytes_per_s", 2e9.into()),
        ("/device/write_bytes_per_s", 2e9.into()),
    ];
    all.extend(
        ["/workload/point_selects", "/workload/index_updates", "/workload/delete_inserts"].map(|no| (no, 0.into())),
    );
    all.push(("/workload/range_selects", false.into()));
    all.extend_from_slice(changes);
    spec(&all)
}

const FLUSH: &str = "/settings/innodb_flush_log_at_trx_commit";
const FORGETS: (&str, u64) = ("/page_cache_bytes", 0);

fn tps(spec: Spec) -> f64 {
    run(spec, 3, 5, &[]).0
}

#[test]
fn commits_are_durable_in_groups() {
    let (each, writes) = run(logs("percona-5.5", &[]), 3, 5, &["log_fsyncs_per_s", "log_writes_per_s"]);
    assert!(writes[0] < each / 2.0, "{writes:?} syncs and writes for {each} commits");
    assert!(writes[0] > each / 16.0, "{writes:?}: sixteen connections share one at most");
}

#[test]
fn what_a_commit_waits_for_is_a_sync_a_write_or_nothing() {
    let names = ["log_fsyncs_per_s", "log_writes_per_s"];
    let [none, synced, written] = [0, 1, 2].map(|value| run(logs("mysql-5.5", &[(FLUSH, value.into())]), 3, 5, &names));
    assert!(none.0 > 1.5 * synced.0 && written.0 > 1.5 * synced.0, "{none:?} {synced:?} {written:?}");
    assert!((written.0 / none.0 - 1.0).abs() < 0.1, "a write to the kernel takes no time: {none:?} {written:?}");
    // Once a second, and before pages are written; with 2 each commit writes, but those that came together.
    assert!(none.1[0] < 100.0 && written.1[0] < 100.0 && none.1[1] < 100.0, "{none:?} {written:?}");
    assert!(written.1[1] > 0.9 * written.0, "{written:?}");
}

#[test]
fn a_block_smaller_than_a_page_costs_a_read_of_it_once_the_kernel_forgot_it() {
    let names = ["log_page_reads_per_s", "log_bytes_per_s", "log_holds_per_s"];
    let told = |block: u64, forgets: u64| {
        let changes =
            [(FLUSH, 2.into()), ("/settings/innodb_log_block_size", block.into()), (FORGETS.0, forgets.into())];
        run(logs("percona-5.5", &changes), 3, 5, &names)
    };
    let (small, large, kept) = (told(512, 0), told(4096, 0), told(512, 1 << 40));
    // A page of 4 KiB of log, a read.
    assert!((small.1[0] / (small.1[1] / 4096.0) - 1.0).abs() < 0.1, "{small:?}");
    assert!(large.1[0] == 0.0 && kept.1[0] == 0.0, "{large:?} {kept:?}");
    // While it is read nobody can append.
    assert!(small.1[2] > 0.0 && large.1[2] == 0.0, "{small:?} {large:?}");
    assert!(large.0 > 1.2 * small.0, "{large:?} {small:?}");
    assert!((large.0 / kept.0 - 1.0).abs() < 0.1, "{large:?} {kept:?}");
}

#[test]
fn writes_to_the_log_wait_while_a_data_file_is_synced() {
    let told = |method: &str, sync_page_ns: u64| {
        let cpu = serde_json::json!({
            "statement_ns": 50_000, "touch_ns": 4_000, "read_ns": 30_000, "write_ns": 20_000, "sync_page_ns": sync_page_ns,
        });
        let changes = [
            (FLUSH, 2.into()),
            ("/settings/innodb_flush_method", method.into()),
            ("/settings/innodb_log_file_size", (64_u64 << 20).into()),
            ("/device/latency_ns", 20_000.into()),
            ("/cpu", cpu),
        ];
        run(spec(&changes), 3, 8, &["log_holds_per_s", "pages_written_per_s"])
    };
    let (quick, slow) = (told("O_DIRECT", 0), told("O_DIRECT", 100_000));
    assert!(slow.0 < 0.9 * quick.0, "{slow:?} {quick:?}");
    assert!(slow.1[0] > 100.0 && slow.1[0] > 10.0 * quick.1[0], "{slow:?} {quick:?}");
    // What is written past the kernel's cache is in nobody's journal.
    let past = told("ALL_O_DIRECT", 100_000);
    assert!(past.0 > 1.05 * slow.0, "{past:?} {slow:?}");
}

#[test]
fn a_slower_log_device_makes_partial_blocks_dearer() {
    let ratio = |latency_ns: u64| {
        let of = |block: u64| {
            tps(logs(
                "percona-5.5",
                &[
                    (FLUSH, 2.into()),
                    ("/settings/innodb_log_block_size", block.into()),
                    (FORGETS.0, FORGETS.1.into()),
                    ("/device/latency_ns", latency_ns.into()),
                ],
            ))
        };
        of(4096) / of(512)
    };
    let (quick, slow) = (ratio(20_000), ratio(400_000));
    assert!(slow > quick + 0.2 && quick < 1.5, "{quick} and {slow}");
}

#[test]
fn later_servers_append_while_a_page_is_read_and_write_ahead_of_it() {
    let told = |ahead: u64| {
        let changes =
            [(FLUSH, 2.into()), ("/settings/innodb_log_write_ahead_size", ahead.into()), (FORGETS.0, FORGETS.1.into())];
        run(logs("mysql-5.7", &changes), 3, 5, &["log_page_reads_per_s", "log_holds_per_s"])
    };
    let (none, ahead) = (told(512), told(8192));
    assert!(none.1[0] > 100.0 && ahead.1[0] < 2.0, "{none:?} {ahead:?}");
    assert_eq!((none.1[1], ahead.1[1]), (0.0, 0.0));
    assert!(ahead.0 > none.0, "{ahead:?} {none:?}");
}

#[test]
fn past_the_kernels_cache_the_device_gets_blocks_as_they_are() {
    let names = ["log_device_bytes_per_s", "os_log_written_per_s", "log_fsyncs_per_s", "log_page_reads_per_s"];
    let told = |generation: &str, method: &str, buffering: bool| {
        let changes = [
            ("/settings/innodb_flush_method", method.into()),
            ("/settings/innodb_log_file_buffering", buffering.into()),
            (FORGETS.0, FORGETS.1.into()),
        ];
        run(logs(generation, &changes), 3, 5, &names).1
    };
    let (percona, mariadb) = (told("percona-5.5", "ALL_O_DIRECT", true), told("mariadb-10.11", "O_DIRECT", false));
    for direct in [&percona, &mariadb] {
        assert!((direct[0] / direct[1] - 1.0).abs() < 0.01 && direct[3] == 0.0, "{direct:?}");
    }
    // Percona Server syncs such a log never, MariaDB does.
    assert!(percona[2] == 0.0 && mariadb[2] > 10.0, "{percona:?} {mariadb:?}");
    // Through the cache, the device gets whole pages.
    let buffered = told("percona-5.5", "O_DIRECT", true);
    assert!(buffered[0] > 1.1 * buffered[1] && buffered[3] > 0.0, "{buffered:?}");
}

#[test]
fn a_full_buffer_of_the_log_is_waited_for() {
    let waits = |buffer: u64| {
        let changes = [
            (FLUSH, 0.into()),
            ("/settings/innodb_log_buffer_size", buffer.into()),
            ("/page_cache_bytes", 0.into()),
            ("/device/latency_ns", 5_000_000.into()),
        ];
        run(logs("mysql-5.5", &changes), 3, 5, &["log_waits_per_s"]).1[0]
    };
    let (small, large) = (waits(256 << 10), waits(64 << 20));
    assert!(small > 0.0 && large == 0.0, "{small} and {large}");
}

fn with_binlog(generation: &str, changes: Changes) -> Spec {
    let mut all = vec![("/settings/log_bin", true.into()), ("/settings/sync_binlog", 1.into())];
    all.extend_from_slice(changes);
    logs(generation, &all)
}

#[test]
fn before_5_6_no_two_commits_share_a_sync_of_the_binary_log() {
    let names = ["binlog_fsyncs_per_s", "log_fsyncs_per_s"];
    let (old, old_told) = run(with_binlog("mysql-5.5", &[]), 3, 5, &names);
    let (new, new_told) = run(with_binlog("mysql-5.6", &[]), 3, 5, &names);
    assert!((old_told[0] / old - 1.0).abs() < 0.05, "{old} tps, {old_told:?}");
    assert!(new_told[0] < 0.5 * new, "{new} tps, {new_told:?}");
    assert!(new > 2.0 * old, "{new} and {old}");
    // More connections do not help the old one.
    let many = tps(with_binlog("mysql-5.5", &[("/connections", 64.into())]));
    assert!(many < 1.2 * old, "{many} and {old}");
    assert!(tps(with_binlog("mysql-5.6", &[("/connections", 64.into())])) > 1.5 * new);
}

#[test]
fn a_commit_with_a_binary_log_is_three_syncs_and_since_5_6_two() {
    let latency_us = |generation: &str, log_bin: bool| {
        let changes = [("/settings/log_bin", log_bin.into()), ("/connections", 1.into())];
        1e6 / tps(with_binlog(generation, &changes))
    };
    // A sync of the redo log is a write and a flush of the device: two times 200 us, and the transfer. The binary log has
    // grown: its own write, then two writes and two flushes of the file system's journal.
    let (redo_us, binlog_us) = (2.0 * 215.0, 5.0 * 215.0);
    for (generation, more_us) in
        [("mysql-5.5", redo_us + binlog_us), ("mysql-5.6", binlog_us), ("mariadb-10.11", binlog_us)]
    {
        let told_us = latency_us(generation, true) - latency_us(generation, false);
        assert!((told_us / more_us - 1.0).abs() < 0.15, "{generation}: {told_us} us more");
    }
}

#[test]
fn sync_binlog_counts_commits_and_later_groups() {
    let told = |generation: &str, every: u64| {
        let changes = [("/settings/sync_binlog", every.into()), (FLUSH, 2.into())];
        let names = ["binlog_fsyncs_per_s", "binlog_bytes_per_s", "log_bytes_per_s"];
        run(with_binlog(generation, &changes), 3, 5, &names)
    };
    for generation in ["mysql-5.5", "mysql-5.6", "mariadb-10.11"] {
        let (never, tenth, each) = (told(generation, 0), told(generation, 10), told(generation, 1));
        assert_eq!(never.1[0], 0.0, "{generation}");
        assert!(never.0 > 1.2 * tenth.0 && tenth.0 > 1.2 * each.0, "{generation}: {never:?} {tenth:?} {each:?}");
        assert!(never.1[1] > 0.5 * never.1[2] && never.1[1] < never.1[2], "{generation}: {never:?}");
    }
    let commits = told("mysql-5.5", 10);
    assert!((commits.1[0] * 10.0 / commits.0 - 1.0).abs() < 0.1, "{commits:?}");
}
