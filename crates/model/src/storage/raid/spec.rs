//! The figures of an array.

use flatwater_core::seed::splitmix;
use schemars::JsonSchema;
use serde::Deserialize;

use super::layout::{Layout, Level};
use crate::storage::{Device, Figures, Opening};

/// The figures of an array; `D` are those of a member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec<D: ?Sized> {
    /// Bytes that the host can use; at most what the members have room for.
    pub capacity_bytes: u64,
    /// 0, 1, 5 or 10.
    pub level: u32,
    /// Members.
    pub members: u32,
    /// What each of them is.
    pub device: Box<D>,
    /// Bytes of a stripe unit.
    pub unit_bytes: u64,
    /// Bytes of a line of the controller's memory; divides a stripe unit and every request's ends.
    pub line_bytes: u64,
    /// The controller.
    pub controller: Controller,
    /// Its memory.
    pub cache: CacheSpec,
    /// What it does by itself.
    pub background: Background,
    /// What happens to it.
    pub events: Vec<Happening>,
}

/// A controller.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Its own time for a read, one after another.
    pub read_ns: u64,
    /// The same for a write.
    pub write_ns: u64,
    /// What a request takes beside that; those of several requests overlap.
    pub latency_ns: u64,
    /// The link to the host.
    pub link_bytes_per_s: f64,
    /// Commands that it gives to a member at once.
    pub member_queue_depth: u32,
    /// Rows whose parity is being changed, or that are on their way from the memory to the members, at once.
    pub updates_at_once: u32,
    /// Parity is written when the data is, instead of beside it.
    pub parity_after_data: bool,
    /// Whether a battery keeps the memory.
    pub battery: bool,
}

/// The controller's memory.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// 0 for none.
    pub bytes: u64,
    /// It is given out in blocks of so many bytes, up to 64 lines; divides a stripe unit.
    pub block_bytes: u64,
    /// Share that writes may take, 0..=1.
    pub dirty_share: f64,
    /// Share of that from which on it writes to the members without a pause.
    pub destage_from_share: f64,
    /// A row's dirty lines go to the members together, with one change of its parity; otherwise only those that follow
    /// each other.
    pub destage_rows: bool,
    /// Everything goes to the members about this often.
    pub destage_after_ns: u64,
}

/// Work that the controller does by itself, each with the share of the members' time that it takes at most.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// Reads of everything on every member.
    pub patrol_share: f64,
    /// Reads of everything, row by row, to compare parity or copies.
    pub check_share: f64,
    /// Reconstruction of a new member.
    pub rebuild_share: f64,
    /// Bytes of a member that it reads or writes at once.
    pub chunk_bytes: u64,
    /// A relearn of the battery.
    pub relearn_ns: u64,
}

/// What can happen to an array.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum HappeningKind {
    /// The battery discharges and charges again: no write-back meanwhile.
    Relearn,
    /// A patrol read.
    Patrol,
    /// A consistency check.
    Check,
    /// A member fails.
    Fail,
    /// A failed member's place gets a new device, which is rebuilt.
    Replace,
}

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Happening {
    /// What.
    pub kind: HappeningKind,
    /// When.
    pub at_ns: u64,
    /// For how long at most; a relearn: for how long.
    #[serde(default)]
    pub duration_ns: Option<u64>,
    /// To which member, from 0.
    #[serde(default)]
    pub member: Option<u32>,
}

impl<D: ?Sized> Spec<D> {
    /// Refuses what needs no look at the members.
    pub(super) fn check(&self) -> Result<(), String> {
        let shares = [self.background.patrol_share, self.background.check_share, self.background.rebuild_share];
        if shares.iter().any(|share| !(*share > 0.0 && *share <= 1.0)) {
            return Err("background: a share must be over 0 and at most 1".into());
        }
        let cache = [self.cache.dirty_share, self.cache.destage_from_share];
        if cache.iter().any(|share| !(0.0..=1.0).contains(share)) {
            return Err("cache: a share must be 0 to 1".into());
        }
        let rate = self.controller.link_bytes_per_s;
        if !rate.is_finite() || rate <= 0.0 {
            return Err("controller.link: a rate must be over 0".into());
        }
        if self.controller.member_queue_depth == 0 || self.controller.updates_at_once == 0 {
            return Err("controller: the members' queue depth and the updates at once must be over 0".into());
        }
        let (line, block) = (self.line_bytes, self.cache.block_bytes);
        if line == 0 || block == 0 || !block.is_multiple_of(line) || !self.unit_bytes.is_multiple_of(block) {
            return Err("stripe_unit: must be a multiple of the memory's blocks, and they of its lines".into());
        }
        if block / line > 64 {
            return Err("cache.block: more than 64 lines".into());
        }
        if self.cache.destage_after_ns == 0 || self.background.chunk_bytes == 0 {
            return Err("cache.destage_after and background.chunk must be over 0".into());
        }
        if self.cache.bytes / block >= u64::from(u32::MAX) {
            return Err("cache: more blocks than can be counted".into());
        }
        Ok(())
    }

    /// Refuses events that cannot be.
    pub(super) fn check_events(&self, layout: &Layout) -> Result<(), String> {
        for (number, event) in self.events.iter().enumerate() {
            let name = format!("events {number} ({:?})", event.kind).to_lowercase();
            let of_member = matches!(event.kind, HappeningKind::Fail | HappeningKind::Replace);
            match event.member {
                None if of_member => return Err(format!("{name}: member is missing")),
                Some(member) if member >= self.members => {
                    return Err(format!("{name}: there is no member {member}, they are 0 to {}", self.members - 1));
                }
                Some(_) if !of_member => return Err(format!("{name}: it is not of one member")),
                _ => {}
            }
            if layout.level == Level::Raid0 && matches!(event.kind, HappeningKind::Check | HappeningKind::Replace) {
                return Err(format!("{name}: RAID 0 has nothing to compare with or to rebuild from"));
            }
        }
        Ok(())
    }
}

impl<D: Figures + 'static> Spec<D> {
    /// The same figures, without the members' type.
    pub(super) fn of_any_device(self) -> Spec<dyn Figures> {
        let Self {
            capacity_bytes,
            level,
            members,
            device,
            unit_bytes,
            line_bytes,
            controller,
            cache,
            background,
            events,
        } = self;
        Spec { capacity_bytes, level, members, device, unit_bytes, line_bytes, controller, cache, background, events }
    }
}

impl Spec<dyn Figures> {
    /// A new member: all have the same age, and seeds of their own. `generation` counts those that a place had.
    pub(super) fn open_member(
        &self,
        opening: Opening,
        number: u32,
        generation: u64,
    ) -> Result<Box<dyn Device>, String> {
        let data_units = match self.level {
            0 => self.members,
            5 => self.members.saturating_sub(1),
            10 => self.members / 2,
            _ => 1,
        };
        let row_bytes = u64::from(data_units.max(1)) * self.unit_bytes.max(1);
        let used_bytes = if generation == 0 { opening.used_bytes.div_ceil(row_bytes) * self.unit_bytes } else { 0 };
        let seed = splitmix(opening.seed ^ splitmix(u64::from(number) + 1 + (generation << 32)));
        let opening = Opening { seed, used_bytes };
        // What replaces a worn member has nothing behind it.
        let device = if generation > 0 { self.device.open_unworn(opening) } else { self.device.open(opening) };
        device.map_err(|why| format!("device: {why}"))
    }
}
