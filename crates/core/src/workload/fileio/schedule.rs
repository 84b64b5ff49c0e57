//! The next request of a lane and its time. A run on real files and a run in virtual time share this loop.

use std::collections::VecDeque;

use super::{FsyncPolicy, Generator};
use crate::seed::stream;
use crate::storage::{Kind, Request};
use crate::trace::replay::Cursor;
use crate::workload::arrival::{Arrivals, period_ns};

/// Blocks that are claimed in vain before a lane waits for the requests that hold them.
const PASSED_OVER_MAX: usize = 64;

/// How fast requests arrive.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Arrivals a second of all lanes together; 0 for a closed loop.
    pub per_s: f64,
    /// Arrivals at random (Poisson) instead of evenly.
    pub poisson: bool,
}

impl Rate {
    /// Mean time between the arrivals of one of `lanes`, ns; 0 in a closed loop.
    pub fn period_ns(self, lanes: u32) -> f64 {
        period_ns(lanes, self.per_s)
    }
}

/// What a lane does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn<T> {
    /// It sends a request.
    Send {
        /// The request.
        request: Request,
        /// What the claim on its block returned; the default for an fsync, which has no block.
        claim: T,
        /// Its intended start. None: it starts when it is sent, as in a closed loop, and as any fsync.
        intended_ns: Option<u64>,
    },
    /// It waits for its next arrival, at this time.
    WaitUntil(u64),
    /// It waits: each block that it drew has a request in flight.
    Held,
    /// It has nothing more to send: the workload's bytes are used up, or its trace is over.
    Over,
}

/// The requests of one lane in their order, each with its time.
pub struct Schedule {
    generator: Generator,
    arrivals: Option<Arrivals>,
    /// Requests that must come before the generator's next one.
    follow_ups: VecDeque<Request>,
    exhausted: bool,
}

impl Schedule {
    /// The schedule of lane `lane` of `lanes`, whose arrivals begin at `begin_ns`.
    pub fn new(generator: Generator, rate: Rate, lane: u32, lanes: u32, begin_ns: u64) -> Self {
        let arrivals = match generator.replay() {
            Some(cursor) => Arrivals::replayed(cursor, begin_ns),
            None => {
                let stagger = f64::from(lane) / f64::from(lanes);
                let rng = stream(generator.workload().seed, "arrivals", u64::from(lane));
                Arrivals::new(rate.period_ns(lanes), rate.poisson, stagger, begin_ns, rng)
            }
        };
        Self { generator, arrivals, follow_ups: VecDeque::new(), exhausted: false }
    }

    /// Takes the lane's next turn at `now_ns`. `claim` says whether the block of a read or write is free, and may keep
    /// it; a block that is not free is passed over. A closed loop reads no time from `now_ns`.
    #[inline]
    pub fn next<T: Default>(&mut self, now_ns: u64, mut claim: impl FnMut(Request) -> Option<T>) -> Turn<T> {
        if let Some(request) = self.follow_ups.pop_front() {
            return Turn::Send { request, claim: T::default(), intended_ns: None };
        }
        if self.exhausted {
            return Turn::Over;
        }
        if let Some(arrivals) = &self.arrivals {
            let next_ns = arrivals.next_ns();
            if next_ns > now_ns {
                return Turn::WaitUntil(next_ns);
            }
        }
        for _ in 0..PASSED_OVER_MAX {
            let Some(request) = self.generator.next_request() else {
                self.exhausted = true;
                return Turn::Over;
            };
            // An fsync is no arrival of its own: it starts when it is sent.
            if request.kind == Kind::Fsync {
                return Turn::Send { request, claim: T::default(), intended_ns: None };
            }
            if let Some(claim) = claim(request) {
                let intended_ns = self.arrivals.as_mut().map(Arrivals::take);
                return Turn::Send { request, claim, intended_ns };
            }
            self.generator.pass_over(request);
        }
        Turn::Held
    }

    /// A request succeeded. The requests that the workload wants after it are sent next.
    #[inline]
    pub fn follow(&mut self, request: Request) {
        if request.kind == Kind::Write && self.generator.workload().fsync == FsyncPolicy::EveryWrite {
            self.follow_ups.push_back(Request::fsync(request.file));
        }
    }

    /// Whether requests arrive at times of their own (an open loop).
    pub fn is_open_loop(&self) -> bool {
        self.arrivals.is_some()
    }

    /// The intended start of the next request. None in a closed loop, and when the generator has no more.
    pub fn next_arrival_ns(&self) -> Option<u64> {
        self.arrivals.as_ref().filter(|_| !self.exhausted).map(Arrivals::next_ns)
    }

    /// Whether the generator has no more requests.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// The problem that ended the replay of a trace before its end.
    pub fn problem(&self) -> Option<String> {
        self.generator.replay().and_then(Cursor::problem)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fileio, Shared};
    use super::*;
    use crate::workload::address::Distribution;
    use std::sync::Arc;

    const CLOSED: Rate = Rate { per_s: 0.0, poisson: false };

    fn workload() -> Fileio {
        Fileio {
            sequential: true,
            read_pct: 0.0,
            block_sizes: vec![(16_384, 100.0)],
            files: 2,
            file_bytes: 1 << 20,
            fsync_every: 0,
            fsync: FsyncPolicy::None,
            distribution: Distribution::Uniform,
            limit_bytes: 0,
            seed: 1,
            replay: None,
        }
    }

