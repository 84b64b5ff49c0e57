//! How fast a modelled card is: host page writes a CPU second in steady-state garbage collection, memory a flash page,
//! and CPU time to precondition a 390 GiB card.
//!
//! `cargo run --release -p flatwater-model --example ssd_speed [gc|jumped|simulated]`

use flatwater_model::fileio::{Fileio, Spec};
use flatwater_model::storage::{self, Opening};
use serde_json::json;

const GIB: u64 = 1 << 30;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let wants = |name: &str| asked.is_empty() || asked.iter().any(|one| one == name);
    if wants("gc") {
        [40, 390].into_iter().for_each(|size| collect_garbage(size * GIB));
    }
    for simulate in [false, true] {
        let name = if simulate { "simulated" } else { "jumped" };
        if wants(name) {
            precondition(name, simulate);
        }
    }
}

/// A card with a quarter of spare, full, as uniform random writes leave it.
fn card(capacity: u64, simulate: bool) -> serde_json::Value {
    json!({
        "kind": "ssd", "capacity_bytes": capacity, "queue_depth": 256,
        "geometry": {"raw_bytes": capacity / 4 * 5, "channels": 16, "dies_per_channel": 8, "planes_per_die": 2,
            "page_bytes": 4096, "pages_per_block": 64, "unit_blocks": 32, "mapping_bytes": 16384},
        "timing": {"read_ns": 25_000, "program_ns": 250_000, "erase_ns": 2_000_000, "channel_bytes_per_s": 200e6},
        "link": {"read_bytes_per_s": 2e9, "write_bytes_per_s": 2e9},
        "controller": {"request_ns": 5000, "parallel": 4, "latency_ns": 10_000, "write_bytes_per_s": 1e9},
        "buffer": {"bytes": 16 << 20, "power_safe": true},
        "collector": {"policy": {"name": "greedy"}, "relocation_bytes_per_s": 700e6, "pace": "unit"},
        "wear": {"rated_cycles": 100_000, "life_used": 0.0, "spread": 0.0, "static_threshold_cycles": 0,
            "initial_bad_share": 0.0},
        "initial": {"name": "preconditioned", "simulate": simulate},
    })
}

fn collect_garbage(capacity: u64) {
    let spec: Spec = serde_json::from_value(json!({
        "workload": {"sequential": false, "read_pct": 0.0, "block_sizes": [[16384, 100.0]], "files": 1,
            "file_bytes": capacity, "fsync_every": 0, "fsync": "none", "distribution": {"kind": "uniform"}, "limit_bytes": 0,
            "seed": 1},
        "device": card(capacity, false),
        "threads": 32, "queue_depth": 1, "sync": false, "exclusive_writes": false, "rate_per_s": 0.0,
        "poisson": false, "continue_on_error": false, "interval_ms": 1000,
    }))
    .expect("the spec reads");
    let before = resident_bytes();
    let mut run = Fileio::start(spec, None).expect("the card can be");
    let pages = capacity / 4 * 5 / 4096;
    println!(
        "{:.2} bytes a flash page of 4 KiB of {} M",
        (resident_bytes() - before) as f64 / pages as f64,
        pages / 1_000_000
    );
    let (mut requests, mut amplification, begun_s) = (0, 0.0, cpu_s());
    while cpu_s() - begun_s < 4.0 {
        let (interval, device) = run.next_interval().expect("the run has no end");
        requests += interval.kinds.iter().map(|kind| kind.operations).sum::<u64>();
        amplification = device.series.iter().find(|(name, _)| name == "write_amplification").map_or(0.0, |own| own.1);
    }
    let per_s = requests as f64 / (cpu_s() - begun_s) / 1e6;
    println!("{per_s:.2} M requests of 16 KiB a CPU s, {:.2} M host pages of 4 KiB a CPU s", per_s * 4.0);
    println!("write amplification {amplification:.3}; {:.1} MB resident", resident_bytes() as f64 / 1e6);
}

fn precondition(name: &str, simulate: bool) {
    let capacity = 390 * GIB;
    let spec: storage::Spec = serde_json::from_value(card(capacity, simulate)).expect("the spec reads");
    let begun_s = cpu_s();
    let device = spec.open(Opening { seed: 1, used_bytes: capacity }).expect("the card can be");
    println!("a 390 GiB card, {name}: {:.2} CPU s", cpu_s() - begun_s);
    drop(device);
}

/// CPU time of this thread, which does all the work.
fn cpu_s() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedstat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
