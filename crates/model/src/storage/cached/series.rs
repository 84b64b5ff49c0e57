//! The series of a modelled cache. They belong to the layer `cache`. The series of the cached device belong to the layer
//! below, as if there were no cache. A real cache has the same series (runner/stack/cache/real/series.py).

use flatwater_core::cache::{Settings, Statistics};

/// The statistics at the last observation.
#[derive(Debug, Default)]
pub struct Observed {
    before: Statistics,
    at_ns: u64,
}

impl Observed {
    /// Begins anew with these statistics.
    pub fn begin(&mut self, statistics: Statistics, now_ns: u64) {
        *self = Self { before: statistics, at_ns: now_ns };
    }

    /// Appends the series of the time since the last call.
    pub fn append_series(
        &mut self,
        now: Statistics,
        settings: &Settings,
        now_ns: u64,
        series: &mut Vec<(String, f64)>,
    ) {
        let before = &self.before;
        let mut push = |name: &str, value: f64| series.push((format!("cache.{name}"), value));
        let since = |count: fn(&Statistics) -> u64| count(&now).saturating_sub(count(before)) as f64;
        let (reads, writes) = (since(|all| all.reads), since(|all| all.writes));
        let (read_hits, write_hits) = (since(|all| all.read_hits), since(|all| all.write_hits));
        // A ratio to 0 is left out.
        for (name, part, all) in [
            ("hit_ratio", read_hits + write_hits, reads + writes),
            ("read_hit_ratio", read_hits, reads),
            ("write_hit_ratio", write_hits, writes),
            ("write_amplification", since(|all| all.fast_bytes_written), since(|all| all.user_bytes_cached)),
        ] {
            if all > 0.0 {
                push(name, part / all);
            }
        }
        let slots = now.slots.max(1) as f64;
        push("dirty_blocks", now.dirty_blocks as f64);
        push("dirty_pct", 100.0 * now.dirty_blocks as f64 / slots);
        push("dirty_high_pct", settings.dirty_high_pct);
        push("dirty_low_pct", settings.dirty_low_pct);
        push("used_pct", 100.0 * (now.dirty_blocks + now.clean_blocks) as f64 / slots);
        push("dirty_age_oldest_s", now.dirty_age_oldest_s);
        push("dirty_age_mean_s", now.dirty_age_mean_s);
        push("in_flight", now.requests_under_way as f64);
        let interval_s = (now_ns - self.at_ns).max(1) as f64 / 1e9;
        for (name, count) in [
            ("write_back_bytes_per_s", since(|all| all.write_back_bytes)),
            ("fast_written_bytes_per_s", since(|all| all.fast_bytes_written)),
            ("metadata_bytes_per_s", since(|all| all.metadata_bytes_written)),
            ("user_written_bytes_per_s", since(|all| all.user_bytes_cached)),
            ("uncached_per_s", since(|all| all.uncached_reads + all.uncached_writes)),
            ("fills_per_s", since(|all| all.fills)),
            ("evictions_per_s", since(|all| all.replacements)),
            ("write_backs_per_s", since(|all| all.cleanings)),
            ("starved_per_s", since(|all| all.starved)),
            ("fast_syncs_per_s", since(|all| all.fast_syncs)),
            ("slow_syncs_per_s", since(|all| all.slow_syncs)),
        ] {
            push(name, count / interval_s);
        }
        (self.before, self.at_ns) = (now, now_ns);
    }
}
