//! The fileio workload in virtual time: the generators and loops of a real run, on a modelled device.

use std::collections::VecDeque;
use std::sync::Arc;

use flatwater_core::interval::{Interval, Kinds, Waiting, no_kinds};
use flatwater_core::seed::splitmix;
use flatwater_core::slab::{Key as _, Slab};
use flatwater_core::slab_key;
use flatwater_core::storage::{Kind, Request};
use flatwater_core::workload::fileio::{self as workload, Generator, Rate, Schedule, Shared, Turn};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::event::EventQueue;
use crate::storage::{self, Command, Device, Ended, Failure, Incident, Opening, Operation};

/// What to run, resolved and checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The workload. Its files stand one after another on the device.
    pub workload: workload::Fileio,
    /// The device; of a run that continues another's, that one's.
    pub device: storage::Spec,
    /// Lanes.
    pub threads: u32,
    /// Outstanding requests a lane.
    pub queue_depth: u32,
    /// Every write is durable before it ends (O_SYNC, O_DSYNC).
    pub sync: bool,
    /// One write a file at a time, as Linux's file systems did with O_DIRECT (the inode's mutex) before XFS and ext4
    /// let several in.
    pub exclusive_writes: bool,
    /// Arrivals a second of all lanes together; 0 for a closed loop.
    pub rate_per_s: f64,
    /// Arrivals of an open loop at random (Poisson) instead of evenly.
    pub poisson: bool,
    /// Count failed requests and go on, instead of ending the run at the first.
    pub continue_on_error: bool,
    /// Length of an interval, ms.
    pub interval_ms: u64,
}

impl Spec {
    fn rate(&self) -> Rate {
        Rate { per_s: self.rate_per_s, poisson: self.poisson }
    }
}

/// A fileio workload under way.
pub struct Fileio {
    spec: Spec,
    device: Box<dyn Device>,
    now_ns: u64,
    /// When this run began: a device may have lived before it.
    begin_ns: u64,
    collected_ns: u64,
    lanes: Vec<Lane>,
    flights: Slab<Flight, FlightId>,
    /// When lanes that wait for their next arrival wake up.
    timers: EventQueue<u32>,
    /// Writes that wait for another one of their file, when one at a time is let in.
    doors: Vec<Door>,
    kinds: Kinds,
    /// What is still to be sent when everything else has ended.
    final_fsyncs: VecDeque<Request>,
    stopping: bool,
    over: bool,
    failure: Option<String>,
    /// Kept to reuse its memory.
    ended: Vec<Ended>,
}

slab_key!(
    /// A request under way.
    FlightId
);

struct Lane {
    schedule: Schedule,
    timer_set: bool,
    in_flight: u32,
}

#[derive(Clone, Copy)]
struct Flight {
    request: Request,
    lane: usize,
    started_ns: u64,
    /// The write itself has ended, and its flush is under way.
    flushing: bool,
}

#[derive(Default)]
struct Door {
    busy: bool,
    waiting: VecDeque<FlightId>,
}

/// What a device told of one interval.
#[derive(Debug, Default)]
pub struct DeviceInterval {
    /// Series by name, without the layer.
    pub series: Vec<(String, f64)>,
    /// What happened by itself; times are the run's.
    pub incidents: Vec<Incident>,
}

impl Fileio {
    /// Makes the device and starts all lanes. A run that comes `after` another goes on with its device.
    ///
    /// # Errors
    /// A device or a workload that cannot be, in words.
    pub fn start(spec: Spec, after: Option<Self>) -> Result<Self, String> {
        let used_bytes = spec.workload.file_bytes.checked_mul(u64::from(spec.workload.files));
        let used_bytes = used_bytes.ok_or("the files are larger than 2^64 bytes")?;
        let (device, now_ns) = match after {
            Some(before) => (before.device, before.now_ns),
            None => (open_device(&spec, used_bytes)?, 0),
        };
        if used_bytes > device.capacity_bytes() {
            return Err(format!("{used_bytes} B of files do not fit a device of {} B", device.capacity_bytes()));
        }
        let shared = Arc::new(Shared::default());
        let lanes = (0..spec.threads)
            .map(|lane| {
                let generator = Generator::new(spec.workload.clone(), shared.clone(), u64::from(lane))?;
                let schedule = Schedule::new(generator, spec.rate(), lane, spec.threads, now_ns);
                Ok(Lane { schedule, timer_set: false, in_flight: 0 })
            })
            .collect::<Result<Vec<_>, String>>()?;
        let doors = if spec.exclusive_writes { spec.workload.files } else { 0 };
        let mut run = Self {
            device,
            now_ns,
            begin_ns: now_ns,
            collected_ns: now_ns,
            lanes,
            flights: Slab::new(),
            timers: EventQueue::new(),
            doors: (0..doors).map(|_| Door::default()).collect(),
            kinds: no_kinds(&Kind::REPORTED),
            final_fsyncs: spec.workload.final_fsyncs().collect(),
            stopping: false,
            over: false,
            failure: None,
            ended: Vec::new(),
            spec,
        };
        for lane in 0..run.lanes.len() {
            run.send(lane);
        }
        Ok(run)
    }

