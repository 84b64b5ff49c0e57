//! Tests of whole runs with the adaptive hash index.

use super::*;

/// Transactions a second, and frames of the index.
fn hashed(workload: Option<&str>, pool_mib: u64, is_on: bool) -> (f64, f64) {
    let mut own = spec(&[
        ("/generation", "mysql-5.7".into()),
        ("/settings/innodb_buffer_pool_size", (pool_mib << 20).into()),
        ("/settings/innodb_log_file_size", (256_u64 << 20).into()),
        ("/settings/innodb_adaptive_hash_index", is_on.into()),
    ]);
    if let Some(workload) = workload {
        own.workload = serde_json::from_str(workload).unwrap();
    }
    let (tps, seen) = run(own, 40, 40, &["pages_misc"]);
    (tps, seen[0])
}

#[test]
fn its_frames_are_missing_in_a_small_pool() {
    for pool_mib in [64, 128, 256] {
        let (without, none) = hashed(Some(TPCC), pool_mib, false);
        let (with, frames) = hashed(Some(TPCC), pool_mib, true);
        let share = frames / (pool_mib as f64 * 64.0);
        assert_eq!(none, 0.0);
        assert!((0.01..0.08).contains(&share), "{pool_mib} MiB: {frames} frames");
        assert!(with < 0.995 * without, "{pool_mib} MiB: {with} transactions a second, {without} without it");
    }
}

#[test]
fn a_pool_that_holds_everything_has_an_entry_for_each_row_that_is_looked_up() {
    // Items and stock of four warehouses: 100,000 and 400,000 keys. The index of stock by item has 400,000, and a page of it
    // a frame at most.
    let (_, frames) = hashed(Some(TPCC), 2048, true);
    assert!((600.0..886.0).contains(&frames), "{frames} frames");
    // Two million rows of sysbench's are 2,951 frames at most.
    let (_, frames) = hashed(None, 2048, true);
    assert!((1500.0..2952.0).contains(&frames), "{frames} frames");
}
