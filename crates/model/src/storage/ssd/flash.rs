//! Flash in virtual time: dies and channels, the path that writes take to them, and the collector. The collector keeps host
//! writes out of that path while it moves the pages of a victim.
//!
//! So if K is the rate of host pages alone, Kg the rate of relocations and A the write amplification, then random writes run
//! at a rate T with 1/T = 1/K + (A-1)/Kg.

use flatwater_core::seed::{Rng, stream};
use rand::Rng as _;

use super::buffer::{Buffer, Entry, WHOLE};
use super::ftl::{self, Counters, Ftl, Lpn, Ppn};
use super::ids::{LaneNo, WayNo};
use super::spec::{Layout, Pace, ReadErrors, Spec};
use super::stages::{Stations, transfer_ns};
use super::statistics::Counts;
use crate::storage::Opening;

/// A step of the collector moves at most this many pages, and no more than fit into this time. So reads get in between.
const STEP_PAGES_MAX: u64 = 16;
const STEP_NS: u64 = 200_000;
/// Pages of the buffer between two calls of `prefetch_next_writes`.
const NEAR: usize = 4;
/// A controller gives up reading a page after so many attempts (read-retry tables of data sheets have 7 to 15 rows).
const RETRIES_MAX: u64 = 7;

/// The flash of a module.
pub struct Flash {
    /// How it is laid out.
    pub layout: Layout,
    /// What happened, as far as flash counts it.
    pub counts: Counts,
    /// The collector can free no unit any more.
    pub worn_out: bool,
    ftl: Ftl,
    pace: Pace,
    dies: Stations<WayNo>,
    /// By way, when its last erase ends.
    erased_ns: Vec<u64>,
    channels: Stations<LaneNo>,
    times: Times,
    /// Until when the path to flash is busy, and whether a page waits for it.
    path_free_ns: u64,
    path_wanted: bool,
    collecting: bool,
    /// Kept to reuse its memory.
    moved: Vec<(Ppn, Ppn)>,
    errors: Errors,
}

/// A page on its way into a die.
struct Programmed {
    /// When the die has programmed it.
    at_ns: u64,
    /// Until when it keeps the path busy.
    taken_ns: u64,
    /// Whether it waits for an erase.
    late: bool,
}

struct Times {
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    /// A whole page over its channels.
    transfer_ns: u64,
    ns_per_byte: f64,
    /// How long a host page and a relocated page keep the path busy.
    host_ns: u64,
    relocation_ns: u64,
    step_pages: u32,
}

/// Read errors at the present wear.
struct Errors {
    shares: ReadErrors,
    rated_cycles: f64,
    random: Rng,
    retry_share: f64,
    uncorrectable_share: f64,
}

impl Flash {
    /// Flash in the state that `initial` describes.
    ///
    /// # Errors
    /// A figure that is impossible, by name.
    pub fn new(spec: &Spec, opening: Opening) -> Result<Self, String> {
        let layout = spec.layout()?;
        let used_pages = opening.used_bytes.max(spec.occupied_bytes).min(spec.capacity_bytes) >> layout.page_shift;
        let (policy, seed) = (spec.collector.policy, opening.seed);
        let ftl = Ftl::new(layout.ftl_geometry(), policy, spec.wear, spec.initial, used_pages as u32, seed)?;
        Ok(Self::with(spec, layout, ftl, seed))
    }

    /// As `new`, with data in the logical pages `held`, which are in order, and nowhere else.
    ///
    /// # Errors
    /// As `new`.
    pub fn holding(spec: &Spec, held: Vec<Lpn>, seed: u64) -> Result<Self, String> {
        let layout = spec.layout()?;
        let ftl = Ftl::holding(layout.ftl_geometry(), spec.collector.policy, spec.wear, spec.initial, held, seed)?;
        Ok(Self::with(spec, layout, ftl, seed))
    }