    /// Runs to the end of the next interval; None when the run is over.
    pub fn next_interval(&mut self) -> Option<(Interval, DeviceInterval)> {
        if self.over {
            return None;
        }
        let end_ns = self.collected_ns + self.spec.interval_ms.max(1) * 1_000_000;
        while self.now_ns < end_ns && !self.over {
            self.step(end_ns);
        }
        Some(self.collect())
    }

    /// Asks all lanes to finish what is outstanding and end.
    pub fn stop(&mut self) {
        self.stopping = true;
        self.over |= self.flights.is_empty() && self.final_fsyncs.is_empty();
    }

    /// The first failure, in words.
    pub fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    /// The failure that ended the run, in words. None: it went on after each.
    pub fn ended_by(&self) -> Option<String> {
        self.failure().filter(|_| !self.spec.continue_on_error)
    }

    /// Lets time pass to the next thing that concerns the lanes, or to `end_ns`.
    fn step(&mut self, end_ns: u64) {
        let timer_ns = self.timers.next_ns().filter(|_| !self.stopping).unwrap_or(u64::MAX);
        let until_ns = end_ns.min(timer_ns);
        let mut ended = std::mem::take(&mut self.ended);
        self.device.advance(until_ns, &mut ended);
        self.now_ns = ended.first().map_or(until_ns, |first| first.at_ns);
        for end in ended.drain(..) {
            self.finish(end);
        }
        self.ended = ended;
        while let Some((_, lane)) = self.timers.pop_until(self.now_ns) {
            self.lanes[lane as usize].timer_set = false;
            self.send(lane as usize);
        }
        if self.flights.is_empty() && (self.stopping || self.lanes.iter().all(|lane| lane.schedule.is_exhausted())) {
            self.sync_or_end();
        }
    }

    /// Everything was sent and has ended: makes it durable, where the workload says so.
    fn sync_or_end(&mut self) {
        let Some(request) = self.final_fsyncs.pop_front() else {
            self.over = true;
            return;
        };
        self.start_request(0, request, self.now_ns);
    }

    /// Sends what a lane may send now.
    fn send(&mut self, lane: usize) {
        while !self.stopping {
            let now_ns = self.now_ns;
            let sender = &mut self.lanes[lane];
            if sender.in_flight == self.spec.queue_depth {
                return;
            }
            match sender.schedule.next(now_ns, |_| Some(())) {
                Turn::Send { request, intended_ns, .. } => {
                    self.start_request(lane, request, intended_ns.unwrap_or(now_ns));
                }
                Turn::WaitUntil(next_ns) => {
                    if !std::mem::replace(&mut sender.timer_set, true) {
                        self.timers.push(next_ns, lane as u32);
                    }
                    return;
                }
                Turn::Held | Turn::Over => {
                    self.failure = self.failure.take().or_else(|| sender.schedule.problem());
                    return;
                }
            }
        }
    }

    fn start_request(&mut self, lane: usize, request: Request, started_ns: u64) {
        let id = self.flights.insert(Flight { request, lane, started_ns, flushing: false });
        self.lanes[lane].in_flight += 1;
        if request.kind == Kind::Write
            && let Some(door) = self.doors.get_mut(request.file as usize)
        {
            if door.busy {
                door.waiting.push_back(id);
                return;
            }
            door.busy = true;
        }
        self.submit(id, request);
    }

    fn submit(&mut self, id: FlightId, request: Request) {
        self.device.submit(self.now_ns, id.number().into(), command(&self.spec.workload, request));
    }

