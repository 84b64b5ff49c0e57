//! When to write back, and what next.

use super::epochs::NextVersions;
use super::pace::{Dirt, mark, seconds};
use super::run::{BATCH, Run};
use super::sweep::STEP_NS;
use super::users::Presence;
use super::{Next, Situation, WriteBack};
use crate::cache::engine::contents::Contents;
use crate::cache::engine::durability::SlowSeq;
use crate::cache::engine::on_demand::OnDemand;
use crate::cache::{Block, Mode, Settings};

/// Why blocks are written back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// As many at once as may be.
    All,
    /// By rate.
    Rate,
}

impl WriteBack {
    /// Write-backs at once, of all reasons, as things stand.
    fn depth(&self, settings: &Settings) -> u32 {
        self.pace.depth(settings)
    }

    /// Write-backs at once beside what users do on the slow device just now. A write of theirs waits for one IO besides
    /// its own, which keeps it within three times its latency even if that IO is a long one.
    pub(in super::super) fn depth_now(&self, settings: &Settings, now_ns: u64) -> u32 {
        let depth = self.depth(settings);
        match self.users.presence(now_ns) {
            Presence::Writers => 1,
            Presence::Readers if !self.is_all_out(settings) => (depth / 8).max(2).min(depth),
            _ => depth,
        }
    }

    /// Whether readers must put up with write-back: more is dirty than may be, or what is to go back in time does not.
    fn is_all_out(&self, settings: &Settings) -> bool {
        self.pace.is_rushing() || self.sets.want() || self.pace.is_late(self.sweep.on(), settings)
    }

    /// Looks at how much is dirty, and every step at the rates.
    #[inline]
    pub(in super::super) fn look(
        &mut self,
        contents: &mut Contents,
        written_bytes: u64,
        settings: &Settings,
        now_ns: u64,
    ) {
        let dirt = Dirt {
            dirty: contents.dirty(),
            superseded: contents.superseded(),
            limit: contents.limit(),
            sets_have_marks: self.sets.have_marks(),
            written_bytes,
        };
        let step_s = self.pace.look(dirt, &self.sweep, settings, now_ns);
        if let Some(step_s) = step_s
            && settings.fallow_delay_s > 0.0
        {
            self.fallow.move_hand(step_s, settings.fallow_delay_s, contents);
        }
    }

    /// Whether one more may begin now. `depth`: so many at once (`depth_now`). A sync before which new writes come all the
    /// time may never end: so many wait for it at most.
    pub(in super::super) fn may_begin(&self, depth: u32, settings: &Settings) -> bool {
        self.flights.at_work() < depth && self.flights.unsynced() < 2 * self.depth(settings)
    }

    /// Whether a pause after a failure is over.
    pub(in super::super) fn is_paused(&self, now_ns: u64) -> bool {
        now_ns < self.refusals.resume_ns()
    }

    /// Whether the sync that ended write-backs wait for should be issued: there are enough of them, or nothing else to do.
    pub(in super::super) fn wants_sync(&self, starving: bool, settings: &Settings) -> bool {
        let (at_work, unsynced) = (self.flights.at_work(), self.flights.unsynced());
        unsynced > 0 && (at_work == 0 || unsynced >= self.depth(settings) || starving)
    }

    /// A block that something waits for goes before all others.
    pub(in super::super) fn hurry(&mut self, block: Block) {
        self.urgent.push(block);
    }

    /// How many blocks go before all others.
    pub(in super::super) fn hurries(&self) -> usize {
        self.urgent.len()
    }

    /// What goes back next, and up to where the slow device must be synced before more can.
    pub(in super::super) fn next(
        &mut self,
        contents: &mut Contents,
        on_demand: &mut OnDemand,
        now: &Situation<'_>,
    ) -> (Next, Option<SlowSeq>) {
        if self.keeps_order() {
            return self.next_in_order(contents, on_demand, now);
        }
        (self.next_unordered(contents, on_demand, now), None)
    }

    fn next_in_order(
        &mut self,
        contents: &mut Contents,
        on_demand: &OnDemand,
        now: &Situation<'_>,
    ) -> (Next, Option<SlowSeq>) {
        let asked = !self.urgent.is_empty() || on_demand.is_at_work() || contents.outside() > 0;
        self.urgent.clear();
        let fallow = self.fallow.next().is_some();
        let reason = self.reason(contents, now);
        if reason == Some(Reason::Rate) {
            self.pace.take(1);
        }
        if !asked && !fallow && reason.is_none() {
            return (Next::Nothing, None);
        }
        let wanted = self.epochs.pop(now.slow_synced);
        let next = match self.epochs.next(contents, now.run_blocks) {
            NextVersions::Run(run) => Next::Run(run),
            NextVersions::Others => Next::Others,
            NextVersions::Nothing => Next::Nothing,
        };
        (next, wanted)
    }

