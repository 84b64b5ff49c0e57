//! How fast dirty blocks go back: how many are dirty, and for how long they have been.

use super::sweep::{STEP_NS, Sweep};
use crate::cache::Settings;

/// Blocks in a burst at most.
const BURST_MAX: f64 = super::run::BATCH as f64;
/// The PI controller aims at the low mark. Its proportional part would take the excess away in so many seconds ...
const PROPORTIONAL_S: f64 = 10.0;
/// ... and its integral part follows what comes in over so many.
const INTEGRAL_S: f64 = 20.0;
/// Write-back by address and by rate comes in bursts, so many seconds apart.
const BURST_S: f64 = 0.25;
/// The reported write-back rate is a mean that fades over so many seconds.
const FADE_S: f64 = 5.0;
/// A write-back that took longer than this on the slow device says that too many are in its queue: whatever a user asks
/// of it next waits behind them.
const QUEUED_NS: u64 = 250_000_000;

/// What the rates follow from.
#[derive(Clone, Copy)]
pub(super) struct Dirt {
    /// Dirty blocks.
    pub(super) dirty: u32,
    /// Versions that were written over and go back all the same.
    pub(super) superseded: u32,
    /// Slots in use.
    pub(super) limit: u32,
    /// Each set has a mark of its own: there is none of the whole.
    pub(super) sets_have_marks: bool,
    /// Bytes written back so far.
    pub(super) written_bytes: u64,
}

/// The rates.
#[derive(Default)]
pub(super) struct Pace {
    /// When it last looked.
    seen_ns: u64,
    /// Blocks that may be written back by rate.
    tokens: f64,
    /// The controller's integral, blocks/s.
    integral: f64,
    /// Blocks/s of now.
    rate: f64,
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
    /// Write-backs that stay out of the slow device's queue, of those that the settings allow.
    kept_back: u32,
}

/// The blocks that a mark stands for.
pub(super) fn mark(limit: u32, percent: f64) -> u32 {
    (f64::from(limit) * percent / 100.0) as u32
}

/// Seconds as nanoseconds.
pub(super) fn seconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

impl Pace {
    /// When the rates were last looked at.
    pub(super) fn seen_ns(&self) -> u64 {
        self.seen_ns
    }

    /// Bytes/s written back over the last seconds.
    pub(super) fn written_rate(&self) -> f64 {
        self.written_rate
    }

    /// Blocks/s that may be written back now.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether more is dirty than may be, and everything goes back that can.
    pub(super) fn is_rushing(&self) -> bool {
        self.rushing
    }

    /// Write-backs at once that the slow device takes, of those that the settings allow.
    pub(super) fn depth(&self, settings: &Settings) -> u32 {
        settings.write_back_depth.max(1).saturating_sub(self.kept_back).max(1)
    }

    /// A write-back took so long on the slow device.
    pub(super) fn took(&mut self, ns: u64, settings: &Settings) {
        let depth = settings.write_back_depth.max(1);
        self.kept_back = if ns > QUEUED_NS {
            let at_once = depth.saturating_sub(self.kept_back);
            (self.kept_back + (at_once / 8).max(1)).min(depth - 1)
        } else {
            self.kept_back.saturating_sub(1)
        };
    }

    /// Whether blocks go back by rate now.
    pub(super) fn allows(&self, by_address: bool) -> bool {
        if by_address { self.burst } else { self.tokens >= 1.0 }
    }

    /// Whether what is to go back in time does not.
    pub(super) fn is_late(&self, by_address: bool, settings: &Settings) -> bool {
        by_address && self.tokens >= 1.9 * burst(self.rate, by_address, settings)
    }

    /// Blocks of a batch by rate.
    pub(super) fn batch(&self) -> usize {
        self.tokens as usize
    }

    /// So many blocks go back by rate.
    pub(super) fn take(&mut self, blocks: u32) {
        self.tokens -= f64::from(blocks);
    }

    /// So many blocks go back by rate and address.
    pub(super) fn take_by_address(&mut self, blocks: u32) {
        self.take(blocks);
        self.burst &= self.tokens >= 1.0;
    }

    /// Looks at the marks, and every step at the rates. Returns how many seconds a step was.
    #[inline]
    pub(super) fn look(&mut self, dirt: Dirt, sweep: &Sweep, settings: &Settings, now_ns: u64) -> Option<f64> {
        let high = mark(dirt.limit, settings.dirty_high_pct);
        let low = mark(dirt.limit, settings.dirty_low_pct);
        if dirt.dirty + dirt.superseded > high && !dirt.sets_have_marks {
            self.rushing = true;
        } else if dirt.dirty <= low.min(high) {
            self.rushing = false;
        }
        self.most[0] = self.most[0].max(dirt.dirty);
        let step_ns = now_ns.saturating_sub(self.seen_ns);
        (step_ns >= STEP_NS).then(|| self.step(dirt, (high, low), step_ns, sweep, settings, now_ns))
    }