    fn with(spec: &Spec, layout: Layout, ftl: Ftl, seed: u64) -> Self {
        let mut flash = Self {
            times: Times::new(spec, &layout),
            dies: Stations::new(layout.ways),
            erased_ns: vec![0; layout.ways as usize],
            channels: Stations::new(layout.lanes),
            counts: Counts::default(),
            worn_out: false,
            pace: spec.collector.pace,
            path_free_ns: 0,
            path_wanted: false,
            collecting: false,
            moved: Vec::new(),
            errors: Errors::new(spec, seed),
            ftl,
            layout,
        };
        flash.errors.age(flash.ftl.counters().erase_count_mean);
        flash
    }

    /// The way on which a logical page is; None: it was never written, or was trimmed.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<WayNo> {
        self.ftl.lookup(lpn).map(|ppn| self.layout.way(ppn))
    }

    /// Prefetches the entries of pages that a command touches: the mapping is larger than the processor's caches.
    #[inline]
    pub fn prefetch(&self, first: Lpn, last: Lpn) {
        for lpn in (first.number()..last.number()).step_by(ftl::ENTRIES_OF_LINE) {
            self.ftl.prefetch(Lpn::new(lpn));
        }
        self.ftl.prefetch(last);
    }

    /// The second step, some time after `prefetch` and before a write of the pages.
    #[inline]
    pub fn prefetch_places(&self, first: Lpn, last: Lpn) {
        for lpn in first.through(last) {
            self.ftl.prefetch_place(lpn);
        }
    }

    /// Forgets a logical page.
    pub fn trim(&mut self, lpn: Lpn) {
        self.ftl.trim(lpn);
    }

    /// Reads `bytes` of a page for the host. Returns when the dies have them, and whether the errors could be corrected.
    pub fn sense(&mut self, now_ns: u64, way: WayNo, bytes: u64) -> (u64, bool) {
        let (attempts, correct) = self.errors.draw();
        self.counts.read_retries += attempts - 1;
        self.counts.read_failures += u64::from(!correct);
        let takes_ns = self.times.read_ns * self.layout.turns(bytes) * attempts;
        (self.dies.keep(way, now_ns, takes_ns), correct)
    }

    /// Moves `bytes` from the dies to the controller. Returns when they are there.
    pub fn fetch(&mut self, now_ns: u64, way: WayNo, bytes: u64) -> u64 {
        let takes_ns = (bytes as f64 * self.times.ns_per_byte + 0.5) as u64;
        self.channels.keep(self.layout.lane(way), now_ns, takes_ns)
    }

    /// The counters of the translation layer.
    pub fn counters(&self) -> Counters {
        self.ftl.counters()
    }

    /// Share of the rated life that is used up; 0 if units never wear out.
    pub fn life_used(&self) -> f64 {
        self.errors.life(self.ftl.counters().erase_count_mean)
    }

    /// How long all dies together were busy.
    pub const fn dies_busy_ns(&self) -> u64 {
        self.dies.busy_ns
    }

    /// When flash has its next step to do; `u64::MAX`: never.
    #[inline]
    pub const fn due_ns(&self) -> u64 {
        if self.path_wanted { self.path_free_ns } else { u64::MAX }
    }

    /// Begins work if a page has come to the buffer.
    #[inline]
    pub fn wake(&mut self, now_ns: u64, buffer: &Buffer) {
        if !self.path_wanted && buffer.first().is_some() {
            self.path_wanted = true;
            self.path_free_ns = self.path_free_ns.max(now_ns);
        }
    }

    /// Does the next step. Returns the page that it took from the buffer, if any, and when flash has that page.
    pub fn work(&mut self, now_ns: u64, buffer: &mut Buffer) -> Option<(Entry, u64)> {
        if self.collecting && self.pace == Pace::Unit {
            self.collect(now_ns, self.times.step_pages);
            return None;
        }
        while buffer.first().is_some_and(|entry| entry.lpn == Lpn::NONE) {
            buffer.leave(now_ns, false);
        }
        let Some(&entry) = buffer.first() else {
            self.path_wanted = false;
            return None;
        };
        if self.ftl.room() == 0 {
            self.make_room(now_ns);
            return None;
        }
        // The entries of neighbours are close together: it is enough to prefetch for one of several.
        if entry.lpn.index().is_multiple_of(NEAR) {
            self.prefetch_next_writes(buffer);
        }
        let programmed = self.program(now_ns, entry);
        buffer.leave(programmed.at_ns, programmed.late);
        Some((entry, programmed.at_ns))
    }

    /// Prefetches what the writes of the next pages in the buffer will change: each page takes the three steps of `Ftl`, with
    /// `NEAR` pages between them.
    #[inline]
    fn prefetch_next_writes(&self, buffer: &Buffer) {
        if let Some(entry) = buffer.after(3 * NEAR) {
            self.ftl.prefetch(entry.lpn);
        }
        if let Some(entry) = buffer.after(2 * NEAR) {
            self.ftl.prefetch_place(entry.lpn);
        }
        if let Some(entry) = buffer.after(NEAR) {
            self.ftl.prefetch_neighbours(entry.lpn);
        }
    }

    fn program(&mut self, now_ns: u64, entry: Entry) -> Programmed {
        let mut ready_ns = now_ns;
        if entry.cover != WHOLE
            && let Some(way) = self.find(entry.lpn)
        {
            self.counts.read_modify_writes += 1;
            let read_ns = self.dies.keep(way, now_ns, self.times.read_ns * self.layout.turns(self.layout.page_bytes()));
            ready_ns = self.channels.keep(self.layout.lane(way), read_ns, self.times.transfer_ns);
        }
        let ppn = self.ftl.write(entry.lpn);
        let programmed = self.program_at(ready_ns, ppn);
        self.path_free_ns = (now_ns + self.times.host_ns).max(programmed.taken_ns);
        programmed
    }

    /// Moves a page to its dies and programs it.
    ///
    /// While a die programs a page it takes one more page into its register. The path waits until there is room in the
    /// register. It does not wait for an erase, or a few erases would stop all dies. Nor does it wait for a read that came
    /// first.
    #[inline]
    fn program_at(&mut self, ready_ns: u64, ppn: Ppn) -> Programmed {
        let way = self.layout.way(ppn);
        let moved_ns = self.channels.keep(self.layout.lane(way), ready_ns, self.times.transfer_ns);
        let at_ns = self.dies.keep(way, moved_ns, self.times.program_ns);
        let erased_ns = self.erased_ns[way.index()].saturating_sub(ready_ns);
        let taken_ns = at_ns.saturating_sub(2 * self.times.program_ns + self.times.read_ns + erased_ns);
        Programmed { at_ns, taken_ns, late: erased_ns > 0 }
    }

    /// The host has no room: begins a collection, or continues the one under way.
    fn make_room(&mut self, now_ns: u64) {
        if !self.collecting {
            if self.ftl.begin_collection().is_err() {
                self.worn_out = true;
                self.path_wanted = false;
                return;
            }
            self.collecting = true;
        }
        self.collect(now_ns, if self.pace == Pace::Unit { self.times.step_pages } else { 1 });
    }

    /// A step of the collector. Its pages keep dies and channels busy as those of the host do. They keep the path busy for as
    /// long as the collector's own rate requires.
    fn collect(&mut self, now_ns: u64, pages: u32) {
        let mut moved = std::mem::take(&mut self.moved);
        let empty = self.ftl.relocate(pages, &mut moved);
        let mut taken_ns = 0;
        let read_ns = self.times.read_ns * self.layout.turns(self.layout.page_bytes());
        for (from, to) in &moved {
            let way = self.layout.way(*from);
            self.dies.keep(way, now_ns, read_ns);
            self.channels.keep(self.layout.lane(way), now_ns, self.times.transfer_ns);
            taken_ns = self.program_at(now_ns, *to).taken_ns.max(taken_ns);
        }
        let rate_ns = now_ns + moved.len() as u64 * self.times.relocation_ns;
        self.path_free_ns = rate_ns.max(taken_ns);
        self.counts.collecting_ns += self.path_free_ns - now_ns;
        moved.clear();
        self.moved = moved;
        if empty {
            self.erase(now_ns);
        }
    }

    /// Erases the victim, which is empty.
    fn erase(&mut self, now_ns: u64) {
        self.collecting = false;
        let unit = self.ftl.end_collection().unit;
        for way in self.layout.erased_ways(unit) {
            self.erased_ns[way.index()] = self.dies.keep(way, now_ns, self.times.erase_ns);
        }
        if self.errors.any() {
            self.errors.age(self.ftl.counters().erase_count_mean);
        }
    }
}

