//! The figures of an array.

use flatwater_core::seed::splitmix;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ids::MemberNo;
use super::layout::{Layout, Level};
use crate::storage::{Device, Figures, Opening};

/// The figures of an array; `D` are those of a member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec<D: ?Sized> {
    /// Bytes that the host can use. The members must have room for them.
    pub capacity_bytes: u64,
    /// 0, 1, 5 or 10.
    pub level: u32,
    /// Members.
    pub members: u32,
    /// The figures of each member.
    pub device: Box<D>,
    /// Bytes of a stripe unit.
    pub unit_bytes: u64,
    /// Bytes of a line of the controller's memory. A stripe unit and the bounds of each request are multiples of it.
    pub line_bytes: u64,
    /// The controller.
    pub controller: Controller,
    /// Its memory.
    pub cache: CacheSpec,
    /// Its background work.
    pub background: Background,
    /// Its events.
    pub events: Vec<Happening>,
}

/// A controller.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// How long a read keeps the controller busy.
    pub read_ns: u64,
    /// How long a write keeps the controller busy.
    pub write_ns: u64,
    /// Time added to each request. It keeps nothing busy.
    pub latency_ns: u64,
    /// The link to the host.
    pub link_bytes_per_s: f64,
    /// Commands that a member has in flight at most.
    pub member_queue_depth: u32,
    /// Updates at once that change parity or write from the memory to the members.
    pub updates_at_once: u32,
    /// Parity is written after the data, not at the same time.
    pub parity_after_data: bool,
    /// Whether a battery preserves the memory.
    pub battery: bool,
}

/// The controller's memory.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// Its size; 0: no memory.
    pub bytes: u64,
    /// Bytes of a block, in which it is given out: at most 64 lines. A stripe unit is a multiple of it.
    pub block_bytes: u64,
    /// Share of it that dirty lines may take, 0..=1.
    pub dirty_share: f64,
    /// Share of that from which on dirty lines are written to the members without a pause.
    pub destage_from_share: f64,
    /// All dirty lines of a row are written together, with one change of parity. Otherwise only consecutive lines are.
    pub destage_rows: bool,
    /// All dirty lines are written to the members about this often.
    pub destage_after_ns: u64,
}

/// Background work of the controller, with the share of the members' time that each kind takes at most.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// Patrol reads: reads of all data on every member.
    pub patrol_share: f64,
    /// Consistency checks: reads of all rows, to compare parity or copies.
    pub check_share: f64,
    /// Rebuilds of a new member.
    pub rebuild_share: f64,
    /// Bytes of a member that background work reads or writes at once.
    pub chunk_bytes: u64,
    /// Duration of a relearn of the battery.
    pub relearn_ns: u64,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum HappeningKind {
    /// A relearn: the battery discharges and charges again. Meanwhile writes are not cached.
    Relearn,
    /// A patrol read.
    Patrol,
    /// A consistency check.
    Check,
    /// A member fails.
    Fail,
    /// A failed member is replaced by a new device, which is rebuilt.
    Replace,
}

/// An event at a given time.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Happening {
    /// Its kind.
    pub kind: HappeningKind,
    /// When it begins.
    pub at_ns: u64,
    /// How long it lasts at most. A relearn lasts exactly so long.
    #[serde(default)]
    pub duration_ns: Option<u64>,
    /// The member, counted from 0.
    #[serde(default)]
    pub member: Option<u32>,
}

impl<D: ?Sized> Spec<D> {
    /// Checks what does not depend on the members' devices.
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

    /// Checks the events.
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
    /// The same figures without the type of the members' figures.
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
    /// Makes a member. All have the same age, and each has its own seed. `generation` is 0 for a first member; each
    /// replacement has another one.
    pub(super) fn open_member(
        &self,
        opening: Opening,
        member: MemberNo,
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
        let seed = splitmix(opening.seed ^ splitmix(u64::from(member.number()) + 1 + (generation << 32)));
        let opening = Opening { seed, used_bytes };
        // The replacement of a worn member is new.
        let device = if generation > 0 { self.device.open_unworn(opening) } else { self.device.open(opening) };
        device.map_err(|why| format!("device: {why}"))
    }
}
