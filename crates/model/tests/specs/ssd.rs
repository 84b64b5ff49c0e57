//! Random flash cards: small ones, so that a few thousand commands fill them, collect garbage and wear them out.

use serde_json::{Value, json};

use super::{Dice, Sample};

/// Units that a card keeps free of data, beside its bad ones: the open ones and the collector's.
const RESERVED_UNITS: u64 = 6;

/// Flash, its layout, and how many bytes the host gets of it.
struct Flash {
    json: Value,
    capacity_bytes: u64,
}

/// A card of one or several modules.
pub fn ssd(dice: &mut Dice) -> Sample {
    let flash = flash(dice);
    let modules = dice.one_of(&[1, 1, 1, 2, 3]);
    let stripe_bytes = match dice.one_of(&[512, 4096, 12_288, 65_536]) {
        too_large if too_large > flash.capacity_bytes => 512,
        stripe_bytes => stripe_bytes,
    };
    let capacity_bytes = match modules {
        1 => flash.capacity_bytes,
        _ => flash.capacity_bytes / stripe_bytes * stripe_bytes * modules,
    };
    let json = json!({
        "kind": "ssd",
        "capacity_bytes": flash.capacity_bytes,
        "modules": modules,
        "stripe_bytes": stripe_bytes,
        "geometry": flash.json,
        "timing": timing(dice),
        "link": {"read_bytes_per_s": 1e9, "write_bytes_per_s": dice.one_of(&[1e7, 1e9]),
            "flushes_alone": dice.one_of(&[false, true])},
        "controller": controller(dice),
        "buffer": {"bytes": dice.one_of(&[0, 1, 65_536, 1 << 20]), "power_safe": dice.one_of(&[false, true])},
        "queue_depth": dice.one_of(&[1, 3, 32]),
        "collector": collector(dice),
        "wear": wear(dice),
        "read_errors": read_errors(dice),
        "initial": dice.one_of(&[
            json!({"name": "fresh"}),
            json!({"name": "filled"}),
            json!({"name": "preconditioned", "simulate": true}),
            json!({"name": "preconditioned", "simulate": false}),
        ]),
    });
    Sample { json, capacity_bytes, granule_bytes: 1 }
}

/// Mapping pages from one flash page up to several dies', of which a unit is a whole number.
fn flash(dice: &mut Dice) -> Flash {
    let (channels, dies_per_channel) = (dice.one_of(&[1, 2, 5, 8]), dice.one_of(&[1, 2, 4]));
    let planes_per_die = dice.one_of(&[1, 2, 3, 4]);
    let (page_bytes, pages_per_block) = (dice.one_of(&[512, 4096, 8192]), dice.one_of(&[4, 16, 64]));
    let unit_blocks = 1 + dice.below(channels * dies_per_channel);
    let unit_bytes = page_bytes * planes_per_die * pages_per_block * unit_blocks;
    let mut mapping_bytes = page_bytes * dice.one_of(&[1, 2, 4]);
    while !unit_bytes.is_multiple_of(mapping_bytes) {
        mapping_bytes /= 2;
    }
    let units = dice.one_of(&[20, 20, 50, 200]) + dice.below(20);
    // A tenth beside the reserve is for units that are bad or worn out; some cards have more of them than that.
    let most_bytes = (units * 9 / 10 - RESERVED_UNITS) * unit_bytes;
    let json = json!({
        "raw_bytes": units * unit_bytes,
        "channels": channels,
        "dies_per_channel": dies_per_channel,
        "planes_per_die": planes_per_die,
        "page_bytes": page_bytes,
        "pages_per_block": pages_per_block,
        "unit_blocks": unit_blocks,
        "mapping_bytes": mapping_bytes,
    });
    Flash { json, capacity_bytes: (most_bytes as f64 * dice.between(0.3, 1.0)) as u64 }
}

fn timing(dice: &mut Dice) -> Value {
    json!({
        "read_ns": dice.one_of(&[0, 25_000]),
        "program_ns": dice.one_of(&[0, 200_000]),
        "erase_ns": dice.one_of(&[0, 2_000_000]),
        "channel_bytes_per_s": dice.one_of(&[40e6, 100e6]),
    })
}

fn controller(dice: &mut Dice) -> Value {
    json!({
        "request_ns": dice.one_of(&[0, 5000]),
        "parallel": dice.one_of(&[1, 4]),
        "latency_ns": dice.one_of(&[0, 10_000]),
        "read_bytes_per_s": dice.one_of(&[0.0, 500e6]),
        "write_bytes_per_s": dice.one_of(&[0.0, 300e6]),
    })
}

fn collector(dice: &mut Dice) -> Value {
    json!({
        "policy": dice.one_of(&[
            json!({"name": "greedy"}),
            json!({"name": "fifo"}),
            json!({"name": "random"}),
            json!({"name": "d-choices", "choices": 3}),
            json!({"name": "cost-benefit"}),
        ]),
        "relocation_bytes_per_s": dice.one_of(&[0.0, 100e6]),
        "pace": dice.one_of(&["unit", "spread"]),
    })
}

/// Also of so few cycles that the card wears out under the commands.
fn wear(dice: &mut Dice) -> Value {
    json!({
        "rated_cycles": dice.one_of(&[0, 2, 5, 1000]),
        "life_used": dice.one_of(&[0.0, 0.5]),
        "spread": dice.one_of(&[0.0, 0.3]),
        "static_threshold_cycles": dice.one_of(&[0, 2, 50]),
        "initial_bad_share": dice.one_of(&[0.0, 0.02]),
    })
}

fn read_errors(dice: &mut Dice) -> Value {
    json!({
        "retry_share_new": dice.one_of(&[0.0, 0.2]),
        "retry_share_worn": dice.one_of(&[0.0, 0.9]),
        "uncorrectable_share_new": dice.one_of(&[0.0, 0.0, 0.01]),
        "uncorrectable_share_worn": 0.05,
    })
}
