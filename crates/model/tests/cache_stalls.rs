//! A cache that is full of dirty blocks must not stall whoever writes: over a matrix of settings, in virtual time.
//!
//! The yardstick is the same load on the slow disk alone.

use flatwater_core::seed::splitmix;
use flatwater_model::storage::{Command, Opening, Operation, Spec};
use serde_json::{Value, json};

const FAST_BYTES: u64 = 48 << 20;
const SLOW_BYTES: u64 = 1 << 30;
const DEPTH: u64 = 8;
const SECOND_NS: u64 = 1_000_000_000;
/// Writes of 16 KiB: more than four times what the cache holds.
const WRITES: u64 = if cfg!(debug_assertions) { 13_000 } else { 40_000 };
/// Of these, the first are not looked at: the cache is not full of dirty blocks yet.
const FILLING: u64 = 5_000;

fn disk() -> Value {
    json!({
        "kind": "hdd", "capacity_bytes": SLOW_BYTES, "revolution_ns": 6_000_000, "revolution_spread": 0.001, "heads": 4,
        "zones": 8, "outer_bytes_per_s": 90e6, "inner_bytes_per_s": 50e6,
        "seek": {"track_to_track_ns": 300_000, "average_ns": 4_000_000, "full_stroke_ns": 8_000_000},
        "write_settle_ns": 300_000, "head_switch_ns": 300_000, "queue_depth": 32, "age_limit_ns": 500_000_000,
        "overhead_ns": 100_000, "link_bytes_per_s": 300e6, "flushes_alone": false, "read_ahead_bytes": 1 << 20,
        "write_cache_bytes": 0,
    })
}

fn cached(block_bytes: u32, settings: &[(&str, &str)]) -> Value {
    let settings: serde_json::Map<_, _> = settings.iter().map(|(name, value)| ((*name).into(), json!(value))).collect();
    json!({
        "kind": "cached", "slow": disk(), "fast_bytes": FAST_BYTES, "block_bytes": block_bytes, "preset": null,
        "fast": {"kind": "memory", "capacity_bytes": FAST_BYTES, "latency_ns": 60_000, "read_bytes_per_s": 2e9,
                 "write_bytes_per_s": 1e9},
        "settings": settings, "warm": false,
    })
}

/// What a load of random writes (a flush after each 64th) met.
struct Met {
    /// Latencies of the writes, sorted, ns.
    writes_ns: Vec<u64>,
    /// The longest time in which nothing ended.
    gap_ns: u64,
}

impl Met {
    fn quantile_ns(&self, share: f64) -> u64 {
        self.writes_ns[((self.writes_ns.len() - 1) as f64 * share) as usize]
    }
}

fn load(spec: Value) -> Met {
    let spec: Spec = serde_json::from_value(spec).unwrap();
    let mut device = spec.open(Opening { seed: 1, used_bytes: SLOW_BYTES }).unwrap();
    let command = |number: u64| match number % 65 {
        64 => Command { operation: Operation::Flush, offset: 0, bytes: 0 },
        _ => Command {
            operation: Operation::Write,
            offset: splitmix(number) % (SLOW_BYTES / 16384) * 16384,
            bytes: 16384,
        },
    };
    let (mut began_ns, mut sent, mut writes_ns) = (Vec::new(), 0, Vec::new());
    let (mut last_ns, mut gap_ns, mut ended) = (0, 0, Vec::new());
    while sent < DEPTH {
        began_ns.push(0);
        device.submit(0, sent, command(sent));
        sent += 1;
    }
    let (mut over, mut steps) = (0, 0_u64);
    while over < WRITES {
        device.advance(u64::MAX, &mut ended);
        steps += 1;
        assert!(steps < 50_000_000, "it goes on for ever");
        assert!(!ended.is_empty(), "{} of {sent} never ended", sent - over);
        for one in ended.drain(..) {
            assert_eq!(one.result, Ok(()));
            over += 1;
            if over > FILLING {
                gap_ns = gap_ns.max(one.at_ns - last_ns);
                if command(one.tag).operation == Operation::Write {
                    writes_ns.push(one.at_ns - began_ns[one.tag as usize]);
                }
            }
            last_ns = one.at_ns;
            began_ns.push(one.at_ns);
            device.submit(one.at_ns, sent, command(sent));
            sent += 1;
        }
    }
    writes_ns.sort_unstable();
    Met { writes_ns, gap_ns }
}

#[test]
fn no_setting_stalls_whoever_writes_into_a_full_cache() {
    let alone = load(disk());
    let limit_ns = 3 * alone.quantile_ns(0.999);
    let mut told =
        format!("disk alone: p50 {} us, p99.9 {} us\n", alone.quantile_ns(0.5) / 1000, alone.quantile_ns(0.999) / 1000);
    let matrix: [&[(&str, &str)]; 19] = [
        &[],
        &[("dirty_high_pct", "10"), ("dirty_low_pct", "5")],
        &[("dirty_high_pct", "80"), ("dirty_low_pct", "75")],
        &[("dirty_high_pct", "95"), ("dirty_low_pct", "10")],
        &[("dirty_high_pct", "95"), ("dirty_low_pct", "95")],
        &[("policy", "lru")],
        &[("policy", "fifo")],
        &[("policy", "flashcache")],
        &[
            ("policy", "flashcache"),
            ("acknowledge", "journaled"),
            ("write_back_depth", "4"),
            ("write_back_depth_per_set", "2"),
        ],
        &[("acknowledge", "journaled")],
        &[("flush_period_s", "1")],
        &[("flush_period_s", "30")],
        &[("fallow_delay_s", "1")],
        &[("idle_flush_s", "1")],
        &[("write_back_depth", "1")],
        &[("write_back_depth", "256")],
        &[("ordered", "on")],
        &[("mode", "write-through")],
        &[("mode", "write-only"), ("commit_interval_s", "0")],
    ];
    let mut failed = false;
    for block_bytes in [4096, 16384, 65536] {
        for settings in matrix {
            let met = load(cached(block_bytes, settings));
            let (median_ns, high_ns, max_ns) = (met.quantile_ns(0.5), met.quantile_ns(0.999), met.quantile_ns(1.0));
            let good = high_ns <= limit_ns && max_ns < SECOND_NS && met.gap_ns < SECOND_NS;
            failed |= !good;
            told += &format!(
                "{} blocks of {block_bytes}, {settings:?}: p50 {} us, p99.9 {} us, max {} us, gap {} us\n",
                if good { "ok " } else { "BAD" },
                median_ns / 1000,
                high_ns / 1000,
                max_ns / 1000,
                met.gap_ns / 1000
            );
        }
    }
    println!("{told}");
    assert!(!failed, "p99.9 may be {} us, no wait may be a second:\n{told}", limit_ns / 1000);
}
