//! The figures of a flash card, and its layout, which follows from them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::ftl::{self, Initial, Policy, Ppn, UnitNo, Wear};
use super::ids::{LaneNo, WayNo};

/// The figures of a card. Sizes are of one module.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Bytes that the host can use.
    pub capacity_bytes: u64,
    /// Identical modules that are striped (RAID 0).
    #[serde(default = "one")]
    pub modules: u32,
    /// Bytes of a stripe on one module.
    #[serde(default = "stripe_bytes")]
    pub stripe_bytes: u64,
    /// Flash and its layout.
    pub geometry: Geometry,
    /// Times of flash.
    pub timing: Timing,
    /// The link to the host.
    pub link: Link,
    /// The controller before the flash.
    pub controller: Controller,
    /// The write buffer.
    pub buffer: Buffer,
    /// Commands in the card at once. More commands wait before it.
    pub queue_depth: u32,
    /// Garbage collection.
    pub collector: Collector,
    /// Endurance.
    pub wear: Wear,
    /// Read errors.
    #[serde(default)]
    pub read_errors: ReadErrors,
    /// What it holds at first.
    pub initial: Initial,
    /// Bytes from its beginning that hold data at first, of whatever program: `Opening::used_bytes` may be more. 0: only those.
    #[serde(default)]
    pub occupied_bytes: u64,
}

fn one() -> u32 {
    1
}

/// In the years of these cards it was usual to stripe with Linux's md in chunks of 64 KiB.
fn stripe_bytes() -> u64 {
    65_536
}

/// Flash and its layout.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// All flash, with bad blocks.
    pub raw_bytes: u64,
    /// Buses between controller and dies.
    pub channels: u32,
    /// Dies on each.
    pub dies_per_channel: u32,
    /// Planes that read, program and erase at once.
    pub planes_per_die: u32,
    /// A flash page of one plane.
    pub page_bytes: u32,
    /// Flash pages of an erase block of one plane.
    pub pages_per_block: u32,
    /// Blocks of a unit, each on another die. They are collected and erased together.
    pub unit_blocks: u32,
    /// Bytes of a page of the mapping: a power of two.
    pub mapping_bytes: u32,
}

/// Times of flash.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Array read of a page, ns.
    pub read_ns: u64,
    /// Program of a page, ns.
    pub program_ns: u64,
    /// Erase of a block, ns.
    pub erase_ns: u64,
    /// One channel, bytes a second.
    pub channel_bytes_per_s: f64,
}

/// The link to the host, and its protocol. It moves data in both directions at once.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// To the host, bytes a second.
    pub read_bytes_per_s: f64,
    /// From the host, bytes a second.
    pub write_bytes_per_s: f64,
    /// A flush begins when all that is in the card has ended, and nothing but another flush begins beside it.
    #[serde(default)]
    pub flushes_alone: bool,
}

/// The card's controller, or its driver on the host's CPU.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// How long a request keeps one of the `parallel` servers busy.
    pub request_ns: u64,
    /// Requests handled at once.
    pub parallel: u32,
    /// Time added to each request. It keeps nothing busy.
    pub latency_ns: u64,
    /// From flash to the link, bytes a second; 0: no limit.
    #[serde(default)]
    pub read_bytes_per_s: f64,
    /// From the buffer to flash, bytes a second; 0: no limit.
    #[serde(default)]
    pub write_bytes_per_s: f64,
}

/// The write buffer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Its size; 0: a write ends when it is programmed.
    pub bytes: u64,
    /// Whether it survives a power cut. Then a flush has nothing to do.
    pub power_safe: bool,
}

/// When the collector works.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// A whole unit when there is no room left. Host writes wait for it.
    #[default]
    Unit,
    /// A few pages after each host write, before there is no room.
    Spread,
}

/// Garbage collection.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collector {
    /// How the unit is chosen.
    pub policy: Policy,
    /// Rate of the collector while host writes wait; 0: as fast as the dies.
    pub relocation_bytes_per_s: f64,
    /// When it works.
    #[serde(default)]
    pub pace: Pace,
}

/// Read errors, as shares of page reads. From new to worn they grow exponentially with the erase count, as raw bit errors
/// do (Mielke and others 2008; Grupp and others 2012).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadErrors {
    /// Reads that must be repeated, of a new card; 0: never.
    pub retry_share_new: f64,
    /// Reads that must be repeated, of a card at the end of its rated life.
    pub retry_share_worn: f64,
    /// Reads that fail, of a new card; 0: never.
    pub uncorrectable_share_new: f64,
    /// Reads that fail, of a card at the end of its rated life.
    pub uncorrectable_share_worn: f64,
}

