//! Random specs of modelled devices, as JSON: what the experiment file's loader gives, with figures at their edges.

use flatwater_core::seed::{Rng, stream};
use rand::Rng as _;
use serde_json::{Value, json};

mod disk;
mod raid;
mod ssd;

pub use disk::hdd;
pub use raid::raid;
pub use ssd::ssd;

pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;

/// A spec, and what its commands must keep to.
pub struct Sample {
    /// The spec.
    pub json: Value,
    /// Bytes that the host can use by it.
    pub capacity_bytes: u64,
    /// Commands must begin and end at multiples of this.
    pub granule_bytes: u64,
}

/// Random choices.
pub struct Dice(Rng);

impl Dice {
    /// The choices of one user of a seed.
    pub fn new(seed: u64, purpose: &str) -> Self {
        Self(stream(seed, purpose, 0))
    }

    /// One of some values, each as likely.
    pub fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.0.random_range(0..values.len())].clone()
    }

    /// A number under `end`, which must be over 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A number from `from` to under `to`.
    pub fn between(&mut self, from: f64, to: f64) -> f64 {
        self.0.random_range(from..to)
    }
}

/// An appliance of memory.
pub fn memory(dice: &mut Dice) -> Sample {
    let capacity_bytes = dice.one_of(&[512, MIB, 16 * MIB, GIB]);
    let json = json!({
        "kind": "memory",
        "capacity_bytes": capacity_bytes,
        "latency_ns": dice.one_of(&[0, 1000]),
        "read_bytes_per_s": 1e9,
        "write_bytes_per_s": dice.one_of(&[1e9, 1e7]),
    });
    Sample { json, capacity_bytes, granule_bytes: 1 }
}

/// A volume in the network.
pub fn volume(dice: &mut Dice) -> Sample {
    let json = json!({
        "kind": "volume",
        "capacity_bytes": GIB,
        "read_ns": 600_000,
        "write_ns": 900_000,
        "spread": dice.one_of(&[0.0, 0.5, 2.0]),
        "requests": limit(dice, 300.0),
        "request_bytes": dice.one_of(&[0, 16_384, 262_144]),
        "bytes": limit(dice, 128e6),
    });
    Sample { json, capacity_bytes: GIB, granule_bytes: 1 }
}

/// A limit with no bursts, with a few credits for them, or with many.
fn limit(dice: &mut Dice, baseline_per_s: f64) -> Value {
    let credits_max = baseline_per_s * dice.one_of(&[0.0, 0.1, 10.0]);
    json!({
        "baseline_per_s": baseline_per_s,
        "burst_per_s": baseline_per_s * dice.one_of(&[1.0, 10.0]),
        "credits_max": credits_max,
        "credits": credits_max * dice.one_of(&[0.0, 1.0]),
    })
}
