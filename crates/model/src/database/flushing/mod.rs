//! When dirty pages are written in the background: one file a policy, met in `open`.
//!
//! A policy is asked in rounds what the master thread or the page cleaner should write now. What the foreground writes,
//! because the log is at its limit or no page is free, is not a policy's affair: see `threads.rs` and `cleaner.rs`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::redo::Ages;
use super::settings::{AdaptiveMethod, Generation, Settings};

mod estimate;
mod keep_average;
mod mariadb;
mod mysql56;
mod mysql57;
mod mysql80;
mod native;
mod none;
mod rates;
mod reflex;

/// The pages that a policy may count.
pub trait FlushList {
    /// Pages whose first change is at or before an LSN, counted up to `most`.
    fn pages_until(&self, lsn: u64, most: u64) -> u64;
}

/// What a policy sees of the server at the beginning of a round.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Virtual time since the run began.
    pub now_ns: u64,
    /// The newest change.
    pub lsn: u64,
    /// The oldest change that is in no file, if anything is dirty.
    pub oldest_lsn: Option<u64>,
    /// Distance to the last checkpoint.
    pub checkpoint_age: u64,
    /// Dirty pages.
    pub dirty: u64,
    /// The lab's dirty %.
    pub dirty_pct: f64,
    /// Sum of the ages of all dirty pages' oldest changes.
    pub ages_sum: u128,
    /// Pages written since the last round, by anybody, and of these those for free pages (LRU).
    pub flushed: u64,
    /// Of them, for free pages.
    pub flushed_lru: u64,
    /// Of them, those that the policy's own last order asked for.
    pub flushed_own: u64,
    /// Nothing was changed since the last round.
    pub idle: bool,
    /// The dirty pages in the order of their first change.
    pub list: &'a dyn FlushList,
    /// The log's limits.
    pub ages: Ages,
}

impl View<'_> {
    /// How far the oldest change is beyond what is let happen: the synchronous age.
    pub fn over_limit(&self) -> u64 {
        self.oldest_lsn.map_or(0, |oldest_lsn| (self.lsn - oldest_lsn).saturating_sub(self.ages.modified_sync))
    }

    /// Where the oldest change should be when writers wait: twice as far on as it is over the limit
    /// (log_checkpoint_margin).
    pub fn sync_target_lsn(&self) -> u64 {
        self.oldest_lsn.unwrap_or(self.lsn) + 2 * self.over_limit()
    }
}

/// What is to be written now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Pages at most.
    pub pages: u64,
    /// Only those whose oldest change is before this LSN.
    pub limit_lsn: u64,
    /// The next round follows without a pause.
    pub at_once: bool,
}

impl Order {
    /// So many of the oldest pages.
    pub const fn pages(pages: u64) -> Self {
        Self { pages, limit_lsn: u64::MAX, at_once: false }
    }

    const NONE: Self = Self::pages(0);
}

/// A flushing policy.
pub trait Policy: Send {
    /// Time between two rounds, ns.
    fn period_ns(&self) -> u64 {
        1_000_000_000
    }

    /// What a round writes.
    fn round(&mut self, view: &View) -> Order;

    /// What a page cleaner writes while writers wait for room in the log.
    fn sync(&mut self, view: &View) -> Order {
        Order { pages: u64::MAX, limit_lsn: view.sync_target_lsn(), at_once: true }
    }

    /// Why it cannot go on, in words; the run ends then.
    fn failure(&mut self) -> Option<String> {
        None
    }
}

/// A built-in policy by name, whatever server it came with.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    /// Nothing by itself.
    None,
    /// XtraDB's of 2008.
    Reflex,
    /// XtraDB's of 2009.
    Estimate,
    /// XtraDB's of 2010.
    KeepAverage,
    /// InnoDB's own of the 5.1 plugin and 5.5.
    Native,
    /// The page cleaner's of 5.6.
    #[serde(rename = "mysql-5.6")]
    Mysql56,
    /// Of 5.7.
    #[serde(rename = "mysql-5.7")]
    Mysql57,
    /// Of 8.0.30 and later.
    #[serde(rename = "mysql-8.0")]
    Mysql80,
    /// Of MariaDB 10.5 and later.
    #[serde(rename = "mariadb-10.11")]
    Mariadb1011,
}

impl Name {
    /// The one that a server with these settings has.
    pub const fn of(generation: Generation, settings: &Settings) -> Self {
        match generation {
            Generation::Mysql56 => Self::Mysql56,
            Generation::Mysql57 => Self::Mysql57,
            Generation::Mysql80 => Self::Mysql80,
            Generation::Mariadb1011 => Self::Mariadb1011,
            Generation::Mysql51 | Generation::Mysql55 | Generation::Percona55 => {
                if !settings.innodb_adaptive_flushing {
                    return Self::None;
                }
                match settings.innodb_adaptive_flushing_method {
                    AdaptiveMethod::Native => Self::Native,
                    AdaptiveMethod::Estimate => Self::Estimate,
                    AdaptiveMethod::KeepAverage => Self::KeepAverage,
                    AdaptiveMethod::Reflex => Self::Reflex,
                }
            }
        }
    }
}

/// A policy with a server's settings.
pub fn open(name: Name, settings: &Settings) -> Box<dyn Policy> {
    let capacity = settings.innodb_io_capacity;
    let loops = settings.innodb_flushing_avg_loops;
    let rates = rates::Rates::of(settings);
    match name {
        Name::None => Box::new(none::Nothing),
        Name::Native => Box::new(native::Native::new(capacity)),
        Name::Estimate => Box::new(estimate::Estimate::new(settings.innodb_doublewrite)),
        Name::KeepAverage => Box::new(keep_average::KeepAverage::default()),
        Name::Reflex => Box::new(reflex::Reflex::new(capacity)),
        Name::Mysql56 => Box::new(mysql56::Mysql56::new(rates, loops)),
        Name::Mysql57 => Box::new(mysql57::Mysql57::new(rates, loops)),
        Name::Mysql80 => Box::new(mysql80::Mysql80::new(rates, loops)),
        Name::Mariadb1011 => Box::new(mariadb::Mariadb::new(rates, loops)),
    }
}

/// A policy for the moment in which another one is asked.
pub fn nothing() -> Box<dyn Policy> {
    Box::new(none::Nothing)
}

/// First changes of pages, for tests.
#[cfg(test)]
struct Firsts(Vec<u64>);

#[cfg(test)]
impl FlushList for Firsts {
    fn pages_until(&self, lsn: u64, most: u64) -> u64 {
        (self.0.iter().filter(|first_lsn| **first_lsn <= lsn).count() as u64).min(most)
    }
}

#[cfg(test)]
fn view(lsn: u64, oldest_lsn: u64, dirty: u64) -> View<'static> {
    static NO_PAGES: Firsts = Firsts(Vec::new());
    View {
        now_ns: 0,
        lsn,
        oldest_lsn: Some(oldest_lsn),
        checkpoint_age: lsn - oldest_lsn,
        dirty,
        dirty_pct: 50.0,
        ages_sum: 0,
        flushed: 0,
        flushed_lru: 0,
        flushed_own: 0,
        idle: false,
        list: &NO_PAGES,
        ages: Ages {
            group_capacity: 10_000_000,
            modified_async: 7_000_000,
            modified_sync: 7_500_000,
            checkpoint_async: 7_750_000,
            checkpoint_max: 8_000_000,
        },
    }
}