/// The layout of a module.
///
/// A mapping page is spread over the planes of a die, and then over as many dies as its flash pages need. These planes always
/// work together. They are called a *way* here, and their channels a *lane*. (If a mapping page needs fewer planes than a die
/// has, a die has several ways, as in flash whose planes work independently.)
///
/// The pages of a unit go to all ways in turn. This also holds for a unit with fewer blocks than there are dies: a real
/// controller then keeps several such units open, for host pages and for relocated ones, which is the same for the dies. So
/// one frontier of each kind is enough here.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Bytes of a mapping page, as a power of two.
    pub page_shift: u32,
    /// Mapping pages that the host can address.
    pub logical_pages: u32,
    /// Units of the module, bad ones included.
    pub units: u32,
    /// Mapping pages of each.
    pub pages_per_unit: u32,
    /// Ways: sets of planes that work together.
    pub ways: u32,
    /// Ways that the blocks of one unit would fill.
    pub ways_per_unit: u32,
    /// Lanes: sets of channels that work together.
    pub lanes: u32,
    /// Ways of one die; 1 if a way is a die or more.
    pub ways_per_die: u32,
    /// Bytes that a way reads or programs at once.
    pub way_bytes: u64,
}

impl Layout {
    /// What the translation layer needs of it.
    pub fn ftl_geometry(&self) -> ftl::Geometry {
        let (units, pages_per_unit, logical_pages) = (self.units, self.pages_per_unit, self.logical_pages);
        ftl::Geometry { units, pages_per_unit, logical_pages, frontiers: 1 }
    }

    /// The way on which a physical page is.
    #[inline]
    pub fn way(&self, ppn: Ppn) -> WayNo {
        let (unit, index) = (ppn.number() / self.pages_per_unit, ppn.number() % self.pages_per_unit);
        WayNo::new((first_way(UnitNo::new(unit)) + index) % self.ways)
    }

    /// The ways whose dies an erase of the unit keeps busy.
    pub fn erased_ways(&self, unit: UnitNo) -> impl Iterator<Item = WayNo> + use<> {
        let (first, ways) = (first_way(unit), self.ways);
        (0..self.ways_per_unit).map(move |way| WayNo::new((first + way) % ways))
    }

    /// The lane of a way.
    #[inline]
    pub fn lane(&self, way: WayNo) -> LaneNo {
        let way = way.number();
        let first_die = if self.ways_per_die == 1 { way } else { way / self.ways_per_die };
        LaneNo::new(first_die % self.lanes)
    }

    /// Bytes of a mapping page.
    #[inline]
    pub fn page_bytes(&self) -> u64 {
        1 << self.page_shift
    }

    /// How often a way must read or program for `bytes` of a page.
    pub fn turns(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.way_bytes).max(1)
    }
}

/// A number from which the first way of a unit follows. It differs from unit to unit, so that the units that are open at one
/// time do not reach the same way at the same time.
#[inline]
fn first_way(unit: UnitNo) -> u32 {
    unit.number().wrapping_mul(2_654_435_769) >> 16
}

impl Spec {
    /// The rate of reads to the host: that of the link, or that of the controller if it is lower.
    pub(super) fn read_bytes_per_s(&self) -> f64 {
        let (controller, link) = (self.controller.read_bytes_per_s, self.link.read_bytes_per_s);
        if controller > 0.0 { controller.min(link) } else { link }
    }

    /// The same card without wear.
    pub fn unworn(&self) -> Self {
        let mut new = self.clone();
        new.wear.life_used = 0.0;
        new
    }

