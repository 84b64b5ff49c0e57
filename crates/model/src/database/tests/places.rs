//! Tests of where the sessions' time goes in whole runs.

use super::*;

/// The mean number of sessions in each place where there is at least a tenth of one, in the seconds 3 to 6.
fn places(changes: &[(&str, serde_json::Value)]) -> Vec<(String, f64)> {
    let spec = spec(changes);
    let connections = f64::from(spec.connections);
    let mut run = Fleet::start(spec).unwrap();
    let mut sums = Vec::new();
    for second in 0..6 {
        let told = run.next_interval().unwrap().1.series;
        let own: Vec<_> = told.into_iter().filter(|(name, _)| name.starts_with("database.sessions_")).collect();
        let all: f64 = own.iter().map(|(_, sessions)| sessions).sum();
        assert!((all - connections).abs() < 1e-6, "{all} of {connections} sessions are somewhere: {own:?}");
        if second == 2 {
            sums = own;
        } else if second > 2 {
            sums.iter_mut().zip(own).for_each(|(sum, (_, sessions))| sum.1 += sessions);
        }
    }
    sums.into_iter()
        .map(|(name, sum)| (name.replace("database.sessions_", ""), sum / 4.0))
        .filter(|(_, sessions)| *sessions >= 0.1)
        .collect()
}

/// The place with the most sessions.
fn most(changes: &[(&str, serde_json::Value)]) -> String {
    let mut found = places(changes);
    found.sort_by(|one, other| other.1.total_cmp(&one.1));
    found[0].0.clone()
}

#[test]
fn every_session_is_somewhere_in_every_generation() {
    let all = [
        "mysql-5.1",
        "mysql-5.5",
        "percona-5.5",
        "mysql-5.6",
        "mysql-5.7",
        "mysql-8.0.11",
        "mysql-8.0",
        "mariadb-10.11",
    ];
    for generation in all {
        let log = ("/settings/innodb_log_file_size", (64_u64 << 20).into());
        let redo = ("/settings/innodb_redo_log_capacity", (128_u64 << 20).into());
        let tpcc = ("/workload", serde_json::from_str(TPCC).unwrap());
        assert!(!places(&[("/generation", generation.into()), tpcc, log, redo]).is_empty());
    }
}

#[test]
fn what_is_scarce_is_where_they_are() {
    let large: (&str, serde_json::Value) = ("/settings/innodb_buffer_pool_size", (1_u64 << 30).into());
    let log: (&str, serde_json::Value) = ("/settings/innodb_log_file_size", (512_u64 << 20).into());
    let memory = [large.clone(), log.clone()];
    let with = |changes: &[(&'static str, serde_json::Value)]| [&memory[..], changes].concat();
    let reads = ("/workload/mode", "read_only".into());
    assert_eq!(most(std::slice::from_ref(&reads)), "reading", "a pool of 64 MiB");
    assert_eq!(most(&with(&[reads.clone(), ("/cores", 1.into())])), "in_cpu_queue");
    assert_eq!(most(&with(&[reads, ("/cores", 64.into())])), "running");
    let writes = ("/workload/mode", serde_json::Value::from("update_non_index"));
    assert_eq!(most(&with(&[writes.clone(), ("/device/latency_ns", 5_000_000.into())])), "committing");
    let one_row = [("/workload/tables", 1.into()), ("/workload/rows", 1.into()), writes.clone()];
    let lazy = ("/settings/innodb_flush_log_at_trx_commit", 0.into());
    assert_eq!(most(&with(&[&one_row[..], std::slice::from_ref(&lazy)].concat())), "in_row_locks");
    let small_log = ("/settings/innodb_log_file_size", (4_u64 << 20).into());
    let slow = ("/device/write_bytes_per_s", serde_json::Value::from(10e6));
    assert_eq!(most(&[large, small_log, slow, writes, lazy]), "in_log_room_waits");
}
