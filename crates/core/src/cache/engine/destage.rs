//! When to write back, and what: too much is dirty, a block is dirty for too long, nobody touched it, nobody is there, or a
//! user asked.

use super::counts::Event;
use super::{Engine, Turn};
use crate::cache::policy::Policies;
use crate::cache::slots::{DESTAGING, LOST, QUEUED, State};
use crate::cache::{Block, Memory, Slot};

/// How often rates are looked at.
pub(super) const STEP_NS: u64 = 10_000_000;
/// Blocks that are sorted by address before they are written back.
pub(super) const BATCH: usize = 256;
/// The PI controller aims at the low mark. Its proportional part would take the excess away in so many seconds ...
const PROPORTIONAL_S: f64 = 10.0;
/// ... and its integral part follows what comes in over so many.
const INTEGRAL_S: f64 = 20.0;
/// Write-back by address and by rate comes in bursts, so many seconds apart.
const BURST_S: f64 = 0.25;
/// The write-back rate that is told fades over so many seconds.
const FADE_S: f64 = 5.0;
/// For so long after an IO of a user to the slow device, write-back keeps out of the way.
const QUIET_NS: u64 = 200_000_000;
/// A write-back that took longer than this on the slow device says that too many are in its queue: whatever a user asks
/// of it next waits behind them.
const QUEUED_NS: u64 = 250_000_000;

/// What the scheduler remembers.
#[derive(Default)]
pub(super) struct Pace {
    /// When it last looked.
    seen_ns: u64,
    /// Blocks that may be written back by rate.
    tokens: f64,
    /// The controller's integral, blocks/s.
    integral: f64,
    /// Blocks/s of now.
    pub(super) rate: f64,
    /// Bytes/s written back, a mean that fades over seconds, and how many there were when it was looked at.
    written_rate: f64,
    written: u64,
    /// The most that was dirty in this flush period and in the one before.
    most: [u32; 2],
    period_ns: u64,
    /// By address and rate: a burst has begun.
    burst: bool,
    /// Over the high mark, and not yet down to the low one.
    rushing: bool,
    /// The fallow hand: where it is, and what it found.
    hand: Slot,
    hand_rest: f64,
    /// Blocks to be written back next, by address, the next one last.
    batch: Vec<Block>,
    /// Write-backs that stay out of the slow device's queue, of those that the settings allow.
    kept_back: u32,
    /// With `ordered`: versions to be written back next, by address, the next one last.
    versions: Vec<Slot>,
}

impl Pace {
    /// Bytes/s written back over the last seconds.
    pub(super) fn written_rate(&self) -> f64 {
        self.written_rate
    }

    pub(super) fn forget_batch(&mut self) {
        self.batch.clear();
        self.versions.clear();
    }

    pub(super) fn batch_is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    pub(super) fn set_batch(&mut self, versions: Vec<Slot>) {
        self.versions = versions;
    }

    pub(super) fn last_of_batch(&self) -> Option<Slot> {
        self.versions.last().copied()
    }

    /// A write-back took so long on the slow device, with so many allowed at once.
    pub(super) fn took(&mut self, ns: u64, depth: u32) {
        self.kept_back = if ns > QUEUED_NS {
            let at_once = depth.saturating_sub(self.kept_back);
            (self.kept_back + (at_once / 8).max(1)).min(depth - 1)
        } else {
            self.kept_back.saturating_sub(1)
        };
    }

    #[cfg(test)]
    pub(super) fn in_batch(&self, slot: Slot) -> bool {
        self.versions.contains(&slot)
    }

    pub(super) fn pop_batch(&mut self) {
        self.versions.pop();
    }
}

/// Why blocks are written back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// As many at once as may be.
    All,
    /// By rate.
    Rate,
}

impl Engine {
    /// Write-backs at once, of all reasons, as things stand.
    pub(super) fn depth(&self) -> u32 {
        self.settings.write_back_depth.max(1).saturating_sub(self.pace.kept_back).max(1)
    }

    /// Write-backs at once beside what users do on the slow device just now. A write of theirs waits for one IO besides
    /// its own, which keeps it within three times its latency even if that IO is a long one.
    fn depth_now(&self, now_ns: u64) -> u32 {
        let lately = |ns: u64| ns != 0 && now_ns.saturating_sub(ns) <= QUIET_NS;
        if self.slow_foreground > 0 || lately(self.slow_foreground_ns) {
            1
        } else if lately(self.slow_read_ns) && !self.all_out() {
            (self.depth() / 8).max(2).min(self.depth())
        } else {
            self.depth()
        }
    }

