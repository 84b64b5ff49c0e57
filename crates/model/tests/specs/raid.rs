//! Random arrays, to which things happen in their first seconds.

use serde_json::{Value, json};

use super::{Dice, GIB, MIB, Sample, hdd, memory, ssd};

/// Events are before this, and a failed member is replaced within as much again.
const EVENTS_END_NS: u64 = 2_000_000_000;

/// An array of any level, of cards, disks or memory.
pub fn raid(dice: &mut Dice) -> Sample {
    let member = member(dice);
    let level = dice.one_of(&[0, 1, 10, 5]);
    let members: u64 = match level {
        0 => dice.one_of(&[1, 3]),
        1 => dice.one_of(&[2, 3]),
        10 => dice.one_of(&[4, 6]),
        _ => dice.one_of(&[3, 4, 6]),
    };
    let data_units = match level {
        0 => members,
        1 => 1,
        10 => members / 2,
        _ => members - 1,
    };
    // Powers of two, each a multiple of the one before; a unit must fit a member.
    let largest_bytes = 1 << member.capacity_bytes.ilog2();
    let line_bytes = dice.one_of(&[512, 4096]).min(largest_bytes);
    let block_bytes = (line_bytes * dice.one_of(&[1, 4, 16])).min(largest_bytes);
    let unit_bytes = (block_bytes * dice.one_of(&[1, 2, 16])).min(largest_bytes);
    let room_bytes = member.capacity_bytes / unit_bytes * unit_bytes * data_units;
    let capacity_bytes = dice.one_of(&[room_bytes, room_bytes / 100 * 97]).max(1);
    let json = json!({
        "kind": "raid",
        "capacity_bytes": capacity_bytes,
        "level": level,
        "members": members,
        "device": member.json,
        "unit_bytes": unit_bytes,
        "line_bytes": line_bytes,
        "controller": controller(dice),
        "cache": cache(dice, block_bytes),
        "background": background(dice),
        "events": events(dice, level, members),
    });
    Sample { json, capacity_bytes, granule_bytes: line_bytes }
}

/// Members are small: a rebuild or a check of them is soon over.
fn member(dice: &mut Dice) -> Sample {
    let kinds = [ssd, ssd, hdd, memory];
    let mut member = dice.one_of(&kinds)(dice);
    if member.capacity_bytes >= GIB {
        member.capacity_bytes = 16 * MIB;
        member.json["capacity_bytes"] = json!(member.capacity_bytes);
    }
    member
}

fn controller(dice: &mut Dice) -> Value {
    json!({
        "read_ns": dice.one_of(&[0, 20_000]),
        "write_ns": dice.one_of(&[0, 30_000]),
        "latency_ns": dice.one_of(&[0, 50_000]),
        "link_bytes_per_s": 1e9,
        "member_queue_depth": dice.one_of(&[1, 8]),
        "updates_at_once": dice.one_of(&[1, 8]),
        "parity_after_data": dice.one_of(&[false, true]),
        "battery": dice.one_of(&[false, true, true]),
    })
}

/// None, one block, or up to many.
fn cache(dice: &mut Dice, block_bytes: u64) -> Value {
    json!({
        "bytes": block_bytes * dice.one_of(&[0, 1, 20, 500]),
        "block_bytes": block_bytes,
        "dirty_share": dice.one_of(&[0.0, 0.5, 1.0]),
        "destage_from_share": dice.one_of(&[0.0, 0.5, 1.0]),
        "destage_rows": dice.one_of(&[false, true]),
        "destage_after_ns": dice.one_of(&[1_000_000, 400_000_000]),
    })
}

fn background(dice: &mut Dice) -> Value {
    json!({
        "patrol_share": dice.one_of(&[0.01, 0.3, 1.0]),
        "check_share": dice.one_of(&[0.3, 1.0]),
        "rebuild_share": dice.one_of(&[0.3, 1.0]),
        "chunk_bytes": dice.one_of(&[1, 65_536, MIB]),
        "relearn_ns": dice.one_of(&[0, 300_000_000]),
    })
}

/// In no order, and also such as mean nothing where they come: the replacement of a member that works, a second failure.
fn events(dice: &mut Dice, level: u32, members: u64) -> Vec<Value> {
    let kinds: &[&str] = match level {
        0 => &["relearn", "patrol", "fail"],
        _ => &["relearn", "patrol", "check", "fail", "replace"],
    };
    let mut events = Vec::new();
    for _ in 0..dice.below(6) {
        let (kind, at_ns) = (dice.one_of(kinds), dice.below(EVENTS_END_NS));
        let mut event = json!({"kind": kind, "at_ns": at_ns});
        if kind == "fail" || kind == "replace" {
            let member = dice.below(members);
            event["member"] = json!(member);
            if kind == "fail" && level != 0 && dice.once_in(2) {
                events.push(json!({"kind": "replace", "at_ns": at_ns + dice.below(EVENTS_END_NS), "member": member}));
            }
        } else if dice.once_in(2) {
            event["duration_ns"] = json!(dice.below(500_000_000));
        }
        events.push(event);
    }
    events
}