    fn schedule(workload: Fileio, rate: Rate, lane: u32, lanes: u32) -> Schedule {
        let generator = Generator::new(workload, Arc::new(Shared::default()), u64::from(lane)).unwrap();
        Schedule::new(generator, rate, lane, lanes, 1_000)
    }

    /// The next turn where every block is free.
    fn turn(schedule: &mut Schedule, now_ns: u64) -> Turn<()> {
        schedule.next(now_ns, |_| Some(()))
    }

    fn sent(turn: Turn<()>) -> (Request, Option<u64>) {
        match turn {
            Turn::Send { request, intended_ns, .. } => (request, intended_ns),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_closed_loop_sends_until_its_bytes_are_used_up() {
        let mut schedule = schedule(Fileio { limit_bytes: 2 * 16_384, ..workload() }, CLOSED, 0, 1);
        assert!(!schedule.is_open_loop());
        for offset in [0, 16_384] {
            let (request, intended_ns) = sent(turn(&mut schedule, 0));
            assert_eq!((request.offset, intended_ns), (offset, None));
        }
        assert!(!schedule.is_exhausted(), "nobody has asked for a third");
        assert_eq!(turn(&mut schedule, 0), Turn::Over);
        assert!(schedule.is_exhausted());
    }

    #[test]
    fn an_open_loop_waits_for_each_arrival_and_staggers_its_lanes() {
        // 500 arrivals a second of two lanes: one each 4 ms a lane, the second lane's 2 ms after the first's.
        let rate = Rate { per_s: 500.0, poisson: false };
        let mut second = schedule(workload(), rate, 1, 2);
        assert_eq!(turn(&mut second, 1_000), Turn::WaitUntil(2_001_000));
        assert_eq!(second.next_arrival_ns(), Some(2_001_000));
        // It is sent late: its latency counts from the intended start.
        assert_eq!(sent(turn(&mut second, 9_000_000)).1, Some(2_001_000));
        assert_eq!(sent(turn(&mut second, 9_000_000)).1, Some(6_001_000));
        assert_eq!(turn(&mut second, 9_000_000), Turn::WaitUntil(10_001_000));
    }

    #[test]
    fn an_fsync_after_each_write_waits_for_no_arrival() {
        let rate = Rate { per_s: 1.0, poisson: false };
        let mut schedule = schedule(Fileio { fsync: FsyncPolicy::EveryWrite, ..workload() }, rate, 0, 1);
        let (write, _) = sent(turn(&mut schedule, 1_000));
        assert!(matches!(turn(&mut schedule, 1_000), Turn::WaitUntil(_)), "the write is still under way");
        schedule.follow(write);
        assert_eq!(sent(turn(&mut schedule, 1_000)), (Request::fsync(write.file), None));
        schedule.follow(Request::fsync(write.file));
        assert!(matches!(turn(&mut schedule, 1_000), Turn::WaitUntil(_)), "an fsync is followed by nothing");
    }

    #[test]
    fn fsyncs_of_the_mix_are_sent_without_a_claim() {
        let mut schedule = schedule(Fileio { fsync_every: 1, ..workload() }, CLOSED, 0, 1);
        let mut claimed = 0;
        for kind in [Kind::Write, Kind::Fsync, Kind::Fsync, Kind::Write] {
            let turn = schedule.next(0, |_| {
                claimed += 1;
                Some(claimed)
            });
            let Turn::Send { request, claim, .. } = turn else { panic!("{turn:?}") };
            assert_eq!((request.kind, claim), (kind, if kind == Kind::Fsync { 0 } else { claimed }));
        }
        assert_eq!(claimed, 2);
    }

    #[test]
    fn a_block_that_is_not_free_is_passed_over_without_losing_its_bytes() {
        let mut schedule = schedule(Fileio { limit_bytes: 16_384, ..workload() }, CLOSED, 0, 1);
        let free = |request: Request| (request.offset == 3 * 16_384).then_some(());
        assert_eq!(sent(schedule.next(0, free)).0.offset, 3 * 16_384);
        assert_eq!(turn(&mut schedule, 0), Turn::Over);
    }

    #[test]
    fn a_lane_whose_blocks_are_all_held_waits_and_keeps_its_arrival() {
        let rate = Rate { per_s: 1.0, poisson: false };
        let mut schedule = schedule(workload(), rate, 0, 1);
        assert_eq!(schedule.next(5_000, |_| None::<()>), Turn::Held);
        assert!(!schedule.is_exhausted());
        assert_eq!(sent(turn(&mut schedule, 6_000)).1, Some(1_000));
    }

    #[test]
    fn an_exhausted_schedule_has_no_next_arrival() {
        let rate = Rate { per_s: 1.0, poisson: false };
        let mut schedule = schedule(Fileio { limit_bytes: 16_384, ..workload() }, rate, 0, 1);
        sent(turn(&mut schedule, 1_000));
        assert_eq!(turn(&mut schedule, u64::MAX), Turn::Over);
        assert_eq!(schedule.next_arrival_ns(), None);
    }
}
