//! A page-mapped flash translation layer, without time: where each page is, which unit is collected, and how units wear.
//!
//! The layer above chooses when things happen. It writes while there is `room`. At `room() == 0` it collects a unit:
//! `begin_collection`, then `relocate` until that returns that the victim is empty, then `end_collection` (the erase). A
//! collection of a victim with v valid pages of B leaves B - v pages of room.
//!
//! Room grows while a collection is under way. Each relocated page adds 1/v of what the victim will yield, out of the
//! reserve. Each page of the victim that the host overwrites or trims adds one more page. Thus the layer above may stop the
//! host until the erase (a burst), or let it write whenever there is room (paced); both end with the same room. A worn
//! victim that is retired yields nothing: then the pages that were written in advance are owed, and the next victims pay
//! for them.
//!
//! Memory: that of the mapping, and a few dozen bytes a unit.

mod collecting;
mod collection;
mod draws;
mod free;
mod frontier;
mod geometry;
mod ids;
mod initial;
mod mapping;
mod room;
pub mod theory;
mod units;
mod victims;
mod wear;

#[cfg(test)]
mod tests;

pub use collection::{Erased, WornOut};
pub use geometry::Geometry;
pub use ids::{Lpn, Ppn, UnitNo};
pub use initial::Initial;
pub use victims::Policy;
pub use wear::Wear;

use collection::Collection;
use free::Free;
use frontier::{Frontier, HostFrontiers};
use geometry::Divisor;
use mapping::Mapping;
use room::Room;
use units::{State, Units};
use victims::{Choose, Victims};
use wear::Cycles;

/// Counters of a device, and its present state. Pages, erases and collections count from the end of the initial state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Pages that the host wrote.
    pub host_pages: u64,
    /// Pages that collections moved, with those of static wear levelling.
    pub relocated_pages: u64,
    /// Pages that static wear levelling moved.
    pub levelled_pages: u64,
    /// Units that were erased.
    pub erases: u64,
    /// Pages that hold data now: written and not trimmed.
    pub valid_pages: u32,
    /// Pages outside the collector's reserve and the open frontiers. Utilisation is `valid_pages` of these.
    pub usable_pages: u32,
    /// Units that are erased and free now.
    pub free_units: u32,
    /// Units that are bad now, with those that were bad from the beginning.
    pub bad_units: u32,
    /// Erase count of good units, over the device's life.
    pub erase_count_mean: f64,
    /// Lowest erase count of a good unit.
    pub erase_count_min: u32,
    /// Highest erase count of a unit.
    pub erase_count_max: u32,
    /// Share of the first spare space that is left, 1 down to 0.
    pub spare_left_share: f64,
}

/// Entries of the mapping in one line of the processor's cache, which has 64 bytes.
pub(super) const ENTRIES_OF_LINE: usize = 16;

/// A translation layer.
pub struct Ftl {
    geometry: Geometry,
    divisor: Divisor,
    mapping: Mapping,
    units: Units,
    victims: Victims,
    cycles: Cycles,
    free: Free,
    host: HostFrontiers,
    relocation: Frontier,
    collection: Option<Collection>,
    room: Room,
    /// All pages that the host wrote so far: the time of the policies.
    now: u64,
    worn_out: bool,
    /// The initial state is being made: nothing wears.
    settling: bool,
    spare_at_first: u64,
    valid_pages: u32,
    bad_units: u32,
    counted: Counters,
}

impl Ftl {
    /// A device whose first `used_pages` logical pages are in use, in the state that `initial` describes.
    ///
    /// # Errors
    /// A shape, a policy or wear that is impossible, in words.
    pub fn new(
        geometry: Geometry,
        policy: Policy,
        wear: Wear,
        initial: Initial,
        used_pages: u32,
        seed: u64,
    ) -> Result<Self, String> {
        geometry.check(geometry.units)?;
        let (cycles, bad) = Cycles::new(geometry.units, &wear, seed)?;
        let why = |error| format!("{} of {} units are bad or worn out: {error}", bad.len(), geometry.units);
        geometry.check(cycles.good()).map_err(why)?;
        if used_pages > geometry.logical_pages {
            return Err(format!("{used_pages} used pages are more than the {} logical ones", geometry.logical_pages));
        }
        let mut ftl = Self {
            divisor: Divisor::new(geometry.pages_per_unit),
            mapping: Mapping::new(geometry.logical_pages, geometry.physical_pages() as usize),
            units: Units::new(&geometry),
            victims: Victims::new(policy, geometry.units, geometry.pages_per_unit, seed)?,
            free: Free::new(geometry.frontiers),
            host: HostFrontiers::new(geometry.frontiers as usize),
            relocation: Frontier::NONE,
            collection: None,
            room: Room::new(geometry.usable_pages(cycles.good()) as i64),
            now: 0,
            worn_out: false,
            settling: true,
            spare_at_first: 0,
            valid_pages: 0,
            bad_units: bad.len() as u32,
            counted: Counters::default(),
            cycles,
            geometry,
        };
        for unit in bad {
            ftl.units.set(unit, State::Bad);
        }
        for unit in UnitNo::first(geometry.units).filter(|unit| ftl.units.state(*unit) == State::Free) {
            ftl.free.put(unit, ftl.cycles.of(unit));
        }
        ftl.spare_at_first = ftl.spare_pages();
        ftl.become_initial(initial, policy, used_pages, seed);
        ftl.settling = false;
        ftl.counted = Counters::default();
        Ok(ftl)
    }