    /// Computes the rates anew. Returns how many seconds a step was.
    fn step(
        &mut self,
        dirt: Dirt,
        (high, low): (u32, u32),
        step_ns: u64,
        sweep: &Sweep,
        settings: &Settings,
        now_ns: u64,
    ) -> f64 {
        self.seen_ns = now_ns;
        let whole_s = step_ns as f64 / 1e9;
        let written = (dirt.written_bytes - self.written) as f64 / whole_s;
        self.written = dirt.written_bytes;
        self.written_rate += (written - self.written_rate) * (whole_s / FADE_S).min(1.0);
        // After a long silence nothing is made up for.
        let step_s = whole_s.min(0.1);
        let by_address = sweep.on();
        let by_marks = self.by_marks(dirt.dirty, (high, low), burst(self.rate, by_address, settings), step_s);
        let rate = by_marks.max(self.by_time(dirt.dirty, sweep, settings, now_ns));
        self.rate = rate;
        let burst = burst(rate, by_address, settings);
        let most = (2.0 * burst).max(rate * step_s);
        self.tokens = if rate > 0.0 { (self.tokens + rate * step_s).min(most) } else { 0.0 };
        self.burst |= self.tokens >= burst;
        whole_s
    }

    /// The PI controller between the marks: blocks/s.
    fn by_marks(&mut self, dirty: u32, (high, low): (u32, u32), burst: f64, step_s: f64) -> f64 {
        if high <= low {
            return 0.0;
        }
        let excess = f64::from(dirty) - f64::from(low);
        let keeps_up = self.tokens < 2.0 * burst;
        if excess < 0.0 || keeps_up {
            // What the slow device cannot take is not summed up.
            self.integral += excess * step_s / (PROPORTIONAL_S * INTEGRAL_S);
        }
        self.integral = self.integral.clamp(0.0, 1e7);
        if excess <= 0.0 { 0.0 } else { excess / PROPORTIONAL_S + self.integral }
    }

    /// The constant rate at which everything that was dirty goes back in one flush period: blocks/s.
    fn by_time(&mut self, dirty: u32, sweep: &Sweep, settings: &Settings, now_ns: u64) -> f64 {
        let period = settings.flush_period_s;
        if period <= 0.0 {
            return 0.0;
        }
        if sweep.on() {
            return sweep.rate(now_ns, seconds(period));
        }
        if now_ns.saturating_sub(self.period_ns) >= seconds(period) {
            self.period_ns = now_ns;
            self.most = [dirty, self.most[0]];
        }
        f64::from(self.most[0].max(self.most[1])) / period
    }
}

/// Blocks that are written back in one go when it is by rate: of those that lie near each other, so many that the way
/// to them is worth it.
fn burst(rate: f64, by_address: bool, settings: &Settings) -> f64 {
    if !by_address {
        return (rate * 0.05).max(0.5);
    }
    let period_s = settings.flush_period_s;
    let burst_s = if period_s > 0.0 { BURST_S.min(period_s / 64.0) } else { BURST_S };
    (rate * burst_s).clamp(1.0, BURST_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: fn() -> Settings = || Settings {
        dirty_high_pct: 20.0,
        dirty_low_pct: 10.0,
        write_back_depth: 32,
        flush_period_s: 0.0,
        ..Settings::default()
    };

    fn dirt(dirty: u32) -> Dirt {
        Dirt { dirty, superseded: 0, limit: 1000, sets_have_marks: false, written_bytes: 0 }
    }

    #[test]
    fn between_the_marks_the_rate_grows_with_what_is_dirty() {
        let (settings, sweep) = (SETTINGS(), Sweep::default());
        let rate = |dirty| {
            let mut pace = Pace::default();
            pace.look(dirt(dirty), &sweep, &settings, STEP_NS).expect("a step");
            (pace.rate(), pace.is_rushing())
        };
        assert_eq!(rate(100), (0.0, false));
        let (some, more) = (rate(150), rate(199));
        assert!(some.0 > 4.9 && more.0 > 9.8 && !more.1, "{some:?} {more:?}");
        assert!(rate(201).1);
    }

    #[test]
    fn over_the_high_mark_it_rushes_down_to_the_low_one() {
        let (settings, sweep, mut pace) = (SETTINGS(), Sweep::default(), Pace::default());
        let rushes = [201, 150, 101, 100, 150].map(|dirty| {
            pace.look(dirt(dirty), &sweep, &settings, 0);
            pace.is_rushing()
        });
        assert_eq!(rushes, [true, true, true, false, false]);
    }

    #[test]
    fn a_long_queue_keeps_write_backs_out_of_it() {
        let (settings, mut pace) = (SETTINGS(), Pace::default());
        pace.took(QUEUED_NS + 1, &settings);
        assert_eq!(pace.depth(&settings), 28);
        (0..100).for_each(|_| pace.took(QUEUED_NS + 1, &settings));
        assert_eq!(pace.depth(&settings), 1);
        (0..31).for_each(|_| pace.took(QUEUED_NS, &settings));
        assert_eq!(pace.depth(&settings), 32);
    }
}
