//! The warm-up of a cache: it fills the cache with what long use would have left in it. Requests of the workload go through
//! the engine, and every IO of the engine ends at once. No device is used, so the warm-up takes no time of the run.

use flatwater_core::cache::{Engine, IoId, NoData, Out, Request, Statistics};

/// Time between two requests of the warm-up, ns. Write-back by age or at a rate needs some time to pass. How many requests a
/// second the run will serve is not known yet.
const STEP_NS: u64 = 100_000;
/// The warm-up ends at the latest after so many requests for each slot ...
const REQUESTS_MAX: u64 = 8;
/// ... or as soon as so many requests for a hundred slots ...
const LOOK_EVERY: u64 = 25;
/// ... bring less than one block into a thousand slots: then the cache is full, or it holds the working set.
const GROWTH_MIN: f64 = 0.001;

/// A warm-up under way.
#[derive(Debug, Default)]
pub struct WarmUp {
    requests: u64,
    /// After how many requests the next look at the cache comes.
    next_look: u64,
    /// The blocks in the cache at the last look.
    held: u64,
    /// Kept to reuse their memory.
    out: Out,
    at_once: Vec<IoId>,
}

impl WarmUp {
    /// Serves a request. Takes the clock of the engine before it, and returns the clock after it.
    pub(super) fn serve(&mut self, engine: &mut Engine, memory: &mut NoData, clock_ns: u64, request: Request) -> u64 {
        let mut clock_ns = clock_ns + STEP_NS;
        let out = &mut self.out;
        engine.submit(clock_ns, request, memory, out);
        let mut answered = false;
        loop {
            answered |= !out.answers.is_empty();
            out.answers.clear();
            out.told.clear();
            self.at_once.extend(out.ios.drain(..).map(|io| io.id));
            if let Some(id) = self.at_once.pop() {
                engine.ended(clock_ns, id, Ok(()), memory, out);
                continue;
            }
            let Some(tick_ns) = engine.next_ns() else { break };
            if answered && tick_ns > clock_ns {
                break;
            }
            clock_ns = clock_ns.max(tick_ns);
            engine.tick(clock_ns, memory, out);
        }
        self.requests += 1;
        clock_ns
    }

    /// The statistics of the engine at `clock_ns`, if more requests would change little.
    pub(super) fn end(&mut self, engine: &Engine, clock_ns: u64) -> Option<Statistics> {
        if self.requests < self.next_look {
            return None;
        }
        let statistics = engine.statistics(clock_ns);
        let (held, slots) = (statistics.clean_blocks + statistics.dirty_blocks, statistics.slots.max(1));
        let grown = held.saturating_sub(self.held) as f64 / slots as f64;
        let is_over = self.requests >= slots && grown < GROWTH_MIN || self.requests >= REQUESTS_MAX * slots;
        self.next_look = self.requests + slots * LOOK_EVERY / 100 + 1;
        self.held = held;
        is_over.then_some(statistics)
    }
}