    /// Whether readers must put up with write-back: more is dirty than may be, or what is to go back in time does not.
    fn all_out(&self) -> bool {
        let pace = &self.pace;
        pace.rushing || self.marks.wants() || self.sweep.on() && pace.tokens >= 1.9 * self.burst(pace.rate)
    }

    /// Begins what write-back is due.
    pub(super) fn write_back<M: Memory>(&mut self, turn: &mut Turn<M>) {
        self.look(turn.now_ns);
        if turn.now_ns < self.resume_ns || self.stopping && !self.draining() {
            return self.sync_write_backs();
        }
        let depth = self.depth_now(turn.now_ns);
        // A sync before which new writes come all the time may never end: so many wait for it at most.
        while self.destaging < depth && self.unsynced < 2 * self.depth() && self.journal_takes_write_back() {
            if !self.destage_next(turn) {
                break;
            }
        }
        self.sync_write_backs();
    }

    fn journal_takes_write_back(&self) -> bool {
        self.degraded() || self.durability.room_to_record()
    }

    /// Begins the next write-back; false: there is none to be begun now.
    fn destage_next<M: Memory>(&mut self, turn: &mut Turn<M>) -> bool {
        if !self.epochs.is_empty() {
            let asked = !self.urgent.is_empty() || self.flushing.is_some() || self.space.outside > 0;
            self.urgent.clear();
            let fallow = self.fallow.pop_front().is_some();
            let reason = self.reason(turn.now_ns);
            if reason == Some(Reason::Rate) {
                self.pace.tokens -= 1.0;
            }
            return (asked || fallow || reason.is_some()) && self.destage_version(turn);
        }
        while let Some(block) = self.urgent.pop() {
            if self.destage(block, turn).is_some() {
                return true;
            }
        }
        while let Some(block) = self.flushing.as_mut().and_then(|flushing| flushing.blocks.pop()) {
            if self.destage(block, turn).is_some() {
                return true;
            }
        }
        if self.destaging < self.settings.fallow_speed.max(1) {
            while let Some(block) = self.fallow.pop_front() {
                if self.destage(block, turn).is_some() {
                    self.counts.add(Event::FallowCleaning);
                    return true;
                }
            }
        }
        if self.marks.wants() && self.clean_sets(turn) {
            return true;
        }
        let Some(reason) = self.reason(turn.now_ns) else {
            self.give_up_batch();
            return false;
        };
        if self.sweep.on() {
            let blocks = self.sweep_next(turn);
            if reason == Reason::Rate {
                self.pace.tokens -= f64::from(blocks);
                self.pace.burst &= self.pace.tokens >= 1.0;
            }
            return blocks > 0;
        }
        if self.pace.batch.is_empty() {
            let many = if reason == Reason::Rate { (self.pace.tokens as usize).clamp(1, BATCH) } else { BATCH };
            self.take_batch(many);
        }
        if let [.., next, _] = self.pace.batch[..] {
            self.neighbours_ahead(next);
        }
        while let Some(block) = self.pace.batch.pop() {
            if let Some((first, last)) = self.destage(block, turn) {
                if reason == Reason::Rate {
                    self.pace.tokens -= f64::from(last - first + 1);
                }
                return true;
            }
            let slot = self.find(block);
            if slot != Slot::NONE && self.slots.dirty(slot) && !self.slots.has(slot, DESTAGING | LOST | QUEUED) {
                self.slots.mark(slot, QUEUED);
                self.queue.push_back(block);
            }
        }
        false
    }

    /// Whether as many write-backs of the block's set are under way as may be.
    pub(super) fn set_is_busy(&self, block: Block) -> bool {
        self.set_of(block).is_some_and(|set| self.set_is_full(set))
    }

    /// Whether as many write-backs of a set are under way as may be.
    pub(super) fn set_is_full(&self, set: u32) -> bool {
        let most = self.settings.write_back_depth_per_set;
        most > 0 && self.sets.get(&set).is_some_and(|busy| *busy >= most)
    }

    /// The set of a block, if the policy has sets.
    pub(super) fn set_of(&self, block: Block) -> Option<u32> {
        match &self.policy {
            Policies::Flashcache(policy) => Some(policy.set_of(block)),
            _ => None,
        }
    }

