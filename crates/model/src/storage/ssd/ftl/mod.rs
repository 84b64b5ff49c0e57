//! A page-mapped flash translation layer, without time: where each page is, which unit is collected, what it wears.
//!
//! The layer above decides when things happen. It writes while there is `room`; at `room() == 0` it collects a unit:
//! `begin_collection`, `relocate` until that says the victim is empty, `end_collection` (the erase). A collection of a
//! victim with v valid pages of B leaves B - v pages of room.
//!
//! Room grows while a collection is under way: with each relocated page by 1/v of what the victim will yield, out of the
//! reserve, and with each page of the victim that dies by itself by one more. So the layer above may stop the host until the
//! erase (a burst), or let it write whenever there is room (paced); both end with the same room. A worn victim that is
//! retired yields nothing: what was written in advance is owed then, and the next victims pay for it.
//!
//! Memory: 4 bytes a logical page, 4 bytes and 1 bit a flash page, and a few dozen bytes a unit, whatever is asked of it.

mod collecting;
mod collection;
mod draws;
mod free;
mod frontier;
mod geometry;
mod initial;
mod room;
pub mod theory;
mod units;
mod victims;
mod wear;

#[cfg(test)]
mod tests;

pub use collection::{Erased, WornOut};
pub use geometry::Geometry;
pub use initial::Initial;
pub use victims::Policy;
pub use wear::Wear;

use collection::Collection;
use free::Free;
use frontier::{Frontier, HostFrontiers};
use geometry::Divisor;
use room::Room;
use units::{State, Units};
use victims::{Choose, Victims};
use wear::Cycles;

use crate::large::{self, near};

/// No page.
const NONE: u32 = u32::MAX;

/// What a device has done and how it stands. Pages, erases and collections count from the end of the initial state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Pages that the host wrote.
    pub host_pages: u64,
    /// Pages that collections moved, those of static wear levelling among them.
    pub relocated_pages: u64,
    /// Pages that static wear levelling moved.
    pub levelled_pages: u64,
    /// Units that were erased.
    pub erases: u64,
    /// Pages that hold data now: written and not trimmed.
    pub valid_pages: u32,
    /// Pages outside of the collector's reserve and the open frontiers: utilisation is `valid_pages` of these.
    pub usable_pages: u32,
    /// Units that are erased now.
    pub free_units: u32,
    /// Units that are bad now, those that were from the beginning among them.
    pub bad_units: u32,
    /// Erase count of good units, over the device's life.
    pub erase_count_mean: f64,
    /// Lowest erase count of a good unit.
    pub erase_count_min: u32,
    /// Highest erase count of a unit.
    pub erase_count_max: u32,
    /// Spare space that is left of what there was at first, 1 down to 0.
    pub spare_left_share: f64,
}

/// Entries of the mapping that come into the processor's cache together: a line of 64 bytes.
pub(super) const ENTRIES_NEAR: usize = 16;

/// A translation layer.
pub struct Ftl {
    geometry: Geometry,
    divisor: Divisor,
    /// By logical page, where it is: the flash page's number with all bits turned, so that `NONE` is 0, and pages that
    /// were never written take no memory.
    l2p: Vec<u32>,
    /// By flash page, whose it is, or was.
    p2l: Vec<u32>,
    /// By flash page a bit: whether it is valid.
    live: Vec<u64>,
    units: Units,
    victims: Victims,
    cycles: Cycles,
    free: Free,
    host: HostFrontiers,
    relocation: Frontier,
    collection: Option<Collection>,
    room: Room,
    /// Pages that the host wrote, ever: the policies' time.
    now: u64,
    worn_out: bool,
    /// The initial state is still in the making: nothing wears.
    settling: bool,
    spare_at_first: u64,
    valid_pages: u32,
    bad_units: u32,
    counted: Counters,
}

