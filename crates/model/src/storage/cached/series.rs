//! What a modelled cache tells each interval. Its own series are of the layer `cache`; those of the cached device are of
//! the layer below, as if no cache were there. A real cache tells the same (runner/stack/cache/real/series.py).

use flatwater_core::cache::{Settings, Statistics};

/// What was told last.
#[derive(Debug, Default)]
pub struct Observed {
    before: Statistics,
    at_ns: u64,
}

impl Observed {
    /// Forgets what was before.
    pub fn begin(&mut self, statistics: Statistics, now_ns: u64) {
        *self = Self { before: statistics, at_ns: now_ns };
    }

    /// Appends the series of the time since it was last asked.
    pub fn tell(&mut self, now: Statistics, settings: &Settings, now_ns: u64, series: &mut Vec<(String, f64)>) {
        let before = &self.before;
        let mut tell = |name: &str, value: f64| series.push((format!("cache.{name}"), value));
        let since = |count: fn(&Statistics) -> u64| count(&now).saturating_sub(count(before)) as f64;
        let (reads, writes) = (since(|one| one.reads), since(|one| one.writes));
        let (read_hits, write_hits) = (since(|one| one.read_hits), since(|one| one.write_hits));
        // A ratio of nothing is no ratio.
        for (name, part, all) in [
            ("hit_ratio", read_hits + write_hits, reads + writes),
            ("read_hit_ratio", read_hits, reads),
            ("write_hit_ratio", write_hits, writes),
            ("write_amplification", since(|one| one.fast_bytes_written), since(|one| one.user_bytes_cached)),
        ] {
            if all > 0.0 {
                tell(name, part / all);
            }
        }
        let slots = now.slots.max(1) as f64;
        tell("dirty_blocks", now.dirty_blocks as f64);
        tell("dirty_pct", 100.0 * now.dirty_blocks as f64 / slots);
        tell("dirty_high_pct", settings.dirty_high_pct);
        tell("dirty_low_pct", settings.dirty_low_pct);
        tell("used_pct", 100.0 * (now.dirty_blocks + now.clean_blocks) as f64 / slots);
        tell("dirty_age_oldest_s", now.dirty_age_oldest_s);
        tell("dirty_age_mean_s", now.dirty_age_mean_s);
        tell("in_flight", now.requests_under_way as f64);
        let interval_s = (now_ns - self.at_ns).max(1) as f64 / 1e9;
        for (name, count) in [
            ("write_back_bytes_per_s", since(|one| one.write_back_bytes)),
            ("fast_written_bytes_per_s", since(|one| one.fast_bytes_written)),
            ("metadata_bytes_per_s", since(|one| one.metadata_bytes_written)),
            ("user_written_bytes_per_s", since(|one| one.user_bytes_cached)),
            ("uncached_per_s", since(|one| one.uncached_reads + one.uncached_writes)),
            ("fills_per_s", since(|one| one.fills)),
            ("evictions_per_s", since(|one| one.replacements)),
            ("write_backs_per_s", since(|one| one.cleanings)),
            ("starved_per_s", since(|one| one.starved)),
            ("fast_syncs_per_s", since(|one| one.fast_syncs)),
            ("slow_syncs_per_s", since(|one| one.slow_syncs)),
        ] {
            tell(name, count / interval_s);
        }
        (self.before, self.at_ns) = (now, now_ns);
    }
}
