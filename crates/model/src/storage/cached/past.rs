//! What a cache that has served for long holds when time begins: the workload's own requests go through the engine, and
//! every IO that it wants ends at once. No device is used, so that none of it costs a moment of the run.

use super::{Cached, Command, request};

/// Between two requests of the past, ns. What is written back by time or at a rate needs some time; how many requests
/// a second the stack will do is not known yet.
const STEP_NS: u64 = 100_000;
/// The past is over, at the latest, after so many requests for each slot ...
const REQUESTS_MAX: u64 = 8;
/// ... or as soon as so many of them for a hundred slots ...
const LOOK_EVERY: u64 = 25;
/// ... brought less than one block into a thousand slots, which a full cache and a small working set have in common.
const GROWTH_MIN: f64 = 0.001;

/// How far it is.
#[derive(Debug, Default)]
pub struct Past {
    requests: u64,
    looked: u64,
    held: u64,
}

impl Cached {
    /// Lets a command have happened before time began.
    pub(super) fn remember(&mut self, command: Command) {
        if self.past.is_none() || !command.fits(self.capacity_bytes) {
            return;
        }
        self.past_ns += STEP_NS;
        let mut out = std::mem::take(&mut self.out);
        self.engine.submit(self.clock_ns(), request(0, command), &mut self.memory, &mut out);
        let mut answered = false;
        loop {
            answered |= !out.answers.is_empty();
            out.answers.clear();
            out.told.clear();
            self.at_once.extend(out.ios.drain(..).map(|io| io.id));
            if let Some(id) = self.at_once.pop() {
                self.engine.ended(self.clock_ns(), id, Ok(()), &mut self.memory, &mut out);
                continue;
            }
            let Some(tick_ns) = self.engine.next_ns() else { break };
            if answered && tick_ns > self.clock_ns() {
                break;
            }
            self.past_ns = self.past_ns.max(tick_ns);
            self.engine.tick(self.clock_ns(), &mut self.memory, &mut out);
        }
        self.out = out;
        self.look();
    }

    /// Ends the past when more of it would change little.
    fn look(&mut self) {
        let Some(past) = &mut self.past else { return };
        past.requests += 1;
        if past.requests < past.looked {
            return;
        }
        let statistics = self.engine.statistics(self.past_ns);
        let (held, slots) = (statistics.clean_blocks + statistics.dirty_blocks, statistics.slots.max(1));
        let grown = held.saturating_sub(past.held) as f64 / slots as f64;
        let is_over = past.requests >= slots && grown < GROWTH_MIN || past.requests >= REQUESTS_MAX * slots;
        past.looked = past.requests + slots * LOOK_EVERY / 100 + 1;
        past.held = held;
        if is_over {
            self.past = None;
            self.observed.begin(statistics, self.now_ns);
        }
    }
}