impl Ftl {
    /// A device whose first `used_pages` logical pages are in use, as `initial` has it.
    ///
    /// # Errors
    /// A shape, a policy or wear that cannot be, in words.
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
        let pages = geometry.physical_pages() as usize;
        let mut ftl = Self {
            divisor: Divisor::new(geometry.pages_per_unit),
            l2p: large::zeros(vec![!NONE; geometry.logical_pages as usize]),
            p2l: large::zeros(vec![0; pages]),
            live: vec![0; pages.div_ceil(64)],
            units: Units::new(&geometry),
            victims: Victims::new(policy, geometry.units, geometry.pages_per_unit, seed)?,
            free: Free::new(geometry.frontiers),
            host: HostFrontiers::new(geometry.frontiers as usize),
            relocation: Frontier::default(),
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
        for unit in (0..geometry.units).filter(|unit| ftl.units.state(*unit) == State::Free) {
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

    /// The flash page of a logical one; None: never written, or trimmed.
    #[inline]
    pub fn lookup(&self, lpn: u32) -> Option<u32> {
        let ppn = !self.l2p[lpn as usize];
        (ppn != NONE).then_some(ppn)
    }

    /// Says that a logical page is about to be written or looked up, so that its place is at hand by then. Changes nothing.
    #[inline]
    pub fn prefetch(&self, lpn: u32) {
        if let Some(entry) = self.l2p.get(lpn as usize) {
            near(entry);
        }
    }

    /// Says the same a while after `prefetch`: where the page lies now, which a write makes out of date.
    #[inline]
    pub fn prefetch_place(&self, lpn: u32) {
        if let Some(ppn) = self.l2p.get(lpn as usize).map(|place| !place)
            && ppn != NONE
        {
            near(&self.live[ppn as usize / 64]);
            let unit = self.divisor.quotient(ppn);
            self.units.prefetch(unit);
            self.victims.prefetch(unit);
        }
    }

    /// Says the same a while after `prefetch_place`: the neighbours of the page's unit among victims.
    #[inline]
    pub fn prefetch_neighbours(&self, lpn: u32) {
        if let Some(ppn) = self.l2p.get(lpn as usize).map(|place| !place)
            && ppn != NONE
        {
            self.victims.prefetch_neighbours(self.divisor.quotient(ppn));
        }
    }

    /// Pages that the host can write before a collection must begin or go on.
    #[inline]
    pub fn room(&self) -> u32 {
        if self.worn_out { 0 } else { self.room.pages() }
    }

    /// Pages outside of the collector's reserve and the open frontiers: of these `u` in the theory of write
    /// amplification is the valid share.
    pub fn usable_pages(&self) -> u32 {
        self.geometry.usable_pages(self.cycles.good()) as u32
    }

    /// Writes a logical page and tells to which flash page. There must be room.
    #[inline]
    pub fn write(&mut self, lpn: u32) -> u32 {
        debug_assert!(self.room() > 0, "a write needs room");
        let old_ppn = !self.l2p[lpn as usize];
        let turn = self.host.next_turn();
        if self.host[turn].is_full() {
            let unit = self.free.take_of(turn).expect("room means that a unit is free");
            self.host[turn] = self.open(unit);
        }
        self.now += 1;
        self.counted.host_pages += 1;
        if old_ppn == NONE {
            self.valid_pages += 1;
        } else {
            self.bury(old_ppn);
        }
        let (unit, next_ppn) = (self.host[turn].unit, self.host[turn].take());
        self.program(unit, next_ppn, lpn);
        if self.host[turn].is_full() {
            self.close(unit);
        }
        next_ppn
    }

    /// Forgets a logical page: its space is spare from now on.
    pub fn trim(&mut self, lpn: u32) {
        let ppn = !self.l2p[lpn as usize];
        if ppn != NONE {
            self.l2p[lpn as usize] = !NONE;
            self.valid_pages -= 1;
            self.bury(ppn);
        }
    }

    /// What it has done and how it stands.
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

    /// Usable pages beyond what a device full of data cannot do without.
    fn spare_pages(&self) -> u64 {
        let needed = u64::from(self.geometry.logical_pages) + self.geometry.spare_pages_min() - 1;
        self.geometry.usable_pages(self.cycles.good()).saturating_sub(needed)
    }

    fn open(&mut self, unit: u32) -> Frontier {
        self.units.set(unit, State::Open);
        let next_ppn = unit * self.geometry.pages_per_unit;
        Frontier { unit, next_ppn, end_ppn: next_ppn + self.geometry.pages_per_unit }
    }

    fn close(&mut self, unit: u32) {
        self.units.set(unit, State::Closed);
        self.victims.closed(unit, self.units.valid(unit), self.now);
    }

    #[inline]
    fn program(&mut self, unit: u32, ppn: u32, lpn: u32) {
        self.l2p[lpn as usize] = !ppn;
        self.p2l[ppn as usize] = lpn;
        self.live[ppn as usize / 64] |= 1 << (ppn % 64);
        self.units.gain(unit);
        self.room.take();
    }

    /// A page's content is out of date.
    #[inline]
    fn bury(&mut self, ppn: u32) {
        self.live[ppn as usize / 64] &= !(1 << (ppn % 64));
        let unit = self.divisor.quotient(ppn);
        let now = self.units.lose(unit);
        match now.state {
            State::Closed => self.victims.changed(unit, now.valid, self.now),
            State::Victim => self.earn(),
            State::Free | State::Open | State::Bad => {}
        }
    }
}