    fn finish(&mut self, ended: Ended) {
        let id = FlightId::from_number(ended.tag as u32);
        let flight = &mut self.flights[id];
        let request = flight.request;
        if request.kind == Kind::Write && self.spec.sync && ended.result.is_ok() && !flight.flushing {
            flight.flushing = true;
            let flush = Command { operation: Operation::Flush, offset: 0, bytes: 0 };
            self.device.submit(self.now_ns, ended.tag, flush);
            return;
        }
        let Flight { lane, started_ns, .. } = self.flights.remove(id);
        self.lanes[lane].in_flight -= 1;
        if request.kind == Kind::Write {
            self.open_door(request.file);
        }
        let kind = &mut self.kinds[request.kind as usize];
        match ended.result {
            Ok(()) => {
                kind.finished(request.bytes, Some(ended.at_ns - started_ns));
                self.lanes[lane].schedule.follow(request);
            }
            Err(failure) => {
                kind.failed();
                self.note_failure(request, failure);
            }
        }
        self.send(lane);
    }

    /// The next write of a file may go.
    fn open_door(&mut self, file: u32) {
        let Some(door) = self.doors.get_mut(file as usize) else { return };
        match door.waiting.pop_front() {
            Some(id) => self.submit(id, self.flights[id].request),
            None => door.busy = false,
        }
    }

    fn note_failure(&mut self, request: Request, failure: Failure) {
        let why = std::io::Error::from_raw_os_error(failure.errno());
        let Request { kind, file, bytes, offset } = request;
        self.failure.get_or_insert_with(|| {
            format!("{} of {bytes} B at offset {offset} of file {file} of the device failed: {why}", kind.name())
        });
        self.stopping |= !self.spec.continue_on_error;
    }

    /// Ends an interval.
    fn collect(&mut self) -> (Interval, DeviceInterval) {
        let mut waiting = Waiting::at(self.now_ns);
        for flight in self.flights.iter() {
            waiting.add_started(flight.started_ns);
        }
        if !self.stopping {
            let period_ns = self.spec.rate().period_ns(self.spec.threads) as u64;
            for next_ns in self.lanes.iter().filter_map(|lane| lane.schedule.next_arrival_ns()) {
                waiting.add_overdue(next_ns, period_ns);
            }
        }
        let interval = Interval {
            start_ns: self.collected_ns - self.begin_ns,
            end_ns: self.now_ns - self.begin_ns,
            reported: &Kind::REPORTED,
            kinds: std::mem::replace(&mut self.kinds, no_kinds(&Kind::REPORTED)),
            counters: Vec::new(),
            in_flight: waiting.requests(),
            oldest_ns: waiting.oldest_ns(),
            cpu: None,
        };
        let mut told = DeviceInterval { series: Vec::new(), incidents: self.device.incidents() };
        self.device.observe(self.now_ns, &mut told.series);
        for incident in &mut told.incidents {
            incident.at_ns = incident.at_ns.saturating_sub(self.begin_ns);
        }
        self.collected_ns = self.now_ns;
        (interval, told)
    }
}

/// What a request is on the device, on which the files stand one after another.
fn command(workload: &workload::Fileio, request: Request) -> Command {
    let operation = match request.kind {
        Kind::Read => Operation::Read,
        Kind::Write => Operation::Write,
        Kind::Fsync => Operation::Flush,
    };
    let offset = u64::from(request.file) * workload.file_bytes + request.offset;
    Command { operation, offset, bytes: u64::from(request.bytes) }
}

/// Makes the device, and warms it up with requests of the workload if it needs that.
fn open_device(spec: &Spec, used_bytes: u64) -> Result<Box<dyn Device>, String> {
    let mut device = spec.device.open(Opening { seed: spec.workload.seed, used_bytes })?;
    if device.needs_warm_up() {
        // These are not the requests of the run, but they have the same hot places.
        let mut warm_up = workload::Fileio { limit_bytes: 0, replay: None, ..spec.workload.clone() };
        warm_up.seed = splitmix(warm_up.seed ^ splitmix(WARM_UP));
        let mut generator = Generator::new(warm_up.clone(), Arc::default(), 0)?;
        while device.needs_warm_up()
            && let Some(request) = generator.next_request()
        {
            device.warm_up(command(&warm_up, request));
        }
    }
    Ok(device)
}

/// Makes the seed of the warm-up differ from that of the run.
const WARM_UP: u64 = 0x0070_6173_7400;

#[cfg(test)]
mod tests;