impl Times {
    fn new(spec: &Spec, layout: &Layout) -> Self {
        let (timing, page_bytes) = (&spec.timing, layout.page_bytes());
        let turns = layout.turns(page_bytes);
        let lane_bytes_per_s = timing.channel_bytes_per_s * f64::from(spec.geometry.channels) / f64::from(layout.lanes);
        let transfer = transfer_ns(page_bytes, lane_bytes_per_s);
        let program_ns = timing.program_ns * turns;
        // The path is no faster than the dies and the channels.
        let shared = |takes_ns: u64, by: usize| takes_ns.div_ceil(by as u64);
        let dies_ns = shared(program_ns, layout.ways as usize).max(shared(transfer, layout.lanes as usize));
        // Without a rate of its own the collector reads and programs with all dies.
        let all_dies_ns = shared(timing.read_ns * turns, layout.ways as usize) + dies_ns;
        let relocation_rate = spec.collector.relocation_bytes_per_s;
        let relocation_ns = if relocation_rate > 0.0 { transfer_ns(page_bytes, relocation_rate) } else { all_dies_ns };
        let step_pages = (STEP_NS / relocation_ns.max(1)).clamp(1, STEP_PAGES_MAX) as u32;
        Self {
            read_ns: timing.read_ns,
            program_ns,
            erase_ns: timing.erase_ns,
            transfer_ns: transfer,
            ns_per_byte: 1e9 / lane_bytes_per_s,
            host_ns: transfer_ns(page_bytes, spec.controller.write_bytes_per_s).max(dies_ns),
            relocation_ns,
            step_pages,
        }
    }
}

