//! A hard disk: an arm, a platter whose angle is known at every time, a queue, and a cache.

mod dirty;
mod geometry;
mod spec;
mod stream;
#[cfg(test)]
pub(super) mod tests;

use std::collections::VecDeque;

use flatwater_core::seed::splitmix;

use self::dirty::Dirty;
use self::geometry::{Geometry, Head, Place, SECTOR_BYTES};
pub use self::spec::{SeekSpec, Spec};
use self::stream::Stream;
use super::{Command, Device, Ended, Failure, Opening, Operation};
use crate::event::EventQueue;

/// The next range that is written from the cache is chosen among so many ranges on either side of the head.
const DESTAGE_CHOICES: usize = 16;
/// Sectors of one write from the cache at most: 1 MiB.
const DESTAGE_SECTORS_MAX: u64 = 2048;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A command's overhead is over.
    Ready(Job),
    /// The arm has done its work.
    Moved,
    /// A command ends.
    End(u64, Result<(), Failure>),
}

#[derive(Clone, Copy, Debug)]
struct Job {
    tag: u64,
    operation: Operation,
    sector: u64,
    sectors: u64,
    since_ns: u64,
}

/// Work of the arm.
#[derive(Clone, Copy, Debug)]
struct Work {
    /// The command of the host; None: a write from the cache.
    job: Option<Job>,
    sector: u64,
    sectors: u64,
    begin_ns: u64,
    end_ns: u64,
}

/// Flushes that the disk has taken.
#[derive(Debug, Default)]
struct Flushes {
    in_flight: u32,
    /// Those that wait until the platter has all that was written before them.
    waiting: Vec<u64>,
}

/// A disk.
pub struct Hdd {
    spec: Spec,
    geometry: Geometry,
    /// The angle at time 0.
    phase_ns: u64,
    sectors: u64,
    head: Head,
    head_sector: u64,
    working: Option<Work>,
    stream: Option<Stream>,
    queue: Vec<(Job, Place)>,
    over_depth: VecDeque<(u64, Command)>,
    active: u32,
    dirty: Dirty,
    /// Writes that wait for room in the cache, or for a flush that came before them.
    no_room: VecDeque<Job>,
    flushes: Flushes,
    link_free_ns: u64,
    events: EventQueue<Event>,
    busy_ns: u64,
    seek_ns: u64,
    seeks: u64,
    observed_ns: u64,
}

