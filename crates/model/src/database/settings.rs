//! The settings, under the servers' own names; the experiment file's loader has filled in the generation's defaults.

use serde::Deserialize;

/// innodb_adaptive_flushing_method of Percona Server; MySQL has `native` only.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum AdaptiveMethod {
    /// InnoDB's own.
    Native,
    /// XtraDB's of 2008.
    Reflex,
    /// XtraDB's of 2009, the default of Percona Server 5.5.
    Estimate,
    /// XtraDB's of 2010.
    KeepAverage,
}

/// Settings that the model knows; the servers' manuals say what each is. Sizes are bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub innodb_buffer_pool_size: u64,
    pub innodb_log_file_size: u64,
    pub innodb_log_files_in_group: u64,
    pub innodb_log_block_size: u64,
    pub innodb_flush_log_at_trx_commit: u8,
    pub innodb_thread_concurrency: u64,
    pub innodb_io_capacity: u64,
    pub innodb_max_dirty_pages_pct: f64,
    pub innodb_adaptive_flushing: bool,
    pub innodb_adaptive_flushing_method: AdaptiveMethod,
    pub innodb_doublewrite: bool,
    /// Every dirty page of the aligned 64 is written with one of them.
    pub innodb_flush_neighbors: bool,
    /// Percona Server: 0 for none.
    pub innodb_checkpoint_age_target: u64,
}

/// What a generation of servers does its own way beyond its settings.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Generation {
    /// MySQL 5.1's built-in InnoDB or plugin.
    #[serde(rename = "mysql-5.1")]
    Mysql51,
    /// MySQL 5.5.
    #[serde(rename = "mysql-5.5")]
    Mysql55,
    /// Percona Server 5.1 and 5.5 with XtraDB.
    #[serde(rename = "percona-5.5")]
    Percona55,
}

impl Generation {
    /// Whether reaching for a free page in time makes a reader wait for the batch that it starts: Percona Server's
    /// readers only start it.
    pub const fn readers_wait_for_margin(self) -> bool {
        !matches!(self, Self::Percona55)
    }
}