impl Errors {
    fn new(spec: &Spec, seed: u64) -> Self {
        Self {
            shares: spec.read_errors.clone(),
            rated_cycles: f64::from(spec.wear.rated_cycles),
            random: stream(seed, "ssd read errors", 0),
            retry_share: 0.0,
            uncorrectable_share: 0.0,
        }
    }

    fn any(&self) -> bool {
        let ReadErrors { retry_share_new, retry_share_worn, uncorrectable_share_new, uncorrectable_share_worn } =
            self.shares;
        retry_share_new.max(retry_share_worn).max(uncorrectable_share_new).max(uncorrectable_share_worn) > 0.0
    }

    /// The share of the rated life that a mean erase count is.
    fn life(&self, erase_count_mean: f64) -> f64 {
        if self.rated_cycles > 0.0 { erase_count_mean / self.rated_cycles } else { 0.0 }
    }

    /// Sets the shares of errors for a mean erase count.
    fn age(&mut self, erase_count_mean: f64) {
        let life = self.life(erase_count_mean);
        // Exponential between two shares over 0, otherwise linear.
        let at = |new: f64, worn: f64| {
            let share =
                if new > 0.0 && worn > 0.0 { new * libm::pow(worn / new, life) } else { new + (worn - new) * life };
            share.clamp(0.0, 1.0)
        };
        self.retry_share = at(self.shares.retry_share_new, self.shares.retry_share_worn);
        self.uncorrectable_share = at(self.shares.uncorrectable_share_new, self.shares.uncorrectable_share_worn);
    }

    /// Draws how often a page must be read, and whether it could be read in the end.
    fn draw(&mut self) -> (u64, bool) {
        if self.uncorrectable_share > 0.0 && self.random.random::<f64>() < self.uncorrectable_share {
            return (1 + RETRIES_MAX, false);
        }
        let mut attempts = 1;
        while self.retry_share > 0.0 && attempts <= RETRIES_MAX && self.random.random::<f64>() < self.retry_share {
            attempts += 1;
        }
        (attempts, true)
    }
}