    /// The blocks that are dirty for longest, sorted by address.
    fn take_batch(&mut self, many: usize) {
        let mut tries = self.queue.len();
        while self.pace.batch.len() < many && tries > 0 {
            tries -= 1;
            let Some(block) = self.queue.pop_front() else { break };
            self.queue.ahead().inspect(|ahead| self.index.prefetch(*ahead));
            let slot = self.find(block);
            if slot == Slot::NONE {
                continue;
            }
            if self.slots.dirty(slot) && self.slots.has(slot, DESTAGING) {
                // Its older version is on the way.
                self.queue.push_back(block);
                continue;
            }
            self.slots.unmark(slot, QUEUED);
            if self.slots.dirty(slot) && !self.slots.has(slot, LOST) {
                self.pace.batch.push(block);
            }
        }
        self.pace.batch.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Takes out of the queue what is not dirty any more, when that is most of it.
    pub(super) fn tidy_queue(&mut self) {
        if self.queue.len() < self.dirty as usize * 5 / 4 + 4 * BATCH {
            return;
        }
        let blocks: Vec<Block> = self.queue.iter().copied().collect();
        let mut kept = Vec::with_capacity(self.dirty as usize);
        for block in blocks {
            let slot = self.find(block);
            if slot != Slot::NONE && self.slots.has(slot, QUEUED) {
                // The first time only: a block can stand in it twice.
                self.slots.unmark(slot, QUEUED);
                if self.slots.dirty(slot) {
                    kept.push((block, slot));
                }
            }
        }
        for (_, slot) in &kept {
            self.slots.mark(*slot, QUEUED);
        }
        self.queue = kept.into_iter().map(|(block, _)| block).collect();
    }

    /// What was taken out to be written back goes to the front of the queue again.
    fn give_up_batch(&mut self) {
        while let Some(block) = self.pace.batch.pop() {
            let slot = self.find(block);
            if slot != Slot::NONE && self.slots.dirty(slot) && !self.slots.has(slot, QUEUED) {
                self.slots.mark(slot, QUEUED);
                self.queue.push_front(block);
            }
        }
    }

    /// Why something should be written back now.
    fn reason(&self, now_ns: u64) -> Option<Reason> {
        if self.dirty <= self.lost && self.superseded == 0 {
            return None;
        }
        let settings = &self.settings;
        let idle = settings.idle_flush_s > 0.0
            && now_ns.saturating_sub(self.last_request_ns) >= seconds(settings.idle_flush_s);
        let leaves =
            self.draining() || !matches!(settings.mode, crate::cache::Mode::WriteBack | crate::cache::Mode::WriteOnly);
        if self.degraded() || idle || leaves || self.pace.rushing || self.starving() || self.too_old(now_ns) {
            return Some(Reason::All);
        }
        let by_rate = if self.sweep.on() { self.pace.burst } else { self.pace.tokens >= 1.0 };
        by_rate.then_some(Reason::Rate)
    }

    /// Whether a write waits that only write-back can help: not one that the journal's next sync gives a slot.
    pub(super) fn starving(&self) -> bool {
        let slots_come = self.space.limbo() > 0 || self.space.free() > self.space.reserve / 4;
        !self.starved.is_empty() && (self.ordered() || !slots_come)
    }

    /// Whether the oldest epoch is older than the flush period. Of what goes back by address, the hand takes care.
    fn too_old(&self, now_ns: u64) -> bool {
        let period = self.settings.flush_period_s;
        let first = self.epochs.front().filter(|_| period > 0.0 && self.dirty > self.lost);
        first.is_some_and(|first| now_ns.saturating_sub(first.began_ns) >= seconds(period))
    }

    /// The blocks that a mark stands for.
    fn mark(&self, percent: f64) -> u32 {
        (f64::from(self.space.limit) * percent / 100.0) as u32
    }

    /// Looks at the marks, and every step at the rates.
    fn look(&mut self, now_ns: u64) {
        let (high, low) = (self.mark(self.settings.dirty_high_pct), self.mark(self.settings.dirty_low_pct));
        // Where each set has its own mark, there is none of the whole.
        if self.dirty + self.superseded > high && !self.marks.on() {
            self.pace.rushing = true;
        } else if self.dirty <= low.min(high) {
            self.pace.rushing = false;
        }
        self.pace.most[0] = self.pace.most[0].max(self.dirty);
        let step_ns = now_ns.saturating_sub(self.pace.seen_ns);
        if step_ns < STEP_NS {
            return;
        }
        self.pace.seen_ns = now_ns;
        let whole_s = step_ns as f64 / 1e9;
        let written = (self.counts.write_back_bytes() - self.pace.written) as f64 / whole_s;
        self.pace.written = self.counts.write_back_bytes();
        self.pace.written_rate += (written - self.pace.written_rate) * (whole_s / FADE_S).min(1.0);
        // After a long silence nothing is made up for.
        let step_s = (step_ns as f64 / 1e9).min(0.1);
        let rate = self.control(high, low, step_s).max(self.by_time(now_ns));
        self.pace.rate = rate;
        let most = (2.0 * self.burst(rate)).max(rate * step_s);
        self.pace.tokens = if rate > 0.0 { (self.pace.tokens + rate * step_s).min(most) } else { 0.0 };
        self.pace.burst |= self.pace.tokens >= self.burst(rate);
        if self.settings.fallow_delay_s > 0.0 {
            self.move_hand(step_ns as f64 / 1e9);
        }
    }

    /// The PI controller between the marks: blocks/s.
    fn control(&mut self, high: u32, low: u32, step_s: f64) -> f64 {
        if high <= low {
            return 0.0;
        }
        let excess = f64::from(self.dirty) - f64::from(low);
        let keeps_up = self.pace.tokens < 2.0 * self.burst(self.pace.rate);
        if excess < 0.0 || keeps_up {
            // What the slow device cannot take is not summed up.
            self.pace.integral += excess * step_s / (PROPORTIONAL_S * INTEGRAL_S);
        }
        self.pace.integral = self.pace.integral.clamp(0.0, 1e7);
        if excess <= 0.0 { 0.0 } else { excess / PROPORTIONAL_S + self.pace.integral }
    }

    /// The constant rate at which everything that was dirty goes back in one flush period: blocks/s.
    fn by_time(&mut self, now_ns: u64) -> f64 {
        let period = self.settings.flush_period_s;
        if period <= 0.0 {
            return 0.0;
        }
        if self.sweep.on() {
            return self.sweep.rate(now_ns, seconds(period));
        }
        if now_ns.saturating_sub(self.pace.period_ns) >= seconds(period) {
            self.pace.period_ns = now_ns;
            self.pace.most = [self.dirty, self.pace.most[0]];
        }
        f64::from(self.pace.most[0].max(self.pace.most[1])) / period
    }

    /// Blocks that are written back in one go when it is by rate: of those that lie near each other, so many that the way
    /// to them is worth it.
    fn burst(&self, rate: f64) -> f64 {
        if !self.sweep.on() {
            return (rate * 0.05).max(0.5);
        }
        let period_s = self.settings.flush_period_s;
        let burst_s = if period_s > 0.0 { BURST_S.min(period_s / 64.0) } else { BURST_S };
        (rate * burst_s).clamp(1.0, BATCH as f64)
    }

    /// The fallow hand goes over all slots twice in a delay: what it passes three times, nobody touched for that long.
    fn move_hand(&mut self, step_s: f64) {
        let slots = self.slots.len();
        let steps = f64::from(slots) * step_s * 2.0 / self.settings.fallow_delay_s + self.pace.hand_rest;
        let whole = steps.min(f64::from(slots)) as u32;
        self.pace.hand_rest = if steps > f64::from(slots) { 0.0 } else { steps - f64::from(whole) };
        for _ in 0..whole {
            let slot = self.pace.hand;
            self.pace.hand = Slot(if slot.0 + 1 >= slots { 0 } else { slot.0 + 1 });
            if self.slots.state(slot) == State::Dirty && self.slots.pass(slot) == 3 && self.fallow.len() < BATCH {
                self.fallow.push_back(self.slots.block(slot));
            }
        }
    }

    pub(super) fn pace_bytes(&self) -> usize {
        self.pace.batch.capacity() * size_of::<Block>() + self.pace.versions.capacity() * size_of::<Slot>()
    }

    /// When the scheduler wants to look again.
    pub(super) fn write_back_next_ns(&self) -> Option<u64> {
        let live = self.dirty > self.lost || self.superseded > 0;
        if !live {
            return None;
        }
        let settings = &self.settings;
        let step = self.pace.seen_ns + STEP_NS;
        let mut next = u64::MAX;
        if self.resume_ns > self.pace.seen_ns {
            next = next.min(self.resume_ns);
        }
        if settings.flush_period_s > 0.0 || settings.fallow_delay_s > 0.0 {
            next = next.min(step);
        }
        if self.dirty > self.mark(settings.dirty_low_pct) && settings.dirty_high_pct > settings.dirty_low_pct {
            next = next.min(step);
        }
        if settings.idle_flush_s > 0.0 {
            next = next.min((self.last_request_ns + seconds(settings.idle_flush_s)).max(step));
        }
        if self.flushing.is_some() || self.pace.rushing || self.starving() || self.marks.wants() {
            next = next.min((self.slow_foreground_ns.max(self.slow_read_ns) + QUIET_NS).max(step));
        }
        (next != u64::MAX).then_some(next)
    }
}

/// Seconds as nanoseconds.
pub(super) fn seconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