impl Hdd {
    /// A disk whose arm is at the outermost cylinder.
    ///
    /// # Errors
    /// Figures that no disk can have, in words.
    pub fn new(mut spec: Spec, opening: Opening) -> Result<Self, String> {
        spec.check()?;
        let deviation = (splitmix(!opening.seed) >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        spec.revolution_ns = (spec.revolution_ns as f64 * (1.0 + deviation * spec.revolution_spread)) as u64;
        let geometry = Geometry::new(&spec)?;
        Ok(Self {
            phase_ns: splitmix(opening.seed) % spec.revolution_ns,
            sectors: spec.capacity_bytes / SECTOR_BYTES,
            geometry,
            head: Head::default(),
            head_sector: 0,
            working: None,
            stream: None,
            queue: Vec::new(),
            over_depth: VecDeque::new(),
            active: 0,
            dirty: Dirty::default(),
            no_room: VecDeque::new(),
            flushes: Flushes::default(),
            link_free_ns: 0,
            events: EventQueue::new(),
            busy_ns: 0,
            seek_ns: 0,
            seeks: 0,
            observed_ns: 0,
            spec,
        })
    }

    /// Whether a command can be given to the disk now. Over SATA a flush is alone: it has no tag of the native command
    /// queue, and waits until that is empty; other commands wait behind it.
    fn has_room(&self, operation: Operation) -> bool {
        let flushes = self.flushes.in_flight;
        let beside = if operation == Operation::Flush { self.active - flushes } else { flushes };
        self.active < self.spec.queue_depth && (!self.spec.flushes_alone || beside == 0)
    }

    /// Takes a command. Its overhead begins.
    fn begin(&mut self, now_ns: u64, since_ns: u64, tag: u64, command: Command) {
        self.active += 1;
        self.flushes.in_flight += u32::from(command.operation == Operation::Flush);
        let sector = command.offset / SECTOR_BYTES;
        let sectors = (command.offset + command.bytes).div_ceil(SECTOR_BYTES) - sector;
        let job = Job { tag, operation: command.operation, sector, sectors, since_ns };
        self.events.push(now_ns + self.spec.overhead_ns, Event::Ready(job));
    }

    /// Ends a command that needs no work of the arm, after its bytes have crossed the link.
    fn transfer(&mut self, now_ns: u64, job: &Job) {
        let ns = (job.sectors * SECTOR_BYTES) as f64 / self.spec.link_bytes_per_s * 1e9;
        self.link_free_ns = self.link_free_ns.max(now_ns) + ns as u64;
        self.events.push(self.link_free_ns, Event::End(job.tag, Ok(())));
    }

    /// Begins with a command whose overhead is over.
    fn ready(&mut self, now_ns: u64, job: Job) {
        match job.operation {
            Operation::Read | Operation::Write if job.sectors == 0 => {
                self.events.push(now_ns, Event::End(job.tag, Ok(())));
            }
            Operation::Read => self.ready_to_read(now_ns, job),
            Operation::Write if self.spec.write_cache_bytes > 0 => self.write_to_cache(now_ns, job),
            Operation::Write => self.enqueue(job),
            Operation::Flush if self.is_clean() => self.end_flush(now_ns, job.tag),
            Operation::Flush => self.flushes.waiting.push(job.tag),
            Operation::Trim => self.events.push(now_ns, Event::End(job.tag, Ok(()))),
        }
        self.work(now_ns);
    }

    fn enqueue(&mut self, job: Job) {
        self.queue.push((job, self.geometry.place(job.sector)));
    }

    /// Whether the platter has all that the cache took.
    fn is_clean(&self) -> bool {
        let destaging = self.working.is_some_and(|work| work.job.is_none());
        self.dirty.sectors() == 0 && !destaging
    }

    fn end_flush(&mut self, now_ns: u64, tag: u64) {
        self.flushes.in_flight -= 1;
        self.events.push(now_ns, Event::End(tag, Ok(())));
    }

    fn ready_to_read(&mut self, now_ns: u64, job: Job) {
        self.read_on(now_ns);
        let known = self.stream.is_some_and(|stream| stream.holds(job.sector, job.sectors));
        if known || self.dirty.covers(job.sector, job.sectors) {
            self.transfer(now_ns, &job);
            return;
        }
        self.enqueue(job);
    }

    fn write_to_cache(&mut self, now_ns: u64, job: Job) {
        let most = self.spec.write_cache_bytes / SECTOR_BYTES;
        let destaging = self.working.filter(|work| work.job.is_none()).map_or(0, |work| work.sectors);
        let fits = self.dirty.sectors() + destaging + job.sectors <= most;
        // A flush waits for what was written before it. If writes went on, it might never end.
        let waits = !self.no_room.is_empty() || !self.flushes.waiting.is_empty();
        // A write that is larger than the cache goes through the empty cache in one piece.
        if !waits && (fits || self.dirty.sectors() + destaging == 0) {
            self.forget(job.sector, job.sectors);
            self.dirty.insert(job.sector, job.sectors);
            self.transfer(now_ns, &job);
        } else {
            self.no_room.push_back(job);
        }
    }

    /// Drops the read sectors from the memory if a write has changed some of them.
    fn forget(&mut self, sector: u64, sectors: u64) {
        self.stream = self.stream.filter(|stream| !stream.touches(sector, sectors));
    }

    /// Lets the idle head read ahead until now.
    fn read_on(&mut self, now_ns: u64) {
        let Some(stream) = self.stream.as_mut().filter(|_| self.working.is_none()) else { return };
        let memory = self.spec.read_ahead_bytes / SECTOR_BYTES * 2;
        self.head = stream.read_on(&self.geometry, now_ns, memory).unwrap_or(self.head);
    }

    /// The time until a head is over the first sector, and the part of it in which the arm moves.
    fn positioning_ns(&self, now_ns: u64, place: &Place, writes: bool) -> (u64, u64) {
        let mut move_ns = self.geometry.move_ns(self.head, place);
        if writes && move_ns > 0 {
            move_ns += self.spec.write_settle_ns;
        }
        (move_ns + self.geometry.wait_ns(now_ns + move_ns + self.phase_ns, place), move_ns)
    }

    /// The time until a head is over the first sector of a command in the queue.
    fn time_of(&self, now_ns: u64, index: usize) -> u64 {
        let (job, place) = &self.queue[index];
        self.positioning_ns(now_ns, place, job.operation == Operation::Write).0
    }

    /// Gives the idle arm work.
    fn work(&mut self, now_ns: u64) {
        if self.working.is_some() {
            return;
        }
        self.read_on(now_ns);
        let oldest = (0..self.queue.len()).min_by_key(|index| self.queue[*index].0.since_ns);
        let oldest = oldest.filter(|index| self.queue[*index].0.since_ns + self.spec.age_limit_ns < now_ns);
        if oldest.is_none() && self.continue_stream(now_ns) {
            return;
        }
        let by_time = |index: &usize| self.time_of(now_ns, *index);
        let chosen = oldest.or_else(|| (0..self.queue.len()).min_by_key(by_time));
        let must_destage = !self.no_room.is_empty() || !self.flushes.waiting.is_empty();
        if oldest.is_none() && (chosen.is_none() || must_destage) {
            let by_time = |sector: &u64| self.positioning_ns(now_ns, &self.geometry.place(*sector), true).0;
            let destage = self.dirty.near(self.head_sector, DESTAGE_CHOICES).min_by_key(by_time);
            // If writes wait for room, writes from the cache compete with the commands of the host.
            let sooner = |sector: u64| chosen.is_none_or(|index| by_time(&sector) <= self.time_of(now_ns, index));
            if let Some(sector) = destage.filter(|sector| sooner(*sector)) {
                let sectors = self.dirty.take(sector, DESTAGE_SECTORS_MAX);
                self.start(now_ns, None, sector, sectors);
                return;
            }
        }
        if let Some(index) = chosen {
            let (job, _) = self.queue.remove(index);
            self.start(now_ns, Some(job), job.sector, job.sectors);
        }
    }

    /// Begins a read that continues where the head is reading, if the queue has one. It needs no positioning.
    fn continue_stream(&mut self, now_ns: u64) -> bool {
        let Some(stream) = self.stream else { return false };
        let continues = |job: &Job| job.operation == Operation::Read && stream.leads_into(job.sector, job.sectors);
        let next = self.queue.iter().position(|(job, _)| continues(job)).filter(|_| !stream.has_stopped(now_ns));
        let Some(index) = next else { return false };
        let (job, _) = self.queue.remove(index);
        let end_ns = stream.end_ns(&self.geometry, now_ns, job.sector + job.sectors);
        self.occupy(Some(job), job.sector, job.sectors, now_ns, end_ns);
        true
    }

    /// Begins work at a place to which the arm must move.
    fn start(&mut self, now_ns: u64, job: Option<Job>, sector: u64, sectors: u64) {
        let writes = job.is_none_or(|job| job.operation == Operation::Write);
        let place = self.geometry.place(sector);
        let (positioning_ns, move_ns) = self.positioning_ns(now_ns, &place, writes);
        self.seek_ns += move_ns;
        self.seeks += 1;
        self.stream = None;
        let end_ns = now_ns + positioning_ns + self.geometry.transfer_ns(sector, sectors);
        self.occupy(job, sector, sectors, now_ns, end_ns);
    }

    /// Keeps the arm busy.
    fn occupy(&mut self, job: Option<Job>, sector: u64, sectors: u64, begin_ns: u64, end_ns: u64) {
        self.working = Some(Work { job, sector, sectors, begin_ns, end_ns });
        self.events.push(end_ns, Event::Moved);
    }

    /// Ends the work of the arm.
    fn moved(&mut self, now_ns: u64) {
        let Some(work) = self.working.take() else { return };
        self.busy_ns += work.end_ns - work.begin_ns;
        let end = work.sector + work.sectors;
        let last = self.geometry.place(end - 1);
        self.head = last.head();
        self.head_sector = end;
        match work.job {
            Some(job) => {
                if job.operation == Operation::Read {
                    let first = self.stream.map_or(work.sector, |stream| stream.first().min(work.sector));
                    let switch_ns =
                        if last.sector + 1 == last.track_sectors { self.geometry.switch_ns(&last) } else { 0 };
                    let limit = (end + self.spec.read_ahead_bytes / SECTOR_BYTES).min(self.sectors);
                    self.stream = Some(Stream::new(first, end, now_ns + switch_ns, limit));
                }
                // The transfer over the link took place at the same time as that of the medium, which is slower.
                self.events.push(now_ns, Event::End(job.tag, Ok(())));
            }
            None => self.make_room(now_ns),
        }
        self.work(now_ns);
    }

    /// Goes on with the flushes that waited for the cache, and then with the writes.
    fn make_room(&mut self, now_ns: u64) {
        if self.is_clean() {
            for tag in std::mem::take(&mut self.flushes.waiting) {
                self.end_flush(now_ns, tag);
            }
        }
        for job in std::mem::take(&mut self.no_room) {
            self.write_to_cache(now_ns, job);
        }
    }

    /// Returns a command to the host, and begins those that waited for it, in their order.
    fn end(&mut self, now_ns: u64, tag: u64, result: Result<(), Failure>, ended: &mut Vec<Ended>) {
        ended.push(Ended { tag, at_ns: now_ns, result });
        self.active -= 1;
        while let Some((_, command)) = self.over_depth.front()
            && self.has_room(command.operation)
            && let Some((tag, command)) = self.over_depth.pop_front()
        {
            self.begin(now_ns, now_ns, tag, command);
        }
    }
}

impl Device for Hdd {
    fn capacity_bytes(&self) -> u64 {
        self.spec.capacity_bytes
    }

