//! The figures of a disk.

use schemars::JsonSchema;
use serde::Deserialize;

/// The figures of a disk.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Bytes that the host can use.
    pub capacity_bytes: u64,
    /// One turn of the platters.
    pub revolution_ns: u64,
    /// By what share one disk's turn may differ from another's: the angles of an array's members drift apart.
    pub revolution_spread: f64,
    /// Surfaces with a head each.
    pub heads: u32,
    /// Zones of as many cylinders each.
    pub zones: u32,
    /// Sustained rate of the outermost zone, where address 0 is.
    pub outer_bytes_per_s: f64,
    /// Sustained rate of the innermost one.
    pub inner_bytes_per_s: f64,
    /// Seeks of a read.
    pub seek: SeekSpec,
    /// What a write's seek takes longer: a head must stand still before it writes.
    pub write_settle_ns: u64,
    /// From one head of a cylinder to the next.
    pub head_switch_ns: u64,
    /// Commands among which the disk chooses the next.
    pub queue_depth: u32,
    /// A command that has waited for this long is next, wherever it is.
    pub age_limit_ns: u64,
    /// Work of a command that is not the arm's; commands in the queue do it meanwhile.
    pub overhead_ns: u64,
    /// The link to the host.
    pub link_bytes_per_s: f64,
    /// How far it reads on after a read while nothing else is to do; 0 for not at all.
    pub read_ahead_bytes: u64,
    /// Writes that may be in its memory only; 0 is a write cache that is off.
    pub write_cache_bytes: u64,
}

/// Times of seeks, as datasheets tell them.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekSpec {
    /// To the next cylinder.
    pub track_to_track_ns: u64,
    /// Average over random pairs of cylinders.
    pub average_ns: u64,
    /// From the first to the last.
    pub full_stroke_ns: u64,
}

impl Spec {
    pub(super) fn check(&self) -> Result<(), String> {
        let rates = [self.outer_bytes_per_s, self.inner_bytes_per_s, self.link_bytes_per_s];
        if rates.iter().any(|rate| !rate.is_finite() || *rate <= 0.0) {
            return Err("a rate must be over 0".into());
        }
        if self.inner_bytes_per_s > self.outer_bytes_per_s {
            return Err("the inner rate must not be over the outer one".into());
        }
        let counts = [self.revolution_ns, self.capacity_bytes, u64::from(self.queue_depth)];
        if counts.contains(&0) || self.heads == 0 || self.zones == 0 {
            return Err("capacity, revolution, heads, zones and queue depth must be over 0".into());
        }
        if !(0.0..0.1).contains(&self.revolution_spread) {
            return Err("the spread of revolutions must be 0 to 0.1".into());
        }
        Ok(())
    }
}