    /// Checks the figures and computes the layout.
    ///
    /// # Errors
    /// A figure that is impossible, by name.
    pub fn layout(&self) -> Result<Layout, String> {
        self.check_rates()?;
        let flash = &self.geometry;
        let counts = [
            ("channels", flash.channels),
            ("dies_per_channel", flash.dies_per_channel),
            ("planes_per_die", flash.planes_per_die),
            ("page_bytes", flash.page_bytes),
            ("pages_per_block", flash.pages_per_block),
            ("unit_blocks", flash.unit_blocks),
            ("queue_depth", self.queue_depth),
            ("controller.parallel", self.controller.parallel),
            ("modules", self.modules),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(format!("{name} must be over 0"));
        }
        let dies = u64::from(flash.channels) * u64::from(flash.dies_per_channel);
        let planes = dies * u64::from(flash.planes_per_die);
        if planes > 1 << 20 {
            return Err(format!("{planes} planes are more than the model takes (2^20)"));
        }
        if u64::from(flash.unit_blocks) > dies {
            return Err(format!("unit_blocks {} are on different dies, but there are {dies}", flash.unit_blocks));
        }
        if !flash.mapping_bytes.is_power_of_two() || !(512..=1 << 20).contains(&flash.mapping_bytes) {
            return Err("mapping_bytes must be a power of two of 512 B to 1 MiB".into());
        }
        let die_bytes = u64::from(flash.page_bytes) * u64::from(flash.planes_per_die);
        let unit_bytes = die_bytes
            .checked_mul(u64::from(flash.pages_per_block))
            .and_then(|block| block.checked_mul(u64::from(flash.unit_blocks)))
            .ok_or("a unit is too large")?;
        let page_bytes = u64::from(flash.mapping_bytes);
        let (units, pages_per_unit) = (flash.raw_bytes / unit_bytes, unit_bytes / page_bytes);
        // The host may use only a part of the last page.
        let logical_pages = self.capacity_bytes.div_ceil(page_bytes);
        if pages_per_unit == 0 || units.saturating_mul(pages_per_unit) >= u64::from(u32::MAX) {
            return Err(format!("{units} units of {pages_per_unit} pages are more than can be numbered, or none"));
        }
        if logical_pages == 0 || logical_pages >= units * pages_per_unit {
            return Err(format!("{} B of capacity leave no spare of {} B", self.capacity_bytes, flash.raw_bytes));
        }
        let die_planes = flash.planes_per_die;
        let pieces = page_bytes.div_ceil(u64::from(flash.page_bytes));
        let planes_per_way = (1..=pieces.min(u64::from(flash.channels * die_planes)) as u32)
            .rev()
            .find(|way| {
                planes.is_multiple_of(u64::from(*way))
                    && (way.is_multiple_of(die_planes) || die_planes.is_multiple_of(*way))
            })
            .expect("1 divides everything");
        Ok(Layout {
            page_shift: flash.mapping_bytes.trailing_zeros(),
            logical_pages: logical_pages as u32,
            units: units as u32,
            pages_per_unit: pages_per_unit as u32,
            ways: planes as u32 / planes_per_way,
            ways_per_unit: (flash.unit_blocks * die_planes).div_ceil(planes_per_way),
            lanes: (flash.channels / (planes_per_way / die_planes).max(1)).max(1),
            ways_per_die: (die_planes / planes_per_way).max(1),
            way_bytes: u64::from(flash.page_bytes) * u64::from(planes_per_way),
        })
    }

    fn check_rates(&self) -> Result<(), String> {
        let over_0 = [
            ("timing.channel_bytes_per_s", self.timing.channel_bytes_per_s),
            ("link.read_bytes_per_s", self.link.read_bytes_per_s),
            ("link.write_bytes_per_s", self.link.write_bytes_per_s),
        ];
        let or_0 = [
            ("controller.read_bytes_per_s", self.controller.read_bytes_per_s),
            ("controller.write_bytes_per_s", self.controller.write_bytes_per_s),
            ("collector.relocation_bytes_per_s", self.collector.relocation_bytes_per_s),
        ];
        let ReadErrors { retry_share_new, retry_share_worn, uncorrectable_share_new, uncorrectable_share_worn } =
            self.read_errors;
        let shares = [retry_share_new, retry_share_worn, uncorrectable_share_new, uncorrectable_share_worn];
        if let Some((name, _)) = over_0.iter().find(|(_, rate)| !rate.is_finite() || *rate <= 0.0) {
            return Err(format!("{name} must be over 0"));
        }
        if let Some((name, _)) = or_0.iter().find(|(_, rate)| !rate.is_finite() || *rate < 0.0) {
            return Err(format!("{name} must be 0 or more"));
        }
        if shares.iter().any(|share| !(0.0..=1.0).contains(share)) {
            return Err("read_errors are shares, 0 to 1".into());
        }
        Ok(())
    }
}
