//! The statistics of a card for an interval. They are counts and sums, so that those of several modules add up.

use super::ftl::Counters;
use super::spec::Layout;

/// Counts since the card was made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Bytes that the host wrote and that went to flash.
    pub host_bytes: u64,
    /// Pages programmed for the host.
    pub host_pages: u64,
    /// Pages moved by the collector.
    pub relocated_pages: u64,
    /// Units erased.
    pub erases: u64,
    /// Pages that were read before they were written, because the write covered only a part of them.
    pub read_modify_writes: u64,
    /// Reads of flash that had to be repeated.
    pub read_retries: u64,
    /// Reads that failed.
    pub read_failures: u64,
    /// How long the collector kept host writes waiting.
    pub collecting_ns: u64,
    /// How long all dies together were busy.
    pub dies_ns: u64,
    /// How long each direction of the link was busy.
    pub link_ns: [u64; 2],
}

/// The state of a card at the end of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Modules whose values were added up.
    pub modules: u32,
    /// The longest interval of any module.
    pub interval_ns: u64,
    /// Ways of a module.
    pub ways: u32,
    /// Bytes of a mapping page.
    pub page_bytes: u64,
    /// Free units.
    pub free_units: u64,
    /// Units gone bad.
    pub bad_units: u64,
    /// Mean erase count of a unit; the sum over the modules.
    pub erase_count_mean: f64,
    /// Erase count of the most erased unit.
    pub erase_count_max: u32,
    /// Valid share of the usable pages; the sum over the modules.
    pub utilisation: f64,
    /// Share of the first spare units that is left; that of the worst module.
    pub spare_left_share: f64,
    /// Remaining life by erases, 100 down to 1, as Intel's Media_Wearout_Indicator; that of the worst module.
    pub media_wearout: f64,
    /// Bytes in the write buffer.
    pub buffer_bytes: u64,
}

/// An interval of one module or of several.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// What happened in it.
    pub counts: Counts,
    /// The state at its end.
    pub state: State,
}

impl State {
    /// The state of one module, without its interval and its buffer.
    pub fn new(ftl: &Counters, layout: &Layout, rated_cycles: u32) -> Self {
        Self {
            modules: 1,
            interval_ns: 0,
            ways: layout.ways,
            page_bytes: layout.page_bytes(),
            free_units: u64::from(ftl.free_units),
            bad_units: u64::from(ftl.bad_units),
            erase_count_mean: ftl.erase_count_mean,
            erase_count_max: ftl.erase_count_max,
            utilisation: f64::from(ftl.valid_pages) / f64::from(ftl.usable_pages.max(1)),
            spare_left_share: ftl.spare_left_share,
            media_wearout: media_wearout(ftl, rated_cycles),
            buffer_bytes: 0,
        }
    }
}

impl Counts {
    /// The difference to an earlier time.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            host_bytes: self.host_bytes - before.host_bytes,
            host_pages: self.host_pages - before.host_pages,
            relocated_pages: self.relocated_pages - before.relocated_pages,
            erases: self.erases - before.erases,
            read_modify_writes: self.read_modify_writes - before.read_modify_writes,
            read_retries: self.read_retries - before.read_retries,
            read_failures: self.read_failures - before.read_failures,
            collecting_ns: self.collecting_ns - before.collecting_ns,
            dies_ns: self.dies_ns - before.dies_ns,
            link_ns: [0, 1].map(|way| self.link_ns[way] - before.link_ns[way]),
        }
    }

    fn add(&mut self, other: &Self) {
        self.host_bytes += other.host_bytes;
        self.host_pages += other.host_pages;
        self.relocated_pages += other.relocated_pages;
        self.erases += other.erases;
        self.read_modify_writes += other.read_modify_writes;
        self.read_retries += other.read_retries;
        self.read_failures += other.read_failures;
        self.collecting_ns += other.collecting_ns;
        self.dies_ns += other.dies_ns;
        self.link_ns[0] += other.link_ns[0];
        self.link_ns[1] += other.link_ns[1];
    }
}

impl Statistics {
    /// Adds the statistics of another module for the same interval.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        let (now, theirs) = (&mut self.state, &other.state);
        now.modules += theirs.modules;
        now.interval_ns = now.interval_ns.max(theirs.interval_ns);
        now.free_units += theirs.free_units;
        now.bad_units += theirs.bad_units;
        now.erase_count_mean += theirs.erase_count_mean;
        now.erase_count_max = now.erase_count_max.max(theirs.erase_count_max);
        now.utilisation += theirs.utilisation;
        now.spare_left_share = now.spare_left_share.min(theirs.spare_left_share);
        now.media_wearout = now.media_wearout.min(theirs.media_wearout);
        now.buffer_bytes += theirs.buffer_bytes;
    }

    /// Appends the series. Rates are of all modules together; percentages are means over the modules.
    pub fn append_series(&self, series: &mut Vec<(String, f64)>) {
        let (counts, now) = (&self.counts, &self.state);
        let mut push = |name: &str, value: f64| series.push((name.to_owned(), value));
        let modules = f64::from(now.modules);
        let programmed = (counts.host_pages + counts.relocated_pages) * now.page_bytes;
        if counts.host_bytes > 0 {
            push("write_amplification", programmed as f64 / counts.host_bytes as f64);
        }
        if now.interval_ns > 0 {
            let interval_ns = now.interval_ns as f64;
            let per_s = |count: u64| count as f64 * 1e9 / interval_ns;
            let share_pct = |busy_ns: u64, of: f64| (busy_ns as f64 / (interval_ns * of) * 100.0).min(100.0);
            push("gc_share_pct", share_pct(counts.collecting_ns, modules));
            push("relocated_bytes_per_s", per_s(counts.relocated_pages * now.page_bytes));
            push("host_written_bytes_per_s", per_s(counts.host_bytes));
            push("erases_per_s", per_s(counts.erases));
            push("read_errors_per_s", per_s(counts.read_retries + counts.read_failures));
            push("dies_busy_pct", share_pct(counts.dies_ns, modules * f64::from(now.ways)));
            push("link_busy_pct", share_pct(counts.link_ns[0].max(counts.link_ns[1]), modules));
        }
        push("free_blocks", now.free_units as f64);
        push("utilisation_pct", now.utilisation / modules * 100.0);
        push("media_wearout", now.media_wearout);
        push("available_reserve_pct", now.spare_left_share * 100.0);
        push("bad_blocks", now.bad_units as f64);
        push("erase_count_mean", now.erase_count_mean / modules);
        push("erase_count_max", f64::from(now.erase_count_max));
        push("buffer_bytes", now.buffer_bytes as f64);
    }
}

/// The wear of a module, as JSON.
pub fn wear_json(ftl: &Counters, life_used: f64) -> String {
    format!(
        r#"{{"host_pages":{},"relocated_pages":{},"erases":{},"erase_count_mean":{},"erase_count_max":{},"bad_units":{},"life_used":{}}}"#,
        ftl.host_pages,
        ftl.relocated_pages,
        ftl.erases,
        ftl.erase_count_mean,
        ftl.erase_count_max,
        ftl.bad_units,
        life_used,
    )
}

/// Remaining life by the mean erase count: 100 when new, 1 from the rated cycles on. With 0 rated cycles it stays 100.
fn media_wearout(counters: &Counters, rated_cycles: u32) -> f64 {
    if rated_cycles == 0 {
        100.0
    } else {
        (100.0 - 99.0 * counters.erase_count_mean / f64::from(rated_cycles)).max(1.0)
    }
}