    fn next_unordered(&mut self, contents: &mut Contents, on_demand: &mut OnDemand, now: &Situation<'_>) -> Next {
        let around = |block, contents: &Contents| Run::around(block, contents, now.run_blocks);
        while let Some(block) = self.urgent.pop() {
            if let Some(run) = around(block, contents) {
                return Next::Run(run);
            }
        }
        while let Some(block) = on_demand.next_block() {
            if let Some(run) = around(block, contents) {
                return Next::Run(run);
            }
        }
        if self.flights.at_work() < now.settings.fallow_speed.max(1) {
            while let Some(block) = self.fallow.next() {
                if let Some(run) = around(block, contents) {
                    return Next::Fallow(run);
                }
            }
        }
        if self.sets.want()
            && let Some(run) = self.sets.next(&mut self.sweep, contents, now.settings, now.run_blocks)
        {
            return Next::Run(run);
        }
        let Some(reason) = self.reason(contents, now) else {
            self.by_age.give_up_batch(contents);
            return Next::Nothing;
        };
        let run = if self.sweep.on() {
            self.next_by_address(contents, reason, now)
        } else {
            self.next_by_age(contents, reason, now)
        };
        run.map_or(Next::Nothing, Next::Run)
    }

    fn next_by_address(&mut self, contents: &Contents, reason: Reason, now: &Situation<'_>) -> Option<Run> {
        let sets = &self.sets;
        let is_busy = |block| contents.set_of(block).is_some_and(|set| sets.is_full(set, now.settings));
        let run = self.sweep.next(contents, is_busy, now.run_blocks, now.now_ns);
        if reason == Reason::Rate {
            self.pace.take_by_address(run.as_ref().map_or(0, Run::blocks));
        }
        run
    }

    fn next_by_age(&mut self, contents: &mut Contents, reason: Reason, now: &Situation<'_>) -> Option<Run> {
        let by_rate = reason == Reason::Rate;
        let batch = if by_rate { self.pace.batch().clamp(1, BATCH) } else { BATCH };
        let run = self.by_age.next(batch, contents, now.run_blocks)?;
        if by_rate {
            self.pace.take(run.blocks());
        }
        Some(run)
    }

    /// Why something should be written back now.
    fn reason(&self, contents: &Contents, now: &Situation<'_>) -> Option<Reason> {
        if !contents.can_write_back() && contents.superseded() == 0 {
            return None;
        }
        let settings = now.settings;
        let idle = settings.idle_flush_s > 0.0
            && now.now_ns.saturating_sub(self.users.request_ns()) >= seconds(settings.idle_flush_s);
        let leaves = !matches!(settings.mode, Mode::WriteBack | Mode::WriteOnly);
        if now.all_must_go || idle || leaves || self.pace.is_rushing() || self.is_too_old(contents, now) {
            return Some(Reason::All);
        }
        self.pace.allows(self.sweep.on()).then_some(Reason::Rate)
    }

    /// Whether the oldest epoch is older than the flush period. Of what goes back by address, the hand takes care.
    fn is_too_old(&self, contents: &Contents, now: &Situation<'_>) -> bool {
        let period = now.settings.flush_period_s;
        let first_ns = self.epochs.oldest_ns().filter(|_| period > 0.0 && contents.can_write_back());
        first_ns.is_some_and(|first_ns| now.now_ns.saturating_sub(first_ns) >= seconds(period))
    }

    /// When the scheduler wants to look again. `waited_for` says whether a user or a write waits for write-back.
    #[inline]
    pub(in super::super) fn next_ns(
        &self,
        contents: &Contents,
        settings: &Settings,
        waited_for: impl FnOnce() -> bool,
    ) -> Option<u64> {
        if !contents.can_write_back() && contents.superseded() == 0 {
            return None;
        }
        let step = self.pace.seen_ns() + STEP_NS;
        let mut next = u64::MAX;
        if self.refusals.resume_ns() > self.pace.seen_ns() {
            next = next.min(self.refusals.resume_ns());
        }
        if settings.flush_period_s > 0.0 || settings.fallow_delay_s > 0.0 {
            next = next.min(step);
        }
        let low = mark(contents.limit(), settings.dirty_low_pct);
        if contents.dirty() > low && settings.dirty_high_pct > settings.dirty_low_pct {
            next = next.min(step);
        }
        if settings.idle_flush_s > 0.0 {
            next = next.min((self.users.request_ns() + seconds(settings.idle_flush_s)).max(step));
        }
        if self.pace.is_rushing() || self.sets.want() || waited_for() {
            next = next.min(self.users.quiet_ns().max(step));
        }
        (next != u64::MAX).then_some(next)
    }

    /// Bytes/s written back over the last seconds, and blocks/s that may be written back now.
    pub(in super::super) fn rates(&self) -> (f64, f64) {
        (self.pace.written_rate(), self.pace.rate())
    }
}
