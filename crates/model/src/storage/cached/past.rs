//! What a cache that has served for long holds when time begins: the workload's own requests go through the engine, and
//! every IO that it wants ends at once. No device is used, so that none of it costs a moment of the run.

use flatwater_core::cache::{Engine, IoId, NoData, Out, Request, Statistics};

/// Between two requests of the past, ns. What is written back by time or at a rate needs some time; how many requests
/// a second the stack will do is not known yet.
const STEP_NS: u64 = 100_000;
/// The past is over, at the latest, after so many requests for each slot ...
const REQUESTS_MAX: u64 = 8;
/// ... or as soon as so many of them for a hundred slots ...
const LOOK_EVERY: u64 = 25;
/// ... brought less than one block into a thousand slots, which a full cache and a small working set have in common.
const GROWTH_MIN: f64 = 0.001;

/// A past under way.
#[derive(Debug, Default)]
pub struct Past {
    requests: u64,
    looked: u64,
    held: u64,
    /// Kept to reuse their memory.
    out: Out,
    at_once: Vec<IoId>,
}

impl Past {
    /// Lets a request be served before time begins, from `clock_ns` of the engine on; the engine's clock after it.
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

    /// The engine's statistics at `clock_ns`, if more of the past would change little.
    pub(super) fn end(&mut self, engine: &Engine, clock_ns: u64) -> Option<Statistics> {
        if self.requests < self.looked {
            return None;
        }
        let statistics = engine.statistics(clock_ns);
        let (held, slots) = (statistics.clean_blocks + statistics.dirty_blocks, statistics.slots.max(1));
        let grown = held.saturating_sub(self.held) as f64 / slots as f64;
        let is_over = self.requests >= slots && grown < GROWTH_MIN || self.requests >= REQUESTS_MAX * slots;
        self.looked = self.requests + slots * LOOK_EVERY / 100 + 1;
        self.held = held;
        is_over.then_some(statistics)
    }
}
