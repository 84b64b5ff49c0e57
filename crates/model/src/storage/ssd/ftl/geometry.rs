//! How many pages and units a device has, and how many of them the host can use.

use serde::Deserialize;

use super::ids::{Ppn, UnitNo};

/// Units that stay free beside one for each host frontier. The pages of a victim move to the first. The second lets the
/// host write in advance while a victim is being collected.
const RESERVE_UNITS: u32 = 2;

/// The shape of a device in pages of its mapping.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Units, which are collected and erased as a whole; with those that are bad from the beginning.
    pub units: u32,
    /// Pages of one unit.
    pub pages_per_unit: u32,
    /// Pages that the host can address.
    pub logical_pages: u32,
    /// Units over which the host's writes are spread at any time, page by page.
    pub frontiers: u32,
}

impl Geometry {
    /// All physical pages, with those of bad units.
    pub const fn physical_pages(&self) -> u64 {
        self.units as u64 * self.pages_per_unit as u64
    }

    /// The first page of a unit.
    #[inline]
    pub(super) const fn first_page(&self, unit: UnitNo) -> Ppn {
        Ppn::new(unit.number() * self.pages_per_unit)
    }

    /// Pages that `good_units` leave outside of the collector's reserve and the open frontiers.
    pub fn usable_pages(&self, good_units: u32) -> u64 {
        (u64::from(good_units) * u64::from(self.pages_per_unit)).saturating_sub(self.reserve_pages())
    }

    /// Free pages, with those of open frontiers, that are left when the host has no room.
    pub(super) fn reserve_pages(&self) -> u64 {
        (u64::from(self.frontiers) + u64::from(RESERVE_UNITS)) * u64::from(self.pages_per_unit)
    }

    /// Usable pages that must not be valid, so that some unit can be collected with a gain: all invalid pages may be in open
    /// units, those of the host and that of the collector.
    pub(super) fn spare_pages_min(&self) -> u64 {
        (u64::from(self.frontiers) + 1) * u64::from(self.pages_per_unit) + 1
    }

    /// Checks the shape.
    ///
    /// # Errors
    /// A shape that cannot work, in words.
    pub(super) fn check(&self, good_units: u32) -> Result<(), String> {
        if self.units == 0 || self.pages_per_unit == 0 || self.logical_pages == 0 || self.frontiers == 0 {
            return Err("units, pages a unit, logical pages and frontiers must be over 0".into());
        }
        if self.physical_pages() >= u64::from(u32::MAX) {
            let (pages, most) = (self.physical_pages(), u32::MAX - 1);
            return Err(format!(
                "{pages} flash pages are more than the mapping numbers ({most}): use a larger mapping page"
            ));
        }
        let usable = self.usable_pages(good_units);
        let needed = u64::from(self.logical_pages) + self.spare_pages_min();
        if usable < needed {
            return Err(format!(
                "no spare space: {good_units} good units of {} pages leave {usable} beside the open ones and the \
                 collector's reserve, but {} logical pages need {needed}",
                self.pages_per_unit, self.logical_pages
            ));
        }
        Ok(())
    }
}

/// Division of u32 by a fixed number, as one multiplication (Lemire, Kaser and Kurz 2019).
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    inverse: u64,
    divisor: u32,
}

impl Divisor {
    pub(super) const fn new(divisor: u32) -> Self {
        // The inverse of 1 is 2^64, which wraps to 0. `quotient` treats 1 separately.
        Self { inverse: (u64::MAX / divisor as u64).wrapping_add(1), divisor }
    }

    #[inline]
    pub(super) fn quotient(self, number: u32) -> u32 {
        if self.divisor == 1 {
            return number;
        }
        ((u128::from(self.inverse) * u128::from(number)) >> 64) as u32
    }
}
