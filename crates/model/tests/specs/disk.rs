//! Random hard disks.

use serde_json::json;

use super::{Dice, GIB, MIB, Sample};

/// A disk, from one of a few cylinders on: of those some have no curve of seeks, which the model says.
pub fn hdd(dice: &mut Dice) -> Sample {
    let capacity_bytes = dice.one_of(&[MIB, 8 * MIB, 64 * MIB, GIB, 100 * GIB + 512, 1024 * GIB]);
    let json = json!({
        "kind": "hdd",
        "capacity_bytes": capacity_bytes,
        "revolution_ns": dice.one_of(&[600_000, 4_000_000, 8_333_333]),
        "revolution_spread": dice.one_of(&[0.0, 0.001, 0.05]),
        "heads": dice.one_of(&[1, 2, 8]),
        "zones": dice.one_of(&[1, 3, 30]),
        "outer_bytes_per_s": 120e6,
        "inner_bytes_per_s": dice.one_of(&[60e6, 120e6]),
        "seek": {"track_to_track_ns": 500_000, "average_ns": 4_000_000, "full_stroke_ns": 9_000_000},
        "write_settle_ns": dice.one_of(&[0, 500_000]),
        "head_switch_ns": dice.one_of(&[0, 300_000]),
        "queue_depth": dice.one_of(&[1, 4, 32]),
        "age_limit_ns": dice.one_of(&[1, 50_000_000, 1_000_000_000]),
        "overhead_ns": dice.one_of(&[0, 100_000]),
        "link_bytes_per_s": 300e6,
        "flushes_alone": dice.one_of(&[false, true]),
        "read_ahead_bytes": dice.one_of(&[0, 512, 262_144, 8 * MIB]),
        "write_cache_bytes": dice.one_of(&[0, 512, 4096, 65_536, 8 * MIB]),
    });
    Sample { json, capacity_bytes, granule_bytes: 512 }
}
