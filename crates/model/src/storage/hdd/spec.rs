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
    /// The share by which the revolution of one disk may differ from that of another. Thus the angles of the members of an
    /// array drift apart.
    pub revolution_spread: f64,
    /// Surfaces, each with a head.
    pub heads: u32,
    /// Zones, all with the same number of cylinders.
    pub zones: u32,
    /// Sustained rate of the outermost zone, where address 0 is.
    pub outer_bytes_per_s: f64,
    /// Sustained rate of the innermost one.
    pub inner_bytes_per_s: f64,
    /// Seek times of a read.
    pub seek: SeekSpec,
    /// The extra time of a seek for a write, before which the head must be still.
    pub write_settle_ns: u64,
    /// Time to switch from one head of a cylinder to the next.
    pub head_switch_ns: u64,
    /// Commands in the queue of the disk, among which it chooses the next one.
    pub queue_depth: u32,
    /// A command that has waited for so long is served next, wherever it is.
    pub age_limit_ns: u64,
    /// Time of a command before the arm can begin with it. It does not keep the arm busy.
    pub overhead_ns: u64,
    /// The link to the host.
    pub link_bytes_per_s: f64,
    /// A flush begins when all that is in the disk has ended, and nothing but another flush begins beside it.
    pub flushes_alone: bool,
    /// How far an idle disk reads ahead after a read; 0: it does not read ahead.
    pub read_ahead_bytes: u64,
    /// Bytes of writes that may be only in the memory of the disk; 0: the write cache is off.
    pub write_cache_bytes: u64,
}

/// Seek times, as data sheets list them.
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
