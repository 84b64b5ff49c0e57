//! Tests of row locks in whole runs: what a hot row costs, until when it is held, and that nobody is forgotten.

use super::*;

type Changes<'a> = &'a [(&'a str, serde_json::Value)];

/// Transactions of one update each, on so many rows, on a machine whose cores nobody has to wait for. Syncs take 2 ms.
fn updates(rows: u64, connections: u64, changes: Changes) -> Spec {
    let mut all = vec![
        ("/generation", "mysql-5.7".into()),
        ("/settings/innodb_flush_log_at_trx_commit", 0.into()),
        ("/settings/innodb_log_file_size", (512_u64 << 20).into()),
        ("/cores", 64.into()),
        ("/cpu/statement_ns", 300_000.into()),
        ("/device/latency_ns", 1_000_000.into()),
        ("/connections", connections.into()),
        ("/workload/tables", 1.into()),
        ("/workload/rows", rows.into()),
        ("/workload/mode", "update_non_index".into()),
    ];
    all.extend_from_slice(changes);
    spec(&all)
}

const WAITS: [&str; 2] = ["row_lock_waits_per_s", "row_lock_time_pct"];

#[test]
fn one_row_is_changed_by_one_connection_at_a_time() {
    let (alone, none) = run(updates(1, 1, &[]), 1, 5, &WAITS);
    let (many, waits) = run(updates(1, 16, &[]), 1, 5, &WAITS);
    let (more, _) = run(updates(1, 64, &[]), 1, 5, &WAITS);
    assert_eq!(none, [0.0, 0.0]);
    // The thread that has committed comes back behind the others, and each of them finds the row locked.
    assert!(many < 1.3 * alone && (more / many - 1.0).abs() < 0.02, "{alone}, {many} and {more} a second");
    assert!((waits[0] / many - 1.0).abs() < 0.02, "{waits:?} of {many}");
    // A wait counts where it ends, so one that began in the interval before may be in it.
    assert!((1400.0..1510.0).contains(&waits[1]), "{waits:?}: of sixteen, one has it");
    let (apart, few) = run(updates(100_000, 16, &[]), 1, 5, &WAITS);
    assert!(apart > 14.0 * alone && few[1] < 1.0, "{apart} a second, {few:?}");
}

#[test]
fn it_is_given_up_before_the_log_is_safe_but_not_before_the_binary_log_is() {
    let synced = [("/settings/innodb_flush_log_at_trx_commit", 1.into())];
    let binlog = [synced[0].clone(), ("/settings/log_bin", true.into()), ("/settings/sync_binlog", 1.into())];
    let of = |rows, changes: Changes| run(updates(rows, 32, changes), 1, 5, &WAITS).0;
    let (one, all) = (of(1, &synced), of(100_000, &synced));
    assert!(one > 1000.0, "{one} a second: many are committed with one sync of 2 ms, though they change one row");
    let (one_behind, all_behind) = (of(1, &binlog), of(100_000, &binlog));
    // A write and a flush of the redo log, a write of the binary log and the commit of the journal, which are two writes
    // and two flushes more, one transaction after another.
    assert!((85.0..150.0).contains(&one_behind), "{one_behind} a second");
    assert!(all_behind > 10.0 * one_behind && all > 1.5 * one, "{all} and {all_behind} a second on many rows");
}

#[test]
fn transactions_that_lock_rows_in_any_order_are_rolled_back_and_tried_again() {
    let changes = [("/workload/mode", "write_only".into())];
    let mut own = Fleet::start(updates(20, 16, &changes)).unwrap();
    let (mut transactions, mut deadlocks) = (0, 0);
    for _ in 0..5 {
        let (interval, _) = own.next_interval().unwrap();
        transactions += interval.kinds[0].operations;
        deadlocks += interval.counters.iter().find(|(name, _)| name == "deadlocks").unwrap().1;
    }
    assert!(deadlocks > 10 && transactions > deadlocks, "{deadlocks} of {transactions}");
    own.stop();
    while own.next_interval().is_some() {}
    assert!(own.is_over() && own.servers[0].locks_nothing(), "everybody came to an end");
}

#[test]
fn the_warehouses_of_tpcc_are_hot_rows_when_there_are_few() {
    let workload = |warehouses: u32| serde_json::json!({"kind": "tpcc", "warehouses": warehouses, "pipeline": false, "keying_and_think": false});
    let of = |warehouses, connections: u64| {
        let changes =
            [("/workload", workload(warehouses)), ("/settings/innodb_buffer_pool_size", (1_u64 << 30).into())];
        let mut own = spec(&changes);
        (own.connections, own.cores, own.cpu.round_trip_ns) = (connections as u32, 128, 100_000);
        own.settings.innodb_flush_log_at_trx_commit = 0;
        own.settings.innodb_log_file_size = 512 << 20;
        run(own, 2, 4, &WAITS)
    };
    let (alone, few, many) = (of(1, 1), of(1, 16), of(1, 64));
    assert!(few.0 > 3.0 * alone.0 && many.0 < 1.3 * few.0, "{alone:?} {few:?} {many:?}");
    assert!(many.1[1] > 2000.0, "most wait: {many:?}");
    let apart = of(8, 64);
    assert!(apart.0 > 3.0 * many.0, "{apart:?}, {many:?} on one warehouse");
}