    fn submit(&mut self, now_ns: u64, tag: u64, command: Command) {
        if !command.fits(self.spec.capacity_bytes) {
            self.active += 1;
            self.events.push(now_ns, Event::End(tag, Err(Failure::Full)));
        } else if self.over_depth.is_empty() && self.has_room(command.operation) {
            self.begin(now_ns, now_ns, tag, command);
        } else {
            self.over_depth.push_back((tag, command));
        }
    }

    fn next_ns(&self) -> Option<u64> {
        self.events.next_ns()
    }

    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        let before = ended.len();
        while let Some(at_ns) = self.events.next_ns() {
            if at_ns > until_ns || (ended.len() > before && at_ns > ended[before].at_ns) {
                return;
            }
            match self.events.pop() {
                Some((_, Event::Ready(job))) => self.ready(at_ns, job),
                Some((_, Event::Moved)) => self.moved(at_ns),
                Some((_, Event::End(tag, result))) => self.end(at_ns, tag, result, ended),
                None => return,
            }
        }
    }

    fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>) {
        let under_way = self.working.map_or(0, |work| now_ns.saturating_sub(work.begin_ns));
        let interval_ns = (now_ns - self.observed_ns).max(1) as f64;
        let busy_pct = (self.busy_ns + under_way) as f64 / interval_ns * 100.0;
        series.push(("busy_pct".into(), busy_pct.min(100.0)));
        if self.seeks > 0 {
            series.push(("seek_mean_us".into(), self.seek_ns as f64 / self.seeks as f64 / 1e3));
        }
        series.push(("queue_depth".into(), f64::from(self.active) + self.over_depth.len() as f64));
        if self.spec.write_cache_bytes > 0 {
            series.push(("cache_dirty_bytes".into(), (self.dirty.sectors() * SECTOR_BYTES) as f64));
        }
        if let Some(work) = &mut self.working {
            work.begin_ns = now_ns.min(work.end_ns);
        }
        (self.busy_ns, self.seek_ns, self.seeks, self.observed_ns) = (0, 0, 0, now_ns);
    }
}