    /// Its shape.
    pub const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The physical page of a logical one; None: it was never written, or was trimmed.
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.mapping.find(lpn)
    }

    /// Prefetches the entry of a logical page that will be written or looked up soon. Changes nothing.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.mapping.prefetch(lpn);
    }

    /// The second step, some time after `prefetch`: prefetches the state of the physical page, which a write invalidates.
    #[inline]
    pub fn prefetch_place(&self, lpn: Lpn) {
        if let Some(ppn) = self.mapping.get(lpn) {
            self.mapping.prefetch_bit(ppn);
            let unit = self.unit_of(ppn);
            self.units.prefetch(unit);
            self.victims.prefetch(unit);
        }
    }

    /// The third step, some time after `prefetch_place`: prefetches the neighbours of the page's unit among the victims.
    #[inline]
    pub fn prefetch_neighbours(&self, lpn: Lpn) {
        if let Some(ppn) = self.mapping.get(lpn) {
            self.victims.prefetch_neighbours(self.unit_of(ppn));
        }
    }

    #[inline]
    fn unit_of(&self, ppn: Ppn) -> UnitNo {
        UnitNo::new(self.divisor.quotient(ppn.number()))
    }

    /// Pages that the host can write before a collection must begin or go on.
    #[inline]
    pub fn room(&self) -> u32 {
        if self.worn_out { 0 } else { self.room.pages() }
    }

    /// Pages outside the collector's reserve and the open frontiers. The valid share of these is `u` in the theory of
    /// write amplification.
    pub fn usable_pages(&self) -> u32 {
        self.geometry.usable_pages(self.cycles.good()) as u32
    }

    /// Writes a logical page and returns its new physical page. There must be room.
    #[inline]
    pub fn write(&mut self, lpn: Lpn) -> Ppn {
        debug_assert!(self.room() > 0, "a write needs room");
        let old_ppn = self.mapping.find(lpn);
        let turn = self.host.next_turn();
        if self.host[turn].is_full() {
            let unit = self.free.take_of(turn).expect("room means that a unit is free");
            self.host[turn] = self.open(unit);
        }
        self.now += 1;
        self.counted.host_pages += 1;
        match old_ppn {
            None => self.valid_pages += 1,
            Some(old_ppn) => self.invalidate(old_ppn),
        }
        let (unit, next_ppn) = (self.host[turn].unit, self.host[turn].take());
        self.program(unit, next_ppn, lpn);
        if self.host[turn].is_full() {
            self.close(unit);
        }
        next_ppn
    }

    /// Forgets a logical page. From now on its space is spare.
    pub fn trim(&mut self, lpn: Lpn) {
        if let Some(ppn) = self.mapping.find(lpn) {
            self.mapping.unmap(lpn);
            self.valid_pages -= 1;
            self.invalidate(ppn);
        }
    }

    /// The counters and the present state.
    pub fn counters(&self) -> Counters {
        let (erase_count_min, erase_count_max) = self.cycles.extremes();
        let spare = self.spare_pages() as f64;
        Counters {
            valid_pages: self.valid_pages,
            usable_pages: self.usable_pages(),
            free_units: self.free.len(),
            bad_units: self.bad_units,
            erase_count_mean: self.cycles.mean(),
            erase_count_min,
            erase_count_max,
            spare_left_share: if self.spare_at_first == 0 { 0.0 } else { spare / self.spare_at_first as f64 },
            ..self.counted
        }
    }

    /// Usable pages that a device full of data could lose and still work.
    fn spare_pages(&self) -> u64 {
        let needed = u64::from(self.geometry.logical_pages) + self.geometry.spare_pages_min() - 1;
        self.geometry.usable_pages(self.cycles.good()).saturating_sub(needed)
    }

    fn open(&mut self, unit: UnitNo) -> Frontier {
        self.units.set(unit, State::Open);
        let next_ppn = self.geometry.first_page(unit);
        Frontier { unit, next_ppn, end_ppn: next_ppn + self.geometry.pages_per_unit }
    }

    fn close(&mut self, unit: UnitNo) {
        self.units.set(unit, State::Closed);
        self.victims.closed(unit, self.units.valid(unit), self.now);
    }

    #[inline]
    fn program(&mut self, unit: UnitNo, ppn: Ppn, lpn: Lpn) {
        self.mapping.put(lpn, ppn);
        self.units.gain(unit);
        self.room.take();
    }

    /// A physical page is out of date.
    #[inline]
    fn invalidate(&mut self, ppn: Ppn) {
        self.mapping.invalidate(ppn);
        let unit = self.unit_of(ppn);
        let now = self.units.lose(unit);
        match now.state {
            State::Closed => self.victims.changed(unit, now.valid, self.now),
            State::Victim => self.earn(),
            State::Free | State::Open | State::Bad => {}
        }
    }
}
